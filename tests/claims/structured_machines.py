"""Cases of metrics, rankings and structures."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
from exact_numbers import ONE, exact, zeros
from exact_objectives import ListObjective, StructuredObjective, label_metric, pair_metric

import maxmargin as mm
from claims.claim import Case
from claims.kernel_machines import find_shift
from claims.linear_machines import LinearSetting, draw_setting
from claims.sampled_data import draw_common, draw_labels, draw_power, draw_samples, draw_weights, to_exact, weigh
from claims.vector_machines import add_vector_claim

METRICS = ["f1", "fbeta", "roc_auc", "precision_at_k", "recall_at_k", "prbep", "error"]


def try_metric(rng: np.random.Generator, case: Case) -> None:
    """MetricSVC on a few samples, checked against all labellings."""
    drawn, metric = case.drawn, str(rng.choice(METRICS))
    X = draw_samples(rng, drawn, 7)
    y, n = draw_labels(rng, X), X.shape[0]
    setting, intercept = draw_setting(rng, X, drawn)
    sees = metric in ("f1", "fbeta", "error")
    if not sees:
        setting.intercept = "none"
        intercept = {"intercept": "free"}
    common, beta = draw_common(rng, drawn, ("bundle",), 5.0), float(rng.choice([0.5, 2.0]))
    k, plus = int(rng.integers(1, n + 1)) if rng.random() < 0.4 else None, int((y == 1).sum())
    drawn.update(metric=metric, k=k, intercept=setting.intercept)
    model = mm.MetricSVC(metric, beta=beta, k=k, **intercept, **common).fit(X, y)
    signs, C = exact(np.where(y == 1, 1.0, -1.0)), Decimal(common["C"])
    if metric == "roc_auc":
        cut = pair_metric(signs, np.full(n, C), np.zeros(n, int))
    else:
        chosen = plus if metric == "prbep" or k is None else k
        cut = label_metric(metric, signs, C, Decimal(beta) if metric == "fbeta" else ONE, chosen)
    seen = setting.read(model.coef_, np.ravel(model.intercept_)[0] if sees else 0.0)
    objective, points = ListObjective(setting.Z, setting.free, cut), {"machine": seen}
    if setting.free:
        setting.shift, point = find_shift(model), model.result_.point
        points["point"] = setting.read_point(point.coef, point.b, seen)
    add_vector_claim(case, model.result_, common["tol"], objective, points)


def try_ranking(rng: np.random.Generator, case: Case) -> None:
    """RankSVM: pairs within queries."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 9)
    n, weight = X.shape[0], draw_weights(rng, X.shape[0], drawn)
    y, groups = rng.integers(0, 3, n).astype(float), rng.integers(0, 2, n) if rng.random() < 0.5 else np.zeros(n, int)
    common = draw_common(rng, drawn, ("bundle",), 5.0)
    model = mm.RankSVM(**common).fit(X, y, group=groups, sample_weight=weight)
    c = weigh(common["C"], weight, n)
    counted = c > 0
    setting = LinearSetting(to_exact(X)[counted], "none", ONE)
    objective = ListObjective(setting.Z, False, pair_metric(exact(y)[counted], c[counted], groups[counted]))
    add_vector_claim(case, model.result_, common["tol"], objective, {"machine": setting.read(model.coef_, 0.0)})


def try_structured(rng: np.random.Generator, case: Case) -> None:
    """StructuredSVM: short chains, and classes."""
    drawn, chain = case.drawn, bool(rng.random() < 0.6)
    n, d, k = int(rng.integers(2, 5)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    scale = draw_power(rng, -4, 4) if rng.random() < 0.4 else 1.0
    lengths = rng.integers(1, 4, n) if chain else np.ones(n, int)
    X = [scale * rng.normal(size=(length, d)) for length in lengths]
    y = [rng.integers(0, k, length) for length in lengths]
    y[0][0], y[1][0] = 0, k - 1
    weight = draw_weights(rng, n, drawn)
    common = draw_common(rng, drawn, ("frank_wolfe", "structured_bundle"), 4.0)
    drawn.update(chain=chain, n=n, d=d, k=k, scale=scale)
    labels = np.unique(np.concatenate(y))
    model = mm.StructuredSVM(mm.ChainModel() if chain else mm.MulticlassModel(), **common)
    if chain:
        model.fit(X, y, sample_weight=weight)
    else:
        model.fit(np.concatenate(X), np.concatenate(y), sample_weight=weight)
    c = weigh(common["C"], weight, n)
    tables = [
        list_labellings(exact(x), np.searchsorted(labels, z), len(labels), chain) for x, z in zip(X, y, strict=True)
    ]
    objective = StructuredObjective(tables, c)
    add_vector_claim(case, model.result_, common["tol"], objective, {"machine": exact(model.coef_)})


def list_labellings(x: np.ndarray, y: np.ndarray, k: int, chain: bool) -> tuple[np.ndarray, np.ndarray]:
    """Delta and psi(x, z) - psi(x, y) for every labelling z."""
    labellings = list(np.ndindex(*(k,) * len(y)))
    features = np.array([join_features(x, z, k, chain) for z in labellings], object)
    losses = np.array([Decimal(int(np.sum(np.array(z) != y))) for z in labellings], object)
    return losses, features - join_features(x, tuple(y), k, chain)


def join_features(x: np.ndarray, z: tuple, k: int, chain: bool) -> np.ndarray:
    """psi(x, z): features by label, transitions, first and last label."""
    d = x.shape[1]
    psi = zeros(d * k + (k * k + 2 * k if chain else 0))
    for row, label in zip(x, z, strict=True):
        psi[np.arange(d) * k + label] += row
    if chain:
        for before, after in pairwise(z):
            psi[d * k + before * k + after] += ONE
        psi[d * k + k * k + z[0]] += ONE
        psi[d * k + k * k + k + z[-1]] += ONE
    return psi
