"""A fitted machine as a point of the problem that it claims to solve, and what is read from any model for that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from ..model.problem import Point, Problem
from ..model.sparse_format import check_sparse


class PosedMachine(NamedTuple):
    """A binary machine of a model as a point of the problem that it claims to solve, over some rows of X."""

    problem: Problem
    point: Point
    index: np.ndarray


def name_type(model) -> str:
    """What was given in place of a fitted model: the name of its class, or "type" for a class itself."""
    return "type" if isinstance(model, type) else type(model).__name__


def refuse_unknown(model) -> None:
    """Model files of other libraries leave parameters open, without which there is no problem to judge."""
    for name in ("C", "nu", "epsilon"):
        value = getattr(model, name, None)
        if isinstance(value, float) and np.isnan(value):
            raise ValueError(f"{name} is not known, since the model's file does not hold it; set_params({name}=...).")


def check_features(model, X):
    """X as a matrix of floats with as many features as the model was fitted on."""
    check_sparse(X)
    X = check_array(X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr")
    expected = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != expected:
        raise ValueError(f"X has {X.shape[1]} features, but the model was fitted on {expected}.")
    return X


def index_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label in the sorted classes."""
    place = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
    if not (classes[place] == y).all():
        unknown_label = y[classes[place] != y][0]
        raise ValueError(
            f"y has the label {unknown_label}, which the model has never seen; it knows {classes.tolist()}."
        )
    return place
