"""Which labels are certain, by intervals of the scores: none of them can flip while the scores are within these."""

from __future__ import annotations

import numpy as np

from ...model.class_pairs import list_pairs
from .bounds import Interval

NEGLIGIBLE_SHARE_OF_INTERCEPT = 1e-9  # of rho, within which the score of an outlier may count as zero


def find_certain_signs(scores: Interval, labels: np.ndarray) -> np.ndarray:
    """Whether f* > 0 for labels 1 and f* < 0 for labels 0."""
    return np.where(labels == 1, scores.lower[:, 0] > 0.0, scores.upper[:, 0] < 0.0)


def find_certain_inliers(scores: Interval, labels: np.ndarray, rho: float) -> np.ndarray:
    """Whether f* >= 0 for labels +1 and f* < 0 for labels -1, by more than counts as zero."""
    outside = scores.upper[:, 0] < -NEGLIGIBLE_SHARE_OF_INTERCEPT * abs(rho)
    return np.where(labels == 1, scores.lower[:, 0] >= 0.0, outside)


def find_certain_maxima(scores: Interval, labels: np.ndarray) -> np.ndarray:
    """Whether the score of the label is larger than all others."""
    rows = np.arange(len(labels))
    others = scores.upper.copy()
    others[rows, labels] = -np.inf
    return scores.lower[rows, labels] > others.max(axis=1)


def find_certain_votes(
    scores: Interval, labels: np.ndarray, n_classes: int, preference: np.ndarray | None
) -> np.ndarray:
    """Whether the label has most votes of the pairs, however those that are open vote; f > 0 is a vote for the first.

    A rival may have the votes of all pairs that are open, and the label none of them, at the same time.
    """
    first, second = list_pairs(n_classes).T
    won, lost = scores.lower > 0.0, scores.upper < 0.0
    classes = np.eye(n_classes)
    least = won @ classes[first] + lost @ classes[second]
    most = ~lost @ classes[first] + ~won @ classes[second]
    rank = np.arange(n_classes)
    if preference is not None:
        rank = np.empty(n_classes, int)
        rank[preference] = np.arange(n_classes)
    own = least[np.arange(len(labels)), labels][:, None]
    wins = np.where(rank[labels][:, None] < rank, own >= most, own > most)
    wins[np.arange(len(labels)), labels] = True
    return wins.all(axis=1)


def bound_class_votes(pairs: Interval, n_classes: int) -> Interval:
    """Both ends of votes + s / (3 (|s| + 1)) with the sum s of the scores of a class against all others.

    As `decision_function_shape="ovr"` has it: a vote more counts more than any sum.
    """
    first, second = list_pairs(n_classes).T
    classes = np.eye(n_classes)
    certain, possible = pairs.lower > 0.0, pairs.upper < 0.0
    least = certain @ classes[first] + possible @ classes[second]
    most = ~possible @ classes[first] + ~certain @ classes[second]
    with np.errstate(invalid="ignore"):
        low, high = np.zeros(least.shape), np.zeros(least.shape)
        for k, (i, j) in enumerate(zip(first, second, strict=True)):
            low[:, i] += pairs.lower[:, k]
            high[:, i] += pairs.upper[:, k]
            low[:, j] -= pairs.upper[:, k]
            high[:, j] -= pairs.lower[:, k]
    slack = 64.0 * np.finfo(float).eps
    low, high = squash(low - slack * n_classes * np.abs(low)), squash(high + slack * n_classes * np.abs(high))
    return Interval(least + low - slack * n_classes, most + high + slack * n_classes)


def squash(total: np.ndarray) -> np.ndarray:
    """s / (3 (|s| + 1)), also where s is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(total), np.sign(total) / 3.0, total / (3.0 * (np.abs(total) + 1.0)))
