"""Cases of machines with several scores per sample, and of regularisation paths."""

from __future__ import annotations

import numpy as np
from exact_numbers import ONE, exact
from exact_objectives import ClassObjective

import maxmargin as mm
from claims.claim import Case, Claim
from claims.kernel_machines import find_shift
from claims.linear_machines import draw_setting
from claims.sampled_data import draw_common, draw_labels, draw_power, draw_samples, draw_targets, draw_weights, weigh
from maxmargin.model.kernels import Linear


def try_joint(rng: np.random.Generator, case: Case) -> None:
    """Softmax, and the hinge of Crammer and Singer with and without costs."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 8)
    k = 3 if X.shape[0] > 3 else 2
    y, weight = draw_labels(rng, X, k), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    kind = str(rng.choice(["softmax", "crammer_singer", "crammer_singer"]))
    common = draw_common(rng, drawn, ("bundle",), 4.0)
    costs, scales = (rng.integers(1, 4, (k, k)).astype(float) if rng.random() < 0.3 else None for _ in range(2))
    costly = {"label_costs": costs, "label_scales": scales} if kind == "crammer_singer" else {}
    drawn.update(multi_class=kind, classes=k, costs=costs is not None, scales=scales is not None)
    loss = "logistic" if kind == "softmax" else "hinge"
    model = mm.RiskClassifier(loss, multi_class=kind, **costly, **intercept, **common).fit(X, y, sample_weight=weight)
    c = weigh(common["C"], weight, len(y))
    costs, scales = (exact(np.ones((k, k)) if part is None else part) for part in (costs, scales))
    objective = ClassObjective(
        setting.Z, y, c, "softmax" if kind == "softmax" else "hinge", k, setting.free, costs, scales
    )
    values, point = {}, model.result_.point
    if k > 2:
        b = np.broadcast_to(model.intercept_, k)
        values["machine"] = np.concatenate([setting.read(w, shift) for w, shift in zip(model.coef_, b, strict=True)])
    if point.coef is not None:
        setting.shift, b = find_shift(model), np.broadcast_to(point.b, k)
        rows = [setting.read_point(w, shift, w) for w, shift in zip(point.coef, b, strict=True)]
        values["point"] = np.concatenate(rows)
    add_vector_claim(case, model.result_, common["tol"], objective, values)


def add_vector_claim(case: Case, result, tol: float, objective, points: dict[str, np.ndarray]) -> None:
    """Add the claim of an objective whose argument is one long vector."""
    if points:
        start = next(iter(points.values()))
        values = {name: objective.value(v) for name, v in points.items()}
        case.claims.append(Claim.of(result, tol, values, lambda: objective.least(start)))


def try_multivariate(rng: np.random.Generator, case: Case) -> None:
    """(f - y)' M (f - y) / 2 for targets with two entries."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 8)
    y, weight = draw_targets(rng, 2 * X.shape[0], drawn).reshape(-1, 2), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    common = draw_common(rng, drawn, ("bundle", "vector_ridge"))
    A = rng.integers(-2, 3, (2, 2)).astype(float)
    M = A @ A.T + np.eye(2)
    model = mm.RiskRegressor("multivariate", M=M, **intercept, **common).fit(X, y, sample_weight=weight)
    c, b = weigh(common["C"], weight, len(y)), np.broadcast_to(model.intercept_, 2)
    objective = ClassObjective(setting.Z, exact(y), c, "multivariate", 2, setting.free, M=exact(M))
    seen = [setting.read(w, shift) for w, shift in zip(model.coef_, b, strict=True)]
    points, point = {"machine": np.concatenate(seen)}, model.result_.point
    if setting.free:
        setting.shift, coef = find_shift(model), [None, None] if point.coef is None else point.coef
        rows = [setting.read_point(w, *rest) for w, *rest in zip(coef, point.b, seen, strict=True)]
        points["point"] = np.concatenate(rows)
    add_vector_claim(case, model.result_, common["tol"], objective, points)


def try_path(rng: np.random.Generator, case: Case) -> None:
    """path: the same machine at several values of C."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 8)
    y, weight = draw_labels(rng, X), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    loss, common = str(rng.choice(["hinge", "squared_hinge", "logistic"])), draw_common(rng, drawn, ())
    common.pop("C")
    Cs = [draw_power(rng, -4, 4) for _ in range(3)]
    drawn.update(loss=loss, Cs=Cs)
    found = mm.path(X, y, Cs=Cs, loss=loss, sample_weight=weight, **intercept, **common)
    signs, setting.shift = exact(np.where(y == 1, 1.0, -1.0)), Linear().centre(X).shift if setting.free else None
    for C, w, b, result in zip(found.Cs, found.coefs, found.intercepts, found.results, strict=True):
        c, seen = weigh(C, weight, len(y)), setting.read(w, b)
        case.claims.append(setting.claim(result, common["tol"], signs, c, loss, ONE, seen))
