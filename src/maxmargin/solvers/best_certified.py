"""The best point that the judge has confirmed, and what its certificates say of going on."""

from __future__ import annotations

from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING

import numpy as np

from ..certificates.certificate import MAX_ROUNDING_SHARE_OF_GAP, Certificate, judge
from ..certificates.rounding_estimate import estimate_rounding
from ..contracts.solvers import Run, Solver
from ..model.problem import Point
from ..runtime.deadline import Deadline
from ..runtime.interrupt import Interrupt
from ..runtime.interruptible import Interrupted, interruptible
from .neighbours import find_neighbours
from .result import SENTENCES, Outcome, Progress, Status
from .stalling import FALL_FACTOR, StallDetector

if TYPE_CHECKING:
    from .choice import AnyProblem

NOT_CERTIFIED = Certificate(np.inf, -np.inf, np.inf)  # of a point that was not judged
# certificates of a run that believes it is done, without a fall of the certified gap, before the run is given up
CERTIFICATES_WITHOUT_PROGRESS_LIMIT = 30
STALLED_RUN_LOOKS = 10  # certificates that one of a run counts for which itself believes that it stands still
MIN_DUAL_RISE = 1e-10  # of |D|: less is no rise
ROUNDING_ESTIMATE_FACTOR = 10.0  # times the gap that rounding is estimated to leave: a smaller gap is explained by it
CLOSE_CERTIFICATE_COST_FACTOR = 20.0  # times the seconds of a plain certificate that a close one may take
ROUNDING_LIMIT_SHARE = 0.5  # of tol, or of the gap: from this share on, rounding is what limits a fit


class BestCertified:
    """The best certified point so far; in `check_outcome`, whether going on is worth it."""

    def __init__(self, problem: AnyProblem, tol: float, deadline: Deadline | None = None):
        self.problem, self.tol = problem, tol
        self.deadline = Deadline(problem, None, Interrupt()) if deadline is None else deadline
        self.known: tuple[Point, Certificate] | None = None
        self.point: Point | None = None
        self.judged: tuple[Run | None, int] = (None, -1)
        self.reset_progress()

    def reset_progress(self) -> None:
        """Forget what D was and how often it stood still: the next solver is not measured by what others did."""
        self.dual = -float("inf")
        self.stall_detector = StallDetector(CERTIFICATES_WITHOUT_PROGRESS_LIMIT)

    # ---- certificates --------------------------------------------------------------------------------------

    def certify(self, run: Run) -> Certificate:
        """Judge the run's point and keep it if it is the best; Interrupted if that takes too long."""
        self.point = self.read_point(run)
        if not self.deadline.has_time_to_certify(run):
            raise Interrupted
        with interruptible(lambda: not self.deadline.has_time_for(0.0)):
            certificate = self.judge(run, self.point)
        self.judged = (run, run.n_iter)
        if self.known is None or not certificate.relative_gap > self.known[1].relative_gap:
            self.known = (self.point, certificate)
        return certificate

    def read_point(self, run: Run) -> Point:
        """The point of a run; where time is up, without the steps that could be skipped on the way to it."""
        try:
            with interruptible(self.deadline.should_stop, always=False):
                return run.point()
        except Interrupted:
            return run.point()

    def judge(self, run: Run, point: Point) -> Certificate:
        """The certificate of a point, as close as the tolerance needs and the time allows."""
        certificate = judge(self.problem, point)
        closer = self.problem.supports_close_certificate and self.needs_close_certificate(certificate)
        if closer and self.deadline.has_time_to_certify(run, CLOSE_CERTIFICATE_COST_FACTOR):
            with suppress(Interrupted):  # then it stays as it is
                return judge(self.problem, point, closely=True)
        return certificate

    def needs_close_certificate(self, certificate: Certificate) -> bool:
        """Whether rounding, as far as it is known to go, stands between the gap and the tolerance."""
        gap, rounding = certificate.relative_gap, certificate.relative_rounding
        if gap <= self.tol:  # P and D themselves are to be known as well as that
            return certificate.primal - certificate.dual > self.tol * certificate.size
        return gap < np.inf and (gap - rounding <= self.tol or rounding > MAX_ROUNDING_SHARE_OF_GAP * gap)

    def try_neighbours(self, run: Run) -> bool:
        """Whether a neighbour of the point, which loses nothing to rounding, is within the tolerance."""
        with interruptible(lambda: not self.deadline.has_time_for(0.0)):
            for neighbour in find_neighbours(self.problem, self.point):
                if self.deadline.has_time_to_certify(run):
                    certificate = self.judge(run, neighbour)
                    if certificate.relative_gap <= self.tol:
                        self.known = (neighbour, certificate)
                        return True
        return False

    def choose_best(self, run: Run) -> tuple[Point, Certificate]:
        """The best certified point, the current one included; the current one where there is no time for any."""
        if self.judged != (run, run.n_iter):
            try:
                self.certify(run)
            except Interrupted:
                self.known = self.known or (self.point, NOT_CERTIFIED)
        return self.known

    # ---- what rounding explains ----------------------------------------------------------------------------

    def is_within_rounding(self) -> bool:
        """Whether the best gap is within tol but for rounding, and rounding is a small part of tol."""
        gap, rounding = self.known[1].relative_gap, self.known[1].relative_rounding
        return gap > self.tol and gap - rounding <= self.tol and rounding <= ROUNDING_LIMIT_SHARE * self.tol

    def is_limited(self, certificate: Certificate, stuck: bool) -> bool:
        """Whether rounding is more than half of tol, and of the gap; where nothing else helps, a quarter of the gap."""
        gap, rounding = certificate.relative_gap, certificate.relative_rounding
        return (
            rounding > ROUNDING_LIMIT_SHARE * self.tol
            and rounding >= (MAX_ROUNDING_SHARE_OF_GAP if stuck else ROUNDING_LIMIT_SHARE) * gap
            and gap < np.inf
        )

    def is_explained_by_rounding(self) -> bool:
        """Whether the rounding of the duals themselves is estimated to leave about such a gap as there is."""
        return self.known[1].relative_gap <= ROUNDING_ESTIMATE_FACTOR * self.estimate_dual_rounding()

    def estimate_dual_rounding(self) -> float:
        """The relative gap that the rounding of the duals is estimated to leave; 0 where duals are not in memory."""
        return estimate_rounding(self.problem, *self.known) if self.problem.traits.form == "memory" else 0.0

    def measure_limit(self) -> float:
        """The relative gap that is there for rounding, or that the rounding of the duals is estimated to leave."""
        certificate = self.known[1]
        return max(certificate.relative_rounding, min(self.estimate_dual_rounding(), certificate.relative_gap))

    # ---- what a run believes, and what the judge says of it -------------------------------------------------

    def check_outcome(
        self, run: Run, outcome: Outcome, solver: Solver, final: bool = True, smaller_rounding: bool = False
    ) -> Status | None:
        """The run believes it is done, or stuck: converged if the judge agrees, else go on from exact scores.

        Where another solver waits (not `final`), one that is stuck is not tried again; nor is one that rounding limits,
        where the points of the other have `smaller_rounding`.
        """
        gap, dual = self.known[1].relative_gap if self.known else float("inf"), self.dual
        certificate = self.certify(run)
        if self.meets_tolerance(run, outcome, certificate, solver):
            return Status.CONVERGED
        by_gap = not solver.has_own_rule
        near_limit = by_gap and (self.is_limited(certificate, stuck=False) or outcome is Outcome.STALLED)
        if near_limit:
            if self.try_neighbours(run):
                return Status.CONVERGED
            if self.is_limited(self.known[1] if final else certificate, stuck=False):
                return Status.STALLED if smaller_rounding else Status.ROUNDING_LIMIT
        if outcome is Outcome.STALLED and not final:
            return Status.STALLED
        if run.has_diverged() or self.stands_still(certificate, gap, dual, outcome):
            if by_gap and not near_limit and self.try_neighbours(run):
                return Status.CONVERGED
            limited = by_gap and final and self.is_rounding_limited()
            return Status.ROUNDING_LIMIT if limited else Status.STALLED
        run.refresh(self.read_scores(run, certificate))
        return None

    def read_scores(self, run: Run, certificate: Certificate) -> np.ndarray:
        """The scores that the judge found, the rough ones among them evaluated closely if the run needs that."""
        scores, rough = certificate.scores, certificate.rough
        if rough is None or not len(rough) or run.takes_rough_scores:
            return scores
        scores = scores.copy()
        scores[rough] = self.problem.features.scores_of(self.problem.expand(self.point), rough)
        return scores

    def meets_tolerance(self, run: Run, outcome: Outcome, certificate: Certificate, solver: Solver) -> bool:
        """Whether the tolerance is met: by the judge's gap, or by the solver's own rule on the judge's scores."""
        if not solver.has_own_rule:
            return certificate.relative_gap <= self.tol
        if outcome is not Outcome.DONE:
            return False
        run.refresh(self.read_scores(run, certificate))
        return run.reached()

    def stands_still(self, certificate: Certificate, gap: float, dual: float, outcome: Outcome) -> bool:
        """Whether neither the gap nor D has moved since the last certificate, or the gap has not for long.

        The gap must fall by a tenth of the best one so far (`gap`), not of the one at the last progress: small falls,
        each for the price of a certificate, do not add up to one.
        """
        self.dual = max(self.dual, certificate.dual)
        risen = certificate.dual - dual > MIN_DUAL_RISE * abs(certificate.dual)
        fallen = certificate.relative_gap < FALL_FACTOR * gap
        exhausted = self.stall_detector.count(fallen, 1 if outcome is Outcome.DONE else STALLED_RUN_LOOKS)
        return not (risen or fallen) or exhausted

    def is_rounding_limited(self) -> bool:
        """Whether rounding, known or estimated, is why the best gap does not fall any further."""
        return self.is_limited(self.known[1], stuck=True) or self.is_explained_by_rounding()

    # ---- sentences -----------------------------------------------------------------------------------------

    def describe_status(self, status: Status, solver: Solver) -> str:
        """Why the solver stopped."""
        if solver.has_own_rule and status is Status.CONVERGED:
            return f"The solver's own rule, {solver.own_rule}, is met."
        if status is not Status.ROUNDING_LIMIT:
            return SENTENCES[status]
        certificate = self.known[1]
        sentence = f"{SENTENCES[status]} Rounding takes up a relative gap of {self.measure_limit():.1g}"
        if not certificate.convex:  # then D is no bound
            return sentence + "."
        low, high = write_outwards(certificate.dual, certificate.primal)
        return sentence + f"; it is certain that the optimum lies between {low} and {high}."

    def describe_missing_certificate(self, history: list[Progress]) -> list[str]:
        """A sentence about a point that could not be judged in time."""
        if self.known[1] is not NOT_CERTIFIED:
            return []
        seen = f"the solver itself saw {history[-1].relative_gap:.2g}" if history else "it is the start"
        return [describe_uncertified(seen)]


def describe_uncertified(known: str) -> str:
    """That a point was not judged, and what is known of it."""
    return f"There was no time to judge the point, so its gap is not known; {known}."


def write_outwards(low: float, high: float) -> tuple[str, str]:
    """Two bounds with eight digits each, the lower one rounded down and the upper one up.

    Examples
    --------
    >>> write_outwards(1.23456789, 1.23456789)
    ('1.2345678', '1.2345679')
    """
    floor, ceiling = Context(prec=8, rounding=ROUND_FLOOR), Context(prec=8, rounding=ROUND_CEILING)
    return f"{floor.create_decimal_from_float(low):.8g}", f"{ceiling.create_decimal_from_float(high):.8g}"
