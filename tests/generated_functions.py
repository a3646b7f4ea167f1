"""min f(x): convex functions over random data, up to 1,000 variables, with minima by solvers that are not ours.

Piecewise linear ones go to scipy's linprog, the lasso to cvxopt as a quadratic program, smooth ones to Newton's method.
"""

from __future__ import annotations

import numpy as np
from exact_programs import solve_exactly
from scipy.optimize import linprog
from scipy.special import logsumexp, softmax
from textbook_functions import Oracle, TextbookFunction, maximal_absolute, sum_of_absolutes

# ---- functions ------------------------------------------------------------------------------------------------


def quadratic(H: np.ndarray, centre: np.ndarray) -> Oracle:
    """(x - c)'H(x - c) / 2, for a matrix or a diagonal H."""

    def fun(x):
        product = H @ (x - centre) if H.ndim == 2 else H * (x - centre)
        return 0.5 * float(product @ (x - centre)), product

    return fun


def log_sum_exp(A: np.ndarray, b: np.ndarray) -> Oracle:
    """log sum_i exp(a_i'x + b_i)."""
    return lambda x: (float(logsumexp(A @ x + b)), A.T @ softmax(A @ x + b))


def lasso(A: np.ndarray, b: np.ndarray, l1_weight: float) -> Oracle:
    """|A x - b|^2 / 2 + price |x|_1."""

    def fun(x):
        residual = A @ x - b
        return 0.5 * float(residual @ residual) + l1_weight * float(
            np.abs(x).sum()
        ), A.T @ residual + l1_weight * np.sign(x)

    return fun


def shrinkage(target: np.ndarray, l1_weight: float) -> Oracle:
    """|x - t|^2 / 2 + price |x|_1, least at the soft threshold of t."""

    def fun(x):
        away = x - target
        return 0.5 * float(away @ away) + l1_weight * float(np.abs(x).sum()), away + l1_weight * np.sign(x)

    return fun


def distances(places: np.ndarray) -> Oracle:
    """sum_i |x - p_i|, of Fermat and Weber."""

    def fun(x):
        away = x - places
        lengths = np.linalg.norm(away, axis=1)
        return float(lengths.sum()), (away / np.maximum(lengths, 1e-300)[:, None]).sum(axis=0)

    return fun


def transport(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> Oracle:
    """-sum_i s_i x_i - sum_j d_j min_i (c_ij - x_i): the dual of a transport problem, its sign turned."""

    def fun(x):
        reduced = costs - x[:, None]
        nearest = reduced.argmin(axis=0)
        served = np.bincount(nearest, demand, len(x))
        return -float(supply @ x) - float(demand @ reduced.min(axis=0)), served - supply

    return fun


def hinges(A: np.ndarray) -> Oracle:
    """mean_i max(0, 1 - a_i'x)."""

    def fun(x):
        short = 1.0 - A @ x
        return float(np.maximum(short, 0.0).mean()), -A.T @ (short > 0.0) / len(A)

    return fun


# ---- minima ---------------------------------------------------------------------------------------------------


def solve_program(cost: np.ndarray, rows: np.ndarray, limits: np.ndarray, bounds=(None, None)) -> float:
    """min cost'z with rows z <= limits, by linprog."""
    found = linprog(cost, rows, limits, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return float(found.fun)


def solve_absolutes(A: np.ndarray, b: np.ndarray, bounds=(None, None)) -> float:
    """min sum_i t_i with -t <= A x - b <= t and x within bounds."""
    m, n = A.shape
    rows = np.block([[A, -np.eye(m)], [-A, -np.eye(m)]])
    limits = np.concatenate([b, -b])
    return solve_program(np.repeat([0.0, 1.0], [n, m]), rows, limits, [bounds] * n + [(0.0, None)] * m)


def solve_chebyshev(A: np.ndarray, b: np.ndarray, bounds=(None, None)) -> float:
    """min t with -t <= A x - b <= t and x within bounds."""
    m, n = A.shape
    rows = np.column_stack([np.vstack([A, -A]), -np.ones(2 * m)])
    return solve_program(np.repeat([0.0, 1.0], [n, 1]), rows, np.concatenate([b, -b]), [bounds] * n + [(0.0, None)])


def solve_transport(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> float:
    """-min of the cost of a shipment: sums over rows are the supply, over columns the demand."""
    sources, sinks = costs.shape
    sums = np.vstack([np.kron(np.eye(sources), np.ones(sinks)), np.kron(np.ones(sources), np.eye(sinks))])
    found = linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([supply, demand]), method="highs")
    assert found.status == 0, found.message
    return -float(found.fun)


def solve_lasso(A: np.ndarray, b: np.ndarray, l1_weight: float) -> float:
    """min of the lasso, x = u - v with u, v >= 0."""
    both = np.hstack([A, -A])
    parts = both.T @ both, l1_weight - both.T @ b, -np.eye(both.shape[1]), np.zeros(both.shape[1])
    return solve_exactly(*parts).value + 0.5 * float(b @ b)


def solve_ridged_hinges(rows, limits, cost, ridge: float, bounds=None) -> float:
    """min ridge/2 |x|^2 + sum_k cost_k max(0, rows_k'x - limits_k), x within bounds."""
    m, n = rows.shape
    H = np.diag(np.repeat([ridge, 0.0], [n, m]))
    G, h = np.block([[rows, -np.eye(m)], [np.zeros((m, n)), -np.eye(m)]]), np.concatenate([limits, np.zeros(m)])
    if bounds is not None:
        unit = np.eye(n, n + m)
        G, h = np.vstack([G, -unit, unit]), np.concatenate([h, np.repeat([-bounds[0], bounds[1]], n)])
    parts = H, np.concatenate([np.zeros(n), cost]), G, h
    return solve_exactly(*parts).value


def solve_log_sum_exp(A: np.ndarray, b: np.ndarray) -> float:
    """min of log-sum-exp by Newton's method, halving its steps."""
    x, measure = np.zeros(A.shape[1]), lambda x: float(logsumexp(A @ x + b))
    for _ in range(100):
        share = softmax(A @ x + b)
        gradient = A.T @ share
        step = -np.linalg.solve((A.T * share) @ A - np.outer(gradient, gradient), gradient)
        t = 1.0
        while t > 1e-4 and measure(x + t * step) > measure(x) + 0.1 * t * (gradient @ step):
            t *= 0.5
        x = x + t * step
    return measure(x)


# ---- the catalogue --------------------------------------------------------------------------------------------


def make_spectrum(n: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    """A random positive definite matrix with eigenvalues from 1 / condition to 1."""
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (basis * np.geomspace(1.0 / condition, 1.0, n)) @ basis.T


def make_smooth(rng: np.random.Generator) -> list[TextbookFunction]:
    """Quadratics of condition 1e4 and of 1,000 variables, and log-sum-exp."""
    centre, wide = rng.normal(size=30), rng.uniform(-1.0, 1.0, 1000)
    A, b = rng.normal(size=(60, 10)), rng.normal(size=60)
    long, curves = quadratic(make_spectrum(30, 1e4, rng), centre), np.linspace(0.1, 1.0, 1000)
    return [
        TextbookFunction("long valley", long, np.zeros(30), 0.0, smooth=True, badly_scaled=True),
        TextbookFunction("wide bowl", quadratic(curves, wide), np.zeros(1000), 0.0, wide, (-2.0, 2.0), smooth=True),
        TextbookFunction(
            "log-sum-exp", log_sum_exp(A, b), np.ones(10), lambda: solve_log_sum_exp(A, b), box=(-5.0, 5.0), smooth=True
        ),
    ]


def make_linear(rng: np.random.Generator) -> list[TextbookFunction]:
    """Absolute deviations, Chebyshev's approximation, a transport problem, and a box of sides 1e-3 to 1e3."""
    A, b = rng.normal(size=(40, 8)), rng.normal(size=40)
    costs, supply, demand = rng.uniform(1.0, 10.0, (12, 15)), rng.uniform(1.0, 3.0, 12), rng.uniform(1.0, 3.0, 15)
    demand *= supply.sum() / demand.sum()
    sides, corner = 10.0 ** np.arange(-3.0, 4.0), np.ones(7)
    parts = costs, supply, demand
    ship, cheapest = transport(*parts), lambda: solve_transport(*parts)
    return [
        TextbookFunction(
            "absolute deviations", sum_of_absolutes(A, b), np.zeros(8), lambda: solve_absolutes(A, b), linear=True
        ),
        TextbookFunction("Chebyshev", maximal_absolute(A, b), np.zeros(8), lambda: solve_chebyshev(A, b), linear=True),
        TextbookFunction("transport", ship, np.zeros(12), cheapest, box=(-20.0, 20.0), linear=True),
        TextbookFunction(
            "scales", sum_of_absolutes(np.diag(sides), sides), np.zeros(7), 0.0, corner, linear=True, badly_scaled=True
        ),
    ]


def make_kinked(rng: np.random.Generator) -> list[TextbookFunction]:
    """The lasso, soft thresholds in 1,000 dimensions, and the point nearest to many: one of them, by its weight."""
    A, b = rng.normal(size=(30, 20)) / np.sqrt(30.0), rng.normal(size=30)
    target, place = 2.0 * rng.normal(size=1000), np.array([1.0, -2.0, 0.5])
    shrink, rest = shrinkage(target, 0.7), np.maximum(np.abs(target) - 0.7, 0.0) * np.sign(target)
    around = place + np.vstack([np.eye(3), -2.0 * np.eye(3)])  # their unit vectors cancel
    places = np.vstack([around, np.tile(place, (2, 1))])
    return [
        TextbookFunction("lasso", lasso(A, b, 0.2), np.zeros(20), lambda: solve_lasso(A, b, 0.2), box=(-5.0, 5.0)),
        TextbookFunction("soft thresholds", shrink, np.zeros(1000), shrink(rest)[0], rest),
        TextbookFunction("distances", distances(places), np.zeros(3), 9.0, place, (-5.0, 5.0)),
    ]


def make_generated(seed: int = 0) -> list[TextbookFunction]:
    """All of them, from one seed."""
    rng = np.random.default_rng(seed)
    return [*make_smooth(rng), *make_linear(rng), *make_kinked(rng)]


GENERATED = {function.name: function for function in make_generated()}
