"""Many small problems over the same samples: posed, judged and kept together.

A machine for 26 classes has 325 small problems, and a grid search fits hundreds of machines of a hundred samples. One
at a time, each problem costs a millisecond of Python whatever its size. Here they lie one after the other in flat
arrays, so that they are solved in one compiled call (`solvers.smo.together`) and certified in another one: from the
problems and the points alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from types import ModuleType
from typing import overload

import numpy as np

from ..model.features import Gram
from ..model.formulations import JointRows
from ..model.problem import FLOOR, SCALE_FREE_FLOOR
from ..model.samples import make_writable
from ..runtime.interpreter import cached_property, release_interpreter
from ..runtime.rounding import UNIT, bound_sum
from ..runtime.threads import run_strips
from .certificate import Certificate
from .definiteness import examine_matrix, find_heaviest

# sum of n^2 over the problems below which threads take longer to wake up than to help: half a millisecond of work
THREADS_MIN_KERNEL_VALUES = 300_000
STRIP_KERNEL_VALUES = 500_000  # sum of n^2 over the problems that a core takes at a time: a millisecond of work
PACKED_WIDTH = 8  # float64 numbers of a packed block: 64 bytes


@cache
def load_loops() -> ModuleType:
    """The compiled loops of small problems; an import statement in every call would take longer than the call."""
    from ..compiled import small_problems

    return small_problems


class JointCertificates(Sequence[Certificate | None]):
    """The certificates of many problems as columns of numbers; one is made when it is asked for.

    Attributes
    ----------
    numbers : ndarray of shape (number of problems, 9)
        P, D, rounding, P - D from above, violation, whether the duals are feasible, the floor, the relative gap, and
        |w|^2.
    scores : ndarray
        <w, phi(x_i)> of all problems, one after the other.
    ends : list of int
        Where each problem begins among the scores, and the end of the last one.
    convexities : list of (bool or None), optional
        `Certificate.convex` of each problem; by default the kernel is known to be positive semidefinite.
    """

    convexities: list[bool | None] | None = None  # also of those that were pickled before there were others

    def __init__(
        self, numbers: np.ndarray, scores: np.ndarray, ends: list[int], convexities: list[bool | None] | None = None
    ):
        self.numbers, self.scores, self.ends = numbers, scores, ends
        if convexities is not None:
            self.convexities = convexities

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, k: int) -> Certificate | None: ...
    @overload
    def __getitem__(self, k: slice) -> list[Certificate | None]: ...
    def __getitem__(self, k):
        """The certificate of a problem; None where its duals are not feasible as they are."""
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        primal, dual, rounding, bound, kkt, sound, floor, _, _ = self.numbers[k].tolist()
        k = range(len(self))[k]
        scores = self.scores[self.ends[k] : self.ends[k + 1]]
        convex = True if self.convexities is None else self.convexities[k]
        return Certificate(primal, dual, kkt, convex, floor, rounding, bound, scores) if sound else None

    @property
    def sound(self) -> np.ndarray:
        """Which problems have a certificate."""
        return self.numbers[:, 5] > 0.0

    @property
    def relative_gaps(self) -> np.ndarray:
        """`Certificate.relative_gap` of each problem; infinite where the duals are not feasible."""
        return self.numbers[:, 7]

    @property
    def squares(self) -> np.ndarray:
        """|w|^2 of each problem."""
        return self.numbers[:, 8]


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
    end_places : list of int
        Where each problem begins in these flat arrays, and the end of the last one.
    """

    features: Gram
    segments: np.ndarray
    pairs: np.ndarray
    rows: JointRows
    end_places: list[int]

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def layers(self) -> int:
        """The free intercepts of each problem."""
        return self.rows.balance.shape[1]

    @property
    def places(self) -> int:
        """The samples of all problems together."""
        return self.end_places[-1]

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Beginning and end of each segment among the samples."""
        return list(pairwise(self.segments.tolist()))

    @cached_property
    def sizes(self) -> list[int]:
        """The samples of each problem."""
        return [stop - start for start, stop in pairwise(self.end_places)]

    @cached_property
    def ends(self) -> np.ndarray:
        """`end_places` as an array."""
        return np.array(self.end_places)

    def cut(self, k: int) -> slice:
        """The places of a problem in the flat arrays."""
        return slice(self.end_places[k], self.end_places[k + 1])

    @cached_property
    def largest(self) -> int:
        """The samples of the largest problem."""
        return max(self.sizes)

    @cached_property
    def floors(self) -> np.ndarray:
        """`Problem.floor` of each problem."""
        if not self.rows.has_balance or self.rows.row.p.any():
            floors = np.empty(len(self))
            floors.fill(FLOOR)
            return floors
        sums = [float(self.features.diagonal[start:stop].sum()) for start, stop in self.spans]
        squares = [(sums[i] + sums[j]) / size for (i, j), size in zip(self.pairs.tolist(), self.sizes, strict=True)]
        sizes = np.abs(self.rows.balance).sum(axis=1)
        return np.maximum(SCALE_FREE_FLOOR * sizes**2 * squares, FLOOR)

    @cached_property
    def layout(self) -> tuple:
        """Pairs, segments and their blocks, the kernel, and the samples packed for `compiled.single_rows`."""
        X = make_writable(np.ascontiguousarray(self.features.samples.values, np.float64))
        blocks = np.array([0, *accumulate([-(-(stop - start) // PACKED_WIDTH) for start, stop in self.spans])])
        packed, norms = np.zeros((int(blocks[-1]), X.shape[1], PACKED_WIDTH)), np.empty(len(X))
        load_loops().pack_segments(X, self.segments, blocks, packed, norms)
        return self.pairs, self.segments, blocks, self.features.formula, packed, norms

    def run(self, work: Callable[[int, int], None], workers: int | None = None) -> None:
        """work(start, stop) for all problems, on all cores where that pays; in place if there is one worker."""
        values, count = float(self.largest) ** 2, len(self.pairs)
        if workers == 1 or count == 1 or values * count < THREADS_MIN_KERNEL_VALUES:
            with release_interpreter():
                work(0, count)
        else:
            run_strips(work, count, max(1, int(STRIP_KERNEL_VALUES // values)))

    # ---- the judge ----------------------------------------------------------------------------------------

    def judge(self, a: np.ndarray, b: np.ndarray) -> JointCertificates:
        """The certificate of each problem; none where the duals are not feasible as they are.

        P and D as in `judge_in_memory`, summed by the same compiled pass over rows. `a` has one row for each layer and
        `b` one row for each problem; both may be flat where there is one layer.
        """
        loops = load_loops()
        f, layers = np.empty(self.places), self.layers
        a, b = a.reshape(layers, -1), b.reshape(-1, layers)
        numbers = np.empty((len(self), loops.CERTIFICATE_NUMBERS))
        arguments, judge_problems = self.list_judge_arguments(f, a, b, numbers), loops.judge_problems
        self.run(lambda start, stop: judge_problems(start, stop, *arguments))
        return JointCertificates(numbers, f, self.end_places, self.examine_kernels(a))

    def examine_kernels(self, a: np.ndarray) -> list[bool | None] | None:
        """`examine_kernel` for the samples of each problem; None where the kernel is positive semidefinite anyway."""
        features, spans = self.features, self.spans
        if features.kernel.psd:
            return None
        K = features.evaluate(np.arange(features.n), None) if features.small and len(self) > 1 else None
        found = []
        for k, (i, j) in enumerate(self.pairs.tolist()):
            index = np.r_[slice(*spans[i]), slice(*spans[j])]
            index = index[find_heaviest(a[:, self.cut(k)].sum(axis=0))]
            found.append(examine_matrix(features.evaluate(index, index) if K is None else K[np.ix_(index, index)]))
        return found

    def list_judge_arguments(self, f: np.ndarray, a: np.ndarray, b: np.ndarray, numbers: np.ndarray) -> tuple:
        """What `judge_problems` takes beside the numbers of the problems."""
        rows, linear = self.rows, True if self.features.by_weights else None
        return (
            *self.layout, self.ends, f, a, *rows.row, rows.balance, b, self.error_rates, rows.least_sizes, self.floors,
            numbers, linear,
        )  # fmt: skip

    def expect_judge(self) -> None:
        """Say that the judge will be called, so that it may be compiled meanwhile."""
        from ..compiled.second_process import expect, is_uncalled

        judge_problems = load_loops().judge_problems
        if is_uncalled(judge_problems):
            table = np.empty((1, 1))
            arguments = self.list_judge_arguments(table[0], table, table, table)
            expect(judge_problems, lambda: (0, 1, *arguments))

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
