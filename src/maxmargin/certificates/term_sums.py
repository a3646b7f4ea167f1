"""Sums over all terms of a problem at a point: losses, conjugates and remainders, with bounds on their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.losses import PiecewiseConjugate
from ..model.losses.smooth import LogisticTerms, PoissonTerms
from ..model.problem import Problem
from ..runtime.rounding import AT_BOUND, BALANCE_TOLERANCE, UNIT, Enclosed, add_enclosed, bound_sum
from ..runtime.threads import run_strips

COMPILED_TERMS = {LogisticTerms: "LOGISTIC", PoissonTerms: "POISSON"}
STRIP_ROWS = 1 << 14  # rows whose terms are added at a time: what they need stays in the second cache
MAX_RELATIVE_IMBALANCE = 1e-9  # of the size of the duals: an imbalance beyond which they have no D


class Sums(NamedTuple):
    """The sums over all terms of a problem at a point.

    Attributes
    ----------
    losses, conjugates : Enclosed
        sum_i c_i l(f_i) and sum_i conj_i(a_i).
    remainders : Enclosed
        sum_i c_i l(f_i) + conj_i(a_i) + a_i f_i, whose terms are nonnegative; its error bounds it from above only.
    moved : float
        The amount that must be shifted between duals before they balance exactly.
    cost, cost_of_dual : float
        What that shift adds to the remainders, and what it subtracts from D.
    leverage : float
        What shrinking all duals adds to the remainders, per unit of the share by which they shrink.
    kkt : float
        The largest violation.
    """

    losses: Enclosed
    conjugates: Enclosed
    remainders: Enclosed
    moved: float
    cost: float
    cost_of_dual: float
    leverage: float
    kkt: float

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            add_enclosed(self.losses, other.losses), add_enclosed(self.conjugates, other.conjugates),
            add_enclosed(self.remainders, other.remainders), self.moved + other.moved, self.cost + other.cost,
            self.cost_of_dual + other.cost_of_dual, self.leverage + other.leverage, max(self.kkt, other.kkt),
        )  # fmt: skip


def sum_terms(problem: Problem, a: np.ndarray, b, scores: Enclosed, repaired: bool = False) -> Sums | None:
    """The sums over all terms; None if the duals need repair and have not been repaired yet."""
    if problem.row is None:
        return sum_general_terms(problem, a, b, scores) if repaired else None
    if a.ndim == 1:
        checked = None if repaired else problem
        return sum_layer(problem.row, np.ascontiguousarray(a), float(b), scores, problem.balance, checked)
    outside = (a < problem.row.lo) | (a > problem.row.hi)
    if not repaired and (outside.any() or problem.imbalance(a) > BALANCE_TOLERANCE):
        return None
    found = None
    for layer, (dual, intercept) in enumerate(zip(a, b, strict=True)):
        row = PiecewiseConjugate(*(np.ascontiguousarray(part[layer]) for part in problem.row))
        balance = None if problem.balance is None else float(problem.balance[layer])
        part = sum_layer(row, np.ascontiguousarray(dual), float(intercept), scores, balance, None)
        found = part if found is None else found + part
    return found


class RowSums(NamedTuple):
    """What `compiled.row_sums.enclose_rows` returns, in its order."""

    losses: float
    loss_error: float
    conjugates: float
    conjugate_error: float
    remainders: float
    most: float
    total: float
    total_error: float
    size: float
    min_free_slope: float
    max_slope: float
    leverage: float
    up: float
    down: float
    kkt: float
    inside: float

    def add_balancing_cost(self, moved, cost, b) -> Sums:
        """The sums of a problem, including the cost of balancing the duals exactly."""
        return Sums(
            Enclosed(self.losses, self.loss_error), Enclosed(self.conjugates, self.conjugate_error),
            Enclosed(self.remainders, self.most - self.remainders), moved, cost, cost + moved * b, self.leverage,
            self.kkt,
        )  # fmt: skip


def sum_layer(
    row: PiecewiseConjugate, a: np.ndarray, b: float, scores: Enclosed, balance: float | None, problem: Problem | None
) -> Sums | None:
    """The sums of one layer, in one compiled pass.

    If `problem` is given, returns None where a dual is outside its bounds, or where the duals miss their balance by
    more than a rounding error.
    """
    from ..compiled.row_sums import judge_rows

    found, moved, cost = judge_rows(scores.value, scores.error, b, a, *row, balance is not None, balance or 0.0)
    sums = RowSums(*found)
    if problem is not None and not (sums.inside and is_balanced(sums.total, sums.size, problem)):
        return None
    return sums.add_balancing_cost(moved, cost, abs(b))


def is_balanced(total: float, size: float, problem: Problem) -> bool:
    """Whether duals that sum to `total` balance up to rounding, as `Problem.imbalance` measures it."""
    if problem.balance is None:
        return True
    missing = abs(total - problem.balance)
    return missing <= BALANCE_TOLERANCE * size or missing <= BALANCE_TOLERANCE * max(size, problem.least_size)


def sum_general_terms(problem: Problem, a: np.ndarray, b, scores: Enclosed) -> Sums:
    """The sums of a smooth loss, or of one with many scores; conjugates are infinite where duals do not balance."""
    f = problem.shift(scores.value, b)
    score_error = scores.error + UNIT * np.abs(f)
    slack = bound_sum(problem.n + len(np.atleast_2d(a)) + 16)
    totals, kkt = add_terms(problem, a, f, score_error)
    moved, cost = bound_balancing_cost_of_terms(problem, a, f, score_error)
    balanced = problem.imbalance(a) <= MAX_RELATIVE_IMBALANCE
    return collect_sums(totals, kkt, slack, moved, cost, balanced, largest(b))


def collect_sums(
    totals: list[float], kkt: float, slack: float, moved: float, cost: float, balanced: bool, b: float
) -> Sums:
    """The sums of `list_term_sums` with bounds on their errors; conjugates are infinite where duals do not balance."""
    sums, sizes, lost, at_zero = totals[:3], totals[3:6], totals[6:9], totals[9]
    errors = [
        lost[0] * (1.0 + slack) + slack * sizes[0],
        lost[1] * (1.0 + slack) + slack * sizes[1],
        lost[2] + slack * sizes[2],
    ]
    conjugate = Enclosed(sums[1] if balanced else np.inf, errors[1])
    remainders = Enclosed(sum(sums) if balanced else np.inf, sum(errors))
    leverage = sizes[1] + sizes[2] + at_zero  # conj is convex
    return Sums(Enclosed(sums[0], errors[0]), conjugate, remainders, moved, cost, cost + moved * b, leverage, kkt)


def add_terms(problem: Problem, a: np.ndarray, f: np.ndarray, score_error: np.ndarray) -> tuple[list[float], float]:
    """Sums over all terms as `list_term_sums` has them, and the largest violation.

    Rows with one score each are added strip by strip on all cores: the numbers of a strip stay in the caches.
    """
    if a.ndim > 1:
        return list_term_sums(problem.terms, a, f, score_error), measure_violation(problem, a, f)
    if type(problem.terms) in COMPILED_TERMS:
        return add_compiled_terms(problem.terms, a, f, score_error)
    parts: dict[int, tuple[list[float], float]] = {}

    def add(start: int, stop: int) -> None:
        part = slice(start, stop)
        terms, counted = problem.terms.take(part), problem.c[part] > 0
        violation = measure_violation_of_rows(terms, a[part], f[part], counted)
        parts[start] = list_term_sums(terms, a[part], f[part], score_error[part]), violation

    run_strips(add, problem.n, STRIP_ROWS)
    return join_strips(parts)


def add_compiled_terms(terms, a: np.ndarray, f: np.ndarray, score_error: np.ndarray) -> tuple[list[float], float]:
    """The same for losses whose formulas, and the bounds on their errors, are compiled."""
    from ..compiled import smooth_rows

    kind = getattr(smooth_rows, COMPILED_TERMS[type(terms)])
    parts: dict[int, tuple[list[float], float]] = {}

    def add(start: int, stop: int) -> None:
        rows = [np.ascontiguousarray(each[start:stop]) for each in (f, score_error, a, terms.y, terms.c)]
        sums = np.zeros(10)
        violation = smooth_rows.add_smooth_terms(kind, *rows, terms.relative_error, sums)
        parts[start] = sums.tolist(), violation

    run_strips(add, len(a), STRIP_ROWS)
    return join_strips(parts)


def join_strips(parts: dict[int, tuple[list[float], float]]) -> tuple[list[float], float]:
    """The sums of all strips, in the order of their rows, and the largest violation."""
    listed = [parts[start] for start in sorted(parts)]
    totals = [sum(column) for column in zip(*(sums for sums, _ in listed), strict=True)]
    return totals, max(violation for _, violation in listed)


def list_term_sums(terms, a: np.ndarray, f: np.ndarray, score_error: np.ndarray) -> list[float]:
    """The sums of c l(f), conj(a) and a f; of their sizes; of what each is off by at most; and of |conj(0)|."""
    with np.errstate(over="ignore", invalid="ignore"):
        values, conjugates, products = terms.value(f), terms.conjugate(a), a * f
        errors = terms.bound_value_error(f, score_error), terms.bound_conjugate_error(a), np.abs(a) * score_error
        sizes = (np.abs(part) for part in (values, conjugates, products, terms.conjugate(np.zeros_like(a))))
        of_value, of_conjugate, of_product, at_zero = (float(part.sum()) for part in sizes)
        sums = [float(part.sum()) for part in (values, conjugates, products)]
        return [*sums, of_value, of_conjugate, of_product, *(float(part.sum()) for part in errors), at_zero]


def bound_balancing_cost_of_terms(
    problem: Problem, a: np.ndarray, f: np.ndarray, score_error: np.ndarray
) -> tuple[float, float]:
    """The amount that must be shifted between duals before they balance exactly, and what that costs at most.

    With many classes the duals of each sample must also sum to zero.
    """
    many = problem.features.n_classes
    moved = 0.0 if many is None else bound_sum(many + 8) * float(np.abs(a).sum())
    if problem.balance is not None:
        sizes, totals = np.abs(a).sum(axis=-1), a.sum(axis=-1) - problem.balance
        moved += float(np.sum(np.abs(totals) + bound_sum(problem.n + 2) * sizes))
    return moved, moved * (problem.terms.bound_slope(a, f, moved) + 2.0 * float(score_error.max(initial=0.0)))


def measure_violation(problem: Problem, a: np.ndarray, f: np.ndarray) -> float:
    """max_i distance of -f_i from the subdifferential of conj_i at a_i: zero exactly at the optimum."""
    if problem.features.n_classes is not None:
        return problem.terms.violation(a, f)
    counted = problem.c > 0  # a sample without weight is held by its bounds, and no loss has slopes there
    return measure_violation_of_rows(
        problem.terms, a if problem.row is None else snap_to_bounds(a, problem.row), f, counted
    )


def measure_violation_of_rows(terms, a: np.ndarray, f: np.ndarray, counted: np.ndarray) -> float:
    """The largest distance over the rows that count."""
    left, right = terms.slopes(a)
    return float(np.maximum(np.maximum(-f - right, left + f), 0.0).max(initial=0.0, where=counted))


def snap_to_bounds(a: np.ndarray, row: PiecewiseConjugate) -> np.ndarray:
    """The duals, with those that agree with a bound or with zero to ten digits set exactly to it.

    Otherwise a dual that misses its bound by a rounding error would count as free, and its sample as a violator.
    """
    margin = AT_BOUND * np.abs(a).max(initial=0.0)
    a = np.where(np.abs(a) <= margin, 0.0, a)
    return np.where(a <= row.lo + margin, row.lo, np.where(a >= row.hi - margin, row.hi, a))


def largest(b) -> float:
    """max |b| over all layers or classes."""
    return float(np.abs(b).max(initial=0.0)) if isinstance(b, np.ndarray) else abs(float(b))
