"""Leave-one-out, exactly: each row is left out in turn, and the rest refitted only where that can change anything."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ...certificates.term_sums import snap_to_bounds
from ...model.problem import Point, Problem
from ...runtime.display import Displayed, Table
from ...runtime.interrupt import Interrupt
from ...solvers.loop import solve
from ...solvers.result import Result, Status
from .stability import ScoreShiftBound, centre_intercept, fixes_intercept, has_several_intercepts

REFIT_TOL = 1e-6  # relative gap of every refit
CUT_SHORT = (Status.MAX_SECONDS, Status.INTERRUPTED)  # fits that may not even have been judged
MIN_TIMED_REFITS = 5  # refits after which their time is known well enough to look ahead


@dataclass(frozen=True, repr=False)
class LeaveOneOut(Displayed):
    """1/n sum_i L(f^i(x_i), y_i), where f^i was fitted without row i: L counts errors, or is |f - y|.

    Attributes
    ----------
    error : float
        The mean, weighted by the sample weights.
    refits : int
        For how many rows the rest had to be fitted again.
    gap : float
        The largest certified relative gap of a refit.
    seconds : float
    losses : ndarray of shape (n_samples,)
        0 or 1, or the absolute error, of each row when it is left out; NaN for rows without weight.
    undetermined : ndarray of shape (n_samples,), bool
        Rows without which no dual is free: there the intercept is the middle of an interval of optimal ones.

    See Also
    --------
    risk_bounds : Makes it.
    RiskBounds : What it is part of.

    References
    ----------
    - Vapnik and Chapelle (2000). Bounds on error expectation for support vector machines. Neural Computation 12,
      2013-2036.
    - Joachims (2000). Estimating the generalization performance of an SVM efficiently. ICML, 431-438.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, risk_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> found = risk_bounds(SVC().fit(X[50:], y[50:]), X[50:], y[50:]).leave_one_out
    >>> 0 <= found.error <= 0.1, found.losses.shape
    (True, (100,))
    """

    error: float
    refits: int
    gap: float
    seconds: float
    losses: np.ndarray
    undetermined: np.ndarray

    def describe(self) -> str:
        """The error in a sentence."""
        return (
            f"relative gap at most {self.gap:.2g} in {self.refits:,} refits; the leave-one-out error is "
            f"{self.error:.4g}"
        )

    def tabulate(self) -> Table:
        """The error, and what it rests on."""
        return Table(
            [
                ("largest relative gap of a refit", f"{self.gap:.2g}"),
                ("leave-one-out error", f"{self.error:.4g}"),
                ("refits", f"{self.refits:,}"),
                ("samples with an interval of intercepts", f"{int(np.sum(self.undetermined)):,}"),
                ("seconds", f"{self.seconds:.2g}"),
            ]
        )


@dataclass(frozen=True)
class RefitBudget:
    """Until when on the clock, whether to give up before if that is seen not to suffice, and the flag of Ctrl-C."""

    end: float
    stop_early: bool
    interrupt: Interrupt

    @property
    def left(self) -> float:
        """Seconds to the end."""
        return self.end - time.perf_counter()


def measure_losses(problem: Problem, f: np.ndarray) -> np.ndarray:
    """1 where y f <= 0, or |f - y|."""
    return (problem.y * f <= 0).astype(float) if problem.loss.target == "label" else np.abs(problem.y - f)


def leave_each_out(
    problem: Problem, point: Point, weight: np.ndarray, shift_bound: ScoreShiftBound, budget: RefitBudget
) -> tuple[LeaveOneOut | None, str]:
    """The exact leave-one-out error, or None and the sentence that says why not.

    A row with a_t = 0 keeps its score: the same (w, b, a) meets the optimality conditions without the row. The others
    are refitted from their duals, with a_t set to zero and the balance repaired. Leaving a row out is giving it c = 0.
    """
    began = time.perf_counter()
    whole = solve(problem, tol=REFIT_TOL, warm=point, max_seconds=max(budget.left, 1e-3), interrupt=budget.interrupt)
    if whole.status in CUT_SHORT:
        return (
            None,
            f"Exact leave-one-out was not computed: max_seconds ended the whole fit before a gap of {REFIT_TOL:g}.",
        )
    losses = measure_losses(problem, score(problem, whole))
    rows = np.random.default_rng(0).permutation(choose_rows(problem, whole, shift_bound))  # a fair sample comes first
    gaps, undetermined = [whole.certificate.relative_gap], np.zeros(problem.n, bool)
    for done, t in enumerate(rows):
        if sentence := look_ahead(done, len(rows), time.perf_counter() - began, budget):
            return None, sentence
        without = leave_row_out(problem, t)
        refit = solve(
            without, tol=REFIT_TOL, warm=whole.point, max_seconds=max(budget.left, 1e-3), interrupt=budget.interrupt
        )
        if refit.status in CUT_SHORT:
            return None, describe_limit(done, len(rows))
        losses[t] = measure_losses(problem, score(without, refit))[t]
        gaps.append(refit.certificate.relative_gap)
        undetermined[t] = has_several_intercepts(without, refit.point.a, np.asarray(refit.certificate.scores))
    losses = np.where(problem.c > 0, losses, np.nan)
    error = float(np.nansum(weight * losses) / weight.sum())
    return LeaveOneOut(error, len(rows), max(gaps), time.perf_counter() - began, losses, undetermined), ""


def score(problem: Problem, result: Result) -> np.ndarray:
    """f_i of all rows, those that were left out too; an intercept that is not unique is put in the middle."""
    scores, a = np.asarray(result.certificate.scores), result.point.a
    return scores + (result.point.b if fixes_intercept(problem, a) else centre_intercept(problem, a, scores))


def leave_row_out(problem: Problem, t: int) -> Problem:
    """The problem without row t, over the same features: c_t = 0 holds its dual at zero."""
    c = problem.c.copy()
    c[t] = 0.0
    return replace(problem, c=c)


def choose_rows(problem: Problem, whole: Result, shift_bound: ScoreShiftBound) -> np.ndarray:
    """The rows whose loss is not known before: those with a dual, but for the errors that must stay, or cannot come.

    By the lemma of stability.py an error with a dual is an error when it is left out too, since its score moves further
    away; and where the reach is certain, a row that it does not carry to the other side stays right.
    """
    assert problem.row is not None  # as for all problems of `risk_bounds`
    a, f = snap_to_bounds(whole.point.a, problem.row), score(problem, whole)
    again = (a != 0) | (not fixes_intercept(problem, a))
    if problem.loss.target == "label":
        margin = problem.y * f
        again &= ~((a != 0) & (margin <= 0))
        if shift_bound.certain:
            again &= shift_bound.size * np.abs(a) >= margin
    return np.flatnonzero(again & (problem.c > 0))


def look_ahead(done: int, total: int, seconds: float, budget: RefitBudget) -> str:
    """A sentence if the time is over, or seen not to suffice; else nothing."""
    if budget.interrupt or budget.left <= 0:
        return describe_limit(done, total)
    ahead = seconds / max(done, 1) * (total - done)
    if budget.stop_early and done >= MIN_TIMED_REFITS and ahead > budget.left:
        return (
            f"Exact leave-one-out was not computed: {total} refits would take about {seconds + ahead:.2g} s; "
            f"set max_seconds={1.5 * (seconds + ahead):.2g} to compute it."
        )
    return ""


def describe_limit(done: int, total: int) -> str:
    """Where the limit came."""
    return f"Exact leave-one-out was not finished: max_seconds came after {done} of {total} refits."
