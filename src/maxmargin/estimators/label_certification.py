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
# How wide the intervals of new samples are, beside the root of the gap times the typical |phi(x)|: free support vectors
# span a part of phi(x). It decides when the fit stops, and is no part of a proof.
WIDTH_FACTOR = 0.5
STANDARD_ERRORS = 2.0  # by which the share of labels that are still open is to be smaller
SMALLEST_OPEN_FACTOR = 0.25  # of the share that may stay open, which standard errors of few samples leave
FEW_OPEN_SHARE = 0.9  # of labels that are certain, from which on the others are looked at one by one
LAST_GAP_FACTOR = 0.01  # of a gap that was thought to be small enough
PLAIN_GAP = 1e-8  # relative gap that is certified in float64 as it is, on most data
SMALLEST_GAP_FACTOR = 2.0**-32  # in one round
TINY = float(np.finfo(float).tiny)


class Certified(NamedTuple):
    """What a point of every problem proves of the training labels."""

    optimum: OptimumScores | None
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

    def measure_distances(self, k: int) -> np.ndarray:
        """How far the scores of each sample of a problem are from a tie, in widths of their intervals."""
        middle, width = self.scan(k)
        return np.asarray(np.abs(middle).min(axis=0) / max(width, TINY))

    def find_distances(self) -> np.ndarray:
        """The same of each sample, for the scores that its label depends on."""
        indices, found = self.problems.indices, np.full(self.samples.n, np.inf)
        if self.machine._decides_by_signs:
            for k, index in enumerate(indices):
                found[index] = np.minimum(found[index], self.measure_distances(k))
            return found
        scans = [self.scan(k) for k in range(len(self.results))]
        middle = np.concatenate([each for each, _ in scans]).T
        width = np.concatenate([np.full(len(each), size) for each, size in scans])
        rows, best = np.arange(len(middle)), middle.argmax(axis=1)
        ahead = (middle[rows, best][:, None] - middle) / np.maximum(width[best][:, None] + width, TINY)
        ahead[rows, best] = np.inf
        found[indices[0]] = ahead.min(axis=1)
        return found

    @property
    def open_share(self) -> float:
        """The share of labels that may stay open: that of users, less two standard errors."""
        wanted, n = 1.0 - self.share, self.samples.n
        spared = max(wanted - STANDARD_ERRORS * np.sqrt(wanted * self.share / n), SMALLEST_OPEN_FACTOR * wanted)
        return float(max(spared, 0.5 / n))

    def find_gap_factor(self) -> float:
        """What the gaps have to be multiplied by: intervals of half the width take a quarter of the gap."""
        wanted = find_scale(self.find_distances(), self.samples.n, self.open_share)
        return float(np.clip((wanted / WIDTH_FACTOR) ** 2, SMALLEST_GAP_FACTOR, 1.0))

    def list_open(self) -> list[int]:
        """The problems whose scores keep labels open, and which may be solved further."""
        able = [k for k in range(len(self.results)) if not self.ended[k]]
        if not self.machine._decides_by_signs or len(self.results) == 1:
            return able
        each = self.open_share / len(self.results)
        found = [k for k in able if find_scale(self.measure_distances(k), self.samples.n, each) < WIDTH_FACTOR]
        return found or able

    # ---- in earnest -------------------------------------------------------------------------------------------

    def solve(self, factor: float) -> bool:
        """Solve on to gaps so many times as small, each problem from where it is; whether any went on."""
        machine, solver = self.machine, self.machine._solver(self.problems)
        max_iter = machine.max_iter if machine._limits_iterations else None
        chosen, went_on = self.list_open(), False
        self.budget.left = max(len(chosen), 1)
        anew = self.solve_anew(chosen, factor) if max_iter is None else {}
        for k in chosen:
            if self.budget.is_up():
                break
            before = self.results[k]
            result = anew.get(k)
            if result is None:
                result = self.observation.solve(
                    k, self.problems.problem(k), solver, None, tol=choose_tolerance(before, factor), max_iter=max_iter,
                    max_seconds=self.budget.share(), warm=before.point, interrupt=self.budget.interrupt,
                )  # fmt: skip
            self.ended[k] = not result.converged
            if result.certificate.gap < before.certificate.gap:
                self.results[k], self.known[k], went_on = join(before, result), None, True
        return went_on

    def solve_anew(self, chosen: list[int], factor: float) -> dict[int, Result]:
        """Problems that are solved together, from the start, to a gap that is small for the widest; if most go on."""
        if self.observation.is_watched or 2 * len(chosen) <= len(self.results):
            return {}
        tol = max(choose_tolerance(self.results[k], factor) for k in chosen)
        found = self.machine._solve_anew(self.problems, tol, self.budget)
        return {k: found[k].result for k in chosen if k in found and found[k].result.converged}

    def examine(self) -> Certified:
        """Which labels are certain: by the least work that proves enough of them.

        At first by the judge's scores alone; then by one direction for each problem, which takes no kernel value
        either; at last with those of the samples that are still open.
        """
        certain, known = self.certify_by_own_scores()
        if certain.mean() >= self.share:
            return Certified(None, certain)
        machines = [self.machine._bound_problem(self.problems.problem(k), each) for k, each in enumerate(self.results)]
        optimum = OptimumScores([each for some in machines for each in some])
        shape = self.samples.n, len(optimum.machines)
        scores = Interval(np.full(shape, -np.inf), np.full(shape, np.inf))
        for rough in (True, False) if not known else ():
            column = 0
            for some, index in zip(machines, self.problems.indices, strict=True):
                own = self.samples if len(index) == self.samples.n else self.samples.take(index)
                for each in some:
                    found = each.bound_roughly(own) if rough else each.bound(own, each.judged)
                    scores.lower[index, column], scores.upper[index, column] = found
                    column += 1
            certain |= self.machine._find_certain(scores, self.machine._decide_training(scores, self.problems))
            enough = certain.mean() >= min(self.share, FEW_OPEN_SHARE)
            if enough or all(each.judged is None for each in optimum.machines):
                break
        if certain.mean() < self.share:
            rows = np.flatnonzero(~certain)
            missing = self.share * self.samples.n - np.count_nonzero(certain)
            certain[rows] = self.certify_rows(optimum, self.samples.take(rows), missing)
        return Certified(optimum, certain)

    def certify_by_own_scores(self) -> tuple[np.ndarray, bool]:
        """Which labels are certain by the judge's scores, and whether there are bounds from these at all.

        Where pairs vote, samples that their own pairs leave open are looked at by all pairs.
        """
        machine, problems, scores = self.machine, self.problems, []
        for k, result in enumerate(self.results):
            own = machine._bound_own_scores(problems.problem(k), result)
            if own is None:
                return np.zeros(self.samples.n, bool), False
            scores.append(own)
        certain = machine._find_certain_training(scores, problems)
        if certain.mean() < self.share and len(scores) > 1:
            rows = np.flatnonzero(~certain)
            duals = np.concatenate([result.point.a for result in self.results])
            bounds = machine._bound_rows(scores, problems, duals, rows)
            certain[rows] = machine._find_certain(bounds, machine._decide(find_middle(bounds)))
        return certain, True

    def certify_rows(self, optimum: OptimumScores, samples: Any, missing: float) -> np.ndarray:
        """Some samples by all machines; with directions of their own if not so many are certain without."""
        scores = optimum.bound(samples)
        labels = self.machine._decide(find_middle(scores))
        certain = self.machine._find_certain(scores, labels)
        return certain if np.count_nonzero(certain) >= missing else self.machine._certify(optimum, samples, labels)[1]


def find_scale(distances: np.ndarray, n: int, share: float) -> float:
    """The largest s with max over t >= s of F(t) s/t no more than a share, for the distribution F of n distances.

    Training has moved scores away from a tie, up to a margin. So new ones are taken to lie as near to it as if those of
    training samples were spread evenly from the tie to where they are.
    """
    found = np.sort(distances)
    parts = np.arange(1, len(found) + 1) / n
    over = parts > share
    with np.errstate(invalid="ignore"):
        return float((share * found[over] / parts[over]).min(initial=np.inf))


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
    return "the scores of the others are too close to a tie"
