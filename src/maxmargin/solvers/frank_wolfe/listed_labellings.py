"""The labellings kept for a model of any kind, as rows of its library."""

from __future__ import annotations

import numpy as np

from ...structures.examples import freeze
from ...structures.labellings import WeightedLabelling
from ...structures.problem import StructuredProblem
from .kept_labellings import KeptLabellings

UNKNOWN_ORACLE_WORK = 20.0  # work of an oracle that is not known, in products with one labelling


class ListedLabellings(KeptLabellings):
    """The kept labellings of any model as rows of its library, with their products."""

    chunk = 1  # it is not known how long the oracle takes

    def __init__(self, problem: StructuredProblem, patience: int):
        self.examples, self.c, self.patience = problem.examples, problem.c, patience
        self.w = np.zeros(problem.size)
        self.rows = [[int(row)] for row in self.examples.right]
        self.weights = [np.array([each]) for each in self.c]
        self.idle = [np.zeros(1, np.int64) for _ in self.c]
        self.G = [np.zeros((1, 1)) for _ in self.c]
        self.gaps = np.full(problem.n, np.inf)

    def visit(self, order: np.ndarray, first: int, last: int, asked: bool, negligible_gap: np.ndarray, sums) -> None:
        """Block steps for the samples order[first:last]."""
        for i in order[first:last]:
            if asked or len(self.rows[i]) > 1:
                self.visit_one(int(i), asked, float(negligible_gap[i]), sums)

    def visit_one(self, i: int, asked: bool, negligible_gap: float, sums) -> None:
        """The step of one sample."""
        from ...compiled.chains import step_in_pairs

        examples, w = self.examples, self.w
        heights = np.array([examples.height(row, w) for row in self.rows[i]])
        new, value = examples.oracle(i, freeze(w)) if asked else (-1, float(heights.max()))
        gap = self.c[i] * value - float(self.weights[i] @ heights)
        self.gaps[i] = gap
        sums[0] += max(gap, 0.0)
        sums[2] += len(heights) + (UNKNOWN_ORACLE_WORK if asked else 0.0)
        if gap <= negligible_gap:
            return
        if asked and new not in self.rows[i]:
            self.append(i, new)
            heights = np.append(heights, value)
        before = self.weights[i].copy()
        sums[1] += step_in_pairs(
            self.G[i], heights, self.weights[i], len(before), self.c[i], 0.1 * gap, 20 + 10 * len(before)
        )  # fmt: skip
        for row, change in zip(self.rows[i], self.weights[i] - before, strict=True):
            if change != 0.0:
                indices, values = examples.entries[row]
                w[indices] += change * values
        self.forget(i)

    def append(self, i: int, row: int) -> None:
        """Keep another labelling, without weight so far."""
        m = len(self.rows[i])
        G = np.zeros((m + 1, m + 1))
        G[:m, :m] = self.G[i]
        self.rows[i].append(row)
        G[m] = G[:, m] = [self.examples.product(row, other) for other in self.rows[i]]
        self.G[i] = G
        self.weights[i], self.idle[i] = np.append(self.weights[i], 0.0), np.append(self.idle[i], 0)

    def forget(self, i: int) -> None:
        """Let go of labellings that had no weight for longer than the patience."""
        self.idle[i] = np.where(self.weights[i] > 0.0, 0, self.idle[i] + 1)
        stay = np.flatnonzero(self.idle[i] <= self.patience)
        if len(stay) < len(self.idle[i]):
            self.rows[i] = [self.rows[i][s] for s in stay]
            self.weights[i], self.idle[i] = self.weights[i][stay], self.idle[i][stay]
            self.G[i] = np.ascontiguousarray(self.G[i][np.ix_(stay, stay)])

    @property
    def support(self) -> int:
        """Slots in use."""
        return max(map(len, self.rows))

    @property
    def a(self) -> np.ndarray:
        """The weights, one row per slot."""
        return self.tabulate(self.weights, 0.0)

    def tabulate(self, lists, blank) -> np.ndarray:
        """Lists of different lengths as the columns of one array."""
        table = np.full((max(map(len, lists)), len(lists)), blank)
        for i, each in enumerate(lists):
            table[: len(each), i] = each
        return table

    def sheets(self) -> list[WeightedLabelling]:
        """The labellings that have weight; slots that a sample does not use hold its labels."""
        rows, a = self.tabulate(self.rows, -1), self.a
        rows = np.where(rows < 0, self.examples.right, rows)
        return [WeightedLabelling(self.examples.to_labelling(rows[s]), a[s]) for s in range(len(a)) if a[s].any()]

    def set_labellings(self, sheets) -> None:
        """Stand at these labellings, each kept once, with weights that sum to c_i."""
        totals = [{} for _ in self.c]
        for labelling, weight in sheets:
            for i, row in enumerate(self.examples.from_labelling(labelling)):
                if weight[i] > 0:
                    totals[i][int(row)] = totals[i].get(int(row), 0.0) + float(weight[i])
        for i, total in enumerate(totals):
            total = total or {int(self.examples.right[i]): 1.0}
            self.set_sample_labellings(i, list(total), np.array(list(total.values())), np.zeros(len(total), np.int64))
        self.recompute()

    def set_sample_labellings(self, i: int, rows: list[int], weights: np.ndarray, idle: np.ndarray) -> None:
        """Keep these labellings of sample i."""
        self.rows[i], self.weights[i], self.idle[i] = rows, weights * (self.c[i] / weights.sum()), idle
        self.G[i] = np.zeros((len(rows), len(rows)))
        for s, row in enumerate(rows):  # as `append` forms them, to the last digit
            self.G[i][s, : s + 1] = self.G[i][: s + 1, s] = [self.examples.product(row, each) for each in rows[: s + 1]]

    def recompute(self) -> float:
        """w afresh from the weights; returns sum_i sum_z alpha_i(z) Delta(y_i, z)."""
        total, linear = np.zeros_like(self.w), 0.0
        for rows, weights in zip(self.rows, self.weights, strict=True):
            for row, weight in zip(rows, weights, strict=True):
                indices, values = self.examples.entries[row]
                total[indices] += weight * values
                linear += weight * self.examples.costs[row]
        self.w[:] = total
        return float(linear)

    def pack(self) -> dict:
        """All that is kept."""
        rows = self.tabulate(self.rows, -1)
        sheets = np.where(rows < 0, self.examples.right, rows)
        return {
            **self.examples.store(list(sheets)), "alpha": self.a, "idle": self.tabulate(self.idle, 0),
            "used": np.array(list(map(len, self.rows))), "w": self.w, "gaps": self.gaps,
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        sheets = np.array(self.examples.restore(state))
        for i, m in enumerate(state["used"]):
            self.set_sample_labellings(
                i, [int(row) for row in sheets[:m, i]], state["alpha"][:m, i], state["idle"][:m, i]
            )
            self.weights[i] = state["alpha"][:m, i].copy()
        self.w[:], self.gaps[:] = state["w"], state["gaps"]
