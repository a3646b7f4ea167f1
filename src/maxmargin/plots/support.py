"""Support vectors, free and bounded, of models of any library."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..contracts.losses import Loss
from ..model.losses import LOSSES, EpsilonInsensitive, SquaredEpsilonInsensitive
from ..model.sparse_format import check_sparse
from .canvas import Palette

MARGIN_TOLERANCE = 0.01  # of the margin: so near to it, a sample counts as being on it where the duals are not known


class Support(NamedTuple):
    """Indices of the support vectors: those between the bounds of their duals, and those at one."""

    free: np.ndarray
    bounded: np.ndarray


def final_estimator(model):
    """The last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def check_model(model, is_classifier: bool) -> None:
    """Refuse what is no fitted model, and a classifier in place of a regressor or the other way round."""
    if not hasattr(model, "predict"):
        raise ValueError(f"model must have predict, but {type(model).__name__} has none.")
    check_is_fitted(final_estimator(model))
    if is_classifier != (has_classes(model) or hasattr(model, "decision_function")):
        wanted = "a classifier or a OneClassSVM" if is_classifier else "a regressor"
        raise ValueError(f"model must be {wanted}, got {type(final_estimator(model)).__name__}.")


def has_classes(model) -> bool:
    """Whether a fitted model of any library is a classifier."""
    return hasattr(model, "classes_")


def has_support(machine) -> bool:
    """Whether a fitted model of any library knows its support vectors by number."""
    return hasattr(machine, "support_")


def find_loss(machine) -> Loss | None:
    """The loss of a model of any library: an object, or by its name with default parameters; None if it has none."""
    loss = getattr(machine, "loss", None)
    if isinstance(loss, Loss):
        return loss
    return LOSSES[loss]() if isinstance(loss, str) and loss in LOSSES else None


def check_rows(model, X: np.ndarray, y: np.ndarray | None, name: str) -> None:
    """X and y have as many rows as each other and as the data of the fit, where support vectors are known by number."""
    if y is not None and np.shape(y) != (len(X),):
        raise ValueError(f"y must have one entry for each of the {len(X)} rows of {name}, got shape {np.shape(y)}.")
    rows = getattr(final_estimator(model), "shape_fit_", (len(X),))[0]
    if rows != len(X):
        raise ValueError(f"{name} must be the data of the fit, which had {rows} rows, got {len(X)} rows.")


def as_matrix(X) -> np.ndarray:
    """The samples as an array of floats."""
    check_sparse(X)
    return X.toarray() if sp.issparse(X) else np.asarray(X, float)


def has_margin(loss: Loss | None) -> bool:
    """Whether a loss is zero beyond a margin: the hinges, and others that are flat from f = 1 on."""
    if loss is None or loss.target != "label":
        return False
    row = loss.row(np.ones(1), np.ones(1))
    return row is not None and row.lo[0] == 0.0 and row.p[0] == -1.0


def has_tube(loss: Loss | None) -> bool:
    """Whether a loss is zero within a tube of half-width epsilon."""
    return isinstance(loss, EpsilonInsensitive | SquaredEpsilonInsensitive)


def has_bounded_duals(machine) -> bool:
    """Whether the duals have an upper bound: not so for squared losses."""
    loss = find_loss(machine)
    row = None if loss is None else loss.row(np.ones(1), np.ones(1))
    return row is None or bool(np.isfinite(row.hi[0]))


def split_duals(machine) -> Support:
    """Free and bounded support vectors by their duals; for scikit-learn's models by comparing those with C."""
    if hasattr(machine, "free_support_"):
        return Support(machine.free_support_, machine.bounded_support_)
    duals = machine.dual_coef_
    size = np.abs(duals.toarray() if sp.issparse(duals) else np.asarray(duals)).max(axis=0)
    bound = np.full(len(size), getattr(machine, "C", size.max(initial=0.0)), float)
    if len(getattr(machine, "class_weight_", ())) == len(getattr(machine, "n_support_", ())) > 1:
        bound *= np.repeat(machine.class_weight_, machine.n_support_)
    bounded = size >= bound * (1 - 1e-9)
    return Support(machine.support_[~bounded], machine.support_[bounded])


def draw_rings(ax, palette: Palette, X: np.ndarray, support: Support, labels: tuple[str, str]) -> None:
    """Rings around support vectors: strong for the free, thin for the bounded."""
    for index, label, size, width in zip(support, labels, (95, 75), (1.8, 0.7), strict=True):
        if label:
            ax.scatter(*X[index].T, s=size, facecolors="none", edgecolors=palette.ink, linewidths=width, zorder=4,
                       label=f"{len(index)} {label}")  # fmt: skip
