"""The cuts a bundle holds: r(x) >= offset_k + <phi_k, x>, their products, and how they are let go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...runtime.rounding import bound_sum
from ...runtime.scipy_functions import daxpy


class AggregateCut(NamedTuple):
    """sum_k weight_k (phi_k, offset_k), for weights that sum to one, and what rounding may do to it.

    `error` bounds what the offset is off by, `slope_error` the length of what the slope is off by.
    """

    slope: np.ndarray
    offset: float
    error: float = 0.0
    slope_error: float = 0.0


class Cuts:
    """Rows phi_k of `slopes`, `offsets`, and the products <phi_k, phi_l> of each block of coordinates.

    `factor` scales every cut: the cuts of C r are C times those of r, so one bundle serves every C.
    """

    def __init__(self, size: int, blocks: tuple[slice, ...] = (slice(None),), capacity: int | None = None):
        self.blocks, self.capacity, self.factor = blocks, capacity, 1.0
        self.m = 0
        self._slopes, self._offsets = np.empty((8, size)), np.empty(8)
        self._errors = np.empty((2, 8))  # what offsets are off by, and the lengths of what slopes are off by
        self._products = np.empty((len(blocks), 8, 8))
        self.idle = np.zeros(0, int)
        self.keys: list = []
        self._centre, self._centre_products = None, np.zeros(0)  # the last centre, and the products of the cuts with it

    @property
    def slopes(self) -> np.ndarray:
        """phi_k, one row per cut, before the factor."""
        return self._slopes[: self.m]

    @property
    def offsets(self) -> np.ndarray:
        """Offsets, before the factor."""
        return self._offsets[: self.m]

    @property
    def errors(self) -> np.ndarray:
        """What rounding did to offsets (first row) and to slopes, as lengths (second row), before the factor."""
        return self._errors[:, : self.m]

    @property
    def lengths(self) -> np.ndarray:
        """|phi_k|, before the factor."""
        squares = np.einsum("bkk->k", self._products[:, : self.m, : self.m])
        return np.sqrt(squares) * (1.0 + bound_sum(self._slopes.shape[1] + 8))

    def products(self, curvatures: tuple[float, ...]) -> np.ndarray:
        """G_kl = sum over blocks of <phi_k, phi_l> / curvature, with the factor."""
        scale = self.factor**2
        parts = [scale / h * self._products[k, : self.m, : self.m] for k, h in enumerate(curvatures)]
        return sum(parts[1:], parts[0])

    def set_products(self, products: np.ndarray) -> None:
        """Take the products of an earlier run, for one block: computed afresh, they would be rounded otherwise."""
        self._products[0, : self.m, : self.m] = products

    def add(self, slope: np.ndarray, offset: float, key=None, error: float = 0.0, slope_error: float = 0.0) -> None:
        """Take a cut of factor * r; `key` goes with it to wherever the owner keeps more of it.

        `error` and `slope_error` are what rounding did to it, as of an `AggregateCut`.
        """
        m = self.m
        if m == len(self._offsets):
            self._grow()
        self._slopes[m], self._offsets[m] = slope / self.factor, offset / self.factor
        self._errors[:, m] = error / self.factor, slope_error / self.factor
        for k, block in enumerate(self.blocks):
            row = self._slopes[: m + 1, block] @ self._slopes[m, block]
            self._products[k, m, : m + 1] = self._products[k, : m + 1, m] = row
        self.m = m + 1
        self.idle = np.append(self.idle, 0)
        self.keys.append(key)

    def _grow(self) -> None:
        room = 2 * len(self._offsets)
        slopes, offsets = np.empty((room, self._slopes.shape[1])), np.empty(room)
        products = np.empty((len(self.blocks), room, room))
        slopes[: self.m], offsets[: self.m] = self.slopes, self.offsets
        products[:, : self.m, : self.m] = self._products[:, : self.m, : self.m]
        self._slopes, self._offsets, self._products = slopes, offsets, products
        self._errors = np.hstack([self.errors, np.zeros((2, room - self.m))])

    def keep(self, kept: np.ndarray) -> None:
        """Let go of all other cuts; `kept` holds indices in ascending order."""
        self._slopes[: len(kept)] = self._slopes[kept]
        self._offsets[: len(kept)] = self._offsets[kept]
        self._errors[:, : len(kept)] = self._errors[:, kept]
        for k in range(len(self.blocks)):
            self._products[k, : len(kept), : len(kept)] = self._products[k][np.ix_(kept, kept)]
        self.idle, self.keys, self.m = self.idle[kept], [self.keys[k] for k in kept], len(kept)
        self._centre_products = self._centre_products[kept[kept < len(self._centre_products)]]

    def combine(self, weights: np.ndarray) -> AggregateCut:
        """sum_k weight_k (phi_k, offset_k), with the factor; `weights` sum to one to rounding."""
        slope, used = np.zeros(self._slopes.shape[1]), np.flatnonzero(weights)
        for k in used:  # few of many: a product with all of them would read the rest in vain
            daxpy(self._slopes[k], slope, a=self.factor * weights[k])
        slack = bound_sum(2 * len(weights) + 16)
        sizes = np.abs(weights) @ np.column_stack([np.abs(self.offsets), self.lengths, *self.errors])
        error, slope_error = slack * sizes[:2] + sizes[2:] * (1.0 + slack)
        return AggregateCut(
            slope,
            self.factor * float(weights @ self.offsets),
            self.factor * float(error),
            self.factor * float(slope_error),
        )

    def products_with(self, centre: np.ndarray) -> np.ndarray:
        """<phi_k, centre> of every cut, with the factor; those of the last centre are remembered."""
        if self._centre is not centre:
            self._centre, self._centre_products = centre, np.zeros(0)
        known = len(self._centre_products)
        if known < self.m:
            # Row by row: a run that is resumed has the products of all cuts at once, and must have the same digits.
            self._centre_products = np.append(self._centre_products, [row @ centre for row in self.slopes[known:]])
        return self.factor * self._centre_products

    def heights(self, x: np.ndarray) -> np.ndarray:
        """offset_k + <phi_k, x> of every cut, with the factor."""
        return self.factor * (self.offsets + self.slopes @ x if x.any() else self.offsets)

    def count_idle_rounds(self, used: np.ndarray) -> None:
        """Count the rounds in which a cut had no weight."""
        self.idle = np.where(used, 0, self.idle + 1)

    def find_idle(self, patience: float) -> np.ndarray:
        """Which cuts may go: those so many rounds without a weight, and the longest idle where there are too many."""
        gone = self.idle > patience
        if self.capacity is not None and self.m - gone.sum() >= self.capacity:
            order = np.argsort(-self.idle, kind="stable")
            order = order[self.idle[order] > 0][: max(self.m - self.capacity + 1, 0)]
            gone[order] = True
        return gone
