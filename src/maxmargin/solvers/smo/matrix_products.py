"""Products of a kernel matrix with coefficients, without copies of the matrix where its columns lie side by side.

Samples that are sorted by class, and folds that hold out runs of them, leave few runs of columns with holes. A product
over all columns of a run, the coefficients of the others zero, takes a view of the matrix and one call of BLAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...runtime.threads import run_strips

MAX_RUNS = 4  # of columns
MAX_COVER = 1.7  # columns of the runs over those that count, beyond which these are copied instead
MIN_RUN_ROWS = 8  # on average, from which on each run of rows is a product of its own
ROWS_PER_PRODUCT = 512
FEW_VALUES = 1 << 12  # of the matrix, which are copied in less time than it takes to look for runs
COPIED_VALUES = 1 << 20  # of the matrix, at a time, where rows of it are copied
PROBLEMS_PER_STRIP = 32  # whose rows a core multiplies at a time


class Runs(NamedTuple):
    """Runs of samples that cover some others, and where each sample of a run lies among all of them.

    Attributes
    ----------
    spans : list of (int, int)
        First sample and one beyond the last, in ascending order.
    offsets : list of int
        Where each run begins, and the end of the last one.
    """

    spans: list[tuple[int, int]]
    offsets: list[int]

    @classmethod
    def cover(cls, samples: np.ndarray) -> Runs | None:
        """At most MAX_RUNS runs with all samples, which are sorted; None where those would be mostly others."""
        if len(samples) == 0:
            return cls([], [0])
        gaps = np.diff(samples)
        cuts = np.sort(np.argsort(-gaps, kind="stable")[: MAX_RUNS - 1])
        cuts = cuts[gaps[cuts] > 1].tolist()
        starts, stops = [0, *(cut + 1 for cut in cuts)], [*cuts, len(samples) - 1]
        spans = [(int(samples[start]), int(samples[stop]) + 1) for start, stop in zip(starts, stops, strict=True)]
        offsets = [0, *np.cumsum([stop - start for start, stop in spans]).tolist()]
        return cls(spans, offsets) if offsets[-1] <= MAX_COVER * len(samples) else None

    def find(self, samples: np.ndarray) -> np.ndarray:
        """Where the samples lie among those of all runs."""
        firsts = np.array([start for start, _ in self.spans])
        shifts = np.array(self.offsets[:-1]) - firsts
        return samples + shifts[np.searchsorted(firsts, samples, side="right") - 1]


class Factor(NamedTuple):
    """Coefficients over columns of the matrix: over runs of them, or, where there are none, over single ones."""

    runs: Runs | None
    columns: np.ndarray
    coef: np.ndarray

    @classmethod
    def lay_out(cls, columns: np.ndarray, coef: np.ndarray) -> Factor:
        """Coefficients that are zero where a run has other columns."""
        order = np.argsort(columns, kind="stable")
        columns, coef = columns[order], coef[order]
        runs = Runs.cover(columns) if (np.diff(columns) > 0).all() else None
        if runs is not None and runs.spans:
            spread = np.zeros((runs.offsets[-1], *coef.shape[1:]), coef.dtype)
            spread[runs.find(columns)] = coef
            coef = spread
        return cls(runs, columns, coef)

    def multiply(self, matrix: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        """K[rows] coef."""
        if self.runs is None:
            rows = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            return matrix[np.ix_(rows, self.columns)] @ self.coef
        count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        total = np.zeros((count, *self.coef.shape[1:]), np.result_type(matrix, self.coef))
        for (start, stop), offset in zip(self.runs.spans, self.runs.offsets, strict=False):
            total += matrix[rows, start:stop] @ self.coef[offset : offset + stop - start]
        return total


def multiply_part(matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """K[rows, columns] coef, on all cores; some rows at a time, so that no large part of the matrix is copied."""
    if len(rows) * len(columns) <= FEW_VALUES:
        return matrix[np.ix_(rows, columns)] @ coef
    return multiply_parts(matrix, rows, [(columns, coef)])[0]


def multiply_parts(
    matrix: np.ndarray, rows: np.ndarray, parts: Sequence[tuple[np.ndarray, np.ndarray]]
) -> list[np.ndarray]:
    """`multiply_part` of the same rows with columns and coefficients of several kinds."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    factors = [Factor.lay_out(*part) for part in parts]
    found = [np.empty((len(rows), *f.coef.shape[1:]), np.result_type(matrix, f.coef)) for f in factors]
    breaks = np.flatnonzero(np.diff(ordered) != 1) + 1
    in_runs = len(rows) >= MIN_RUN_ROWS * (len(breaks) + 1)
    widest = max((len(factor.coef) for factor in factors), default=1)
    step = min(ROWS_PER_PRODUCT, max(1, COPIED_VALUES // max(widest, 1)))
    ends = [0, *breaks.tolist(), len(rows)] if in_runs else [0, len(rows)]
    pieces = [(start, min(start + step, stop)) for first, stop in pairwise(ends) for start in range(first, stop, step)]

    def multiply(number: int, _: int) -> None:
        (start, stop), k = pieces[number // len(factors)], number % len(factors)
        some = slice(int(ordered[start]), int(ordered[stop - 1]) + 1) if in_runs else ordered[start:stop]
        found[k][order[start:stop]] = factors[k].multiply(matrix, some)

    run_strips(multiply, len(pieces) * len(factors), 1)
    return found


def multiply_covered(
    matrix: np.ndarray, samples: np.ndarray, columns: Sequence[np.ndarray], coef: Sequence[np.ndarray], relative: float
) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
    """K[own, own] coef of several problems over some of the `samples`, and `relative` times the same without signs.

    None where the samples are scattered over the matrix, or one is there twice in a problem.
    """
    runs = Runs.cover(samples)
    if runs is None:
        return None
    places = [runs.find(own) for own in columns]
    ends = np.cumsum([0, *(part.shape[1] for part in coef)]).tolist()
    spread = np.zeros((runs.offsets[-1], ends[-1]))
    for k, own in enumerate(places):
        spread[own, ends[k] : ends[k + 1]] = coef[k]
    scores = np.empty_like(spread)
    errors = np.empty_like(spread if relative else spread[:0])
    sizes = relative * np.abs(spread) if relative else spread
    step = min(ROWS_PER_PRODUCT, max(1, COPIED_VALUES // runs.offsets[-1]))
    strips = [
        (start, min(start + step, stop), offset + start - first)
        for (first, stop), offset in zip(runs.spans, runs.offsets, strict=False)
        for start in range(first, stop, step)
    ]

    def multiply(number: int, _: int) -> None:
        start, stop, place = strips[number]
        own = slice(place, place + stop - start)
        scores[own] = 0.0
        if relative:
            errors[own] = 0.0
        for (first, last), offset in zip(runs.spans, runs.offsets, strict=False):
            used = slice(offset, offset + last - first)
            part = matrix[start:stop, first:last].astype(np.float64, copy=False)
            scores[own] += part @ spread[used]
            if relative:
                errors[own] += np.abs(part) @ sizes[used]

    run_strips(multiply, len(strips), 1)
    cuts = [(own, slice(*cut)) for own, cut in zip(places, pairwise(ends), strict=True)]
    return [scores[cut] for cut in cuts], [errors[cut] for cut in cuts] if relative else []


def multiply_at(
    matrix: np.ndarray, index: np.ndarray, ends: np.ndarray, coef: np.ndarray, rows: np.ndarray, places: np.ndarray
) -> np.ndarray:
    """sum_j coef_j K[index_j, i] over the samples of problem k, at the rows i from places[k] to places[k + 1]."""
    from ...compiled.cells import score_rows

    scores = np.empty(len(rows))

    def work(start: int, stop: int) -> None:
        score_rows(start, stop, matrix, index, ends, coef, rows, places, scores)

    run_strips(work, len(places) - 1, PROBLEMS_PER_STRIP)
    return scores
