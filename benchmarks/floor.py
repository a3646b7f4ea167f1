"""The physical floor of a fit: the time to evaluate the rows of its support vectors once, on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from maxmargin.features import evaluate_scores
from maxmargin.kernels import RBF
from maxmargin.threads import quiet_blas

from .cases import Case
from .clock import time_best


def list_blocks(model, case: Case) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(support vectors, samples) of every binary problem; all of them where there is one problem only."""
    support = np.asarray(model.support_)
    if case.kind != "SVC" or len(model.classes_) == 2:
        yield support, np.arange(case.n)
        return
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    for i, j in combinations(range(len(model.classes_)), 2):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        used = support[first][table[j - 1, first] != 0], support[second][table[i, second] != 0]
        yield np.concatenate(used), np.flatnonzero((case.y == i) | (case.y == j))


def measure_floor(model, case: Case) -> float:
    """Seconds to evaluate K[support, samples] of every binary problem once, in tiles that are used and forgotten."""
    kernel = RBF(case.parameters["gamma"]).bind(case.X)
    samples = kernel.samples(case.X)
    blocks = [(samples.take(rows), samples.take(index)) for rows, index in list_blocks(model, case)]

    def evaluate() -> None:
        for rows, others in blocks:
            if rows.n:
                evaluate_scores(kernel, others, rows, np.ones(rows.n))

    with quiet_blas():
        return time_best(evaluate)[0]
