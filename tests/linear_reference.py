"""The linear models as their textbooks write them: data for every loss, P by its formula, and min P by general solvers.

Smooth losses go to scipy's L-BFGS-B, kinked ones to cvxopt as quadratic programs.
"""

from __future__ import annotations

import numpy as np
from exact_programs import solve_exactly
from scipy.optimize import minimize
from scipy.special import logsumexp
from textbook import minimise

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor

INTERCEPTS = ("free", "regularised", "none")
CASES = {
    "LinearSVC hinge": LinearSVC(loss="hinge", C=2.0),
    "LinearSVC squared_hinge": LinearSVC(C=0.7),
    "LinearSVR epsilon_insensitive": LinearSVR(C=3.0, epsilon=0.2),
    "LinearSVR squared_epsilon_insensitive": LinearSVR(loss="squared_epsilon_insensitive", C=0.8, epsilon=0.2),
    "hinge": RiskClassifier("hinge", C=2.0),
    "squared_hinge": RiskClassifier("squared_hinge", C=0.7),
    "logistic": RiskClassifier("logistic", C=1.5),
    "exponential": RiskClassifier("exponential", C=0.6),
    "least_squares": RiskRegressor("least_squares", C=0.8),
    "absolute": RiskRegressor("absolute", C=1.5),
    "quantile": RiskRegressor("quantile", quantile=0.2, C=2.0),
    "epsilon_insensitive": RiskRegressor("epsilon_insensitive", epsilon=0.2, C=3.0),
    "squared_epsilon_insensitive": RiskRegressor("squared_epsilon_insensitive", epsilon=0.2, C=0.8),
    "huber": RiskRegressor("huber", threshold=0.4, C=2.0),
    "poisson": RiskRegressor("poisson", C=0.5),
}
KINKED = ("hinge", "absolute", "quantile", "epsilon_insensitive")


def make_data(model, n: int = 30, seed: int = 0, weighted: bool = False):
    """X, y and weights for a model: noisy targets; some weights are zero, none of the classes vanishes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 0.3
    signal = X[:, 0] + 0.5 * np.sin(3.0 * X[:, 1]) + 0.6 * rng.normal(size=n)
    weight = None
    if weighted:
        weight = rng.uniform(0.2, 3.0, n)
        weight[rng.permutation(n)[:4]] = 0.0
    if isinstance(model, LinearSVC | RiskClassifier):
        return X, np.where(signal > np.median(signal), 1, -1), weight
    if model.loss == "poisson":
        return X, rng.poisson(np.exp(0.5 * signal)).astype(float), weight
    return X, signal, weight


def measure_losses(model, f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """l(f; y), from the formula in the books."""
    r = f - y
    formulas = {
        "hinge": lambda: np.maximum(0.0, 1.0 - y * f),
        "squared_hinge": lambda: np.maximum(0.0, 1.0 - y * f) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -y * f),
        "exponential": lambda: np.exp(-y * f),
        "least_squares": lambda: 0.5 * r**2,
        "absolute": lambda: np.abs(r),
        "quantile": lambda: np.maximum(-model.quantile * r, (1.0 - model.quantile) * r),
        "epsilon_insensitive": lambda: np.maximum(0.0, np.abs(r) - model.epsilon),
        "squared_epsilon_insensitive": lambda: np.maximum(0.0, np.abs(r) - model.epsilon) ** 2,
        "huber": lambda: np.where(
            np.abs(r) <= model.threshold, r**2 / (2.0 * model.threshold), np.abs(r) - 0.5 * model.threshold
        ),
        "poisson": lambda: np.exp(f) - y * f,
    }
    return formulas[model.loss]()


def measure_penalty(model, w: np.ndarray, b) -> float:
    """1/2 |w|^2 or |w|_1, with b / scaling as one more coefficient where the intercept is regularised."""
    if model.intercept == "regularised":
        w = np.append(w, np.asarray(b) / model.intercept_scaling)
    return float(np.abs(w).sum()) if getattr(model, "penalty", "l2") == "l1" else 0.5 * float(np.sum(w**2))


def measure_primal(model, X, y, weight=None) -> float:
    """P of a fitted model of one problem, from coef_ and intercept_."""
    w, b = np.ravel(model.coef_), np.ravel(model.intercept_)
    s = np.ones(len(y)) if weight is None else weight
    return measure_penalty(model, w, b) + model.C * float(s @ measure_losses(model, X @ w + b, y))


def solve_reference(model, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> float:
    """min P of a model of one problem, by a solver that is not ours."""
    s = np.ones(len(y)) if weight is None else weight
    alive = s > 0
    X, y, s = X[alive], np.asarray(y, float)[alive], s[alive]
    if model.loss in KINKED:
        return solve_program(model, X, y, model.C * s)
    return solve_smooth(model, X, y, model.C * s)


def solve_program(model, X: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """min P for losses with kinks, as a quadratic program."""
    Phi = np.column_stack([X, np.full(len(y), model.intercept_scaling)]) if model.intercept == "regularised" else X
    free = model.intercept == "free"
    if model.loss == "hinge":
        return minimise(Phi, side=-y, bound=-np.ones(len(y)), cost=c, free=free)
    over, under = (1.0 - model.quantile, model.quantile) if model.loss == "quantile" else (1.0, 1.0)
    half_width = model.epsilon if model.loss == "epsilon_insensitive" else 0.0
    side, bound = np.repeat([1.0, -1.0], len(y)), np.concatenate([y, -y]) + half_width
    return minimise(np.vstack([Phi, Phi]), side, bound, np.concatenate([over * c, under * c]), free)


def solve_smooth(model, X: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """min P for smooth losses; |w|_1 is made smooth as u + v with w = u - v, u, v >= 0."""
    d, penalised = X.shape[1], getattr(model, "penalty", "l2") == "l1"

    def unpack(z):
        if penalised:
            z = z[: d + 1] - z[d + 1 :]
        return z[:d], 0.0 if model.intercept == "none" else z[d]

    def objective(z):
        w, b = unpack(z)
        penalty = measure_penalty(model, w, b) if not penalised else measure_split(model, z, d)
        return penalty + float(c @ measure_losses(model, X @ w + b, y))

    size = 2 * (d + 1) if penalised else d + 1
    return descend(objective, np.zeros(size), [(0.0 if penalised else None, None)] * size)


def measure_split(model, z: np.ndarray, d: int) -> float:
    """|w|_1 of the parts u and v."""
    both = z[: d + 1] + z[d + 1 :]
    return float(both[:d].sum() + (both[d] / model.intercept_scaling if model.intercept == "regularised" else 0.0))


def descend(objective, start: np.ndarray, bounds=None) -> float:
    """min of a smooth function by L-BFGS-B with central differences, restarted until it does not fall any more."""
    best, z = np.inf, start
    for _ in range(8):
        found = minimize(
            objective, z, jac="3-point", bounds=bounds, method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000, "maxfun": 100000},
        )  # fmt: skip
        z = found.x
        if found.fun >= best * (1.0 - 1e-10):
            break
        best = found.fun
    return float(min(best, found.fun))


# ---- many classes at once -------------------------------------------------------------------------------------


def measure_joint(model, X, y, s) -> float:
    """P of a fitted model of all classes: 1/2 sum_m |w_m|^2 + C sum_i s_i l(f_i; y_i)."""
    f = X @ model.coef_.T + model.intercept_
    own = f[np.arange(len(y)), y]
    if model.multi_class == "softmax":
        losses = logsumexp(f, axis=1) - own
    else:
        losses = (f + 1.0 - np.eye(f.shape[1])[y]).max(axis=1) - own
    return measure_penalty(model, model.coef_, model.intercept_) + model.C * float(s @ losses)


def solve_softmax(model, X, y, s) -> float:
    """min P of the softmax loss, by L-BFGS-B."""
    k, d = len(np.unique(y)), X.shape[1]

    def objective(z):
        w, b = z[: k * d].reshape(k, d), z[k * d :] if model.intercept != "none" else 0.0
        f = X @ w.T + b
        losses = logsumexp(f, axis=1) - f[np.arange(len(y)), y]
        return measure_penalty(model, w, b) + model.C * float(s @ losses)

    return descend(objective, np.zeros(k * d + k))


def solve_crammer_singer(model, X, y, s) -> float:
    """min P of Crammer and Singer's loss, as the quadratic program f_m - f_y + 1 <= xi, xi >= 0."""
    k, (n, d) = len(np.unique(y)), X.shape
    Phi = np.column_stack([X, np.ones(n) if model.intercept != "none" else np.zeros(n)])
    rows = []
    for i in range(n):
        for m in range(k):
            if m != y[i]:
                row = np.zeros((k, d + 1))
                row[m], row[y[i]] = Phi[i], -Phi[i]
                rows.append(np.concatenate([row.ravel(), -np.eye(n)[i]]))
    signs = np.hstack([np.zeros((n, k * (d + 1))), -np.eye(n)])
    bend, used = np.ones((k, d + 1)), np.ones(k * (d + 1) + n, bool)
    bend[:, d] = {"free": 0.0, "none": 1.0, "regularised": model.intercept_scaling**-2.0}[model.intercept]
    used[k * (d + 1) - 1] = model.intercept != "free"  # the loss sees differences only, so the last of them is zero
    H, cost = np.append(bend.ravel(), np.zeros(n)), np.append(np.zeros(k * (d + 1)), model.C * s)
    G, h = np.vstack([*rows, signs]), np.append(-np.ones(len(rows)), np.zeros(n))
    return solve_exactly(np.diag(H[used]), cost[used], G[:, used], h).value
