"""Bounds on rounding errors in float64 that hold for every order of summation (Higham 2002, chapters 2 and 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

AT_BOUND = 1e-10  # of the largest dual: a dual this near to its bound or to zero counts as being there
BALANCE_TOLERANCE = 1e-14  # of the size of the duals: an imbalance up to this is a rounding error
BALANCE_ROUNDINGS = 64  # rounding errors allowed for the balance nu sum(c), which is summed pairwise
BOUND_INFLATION = 1.0 + 1e-7  # of a bound that is itself summed with rounding
UNIT = 2.0**-53  # the unit roundoff u: fl(x op y) = (x op y)(1 + t) with |t| <= u


def bound_sum(terms: float) -> float:
    """gamma_k = k u / (1 - k u): bounds the relative error of a sum or a dot product of k terms (Higham 2002, eq. 3.4).

    Examples
    --------
    >>> bound_sum(1000) < 1.2e-13
    True
    """
    return terms * UNIT / (1.0 - terms * UNIT) if terms * UNIT < 1.0 else np.inf


def bound_absolute_sum(values: np.ndarray) -> float:
    """sum_i |v_i|, rounded upwards."""
    return float(np.abs(values).sum()) * (1.0 + bound_sum(np.size(values) + 1))


class Enclosed(NamedTuple):
    """A number or an array as computed, and a bound on |computed - exact|."""

    value: float | np.ndarray
    error: float | np.ndarray

    @property
    def high(self):
        """No less than the exact value."""
        return self.value + (self.error * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * abs(self.value))

    @property
    def low(self):
        """No more than the exact value."""
        return self.value - (self.error * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * abs(self.value))


def add_enclosed(*parts: Enclosed) -> Enclosed:
    """The sum of all parts; its error is that of the parts, and gamma_k times the sum of their sizes for adding them.

    Examples
    --------
    >>> add_enclosed(Enclosed(1.0, 0.0), Enclosed(2.0**-60, 0.0)).error > 2.0**-60
    True
    """
    slack, total, error, size = bound_sum(len(parts) + 1), 0.0, 0.0, 0.0
    for value, value_error in parts:
        total, error, size = total + value, error + value_error, size + abs(value)
    return Enclosed(total, (error + slack * size) * (1.0 + 2.0 * slack))


class Remainder(NamedTuple):
    """R(w) + R*(v) - <w, v> >= 0 for v = sum_i a_i phi(x_i), bounded from above.

    Attributes
    ----------
    value : float
        An upper bound on the remainder.
    plain : float
        The remainder as computed, without the allowance for rounding.
    distance : float
        A bound on |w - v|, for the penalty 1/2 |w|^2.
    shrink : float
        The share by which the duals must shrink before R*(v) is finite, for the penalty |w|_1; otherwise 0.
    """

    value: float
    plain: float = 0.0
    distance: float = 0.0
    shrink: float = 0.0
