"""Directions in which duals move to prove a bound: one and the same for all samples.

Let duals a move by tau q, with q summing to what the intercept counts in the functional, and z = sum_i q_i phi(x_i).
Then f*(x) >= <y, phi(x) - z> - slope - r^2/tau - tau (|phi(x) - z|^2 / 4 + curvature / 2) for every tau up to a limit,
where conj(a + tau q) <= conj(a) + tau slope + tau^2 curvature / 2 up to there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.losses import PiecewiseConjugate
from ...runtime.rounding import BOUND_INFLATION, UNIT, bound_sum
from .duals import FlatDuals, measure_movements
from .prices import PiecewisePrices, SmoothPrices

ROOM_SHARE = 1.0 - 1e-9  # of the room of a dual that is used


class Direction(NamedTuple):
    """How the duals move.

    Attributes
    ----------
    q : ndarray
        For each of the duals.
    limit : float
        The largest tau.
    slope, curvature : float
        Of the sum of the conjugates, from above.
    sensitivity : float
        By how much the slope changes at most for each unit by which the duals are off.
    """

    q: np.ndarray
    limit: float
    slope: float
    curvature: float
    sensitivity: float


def find_direction(
    duals: FlatDuals, f: np.ndarray, b: np.ndarray, shares: np.ndarray, tau: float, proximity: float
) -> Direction | None:
    """Duals that sum to about tau times the shares more, at the least cost; None if there are no such.

    Parameters
    ----------
    duals : FlatDuals
    f : ndarray
        Scores without intercept.
    b : ndarray of shape (layers,)
    shares : ndarray of shape (layers,)
        What each intercept counts in the functional; the sign of tau is in it.
    tau : float
    proximity : float
        What stands for the kernel matrix.
    """
    change, reached = np.zeros(len(duals.a)), tau
    layers = [(np.flatnonzero(duals.layer == layer), float(shares[layer]), layer) for layer in np.flatnonzero(shares)]
    found = []
    for own, share, layer in layers:
        if not len(own):
            return None
        change[own] = find_changes(duals.take(own), f[own], float(b[layer]), tau * share, proximity)
        found.append(float(change[own].sum()))
        if not (np.isfinite(found[-1]) and found[-1] * share > 0.0):
            return None
        reached = min(reached, found[-1] / share)  # less where there is no more room
    for (own, share, _), total in zip(layers, found, strict=True):
        change[own] *= reached * share / total
    return close_direction(duals, change, reached)


def find_changes(duals: FlatDuals, f: np.ndarray, b: float, total: float, proximity: float) -> np.ndarray:
    """The cheapest changes with a given sum, nearly; a kink at zero is left in one direction only."""
    if not duals.terms.piecewise:
        prices = SmoothPrices(duals.terms, f, duals.a, -b)
        return prices.find_duals(float(duals.a.sum()) + total) - duals.a
    up, down, rising, falling, curvature = measure_movements(duals)
    kinked, zero = duals.terms.e > 0, np.zeros(len(f))
    if total > 0:
        p, lo, hi = rising, np.where(kinked, 0.0, -down), up
    else:
        p, lo, hi = falling, -down, np.where(kinked, 0.0, up)
    # about the duals as they are: sums of small changes keep their digits
    return PiecewisePrices(PiecewiseConjugate(p, curvature, zero, lo, hi), f, zero, proximity).find_duals(total)


def close_direction(duals: FlatDuals, change: np.ndarray, tau: float) -> Direction | None:
    """q = change / tau and what it costs, in both cases with rounding on the safe side."""
    if not tau > 0.0 or not change.any():
        return None
    q = change / tau
    if duals.terms.piecewise:
        up, down, rising, falling, curvature = measure_movements(duals)
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = np.where(q > 0, up / q, np.where(q < 0, -down / q, np.inf))
        slopes = np.where(q > 0, rising, falling) * q
        slope, size = float(slopes.sum()), float(np.abs(slopes).sum() + np.abs(duals.terms.e * q).sum())
        limit = min(float(limits.min()), 1e300) * ROOM_SHARE
        slope += bound_sum(len(q) + 16) * (size + float(np.abs(duals.terms.p * q).sum()))
        sensitivity = 2.0 * float(np.abs(q).max() * (curvature.max() + duals.terms.e.max()))
        return Direction(q, limit, slope, float(curvature @ (q * q)) * BOUND_INFLATION, sensitivity)
    terms, after = duals.terms, duals.a + tau * q
    before, moved = terms.conjugate(duals.a), terms.conjugate(after)
    errors = terms.bound_conjugate_error(duals.a) + terms.bound_conjugate_error(after)
    # what after is rounded by, at its slope
    steep = np.maximum(*(np.abs(each) for each in terms.slopes(after)))
    errors = errors + 2.0 * UNIT * (np.abs(duals.a) + np.abs(after)) * steep + 2.0 * UNIT * np.abs(moved - before)
    rise = float((moved - before).sum()) + BOUND_INFLATION * float(errors.sum())
    rise += bound_sum(len(q) + 8) * float(np.abs(moved - before).sum())
    if not np.isfinite(rise):
        return None
    turned = np.abs(terms.slopes(after)[0] - terms.slopes(duals.a)[0])
    sensitivity = 2.0 * float(np.nan_to_num(turned, nan=np.inf).max()) / tau
    return Direction(q, tau, rise / tau + 2.0 * UNIT * abs(rise / tau), 0.0, sensitivity)
