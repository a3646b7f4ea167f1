"""Small problems of all classes at once, and their optima by solvers that are not ours."""

from __future__ import annotations

from functools import cache

import numpy as np
from exact_programs import solve_exactly
from linear_problems import FORMS, SCALING
from scipy.special import logsumexp

from maxmargin.model.features import ClassDesign, Design
from maxmargin.model.losses import MulticlassHinge, Softmax
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap

CLASS_LOSSES = {loss.name: loss for loss in (Softmax(), MulticlassHinge())}
CLASS_SOLVERS = {"softmax": "class_newton", "multiclass_hinge": "class_coordinate"}


def make_classes(n: int = 48, d: int = 4, k: int = 3, weighted: bool = False, seed: int = 0):
    """X, class indices and c: overlapping classes, a third of the entries of X zero, and some weights zero."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = np.where(rng.uniform(size=(n, d)) < 0.3, 0.0, rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y])
    c = np.full(n, 0.7)
    if weighted:
        c *= rng.uniform(0.2, 3.0, n)
        c[rng.permutation(n)[:3]] = 0.0
    return X, y.astype(float), c


def pose_classes(loss, X, y, c, intercept: str = "free", k: int | None = None) -> Problem:
    """One problem of all classes, with an intercept for each."""
    k = int(y.max()) + 1 if k is None else k
    design = Design(wrap(X), SCALING if intercept == "regularised" else 0.0)
    return Problem(ClassDesign(design, k), y, c, loss, np.zeros(k) if intercept == "free" else None)


def make_class_problem(name: str, intercept: str = "free", form: str = "dense", weighted: bool = False, **shape):
    """The problem of a loss by its name, over data drawn at random."""
    X, y, c = make_classes(weighted=weighted, **shape)
    return pose_classes(CLASS_LOSSES[name], FORMS[form](X), y, c, intercept)


@cache
def find_class_optimum(name: str, intercept: str, weighted: bool = False, n: int = 48, d: int = 4, k: int = 3) -> float:
    """min P of the problem that `make_class_problem` makes; none of our code has a part in it."""
    return solve_classes_elsewhere(name, *make_classes(n, d, k, weighted), intercept, k)


def solve_classes_elsewhere(name: str, X, y, c, intercept: str, k: int) -> float:
    """min P over one w a class; of free intercepts the last is zero, since the losses see differences only."""
    X, y, c = X[c > 0], y[c > 0].astype(int), c[c > 0]
    if intercept != "none":
        X = np.column_stack([X, np.full(len(y), 1.0 if intercept == "free" else SCALING)])
    ridge = np.ones((k, X.shape[1]))
    if intercept == "free":
        ridge[:, -1] = 0.0
    used = np.ones(ridge.size, bool)
    used[-1] = intercept != "free"
    return (descend_softmax if name == "softmax" else solve_hinge_program)(X, y, c, ridge.ravel(), used, k)


def descend_softmax(X, y, c, ridge, used, k: int) -> float:
    """Newton's method with the full Hessian, halving its steps, to the last digit."""
    Z, own = np.kron(np.eye(k), X), np.eye(k)[y].T  # row m n + i of Z holds x_i in the place of class m
    u = np.zeros(len(ridge))

    def measure(u):
        f = (Z @ u).reshape(k, -1)
        return 0.5 * float(ridge @ u**2) + float(c @ (logsumexp(f, axis=0) - (own * f).sum(axis=0))), f

    for _ in range(100):
        value, f = measure(u)
        share = np.exp(f - logsumexp(f, axis=0))
        gradient = ridge * u + Z.T @ (c * (share - own)).ravel()
        blocks = np.einsum("mi,ml->mli", c * share, np.eye(k)) - np.einsum("mi,li->mli", c * share, share)
        bend = np.block([[(X.T * block) @ X for block in row] for row in blocks]) + np.diag(ridge)
        step = np.zeros_like(u)
        step[used] = -np.linalg.solve(bend[np.ix_(used, used)], gradient[used])
        t = 1.0
        while t > 1e-3 and measure(u + t * step)[0] > value + 1e-4 * t * (gradient @ step):
            t *= 0.5
        u = u + t * step
        if abs(gradient @ step) <= 1e-15 * value:
            break
    return measure(u)[0]


def solve_hinge_program(X, y, c, ridge, used, k: int) -> float:
    """The quadratic program f_m - f_y + 1 <= xi, xi >= 0 of Crammer and Singer."""
    n, d = X.shape
    rows = np.zeros((n * k, k, d))
    place, rival = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    rows[np.arange(n * k), rival] += X[place]
    rows[np.arange(n * k), y[place]] -= X[place]
    right = np.where(rival == y[place], 0.0, -1.0)
    G = np.hstack([rows.reshape(n * k, -1)[:, used], -np.eye(n)[place]])
    H = np.diag(np.append(ridge[used], np.zeros(n)))
    cost = np.append(np.zeros(int(used.sum())), c)
    return solve_exactly(H, cost, G, right).value
