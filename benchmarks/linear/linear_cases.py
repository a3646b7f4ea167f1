"""Problems for linear machines and their peers: a loss, C, what becomes of the intercept, and the data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import maxmargin
from maxmargin.model.losses import LOSSES

from ..kernel.cases import make_words
from ..measuring.data import find_folder, make_clouds, read_set, standardise

OWN_CLASS = {
    "hinge": "LinearSVC", "squared_hinge": "LinearSVC", "logistic": "RiskClassifier",
    "epsilon_insensitive": "LinearSVR", "squared_epsilon_insensitive": "LinearSVR",
}  # fmt: skip
MNIST_ROWS = 60000  # rows of mnist


@dataclass(frozen=True)
class LinearCase:
    """min P = 1/2 |w|^2 + C sum_i l(<w, x_i> + b; y_i), with + b^2 / 2 where the intercept is regularised."""

    name: str
    loss: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray  # +1 and -1, or real targets
    C: float = 1.0
    intercept: str = "regularised"
    shape: dict[str, float] = field(default_factory=dict)  # epsilon, quantile or threshold of the loss

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.X.shape[0]

    def primal(self, w: np.ndarray, b: float) -> float:
        """P(w, b) in float64, for w and b of any library."""
        size = w @ w + (b * b if self.intercept == "regularised" else 0.0)
        losses = LOSSES[self.loss](**self.shape).value(self.X @ w + b, self.y)
        return float(0.5 * size + self.C * losses.sum())

    def make_ours(self, tol: float, **parameters):
        """Our machine of the case."""
        kind = getattr(maxmargin, OWN_CLASS.get(self.loss, "RiskRegressor"))
        return kind(loss=self.loss, C=self.C, intercept=self.intercept, tol=tol, **self.shape, **parameters)

    def change_form(self) -> LinearCase:
        """The same problem on sparse data if they are dense, on dense data if they are sparse."""
        return replace(self, X=self.X.toarray() if sp.issparse(self.X) else sp.csr_array(self.X))

    def take(self, rows: int) -> LinearCase:
        """The same problem on some of its samples, drawn with a fixed seed, a label of each kind among them."""
        order = np.random.default_rng(0).permutation(self.n)
        if self.loss in ("hinge", "squared_hinge", "logistic"):
            first = [np.flatnonzero(self.y[order] == sign)[0] for sign in (-1.0, 1.0)]
            order = np.concatenate([order[first], np.delete(order, first)])
        return replace(self, X=self.X[order[:rows]], y=self.y[order[:rows]])


class Recipe(NamedTuple):
    """A set of the folder, the label that counts as +1, and what is done to the features."""

    file: str
    positive: int
    scaling: str = "none"


RECIPES = {
    "covtype": Recipe("covtype/covtype", 2, "standardised"),
    "skin_nonskin": Recipe("skin_nonskin/skin_nonskin", 1),
    "cod-rna": Recipe("cod-rna/cod-rna_scaled", 1),
    "ijcnn1": Recipe("ijcnn1/ijcnn1_reconstructed", 1),
    "a9a": Recipe("a9a/a9a", 1),
    "w8a": Recipe("w8a/w8a", 1),
    "mnist": Recipe("mnist/train", 1),
    "news20": Recipe("news20_bydate/news20.train", 1, "unit length"),
    "farm-ads": Recipe("farm-ads/farm-ads", 1, "unit length"),
    "rcv1": Recipe("rcv1_vw_subset/rcv1_small.train", 1),
    "pcmac": Recipe("pcmac/pcmac", 1, "unit length"),
    "basehock": Recipe("basehock/basehock", 1, "unit length"),
}
GENERATED = {"clouds": 100_000, "words": 20_000}
TEXT = ("news20", "farm-ads", "rcv1", "pcmac", "basehock", "words")


def read_labelled(name: str) -> tuple[np.ndarray | sp.csr_array, np.ndarray] | None:
    """Features and labels +1 and -1 of a set of the folder; None where it is not there."""
    recipe = RECIPES[name]
    found = read_set(name, recipe.file, MNIST_ROWS)
    if found is None:
        return None
    X, y = found
    if recipe.scaling == "standardised":
        X = standardise(X)
    elif recipe.scaling == "unit length":
        X = normalize(X)
    return X, np.where(y == recipe.positive, 1.0, -1.0)


def make_labelled(name: str, rows: int | None = None) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
    """A generated set that stands in for files."""
    X, y = (make_clouds if name == "clouds" else make_words)(rows or GENERATED[name])
    return (normalize(X) if name == "words" else X), 2.0 * y - 1.0


def list_labelled(names: tuple[str, ...], *, brief: bool) -> Iterator[tuple[str, tuple | None]]:
    """The sets one by one, None for a missing file; generated ones to be brief or without a folder.

    The environment variable SETS picks some of them.
    """
    generated = brief or find_folder() is None
    known = [*GENERATED] if generated else [*names]
    chosen = os.environ.get("SETS", "").split() or known
    if not set(chosen) <= set(known):
        raise SystemExit(f"SETS may name any of: {', '.join(known)}.")
    for name in chosen:
        yield name, make_labelled(name, 800 if brief else None) if generated else read_labelled(name)
