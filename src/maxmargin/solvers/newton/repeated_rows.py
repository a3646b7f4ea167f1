"""Rows that a small problem has more than once, as one row with the sum of their weights.

With a = sum of the duals a_i of equal rows, w and b are the same, and so are P and D: losses add up, and conjugates of
kinks are linear between their bounds. A fit with weights and one with repeated rows then take the same steps.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

NEAR_TIE = 1e-12  # of the largest sum: sums of equal rows differ by less, by what a product rounds


class RepeatedRows(NamedTuple):
    """`order` has equal rows side by side, `starts` says where each kind begins, and `kinds` of which kind a row is."""

    order: np.ndarray
    starts: np.ndarray
    kinds: np.ndarray

    def choose(self, values: np.ndarray) -> np.ndarray:
        """The values of one row of each kind; of a matrix, those along its last axis."""
        return np.ascontiguousarray(values[..., self.order[self.starts]])

    def add(self, values: np.ndarray) -> np.ndarray:
        """The sums of values over equal rows, along the last axis."""
        return np.add.reduceat(values[..., self.order], self.starts, axis=-1)

    def spread(self, merged: np.ndarray, bounds: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """The duals of all rows: each has the share of the sum that its bound is of the sum of bounds."""
        share = merged / np.where(sums == 0.0, 1.0, sums)
        return share[:, self.kinds] * bounds


@lru_cache
def draw_weights(length: int) -> np.ndarray:
    """Numbers without a pattern, always the same."""
    return np.sin(np.arange(1.0, length + 1.0))


def find_repeated_rows(Z: np.ndarray, p: np.ndarray, e: np.ndarray) -> RepeatedRows | None:
    """Rows of Z that are equal, with the same targets p and flat parts e in every problem; None if there are none.

    Rows are sorted by a sum of their numbers with weights that have no pattern; equal rows have the same, bit by bit.
    """
    weights = draw_weights(Z.shape[1] + len(p))
    if len(Z) < 2:
        return None
    roughly = Z.dot(weights[: Z.shape[1]])
    roughly.sort()
    apart = roughly[1:] - roughly[:-1]
    if apart[apart.argmin()] > NEAR_TIE * max(-float(roughly[0]), float(roughly[-1])):
        return None
    keys = (Z * weights[: Z.shape[1]]).sum(axis=1)
    for row, weight in zip(p, weights[Z.shape[1] :], strict=True):
        keys += weight * row
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    for values in (Z.T, p, e) if same.any() else ():
        ordered = values[:, order]
        same &= (ordered[:, 1:] == ordered[:, :-1]).all(axis=0)
    if not same.any():
        return None
    first = np.concatenate([[True], ~same])
    kinds = np.empty(len(order), np.int64)
    kinds[order] = np.cumsum(first) - 1
    return RepeatedRows(order, np.flatnonzero(first), kinds)


def balance(a: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> None:
    """Let the dual furthest from its bounds take up what rounding has left of the sum, where it has room."""
    for k in range(len(a)):
        room = np.minimum(np.minimum(a[k] - lo[k], hi[k] - a[k]), np.abs(a[k]))
        missing, widest = math.fsum(a[k]), int(room.argmax())
        if abs(missing) < room[widest]:
            a[k, widest] -= missing
