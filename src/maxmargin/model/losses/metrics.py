"""Losses that bound a metric of a whole list of labels (Joachims 2005).

With n Delta the number of errors that a metric counts, the loss is

    R(f) = max over labellings ybar of  n Delta(ybar, y) - sum over i with ybar_i != y_i of y_i f_i,

which is convex, piecewise linear in f, and no less than n Delta of the labels sign(f_i). The area under the ROC curve
is a metric of the order of scores, and its loss is that of a ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from ...contracts.losses import JointTerms, Loss
from .rankings import PairTerms


class ErrorTerms(JointTerms):
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


class FTerms(JointTerms):
    """n (1 - F_beta) of the worst labelling: the h best positives and the m best negatives are labelled +1."""

    def __init__(self, y: np.ndarray, c: np.ndarray, beta: float, name: str):
        self.C, self.square = common_weight(c, name), float(beta) ** 2
        self.positive, self.negative = map(Ranking, split_labels(y, name))
        self.steepness = np.full(len(y), self.C)

    def cut(self, f):
        from ...compiled.labellings import worst_f_labelling

        positive, high = self.positive.sort(f)
        negative, low = self.negative.sort(f)
        h, m, _ = worst_f_labelling(high, low, self.square)
        a = np.zeros(len(f))
        a[positive[h:]], a[negative[:m]] = self.C, -self.C
        loss = 1.0 - (1.0 + self.square) * h / (h + m + self.square * len(high))
        return self.C * len(f) * loss - float(a @ f), a


class TopTerms(JointTerms):
    """n - sum_{y_i = 1} f_i + (the sum of the k largest of f_i - gain [y_i = 1]), times C.

    Among labellings with exactly k samples at +1, n Delta = n - gain h for h true positives, where gain is
    `true_positive_gain`: each of the k samples adds its score, less the gain if it is positive. A selection finds them,
    so there is nothing to sort.
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
    """Delta = share of wrong labels. R(f) = sum_i max(0, 1 - y_i f_i), the hinge loss, exactly.

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    Hinge : The same number, sample by sample.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import ErrorRate
    >>> ErrorRate().value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([5.5])
    """

    name = "error"
    sees_intercept = takes_weights = True

    def terms(self, y, c):
        """Weights multiply the errors."""
        return ErrorTerms(y, c)


@dataclass(frozen=True)
class FBeta(MetricLoss):
    """Delta = 1 - F_beta = 1 - (1 + beta^2) h / (h + m + beta^2 n_plus), h true and m false positives.

    Parameters
    ----------
    beta : float, default=1
        How many times as much recall counts as precision.

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    F1 : With beta = 1.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import FBeta
    >>> FBeta(beta=2.0).value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([6.5])
    """

    beta: float = 1.0
    name = "fbeta"
    sees_intercept = True

    def terms(self, y, c):
        """Precision and recall in one number: beta > 1 is for recall."""
        return FTerms(y, c, self.beta, self.name)


@dataclass(frozen=True)
class F1(MetricLoss):
    """Delta = 1 - F_1 = 1 - 2 h / (h + m + n_plus).

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    FBeta : With recall weighing more, or less.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import F1
    >>> F1().value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([6.5])
    """

    name = "f1"
    sees_intercept = True

    def terms(self, y, c):
        """F_beta at beta = 1."""
        return FTerms(y, c, 1.0, self.name)


@dataclass(frozen=True)
class PrecisionAtK(MetricLoss):
    """Delta = 1 - h / k over labellings with exactly k samples at +1.

    The labels y themselves are such a labelling only if k = n_plus. Else R(f + t) = R(f) + (k - n_plus) t: R is convex
    still, but it may be negative, it does not bound n Delta, and a free intercept would run away.

    Parameters
    ----------
    k : int, float or None, default=None
        How many samples are found; a float is a share of all, None the number of positives.

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    RecallAtK : The share of the positives among them.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import PrecisionAtK
    >>> PrecisionAtK().value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([5.])
    """

    k: int | float | None = None
    name = "precision_at_k"

    def terms(self, y, c):
        """Each true positive among the k is worth n / k."""
        k = count_chosen(self.k, len(y), np.count_nonzero(y > 0))
        return TopTerms(y, c, k, len(y) / k, self.name)


@dataclass(frozen=True)
class RecallAtK(MetricLoss):
    """Delta = 1 - h / n_plus over labellings with exactly k samples at +1; what `PrecisionAtK` says of k holds here.

    Parameters
    ----------
    k : int, float or None, default=None
        As for `PrecisionAtK`.

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    PrecisionAtK : The share of those found that are right.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import RecallAtK
    >>> RecallAtK().value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([5.])
    """

    k: int | float | None = None
    name = "recall_at_k"

    def terms(self, y, c):
        """Each true positive among the k is worth n / n_plus."""
        n_plus = len(split_labels(y, self.name)[0])
        return TopTerms(y, c, count_chosen(self.k, len(y), n_plus), len(y) / n_plus, self.name)


@dataclass(frozen=True)
class BreakEven(MetricLoss):
    """Delta = 1 - h / n_plus over labellings with exactly n_plus samples at +1: precision and recall are the same.

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    F1 : Of all labellings, not only those in which precision equals recall.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import BreakEven
    >>> BreakEven().value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([5.])
    """

    name = "prbep"

    def terms(self, y, c):
        """Both metrics at k = n_plus."""
        return RecallAtK().terms(y, c)


@dataclass(frozen=True)
class RocAuc(MetricLoss):
    """n / (n_plus n_minus) sum over pairs (p positive, q negative) of max(0, 1 - (f_p - f_q)) >= n (1 - AUC).

    See Also
    --------
    maxmargin.MetricSVC : The machine with this loss.
    PairwiseLoss : Pairs within queries, of any levels.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import RocAuc
    >>> RocAuc().value(np.array([-1.0, 0.5, 2.0, -2.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([6.5])
    """

    name = "roc_auc"
    takes_weights = True

    def terms(self, y, c):
        """A ranking of two levels in one query."""
        return PairTerms(y, c)


METRICS: dict[str, type[MetricLoss]] = {
    metric.name: metric for metric in (F1, FBeta, RocAuc, PrecisionAtK, RecallAtK, BreakEven, ErrorRate)
}
