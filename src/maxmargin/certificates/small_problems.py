"""Many small problems over the same samples: posed, judged and kept together.

A machine for 26 classes has 325 small problems, and a grid search fits hundreds of machines of a hundred samples. One
at a time, each problem costs a millisecond of Python whatever its size. Here they lie one after the other in flat
arrays, so that they are solved in one compiled call (`solvers.smo.together`) and certified in another one: from the
problems and the points alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from ..model.features import Gram
from ..model.formulations import JointRows
from ..model.problem import FLOOR, SCALE_FREE_FLOOR
from ..model.samples import make_writable
from ..runtime.interpreter import cached_property, release_interpreter
from ..runtime.rounding import BALANCE_ROUNDINGS, BALANCE_TOLERANCE, UNIT, Enclosed, Remainder, bound_sum
from ..runtime.threads import run_strips
from .bounds import combine_bounds
from .certificate import Certificate
from .term_sums import RowSums, larger

EXACT = Enclosed(0.0, 0.0)
# sum of n^2 over the problems below which threads take longer to wake up than to help: half a millisecond of work
THREADS_MIN_KERNEL_VALUES = 300_000
STRIP_KERNEL_VALUES = 500_000  # sum of n^2 over the problems that a core takes at a time: a millisecond of work
FEW_PROBLEMS = 6  # up to which arithmetic with numbers takes no longer than with arrays
PACKED_WIDTH = 8  # float64 numbers of a packed block: 64 bytes


@dataclass(frozen=True)
class SmallProblems:
    """min 1/2 |w|^2 + sum_i c_i l(<w, phi(x_i)> + b; y_i) + balance b for each of many problems, b free.

    Parameters
    ----------
    features : Gram
        Over all samples, segment by segment.
    segments : ndarray
        Where each segment begins among them, and the end of the last one.
    pairs : ndarray of shape (number of problems, 2)
        The segments of each problem; the second one may be empty.
    rows : JointRows
        Duals, balances and sizes of all problems, one after the other.
    """

    features: Gram
    segments: np.ndarray
    pairs: np.ndarray
    rows: JointRows

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def layers(self) -> int:
        """The free intercepts of each problem."""
        return self.rows.balance.shape[1]

    @property
    def places(self) -> int:
        """The samples of all problems together."""
        return int(self.ends[-1])

    @cached_property
    def has_balance(self) -> bool:
        """Whether the duals of any problem sum to a number other than zero."""
        return bool(self.rows.balance.any())

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Beginning and end of each segment among the samples."""
        return list(pairwise(self.segments.tolist()))

    @cached_property
    def sizes(self) -> list[int]:
        """The samples of each problem."""
        lengths = [stop - start for start, stop in self.spans]
        return [lengths[i] + lengths[j] for i, j in self.pairs.tolist()]

    @cached_property
    def ends(self) -> np.ndarray:
        """Where each problem begins in the flat arrays, and the end of the last one."""
        return np.array([0, *accumulate(self.sizes)])

    def cut(self, k: int) -> slice:
        """The places of a problem in the flat arrays."""
        return self.cuts[k]

    @cached_property
    def cuts(self) -> list[slice]:
        """The places of every problem in the flat arrays."""
        return [slice(start, stop) for start, stop in pairwise(self.ends.tolist())]

    @cached_property
    def largest(self) -> int:
        """The samples of the largest problem."""
        return max(self.sizes)

    @cached_property
    def floors(self) -> np.ndarray:
        """`Problem.floor` of each problem."""
        if not self.has_balance or self.rows.row.p.any():
            return np.full(len(self), FLOOR)
        sums = [float(self.features.diagonal[start:stop].sum()) for start, stop in self.spans]
        squares = [(sums[i] + sums[j]) / size for (i, j), size in zip(self.pairs.tolist(), self.sizes, strict=True)]
        sizes = np.abs(self.rows.balance).sum(axis=1)
        return np.maximum(SCALE_FREE_FLOOR * sizes**2 * squares, FLOOR)

    @cached_property
    def layout(self) -> tuple:
        """Pairs, segments and their blocks, the kernel, and the samples packed for `compiled.single_rows`."""
        from ..compiled.small_problems import pack_segments

        X = make_writable(np.ascontiguousarray(self.features.samples.values, np.float64))
        blocks = np.array([0, *accumulate(-(-(stop - start) // PACKED_WIDTH) for start, stop in self.spans)])
        packed, norms = np.zeros((int(blocks[-1]), X.shape[1], PACKED_WIDTH)), np.empty(len(X))
        pack_segments(X, self.segments, blocks, packed, norms)
        return self.pairs, self.segments, blocks, self.features.formula, packed, norms

    def run(self, work: Callable[[int, int], None], workers: int | None = None) -> None:
        """work(start, stop) for all problems, on all cores where that pays; in place if there is one worker."""
        values = float(self.largest) ** 2
        if workers == 1 or len(self) == 1 or values * len(self) < THREADS_MIN_KERNEL_VALUES:
            with release_interpreter():
                work(0, len(self))
        else:
            run_strips(work, len(self), max(1, int(STRIP_KERNEL_VALUES // values)))

    # ---- the judge ----------------------------------------------------------------------------------------

    def judge(self, a: np.ndarray, b: np.ndarray) -> list[Certificate | None]:
        """The certificate of each problem; None where the duals are not feasible as they are.

        P and D as in `judge_in_memory`, summed by the same compiled pass over rows. `a` has one row for each layer and
        `b` one row for each problem; both may be flat where there is one layer.
        """
        from ..compiled.small_problems import PROBLEM_SUMS, judge_problems

        f, layers = np.empty(self.places), self.layers
        a, b = a.reshape(layers, -1), b.reshape(-1, layers)
        sums = np.empty((len(self), layers * self.sums_per_layer + PROBLEM_SUMS))
        arguments = self.list_judge_arguments(f, a, b, sums)
        self.run(lambda start, stop: judge_problems(start, stop, *arguments))
        return [
            Certificate(primal, dual, kkt, True, floor, rounding, bound, f[self.cut(k)]) if sound else None
            for k, (primal, dual, rounding, bound, kkt, sound, floor) in enumerate(self.combine(sums, b))
        ]

    def list_judge_arguments(self, f: np.ndarray, a: np.ndarray, b: np.ndarray, sums: np.ndarray) -> tuple:
        """What `judge_problems` takes beside the numbers of the problems."""
        rows, layout, linear = self.rows, self.layout, True if self.features.by_weights else None
        return *layout, self.ends, f, a, *rows.row, rows.balance, b, self.error_rates, sums, linear

    def expect_judge(self) -> None:
        """Say that the judge will be called, so that it may be compiled meanwhile."""
        from ..compiled.second_process import expect
        from ..compiled.small_problems import judge_problems

        if not getattr(judge_problems, "overloads", True):  # the first time, and not where nothing is compiled
            table = np.empty((1, 1))
            arguments = self.list_judge_arguments(table[0], table, table, table)
            expect(judge_problems, lambda: (0, 1, *arguments))

    def combine(self, sums: np.ndarray, b: np.ndarray) -> list[tuple]:
        """P, D, rounding, P - D from above, violation, whether the duals are feasible, and the floor of each problem.

        A few problems are taken one at a time and many as arrays: the same formulas take numbers and arrays.
        """
        rows = (sums, b, self.rows.balance, self.rows.least_sizes, self.floors)
        if len(self) <= FEW_PROBLEMS:
            return list(map(self.combine_columns, *(part.tolist() for part in rows)))
        columns = self.combine_columns(*(part.T for part in rows))
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def combine_columns(self, columns, intercepts, balances, least, floor) -> tuple:
        """The same from the columns of the sums, which are numbers or arrays."""
        own = self.layers * self.sums_per_layer
        total, square, absolute, drift, error, size, length = columns[own:]
        halves = Enclosed(
            0.5 * square,
            0.5 * (total * error + bound_sum(self.largest + 8) * absolute) + drift * (length + drift),
        )
        found, offset, sound = None, EXACT, True
        for layer, (intercept, balance) in enumerate(zip(intercepts, balances, strict=True)):
            *part, moved, cost = columns[layer * self.sums_per_layer : (layer + 1) * self.sums_per_layer]
            of_layer = RowSums(*part)
            allowed = BALANCE_TOLERANCE * larger(size, least)
            sound = sound & (of_layer.inside > 0) & (abs(of_layer.total - balance) <= allowed)
            layer_sums = of_layer.add_balancing_cost(moved, cost, abs(intercept))
            found = layer_sums if found is None else found + layer_sums
            if self.has_balance:
                term = balance * intercept
                offset = Enclosed(
                    offset.value + term, offset.error + bound_sum(self.layers + BALANCE_ROUNDINGS) * abs(term)
                )
        distance = found.moved * self.reach + drift
        remainder = Remainder(0.5 * (distance * distance) * (1.0 + 8.0 * UNIT), 0.0, distance)
        conjugate = self.features.bound_penalty_conjugate(halves.high, remainder)
        bounds = combine_bounds(halves, offset, found, remainder, conjugate)
        return *bounds, found.kkt, sound, floor

    @cached_property
    def sums_per_layer(self) -> int:
        """What the compiled pass finds of a layer: its `RowSums`, and what balancing its duals moves and costs."""
        from ..compiled.small_problems import LAYER_SUMS

        return LAYER_SUMS

    @cached_property
    def reach(self) -> float:
        """The largest |phi(x)| of any sample."""
        return self.features.largest_size

    @cached_property
    def error_rates(self) -> tuple[float, float, float, float, float, float]:
        """What rounding may do to any score: so much for each unit of the duals, of |w| and of |b|.

        Then the largest |phi(x)|, which multiplies the drift; the drift for each unit of the imbalance, as in
        `Gram.measure_drift`; and what bounds the rounding of a sum. The imbalance is summed as if in twice the
        precision (Ogita, Rump and Oishi, 2005, proposition 4.5). Every kernel value has the error of the one with the
        largest samples, and every sum that of the longest. What multiplies |w| and |b| is the rounding of the machine
        that users see (`Gram.bound_public_errors`).
        """
        features, samples, square = self.features, self.features.samples, self.reach**2
        summed = bound_sum(self.largest + 8)
        if not features.by_weights:
            return features.kernel.bound_value_error(samples) + summed * square, 0.0, 0.0, self.reach, 0.0, summed
        away = float(samples.displacement)
        per_dual, per_length = (bound_sum(samples.d + 8) + summed) * square, 2.0 * UNIT * (self.reach + 2.0 * away)
        return per_dual, per_length, 2.0 * UNIT if away else 0.0, self.reach, away, summed
