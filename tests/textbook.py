"""The five models as their textbooks write them: min P by a general QP solver, in the primal, without our loss table.

With K = Phi Phi', every model is

    min 1/2 |w|^2 + sum_k cost_k xi_k (or xi_k^2) + shared_cost g
    s_k (f_i(k) - t_i(k)) + reach g <= bound_k + xi_k,   xi >= 0,   f = Phi w + b

with g the margin rho or the tube epsilon where that is free, and t the quadratic part of Huber's loss.
"""

from __future__ import annotations

import numpy as np
from exact_programs import solve_exactly

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

CLASSIFIERS = ("SVC", "NuSVC")
MODELS = {
    "SVC hinge": SVC(C=2.0, loss="hinge"),
    "SVC squared_hinge": SVC(C=0.7, loss="squared_hinge"),
    "NuSVC": NuSVC(nu=0.5917),
    "SVR epsilon_insensitive": SVR(C=3.0, epsilon=0.2),
    "SVR squared_epsilon_insensitive": SVR(C=0.8, epsilon=0.2, loss="squared_epsilon_insensitive"),
    "SVR absolute": SVR(C=1.5, loss="absolute"),
    "SVR huber": SVR(C=2.0, loss="huber", threshold=0.4),
    "SVR quantile": SVR(C=2.0, loss="quantile", quantile=0.2),
    "NuSVR": NuSVR(nu=0.3917, C=2.0),
    "OneClassSVM": OneClassSVM(nu=0.2917),
}


def make_data(name: str, n: int = 26, seed: int = 0, weighted: bool = False):
    """X, y and weights for a model: noisy targets; some weights are zero, none of the classes vanishes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    signal = X[:, 0] + 0.5 * np.sin(3.0 * X[:, 1]) + 0.4 * rng.normal(size=n)
    weight = None
    if weighted:
        weight = rng.uniform(0.2, 3.0, n)
        weight[rng.permutation(n)[:4]] = 0.0
    if name.split()[0] in CLASSIFIERS:
        return X, np.where(signal > np.median(signal), 1, -1), weight
    if name == "OneClassSVM":
        X = X + 3.0  # around the origin w = 0 is optimal for the linear kernel
    return X, signal, weight


def expand(K: np.ndarray) -> np.ndarray:
    """Phi with Phi Phi' = K."""
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def solve_textbook(model, K: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> float:
    """min P of a model over the kernel matrix K, by cvxopt; rows of weight zero are left out."""
    if weight is not None:
        alive = weight > 0
        K, y, weight = K[np.ix_(alive, alive)], y[alive], weight[alive]
    s = np.ones(len(y)) if weight is None else weight
    Phi, kind, settings = expand(K), type(model).__name__, model.get_params()
    intercept = settings.get("intercept", "none")
    if intercept == "regularised":
        Phi = np.column_stack([Phi, np.ones(len(y))])
    c = s * settings.get("C", 1.0)
    loss = settings.get("loss", kind)
    if kind in ("SVC", "NuSVC", "OneClassSVM"):
        side = -np.ones(len(y)) if kind == "OneClassSVM" else -np.where(y > 0, 1.0, -1.0)
        one_sided = {"Phi": Phi, "side": side, "free": intercept == "free", "cost": c}
        if kind == "SVC":
            return minimise(**one_sided, bound=-np.ones(len(y)), squared=loss == "squared_hinge")
        return minimise(**one_sided, bound=np.zeros(len(y)), reach=1.0, shared_cost=-model.nu * s.sum())
    over, under = (1.0 - model.quantile, model.quantile) if loss == "quantile" else (1.0, 1.0)
    half_width = settings.get("epsilon", 0.0) if "epsilon_insensitive" in loss else 0.0
    tube = {
        "Phi": np.vstack([Phi, Phi]),
        "side": np.repeat([1.0, -1.0], len(y)),
        "bound": np.concatenate([y, -y]) + half_width,
        "cost": np.concatenate([over * c, under * c]),
        "free": intercept == "free",
    }
    if kind == "NuSVR":
        return minimise(**tube, reach=-1.0, shared_cost=model.nu * c.sum())
    second_derivative = c / model.threshold if loss == "huber" else None
    return minimise(**tube, squared=loss == "squared_epsilon_insensitive", second_derivative=second_derivative)


def minimise(Phi, side, bound, cost, free, squared=False, reach=0.0, shared_cost=0.0, second_derivative=None) -> float:
    """The QP of the module's docstring; `second_derivative` is the curvature of t."""
    m, d = Phi.shape
    smooth = (
        np.zeros((m, 0))
        if second_derivative is None
        else -side[:, None] * np.tile(np.eye(len(second_derivative)), (m // len(second_derivative), 1))
    )
    bias = side[:, None] if free else np.zeros((m, 0))
    shared = np.full((m, 1), reach) if reach else np.zeros((m, 0))
    sizes = [d, bias.shape[1], smooth.shape[1], shared.shape[1], m]
    rows = np.hstack([side[:, None] * Phi, bias, smooth, shared, -np.eye(m)])
    signs = -np.eye(sum(sizes))[d + sizes[1] + sizes[2] :]
    curvature = [
        np.ones(d),
        np.zeros(sizes[1]),
        np.zeros(0) if second_derivative is None else second_derivative,
        np.zeros(sizes[3]),
    ]
    curvature.append(2.0 * cost if squared else np.zeros(m))
    linear = [np.zeros(sum(sizes[:3])), np.full(sizes[3], shared_cost), np.zeros(m) if squared else cost]
    G, h = np.vstack([rows, signs]), np.concatenate([bound, np.zeros(len(signs))])
    parts = (np.diag(np.concatenate(curvature)), np.concatenate(linear), G, h)
    return solve_exactly(*parts).value
