"""Cases of models of other libraries, of the judge alone, and of the risk bounds."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import sklearn.svm
from exact_numbers import HALF, ONE, ZERO, exact, total, zeros
from exact_objectives import Objective, SmoothObjective, kernel_matrix

import maxmargin as mm
from claims.claim import Case, Claim
from claims.kernel_machines import add_dual_machine, add_linear_machine
from claims.linear_machines import REGRESSION, LinearSetting
from claims.sampled_data import (
    FIT_SECONDS,
    draw_common,
    draw_labels,
    draw_power,
    draw_samples,
    draw_targets,
    draw_weights,
    weigh,
)
from maxmargin.model.features import Design, Gram
from maxmargin.model.kernels import RBF, Laplacian, Linear, Polynomial
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Point, Problem


def try_foreign(rng: np.random.Generator, case: Case) -> None:
    """certify on scikit-learn's machines."""
    drawn, kind = case.drawn, str(rng.choice(["SVC", "SVR", "OneClassSVM", "LinearSVC", "LinearSVR"]))
    X = draw_samples(rng, drawn, 10, dense=True)
    n, C = X.shape[0], draw_power(rng, -4, 4)
    tol, weight = draw_power(rng, -8, -2), draw_weights(rng, X.shape[0], drawn) if kind != "OneClassSVM" else None
    weight = None if weight is None else np.maximum(weight, 1e-3)
    y = draw_labels(rng, X) if kind in ("SVC", "LinearSVC") else draw_targets(rng, n, drawn)
    kernel = str(rng.choice(["linear", "rbf"]))
    drawn.update(model=kind, C=C, tol=tol, kernel=kernel)
    if kind.startswith("Linear"):
        certify_foreign_linear(rng, case, kind, X, y, weight, C, tol)
        return
    parameters = {"kernel": kernel, "tol": tol, "max_iter": 100000}
    parameters |= {"nu": 0.4} if kind == "OneClassSVM" else {"C": C}
    targets = None if kind == "OneClassSVM" else y
    model = getattr(sklearn.svm, kind)(**parameters).fit(X, targets, sample_weight=weight)
    certificate = mm.certify(model, X, targets, weight)
    K, coef, b = kernel_matrix(kernel, exact(X), Decimal(float(model._gamma))), zeros(n), exact(model.intercept_)
    coef[model.support_] = exact(model.dual_coef_[0])
    c, free = weigh(1.0 if kind == "OneClassSVM" else C, weight, n), zeros(1)
    if kind == "SVC":
        objective = Objective(K, exact(np.where(y == 1, 1.0, -1.0)), c, "hinge", ONE, free)
    elif kind == "SVR":
        objective = Objective(K, exact(y), c, "epsilon_insensitive", Decimal(model.epsilon), free)
    else:
        objective = Objective(K, np.full(n, ONE), c, "novelty", ONE, np.array([exact(model.nu) * total(c)], object))
    values = {"machine": objective.value_of_kernel(coef, b)}
    case.claims.append(Claim(certificate, values, objective.least))


def certify_foreign_linear(rng: np.random.Generator, case: Case, kind: str, X, y, weight, C: float, tol: float) -> None:
    """LIBLINEAR's machines, which keep no duals."""
    intercept = bool(rng.random() < 0.7)
    make = sklearn.svm.LinearSVC if kind == "LinearSVC" else sklearn.svm.LinearSVR
    loss = str(rng.choice(["hinge", "squared_hinge"] if kind == "LinearSVC" else REGRESSION[3:5]))
    case.drawn.update(loss=loss, intercept=intercept)
    model = make(loss=loss, C=C, tol=tol, fit_intercept=intercept, dual=True, random_state=0).fit(X, y, weight)
    certificate = mm.certify(model, X, y, weight, max_seconds=FIT_SECONDS)
    setting = LinearSetting(exact(X), "regularised" if intercept else "none", ONE)
    targets = exact(np.where(y == 1, 1.0, -1.0)) if kind == "LinearSVC" else exact(y)
    held, c = setting.Z, weigh(C, weight, len(y))
    parameter = ONE if kind == "LinearSVC" else ZERO
    seen = setting.read(model.coef_, np.ravel(model.intercept_)[0] if intercept else 0.0)
    value = SmoothObjective(held, targets, c, loss, False, parameter=parameter).value(seen)
    objective = Objective(held @ held.T, targets, c, loss, parameter)
    case.claims.append(Claim(certificate, {"machine": value}, objective.least))


def try_judge(rng: np.random.Generator, case: Case) -> None:
    """The judge alone: at the optimum in eighty digits rounded to sixteen, near it, or far from it."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, dense=True)
    loss = str(rng.choice(["hinge", "squared_hinge", "least_squares", "absolute", "epsilon_insensitive", "huber"]))
    label, n = "hinge" in loss, X.shape[0]
    y = np.where(draw_labels(rng, X) == 0, 1.0, -1.0) if label else draw_targets(rng, n, drawn)
    c = draw_power(rng, -8, 8) * (np.ones(n) if rng.random() < 0.5 else 10.0 ** rng.uniform(-2, 2, n))
    name, free = str(rng.choice(["linear", "rbf", "poly", "laplacian"])), bool(rng.random() < 0.6)
    kernels = {"linear": Linear(), "rbf": RBF(), "poly": Polynomial(2, coef0=1.0), "laplacian": Laplacian()}
    kernel = kernels[name].bind(X)
    gram = Gram.from_data(kernel, X)
    problem = Problem(gram, y, c, LOSSES[loss](), 0.0 if free else None)
    K = kernel_matrix(name, exact(X), Decimal(float(getattr(kernel, "gamma", 0.0))), ONE, 2)
    parameter = {"epsilon_insensitive": exact(0.1)}.get(loss, ONE)
    objective = Objective(K, exact(y), exact(c), loss, parameter, zeros(1) if free else zeros(0))
    best, a, b = objective.solve()
    noise = float(rng.choice([0.0, 0.0, 1e-15, 1e-10, 1e-3, 1.0]))
    a = a.astype(float) * (1.0 + noise * rng.normal(size=n)) if noise < 1 else c * rng.normal(size=n)
    b = (float(b[0]) if free else 0.0) * (1.0 + noise * rng.normal() * free)
    drawn.update(loss=loss, kernel=name, free=free, noise=noise, c=float(c.max()))
    certificate = mm.certify(problem, Point(a, b))
    values = {"point": objective.value_of_kernel(exact(a), exact(np.array([b])) if free else zeros(0))}
    case.claims.append(Claim(certificate, values, lambda: best))
    if name == "linear":
        w = Design(gram.samples).combine(a)
        line = mm.certify(Problem(Design(gram.samples), y, c, LOSSES[loss](), problem.balance), Point(a, b, w))
        v = exact(w)[:-1]
        value = objective.value(exact(X) @ v, HALF * (v @ v), exact(np.array([b])) if free else zeros(0))
        case.claims.append(Claim(line, {"w": value}, lambda: best, "design"))


def try_risk_bounds(rng: np.random.Generator, case: Case) -> None:
    """risk_bounds: the certificate on which all its numbers depend."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 7, dense=True)
    y, common = draw_labels(rng, X), draw_common(rng, drawn, (), 4.0)
    kernel = str(rng.choice(["linear", "rbf"]))
    drawn.update(kernel=kernel)
    model = mm.SVC(kernel=kernel, **common).fit(X, y)
    bounds = mm.risk_bounds(model, X, y, exact=False, max_seconds=FIT_SECONDS)
    K = kernel_matrix(kernel, exact(X), Decimal(float(model._gamma)))
    signs = exact(np.where(y == 0, 1.0, -1.0))
    objective = Objective(K, signs, weigh(common["C"], None, len(y)), "hinge", ONE, zeros(1))
    claim = add_dual_machine(Claim(bounds.certificate, {}, objective.least), objective, K, model, "free", -1)
    case.claims.append(add_linear_machine(claim, objective, X, model, -1))
