"""Rules that ask at the minimum of the model, or on the line to it: Kelley's cutting planes, BMRM, line searches."""

from __future__ import annotations

import numpy as np

from .descent import Descent
from .line import MAX_STEP_FACTOR, Look, minimise_on_line
from .model import EPSILON, Step
from .oracle import Place
from .rule import Rule, measure_scope

LINE_TOL = 1e-10  # of the fall that the model promises: by so much the value may exceed the least one on a line
CUT_STEP_SHARE = 0.1  # how far beyond the best place towards the model's minimum OCAS makes its cut


class CuttingPlane(Rule):
    """x = argmin max_k offset_k + <phi_k, x> + ridge/2 |x|^2."""

    name = "cutting-plane"
    idle_rounds_limit_without_ridge = np.inf  # a linear program needs all cuts
    held = False  # whether the radius held the last step back

    def begin(self, descent: Descent) -> None:
        """The radius within which an open model is minimised where there is no ridge."""
        self.radius = 10.0 * max(1.0, float(np.abs(descent.start).max()))
        self.scope = self.radius

    def minimise(self, descent: Descent) -> Step:
        """The minimum of the model, and its bound."""
        if descent.ridged:
            step = descent.bound_by_ridge()
            if descent.block_proximities is not None:
                start = descent.pad_weights(descent.weights)
                step = descent.model.minimise(descent.block_proximities, descent.best.x, start)
            descent.weights = step.weights
            descent.measure(step.mean)
            return step
        step, inside = descent.model.minimise_linear(descent.best.x, self.radius, self.scope)
        descent.take(step)
        self.scope = measure_scope(step, descent)
        self.held = not inside
        return step

    def step(self, descent: Descent) -> None:
        """Ask at the minimum of the model."""
        descent.tried = self.minimise(descent)
        place = descent.locate(descent.tried.x)
        better = descent.update_best(place)
        descent.add_cut(place)
        self.widen(better)

    def widen(self, better: bool) -> None:
        """Look further where the radius held back a step that led down."""
        if self.held and better:
            self.radius *= 2.0


class Ocas(CuttingPlane):
    """x = best + t (argmin model - best), t = argmin F; the cut is made a little beyond."""

    name = "cutting-plane-line-search"

    def step(self, descent: Descent) -> None:
        """Search the line to the minimum of the model."""
        oracle = descent.oracle
        descent.tried = self.minimise(descent)
        goal = oracle.locate(descent.tried.x)
        better = descent.update_best(oracle.search(descent.best, goal, descent.model))
        # Franc and Sonnenburg: a cut at the best place itself would lack what the model's minimum has to tell.
        beyond = descent.pull_back(oracle.between(descent.best, goal, CUT_STEP_SHARE))
        for place in (beyond, *oracle.seen_on_line()):
            descent.add_cut(place)
        descent.update_best(beyond)
        self.widen(better)


class ExactLineSearch(CuttingPlane):
    """x_t+1 = x_t + eta (argmin model - x_t), eta = argmin F, and the cut is one at x_t+1: as in Schmidt-Thieme (n.d.).

    Line (10) there takes any subgradient at x_t+1. Where F has a kink, one that falls towards the minimum of the model
    may be that of an old cut, and the next round would be the same again. So of the tangents that touch F at x_t+1 the
    one is taken that is highest at the minimum of the model.
    """

    name = "line-search"

    def step(self, descent: Descent) -> None:
        """Lines (7) to (11) of minimize-cutting-plane-line-search."""
        oracle, start, least = descent.oracle, descent.best, descent.least
        descent.tried = self.minimise(descent)  # (7)
        goal = descent.locate(descent.tried.x)
        promised = least - descent.tried.height - descent.model.quadratic(descent.tried.x)
        places: dict[float, Place] = {}

        def look(t: float) -> Look:
            places[t] = oracle.between(start, goal, t)
            return Look(t, descent.value(places[t]), descent.measure_slope(places[t], start, goal))

        longest = 1.0 if descent.model.boxed else MAX_STEP_FACTOR
        tol = LINE_TOL * max(promised, 0.0) + 32.0 * EPSILON * abs(least)
        found = minimise_on_line(look, look(0.0), tol, longest)  # (8)
        descent.update_best(places[found.lowest.t])  # (9)
        descent.add_cut(places[found.touch(100.0 * tol).t])  # (10), (11)
        self.widen(found.lowest.t >= 1.0)
