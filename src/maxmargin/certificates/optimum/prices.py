"""Duals as functions of one price: those that sum to some number are found by the price alone."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...contracts.losses import SmoothTerms
from ...model.losses import PiecewiseConjugate

MAX_PRICE_STEPS = 60  # of Newton's method and bisection; the sum need not be met to the last digit
PRICE_TOLERANCE = 1e-7  # of tau, by which the sum may miss it


class PriceList(ABC):
    """Duals as functions of one price eta that rise with it: those that sum to tau are found by the price alone."""

    @abstractmethod
    def respond(self, price: float) -> np.ndarray:
        """The duals at a price, within their bounds."""

    @abstractmethod
    def find_price(self, total: float) -> float:
        """The price at which they sum to a number, nearly."""

    def find_duals(self, total: float) -> np.ndarray:
        """Duals that sum to a number, nearly."""
        return self.respond(self.find_price(total))


class PiecewisePrices(PriceList):
    """argmin over a of conj_i(a) + (f_i - eta) a + proximity/2 (a - a_i)^2, a straight line that is cut off.

    The best duals for a sample x solve a quadratic program with the kernel matrix in place of the proximity, a number.
    The sum over all i is piecewise linear in eta: it is laid out at its breakpoints, once for all totals.
    """

    def __init__(self, row: PiecewiseConjugate, f: np.ndarray, a: np.ndarray, proximity: float):
        self.row, self.curvature = row, row.d + proximity
        self.start = f + row.p - proximity * a  # the price at which the straight line is zero
        ends = np.concatenate([self.start + self.curvature * end for end in (row.lo, row.hi)])
        slopes = np.concatenate([1.0 / self.curvature, -1.0 / self.curvature])
        bounded = np.isfinite(ends)
        order = np.argsort(ends[bounded], kind="stable")
        self.prices, turns = ends[bounded][order], slopes[bounded][order]
        if not len(turns):  # no dual has a bound: one straight line
            self.prices, turns = np.zeros(1), np.zeros(1)
        # before the first breakpoint those slope that have no lower bound
        before = float((1.0 / self.curvature[~np.isfinite(row.lo)]).sum())
        self.slopes = before + np.concatenate([[0.0], np.cumsum(turns)])
        steps = np.diff(self.prices) * self.slopes[1:-1]
        self.sums = float(self.respond(self.prices[0]).sum()) + np.concatenate([[0.0], np.cumsum(steps)])

    def respond(self, price: float) -> np.ndarray:
        return np.clip((price - self.start) / self.curvature, self.row.lo, self.row.hi)

    def find_price(self, total: float) -> float:
        place = int(np.searchsorted(self.sums, total))
        slope = self.slopes[place]
        anchor = max(place - 1, 0)
        if not slope > 0.0:
            return float(self.prices[min(place, len(self.prices) - 1)])
        return float(self.prices[anchor] + (total - self.sums[anchor]) / slope)


class SmoothPrices(PriceList):
    """a_i plus what the responses -c_i l'(f_i - eta) change by from the price of a to eta; by Newton's method.

    The responses alone would do. But where machine and duals are not quite optimal, their gap is that of the duals a
    times the condition of the problem.
    """

    def __init__(self, terms: SmoothTerms, f: np.ndarray, a: np.ndarray, price: float):
        self.terms, self.f, self.price = terms, f, price
        self.rest = a - terms.response(f - price)[0]

    def respond(self, price: float) -> np.ndarray:
        return self.rest + self.terms.response(self.f - price)[0]

    def find_duals(self, total: float) -> np.ndarray:
        a = super().find_duals(total)
        if np.isfinite(self.terms.conjugate(a)).all():
            return a
        plain = SmoothPrices(self.terms, self.f, self.terms.response(self.f - self.price)[0], self.price)
        return plain.respond(plain.find_price(total))

    def find_price(self, total: float) -> float:
        low, high, price = -np.inf, np.inf, self.price
        for step in range(MAX_PRICE_STEPS):
            missing = total - float(self.respond(price).sum())
            if abs(missing) <= PRICE_TOLERANCE * abs(total):
                break
            low, high = (price, high) if missing > 0 else (low, price)
            rise = float(self.terms.second_derivative(self.f - price).sum())
            price = price + (missing / rise if rise > 0 else np.copysign(2.0**step, missing))
            if not low < price < high:
                inside = np.isfinite(low) and np.isfinite(high)
                price = 0.5 * (low + high) if inside else low + 1.0 if np.isfinite(low) else high - 1.0
        return price
