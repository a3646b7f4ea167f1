"""SMO for many small problems in one compiled call: most take microseconds each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, overload

import numpy as np

from ...certificates.small_problems import JointCertificates, SmallProblems, load_loops
from ...model.problem import Point
from ...model.row_cache import MAX_SINGLE_ROWS
from ...model.tiles import open_tile
from ...runtime.interpreter import cached_property
from ..result import SENTENCES, Progress, Result, Status
from . import SMO
from .active import FLOOR, ITERATIONS, MISSES, NEGATIVE, POLISH_MAX_TOL

# samples of a problem that is solved here; with more of them a step is worth the Python around it
MAX_SAMPLES_PER_PROBLEM = 1000
# A pair of classes may have more: it needs few rows, and the judge too, whereas the loop forms or keeps many. With more
# features than these a row costs so much that a matrix product for many rows at once is cheaper.
MAX_SAMPLES_PER_PAIR, MAX_FEATURES_OF_LARGE_PAIR = 2000, 32
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
    total, rows, most, solve_problems = len(problems), problems.rows, problems.largest, load_loops().solve_problems
    numbers, counts = np.zeros((total, 5)), np.zeros((total, 7), np.int64)
    numbers[:, FLOOR] = problems.floors
    a, b = np.zeros((problems.layers, problems.places)), np.zeros((total, problems.layers))
    limits = float(STEPS_PER_SAMPLE), float(MAX_SCORE_UPDATES)
    arguments = (
        *problems.layout, problems.features.diagonal, problems.ends, a, *rows.row,
        rows.balance if rows.has_balance else None, tol, limits, numbers, counts, b,
    )  # fmt: skip
    step = max(1, SAMPLES_PER_CALL // most)

    def advance(start: int, stop: int) -> None:
        buffer = open_tile(min(MAX_SINGLE_ROWS, most), most, np.dtype(float), "rows").ravel()
        for first in range(start, stop, step):
            if is_over():
                return
            solve_problems(first, min(first + step, stop), buffer, *arguments)

    problems.run(advance, workers)
    return JointSolutions(a, b, counts)


@lru_cache(maxsize=64)
def is_default_smo(smo: SMO, tol: float) -> bool:
    """Whether these are the steps that a solver would take: SMO as it is by default, to a gap that needs no polish."""
    return replace(smo, cache_size=SMO.cache_size, shrinking=SMO.shrinking) == SMO() and tol >= POLISH_MAX_TOL


def holds_rows(smo: SMO, n: int) -> bool:
    """Whether the rows that are held of a problem of n samples fit into the cache_size."""
    return 8 * n * min(n, MAX_SINGLE_ROWS) <= smo.cache_size * 2**20


def solve_together(
    problems: SmallProblems, solver, tol: float, workers: int, is_over: Callable[[], bool]
) -> JointResults:
    """A result for each problem: converged, or where the loop is to go on (its status is then MAX_ITER)."""
    began = time.perf_counter()
    problems.expect_judge()
    solutions = take_steps(problems, tol, workers, is_over)
    certificates = problems.judge(solutions.a, solutions.b)
    converged = certificates.relative_gaps <= tol
    return JointResults(solutions, certificates, solver, converged, time.perf_counter() - began)


class JointResults(Sequence[Result]):
    """The results of many problems, in the arrays in which they were solved; one is made when it is asked for.

    Attributes
    ----------
    solutions : JointSolutions
    certificates : JointCertificates
    solver : Solver
    converged : ndarray of bool
        Which problems are within tol.
    seconds : float
        The time of all of them, which is shared out by the work of each.
    """

    def __init__(
        self, solutions: JointSolutions, certificates: JointCertificates, solver, converged: np.ndarray, seconds: float
    ):
        self.solutions, self.certificates, self.solver = solutions, certificates, solver
        self.converged, self.seconds = converged, seconds

    def __len__(self) -> int:
        return len(self.certificates)

    def __getstate__(self) -> dict:
        """Without what follows from the rest: a copy is the same before and after the results are read."""
        return {name: value for name, value in vars(self).items() if name != "shares"}

    @property
    def n_iter(self) -> np.ndarray:
        """The steps of each problem."""
        return self.solutions.counts[:, ITERATIONS]

    @overload
    def __getitem__(self, k: int) -> Result: ...
    @overload
    def __getitem__(self, k: slice) -> list[Result]: ...
    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        a, b, counts = self.solutions
        start, stop = self.certificates.ends[k : k + 2]
        certificate, counted = self.certificates[k], counts[k].tolist()
        steps, seconds = counted[ITERATIONS], self.seconds * float(self.shares[k])
        status, history = Status.MAX_ITER, []
        if self.converged[k]:
            status = Status.CONVERGED
            history = [Progress(steps, seconds, certificate.primal, certificate.dual, stop - start)]
        point = Point(a[0, start:stop], float(b[k, 0])) if len(a) == 1 else Point(a[:, start:stop], b[k])
        return Result(
            status, point, certificate, self.solver, steps, seconds, SENTENCES[status], history, count(counted)
        )

    @cached_property
    def shares(self) -> np.ndarray:
        """The part of the time that each problem took, by steps times samples."""
        work = 1 + self.n_iter * np.diff(self.certificates.ends)
        return work / work.sum()


def count(counts: list[int]) -> Counter:
    """What a run of SMO counts: each step reads the rows of two duals; those not evaluated for it were hits."""
    misses, steps = counts[MISSES], counts[ITERATIONS]
    return Counter({
        "misses": misses, "rows": misses, "hits": max(0, 2 * steps - misses), "shrinks": 0, "refreshes": 0,
        "negative_curvature": counts[NEGATIVE],
    })  # fmt: skip
