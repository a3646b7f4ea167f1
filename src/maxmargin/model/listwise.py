"""Losses of whole lists of scores: metrics of labels and of orders (Joachims 2005), and the pairs of a ranking.

With n Delta the number of errors that a metric counts, a labelling metric becomes

    R(f) = max over labellings ybar of  n Delta(ybar, y) - sum over i with ybar_i != y_i of y_i f_i,

which is convex, piecewise linear in f, and no less than n Delta of the labels sign(f_i). Metrics of order are

    R(f) = sum over queries of  n_g / |pairs_g| sum over pairs with y_p > y_q of max(0, 1 - (f_p - f_q)).

Such a loss does not split over samples, so there is no conjugate of single duals. Its terms have

    cut(f)           C R(f) and a, minus a subgradient of it: C R(g) >= C R(f) - a.(g - f) for all scores g;
                     whoever asks again at the same scores gets the same answer
    value(f)         the same C R(f), as an array of one number
    response(f)      the same a, as both ends of an interval
    violation(a, f)  how far f is from the scores at which a is a response
    steepness        the largest |a_i| of any answer, one number per sample
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from ..runtime.interpreter import cached_property
from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import bound_sum
from .losses import Loss

TRIAL_STEP_LENGTHS = (1.0, 0.1, 0.01)  # how far scores are moved to see whether others suit the duals better


class ListTerms:
    """C R(f): one value for the whole list. A subclass gives `cut`."""

    joint = True
    shift_invariant = False  # whether R(f + t) = R(f) for every number t

    def cut(self, f: np.ndarray) -> tuple[float, np.ndarray]:
        """C R(f), and a with C R(g) >= C R(f) - a.(g - f) for all g."""
        raise NotImplementedError

    def value(self, f: np.ndarray) -> np.ndarray:
        """C R(f), of shape (1,)."""
        return np.array([self.cut(f)[0]])

    def response(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The duals a of the cut at f, twice: as an interval of one point."""
        a = self.cut(f)[1]
        return a, a

    steepness: np.ndarray  # the largest |a_i| that the loss can answer with: how fast R changes with each score

    def bound_value_error(self, f: np.ndarray, score_error: np.ndarray, value: float) -> float:
        """What `value` = C R(f) may be off by at scores that are off by `score_error`, and by its evaluation.

        A sum of n products, and a labelling that is the worst one but for the rounding of such sums.
        """
        size = abs(value) + float(self.steepness @ np.abs(f))
        return float(self.steepness @ score_error) + 2.0 * bound_sum(len(f) + 16) * size

    def violation(self, a: np.ndarray, f: np.ndarray) -> float:
        """(h(f) - min_g h(g)) / sum_i |a_i| with h(g) = C R(g) + a.g, over a few trial scores g: zero at the optimum.

        Where a is a subgradient with its sign turned, f minimises h. The trials are zero and steps downhill from f.
        That is the Fenchel-Young gap of (a, f) as far as they show it, as a mean distance in units of the score.
        """
        value, vertex = self.cut(f)
        downhill = vertex - a
        length = float(np.abs(downhill).max(initial=0.0))
        trials = [np.zeros_like(f)] + [f + step / length * downhill for step in TRIAL_STEP_LENGTHS if length > 0]
        lowest = np.inf
        for g in trials:
            check_interrupt()
            lowest = min(lowest, self.cut(g)[0] + float(a @ g))
        size = max(float(np.abs(a).sum()), float(np.abs(vertex).sum()), np.finfo(float).tiny)
        return max(value + float(a @ f) - lowest, 0.0) / size


# ---- labels ---------------------------------------------------------------------------------------------------


class _ErrorTerms(ListTerms):
    """sum_i c_i max(0, 1 - y_i f_i): the worst labelling is wrong wherever that pays."""

    def __init__(self, y: np.ndarray, c: np.ndarray):
        self.y, self.c = y, c

    @property
    def steepness(self):
        """c_i."""
        return self.c

    def cut(self, f):
        a = np.where(self.y * f < 1.0, self.c * self.y, 0.0)
        return float(np.abs(a).sum() - a @ f), a


class _FTerms(ListTerms):
    """n (1 - F_beta) of the worst labelling: the h best positives and the m best negatives are labelled +1."""

    def __init__(self, y: np.ndarray, c: np.ndarray, beta: float, name: str):
        self.C, self.square = common_weight(c, name), float(beta) ** 2
        self.positive, self.negative = map(Ranking, split_labels(y, name))
        self.steepness = np.full(len(y), self.C)

    def cut(self, f):
        from ..compiled.labellings import worst_f_labelling

        positive, high = self.positive.sort(f)
        negative, low = self.negative.sort(f)
        h, m, _ = worst_f_labelling(high, low, self.square)
        a = np.zeros(len(f))
        a[positive[h:]], a[negative[:m]] = self.C, -self.C
        loss = 1.0 - (1.0 + self.square) * h / (h + m + self.square * len(high))
        return self.C * len(f) * loss - float(a @ f), a


class _TopTerms(ListTerms):
    """n - sum_{y_i = 1} f_i + (the sum of the k largest of f_i - price [y_i = 1]), times C.

    Among labellings with exactly k samples at +1, n Delta = n - price h for h true positives: each of the k samples
    adds its score, and loses the price if it is positive. A selection finds them, so there is nothing to sort.
    """

    def __init__(self, y: np.ndarray, c: np.ndarray, k: int, true_positive_gain: float, name: str):
        self.C, self.k, self.true_positive_gain, self.positive = common_weight(c, name), k, true_positive_gain, y > 0
        self.shift_invariant = k == np.count_nonzero(self.positive)
        self.steepness = np.full(len(y), self.C)

    def cut(self, f):
        out = len(f) - self.k
        chosen = np.zeros(len(f), bool)
        chosen[np.argpartition(f - self.true_positive_gain * self.positive, min(out, len(f) - 1))[out:]] = True
        a = self.C * (self.positive.astype(float) - chosen)
        loss = len(f) - self.true_positive_gain * np.count_nonzero(chosen & self.positive)
        return self.C * loss - float(a @ f), a


def common_weight(c: np.ndarray, name: str) -> float:
    """C, where all samples have the same."""
    if np.ptp(c) > 1e-12 * np.max(c):
        raise ValueError(
            f"{name!r} counts samples and takes no weights, but c lies between {c.min():g} and {c.max():g}."
        )
    return float(c[0])


def split_labels(y: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the positive and where the negative samples are."""
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y <= 0)
    if len(positive) == 0:
        raise ValueError(f"{name!r} needs a sample of the positive class, but there is none among {len(y)}.")
    return positive, negative


class Ranking:
    """Some of the samples by falling score, equal ones by their index, so that a labelling depends on scores alone.

    An order that still holds, as it does when all scores are shifted, is kept: to look is cheaper than to sort.
    """

    def __init__(self, index: np.ndarray):
        self.index = self.order = index

    def sort(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The samples in their order, and their scores."""
        order, ranked = self.order, f[self.order]
        ties = ranked[:-1] == ranked[1:]
        if not ((ranked[:-1] > ranked[1:]) | (ties & (order[:-1] < order[1:]))).all():
            falling = -f[self.index]
            change = np.argsort(falling)
            if (falling[change][:-1] == falling[change][1:]).any():
                change = np.argsort(falling, kind="stable")  # four times as long, so only where there are ties
            order = self.order = self.index[change]
            ranked = f[order]
        return order, ranked


def count_chosen(k: int | float | None, n: int, n_plus: int) -> int:
    """The number of samples labelled +1: k itself, a share of n, or as many as are positive."""
    if k is None:
        return n_plus
    count = int(k) if isinstance(k, Integral) else max(1, round(k * n)) if 0.0 < k <= 1.0 else 0
    if not 1 <= count <= n:
        raise ValueError(f"k must be between 1 and the number of samples, {n}, or a share of them, got {k!r}.")
    return count


class MetricLoss(Loss):
    """A metric of a whole list of labels and scores."""

    target = "label"
    sees_intercept: ClassVar[bool] = False  # whether the metric depends on where scores are cut
    takes_weights: ClassVar[bool] = False


@dataclass(frozen=True)
class ErrorRate(MetricLoss):
    """Delta = share of wrong labels. R(f) = sum_i max(0, 1 - y_i f_i), the hinge loss, exactly."""

    name = "error"
    sees_intercept = takes_weights = True

    def terms(self, y, c):
        """Weights multiply the errors."""
        return _ErrorTerms(y, c)


@dataclass(frozen=True)
class FBeta(MetricLoss):
    """Delta = 1 - F_beta = 1 - (1 + beta^2) h / (h + m + beta^2 n_plus), h true and m false positives."""

    beta: float = 1.0
    name = "fbeta"
    sees_intercept = True

    def terms(self, y, c):
        """Precision and recall in one number: beta > 1 is for recall."""
        return _FTerms(y, c, self.beta, self.name)


@dataclass(frozen=True)
class F1(MetricLoss):
    """Delta = 1 - F_1 = 1 - 2 h / (h + m + n_plus)."""

    name = "f1"
    sees_intercept = True

    def terms(self, y, c):
        """F_beta at beta = 1."""
        return _FTerms(y, c, 1.0, self.name)


@dataclass(frozen=True)
class PrecisionAtK(MetricLoss):
    """Delta = 1 - h / k over labellings with exactly k samples at +1.

    The labels y themselves are such a labelling only if k = n_plus. Else R(f + t) = R(f) + (k - n_plus) t: R is convex
    still, but it may be negative, it does not bound n Delta, and a free intercept would run away.
    """

    k: int | float | None = None
    name = "precision_at_k"

    def terms(self, y, c):
        """Each true positive among the k is worth n / k."""
        k = count_chosen(self.k, len(y), np.count_nonzero(y > 0))
        return _TopTerms(y, c, k, len(y) / k, self.name)


@dataclass(frozen=True)
class RecallAtK(MetricLoss):
    """Delta = 1 - h / n_plus over labellings with exactly k samples at +1; what `PrecisionAtK` says of k holds here."""

    k: int | float | None = None
    name = "recall_at_k"

    def terms(self, y, c):
        """Each true positive among the k is worth n / n_plus."""
        n_plus = len(split_labels(y, self.name)[0])
        return _TopTerms(y, c, count_chosen(self.k, len(y), n_plus), len(y) / n_plus, self.name)


@dataclass(frozen=True)
class BreakEven(MetricLoss):
    """Delta = 1 - h / n_plus over labellings with exactly n_plus samples at +1: precision and recall are the same."""

    name = "prbep"

    def terms(self, y, c):
        """Both metrics at k = n_plus."""
        return RecallAtK().terms(y, c)


# ---- pairs ----------------------------------------------------------------------------------------------------


class QueryPairs:
    """The pairs (p, q) of samples with y_p > y_q in the same query, never listed one by one."""

    def __init__(self, y: np.ndarray, groups: np.ndarray | None = None):
        groups = np.zeros(len(y), np.int64) if groups is None else groups
        _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        self.group = group.astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.level, self.n_levels = rank_levels(y, self.group, self.starts)
        self.order = np.argsort(self.group, kind="stable")

    def count(self, f: np.ndarray, weight: np.ndarray, margin: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """The weights of the lower samples that each has yet to rise above, and of the higher ones to fall below."""
        from ..compiled.ranking_pairs import count_pairs

        order, ranked = self.sort(np.asarray(f, float))
        up, down = np.empty(len(f)), np.empty(len(f))
        up[order], down[order] = count_pairs(
            ranked, float(margin), self.starts, self.level[order], self.n_levels, weight[order]
        )
        return up, down

    def sort(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The samples query by query, by rising score in each, and their scores; an order that still holds stays."""
        from ..compiled.ranking_pairs import sort_by_group

        ranked = f[self.order]
        falls = ranked[1:] < ranked[:-1]
        falls[self.starts[1:-1] - 1] = False
        if falls.any():
            self.order = sort_by_group(np.argsort(f), self.group, self.starts)
            ranked = f[self.order]
        return self.order, ranked

    def sum(self, values: np.ndarray) -> np.ndarray:
        """The sums of the queries."""
        return np.bincount(self.group, values)


def rank_levels(y: np.ndarray, group: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The levels of y numbered from 0 in each group, and how many there are."""
    order = np.lexsort((y, group))
    new = np.ones(len(y), bool)
    new[1:] = y[order][1:] != y[order][:-1]
    new[starts[:-1]] = True
    rank = np.cumsum(new) - 1
    first = rank[starts[:-1]]
    level = np.empty(len(y), np.int64)
    level[order] = rank - np.repeat(first, np.diff(starts))
    return level, np.diff(np.append(first, rank[-1] + 1))


class _PairTerms(ListTerms):
    """sum_g c(g) sum_pairs c_p c_q max(0, 1 - (f_p - f_q)) / sum_pairs c_p c_q, c(g) the sum of c over the query.

    With c = C this is C n_g / |pairs_g| times the sum over pairs; a weight of 2 is the row twice.
    """

    shift_invariant = True

    def __init__(self, y: np.ndarray, c: np.ndarray, groups: np.ndarray | None = None):
        self.pairs, self.weight = QueryPairs(y, groups), c / np.max(c)
        total = self.pairs.sum(self.weight * self.pairs.count(np.zeros(len(y)), self.weight)[0])
        if not total.any():
            raise ValueError(
                f"y has no two different values in one query, so there are no pairs to order among {len(y)} "
                f"sample{'s' if len(y) != 1 else ''}."
            )
        share = np.divide(self.pairs.sum(c), total, out=np.zeros_like(total), where=total > 0)
        self.scale = share[self.pairs.group] * self.weight

    @cached_property
    def steepness(self):
        """The weights of all that a sample is paired with on one side, scaled."""
        up, down = self.pairs.count(np.zeros(len(self.weight)), self.weight)
        return self.scale * np.maximum(up, down)

    def cut(self, f):
        up, down = self.pairs.count(f, self.weight)
        a = self.scale * (up - down)
        return float(self.scale @ up - a @ f), a


@dataclass(frozen=True)
class RocAuc(MetricLoss):
    """n / (n_plus n_minus) sum over pairs (p positive, q negative) of max(0, 1 - (f_p - f_q)) >= n (1 - AUC)."""

    name = "roc_auc"
    takes_weights = True

    def terms(self, y, c):
        """A ranking of two levels in one query."""
        return _PairTerms(y, c)


@dataclass(frozen=True, eq=False)
class PairwiseLoss(Loss):
    """sum_g n_g / |pairs_g| sum over pairs with y_p > y_q in query g of max(0, 1 - (f_p - f_q)).

    `groups` names the query of each sample, in any order; None is one query for all. Queries without pairs count
    nothing.
    """

    groups: np.ndarray | None = None
    name = "pairwise"
    target = "level"

    def terms(self, y, c):
        """Any number of levels."""
        return _PairTerms(y, c, self.groups)


def measure_concordance(f: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> float:
    """mean over queries of the share of pairs with y_p > y_q that have f_p > f_q, ties counting half.

    Queries without pairs are left out; nan if none has any.
    """
    pairs, one = QueryPairs(y, groups), np.ones(len(y))
    total = pairs.sum(pairs.count(np.zeros(len(y)), one)[0])
    wrong, right = (pairs.sum(pairs.count(sign * f, one, margin=0.0)[0]) for sign in (1.0, -1.0))
    paired = total > 0
    return float(np.mean(0.5 + 0.5 * (right - wrong)[paired] / total[paired])) if paired.any() else float("nan")


METRICS: dict[str, type[MetricLoss]] = {
    metric.name: metric for metric in (F1, FBeta, RocAuc, PrecisionAtK, RecallAtK, BreakEven, ErrorRate)
}
