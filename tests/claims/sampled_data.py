"""Random data of the worst kinds: samples, labels, targets, weights, and parameters of fits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import scipy.sparse as sp
from exact_numbers import ONE, exact

FIT_SECONDS = 0.2  # time limit of a fit
MAX_FIRST_ORDER_ITERATIONS = 1000  # of a first-order method, which would otherwise use all of its time


def draw_power(rng: np.random.Generator, low: float, high: float) -> float:
    """10^u for u uniform between `low` and `high`; half of the time u is rounded to an integer."""
    u = rng.uniform(low, high)
    return float(10.0 ** (np.round(u) if rng.random() < 0.5 else u))


def draw_samples(rng: np.random.Generator, drawn: dict, largest: int = 12, dense: bool = False):
    """Random X of one of many kinds: far away, tiny, huge, with duplicates, dates, pixels, constant columns."""
    n, d = int(rng.integers(2, largest + 1)), int(rng.integers(1, 5))
    n = 30 if largest >= 10 and rng.random() < 0.01 else n
    kind = str(rng.choice(["normal", "normal", "far", "date", "bimodal", "pixels", "duplicates", "constant", "grid"]))
    X = rng.normal(size=(n, d))
    if kind == "far":
        X = X + draw_power(rng, 0, 8) * rng.choice([-1.0, 1.0], d)
    elif kind == "date":
        X[:, 0] = 1.7e9 + 86400.0 * rng.integers(0, 400, n)
    elif kind == "bimodal":
        X = X + rng.choice([-1e6, 1e6], (n, 1))
    elif kind == "pixels":
        X = 16.0 * rng.integers(0, 17, (n, d))
    elif kind == "duplicates":
        X = X[rng.integers(0, max(n // 2, 1), n)]
    elif kind == "constant":
        X[:, rng.integers(d)] = draw_power(rng, -8, 8)
    elif kind == "grid":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    scale = draw_power(rng, -8, 8) if rng.random() < 0.3 else 1.0
    X = X * scale
    form = "dense" if dense else str(rng.choice(["dense", "dense", "dense", "float32", "csr"]))
    drawn.update(n=n, d=d, kind=kind, scale=scale, form=form)
    return X.astype(np.float32) if form == "float32" else sp.csr_array(X) if form == "csr" else X


def to_exact(X) -> np.ndarray:
    """The entries of X as exact numbers."""
    return exact(X.toarray() if sp.issparse(X) else X)


def draw_labels(rng: np.random.Generator, X, n_classes: int = 2) -> np.ndarray:
    """Labels in the order of the first feature, or at random; each class occurs if there are enough samples."""
    first = np.asarray(X.toarray() if sp.issparse(X) else X, float)[:, 0]
    order = np.argsort(first, kind="stable") if rng.random() < 0.4 else rng.permutation(len(first))
    y = np.empty(len(first), int)
    y[order] = np.arange(len(first)) * n_classes // len(first)
    return y


def draw_targets(rng: np.random.Generator, n: int, drawn: dict) -> np.ndarray:
    """Real targets of any size, sometimes far from zero."""
    size = draw_power(rng, -6, 6) if rng.random() < 0.4 else 1.0
    y = size * rng.normal(size=n) + (draw_power(rng, 0, 7) if rng.random() < 0.2 else 0.0)
    drawn["target"] = size
    return y


def draw_weights(rng: np.random.Generator, n: int, drawn: dict) -> np.ndarray | None:
    """None, or weights from 1e-3 to 1e3, some of them zero."""
    if rng.random() < 0.65:
        return None
    weight = 10.0 ** rng.uniform(-3, 3, n)
    if rng.random() < 0.3 and n > 4:
        weight[rng.integers(0, n)] = 0.0
    drawn["weighted"] = True
    return weight


def draw_common(rng: np.random.Generator, drawn: dict, solvers: tuple[str, ...], hardest: float = 8.0) -> dict:
    """C, tol, the solver and the limits, which every model has."""
    C = draw_power(rng, -hardest, hardest) if rng.random() < 0.6 else 1.0
    solver = str(rng.choice(["auto", "auto", *solvers]))
    limit = MAX_FIRST_ORDER_ITERATIONS if solver in ("gradient_descent", "adagrad", "lagrangian_dual") else -1
    common = {"C": C, "tol": draw_power(rng, -12, -2), "solver": solver, "max_iter": limit, "max_seconds": FIT_SECONDS}
    drawn.update(C=C, tol=common["tol"], solver=solver)
    return common


def weigh(C: float, weight: np.ndarray | None, n: int) -> np.ndarray:
    """c = C times the weight, in exact arithmetic."""
    return Decimal(float(C)) * (np.full(n, ONE) if weight is None else exact(weight))
