"""Sets with a rare class for `metric_scores`, each with a part for training and a part for testing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from ..linear.linear_cases import RECIPES, read_labelled
from ..measuring.data import find_folder, read_file

FILES = ("w8a", "ijcnn1", "a9a")
STANDINS = ("rare", "breast_cancer", "digits")  # where there are no files
BRIEF = ("rare", "breast_cancer")
TEST_SHARE = 0.3  # of the samples are for testing where a set has no test part of its own


class Part(NamedTuple):
    """Features and labels +1 and -1."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray


class Split(NamedTuple):
    """A set in two parts, and where the second comes from."""

    name: str
    train: Part
    test: Part
    source: str


def divide(part: Part, share: float) -> tuple[Part, Part]:
    """The samples in two, the classes with the same shares in both, with a fixed seed."""
    places = np.arange(len(part.y))
    first, second = train_test_split(places, test_size=share, stratify=part.y, random_state=0)
    return Part(part.X[first], part.y[first]), Part(part.X[second], part.y[second])


def read_test(name: str, d: int) -> Part | None:
    """The test part that comes with a set, with as many features as its training part; None where there is none."""
    recipe = RECIPES[name]
    found = read_file(f"{recipe.file}.t")
    if found is None:
        return None
    X, y = sp.csr_array(found[0]), found[1]
    X.resize(X.shape[0], d)
    return Part(X, np.where(y == recipe.positive, 1.0, -1.0))


def read_split(name: str) -> Split | None:
    """A set of the folder; None where it is not there."""
    found = read_labelled(name)
    if found is None:
        return None
    whole = Part(*found)
    test = read_test(name, whole.X.shape[1])
    if test is not None:
        return Split(name, whole, test, "its own")
    return Split(name, *divide(whole, TEST_SHARE), f"{TEST_SHARE:.0%} of the samples")


def make_split(name: str) -> Split:
    """Generated samples of which 5 % are positive, or a set of scikit-learn, scaled by its training part."""
    if name == "rare":
        X, label = datasets.make_classification(4000, 20, n_informative=8, weights=[0.95], flip_y=0.02, random_state=0)
        positive = label == 1
    else:
        X, label = getattr(datasets, f"load_{name}")(return_X_y=True)
        positive = label == (8 if name == "digits" else 0)  # the digit 8 against the rest, malignant ones
    train, test = divide(Part(X, np.where(positive, 1.0, -1.0)), TEST_SHARE)
    scaler = StandardScaler().fit(train.X)
    train, test = (Part(scaler.transform(part.X), part.y) for part in (train, test))
    return Split(name, train, test, f"{TEST_SHARE:.0%} of the samples")


def list_splits(*, brief: bool) -> Iterator[tuple[str, Split | None]]:
    """The sets one by one, None for a missing file; others to be brief or without a folder; SETS picks some of them."""
    from_files = not brief and find_folder() is not None
    known = FILES if from_files else BRIEF if brief else STANDINS
    chosen = os.environ.get("SETS", "").split() or known
    if not set(chosen) <= set(known):
        raise SystemExit(f"SETS may name any of: {', '.join(known)}.")
    for name in chosen:
        yield name, read_split(name) if from_files else make_split(name)
