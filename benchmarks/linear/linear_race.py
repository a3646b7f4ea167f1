"""One linear problem: our seconds to a certified gap, and every peer's seconds to the same primal value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..measuring.clock import read_limit, time_best, time_once
from ..peers.linear_routes import ROUTES, STEP
from .linear_cases import LinearCase
from .reach import Reached, reach

GIVE_UP_FACTOR = 100.0  # a peer that takes longer than this times ours has lost
LEAST_CAP = 10.0  # seconds; what a peer is given at least
# Times ours, that a peer is given whatever LIMIT is: a rung may end STEP short of what is given, and a peer that was
# stopped before our own time says nothing.
LEAST_FACTOR = 2.0 * STEP
OPTIMUM_GAP = 1e-9  # the gap of the fit that says where the optimum is
OPTIMUM_SECONDS = 120.0


@dataclass
class Ours:
    """Our fit: the least seconds of several after one to warm up."""

    seconds: float
    gap: float
    primal: float
    dual: float
    solver: str
    iterations: int


@dataclass
class Race:
    """Everything found on one problem at one tolerance."""

    case: LinearCase
    tol: float
    ours: Ours
    dual: float  # the best lower bound of P that we know
    climbs: dict[str, Reached] = field(default_factory=dict)

    def best(self, peer: str) -> Reached | None:
        """The peer's fastest route to the target; if none led there, the one that ran longest."""
        mine = [climb for name, climb in self.climbs.items() if ROUTES[name].peer == peer and not climb.failed]
        there = [climb for climb in mine if climb.seconds is not None]
        if there:
            return min(there, key=lambda climb: climb.seconds)
        return max(mine, key=lambda climb: (climb.capped, climb.longest), default=None)

    def ratio(self, peer: str) -> float | None:
        """Their seconds over ours; a lower bound where time ended the climb; None where it ended by itself.

        None too where our own gap is above tol: then there is no target to race to.
        """
        best = self.best(peer)
        if best is None or (best.seconds is None and not best.capped) or self.ours.gap > self.tol:
            return None
        return (best.longest if best.seconds is None else best.seconds) / self.ours.seconds

    def is_bound(self, peer: str) -> bool:
        """Whether the ratio is only a lower bound."""
        best = self.best(peer)
        return best is not None and best.seconds is None and best.capped


def warm_up(case: LinearCase, tol: float) -> None:
    """A fit that is not timed: what it needs is compiled afterwards."""
    time_once(lambda: case.make_ours(tol).fit(case.X, case.y))


def fit_ours(case: LinearCase, tol: float) -> Ours:
    """Warm up, then the least of several."""
    warm_up(case, tol)
    seconds, model = time_best(lambda: case.make_ours(tol).fit(case.X, case.y))
    found, result = model.certificate_, model.result_
    name = type(result.solver).__name__
    return Ours(seconds, found.relative_gap, found.primal, found.dual, name, int(np.max(model.n_iter_)))


def find_bound(case: LinearCase) -> float:
    """The dual value of a fit far sharper than any that is timed: next to the optimum, and below it."""
    _, model = time_once(lambda: case.make_ours(OPTIMUM_GAP, max_seconds=OPTIMUM_SECONDS).fit(case.X, case.y))
    return model.certificate_.dual


def run_race(
    case: LinearCase, tol: float, routes: Iterable[str], bound: float | None = None, least_cap: float | None = None
) -> Race:
    """Ours first; then every route, given no more time than would beat the best route of the same peer."""
    ours = fit_ours(case, tol)
    race = Race(case, tol, ours, max(ours.dual, find_bound(case) if bound is None else bound))
    print(f"{case.name}, {case.loss}, tol {tol:g}: ours {ours.seconds:.3g} s, gap {ours.gap:.1e}", flush=True)
    limit = choose_limit(ours.seconds, least_cap or LEAST_CAP)
    for name in routes:
        if case.loss == "hinge" and any(climb.longest * STEP > limit for climb in race.climbs.values()):
            break  # one algorithm behind all of its routes: where one ran out of time, the others are not asked
        best = race.best(ROUTES[name].peer)
        cap = limit if best is None or best.seconds is None else STEP * best.seconds
        race.climbs[name] = climb = reach(case, name, race.dual, tol, cap)
        print(f"    {name}: {tell(climb)}", flush=True)
    return race


def choose_limit(seconds: float, least: float) -> float:
    """The seconds that a run of a peer is given, where ours took `seconds`: so many that a bound of a ratio is over 1.

    All within LIMIT, but for a problem on which we take so long that this would be unfair.
    """
    return max(min(max(GIVE_UP_FACTOR * seconds, least), read_limit()), LEAST_FACTOR * seconds)


def tell(climb: Reached) -> str:
    """One climb in words."""
    if climb.failed:
        return f"failed: {climb.failed}"
    if climb.seconds is not None:
        return f"{climb.seconds:.3g} s" + (f" at {climb.rung:.3g}" if climb.rung is not None else "")
    near = "nothing" if climb.nearest is None else f"{climb.nearest:.1e}"
    return f"{'given up' if climb.capped else 'ended'} after {climb.longest:.3g} s, nearest {near}"
