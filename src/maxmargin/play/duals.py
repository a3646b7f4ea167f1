"""The duals of a point, one for each sample, and which samples are support vectors: free or at a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.problem import Problem

ZERO_SHARE = 1e-8  # of the largest dual: a smaller one is zero
BOUND_SHARE = 1e-8  # of a bound: a dual that near to it is at it
NOT_SUPPORT, FREE, BOUNDED = 0, 1, 2


class SampleDuals(NamedTuple):
    """A number and a state (`NOT_SUPPORT`, `FREE` or `BOUNDED`) for each sample, both of shape (n,)."""

    value: np.ndarray
    state: np.ndarray


def read_duals(problem: Problem, a: np.ndarray) -> SampleDuals:
    """The duals by sample: their sum where there are several layers, the largest where there are several classes."""
    state = find_states(problem, a)
    if problem.features.signed:
        value, sign = problem.features.combine(a), problem.features.sign
        state = np.rint(problem.features.combine(sign * state)).astype(int)
        return SampleDuals(value, np.minimum(state, BOUNDED))
    if a.ndim == 1:
        return SampleDuals(a, state)
    value = np.abs(a).max(axis=0) if problem.traits.vector else a.sum(axis=0)
    return SampleDuals(value, state.max(axis=0))


def find_states(problem: Problem, a: np.ndarray) -> np.ndarray:
    """The state of every dual."""
    state = np.where(np.abs(a) > ZERO_SHARE * np.abs(a).max(initial=0.0), FREE, NOT_SUPPORT)
    row = problem.row
    if row is not None:
        low, high = np.broadcast_to(row.lo, a.shape), np.broadcast_to(row.hi, a.shape)
        near = (a <= (1.0 - BOUND_SHARE) * low) | (a >= (1.0 - BOUND_SHARE) * high)  # low <= 0 <= high
        state = np.where((state == FREE) & near, BOUNDED, state)
    return state
