"""The machine of one fold: its problem at every C, over features that hold the held-out rows too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...contracts.losses import Loss
from ...model.features import Gram
from ...model.problem import TINY, Problem
from ...runtime.interpreter import cached_property
from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, bound_sum

DIAGONAL_ROUNDING = 1e-9  # relative: more than what rounding does to k(x, x), and nothing beside k(x, x) itself


class Expansion(NamedTuple):
    """A vector of the space of the features: its products with training and held-out rows, and its square.

    Attributes
    ----------
    coef : ndarray
        Its coefficients, as the features of the training rows have them.
    train, held_out : Enclosed
        <u, phi(x_i)>.
    square : Enclosed
        |u|^2.
    error : float
        A bound on the length by which the coefficients are off; the enclosures include it.
    """

    coef: np.ndarray
    train: Enclosed
    held_out: Enclosed
    square: Enclosed
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class FoldMachine:
    """1/2 |w|^2 + C sum_i s_i l(f_i; y_i) over the training rows of a fold, for every C.

    Attributes
    ----------
    features : Gram
        Of the training rows that count and, after them, of the held-out rows.
    y, s : ndarray of shape (n,)
        Labels +1/-1 and weights of the training rows.
    pose : callable
        The problem of features, labels and weights c.
    """

    features: Gram
    y: np.ndarray
    s: np.ndarray
    pose: Callable[[Any, np.ndarray, np.ndarray], Problem]

    @property
    def n(self) -> int:
        """The number of training rows."""
        return len(self.y)

    @cached_property
    def train_features(self) -> Gram:
        """Of the training rows alone."""
        return self.features.subset(np.arange(self.n))

    @cached_property
    def loss(self) -> Loss:
        """The loss."""
        return self.problem(1.0).loss

    @cached_property
    def has_free_intercept(self) -> bool:
        """Whether b is not regularised."""
        return self.problem(1.0).balance is not None

    def problem(self, C: float) -> Problem:
        """The problem at C."""
        return self.pose(self.train_features, self.y, C * self.s)

    def open_problem(self, C: float) -> Problem:
        """The same with duals that need not balance, to add up its terms at any of them."""
        return replace(self.problem(C), balance=None)

    @cached_property
    def held_out_squares(self) -> np.ndarray:
        """k(x, x) of the held-out rows, from above."""
        return self.features.diagonal[self.n :] * (1.0 + DIAGONAL_ROUNDING)

    def expand(self, coef: np.ndarray, error: float = 0.0) -> Expansion:
        """The products of a vector with all rows; `error` is how far its coefficients may be off, as a length."""
        features, n = self.features, self.n
        whole = coef if features.linear else np.concatenate([coef, np.zeros(features.n - n)])
        scores = features.enclose(whole)
        half = features.enclose_penalty(whole, scores)
        square = Enclosed(2.0 * half.value, 2.0 * half.error)
        if error:
            length = float(np.sqrt(max(square.high, 0.0)))
            square = Enclosed(square.value, square.error + BOUND_INFLATION * error * (2.0 * length + error))
            scores = Enclosed(scores.value, scores.error + error * features.sizes)
        values, errors = np.asarray(scores.value), np.asarray(scores.error)
        train, held_out = (Enclosed(values[part], errors[part]) for part in (slice(n), slice(n, None)))
        return Expansion(coef, train, held_out, square, error)

    def expand_duals(self, a: np.ndarray, weights: np.ndarray) -> Expansion:
        """(w + sum_i a_i phi(x_i)) / 2."""
        features = self.train_features
        coef = 0.5 * (features.combine(a) + weights)
        if features.linear:
            error = bound_sum(self.n + 8) * float(np.abs(a) @ features.sizes) + UNIT * float(np.linalg.norm(coef))
        else:
            error = UNIT * float(np.abs(coef) @ features.sizes)
        return self.expand(coef, BOUND_INFLATION * error)

    @cached_property
    def spread(self) -> float:
        """The mean of |phi(x_i) - phi(x_j)|^2 / 2 over training rows: the trace of their covariance."""
        features = self.train_features
        coef = features.combine(np.full(self.n, 1.0 / self.n))
        square = features.square_norm(coef, features.scores(coef))
        mean = float(features.diagonal.mean())
        return max(mean - square, 1e-12 * mean, TINY)
