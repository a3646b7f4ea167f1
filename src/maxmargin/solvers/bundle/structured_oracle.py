"""The risk of a structured problem as an oracle of places and cuts, with the labellings that it has found."""

from __future__ import annotations

import numpy as np

from ...runtime.interruptible import check_interrupt
from ...structures.problem import StructuredProblem
from .oracle import Oracle


class StructuredPlace:
    """w as x, the risk there, and the labellings that attain it."""

    def __init__(self, x: np.ndarray, value: float, labellings):
        self.x, self.value, self.labellings = x, value, labellings


class StructuredOracle(Oracle):
    """The risk of a structured problem; a pass over the samples that runs out of time is gone on with later."""

    def __init__(self, problem: StructuredProblem, cache: int):
        self.problem, self.examples = problem, problem.examples
        self.cache = None if self.examples.packed or cache == 0 else LabellingCache(self.examples, cache)
        self.place, self.at = 0, None
        self.values, self.bounds = np.zeros(problem.n), np.zeros(problem.n)
        self.labellings = self.examples.blank()
        self.ceiling = np.inf  # a place whose risk and ridge are more is of no use but for its cut
        self.n_recalls = 0

    def locate(self, x: np.ndarray) -> StructuredPlace:
        """The risk at x: one pass of the oracle, or the cache where that is enough."""
        if self.at is None or not np.array_equal(self.at, x):
            recalled = None if self.cache is None else self.recall(x)
            if recalled is not None:
                return recalled
            self.at, self.place = x.copy(), 0
        while self.place < self.problem.n:
            stop = min(self.place + self.examples.step, self.problem.n)
            self.examples.maximise(x, self.place, stop, self.labellings, self.values, self.bounds)
            self.place = stop
            if stop < self.problem.n:
                check_interrupt()
        self.n_calls += 1
        self.at, labellings = None, self.labellings.copy()
        if self.cache is not None:
            self.cache.keep(labellings)
        return StructuredPlace(x, float(self.problem.c @ self.values), labellings)

    def recall(self, x: np.ndarray) -> StructuredPlace | None:
        """The best labellings of the cache at x, if they show that x is no better than the best place."""
        labellings, values = self.cache.maximise(x)
        value = float(self.problem.c @ values)
        if value + 0.5 * float(x @ x) < self.ceiling:
            return None
        self.n_recalls += 1
        return StructuredPlace(x, value, labellings)

    def cut(self, place: StructuredPlace) -> tuple[np.ndarray, float, list]:
        """phi = -g, offset = sum_i c_i Delta_i."""
        g = self.examples.combine(place.labellings, self.problem.c)
        return -g, float(self.problem.c @ self.examples.losses(place.labellings)), [(1.0, place.labellings)]


class LabellingCache:
    """The last few labellings that the oracle found for each sample, as rows of the library."""

    def __init__(self, examples, depth: int):
        self.examples, self.depth = examples, depth
        self.rows = examples.right[:, None].copy()  # one column per labelling, the newest last

    def keep(self, labellings: np.ndarray) -> None:
        """Remember a labelling of each sample; those that are known move to the end."""
        columns = np.column_stack([self.rows, labellings])
        if columns.shape[1] > self.depth:
            again = (columns[:, :-1] == labellings[:, None]).argmax(axis=1)  # the place of the same one, or the oldest
            stay = np.ones(columns.shape, bool)
            stay[np.arange(len(columns)), again] = False
            columns = columns[stay].reshape(len(columns), -1)
        self.rows = columns

    def maximise(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The highest remembered labelling of each sample, and its height."""
        known, place = np.unique(self.rows, return_inverse=True)
        heights = np.array([self.examples.height(row, w) for row in known])[place.reshape(self.rows.shape)]
        best = heights.argmax(axis=1)
        each = np.arange(len(best))
        return self.rows[each, best], heights[each, best]
