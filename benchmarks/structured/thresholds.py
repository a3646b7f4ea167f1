"""F1 of scores: at a threshold, at the best threshold, and how far two machines differ beyond the luck of a draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

DRAWS = 200
INTERVAL = (2.5, 97.5)  # per cent


def measure_f1(y: np.ndarray, positive: np.ndarray) -> float:
    """2 h / (h + m + n_plus), h true and m false positives; 0 if there are none."""
    hits = np.count_nonzero(positive & (y > 0))
    return 2.0 * hits / max(np.count_nonzero(positive) + np.count_nonzero(y > 0), 1)


def tune_threshold(y: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The threshold with the largest F1, half way between two scores, and that F1."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(y[order] > 0)
    f1 = 2.0 * hits / (np.arange(1, len(y) + 1) + hits[-1])
    last = np.append(ranked[:-1] > ranked[1:], True)  # equal scores are not divided
    place = int(np.argmax(np.where(last, f1, -1.0)))
    below = ranked[place + 1] if place + 1 < len(y) else ranked[place] - 1.0
    return 0.5 * float(ranked[place] + below), float(f1[place])


def compare(score: Callable, y: np.ndarray, one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """score(y, one) - score(y, other), and where 95 % of the differences lie when the samples are drawn again."""
    random, differences = np.random.default_rng(0), []
    for _ in range(DRAWS):
        drawn = random.integers(len(y), size=len(y))
        differences.append(score(y[drawn], one[drawn]) - score(y[drawn], other[drawn]))
    low, high = np.percentile(differences, INTERVAL)
    return float(score(y, one) - score(y, other)), float(low), float(high)
