"""Small linear problems for every loss, and their optima by solvers that are not ours.

Piecewise losses go to cvxopt as quadratic programs in the primal; the others to Newton's method in NumPy, or with |w|_1
to scipy's L-BFGS-B, with derivatives from the formulas in the books.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from textbook import minimise

from maxmargin.model.features import AbsoluteDesign, Design
from maxmargin.model.formulations import OneClass, Risk
from maxmargin.model.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    LeastSquares,
    Logistic,
    Novelty,
    Poisson,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)  # fmt: skip
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap

INTERCEPTS = ("free", "regularised", "none")
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}
EXAMPLES = {
    loss.name: loss
    for loss in (
        Hinge(), SquaredHinge(), Exponential(), Logistic(), Novelty(rho=1.0), LeastSquares(), Absolute(), Quantile(0.3),
        EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2), Huber(0.4), Poisson(),
    )
}  # fmt: skip
KINKED = ("hinge", "novelty", "absolute", "quantile", "epsilon_insensitive")
SMOOTH = ("exponential", "logistic", "poisson")  # without a row of five numbers
PIECEWISE_LOSSES = [name for name in EXAMPLES if name not in SMOOTH]
LOSSES_BY_SOLVER = {  # by which solver each loss is taken, with the penalty |w|^2 / 2
    "smo": PIECEWISE_LOSSES,
    "newton": [name for name in EXAMPLES if name not in KINKED],
    "multipliers": PIECEWISE_LOSSES,
    "interior_point": PIECEWISE_LOSSES,
    "coordinate": PIECEWISE_LOSSES,
    "bundle": list(EXAMPLES),
    "gradient_descent": list(EXAMPLES),
    "adagrad": list(EXAMPLES),
    "lagrangian_dual": PIECEWISE_LOSSES,
    "qp": PIECEWISE_LOSSES,
    "auto": list(EXAMPLES),
}
APPROXIMATE = ("gradient_descent", "adagrad", "lagrangian_dual", "qp")  # solvers with tests of their own
PAIRS = [(solver, name) for solver, names in LOSSES_BY_SOLVER.items() for name in names if solver not in APPROXIMATE]
SCALING = 1.5  # the constant column of a regularised intercept
NU = 0.35  # of one class, the only loss for which a free intercept needs a balance


def make_data(loss, n: int = 48, d: int = 4, weighted: bool = False, seed: int = 0):
    """X, y and c: noisy targets, a third of the entries of X zero, and some weights zero."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, d)) < 0.3, 0.0, rng.normal(size=(n, d)) + 0.3)
    if loss.target == "none":
        X[:, 0] += 2.0  # around the origin w = 0 is optimal
    signal = X[:, 0] + 0.5 * np.sin(3.0 * X[:, 1]) + 0.6 * rng.normal(size=n)
    c = np.full(n, 0.7)
    if weighted:
        c *= rng.uniform(0.2, 3.0, n)
        c[rng.permutation(n)[:3]] = 0.0
    targets = {
        "label": np.where(signal > np.median(signal), 1.0, -1.0),
        "count": rng.poisson(np.exp(0.4 * np.clip(signal, -3.0, 3.0))).astype(float),
        "none": np.ones(n),
        "real": signal,
    }
    return X, targets[loss.target], c


def pose(loss, X, y, c, intercept: str = "free", penalty: str = "l2") -> Problem:
    """The problem of a loss over data, dense or sparse."""
    scaling = SCALING if intercept == "regularised" else 0.0
    features = (AbsoluteDesign if penalty == "l1" else Design)(wrap(X), scaling)
    if loss.target == "none" and intercept == "free":
        return OneClass("free", scaling, NU).pose(features, y, c)
    return Risk(intercept, scaling, loss).pose(features, y, c)


def make_linear_problem(
    name: str, intercept: str = "free", form: str = "dense", weighted: bool = False, penalty: str = "l2", **shape
) -> Problem:
    """The problem of a loss by its name, over data drawn at random."""
    X, y, c = make_data(EXAMPLES[name], weighted=weighted, **shape)
    return pose(EXAMPLES[name], FORMS[form](X), y, c, intercept, penalty)


# ---- optima -------------------------------------------------------------------------------------------------


@cache
def find_optimum(
    name: str, intercept: str, weighted: bool = False, penalty: str = "l2", n: int = 48, d: int = 4, cost: float = 1.0
) -> float:
    """min P of the problem that `make_linear_problem` makes, its c times `cost`; none of our code has a part in it."""
    X, y, c = make_data(EXAMPLES[name], n, d, weighted)
    return solve_elsewhere(EXAMPLES[name], X, y, cost * c, intercept, penalty)


def solve_elsewhere(loss, X, y, c, intercept: str, penalty: str = "l2") -> float:
    """min P by a general solver; rows without weight are left out."""
    X, y, c = X[c > 0], y[c > 0], c[c > 0]
    if penalty == "l1":
        return descend_split(loss, X, y, c, intercept)
    if intercept == "regularised":
        X = np.column_stack([X, np.full(len(y), SCALING)])
    if loss.name in (*SMOOTH, "least_squares"):
        return descend_by_newton(loss, X, y, c, intercept == "free")
    return solve_program(loss, X, y, c, intercept == "free")


def solve_program(loss, X, y, c, free: bool) -> float:
    """min P of a piecewise loss, as a quadratic program."""
    if loss.target == "none" and free:
        return minimise(X, -y, np.zeros(len(y)), c, free=False, reach=1.0, shared_cost=-NU * c.sum())
    if loss.target in ("label", "none"):
        return minimise(X, -y, -np.ones(len(y)), c, free, squared=loss.name == "squared_hinge")
    over, under = (1.0 - loss.quantile, loss.quantile) if loss.name == "quantile" else (1.0, 1.0)
    bound = np.concatenate([y, -y]) + getattr(loss, "epsilon", 0.0)
    second_derivative = c / loss.threshold if loss.name == "huber" else None
    squared = loss.name == "squared_epsilon_insensitive"
    both = np.vstack([X, X]), np.repeat([1.0, -1.0], len(y)), bound, np.concatenate([over * c, under * c])
    return minimise(*both, free, squared=squared, second_derivative=second_derivative)


def differentiate(loss, f, y):
    """l, l' and l'' of a smooth loss, from the formulas in the books."""
    if loss.name == "logistic":
        t = 1.0 / (1.0 + np.exp(y * f))
        return np.logaddexp(0.0, -y * f), -y * t, t * (1.0 - t)
    if loss.name == "exponential":
        return np.exp(-y * f), -y * np.exp(-y * f), np.exp(-y * f)
    if loss.name == "poisson":
        return np.exp(f) - y * f, np.exp(f) - y, np.exp(f)
    r = f - y
    if loss.name == "least_squares":
        return 0.5 * r**2, r, np.ones_like(r)
    if loss.name == "huber":
        inner = np.abs(r) <= loss.threshold
        value = np.where(inner, 0.5 * r**2 / loss.threshold, np.abs(r) - 0.5 * loss.threshold)
        return value, np.clip(r / loss.threshold, -1.0, 1.0), inner / loss.threshold
    if loss.name == "squared_hinge":
        short = np.maximum(1.0 - y * f, 0.0)
        return short**2, -2.0 * y * short, 2.0 * (short > 0)
    beyond = np.maximum(np.abs(r) - loss.epsilon, 0.0)
    return beyond**2, 2.0 * np.sign(r) * beyond, 2.0 * (beyond > 0)


def descend_by_newton(loss, X, y, c, free: bool) -> float:
    """min P of a loss with two derivatives: Newton's method, halving its steps, to the last digit."""
    Z = np.column_stack([X, np.ones(len(y))]) if free else X
    ridge = np.append(np.ones(X.shape[1]), 0.0) if free else np.ones(X.shape[1])
    u = np.zeros(Z.shape[1])

    def measure(u):
        return 0.5 * float(ridge @ u**2) + float(c @ differentiate(loss, Z @ u, y)[0])

    for _ in range(100):
        _, slope, bend = differentiate(loss, Z @ u, y)
        gradient = ridge * u + Z.T @ (c * slope)
        step = -np.linalg.solve(np.diag(ridge) + (Z.T * (c * bend)) @ Z, gradient)
        t = 1.0
        while t > 1e-3 and measure(u + t * step) > measure(u) + 1e-4 * t * (gradient @ step):
            t *= 0.5
        u = u + t * step
        if abs(gradient @ step) <= 1e-15 * measure(u):
            break
    return measure(u)


def descend_split(loss, X, y, c, intercept: str) -> float:
    """min P with |w|_1, made smooth as w = u - v with u, v >= 0; a free intercept is a variable without bounds."""
    free = intercept == "free"
    Z = X if intercept != "regularised" else np.column_stack([X, np.full(len(y), SCALING)])
    k = Z.shape[1]
    Z = np.column_stack([Z, -Z, np.ones((len(y), 1 if free else 0))])
    price = np.append(np.ones(2 * k), np.zeros(1 if free else 0))

    def measure(z):
        value, slope, _ = differentiate(loss, Z @ z, y)
        return float(price @ z) + float(c @ value), price + Z.T @ (c * slope)

    bounds = [(0.0, None)] * (2 * k) + [(None, None)] * (1 if free else 0)
    options = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000, "maxfun": 50000, "maxcor": 30}
    z, best = np.zeros(Z.shape[1]), np.inf
    for _ in range(5):
        found = minimize(measure, z, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
        if found.fun >= best * (1.0 - 1e-12):
            break
        z, best = found.x, float(found.fun)
    return best
