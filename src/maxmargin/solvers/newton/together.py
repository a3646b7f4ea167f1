"""Newton's method and interior point for several small problems in one compiled call: the classes of a linear machine.

Products with a few hundred rows take a microsecond each, and the Python around them a hundred. Here all steps of all
classes are compiled: Newton's method where the loss is smooth, Mehrotra's interior point where it has kinks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...certificates.certificate import Certificate
from ...certificates.small_designs import SmallDesigns
from ...model.losses.smooth import ExponentialTerms, LogisticTerms, PoissonTerms
from ...model.problem import Point
from ...runtime.interpreter import release_interpreter
from ...runtime.threads import run_strips
from ..result import SENTENCES, Progress, Result, Status
from . import InteriorPoint, Newton
from .repeated_rows import balance, find_repeated_rows
from .system import DRAWN_ROWS_PER_FEATURE, ROW_DRAW_RATIO, draw_weighted_rows

MAX_ENTRIES = 1 << 19  # of X, up to which all steps are compiled and all rows are looked at in each
# The same where the curvature of all rows changes at every step; twice as many where the rows are no more than so many.
# More rows are better looked at by several threads, after a start on some of them.
MAX_FORMULA_ENTRIES, MAX_FORMULA_ROWS = 1 << 18, 1 << 15
# Rows with kinks up to which interior point, which looks at all of them in each step, is ahead of the multipliers.
MAX_KINKED_ROWS = 20_000
MAX_MATRIX_PRODUCTS = 100_000_000  # of a matrix of the features, up to which it is formed without a look at the clock
# The same for rows of few entries, which otherwise are multiplied as they are.
MIN_DENSITY, MAX_SPARSE_MATRIX_PRODUCTS = 0.1, 5_000_000
MAX_FEATURES_OF_FEW_ROWS = 100  # features that may be more than the rows
# Steps of a problem before it is left to the loop: as many as take so many products, within limits.
STEPS_PRODUCTS, MIN_STEPS, MAX_STEPS = 4_000_000_000, 60, 400
ROW_PASSES = 8  # over all rows in a step of Newton's method, whose matrix changes by a few rows
SAMPLED_MIN_ROWS = 50_000  # of losses whose matrix changes by few rows at a step, to be solved on some of them first
THREADS_MIN_PRODUCTS = 4_000_000  # of all problems, below which threads take longer to wake up than to help
CALL_PRODUCTS = 200_000_000  # of a compiled call, after which the clock is looked at: a few hundredths of a second
EXPECTED_STEPS = 10  # of a problem
FORMULAS = {LogisticTerms: "LOGISTIC", ExponentialTerms: "EXPONENTIAL", PoissonTerms: "POISSON"}
# w has as many digits as the root of the gap, and a tol below the first is asked for to compare digits. Newton's last
# step doubles them, so such fits aim at a share of tol, as far as float64 can tell it from rounding.
CLOSE_TOL, CLOSE_SHARE, LEAST_AIM = 1e-6, 1e-5, 1e-14


class Solutions(NamedTuple):
    """Where the steps ended: (w, b) and the duals of each problem, and what is told of it."""

    u: np.ndarray
    a: np.ndarray
    told: np.ndarray


def is_small(n: int, d: int, entries: int) -> bool:
    """Whether problems of n rows and d features are solved together; `entries` of X are not zero, or are stored."""
    products = MAX_MATRIX_PRODUCTS if entries >= MIN_DENSITY * n * d else MAX_SPARSE_MATRIX_PRODUCTS
    return n * d <= MAX_ENTRIES and n * (d + 1) ** 2 <= products and d <= max(n, MAX_FEATURES_OF_FEW_ROWS)


def can_solve_together(problems: SmallDesigns, tol: float) -> bool:
    """Whether the loss is known here: smooth in every row, or with kinks in every row.

    With kinks and a small tol the loop is better: its methods end at the optimum itself, once they know the kinks.
    """
    row, samples = problems.row, problems.features.samples
    if row is None:
        known = type(problems.loss.terms(problems.y[:1], problems.c[:1])) in FORMULAS
        return known and (samples.size <= MAX_FORMULA_ENTRIES or samples.n <= MAX_FORMULA_ROWS)
    if problems.kinked:
        return tol >= CLOSE_TOL and samples.n <= MAX_KINKED_ROWS
    return bool(row.d.all())


def solve_together(problems: SmallDesigns, tol: float, workers: int, is_over: Callable[[], bool]) -> dict[int, Result]:
    """A result for each problem, by number: converged, or where the loop is to go on (its status is then MAX_ITER).

    None for those that the loop should start anew: their numbers overflowed, or they are far from their kinks.
    """
    kinked = problems.kinked
    problems.expect_judge()
    solutions = take_steps(problems, kinked, tol, workers, is_over)
    solver = InteriorPoint() if kinked else Newton()
    done = solutions.told[:, 3] > 0.0
    certificates = problems.judge(solutions.u, solutions.a) if done.all() else judge_some(problems, solutions, done)
    found = (describe(problems, solutions, k, each, solver, tol) for k, each in enumerate(certificates))
    return {k: result for k, result in enumerate(found) if result.converged or (not kinked and is_finite(result.point))}


def judge_some(problems: SmallDesigns, solutions: Solutions, done: np.ndarray) -> list[Certificate | None]:
    """The certificates of those problems whose steps came to their end."""
    chosen = np.flatnonzero(done)
    part = replace(problems, y=problems.y[chosen], c=problems.c[chosen])
    certificates = iter(part.judge(solutions.u[chosen], solutions.a[chosen]) if len(chosen) else [])
    return [next(certificates) if each else None for each in done]


def is_finite(point: Point) -> bool:
    """Whether all numbers of a point are finite."""
    return bool(np.isfinite(point.a).all() and np.isfinite(point.coef).all() and np.isfinite(point.b))


def take_steps(
    problems: SmallDesigns, kinked: bool, tol: float, workers: int, is_over: Callable[[], bool]
) -> Solutions:
    """Steps for every problem from w = 0, by so many workers; those there is no time for stay there."""
    total, (n, size) = len(problems), problems.shape
    solutions = Solutions(np.zeros((total, size)), np.zeros((total, n)), np.zeros((total, 4)))
    minimise = make_interior_steps(problems, tol, solutions) if kinked else make_newton_steps(problems, tol, solutions)

    def advance(start: int, stop: int) -> None:
        if not is_over():
            minimise(start, stop)

    products = EXPECTED_STEPS * n * size * (size + 8)
    if workers > 1 and total > 1 and total * products > THREADS_MIN_PRODUCTS:
        run_strips(advance, total, 1)
        return solutions
    step = max(1, CALL_PRODUCTS // products)
    with release_interpreter():
        for start in range(0, total, step):
            advance(start, min(start + step, total))
    return solutions


def make_interior_steps(problems: SmallDesigns, tol: float, solutions: Solutions) -> Callable[[int, int], None]:
    """Interior point for the problems start to stop."""
    from ...compiled.small_barrier import minimise_all_kinked

    p, _, e, lo, hi = problems.row
    (n, size), real = problems.shape, problems.loss.target == "real"
    max_steps = limit_steps(n * size**2)
    repeated = find_repeated_rows(problems.Z, p, e)
    if repeated is None:
        return lambda start, stop: minimise_all_kinked(
            start, stop, problems.Z, problems.free, real, problems.c, p, e, lo, hi, tol, max_steps, *solutions
        )
    Z = np.ascontiguousarray(repeated.choose(problems.Z.T).T)
    c, low, high = (repeated.add(each) for each in (problems.c, lo, hi))
    targets, flat, merged = repeated.choose(p), repeated.choose(e), np.zeros(c.shape)
    told = solutions.u, merged, solutions.told

    def minimise(start: int, stop: int) -> None:
        minimise_all_kinked(start, stop, Z, problems.free, real, c, targets, flat, low, high, tol, max_steps, *told)
        part = slice(start, stop)
        a = repeated.spread(np.maximum(merged[part], 0.0), hi[part], high[part])
        a += repeated.spread(np.minimum(merged[part], 0.0), lo[part], low[part])
        if problems.free:
            balance(a, lo[part], hi[part])
        solutions.a[part] = a

    return minimise


def make_newton_steps(problems: SmallDesigns, tol: float, solutions: Solutions) -> Callable[[int, int], None]:
    """Newton's method for the problems start to stop: of many rows for each feature, some are solved first."""
    aim = tol if tol >= CLOSE_TOL else max(CLOSE_SHARE * tol, LEAST_AIM)
    kind, real, rows = describe_rows(problems)
    n, size = problems.shape
    max_steps = limit_steps(n * size**2 if problems.row is None else ROW_PASSES * n * size + size**3)
    least = ROW_DRAW_RATIO * DRAWN_ROWS_PER_FEATURE * size
    if n >= (least if problems.row is None else max(least, SAMPLED_MIN_ROWS)):
        from ...compiled.sampled_newton import minimise_all_sampled

        rows_and_constant = problems.rows, problems.constant, *draw_weighted_rows(problems.features.samples)
        return lambda start, stop: minimise_all_sampled(
            start, stop, kind, *rows_and_constant, problems.free, real, problems.c, *rows, aim, max_steps, *solutions
        )
    from ...compiled.small_newton import minimise_all

    curvature = start_curvature(problems)
    return lambda start, stop: minimise_all(
        start, stop, kind, problems.Z, problems.free, real, problems.c, *rows, aim, max_steps, *curvature, *solutions
    )


def describe_rows(problems: SmallDesigns) -> tuple[int, bool, tuple[np.ndarray, ...]]:
    """The kind of the loss, whether scores begin at the mean of its targets, and five arrays of numbers of its rows."""
    from ...compiled import small_newton, smooth_rows

    if problems.row is not None:
        return small_newton.ROWS, problems.loss.target == "real", tuple(problems.row)
    name = FORMULAS[type(problems.loss.terms(problems.y[:1], problems.c[:1]))]
    return getattr(smooth_rows, name), False, (problems.y, *[problems.c] * 4)


def limit_steps(products: int) -> int:
    """How many steps of so many products a problem has."""
    return min(max(STEPS_PRODUCTS // products, MIN_STEPS), MAX_STEPS)


def start_curvature(problems: SmallDesigns) -> tuple[np.ndarray, np.ndarray]:
    """The curvature that all classes have at w = 0 and the matrix of it, formed once; zeros for a single problem.

    The same zeros for losses without five numbers, whose curvature changes everywhere at the first step.
    """
    n, size = problems.shape
    if problems.row is None or len(problems) == 1:
        return np.zeros(n), np.zeros((size, size))
    curvature = 1.0 / problems.row.d[0]
    return curvature, (problems.Z.T * curvature) @ problems.Z


def describe(
    problems: SmallDesigns, solutions: Solutions, k: int, certificate: Certificate | None, solver, tol: float
) -> Result:
    """The result of a problem, by what the judge has found; P and D themselves are to be known as well as the gap."""
    steps, a = int(solutions.told[k, 0]), solutions.a[k]
    met = (
        certificate is not None
        and certificate.relative_gap <= tol
        and certificate.primal - certificate.dual <= tol * certificate.size
    )
    status = Status.CONVERGED if met else Status.MAX_ITER
    history = [Progress(steps, 0.0, certificate.primal, certificate.dual, int(np.count_nonzero(a)))] if met else []
    point = problems.make_point(solutions.u[k], a)
    counters: Counter[str] = Counter()
    counters["rounds"] = steps
    return Result(status, point, certificate, solver, steps, 0.0, SENTENCES[status], history, counters)
