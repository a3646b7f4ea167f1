"""Cases of SVC and SVR, and the exact objective of a kernel machine."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import scipy.sparse as sp
from exact_numbers import HALF, INFINITY, ONE, ZERO, exact, zeros
from exact_objectives import Objective, kernel_matrix, pairs_of

import maxmargin as mm
from claims.claim import Case, Claim
from claims.sampled_data import (
    draw_common,
    draw_labels,
    draw_power,
    draw_samples,
    draw_targets,
    draw_weights,
    to_exact,
    weigh,
)

KERNEL_SOLVERS = ("smo", "smo", "gradient_descent", "adagrad", "lagrangian_dual", "qp")


def draw_kernel(rng: np.random.Generator, drawn: dict) -> dict:
    """A random kernel, mostly positive semidefinite, sometimes one that need not be."""
    kernel = str(
        rng.choice(["linear", "linear", "rbf", "rbf", "poly", "laplacian", "precomputed", "callable", "sigmoid"])
    )
    gamma = "scale" if rng.random() < 0.6 else draw_power(rng, -4, 3)
    drawn.update(kernel=kernel, gamma=gamma)
    degree, coef0 = int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0, 0.5]))
    return {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}


def multiply_out(X, Z) -> np.ndarray:
    """A callable kernel: <x, z>."""
    X, Z = (part.toarray() if sp.issparse(part) else np.asarray(part, float) for part in (X, Z))
    return X @ Z.T


def prepare_kernel(given: dict, X, regularised: bool):
    """The kernel parameters and the X to fit, and a function for the exact kernel matrix of the fitted model."""
    parameters, fitted = dict(given), X
    if given["kernel"] == "precomputed":
        fitted = multiply_out(X, X)
    elif given["kernel"] == "callable":
        parameters["kernel"] = multiply_out
    offset = ONE if regularised else ZERO

    def matrix(model, shift=None) -> np.ndarray | None:
        if given["kernel"] == "sigmoid":
            return None
        if given["kernel"] in ("precomputed", "callable"):
            return exact(multiply_out(X, X)) + offset
        gamma, rows = Decimal(float(getattr(model, "_gamma", 0.0))), to_exact(X)
        if shift is not None and given["kernel"] == "linear":
            rows = rows - exact(shift)
        return kernel_matrix(given["kernel"], rows, gamma, exact(given["coef0"]), given["degree"]) + offset

    return parameters, fitted, matrix


def translate_rows(model, X) -> np.ndarray:
    """The samples as a linear kernel sees them, from where the model has moved the origin to."""
    shift = find_shift(model)
    return to_exact(X) if shift is None else to_exact(X) - exact(shift)


def find_shift(model) -> np.ndarray | None:
    """Where the model has moved the origin: with a free intercept this changes b but not w."""
    return getattr(getattr(model, "_kernel", None), "shift", None)


def claim_kernel(
    result, tol: float, objective: Objective, index: np.ndarray, part: str = "", rows: np.ndarray | None = None
) -> Claim:
    """The claim of a kernel machine's result, with P at its point; `rows` are samples as a linear kernel sees them."""
    point, coef = result.point, zeros(len(objective.K))
    if point.coef is not None:
        coef[index] = exact(point.coef)
    elif point.a.ndim == 2:
        coef[index] = exact(point.a.sum(axis=0))  # rounded as in the machine that is read from the layers
    else:
        coef[index] = exact(point.a)
    b = exact(np.atleast_1d(point.b)) if len(objective.balance) else zeros(0)
    if point.w is None:
        values = {"point": objective.value_of_kernel(coef, b)}
    else:
        w = exact(point.w)
        values = {"point": objective.value(rows @ w, HALF * (w @ w), b)}
    return Claim.of(result, tol, values, objective.least, part)


def add_dual_machine(claim: Claim, objective: Objective, K: np.ndarray, model, intercept: str, sign: int = 1) -> Claim:
    """The claim with P at the dual coefficients and the intercept that the user sees; K is that of X as given."""
    if model._held_weights()[0] is not None:  # the machine is coef_ and intercept_, see `add_linear_machine`
        return claim
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    coef, b = zeros(len(objective.K)), sign * exact(np.ravel(model.intercept_))
    coef[model.support_] = sign * exact(table[0])
    if intercept == "regularised":
        scores = (K - ONE) @ coef
        claim.values["machine"] = objective.value(scores + b[0], HALF * (coef @ scores + b[0] * b[0]), zeros(0))
    else:
        scores = K @ coef
        claim.values["machine"] = objective.value(
            scores, HALF * (coef @ scores), b if intercept == "free" else zeros(0)
        )
    return claim


def add_linear_machine(claim: Claim, objective: Objective, X, model, sign: int = 1) -> Claim:
    """The claim with P at coef_ and intercept_, where the kernel is linear and the intercept free."""
    if model.kernel == "linear" and getattr(model, "intercept", "free") == "free":
        w = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        w, b = sign * exact(w[0]), sign * exact(np.ravel(model.intercept_))
        claim.values["coef_"] = objective.value(to_exact(X) @ w, HALF * (w @ w), b)
    return claim


def try_svc(rng: np.random.Generator, case: Case) -> None:
    """SVC with two or three classes."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn)
    k = 3 if X.shape[0] >= 5 and rng.random() < 0.2 else 2
    y, weight = draw_labels(rng, X, k), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, KERNEL_SOLVERS)
    loss = str(rng.choice(["hinge", "hinge", "squared_hinge"]))
    shape = str(rng.choice(["ovo", "ovr"]))
    class_weight_by_label = {0: 1.0, 1: draw_power(rng, -2, 2), 2: 3.0} if rng.random() < 0.2 else None
    drawn.update(loss=loss, intercept=intercept, classes=k, multi_class=shape)
    model = mm.SVC(
        loss=loss, intercept=intercept, multi_class=shape, class_weight=class_weight_by_label, **kernel, **common
    )
    model.fit(fitted, y, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(common["C"], weight, len(y))
    if class_weight_by_label is not None:
        c = c * exact([class_weight_by_label[label] for label in y])
    order, weighed = np.argsort(y, kind="stable") if k > 2 else np.arange(len(y)), c > 0
    rest = shape == "ovr" and k > 2
    for place, result in enumerate(model.results_):
        first, second = (place, None) if rest else pairs_of(k)[place]
        inside = np.isin(y, (first, second)) if not rest else np.full(len(y), True)
        index = order[(inside & weighed)[order]]
        signs = exact(np.where(y == first, 1.0, -1.0))
        if K is None:
            case.claims.append(Claim.of(result, common["tol"], {}, lambda: INFINITY))
            continue
        balance = zeros(1) if intercept == "free" else zeros(0)
        objective = Objective(K, signs, np.where(inside, c, ZERO), loss, ONE, balance)
        claim = claim_kernel(result, common["tol"], objective, index, f"{first}/{second}", translate_rows(model, X))
        if k == 2:
            add_dual_machine(claim, objective, matrix(model), model, intercept, -1)
            add_linear_machine(claim, objective, X, model, -1)
        case.claims.append(claim)


def draw_loss(rng: np.random.Generator, names: list[str], size: float = 1.0) -> tuple[str, dict, object]:
    """A random loss, its parameter as a keyword of the model, and as an exact number."""
    loss = str(rng.choice(names))
    value = float(rng.choice([0.0, 0.1, 1.0])) * size if "epsilon" in loss else float(rng.choice([0.1, 0.5, 0.9]))
    name = "epsilon" if "epsilon" in loss else {"quantile": "quantile", "huber": "threshold"}.get(loss)
    return loss, {} if name is None else {name: value}, Decimal(value) if name else ONE


KERNEL_REGRESSION = ["epsilon_insensitive", "epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber",
                     "quantile"]  # fmt: skip


def try_svr(rng: np.random.Generator, case: Case) -> None:
    """SVR with all of its losses."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn, 10)
    y, weight = draw_targets(rng, X.shape[0], drawn), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, KERNEL_SOLVERS)
    loss, parameters, parameter = draw_loss(rng, KERNEL_REGRESSION, drawn["target"])
    drawn.update(loss=loss, intercept=intercept)
    model = mm.SVR(loss=loss, intercept=intercept, **parameters, **kernel, **common)
    model.fit(fitted, y, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(common["C"], weight, len(y))
    if K is None:
        return
    balance = zeros(1) if intercept == "free" else zeros(0)
    objective = Objective(K, exact(y), c, loss, parameter, balance)
    claim = claim_kernel(model.result_, common["tol"], objective, np.flatnonzero(c > 0), rows=translate_rows(model, X))
    add_dual_machine(claim, objective, matrix(model), model, intercept)
    case.claims.append(add_linear_machine(claim, objective, X, model))
