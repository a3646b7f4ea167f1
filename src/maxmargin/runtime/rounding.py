"""Bounds on rounding errors in float64 that hold for every order of summation (Higham 2002, chapters 2 and 3).

`widen_error`, `widen_sum`, `bound_conjugate` and `bound_dual` are formulas of the judge on numbers. Python calls them
as they are, and `compiled.certificate_numbers` compiles the same text.
"""

from __future__ import annotations

from math import sqrt
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


def widen_error(value, error):
    """How far from a value, known to so much, the exact one is at most: also after the rounding of a bound."""
    return error * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * abs(value)


def widen_sum(error, size, terms: int):
    """The error of a sum of so many terms, from the sums of their errors and of their sizes."""
    slack = (terms + 1) * UNIT / (1.0 - (terms + 1) * UNIT)
    return (error + slack * size) * (1.0 + 2.0 * slack)


def bound_conjugate(penalty: float, distance: float) -> float:
    """R*(v) = |v|^2 / 2, from above: |v| is at most |w| + |w - v|, with |w|^2 / 2 = `penalty`."""
    length = sqrt(2.0 * penalty if penalty > 0.0 else 0.0) + distance
    return 0.5 * (length * length) * (1.0 + 16.0 * UNIT)


def bound_dual(primal_low: float, conjugate: float, conjugates: float, cost_of_dual: float, bound: float) -> float:
    """D from below: the larger of two bounds, one from its own terms, and one from P minus the remainders."""
    own, other = -conjugate - conjugates - cost_of_dual, primal_low - bound
    dual = other if other > own else own
    return dual - 4.0 * UNIT * (abs(conjugate) + abs(conjugates) + abs(dual))


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
        return self.value + widen_error(self.value, self.error)

    @property
    def low(self):
        """No more than the exact value."""
        return self.value - widen_error(self.value, self.error)


def add_enclosed(*parts: Enclosed) -> Enclosed:
    """The sum of all parts; its error is that of the parts, and gamma_k times the sum of their sizes for adding them.

    Examples
    --------
    >>> add_enclosed(Enclosed(1.0, 0.0), Enclosed(2.0**-60, 0.0)).error > 2.0**-60
    True
    """
    total, error, size = 0.0, 0.0, 0.0
    for value, value_error in parts:
        total, error, size = total + value, error + value_error, size + abs(value)
    return Enclosed(total, widen_sum(error, size, len(parts)))


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
