"""The problems of all pairs of classes over the same samples: posed, judged and kept together.

A machine for 26 classes has 325 small problems. One at a time, each costs a millisecond of Python whatever its size.
Here they lie one after the other in flat arrays, so that some dozens are solved in one compiled call
(`solvers.smo.together`) and all are certified in one pass: from the problems and the points alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..model.features import Gram
from ..model.losses import Loss, PiecewiseConjugate
from ..model.problem import FLOOR
from ..model.tiles import open_tile
from ..runtime.interpreter import cached_property
from ..runtime.rounding import AT_BOUND, BALANCE_TOLERANCE, UNIT, Enclosed, Remainder, bound_sum
from ..runtime.threads import run_strips
from .bounds import combine_bounds
from .certificate import Certificate
from .term_sums import RowSums

EXACT = Enclosed(0.0, 0.0)
STRIP_ROWS = 20_000  # of all problems that a core judges at a time: a fraction of a millisecond


@dataclass(frozen=True)
class ClassPairs:
    """min 1/2 |w|^2 + sum_i c_i l(<w, phi(x_i)> + b; y_i) for each pair of classes, b free.

    Parameters
    ----------
    features : Gram
        Over all samples, class by class.
    starts : ndarray
        Where each class begins among them.
    pairs : ndarray of shape (number of pairs, 2)
        The classes of each.
    y, c : ndarray
        Signs and weights of all problems, one after the other.
    loss : Loss
        A piecewise one.
    """

    features: Gram
    starts: np.ndarray
    pairs: np.ndarray
    y: np.ndarray
    c: np.ndarray
    loss: Loss

    @cached_property
    def classes(self) -> np.ndarray:
        """Where each class begins, and the end of the last one."""
        return np.append(self.starts, self.features.n)

    @cached_property
    def ends(self) -> np.ndarray:
        """Where each problem begins in the flat arrays, and the end of the last one."""
        return np.concatenate([[0], np.cumsum(np.diff(self.classes)[self.pairs].sum(axis=1))])

    @cached_property
    def row(self) -> PiecewiseConjugate:
        """The five numbers of every dual."""
        return PiecewiseConjugate(*(np.ascontiguousarray(part) for part in self.loss.row(self.y, self.c)))

    def cut(self, k: int) -> slice:
        """The places of a problem in the flat arrays."""
        return slice(self.ends[k], self.ends[k + 1])

    def sum_by_problem(self, values: np.ndarray) -> np.ndarray:
        """The sum of the values of each problem."""
        return np.add.reduceat(values, self.ends[:-1])

    @cached_property
    def samples(self) -> list:
        """The samples of each class."""
        return [self.features.samples.take(slice(*ends)) for ends in pairwise(self.classes)]

    @cached_property
    def halves(self) -> list[tuple[slice, slice]]:
        """The places of the first and of the second class of each problem."""
        middles = self.ends[:-1] + np.diff(self.classes)[self.pairs[:, 0]]
        cuts = zip(self.ends.tolist(), middles.tolist(), self.ends[1:].tolist(), strict=False)
        return [(slice(start, middle), slice(middle, stop)) for start, middle, stop in cuts]

    # ---- the judge ----------------------------------------------------------------------------------------

    def scores(self, a: np.ndarray) -> np.ndarray:
        """<w, phi(x_i)> of each problem at its samples."""
        if self.features.by_weights:
            return self.project(a)
        f = np.zeros(len(a))
        partner_problems: list[list[int]] = [[] for _ in self.samples]
        for k, (i, _) in enumerate(self.pairs.tolist()):
            partner_problems[i].append(k)
        self.multiply_within(a, f)
        run_strips(lambda i, _: self.multiply_across(a, f, i, partner_problems[i]), len(partner_problems), 1)
        return f

    def multiply_within(self, a: np.ndarray, f: np.ndarray) -> None:
        """What the duals of a class add to its own scores: one block of the kernel matrix for all its pairs."""
        places: list[list[slice]] = [[] for _ in self.samples]
        for pair, halves in zip(self.pairs.tolist(), self.halves, strict=True):
            for k, half in zip(pair, halves, strict=True):
                places[k].append(half)
        for samples, own in zip(self.samples, places, strict=True):
            if own:
                added = self.features.kernel.evaluate(samples, samples) @ np.column_stack([a[place] for place in own])
                for place, part in zip(own, added.T, strict=True):
                    f[place] += part

    def multiply_across(self, a: np.ndarray, f: np.ndarray, i: int, partner_problems: list[int]) -> None:
        """What the duals of class i and of those it is paired with add to the scores of each other."""
        others = [int(self.pairs[k, 1]) for k in partner_problems]
        start = self.classes[min(others, default=i)]
        rest = self.features.samples.take(slice(start, self.classes[max(others, default=i - 1) + 1]))
        K = self.features.kernel.write(self.samples[i], rest, open_tile(self.samples[i].n, rest.n, np.dtype(float)))
        for k, j in zip(partner_problems, others, strict=True):
            block, (first, second) = K[:, self.classes[j] - start : self.classes[j + 1] - start], self.halves[k]
            f[first] += block @ a[second]
            f[second] += a[first] @ block

    def project(self, a: np.ndarray) -> np.ndarray:
        """X w, with w = X'a itself."""
        f = np.empty(len(a))
        for (i, j), (first, second) in zip(self.pairs.tolist(), self.halves, strict=True):
            one, other = self.samples[i].values, self.samples[j].values
            w = a[first] @ one + a[second] @ other
            f[first], f[second] = one @ w, other @ w
        return f

    def judge(self, a: np.ndarray, b: np.ndarray) -> list[Certificate | None]:
        """The certificate of each problem; None where the duals are not feasible as they are.

        P and D as in `judge_in_memory`, summed by the same compiled pass over rows.
        """
        from ..compiled.class_pairs import enclose_pairs

        f, sizes = self.scores(a), np.abs(a)
        totals, margins = self.sum_by_problem(sizes), AT_BOUND * np.maximum.reduceat(sizes, self.ends[:-1])
        drift, sums = self.measure_drift(a, totals), np.empty((len(b), 18))
        errors = self.bound_errors(totals, drift, np.abs(b))

        def enclose(i: int, j: int) -> None:
            enclose_pairs(self.ends[i : j + 1], f, errors[i:j], b[i:j], a, *self.row, margins[i:j], sums[i:j])

        run_strips(enclose, len(b), max(1, -(-len(b) * STRIP_ROWS // len(a))))
        squares, rounded = (
            self.sum_by_problem(a * f),
            bound_sum(self.largest + 8) * self.sum_by_problem(sizes * np.abs(f)),
        )
        halves = Enclosed(0.5 * squares, 0.5 * (totals * errors + rounded) + drift * (totals * self.reach + drift))
        found = RowSums(*sums.T[:16])
        imbalance_sizes = np.maximum(totals, 2e-6 * self.sum_by_problem(self.c))
        sound = (found.inside > 0) & (np.abs(self.sum_by_problem(a)) <= BALANCE_TOLERANCE * imbalance_sizes)
        balanced_sums = found.add_balancing_cost(sums[:, 16], sums[:, 17], np.abs(b))
        distance = balanced_sums.moved * self.reach + drift
        remainder = Remainder(0.5 * distance**2 * (1.0 + 8.0 * UNIT), 0.0, distance)
        columns = combine_bounds(
            halves, EXACT, balanced_sums, remainder, self.features.bound_penalty_conjugate(halves.high, remainder)
        )
        certificates = zip(*(column.tolist() for column in (*columns, balanced_sums.kkt, sound)), strict=True)
        return [
            Certificate(primal, dual, kkt, True, FLOOR, rounding, bound, f[self.cut(k)]) if fine else None
            for k, (primal, dual, rounding, bound, kkt, fine) in enumerate(certificates)
        ]

    @cached_property
    def largest(self) -> int:
        """The samples of the largest problem."""
        return int(np.diff(self.ends).max(initial=0))

    @cached_property
    def reach(self) -> float:
        """The largest |phi(x)| of any sample."""
        return self.features.largest_size

    def measure_drift(self, a: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """`Gram.measure_drift` of each problem."""
        away = self.features.samples.displacement if self.features.by_weights else 0.0
        return (
            away * (np.abs(self.sum_by_problem(a)) + bound_sum(self.largest + 8) * totals)
            if away
            else np.zeros(len(totals))
        )

    def bound_errors(self, totals: np.ndarray, drift: np.ndarray, b: np.ndarray) -> np.ndarray:
        """What rounding may do to any score of each problem, whose duals add up to `totals` in size.

        Every kernel value has the error of the one with the largest samples, and every sum that of the longest.
        """
        features, samples, square = self.features, self.features.samples, self.reach**2
        if features.by_weights:
            away = samples.displacement
            each = (bound_sum(samples.d + 8) + bound_sum(self.largest + 8)) * square
            rounded = 2.0 * UNIT * (totals * self.reach + drift) * (self.reach + 2.0 * away)
            return each * totals + rounded + drift * self.reach + (2.0 * UNIT * b if away else 0.0)
        return (self.value_error + bound_sum(self.largest + 8) * square) * totals

    @cached_property
    def value_error(self) -> float:
        """What any kernel value may be off by, whichever formula its block is evaluated with.

        A block of far samples is evaluated from differences, one of near samples from products, whose errors grow with
        the samples: the largest is at most twice the one beside the sample with the largest norm.
        """
        samples = self.features.samples
        top = samples.take(np.array([int(np.argmax(samples.norms))]))
        return 2.0 * float(self.features.kernel.bound_value_errors(samples, top, np.ones(1)).max())
