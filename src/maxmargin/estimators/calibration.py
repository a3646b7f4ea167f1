"""From held-out decisions to probabilities that agree with predictions: sigmoids, isotonic regressions, temperature.

The map of two classes crosses 1/2 where the decision crosses 0. What was fitted is a dict of arrays, which model files
keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

METHODS = ("sigmoid", "isotonic", "temperature")
MIN_SLOPE, MAX_NEWTON_STEPS = 1e-3, 100
MIN_PROBABILITY = 1e-7  # of a pair, so that logarithms are finite
NUDGE = 4.0 * float(np.finfo(float).eps)


# ---- one binary machine ---------------------------------------------------------------------------------------------


def smooth_targets(y: np.ndarray) -> np.ndarray:
    """(n_+ + 1)/(n_+ + 2) and 1/(n_- + 2) in place of 1 and 0 (Platt 2000): finite log losses on separated data."""
    n_plus, n_minus = (y > 0).sum(), (y < 0).sum()
    return np.where(y > 0, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))


def fit_slope(decisions: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """argmin over s >= 0 of the weighted log loss of P(y = 1) = 1 / (1 + exp(s' f)), s' = -s, by Newton's method."""
    target, slope = smooth_targets(y), 0.0
    for _ in range(MAX_NEWTON_STEPS):
        p = 0.5 * (1.0 + np.tanh(0.5 * slope * decisions))
        gradient = float(c @ ((p - target) * decisions))
        curvature = float(c @ (p * (1.0 - p) * decisions**2))
        if abs(gradient) < 1e-12 * max(1.0, curvature) or curvature <= 0:
            break
        slope += float(np.clip(-gradient / curvature, -10.0 - abs(slope), 10.0 + abs(slope)))
    return -max(slope, MIN_SLOPE)


def fit_sigmoid(decisions: np.ndarray, y: np.ndarray, c: np.ndarray) -> tuple[float, float]:
    """A and B of P(y = 1) = 1 / (1 + exp(A f + B)) of least weighted log loss, by Newton's method (Lin et al. 2007)."""
    target = smooth_targets(y)
    columns = np.column_stack([decisions, np.ones(len(decisions))])
    found = np.array([0.0, float(np.log((1.0 - c @ target / c.sum()) / (c @ target / c.sum())))])

    def measure(at: np.ndarray) -> float:
        z = columns @ at
        return float(c @ (np.logaddexp(0.0, z) - (1.0 - target) * z))

    loss = measure(found)
    for _ in range(MAX_NEWTON_STEPS):
        q = 0.5 * (1.0 + np.tanh(0.5 * (columns @ found)))  # P(y = -1)
        gradient = columns.T @ (c * (q - (1.0 - target)))
        curvature = (columns * (c * q * (1.0 - q))[:, None]).T @ columns
        step = np.linalg.solve(curvature + 1e-12 * np.trace(curvature) * np.eye(2), gradient)
        share = 1.0
        while share > 1e-10 and not measure(found - share * step) < loss:
            share *= 0.5
        after = measure(found - share * step)
        if not after < loss - 1e-14 * abs(loss):
            break
        found, loss = found - share * step, after
    return min(float(found[0]), -MIN_SLOPE), float(found[1])


def fit_isotonic(
    decisions: np.ndarray, y: np.ndarray, c: np.ndarray, crosses: bool
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Knots f and P(y = 1 | f) of argmin sum_i c_i (t_i - p_i)^2 over p that grow with f.

    If it is to cross 1/2 where f crosses 0: with p <= 1/2 for f < 0 and p >= 1/2 for f > 0 either side is an isotonic
    regression with a bound, which is that without it, cut off (Barlow et al. 1972). Between knots p is linear.
    """
    from scipy.optimize import isotonic_regression

    distinct, place = np.unique(decisions, return_inverse=True)
    weights = np.bincount(place, weights=c)
    kept = (weights > 0.0) & ((distinct != 0.0) | (not crosses))
    means = np.bincount(place, weights=c * smooth_targets(y))[kept] / weights[kept]
    knots, parts = distinct[kept], []
    if not crosses:
        return drop_inner(knots, np.asarray(isotonic_regression(means, weights=weights[kept]).x))
    for side, bound in ((knots < 0.0, np.minimum), (knots > 0.0, np.maximum)):
        if side.any():
            fitted = isotonic_regression(means[side], weights=weights[kept][side]).x
            parts.append((knots[side], bound(fitted, 0.5)))
    zero = (np.zeros(1), np.full(1, 0.5))
    below = [part for part in parts if part[0][0] < 0.0]
    above = [part for part in parts if part[0][0] > 0.0]
    f, p = (np.concatenate(each) for each in zip(*below, zero, *above, strict=True))
    return drop_inner(f, p)


def drop_inner(f: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots without those within a constant piece."""
    inner = np.zeros(len(f), bool)
    inner[1:-1] = (p[1:-1] == p[:-2]) & (p[1:-1] == p[2:])
    return f[~inner], p[~inner]


# ---- all machines of a classifier -----------------------------------------------------------------------------------


def fit_maps(method: str, decisions: list[np.ndarray], labels: list[np.ndarray], weights: list[np.ndarray]) -> dict:
    """A map for each binary machine: "sigmoid" has slopes and shifts, "isotonic" knots of one after the other.

    The one machine of two classes decides at f = 0, where its map is 1/2; those of several classes do so together.
    """
    parts = list(zip(decisions, labels, weights, strict=True))
    if method == "sigmoid":
        lines = [(fit_slope(*parts[0]), 0.0)] if len(parts) == 1 else [fit_sigmoid(*part) for part in parts]
        slopes, shifts = (np.array(each) for each in zip(*lines, strict=True))
        return {"method": method, "slopes": slopes, "shifts": shifts}
    knots = [fit_isotonic(*part, len(parts) == 1) for part in parts]
    return {
        "method": method,
        "decisions": np.concatenate([f for f, _ in knots]),
        "probabilities": np.concatenate([p for _, p in knots]),
        "ends": np.cumsum([0, *(len(f) for f, _ in knots)]),
    }


def read_maps(calibration: dict[str, Any], decisions: np.ndarray) -> np.ndarray:
    """P(y = 1) of each machine, one column each."""
    if calibration["method"] == "sigmoid":
        return 0.5 * (1.0 - np.tanh(0.5 * (calibration["slopes"] * decisions + calibration["shifts"])))
    ends, found = calibration["ends"], np.empty_like(decisions)
    for k in range(decisions.shape[1]):
        own = slice(ends[k], ends[k + 1])
        found[:, k] = np.interp(decisions[:, k], calibration["decisions"][own], calibration["probabilities"][own])
    return found


def sum_pairs(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """z_k = 1/K sum_m f_km of pairs, the least-squares scores with z_k - z_m = f_km; one column for each class."""
    first, second = np.triu_indices(n_classes, 1)
    sums = np.zeros((len(decisions), n_classes))
    for column, (i, j) in enumerate(zip(first, second, strict=True)):
        sums[:, i] += decisions[:, column]
        sums[:, j] -= decisions[:, column]
    return sums / n_classes


def fit_temperature(scores: np.ndarray, y: np.ndarray, c: np.ndarray) -> dict:
    """argmin over T > 0 of the weighted log loss of softmax(z / T) (Guo et al. 2017), by Newton's method in 1/T.

    Targets are smoothed as Platt's are, which keeps T above zero on separated data.
    """
    k = scores.shape[1]
    counts = np.bincount(y, minlength=k)
    sure = ((counts + 1.0) / (counts + 2.0))[y]
    target = np.repeat(((1.0 - sure) / (k - 1))[:, None], k, axis=1)
    target[np.arange(len(y)), y] = sure
    inverse, limit = 0.0, 0.0
    for _ in range(MAX_NEWTON_STEPS):
        p = take_softmax(inverse * scores)
        mean = (p * scores).sum(axis=1)
        gradient = float(c @ (mean - (target * scores).sum(axis=1)))
        curvature = float(c @ ((p * scores**2).sum(axis=1) - mean**2))
        if curvature <= 0.0 or abs(gradient) < 1e-12 * max(1.0, curvature):
            break
        limit = 10.0 + abs(inverse)
        inverse += float(np.clip(-gradient / curvature, -limit, limit))
    return {"method": "temperature", "slopes": np.array([max(inverse, MIN_SLOPE)]), "shifts": np.zeros(1)}


def take_softmax(z: np.ndarray) -> np.ndarray:
    """exp(z_k) / sum_m exp(z_m) of each row."""
    found = np.exp(z - z.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


def agree_with(p: np.ndarray, choice: np.ndarray) -> np.ndarray:
    """The nearest probabilities whose largest is that of the predicted class.

    Where others are larger, these and its own become their mean: the projection onto {q: q_choice >= q_k for all k}.
    """
    rows = np.arange(len(p))
    own = p[rows, choice]
    others = p.copy()
    others[rows, choice] = -1.0
    descending = -np.sort(-others, axis=1)[:, :-1]
    sizes = np.arange(1, p.shape[1])
    before = (own[:, None] + np.cumsum(descending, axis=1) - descending) / sizes  # the mean with all that are larger
    pooled = descending > before
    mean = (own + (descending * pooled).sum(axis=1)) / (1 + pooled.sum(axis=1))
    found = np.minimum(p, mean[:, None])
    found[rows, choice] = mean
    ties = found.argmax(axis=1) != choice
    found[rows[ties], choice[ties]] *= 1.0 + NUDGE
    return found


def couple(p: np.ndarray, n_classes: int, *, rest: bool) -> np.ndarray:
    """Class probabilities from those of the machines (Wu, Lin and Weng 2004, second method)."""
    p = np.clip(p, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    if rest:
        return p / p.sum(axis=1, keepdims=True)
    if n_classes == 2:
        return np.column_stack([p[:, 0], 1.0 - p[:, 0]])
    r = np.zeros((len(p), n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    r[:, first, second], r[:, second, first] = p, 1.0 - p
    # minimise sum_ij (r_ji q_i - r_ij q_j)^2 on the simplex: its conditions are one linear system per sample
    Q = -np.transpose(r, (0, 2, 1)) * r
    Q[:, np.arange(n_classes), np.arange(n_classes)] = (np.transpose(r, (0, 2, 1)) ** 2).sum(axis=2)
    system = np.zeros((len(p), n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = Q
    system[:, :n_classes, -1] = system[:, -1, :n_classes] = 1.0
    right = np.zeros((len(p), n_classes + 1, 1))
    right[:, -1] = 1.0
    q = np.clip(np.linalg.solve(system, right)[:, :n_classes, 0], 1e-12, 1.0)
    return q / q.sum(axis=1, keepdims=True)


def read_classes(
    calibration: dict[str, Any], decisions: np.ndarray, n_classes: int, choice: np.ndarray, *, rest: bool
) -> np.ndarray:
    """P(y = k | x) from the decisions of all machines, in agreement with the predictions."""
    if calibration["method"] == "temperature":
        scores = decisions if rest else sum_pairs(decisions, n_classes)
        p = take_softmax(calibration["slopes"][0] * scores)
    else:
        p = couple(read_maps(calibration, decisions), n_classes, rest=rest)
    return agree_with(p, choice)


# ---- one class ------------------------------------------------------------------------------------------------------


def fit_ranks(decisions: np.ndarray, c: np.ndarray) -> dict:
    """P(outlier) falls from 1 to 1/2 over the ranks of negative decisions, from 1/2 to 0 over those of positive ones.

    The continuous form of the bins of Que and Lin (2024): half of the rows beyond the boundary have more than 3/4.
    """
    order = np.argsort(decisions, kind="stable")
    f, c = decisions[order], c[order]
    knots, values = [np.zeros(1)], [np.full(1, 0.5)]
    for side in (-1.0, 1.0):
        chosen = side * f > 0.0
        own, weight = f[chosen][:: int(side)], c[chosen][:: int(side)]  # from the boundary outwards
        if not len(own):
            reach = float(np.abs(f).mean()) or 1.0
            own, weight = np.array([side * reach]), np.ones(1)
        share = (np.cumsum(weight) - 0.5 * weight + 0.5 * weight.mean()) / (weight.sum() + weight.mean())
        knots.append(own)
        values.append(0.5 - 0.5 * side * share)
    f, p = np.concatenate(knots), np.concatenate(values)
    order = np.lexsort((-p, f))
    return {"method": "ranks", "decisions": f[order], "probabilities": p[order], "ends": np.array([0, len(f)])}
