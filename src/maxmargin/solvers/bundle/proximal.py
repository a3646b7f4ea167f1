"""Rules that stay near the best place so far: by a proximal term, a radius, or a level."""

from __future__ import annotations

import numpy as np

from . import aims
from .aims import Aim, Radius
from .descent import Descent
from .model import Step
from .proximity_search import ProximitySearch
from .rule import Rule, measure_scope

SERIOUS_STEP_SHARE = 0.1  # of the promised fall that makes a step a serious one
LONGER_STEP_SHARE = 0.5  # of the promised fall that lets the next step be longer
LINEAR_PROGRAM_ROUNDS = 20  # rounds from one linear program for the bound to the next
MAX_NULL_STEPS = 8  # null steps after which a radius is too long
MAX_LEVEL_MISS = 1e-3  # of the way to its level: a step that misses more, for rounding, is one of a linear program
MAX_LONGER_STEPS = 20  # ever less proximity, for what it says of the best place


class Proximal(Rule):
    """x = argmin model + proximity/2 |x - centre|^2, the centre moving where F falls by enough."""

    name = "proximal-bundle"

    def begin(self, descent: Descent) -> None:
        """A first step of the length of a unit, or of x0."""
        ridge = descent.model.spread(descent.model.ridges)
        slope = descent.cuts.factor * descent.cuts.slopes[-1] + ridge * descent.start
        length = max(1.0, float(np.linalg.norm(descent.start)))
        self.proximity = max(float(np.linalg.norm(slope)) / length, 1e-12)
        self.least = 1e-60 * self.proximity
        self.scope = 10.0 * length  # how far off the minimum of a linear program is expected
        self.run = 0  # serious steps since the proximity changed, or null steps if negative

    def minimise(self, descent: Descent, proximity: float, start: np.ndarray | None = None) -> Step:
        """The minimum of the model with this proximity."""
        proximities = (proximity,) * len(descent.model.ridges)
        start = descent.pad_weights(descent.weights) if start is None else start
        return descent.model.minimise(proximities, descent.best.x, start)

    def find(self, descent: Descent, lowest: Step | None) -> Step:
        """The step with the present proximity; `lowest` is the minimum of the model without it, where that is known."""
        return self.minimise(descent, self.proximity)

    def step(self, descent: Descent) -> None:
        """A serious step if F falls by a tenth of what the model promised, else a null step: only a cut."""
        step = descent.tried = self.find(descent, self.seek_bound(descent))
        descent.take(step)
        promised = descent.least - (step.height + descent.model.quadratic(step.x))
        place = descent.locate(step.x)
        fall = descent.least - descent.value(place)
        descent.add_cut(place)
        cuts = descent.cuts
        error = (
            descent.best.value - cuts.factor * float(cuts.offsets[-1]) - float(cuts.products_with(descent.best.x)[-1])
        )
        serious = fall >= SERIOUS_STEP_SHARE * promised and fall > 0
        if serious:
            descent.move_to(place)
        self.adapt(descent, serious, fall, promised, error)

    def seek_bound(self, descent: Descent) -> Step | None:
        """The minimum of the model alone, where it has one: with its ridge, returned; in a closed box now and then.

        Where F has stopped falling, cuts are made there too: those near the centre say little of the rest of the box.
        """
        idle = descent.n_iter - descent.last_serious > 2 * LINEAR_PROGRAM_ROUNDS
        if descent.ridged:
            return descent.bound_by_ridge()
        if descent.model.closed and (idle or descent.n_iter % LINEAR_PROGRAM_ROUNDS == 0):
            step, _ = self.minimise_linear(descent, 0.0)
            if idle:
                descent.add_cut(descent.locate(step.x))
        elif not descent.model.closed and descent.n_iter % LINEAR_PROGRAM_ROUNDS == 0:
            self.look_further(descent)
        return None

    def look_further(self, descent: Descent) -> None:
        """Minima of the model with ever less proximity, as far as the start is: for what they say of the best place.

        Near a minimum a step is short, and the slope of its mean is that of F so near: the root of what F has left to
        fall, and of its rounding. Cuts on both sides of the minimum have a mean with hardly any slope and an error that
        is still small, and longer steps find it.
        """
        x, u, weights = descent.best.x, self.proximity, None
        for _ in range(MAX_LONGER_STEPS):
            u *= 0.1
            step = self.minimise(descent, u, weights)
            descent.measure(step.mean)
            weights = step.weights
            if float(np.linalg.norm(step.x - x)) >= descent.reach:
                break

    def minimise_linear(self, descent: Descent, radius: float) -> tuple[Step, float]:
        """The minimum of the cuts alone, and how low F may be within the radius."""
        step, _ = descent.model.minimise_linear(descent.best.x, radius, self.scope)
        self.scope = measure_scope(step, descent)
        descent.plain = step.weights
        descent.measure(step.mean)
        within = descent.model.bound_within(step, descent.best.x, radius)
        descent.raise_bound(descent.model.bound(step))
        return step, descent.bound if descent.model.closed else within

    def adapt(self, descent: Descent, serious: bool, fall: float, promised: float, error: float) -> None:
        """Kiwiel (1990), procedure 2.2: longer steps where the model is good, shorter ones where it misleads."""
        u = self.proximity
        fitted = 2.0 * u * (1.0 - fall / promised) if promised > 0 else u
        if serious:
            new = fitted if fall >= LONGER_STEP_SHARE * promised and self.run > 0 else 0.5 * u if self.run > 3 else u
            new = min(max(new, 0.1 * u, self.least), u)
            self.run = max(self.run + 1, 1) if new == u else 1
        else:
            measure = descent.optimality
            estimate = measure.error + measure.slope
            new = fitted if error > max(estimate, 10.0 * promised) and self.run < -3 else u
            new = min(max(new, u), 10.0 * u)
            self.run = min(self.run - 1, -1) if new == u else -1
        self.proximity = new


class TrustRegion(Proximal):
    """x = argmin model over |x - centre| <= radius, the radius growing where the model is good."""

    name = "trust-region-bundle"

    def begin(self, descent: Descent) -> None:
        """A radius of a unit, or of x0."""
        super().begin(descent)
        self.radius = max(1.0, float(np.linalg.norm(descent.start)))

    def find(self, descent: Descent, lowest: Step | None) -> Step:
        """The step with the proximity that makes it as long as the radius; the minimum of the model if it is nearer."""
        x = descent.best.x
        step = self.meet(descent, Radius(x, self.radius), lowest)
        self.radius = min(self.radius, 2.0 * float(np.linalg.norm(step.x - x)) or self.radius)
        return step

    def meet(self, descent: Descent, aim: Aim, lowest: Step | None) -> Step:
        """The step that meets an aim, or the minimum of the model where that is nearer.

        Where there is no root for rounding, the next search begins where this one did.
        """
        if lowest is not None and aim.excess(lowest) <= aim.tol:
            return lowest
        search = ProximitySearch(descent.model, descent.best.x, aim)
        trial = search.run(self.proximity, descent.pad_weights(descent.weights))
        if abs(trial.excess) <= aim.tol or search.far is None:
            self.proximity = trial.proximity
        return trial.step

    def adapt(self, descent: Descent, serious: bool, fall: float, promised: float, error: float) -> None:
        """Schramm and Zowe (1992): a cut that says much of the centre needs no shorter step, for a while."""
        self.run = max(self.run + 1, 1) if serious else min(self.run - 1, -1)
        if serious and fall >= LONGER_STEP_SHARE * promised:
            self.radius *= 2.0
        elif not serious and (error > 10.0 * promised or self.run <= -MAX_NULL_STEPS):
            self.radius, self.run = 0.5 * self.radius, 0


class Level(TrustRegion):
    """x = the point nearest to the centre with model(x) <= level, the level between bound and best value."""

    name = "level-bundle"
    share = 0.7  # of the gap is left below the level

    def find(self, descent: Descent, lowest: Step | None) -> Step:
        """The step at which the model meets the level; its minimum where nothing but rounding lies below F."""
        reach, bound, bottom = np.inf, descent.bound, None
        if not descent.ridged:
            reach = 10.0 * max(float(np.linalg.norm(descent.best.x - descent.start)), self.radius)
            bottom, within = self.minimise_linear(descent, reach)
            # No level below what the model can reach; where slopes differ by many digits, x may violate a steep cut.
            bound = within if bottom.height > descent.least else max(within, bottom.height)
        target = self.share * (descent.least - bound)
        if bottom is not None and target <= descent.model.measure_rounding(descent.best.x):
            return bottom
        aim = aims.Level(descent.model, descent.best.x, descent.least - target, target, reach)
        started = self.proximity
        # The model is lower than the level somewhere; over a faint ridge, rounding may hide that at its minimum.
        step = self.meet(descent, aim, None)
        if bottom is None or aim.excess(step) >= -MAX_LEVEL_MISS:
            return step
        self.proximity = started
        return bottom  # where slopes differ by many digits, a linear program finds levels that no proximity does

    def adapt(self, descent: Descent, serious: bool, fall: float, promised: float, error: float) -> None:
        """The level follows value and bound by itself."""
