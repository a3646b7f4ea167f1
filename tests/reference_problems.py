"""What the tests hold the library against: a general QP solver, and small random problems for every loss."""

from __future__ import annotations

import numpy as np
from exact_programs import solve_exactly

from maxmargin.model.features import Gram
from maxmargin.model.kernels import Linear
from maxmargin.model.losses import LOSSES, EpsilonInsensitive, Hinge, Huber, Loss, Novelty, Quantile
from maxmargin.model.problem import Problem

VARIANTS = (Hinge(margin=0.5), Novelty(rho=1.0), Quantile(0.2), EpsilonInsensitive(0.4), Huber(0.3))
ALL_LOSSES = (*(loss() for loss in LOSSES.values()), *VARIANTS)
ROW_LOSSES = tuple(loss for loss in ALL_LOSSES if loss.row(np.ones(1), np.ones(1)) is not None)
INTERCEPTS = ("free", "none", "regularised")


def say(loss: Loss) -> str:
    """A readable test id."""
    return repr(loss)


def make_targets(loss: Loss, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets of the kind the loss wants, noisy, and both labels present."""
    signal = X[:, 0] + 0.5 * np.sin(3.0 * X[:, -1]) + 0.5 * rng.normal(size=len(X))
    if loss.target == "label":
        labels = np.where(signal > np.median(signal), 1.0, -1.0)
        labels[:2] = 1.0, -1.0
        return labels
    if loss.target == "count":
        return rng.poisson(np.exp(0.3 * signal)).astype(float)
    if loss.target == "none":
        return np.ones(len(X))
    return signal


def make_weights(n: int, weighted: bool, rng: np.random.Generator) -> np.ndarray:
    """C = 1, or weights of very different size, some of them zero."""
    c = np.ones(n)
    if weighted:
        c = 10.0 ** rng.uniform(-1.0, 1.0, n)
        c[rng.permutation(n)[:2]] = 0.0
    return c


def make_balance(loss: Loss, c: np.ndarray, intercept: str):
    """What the duals sum to: 0 for a free intercept, half of what is possible where only one sign is allowed."""
    if intercept != "free":
        return None
    return 0.5 * c.sum() if loss.target == "none" else 0.0


def make_problem(loss: Loss, kernel=None, intercept: str = "free", weighted: bool = False, n: int = 24, seed: int = 0):
    """A random problem of n samples in three dimensions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = make_targets(loss, X, rng)
    c = make_weights(n, weighted, rng)
    features = Gram.from_data(Linear() if kernel is None else kernel, X, 1.0 if intercept == "regularised" else 0.0)
    return Problem(features, y, c, loss, make_balance(loss, c, intercept))


def make_nu_classification(features, y: np.ndarray, c: np.ndarray, nu: float) -> Problem:
    """NuSVC: one layer of hinges at margin 0 for each class, each with half of nu sum(c)."""
    sides = np.array([[1.0], [-1.0]])
    half = 0.5 * nu * c.sum()
    weights = np.where(sides == y, c, 0.0)
    return Problem(features, np.broadcast_to(sides, weights.shape).copy(), weights, Hinge(0.0), half * sides[:, 0])


def make_nu_regression(features, y: np.ndarray, c: np.ndarray, nu: float) -> Problem:
    """NuSVR: one layer for each wall of the tube."""
    half = 0.5 * nu * c.sum()
    walls = Quantile(np.array([[1.0], [0.0]]))
    return Problem(features, np.stack([y, y]), np.stack([c, c]), walls, np.array([half, -half]))


def random_duals(problem: Problem, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Feasible duals at random: some at their bounds, some inside."""
    row = problem.row
    a = problem.feasible(2.0 * scale * problem.c * rng.normal(size=problem.y.shape))
    return np.clip(a, row.lo, row.hi)


def inner_duals(problem: Problem, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Feasible duals at random, none of them at a bound other than zero."""
    middle = 0.5 * problem.c if problem.loss.target == "none" else 0.0
    return 0.999 * random_duals(problem, rng, scale) + 0.001 * middle


def solve_qp(K: np.ndarray, row, balance=None) -> tuple[np.ndarray, float]:
    """The duals and max D by a general solver, for duals of shape (n,) or (layers, n) over one kernel matrix.

    |a| is written as u + v with a = u - v, u, v >= 0, wherever it appears.
    """
    p, d, e, lo, hi = (np.atleast_2d(part) for part in row)
    layers, n = p.shape
    split = np.flatnonzero(e.ravel() > 0)
    unit = np.eye(layers * n)
    spread = np.concatenate([unit, -unit[:, split]], axis=1)
    low = np.concatenate([lo.ravel(), np.zeros(len(split))])
    low[split] = 0.0
    high = np.concatenate([hi.ravel(), np.maximum(-lo.ravel()[split], 0.0)])
    cost = spread.T @ p.ravel()
    cost[split] += e.ravel()[split]
    cost[layers * n :] += e.ravel()[split]
    H = spread.T @ (np.tile(K, (layers, layers)) + np.diag(d.ravel())) @ spread
    return _solve_in_box(H, cost, low, high, _equalities(spread, balance, layers, n), spread, (layers, n))


def _equalities(spread: np.ndarray, balance, layers: int, n: int):
    """sum of each layer = its balance, in the variables of the QP."""
    if balance is None:
        return None
    sums = np.kron(np.eye(layers), np.ones((1, n))) @ spread
    return sums, np.atleast_1d(np.asarray(balance, float))


def _solve_in_box(H, cost, low, high, equalities, spread, shape) -> tuple[np.ndarray, float]:
    """min 1/2 u'Hu + cost'u within bounds and equalities."""
    free = np.flatnonzero(low < high)
    H, cost, spread, low, high = H[np.ix_(free, free)], cost[free], spread[:, free], low[free], high[free]
    unit = np.eye(len(free))
    below, above = np.isfinite(low), np.isfinite(high)
    G = np.concatenate([-unit[below], unit[above]])
    h = np.concatenate([-low[below], high[above]])
    A, b = (None, None) if equalities is None else (equalities[0][:, free], equalities[1])
    optimum = solve_exactly(H, cost, G, h, A, b)
    return (spread @ optimum.x).reshape(shape), -optimum.value
