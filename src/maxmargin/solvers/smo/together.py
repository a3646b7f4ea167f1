"""SMO for many small problems in one compiled call: the pairs of classes, of which each takes microseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...certificates.certificate import Certificate
from ...certificates.class_pairs import ClassPairs
from ...model.features import Segment
from ...model.problem import FLOOR as OBJECTIVE_FLOOR
from ...model.problem import Point
from ...model.row_cache import MAX_SINGLE_ROWS
from ...model.tiles import open_tile
from ...runtime.threads import run_strips
from ..result import SENTENCES, Progress, Result, Status
from . import SMO
from .active import FLOOR, ITERATIONS, MISSES, NEGATIVE, POLISH_MAX_TOL

# samples of a problem that is solved here; with more of them a step is worth the Python around it
MAX_SAMPLES_PER_PAIR = 1000
SAMPLES_PER_CALL = 1024  # samples of the problems of one compiled call, after which the clock is looked at
# Steps per sample, or updates of scores if these are more steps, after which the loop goes on with other means.
STEPS_PER_SAMPLE, MAX_SCORE_UPDATES = 20, 2.5e6


class PairSolutions(NamedTuple):
    """Where SMO left the problems: all duals, an intercept for each, and what was counted."""

    a: np.ndarray
    b: np.ndarray
    counts: np.ndarray


class PackedClasses(NamedTuple):
    """The samples of all classes as `compiled.single_rows` wants them, and where the blocks of each class begin."""

    blocks: np.ndarray
    packed: np.ndarray
    norms: np.ndarray

    @classmethod
    def of(cls, samples: list) -> PackedClasses:
        """Pack the samples of each class."""
        parts = [Segment.pack(each) for each in samples]
        blocks = np.cumsum([0, *(len(part.packed) for part in parts)])
        packed, norms = (np.concatenate(list(column)) for column in zip(*parts, strict=True))
        return cls(blocks, packed, norms)


def take_steps(problems: ClassPairs, tol: float, workers: int, is_over: Callable[[], bool]) -> PairSolutions:
    """Pair steps for every problem, from a = 0, by so many workers; those there is no time for stay there."""
    from ...compiled.class_pairs import solve_pairs

    total, features = len(problems.pairs), problems.features
    numbers, counts = np.zeros((total, 5)), np.zeros((total, 7), np.int64)
    numbers[:, FLOOR] = OBJECTIVE_FLOOR
    a, b = np.zeros(len(problems.y)), np.zeros(total)
    blocks, packed, norms = PackedClasses.of(problems.samples)
    shared = (
        problems.pairs,
        problems.classes,
        blocks,
        problems.ends,
        features.formula,
        packed,
        norms,
        features.diagonal,
    )
    sizes = np.diff(problems.ends)
    most, limits = int(sizes.max()), np.maximum(STEPS_PER_SAMPLE * sizes, MAX_SCORE_UPDATES / sizes).astype(np.int64)

    def advance(start: int, stop: int) -> None:
        if not is_over():
            rows = open_tile(min(MAX_SINGLE_ROWS, most), most, np.dtype(float), "rows").ravel()
            solve_pairs(start, stop, *shared, rows, a, *problems.row, tol, limits, numbers, counts, b)

    step = max(1, SAMPLES_PER_CALL // most)
    if workers > 1:
        run_strips(advance, total, step)
    else:
        for start in range(0, total, step):
            advance(start, min(start + step, total))
    return PairSolutions(a, b, counts)


def is_default_smo(smo: SMO, tol: float) -> bool:
    """Whether these are the steps that a solver would take: SMO as it is by default, to a gap that needs no polish."""
    return replace(smo, cache_size=SMO.cache_size, shrinking=SMO.shrinking) == SMO() and tol >= POLISH_MAX_TOL


def solve_together(problems: ClassPairs, solver, tol: float, workers: int, is_over: Callable[[], bool]) -> list[Result]:
    """A result for each problem: converged, or where the loop is to go on (its status is then MAX_ITER)."""
    solutions = take_steps(problems, tol, workers, is_over)
    certificates = problems.judge(solutions.a, solutions.b)
    return [describe(problems, solutions, k, certificate, solver, tol) for k, certificate in enumerate(certificates)]


def describe(
    problems: ClassPairs, solutions: PairSolutions, k: int, certificate: Certificate | None, solver, tol: float
) -> Result:
    """The result of a problem, by what the judge has found."""
    place, steps = problems.cut(k), int(solutions.counts[k, ITERATIONS])
    met = certificate is not None and certificate.relative_gap <= tol
    status = Status.CONVERGED if met else Status.MAX_ITER
    history = [Progress(steps, 0.0, certificate.primal, certificate.dual, place.stop - place.start)] if met else []
    point, counters = Point(solutions.a[place], float(solutions.b[k])), count(solutions.counts[k])
    return Result(status, point, certificate, solver, steps, 0.0, SENTENCES[status], history, counters)


def count(counts: np.ndarray) -> Counter:
    """What a run of SMO counts: each step reads the rows of two duals; those not evaluated for it were hits."""
    misses, steps = int(counts[MISSES]), int(counts[ITERATIONS])
    return Counter(
        misses=misses, rows=misses, hits=max(0, 2 * steps - misses), shrinks=0, refreshes=0,
        negative_curvature=int(counts[NEGATIVE]),
    )  # fmt: skip
