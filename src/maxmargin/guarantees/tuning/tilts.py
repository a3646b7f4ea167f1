"""Tilted duals: duals that sum to some tau in place of zero, and what they say of the scores of the optimum.

To bound the score of a sample x, the optimum is compared with that of a problem that has tau f(x) as another term.
Its duals sum to tau where the intercept is free. Any such duals give a bound, and those that lose little a good one.
"""

from __future__ import annotations

from typing import NamedTuple

from .fold_machine import Expansion


class Tilt(NamedTuple):
    """|tau| side f*(x) >= value + |tau| side <y, phi(x)> - tau^2/4 k(x, x), y = (w + v)/2, v = sum_i a_i phi(x_i).

    Attributes
    ----------
    total : float
        tau, the sum of the duals; its sign is the side.
    value : float
        -C sum_i s_i l(f_i; y_i) - sum_i conj_i(a_i) - |y|^2, from below.
    size : float
        The sum of the sizes of its terms, which rounding is relative to.
    centre : Expansion
        y.
    """

    total: float
    value: float
    size: float
    centre: Expansion
