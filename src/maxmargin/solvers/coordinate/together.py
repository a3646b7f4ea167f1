"""Dual coordinate descent over the same sparse rows for several problems: the classes of a linear machine on texts.

Passes over small texts take less time than the Python around them. Here all passes of a problem, the looks at its gap
and the steps on the face of its free duals are one compiled call, or a few where they take long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ...certificates.certificate import Certificate
from ...certificates.small_designs import SparseDesigns
from ...contracts.samples import VectorSamples
from ...model.problem import FLOOR
from ...runtime.interpreter import release_interpreter
from ...runtime.threads import run_strips
from ..result import SENTENCES, Progress, Result, Status
from . import COUNT_OF_NUMBERS, LIMIT, PATIENCE, SEED, TAU, Coordinate

# As for `solvers.newton`: features up to which a smooth loss is solved by their normal equations.
NORMAL_MATRIX_MAX_FEATURES = 2500
MAX_ENTRIES = 1 << 23  # of X, up to which a problem is solved without the loop around its passes
MAX_WEIGHTS = 1 << 24  # numbers in the w of all problems
CALL_ENTRIES = 1 << 24  # entries that a call visits before the clock is looked at: about 40 ms
LEAST_TOL = 1e-7  # below it the loop is better: its methods end at the optimum itself
# visits of rows, times their number, after which a problem is left to the loop, which has other methods
MAX_VISITS_PER_ROW = 600


def has_few_entries(samples: VectorSamples, problems: int) -> bool:
    """Whether problems over sparse samples are solved together."""
    return samples.size <= MAX_ENTRIES and problems * samples.d <= MAX_WEIGHTS and samples.d < 2**31


def can_descend_together(problems: SparseDesigns, tol: float) -> bool:
    """Whether coordinate descent is the method of choice, with many features, and needs no balance of the duals."""
    row = problems.row
    if row is None or problems.free or tol < LEAST_TOL:
        return False
    return problems.features.samples.d > NORMAL_MATRIX_MAX_FEATURES


def descend_together(
    problems: SparseDesigns, tol: float, workers: int, is_over: Callable[[], bool]
) -> dict[int, Result]:
    """A result for each problem, by number: converged, or where the loop is to go on (its status is then MAX_ITER)."""
    total, (n, size) = len(problems), problems.shape
    u, a, counts = np.zeros((total, size)), np.zeros((total, n)), np.zeros((total, 8), np.int64)

    def advance(start: int, stop: int) -> None:
        for k in range(start, stop):
            descend_one(problems, k, tol, is_over, u[k], a[k], counts[k])

    if workers > 1 and total > 1:
        run_strips(advance, total, 1)
    else:
        advance(0, total)
    certificates = problems.judge(u, a)
    return {k: describe(problems, k, each, tol, u[k], a[k], counts[k]) for k, each in enumerate(certificates)}


def descend_one(
    problems: SparseDesigns, k: int, tol: float, is_over: Callable[[], bool], u: np.ndarray, a: np.ndarray,
    counts: np.ndarray,
) -> None:  # fmt: skip
    """One problem from zero to its gap, or as far as visits and time allow: w in u, the duals in a."""
    from ...compiled.coordinate import DUAL
    from ...compiled.sparse_descent import ACTIVE, GOING, INTERVAL, VISITS, descend, fill_table

    (n, size), scaling = problems.shape, problems.features.scaling
    table, numbers, w = np.empty((n, 8)), np.zeros(COUNT_OF_NUMBERS), u[:-1]
    numbers[TAU], numbers[LIMIT], numbers[PATIENCE] = scaling * scaling, np.inf, np.inf
    counts[ACTIVE], counts[INTERVAL] = n, 1
    data, indices, indptr = problems.arrays
    told = np.array([0.0, np.inf, -1.0, np.inf, np.inf, 0.0, 0.0])
    order, seed = np.arange(n, dtype=np.int32), np.array([SEED], np.uint64)
    visits = max(CALL_ENTRIES * n // max(len(data), 1), 1)
    with release_interpreter():
        fill_table(data, indptr, *(part[k] for part in problems.row), table)
        state = data, indices, indptr, order, w, table, numbers, seed, np.empty(n), np.empty(size - 1)
        while counts[VISITS] < MAX_VISITS_PER_ROW * n and not is_over():
            if descend(*state, tol, FLOOR, visits, counts, told) != GOING:
                break
    a[:] = table[:, DUAL]
    u[-1] = scaling * a.sum()


def describe(
    problems: SparseDesigns, k: int, certificate: Certificate | None, tol: float, u: np.ndarray, a: np.ndarray,
    counts: np.ndarray,
) -> Result:  # fmt: skip
    """The result of a problem, by what the judge has found; P and D themselves are to be known as well as the gap."""
    _, passes, visits, looks, *_ = counts.tolist()
    met = (
        certificate is not None
        and certificate.relative_gap <= tol
        and certificate.primal - certificate.dual <= tol * certificate.size
    )
    status = Status.CONVERGED if met else Status.MAX_ITER
    history = [Progress(passes, 0.0, certificate.primal, certificate.dual, int(np.count_nonzero(a)))] if met else []
    return Result(
        status, problems.make_point(u, a), certificate, Coordinate(), passes, 0.0, SENTENCES[status], history,
        Counter(looks=looks, updates=visits),
    )  # fmt: skip
