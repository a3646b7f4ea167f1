"""Machines for sequences: chains, and independent labels with the same features; C is chosen by validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin import ChainModel, LinearSVC, RiskClassifier, StructuredSVM

from ..measuring.clock import read_limit, time_once
from .sequences import Sentence, Template, Words

HINGE, SOFTMAX, CHAIN = "independent, hinge", "independent, softmax", "chain"


class Part(NamedTuple):
    """Sequences: a matrix and an array of labels for each."""

    X: list
    y: list


class Independent:
    """A classifier of single labels, fitted to sequences and asked for sequences."""

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X: list, y: list) -> Independent:
        """All rows in one matrix."""
        self.classifier.fit(stack(X), np.concatenate(y))
        return self

    def predict(self, X: list) -> list[np.ndarray]:
        """Labels, cut into sequences again."""
        return np.split(self.classifier.predict(stack(X)), np.cumsum([x.shape[0] for x in X])[:-1])

    @property
    def certificate_(self):
        """That of the classifier."""
        return self.classifier.certificate_


@dataclass(frozen=True)
class Machine:
    """A name, how it is made for a C and a tol, and the values of C to choose from."""

    name: str
    make: Callable
    Cs: tuple[float, ...]


def take(words: Words, places: np.ndarray) -> Part:
    """Pixels and letters of some words."""
    some = words.take(places)
    return Part(some.X, some.y)


def encode(template: Template, sentences: list[Sentence]) -> Part:
    """Features, and chunk tags as they are."""
    return Part([template.encode(each) for each in sentences], [np.array(each.chunks) for each in sentences])


def stack(X: list) -> np.ndarray | sp.csr_array:
    """Matrices below each other."""
    if not sp.issparse(X[0]):
        return np.vstack(X)
    whole = sp.csr_array(sp.vstack(X, format="csr"))
    whole.indices, whole.indptr = whole.indices.astype(np.int32), whole.indptr.astype(np.int32)
    return whole


def make_hinge(C: float, tol: float) -> Independent:
    """Every label for itself, max(0, 1 + max_m f_m - f_y)."""
    limit = read_limit()
    return Independent(LinearSVC(multi_class="crammer_singer", intercept="none", C=C, tol=tol, max_seconds=limit))


def make_softmax(C: float, tol: float) -> Independent:
    """Every label for itself, log sum_m exp(f_m) - f_y."""
    rules = {"multi_class": "softmax", "intercept": "none", "max_seconds": read_limit()}
    return Independent(RiskClassifier("logistic", C=C, tol=tol, **rules))


def make_chain(C: float, tol: float) -> StructuredSVM:
    """All labels of a sequence at once."""
    return StructuredSVM(ChainModel(), C=C, tol=tol, max_seconds=read_limit())


def measure_error(true: list[np.ndarray], said: list[np.ndarray]) -> float:
    """The share of labels that are wrong."""
    return float(np.mean(np.concatenate(true) != np.concatenate(said)))


def fit(machine: Machine, C: float, tol: float, part: Part) -> tuple[float, object]:
    """Seconds of a fit, and the fitted machine."""
    model = machine.make(C, tol)
    return time_once(lambda: model.fit(part.X, part.y))


def choose_C(machine: Machine, tol: float, train: Part, validation: Part, rate: Callable) -> float:
    """The C with the best rate on the validation part, the smallest among equals."""
    rates = {}
    for C in machine.Cs:
        _, model = fit(machine, C, tol, train)
        rates[C] = rate(validation.y, model.predict(validation.X))
    return max(rates, key=rates.get)
