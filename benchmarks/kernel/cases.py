"""Problems for kernel machines and their peers: data, parameters as plain numbers, and the forms data can be given in.

Labels are numbered in the order in which they appear. LIBSVM and thundersvm count classes so, scikit-learn and oneDAL
sort them: with these numbers all four mean the same by a pair of classes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import datasets

from ..measuring.data import (
    find_folder,
    make_classes,
    make_clouds,
    make_friedman,
    read_set,
    standardise,
)

SPARSE_SHARE = 0.25  # with fewer entries than this that are not zero, dense and CSR data are both worth a try


@dataclass(frozen=True)
class Case:
    """One training problem: the class to fit, its parameters, and the data as their owner would have them."""

    name: str
    kind: str
    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    parameters: dict[str, float]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.X.shape[0]

    @property
    def form(self) -> str:
        """The form of the data as they are: dense or CSR."""
        return "CSR" if sp.issparse(self.X) else "dense"

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms worth a try: the one the data have, and the other if they are mostly zeros."""
        nonzero = self.X.nnz if sp.issparse(self.X) else np.count_nonzero(self.X)
        sparse = nonzero < SPARSE_SHARE * self.n * self.X.shape[1]
        return ("dense", "CSR") if sparse else (self.form,)

    def give(self, form: str, dtype: type = np.float64, rows: int | None = None) -> np.ndarray | sp.csr_matrix:
        """The first rows of X, or all, in this form and precision."""
        X = self.X[:rows]
        if form == "CSR":
            return sp.csr_matrix(X, dtype=dtype)
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=dtype)

    def draw(self, rows: int) -> Case:
        """The same problem on some of its samples, chosen with a fixed seed."""
        chosen = np.sort(np.random.default_rng(0).permutation(self.n)[:rows])
        y = self.y[chosen]
        return replace(self, X=self.X[chosen], y=number_labels(y) if self.kind == "SVC" else y)


def number_labels(y: np.ndarray) -> np.ndarray:
    """The labels as 0, 1, ... in the order in which they appear."""
    _, first, place = np.unique(y, return_index=True, return_inverse=True)
    rank = np.empty(len(first), int)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place]


def pose(name: str, kind: str, X, y: np.ndarray, *, C: float, gamma: float | str = "scale", epsilon=0.1) -> Case:
    """A case with gamma as a number, since not every peer knows 'scale', and targets as every peer wants them."""
    if gamma == "scale":
        variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
        gamma = 1.0 / (X.shape[1] * variance)
    parameters = {"C": C, "gamma": float(gamma), **({"epsilon": epsilon} if kind == "SVR" else {})}
    return Case(name, kind, X, number_labels(y) if kind == "SVC" else np.asarray(y, float), parameters)


class Recipe(NamedTuple):
    """A set of the folder and what to do with it."""

    file: str
    kind: str
    C: float
    gamma: float | str = "scale"


RECIPES = {
    "a9a": Recipe("a9a/a9a", "SVC", 1.0, 0.05),
    "ijcnn1": Recipe("ijcnn1/ijcnn1_reconstructed", "SVC", 10.0, 2.0),
    "w8a": Recipe("w8a/w8a", "SVC", 10.0, 0.05),
    "cod-rna": Recipe("cod-rna/cod-rna_scaled", "SVC", 32.0, 2.0),
    "mnist": Recipe("mnist/train", "SVC", 10.0, 0.02),
    "letter": Recipe("letter/letter.scale", "SVC", 10.0),
    "usps": Recipe("usps/usps", "SVC", 10.0),
    "satimage": Recipe("satimage/satimage.scale", "SVC", 10.0),
    "cadata": Recipe("cadata/cadata", "SVR", 10.0),
    "house_16H": Recipe("house_16H/house_16H", "SVR", 10.0),
}
MNIST_ROWS = 20000  # rows of mnist


def read_case(name: str) -> Case | None:
    """A set of the folder, posed; None where it is not there."""
    recipe = RECIPES[name]
    found = read_set(name, recipe.file, MNIST_ROWS)
    if found is None:
        return None
    X, y = found
    if recipe.kind == "SVR":
        X, y = standardise(X), standardise(y[:, None]).ravel()
    return pose(name, recipe.kind, X, y, C=recipe.C, gamma=recipe.gamma)


GENERATED = {"clouds": 20000, "moons": 10000, "words": 10000, "five classes": 10000, "friedman1": 10000}


def make_case(name: str, n: int | None = None) -> Case:
    """A generated set that stands in for files: its own number of rows, or n of them."""
    n = n or GENERATED[name]
    if name == "clouds":
        return pose(name, "SVC", *make_clouds(n), C=1.0)
    if name == "moons":
        return pose(name, "SVC", *datasets.make_moons(n, noise=0.3, random_state=0), C=10.0)
    if name == "words":
        return pose(name, "SVC", *make_words(n), C=10.0)
    if name == "five classes":
        return pose(name, "SVC", *make_classes(n), C=10.0)
    X, y = make_friedman(n)
    return pose(name, "SVR", X, standardise(y[:, None]).ravel(), C=10.0)


def make_words(n: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """300 words that are there or not, 5 % of them in each text; some are more common in one class."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n)
    share = np.full((2, 300), 0.05)
    share[:, :60] = random.uniform(0.0, 0.1, (2, 60))
    return sp.csr_matrix((random.random((n, 300)) < share[y]).astype(float)), y


def list_chosen() -> list[str]:
    """The sets named by the environment variable SETS; empty for all."""
    return os.environ.get("SETS", "").split()


def list_cases(*, brief: bool, rows: int = 800) -> Iterator[tuple[str, Case | None]]:
    """The large problems one by one, None for a missing file; generated ones to be brief or without a folder."""
    known = GENERATED if brief or find_folder() is None else RECIPES
    chosen = [name for name in known if name.replace(" ", "_") in list_chosen()] if list_chosen() else list(known)
    if list_chosen() and len(chosen) < len(list_chosen()):
        raise SystemExit(f"SETS may name any of: {', '.join(name.replace(' ', '_') for name in known)}.")
    for name in chosen:
        if known is RECIPES:
            yield name, read_case(name)
        else:
            yield name, make_case(name, rows if brief else None)
