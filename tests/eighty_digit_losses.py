"""Losses and their conjugates in eighty digits, and random arguments for them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from exact_numbers import ONE, ZERO

from maxmargin.model.losses import Exponential, Logistic, MulticlassHinge, Poisson, Softmax
from maxmargin.runtime.rounding import bound_sum

SMALL = Decimal("1e-12")  # an argument of log(1 + x) below which its series is summed
SINGLE = [Logistic(), Exponential(), Poisson()]
CLASSES = 4
COSTS = np.random.default_rng(7).uniform(0.1, 5.0, (CLASSES, CLASSES))
SCALES = np.random.default_rng(8).uniform(0.1, 2.0, (CLASSES, CLASSES))
MANY = [Softmax(), MulticlassHinge(), MulticlassHinge(COSTS, SCALES)]


def name_loss(loss) -> str:
    """The name of a loss, and whether errors have costs of their own."""
    return loss.name + ("" if getattr(loss, "plain", True) else " with costs")


def grant(bound: float) -> Decimal:
    """A bound with the least that is added for roundings of bounds, where there is a single row."""
    return Decimal(float(bound)) * Decimal(1.0 + bound_sum(16))


def log_one_plus(x: Decimal) -> Decimal:
    """log(1 + x), also where 1 + x has no digits of x."""
    if abs(x) > SMALL:
        return (ONE + x).ln()
    return sum((-((-x) ** k) / k for k in range(1, 7)), ZERO)


def entropy(t: Decimal) -> Decimal:
    """t log t."""
    return t * t.ln() if t > 0 else ZERO


def find_share(loss, a: Decimal, y: Decimal, c: Decimal) -> Decimal:
    """t in whose terms the conjugate of a loss of one score is written."""
    return y - a / c if loss.name == "poisson" else y * a / c


def measure_conjugate(loss, a: Decimal, y: Decimal, c: Decimal) -> Decimal:
    """conj(a) of one sample with one score."""
    t = find_share(loss, a, y, c)
    if loss.name == "logistic":
        return c * (entropy(t) + ((ONE - t) * log_one_plus(-t) if t < 1 else ZERO))
    return c * (entropy(t) - t)


def draw_scores(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Of either sign, from 1e-8 to 700 in size; all of a sample far from zero and near each other, in some columns."""
    f = rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-8, np.log10(700.0), shape)
    return np.where(rng.random(shape[-1]) < 0.3, np.atleast_2d(f)[0] + rng.normal(size=shape), f)


def draw_targets(rng: np.random.Generator, loss, n: int) -> np.ndarray:
    """Labels or counts."""
    if loss.target == "label":
        return rng.choice([-1.0, 1.0], n)
    return np.round(10.0 ** rng.uniform(0, 4, n)) * rng.choice([0.0, 1.0, 1.0, 1.0], n)


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """From 1e-6 to 1e6."""
    return 10.0 ** rng.uniform(-6, 6, n)


def draw_metric(rng: np.random.Generator, k: int, condition: float) -> np.ndarray:
    """A symmetric matrix with eigenvalues from 1 / condition to 1."""
    Q = np.linalg.qr(rng.normal(size=(k, k)))[0]
    M = (Q * np.geomspace(1.0, 1.0 / condition, k)) @ Q.T
    return 0.5 * (M + M.T)


def draw_simplex(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Shares of classes that sum to one: inside, near to a corner or a side, and at a corner."""
    n, columns = len(y), np.arange(len(y))
    t = rng.dirichlet(np.ones(CLASSES), n).T
    own, other = np.zeros_like(t), np.zeros_like(t)
    own[y, columns], other[(y + 1) % CLASSES, columns] = 1.0, 1.0
    near = 10.0 ** rng.uniform(-17, -1, n)
    kinds = [t, rng.dirichlet(np.full(CLASSES, 0.05), n).T, own, other]
    kinds += [corner + near * (t - corner) for corner in (own, other)]
    return np.choose(rng.integers(0, len(kinds), n), kinds)


def solve_exactly(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """x with A x = b, by elimination; None where A is singular."""
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        if rows[k][k] == 0:
            return None
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [mine - rows[i][k] * its for mine, its in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def write_fractions(matrix: np.ndarray) -> list[list[Fraction]]:
    """The numbers of a matrix."""
    return [[Fraction(float(value)) for value in row] for row in matrix]
