"""SMO for many small problems in one compiled call: most take microseconds each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...certificates.certificate import Certificate
from ...certificates.small_problems import SmallProblems
from ...model.problem import Point
from ...model.row_cache import MAX_SINGLE_ROWS
from ...model.tiles import open_tile
from ..result import SENTENCES, Progress, Result, Status
from . import SMO
from .active import FLOOR, ITERATIONS, MISSES, NEGATIVE, POLISH_MAX_TOL

# samples of a problem that is solved here; with more of them a step is worth the Python around it
MAX_SAMPLES_PER_PROBLEM = 1000
SAMPLES_PER_CALL = 1024  # samples of the problems of one compiled call, after which the clock is looked at
# Steps per sample, or updates of scores if these are more steps, after which the loop goes on with other means.
STEPS_PER_SAMPLE, MAX_SCORE_UPDATES = 20, 2.5e6


class JointSolutions(NamedTuple):
    """Where SMO left the problems: all duals, the intercepts of each, and what was counted."""

    a: np.ndarray
    b: np.ndarray
    counts: np.ndarray


def take_steps(problems: SmallProblems, tol: float, workers: int, is_over: Callable[[], bool]) -> JointSolutions:
    """Pair steps for every problem, by so many workers; those there is no time for stay at zero."""
    from ...compiled.small_problems import solve_problems

    total, rows, layout = len(problems), problems.rows, problems.layout
    numbers, counts = np.zeros((total, 5)), np.zeros((total, 7), np.int64)
    numbers[:, FLOOR] = problems.floors
    a, b = np.zeros((problems.layers, problems.places)), np.zeros((total, problems.layers))
    sizes, most, diagonal = np.array(problems.sizes), problems.largest, problems.features.diagonal
    limits = np.maximum(STEPS_PER_SAMPLE * sizes, MAX_SCORE_UPDATES / sizes).astype(np.int64)
    step, balance = max(1, SAMPLES_PER_CALL // most), rows.balance if problems.has_balance else None

    def advance(start: int, stop: int) -> None:
        buffer = open_tile(min(MAX_SINGLE_ROWS, most), most, np.dtype(float), "rows").ravel()
        for first in range(start, stop, step):
            if is_over():
                return
            solve_problems(
                first, min(first + step, stop), *layout, diagonal, problems.ends, buffer, a, *rows.row, balance,
                tol, limits, numbers, counts, b,
            )  # fmt: skip

    problems.run(advance, workers)
    return JointSolutions(a, b, counts)


@lru_cache(maxsize=64)
def is_default_smo(smo: SMO, tol: float) -> bool:
    """Whether these are the steps that a solver would take: SMO as it is by default, to a gap that needs no polish."""
    return replace(smo, cache_size=SMO.cache_size, shrinking=SMO.shrinking) == SMO() and tol >= POLISH_MAX_TOL


def solve_together(
    problems: SmallProblems, solver, tol: float, workers: int, is_over: Callable[[], bool]
) -> list[Result]:
    """A result for each problem: converged, or where the loop is to go on (its status is then MAX_ITER)."""
    began = time.perf_counter()
    problems.expect_judge()
    solutions = take_steps(problems, tol, workers, is_over)
    certificates = problems.judge(solutions.a, solutions.b)
    work = [
        1 + steps * size for steps, size in zip(solutions.counts[:, ITERATIONS].tolist(), problems.sizes, strict=True)
    ]
    pace = (time.perf_counter() - began) / sum(work)  # the time of all of them is shared out by the work of each
    return [
        describe(problems, solutions, k, certificate, solver, tol, pace * work[k])
        for k, certificate in enumerate(certificates)
    ]


def describe(
    problems: SmallProblems,
    solutions: JointSolutions,
    k: int,
    certificate: Certificate | None,
    solver,
    tol: float,
    seconds: float,
) -> Result:
    """The result of a problem, by what the judge has found."""
    place, counts = problems.cut(k), solutions.counts[k].tolist()
    steps = counts[ITERATIONS]
    met = certificate is not None and certificate.relative_gap <= tol
    status = Status.CONVERGED if met else Status.MAX_ITER
    history = [Progress(steps, seconds, certificate.primal, certificate.dual, place.stop - place.start)] if met else []
    if problems.layers == 1:
        point = Point(solutions.a[0, place], float(solutions.b[k, 0]))
    else:
        point = Point(solutions.a[:, place], solutions.b[k])
    return Result(status, point, certificate, solver, steps, seconds, SENTENCES[status], history, count(counts))


def count(counts: list[int]) -> Counter:
    """What a run of SMO counts: each step reads the rows of two duals; those not evaluated for it were hits."""
    misses, steps = counts[MISSES], counts[ITERATIONS]
    return Counter({
        "misses": misses, "rows": misses, "hits": max(0, 2 * steps - misses), "shrinks": 0, "refreshes": 0,
        "negative_curvature": counts[NEGATIVE],
    })  # fmt: skip
