"""One problem, and every cutting plane method on it; beside them our own choice of a solver, and LIBLINEAR."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin import Bundle

from ..linear.linear_cases import LinearCase
from ..linear.linear_race import Race, run_race
from ..measuring.bounded import Timing
from ..measuring.clock import read_limit, time_best, time_once
from ..peers.linear_routes import list_routes

METHODS = {
    "BMRM": "bmrm", "OCAS": "ocas", "proximal": "proximal-bundle", "level": "level-bundle",
    "trust region": "trust-region-bundle",
}  # fmt: skip
LIBLINEAR = ("scikit-learn", "LIBLINEAR")
WARM_UP_ROWS = 300  # rows of the fit that compiles what is needed


@dataclass(frozen=True)
class Cutting(Timing):
    """What one method did: rounds, products with the data (two to an oracle call), and the certified gap."""

    rounds: int
    calls: int
    gap: float


@dataclass(frozen=True)
class BundleRace:
    """Everything found on one problem at one tolerance."""

    race: Race
    cuttings: dict[str, Cutting]

    @property
    def case(self) -> LinearCase:
        """The problem."""
        return self.race.case

    @property
    def tol(self) -> float:
        """The certified relative gap that was asked for."""
        return self.race.tol

    @property
    def auto(self) -> Timing:
        """The solver that we choose ourselves."""
        return Timing(self.race.ours.seconds, self.race.ours.gap <= self.tol)

    @property
    def liblinear(self) -> Timing | None:
        """LIBLINEAR's fastest run to the same primal value; the longest given up for time; else None."""
        found = [best for peer in LIBLINEAR if (best := self.race.best(peer)) is not None]
        there = [climb.seconds for climb in found if climb.seconds is not None]
        late = [climb.longest for climb in found if climb.capped]
        return Timing(min(there), True) if there else Timing(max(late), False) if late else None


def fit_bundle(case: LinearCase, method: str, tol: float):
    """A fit by one method, within LIMIT seconds."""
    return case.make_ours(tol, solver=Bundle(METHODS[method]), max_seconds=read_limit()).fit(case.X, case.y)


def measure(case: LinearCase, method: str, tol: float) -> Cutting:
    """The least seconds of three fits; of one where it is long."""
    seconds, model = time_best(lambda: fit_bundle(case, method, tol))
    result, gap = model.result_, model.certificate_.relative_gap
    found = Cutting(seconds, gap <= tol, result.n_iter, result.counters["oracle_calls"], gap)
    print(f"    {method}: {seconds:.3g} s, {found.rounds:,} rounds, gap {gap:.1e}", flush=True)
    return found


def run_bundles(case: LinearCase, tol: float, bound: float | None = None, least_cap: float | None = None) -> BundleRace:
    """Ours and LIBLINEAR's seconds, then every method's."""
    race = run_race(case, tol, list_routes(case.loss), bound, least_cap)
    few = case.take(WARM_UP_ROWS)
    for method in METHODS:
        time_once(lambda method=method: fit_bundle(few, method, tol))
    return BundleRace(race, {method: measure(case, method, tol) for method in METHODS})
