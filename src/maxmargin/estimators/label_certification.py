"""Fits that go on until a share of the training labels is certain: the share sets the gap, Newton steps reach it.

The interval of a score is about as wide as the root of the gap. So the labels that are still open say how much smaller
the gap has to be, and a warm solve goes there: few steps, since near the optimum the free duals are solved for at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..certificates.optimum.bounds import Interval
from ..certificates.optimum.machines import OptimumScores
from ..runtime.scikit_learn import ConvergenceWarning
from ..runtime.user_warnings import warn_user
from ..solvers.result import Result, Status
from .observers import Observation
from .tasks import Budget

if TYPE_CHECKING:
    from .certified_scores import CertifiedLabels

MAX_ROUNDS = 6  # of solves to smaller gaps
# How many times as wide the intervals of training labels may be. Training has moved these scores away from a tie, and
# those of new samples lie nearer to it.
NEW_SAMPLE_FACTOR = 8.0
LAST_GAP_FACTOR = 0.01  # of a gap that was thought to be small enough
PLAIN_GAP = 1e-8  # relative gap that is certified in float64 as it is, on most data
MAX_HALVINGS = 16  # of the width of the intervals in one round


class Certified(NamedTuple):
    """What a point of every problem proves of the training labels."""

    optimum: OptimumScores
    certain: np.ndarray

    @property
    def share(self) -> float:
        """The share of labels that are certain."""
        return float(self.certain.mean())


class LabelCertification:
    """The problems of one fit, solved on until enough labels are certain.

    How small the gaps must be is found from the judge's scores of the training samples and a rough width of their
    intervals, which takes no kernel value. What is proven is found once, at the end.
    """

    def __init__(self, machine: CertifiedLabels, problems: Any, share: float, budget: Budget, observation: Observation):
        self.machine, self.problems, self.share = machine, problems, share
        self.budget, self.observation = budget, observation
        self.samples = problems.features.samples
        self.results: list[Result] = list(machine.results_)
        self.ended = [not result.converged for result in self.results]
        self.known: list[Any] = [None] * len(self.results)  # middles and widths, as they are scanned

    def run(self) -> Certified:
        """Rounds of solves, each to the gap that the labels still open ask for."""
        for _ in range(MAX_ROUNDS):
            factor = self.find_gap_factor()
            if factor == 1.0 or not self.solve(factor):
                break
        found = self.examine()
        for _ in range(MAX_ROUNDS):
            if found.share >= self.share or not self.solve(LAST_GAP_FACTOR):
                break
            found = self.examine()
        return found

    # ---- roughly ----------------------------------------------------------------------------------------------

    def scan(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the samples of a problem, one row for each of its machines, and the width of their intervals."""
        if self.known[k] is None:
            problem, result = self.problems.problem(k), self.results[k]
            middle = problem.shift(result.certificate.scores, result.point.b)
            middle = middle.mean(axis=0, keepdims=True) if middle.ndim > 1 and not problem.traits.vector else middle
            if problem.features.signed:
                middle = (
                    result.certificate.scores[problem.features.first] * problem.features.sign[problem.features.first]
                )
            width = np.sqrt(max(result.certificate.gap, 0.0)) * typical_size(problem)
            self.known[k] = np.atleast_2d(middle), width
        return self.known[k]

    def find_open(self, scale: float) -> np.ndarray:
        """Which samples have open scores, with intervals so many times as wide as those of training samples."""
        scans, indices = [self.scan(k) for k in range(len(self.results))], self.problems.indices
        if self.machine._decides_by_signs:
            is_open = np.zeros(self.samples.n, bool)
            for (middle, width), index in zip(scans, indices, strict=True):
                is_open[index] |= (np.abs(middle) <= scale * width).any(axis=0)
            return is_open
        middle = np.concatenate([each for each, _ in scans]).T
        width = np.concatenate([np.full(len(each), size) for each, size in scans])
        scores = Interval(middle - scale * width, middle + scale * width)
        is_open = np.zeros(self.samples.n, bool)
        is_open[indices[0]] = ~self.machine._find_certain(scores, self.machine._decide(middle))
        return is_open

    def find_gap_factor(self) -> float:
        """What the gaps have to be multiplied by: intervals of half the width take a quarter of the gap."""
        scale = NEW_SAMPLE_FACTOR
        for _ in range(MAX_HALVINGS):
            if self.find_open(scale).mean() <= 1.0 - self.share:
                break
            scale *= 0.5
        return (scale / NEW_SAMPLE_FACTOR) ** 2

    def list_open(self) -> list[int]:
        """The problems whose scores keep labels open, and which may be solved further."""
        indices, able = self.problems.indices, [k for k in range(len(self.results)) if not self.ended[k]]
        if not self.machine._decides_by_signs:
            return able
        is_open = self.find_open(NEW_SAMPLE_FACTOR)
        return [k for k in able if is_open[indices[k]].any()]

    # ---- in earnest -------------------------------------------------------------------------------------------

    def solve(self, factor: float) -> bool:
        """Solve on to gaps so many times as small, each problem from where it is; whether any went on."""
        machine, solver = self.machine, self.machine._solver(self.problems)
        max_iter = machine.max_iter if machine._limits_iterations else None
        chosen, went_on = self.list_open(), False
        self.budget.left = max(len(chosen), 1)
        for k in chosen:
            if self.budget.is_up():
                break
            before, problem = self.results[k], self.problems.problem(k)
            tol = choose_tolerance(before, factor)
            result = self.observation.solve(
                k, problem, solver, None, tol=tol, max_iter=max_iter, max_seconds=self.budget.share(),
                warm=before.point, interrupt=self.budget.interrupt,
            )  # fmt: skip
            self.ended[k] = not result.converged
            if result.certificate.gap < before.certificate.gap:
                self.results[k], self.known[k], went_on = join(before, result), None, True
        return went_on

    def examine(self) -> Certified:
        """Which labels are certain; where pairs vote, first by the pairs of each sample's own class."""
        machines = [self.machine._bound_problem(self.problems.problem(k), each) for k, each in enumerate(self.results)]
        optimum = OptimumScores([each for some in machines for each in some])
        indices, shape = self.problems.indices, (self.samples.n, len(optimum.machines))
        scores = Interval(np.full(shape, -np.inf), np.full(shape, np.inf))
        column = 0
        for some, index in zip(machines, indices, strict=True):
            own = self.samples if len(index) == self.samples.n else self.samples.take(index)
            for each in some:
                scores.lower[index, column], scores.upper[index, column] = each.bound(own, each.judged)
                column += 1
        labels = self.machine._decide_training(scores, self.problems)
        certain = self.machine._find_certain(scores, labels)
        if certain.mean() < self.share:
            rows = np.flatnonzero(~certain)
            missing = self.share * self.samples.n - np.count_nonzero(certain)
            certain[rows] = self.certify_rows(optimum, self.samples.take(rows), missing)
        return Certified(optimum, certain)

    def certify_rows(self, optimum: OptimumScores, samples: Any, missing: float) -> np.ndarray:
        """Some samples by all machines; with directions of their own if not so many are certain without."""
        scores = optimum.bound(samples)
        labels = self.machine._decide(find_middle(scores))
        certain = self.machine._find_certain(scores, labels)
        return certain if np.count_nonzero(certain) >= missing else self.machine._certify(optimum, samples, labels)[1]


def choose_tolerance(before: Result, factor: float) -> float:
    """The relative gap to go for: no smaller at first than what is certified without twice the precision."""
    gap = before.certificate.relative_gap
    wanted = factor * gap
    return max(wanted, PLAIN_GAP) if gap > 2.0 * PLAIN_GAP else wanted


def typical_size(problem: Any) -> float:
    """The root of the mean of k(x, x)."""
    features = problem.features
    if features.n_classes is not None:
        features = features.design
    return float(np.sqrt(max(float(np.mean(np.square(features.sizes))), 0.0)))


def join(before: Result, after: Result) -> Result:
    """The result of a solve that went on from one which had reached the tolerance."""
    return Result(
        Status.CONVERGED, after.point, after.certificate, after.solver, before.n_iter + after.n_iter,
        before.seconds + after.seconds, before.message, before.history + after.history,
        before.counters + after.counters,
    )  # fmt: skip


def find_middle(scores: Interval) -> np.ndarray:
    """The middle of each interval; NaN where it has no ends."""
    with np.errstate(invalid="ignore"):
        return 0.5 * (scores.lower + scores.upper)


def certify_training_labels(
    machine: CertifiedLabels, problems: Any, share: float, budget: Budget, observation: Observation
) -> None:
    """Solve on until a share of the training labels is certain; sets `certified_share_`, and warns if it is less."""
    work = LabelCertification(machine, problems, share, budget, observation)
    found = work.run()
    if any(after is not before for after, before in zip(work.results, machine.results_, strict=True)):
        machine._set_fitted_attributes(
            problems, [problems.read(problems.problem(k), result) for k, result in enumerate(work.results)]
        )
    machine._optimum, machine.certified_share_ = found.optimum, found.share
    if found.share < share and not machine._list_failed():
        warn_user(
            f"{found.share:.2%} of the training labels are certain, certify_labels asks for {share:.2%}: "
            f"{explain_end(work, budget)}.",
            ConvergenceWarning,
        )


def explain_end(work: LabelCertification, budget: Budget) -> str:
    """Why no more labels are certain."""
    if budget.is_up():
        return "the time budget (max_seconds) ran out"
    if any(work.ended):
        return "no smaller gap can be certified in float64, or a limit of iterations came first"
    return "the scores of the others are too near to a tie"
