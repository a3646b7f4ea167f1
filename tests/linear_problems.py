"""Small linear problems for every loss, and their optima by solvers that are not ours.

Piecewise losses go to cvxopt as quadratic programs in the primal, written from the five numbers of their rows, which
`test_losses.py` compares with the formulas; the others to Newton's method in NumPy, or with |w|_1 to scipy's L-BFGS-B,
with derivatives from the formulas in the books.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from exact_programs import solve_exactly
from scipy.optimize import minimize
from textbook import minimise

from maxmargin.contracts.solvers import Solver
from maxmargin.model.features import AbsoluteDesign, Design
from maxmargin.model.formulations import OneClass, Risk
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers import SOLVERS

INTERCEPTS = ("free", "regularised", "none")
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}
PARAMETERS = {  # of losses whose defaults would hide a mistake
    "novelty": {"rho": 1.0},
    "quantile": {"quantile": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
    "squared_epsilon_insensitive": {"epsilon": 0.2},
    "huber": {"threshold": 0.4},
}
EXAMPLES = {name: loss(**PARAMETERS.get(name, {})) for name, loss in LOSSES.items()}
KINKED = tuple(name for name, loss in EXAMPLES.items() if loss.kinked)
SMOOTH = tuple(name for name, loss in EXAMPLES.items() if loss.row(np.ones(1), np.ones(1)) is None)
PIECEWISE_LOSSES = [name for name in EXAMPLES if name not in SMOOTH]
LOSSES_OF_KIND = {
    "any": list(EXAMPLES),
    "smooth": [name for name in EXAMPLES if name not in KINKED],
    "piecewise": PIECEWISE_LOSSES,
}


def list_losses(solver: type[Solver], intercept: str) -> list[str]:
    """The losses that a solver says it takes, of linear machines in memory with the penalty |w|^2 / 2."""
    takes = solver.takes
    if "memory" not in solver.forms or takes.scores == "many" or takes.penalty != "l2":
        return []
    if intercept == "free" and not takes.free_intercept:
        return []
    return [name for name in LOSSES_OF_KIND[takes.loss] if takes.structure in ("", EXAMPLES[name].structure)]


LOSSES_BY_SOLVER = {name: list_losses(solver, "free") for name, solver in SOLVERS.items()} | {"auto": list(EXAMPLES)}
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
    if loss.row(y, c) is None:
        return descend_by_newton(loss, X, y, c, intercept == "free")
    if loss.target == "none" and intercept == "free":  # whose margin is a variable too
        return minimise(X, -y, np.zeros(len(y)), c, free=False, reach=1.0, shared_cost=-NU * c.sum())
    return solve_program(loss.row(y, c), X, intercept == "free")


def solve_program(row, X, free: bool) -> float:
    """min P of a loss with the rows (p, d, e, lo, hi), as a quadratic program in the primal.

    c l(f) = max over a in [lo, hi] of -a (f + p) - d a^2/2 - e |a| is a sum over the two signs of a. For a > 0 it is
    min t^2/(2 d) + hi xi over t + xi >= -(f + p) - e and xi >= 0; without t where d = 0, and without xi where hi is
    infinite. For a < 0, -lo takes the place of hi, and f + p that of -(f + p).
    """
    p, d, e, lo, hi = row
    n, k = X.shape
    sample, side = np.tile(np.arange(n), 2), np.repeat([-1.0, 1.0], n)
    reach = np.concatenate([hi, -lo])
    used = reach > 0  # a sign that a cannot have adds nothing
    sample, side, reach = sample[used], side[used], reach[used]
    m, curved, bounded = len(sample), d[sample] > 0, np.isfinite(reach)
    assert (curved | bounded).all(), "a dual without bounds needs a curvature"
    scores = np.column_stack([X, np.ones(n)]) if free else X
    unit = np.eye(m)
    G = np.hstack([side[:, None] * scores[sample], -unit[:, curved], -unit[:, bounded]])
    slacks = np.zeros((bounded.sum(), G.shape[1]))
    slacks[:, G.shape[1] - bounded.sum() :] = -np.eye(bounded.sum())
    ridge = np.append(np.ones(k), np.zeros(scores.shape[1] - k))
    H = np.diag(np.concatenate([ridge, 1.0 / d[sample][curved], np.zeros(bounded.sum())]))
    cost = np.concatenate([np.zeros(scores.shape[1] + curved.sum()), reach[bounded]])
    h = np.concatenate([e[sample] - side * p[sample], np.zeros(bounded.sum())])
    return solve_exactly(H, cost, np.vstack([G, slacks]), h).value


DERIVATIVES = {  # l, l' and l'' of the losses without a row, from the formulas in the books
    "logistic": lambda f, y: (
        np.logaddexp(0.0, -y * f), -y / (1.0 + np.exp(y * f)), 1.0 / (2.0 + np.exp(y * f) + np.exp(-y * f))
    ),
    "exponential": lambda f, y: (np.exp(-y * f), -y * np.exp(-y * f), np.exp(-y * f)),
    "poisson": lambda f, y: (np.exp(f) - y * f, np.exp(f) - y, np.exp(f)),
}  # fmt: skip


def differentiate(loss, f, y):
    """l, l' and l'' of a loss without a kink: of one with a row, from its best dual a, which is -l'."""
    row = loss.row(y, np.ones(len(y)))
    if row is None:
        return DERIVATIVES[loss.name](f, y)
    p, d, e, lo, hi = row
    push = -(f + p)
    free = np.sign(push) * np.maximum(np.abs(push) - e, 0.0) / d
    a = np.clip(free, lo, hi)
    return a * push - 0.5 * d * a**2 - e * np.abs(a), -a, ((a == free) & (np.abs(push) >= e)) / d


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
