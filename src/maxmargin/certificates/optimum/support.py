"""Which samples certainly have a dual at the optimum, and which certainly have none, by bounds on their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...model.problem import Problem
from .bounds import Interval, OptimumBounds


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedSupport:
    """What is proven of the support vectors of the exact optimum.

    Attributes
    ----------
    certain : ndarray of bool of shape (n_samples,)
        Whether the sample certainly is a support vector: of one machine at least.
    excluded : ndarray of bool of shape (n_samples,)
        Whether it certainly is none, of any machine.
    at_bound : ndarray of bool of shape (n_samples,)
        Whether it certainly is one with its dual at a bound, within the margin or on the wrong side.
    """

    certain: np.ndarray
    excluded: np.ndarray
    at_bound: np.ndarray

    def __repr__(self) -> str:
        certain, excluded = np.count_nonzero(self.certain), np.count_nonzero(self.excluded)
        open_samples = len(self.certain) - certain - excluded
        return (
            f"<{certain} samples are certainly support vectors, {excluded} are certainly not, {open_samples} are open>"
        )


class CertainDuals(NamedTuple):
    """The same of one machine, for its samples."""

    certain: np.ndarray
    excluded: np.ndarray
    at_bound: np.ndarray


def find_certain_duals(problem: Problem, bounds: OptimumBounds) -> CertainDuals:
    """From -f* strictly between the slopes of the conjugate at zero, or outside of them: all optimal duals meet that.

    A sample has a dual in each layer, and where samples come with signs one for each of its signs.
    """
    y, features = problem.y, problem.features
    terms, zero = problem.terms, np.zeros(y.shape)
    lower, upper = bound_training_scores(problem, bounds)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left, right = terms.slopes(zero)
        excluded = (-upper > left) & (-lower < right)
        certain = (-lower < left) | (-upper > right)
        at_bound = find_certain_bounds(problem, lower, upper)
    if features.signed:
        n = features.gram.n
        some = [np.bincount(features.index, weights=each, minlength=n) > 0 for each in (certain, at_bound, ~excluded)]
        return CertainDuals(some[0], ~some[2], some[1])
    if y.ndim == 1:
        return CertainDuals(certain, excluded, at_bound)
    return CertainDuals(certain.any(axis=0), excluded.all(axis=0), at_bound.any(axis=0))


def find_certain_bounds(problem: Problem, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Where -f* is beyond the slope of the conjugate at a finite bound other than zero."""
    row = problem.row
    if row is None:
        return np.zeros(lower.shape, bool)
    high, low = np.isfinite(row.hi) & (row.hi > 0), np.isfinite(row.lo) & (row.lo < 0)
    steepest = row.p + row.d * np.where(high, row.hi, 0.0) + row.e
    flattest = row.p + row.d * np.where(low, row.lo, 0.0) - row.e
    return (high & (-upper > steepest)) | (low & (-lower < flattest))


def bound_training_scores(problem: Problem, bounds: OptimumBounds) -> Interval:
    """Bounds on f*_li in the shape of the duals."""
    features = problem.features
    if features.signed:
        sides = {}
        for side in (1.0, -1.0):  # s <w, phi> + b is s times <w, phi> + s b
            found = bound_all(bounds.for_shares(side), features.gram.samples)
            sides[side] = found if side > 0 else Interval(-found.upper, -found.lower)
        positive = features.sign > 0
        ends = [np.where(positive, sides[1.0][k][features.index], sides[-1.0][k][features.index]) for k in (0, 1)]
        return Interval(*ends)
    if problem.y.ndim == 1:
        return bound_all(bounds, features.samples)
    layers = [bound_all(bounds.for_shares(*row), features.samples) for row in np.eye(len(problem.y))]
    return Interval(np.stack([each.lower for each in layers]), np.stack([each.upper for each in layers]))


def bound_all(bounds: OptimumBounds, samples) -> Interval:
    """The sharpest bounds on some samples."""
    return bounds.refine(samples, bounds.bound(samples), np.ones(samples.n, bool))
