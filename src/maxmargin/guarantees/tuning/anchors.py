"""Anchors: a machine and duals at one C, from a fit or from the anchors beside it."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import cast

import numpy as np

from ...certificates.optimum.prices import PiecewisePrices, PriceList, SmoothPrices
from ...certificates.term_sums import Sums, sum_terms
from ...contracts.losses import SmoothTerms, Terms
from ...model.losses import PiecewiseConjugate
from ...model.problem import Point, Problem
from ...runtime.interpreter import cached_property
from ...runtime.rounding import BOUND_INFLATION, UNIT, bound_sum
from .fold_machine import Expansion, FoldMachine
from .tilts import Tilt

TERM_ROUNDINGS = 64.0  # of the few operations behind a number, in units of the sizes that go into it


@dataclass(frozen=True, eq=False)
class Anchor:
    """A machine (w, b) and duals a at one C, whatever they come from: all bounds are evaluated from them alone.

    Attributes
    ----------
    fold : FoldMachine
    C : float
    problem : Problem
        That of the fold at C, with duals that need not balance.
    a : ndarray of shape (n,)
        Duals within their bounds.
    weights : Expansion
        w.
    b : float
    risk : float
        C sum_i s_i l(f_i; y_i) at (w, b), from above.
    """

    fold: FoldMachine
    C: float
    problem: Problem
    a: np.ndarray
    weights: Expansion
    b: float
    risk: float

    @property
    def scores(self) -> np.ndarray:
        """f(x) of the held-out rows."""
        return np.asarray(self.weights.held_out.value) + self.b

    @cached_property
    def untilted(self) -> Tilt:
        """The duals as they are."""
        return self.tilt(self.a)

    @property
    def square_radius(self) -> float:
        """r^2 with |w* - (w + v)/2| <= r, v = sum_i a_i phi(x_i), if the duals balance."""
        return max(-self.untilted.value, 0.0)

    def tilt(self, a: np.ndarray) -> Tilt:
        """What duals within their bounds say of scores; tau is what they sum to."""
        centre = self.fold.expand_duals(a, self.weights.coef)
        conjugates, square = bound_conjugates(self.problem.terms, a), max(float(centre.square.high), 0.0)
        size = self.risk + abs(conjugates) + square
        return Tilt(fsum(a), -self.risk - conjugates - square - TERM_ROUNDINGS * UNIT * size, size, centre)

    def find_tilt(self, total: float) -> Tilt:
        """A tilt with about this tau; where the intercept is not free, the duals are as good for any."""
        if self.fold.has_free_intercept:
            return self.tilt(self.prices.find_duals(total))
        return self.untilted._replace(total=total)

    @cached_property
    def prices(self) -> PriceList:
        """Duals that sum to any tau."""
        f, row = np.asarray(self.untilted.centre.train.value), self.problem.row
        if row is None:
            return SmoothPrices(cast(SmoothTerms, self.problem.terms), f, self.a, -self.b)
        return PiecewisePrices(row, f, self.a, 0.5 * self.fold.spread)


def make_anchor(fold: FoldMachine, C: float, point: Point) -> Anchor:
    """The anchor of a point of the problem at C."""
    problem = fold.problem(C)
    return assemble(fold, C, problem.feasible(point.a), problem.expand(point), float(point.b))


def interpolate(first: Anchor, second: Anchor, C: float) -> Anchor:
    """w, b and a on the straight line between two anchors.

    The bounds of duals grow with C in proportion, so that (1-t) a_0 + t a_1 is within them at (1-t) C_0 + t C_1.
    """
    t = (C - first.C) / (second.C - first.C)
    coef = (1.0 - t) * first.weights.coef + t * second.weights.coef
    return assemble(first.fold, C, (1.0 - t) * first.a + t * second.a, coef, (1.0 - t) * first.b + t * second.b)


def assemble(fold: FoldMachine, C: float, a: np.ndarray, coef: np.ndarray, b: float) -> Anchor:
    """The anchor of w, b and a, with its risk."""
    problem = fold.open_problem(C)
    a = problem.feasible(a)
    weights = fold.expand(coef)
    sums = cast(Sums, sum_terms(problem, a, b, weights.train, repaired=True))
    return Anchor(fold, C, problem, a, weights, b, float(sums.losses.high))


def bound_conjugates(terms: Terms, a: np.ndarray) -> float:
    """sum_i conj_i(a_i), from above; infinite where a dual is out of its bounds."""
    values = terms.conjugate(a)
    if isinstance(terms, PiecewiseConjugate):
        sizes = np.abs(terms.p * a) + 0.5 * terms.d * a * a + terms.e * np.abs(a)
        lost = bound_sum(len(a) + TERM_ROUNDINGS) * float(sizes.sum())
    else:
        errors = cast(SmoothTerms, terms).bound_conjugate_error(a)
        lost = float(errors.sum()) + bound_sum(len(a) + TERM_ROUNDINGS) * float(np.abs(values).sum())
    return float(values.sum()) + BOUND_INFLATION * lost
