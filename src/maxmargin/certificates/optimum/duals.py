"""The duals of a certified point that may move: how far, at which slopes of their conjugates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...model.losses import PiecewiseConjugate
from ...model.problem import Problem
from ...runtime.rounding import UNIT

MAX_PIECEWISE_CANDIDATES = 1024  # duals that may move, for a loss with five numbers: few are free
MIN_PIECEWISE_CANDIDATES = 48
NEAR_COST_FACTOR = 4.0  # times the noise of scores: what costs more to move is taken only where there are few others
MAX_SMOOTH_CANDIDATES = 4096  # for a smooth loss, where the more there are the less each has to move


class FlatDuals(NamedTuple):
    """Some duals of a problem, whatever its layers and signs.

    Attributes
    ----------
    row, layer : ndarray of int
        The sample of each, and its layer.
    sign : ndarray
        That of its features.
    a : ndarray
        The dual.
    terms : PiecewiseConjugate or SmoothTerms
        Its conjugate.
    """

    row: np.ndarray
    layer: np.ndarray
    sign: np.ndarray
    a: np.ndarray
    terms: Any

    def take(self, index: np.ndarray) -> FlatDuals:
        """Some of them."""
        return FlatDuals(*(part[index] for part in self[:4]), take_terms(self.terms, index))

    def number_rows(self) -> tuple[FlatDuals, np.ndarray]:
        """The same with rows counted from zero, and which rows these are."""
        rows, place = np.unique(self.row, return_inverse=True)
        return self._replace(row=place), rows


class Movements(NamedTuple):
    """How far each dual may go up and down before its conjugate has another formula, and its slopes there.

    conj(a + t) = conj(a) + rising t + curvature t^2/2 for t in [0, up], with `falling` for t in [-down, 0].
    """

    up: np.ndarray
    down: np.ndarray
    rising: np.ndarray
    falling: np.ndarray
    curvature: np.ndarray


def take_terms(terms: Any, index: np.ndarray) -> Any:
    """The terms of some duals."""
    return PiecewiseConjugate(*(part[index] for part in terms)) if terms.piecewise else terms.take(index)


def flatten(problem: Problem, a: np.ndarray) -> FlatDuals:
    """All duals of a problem, one layer after the other."""
    features, layers = problem.features, 1 if a.ndim == 1 else len(a)
    row = np.tile(features.index if features.signed else np.arange(a.shape[-1]), layers)
    sign = features.sign if features.signed else np.ones(row.shape)
    terms = PiecewiseConjugate(*(np.ravel(part) for part in problem.row)) if problem.row is not None else problem.terms
    return FlatDuals(row, np.repeat(np.arange(layers), a.shape[-1]), sign, np.ravel(a), terms)


def measure_movements(duals: FlatDuals) -> Movements:
    """Up to a bound, or to the kink at zero."""
    row, a = duals.terms, duals.a
    middle, kinked = row.p + row.d * a, row.e > 0
    up = np.where(kinked & (a < 0), -a, row.hi - a)
    down = np.where(kinked & (a > 0), a, a - row.lo)
    rising = middle + np.where(a >= 0, row.e, -row.e)
    falling = middle + np.where(a > 0, row.e, -row.e)
    return Movements(np.maximum(up, 0.0), np.maximum(down, 0.0), rising, falling, row.d)


def choose_candidates(duals: FlatDuals, f: np.ndarray, noise: float) -> np.ndarray:
    """The duals that it costs least to move, from scores with their intercept: free ones, and then those near them.

    Which ones they are is no part of a proof, so f may be known roughly; costs below `noise` are all alike.
    """
    if not duals.terms.piecewise:
        curvature = duals.terms.second_derivative(f)
        if len(f) <= MAX_SMOOTH_CANDIDATES:
            return np.arange(len(f))
        return np.sort(np.argpartition(-curvature, MAX_SMOOTH_CANDIDATES)[:MAX_SMOOTH_CANDIDATES])
    movements, chosen = measure_movements(duals), []
    for room, cost in ((movements.up, f + movements.rising), (movements.down, -f - movements.falling)):
        able = np.flatnonzero(room > 64.0 * UNIT * np.abs(duals.a))
        if len(able) > MAX_PIECEWISE_CANDIDATES << 4:  # no need to sort all of them
            able = able[np.argpartition(cost[able], MAX_PIECEWISE_CANDIDATES << 3)[: MAX_PIECEWISE_CANDIDATES << 3]]
        order = np.lexsort((-room[able], np.maximum(cost[able], noise)))
        near = np.count_nonzero(cost[able] <= NEAR_COST_FACTOR * noise)
        kept = max(MIN_PIECEWISE_CANDIDATES, min(near, MAX_PIECEWISE_CANDIDATES)) // 2
        chosen.append(able[order[:kept]])
    return np.unique(np.concatenate(chosen))
