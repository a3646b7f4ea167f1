"""P(w, b) of every model in eighty digits, from the formulas of the documents, and the least P that can be found.

The least P found is P at some point, so it is never below the optimum P*. Interior point methods, cutting planes and
Newton's method in eighty digits find P* to twenty digits and more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations, product

import numpy as np
from exact_numbers import (
    HALF,
    INFINITY,
    ONE,
    TWO,
    ZERO,
    BoxProgram,
    cut_planes,
    descend,
    exponential,
    logarithm,
    positive_part,
    solve_in_box,
    total,
    zeros,
)

# ---- kernels and losses -----------------------------------------------------------------------------------------


def kernel_matrix(kernel: str, X: np.ndarray, gamma=ZERO, coef0=ZERO, degree: int = 3) -> np.ndarray:
    """k(x_i, x_j) for all pairs of rows."""
    if kernel in ("linear", "poly"):
        dots = X @ X.T
        return dots if kernel == "linear" else (gamma * dots + coef0) ** degree
    apart = X[:, None, :] - X[None, :, :]
    distances = (abs(apart) if kernel == "laplacian" else apart * apart).sum(axis=2)
    return exponential(-gamma * distances)


def log1p_exp(u: np.ndarray) -> np.ndarray:
    """log(1 + exp(u)), for u of any size."""
    return positive_part(u) + logarithm(ONE + exponential(-abs(u)))


LOSSES: dict[str, Callable] = {  # l(f; y), where t is the parameter of the loss
    "hinge": lambda f, y, t: positive_part(t - y * f),
    "squared_hinge": lambda f, y, t: positive_part(ONE - y * f) ** 2,
    "novelty": lambda f, y, t: positive_part(-f),
    "least_squares": lambda f, y, t: HALF * (f - y) ** 2,
    "absolute": lambda f, y, t: abs(f - y),
    "quantile": lambda f, y, t: t * positive_part(y - f) + (ONE - t) * positive_part(f - y),
    "epsilon_insensitive": lambda f, y, t: positive_part(abs(f - y) - t),
    "squared_epsilon_insensitive": lambda f, y, t: positive_part(abs(f - y) - t) ** 2,
    "huber": lambda f, y, t: np.where(abs(f - y) <= t, (f - y) ** 2 / (TWO * t), abs(f - y) - HALF * t),
    "logistic": lambda f, y, t: log1p_exp(-y * f),
    "exponential": lambda f, y, t: exponential(-y * f),
    "poisson": lambda f, y, t: exponential(f) - y * f,
}
SMOOTH: dict[str, Callable] = {  # l' and l'' of losses that are no rows of the loss table
    "logistic": lambda f, y: (-y / (ONE + exponential(y * f)), ONE / (TWO + exponential(f) + exponential(-f))),
    "exponential": lambda f, y: (-y * exponential(-y * f), exponential(-y * f)),
    "poisson": lambda f, y: (exponential(f) - y, exponential(f)),
}
UNBOUNDED = ("squared_hinge", "least_squares", "squared_epsilon_insensitive")


def write_conjugate(loss: str, y: np.ndarray, c: np.ndarray, t) -> tuple[np.ndarray, ...]:
    """p, d, e, lo, hi of conj(a) = p a + d a^2/2 + e |a| on [lo, hi], as in the table of docs/design.md."""
    none, t = zeros(len(y)), np.broadcast_to(np.asarray(t, object), y.shape)
    wide = np.full(len(y), INFINITY)
    p, d, e, lo, hi = -y, none, none, -c, c
    if loss == "hinge":
        p, lo, hi = -t * y, np.minimum(ZERO, y * c), np.maximum(ZERO, y * c)
    elif loss == "novelty":
        p, lo = none, none
    elif loss == "quantile":
        lo, hi = -(ONE - t) * c, t * c
    elif loss in UNBOUNDED:
        d, lo, hi = (ONE if loss == "least_squares" else HALF) / c, -wide, wide
    if loss == "squared_hinge":
        lo, hi = np.where(y > 0, ZERO, -wide), np.where(y > 0, wide, ZERO)
    elif loss == "huber":
        d = t / c
    elif "epsilon" in loss:
        e = t + none
    return p, d, e, lo, hi


# ---- losses of single scores ------------------------------------------------------------------------------------


@dataclass
class Objective:
    """P = 1/2 |w|^2 + sum_k c_k l(f_k; y_k) + balance.b, f_k = sign_k <w, phi(x_index_k)> + b_layer_k.

    `K` is the kernel matrix of the samples, plus the square of a constant column where the intercept is regularised.
    `balance` is empty where no intercept is free.
    """

    K: np.ndarray
    y: np.ndarray
    c: np.ndarray
    loss: str
    parameter: object = ONE
    balance: np.ndarray = field(default_factory=lambda: zeros(0))
    index: np.ndarray | None = None
    sign: np.ndarray | None = None
    layer: np.ndarray | None = None

    def __post_init__(self):
        m = len(self.y)
        self.index = np.arange(m) if self.index is None else self.index
        self.sign = np.full(m, ONE) if self.sign is None else self.sign
        self.layer = np.zeros(m, int) if self.layer is None else self.layer
        counted = np.flatnonzero(self.c > 0)  # rows without weight add nothing
        parameter = np.broadcast_to(np.asarray(self.parameter, object), self.y.shape)
        self.y, self.c, self.index, self.sign, self.layer, self.parameter = (
            part[counted] for part in (self.y, self.c, self.index, self.sign, self.layer, parameter)
        )

    def value(self, scores: np.ndarray, penalty: Decimal, b: np.ndarray) -> Decimal:
        """P, computed from <w, phi(x_i)>, R(w) and b."""
        f = self.sign * scores[self.index] + (b[self.layer] if len(self.balance) else ZERO)
        shift = total(self.balance * b) if len(self.balance) else ZERO
        return penalty + total(self.c * LOSSES[self.loss](f, self.y, self.parameter)) + shift

    def value_of_kernel(self, coef: np.ndarray, b: np.ndarray) -> Decimal:
        """P at w = sum_i coef_i phi(x_i)."""
        scores = self.K @ coef
        return self.value(scores, HALF * (coef @ scores), b)

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of the samples, from one dual per row."""
        coef = zeros(len(self.K))
        np.add.at(coef, self.index, self.sign * a)
        return coef

    def dual(self, a: np.ndarray) -> Decimal:
        """D = -1/2 |sum_k a_k sign_k phi|^2 - sum_k conj_k(a_k), for duals within their bounds."""
        p, d, e, _, _ = write_conjugate(self.loss, self.y, self.c, self.parameter)
        coef = self.combine(a)
        return -HALF * (coef @ self.K @ coef) - total(p * a + HALF * d * a * a + e * abs(a))

    def least(self) -> Decimal:
        """P at the point that the dual quadratic program yields."""
        return self.solve()[0]

    def solve(self) -> tuple[Decimal, np.ndarray, np.ndarray]:
        """The solution of the dual quadratic program: P at its point, one dual per row, and the intercepts."""
        p, d, e, lo, hi = write_conjugate(self.loss, self.y, self.c, self.parameter)
        m, split = len(p), np.flatnonzero(e > 0)
        spread = np.hstack([np.diag(np.full(m, ONE)) + ZERO, zeros(m, len(split))])
        spread[split, m + np.arange(len(split))] = -ONE
        K = self.sign[:, None] * self.K[np.ix_(self.index, self.index)] * self.sign
        cost = p @ spread
        cost[split] += e[split]
        cost[m:] += e[split]
        low, high = np.concatenate([lo, zeros(len(split))]), np.concatenate([hi, -lo[split]])
        low[split] = ZERO
        layers = np.array([np.where(self.layer == k, ONE, ZERO) for k in range(len(self.balance))], object)
        A = layers.reshape(-1, m) @ spread if len(self.balance) else zeros(0, spread.shape[1])
        x, y = solve_in_box(BoxProgram(spread.T @ (K + np.diag(d)) @ spread, cost, low, high, A, self.balance))
        a = spread @ x
        return self.value_of_kernel(self.combine(a), y), a, y


@dataclass
class SmoothObjective:
    """P = R(w) + sum_i c_i l(f_i; y_i) over linear features, R = 1/2 |w|^2 or |w|_1, for a smooth loss."""

    Z: np.ndarray  # rows (x_i, scaling), and (x_i, 1) where the intercept is free
    y: np.ndarray
    c: np.ndarray
    loss: str
    free: bool
    absolute: bool = False
    parameter: object = ONE

    def value(self, v: np.ndarray) -> Decimal:
        """P at v = (w, w_0) or (w, b)."""
        held = v[:-1] if self.free else v
        penalty = total(abs(held)) if self.absolute else HALF * total(held * held)
        return penalty + total(self.c * LOSSES[self.loss](self.Z @ v, self.y, self.parameter))

    def least(self, start: np.ndarray) -> Decimal:
        """The least P by Newton's method from `start`; with |w|_1 the signs and zeros of `start` are kept."""
        moving = (start != 0) | ~np.full(len(start), self.absolute)
        moving[-1] |= self.free
        held = np.full(len(start), ONE)
        held[-1] = ZERO if self.free else ONE
        signs = np.array([ONE if v > 0 else -ONE for v in start], object)

        def expand(u: np.ndarray) -> np.ndarray:
            v = zeros(len(start))
            v[moving] = u
            return v

        def derivatives(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            v, Z = expand(u), self.Z[:, moving]
            slope, second_derivative = differentiate(self.loss, self.Z @ v, self.y, self.parameter)
            pull = held * (signs if self.absolute else v)
            curve = np.diag(zeros(len(u)) if self.absolute else held[moving])
            return pull[moving] + (self.c * slope) @ Z, curve + Z.T @ ((self.c * second_derivative)[:, None] * Z)

        return descend(lambda u: self.value(expand(u)), derivatives, start[moving])[0]


def differentiate(loss: str, f: np.ndarray, y: np.ndarray, t) -> tuple[np.ndarray, np.ndarray]:
    """l' and l'' of a smooth loss, piecewise quadratic ones included."""
    if loss in SMOOTH:
        return SMOOTH[loss](f, y)
    r = f - y
    if loss == "squared_hinge":
        left = positive_part(ONE - y * f)
        return -TWO * y * left, np.where(left > 0, TWO, ZERO)
    if loss == "squared_epsilon_insensitive":
        left = positive_part(abs(r) - t)
        return np.where(r > 0, TWO, -TWO) * left, np.where(left > 0, TWO, ZERO)
    if loss == "huber":
        inside = abs(r) <= t
        return np.where(inside, r / t, np.where(r > 0, ONE, -ONE)), np.where(inside, ONE / t, ZERO)
    return r, np.full(len(r), ONE)


# ---- losses of k scores -----------------------------------------------------------------------------------------


@dataclass
class ClassObjective:
    """P = 1/2 sum_k |w_k|^2 + sum_i c_i l(f_1i, ..., f_ki; y_i) over linear features."""

    Z: np.ndarray
    y: np.ndarray  # class indices, or targets of shape (n, k)
    c: np.ndarray
    loss: str
    k: int
    free: bool
    costs: np.ndarray | None = None
    scales: np.ndarray | None = None
    M: np.ndarray | None = None

    @property
    def held(self) -> np.ndarray:
        """1 for each entry of (w, b) that is in the penalty, class by class; 0 for free intercepts."""
        held = np.full((self.k, self.Z.shape[1]), ONE)
        held[:, -1] = ZERO if self.free else ONE
        return held.ravel()

    def risk(self, v: np.ndarray) -> tuple[Decimal, np.ndarray]:
        """sum_i c_i l and a subgradient."""
        F, rows = self.Z @ v.reshape(self.k, -1).T, np.arange(len(self.Z))
        if self.loss == "multivariate":
            R = F - self.y
            G = R @ self.M
            return HALF * total(self.c[:, None] * R * G), ((self.c[:, None] * G).T @ self.Z).ravel()
        own = F[rows, self.y][:, None]
        if self.loss == "softmax":
            top = np.array([max(row) for row in F], object)[:, None]
            parts = exponential(F - top)
            sums = parts.sum(axis=1)
            G = parts / sums[:, None]
            G[rows, self.y] -= ONE
            return total(self.c * (top[:, 0] + logarithm(sums) - own[:, 0])), ((self.c[:, None] * G).T @ self.Z).ravel()
        raised = self.scales[self.y] * (F - own + self.costs[self.y])
        raised[rows, self.y] = ZERO
        worst = np.array([max(range(self.k), key=lambda j: row[j]) for row in raised])
        G = zeros(*F.shape)
        pull = self.c * self.scales[self.y, worst]
        np.add.at(G, (rows, worst), pull)
        np.add.at(G, (rows, self.y), -pull)
        return total(self.c * raised[rows, worst]), (G.T @ self.Z).ravel()

    def value(self, v: np.ndarray) -> Decimal:
        """P at v, the rows (w_k, b_k) one after the other."""
        return HALF * total(self.held * v * v) + self.risk(v)[0]

    def least(self, start: np.ndarray) -> Decimal:
        """The least P, by cutting planes for the hinge and by Newton's method for the smooth losses."""
        if self.loss == "hinge":
            far = [start]
            for k in range(self.k if self.free else 0):
                for way in (Decimal("1e12"), Decimal("-1e12")):
                    far.append(start.copy())
                    far[-1].reshape(self.k, -1)[k, -1] += way
            return cut_planes(self.risk, far, self.held == 0)[0]

        def derivatives(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.held * v + self.risk(v)[1], np.diag(self.held) + self.second_derivative(v)

        return descend(self.value, derivatives, start)[0]

    def second_derivative(self, v: np.ndarray) -> np.ndarray:
        """The second derivatives of the risk."""
        d = self.Z.shape[1]
        if self.loss == "multivariate":
            return np.kron(self.M, self.Z.T @ (self.c[:, None] * self.Z))
        F = self.Z @ v.reshape(self.k, -1).T
        parts = exponential(F - np.array([max(row) for row in F], object)[:, None])
        share = parts / parts.sum(axis=1)[:, None]
        H = zeros(self.k * d, self.k * d)
        for j, m in product(range(self.k), repeat=2):
            weight = self.c * share[:, j] * ((ONE if j == m else ZERO) - share[:, m])
            H[j * d : (j + 1) * d, m * d : (m + 1) * d] = self.Z.T @ (weight[:, None] * self.Z)
        return H


# ---- losses of whole lists --------------------------------------------------------------------------------------


@dataclass
class ListObjective:
    """P = 1/2 |w|^2 + R(Z v), where R is a maximum over labellings or a sum over pairs; v = (w, b) or (w, w_0)."""

    Z: np.ndarray
    free: bool
    cut: Callable  # f -> R(f) and a subgradient

    def risk(self, v: np.ndarray) -> tuple[Decimal, np.ndarray]:
        """R and a subgradient with respect to v."""
        value, slope = self.cut(self.Z @ v)
        return value, slope @ self.Z

    def value(self, v: np.ndarray) -> Decimal:
        """P at v."""
        held = v[:-1] if self.free else v
        return HALF * total(held * held) + self.risk(v)[0]

    def least(self, start: np.ndarray) -> Decimal:
        """The least P, by cutting planes."""
        free, far = np.zeros(len(start), bool), [start]
        free[-1] = self.free
        for way in (Decimal("1e12"), Decimal("-1e12")) if self.free else ():
            far.append(start.copy())
            far[-1][-1] += way
        return cut_planes(self.risk, far, free)[0]


def label_metric(metric: str, y: np.ndarray, C: Decimal, beta: Decimal, k: int) -> Callable:
    """f -> C max over labellings of n Delta - sum over i with ybar_i != y_i of y_i f_i, by trying all labellings."""
    n, positive = len(y), y > 0
    plus = int(positive.sum())
    labellings = [np.array(bits, bool) for bits in product((False, True), repeat=n)]
    if metric in ("precision_at_k", "recall_at_k", "prbep"):
        labellings = [bits for bits in labellings if bits.sum() == k]
    losses = []
    for bits in labellings:
        h, m = int((bits & positive).sum()), int((bits & ~positive).sum())
        square = beta * beta
        share = {
            "precision_at_k": lambda h=h: Decimal(h) / k,
            "recall_at_k": lambda h=h: Decimal(h) / plus,
            "prbep": lambda h=h: Decimal(h) / plus,
            "error": lambda bits=bits: Decimal(int((bits == positive).sum())) / n,
        }.get(metric, lambda h=h, m=m, s=square: (ONE + s) * h / (h + m + s * plus))()
        losses.append(n * (ONE - share))
    slopes = np.array([np.where(bits != positive, -y, ZERO) for bits in labellings], object)
    losses = np.array(losses, object)

    def cut(f: np.ndarray) -> tuple[Decimal, np.ndarray]:
        heights = losses + slopes @ f
        best = max(range(len(heights)), key=lambda j: heights[j])
        return C * heights[best], C * slopes[best]

    return cut


def pair_metric(y: np.ndarray, c: np.ndarray, groups: np.ndarray) -> Callable:
    """f -> sum_g c(g) / sum_pairs c_p c_q times sum over pairs with y_p > y_q of c_p c_q max(0, 1 - (f_p - f_q))."""
    pairs = [(p, q) for p, q in product(range(len(y)), repeat=2) if groups[p] == groups[q] and y[p] > y[q]]
    weight = np.array([c[p] * c[q] for p, q in pairs], object)
    queries = np.array([groups[p] for p, _ in pairs])
    for query in np.unique(queries):
        inside = queries == query
        weight[inside] = weight[inside] * (total(c[groups == query]) / total(weight[inside]))
    first, second = (np.array(part) for part in zip(*pairs, strict=True))

    def cut(f: np.ndarray) -> tuple[Decimal, np.ndarray]:
        left = ONE - (f[first] - f[second])
        pull = np.where(left > 0, weight, ZERO)
        slope = zeros(len(f))
        np.add.at(slope, first, -pull)
        np.add.at(slope, second, pull)
        return total(pull * left), slope

    return cut


# ---- structures -------------------------------------------------------------------------------------------------


@dataclass
class StructuredObjective:
    """P = 1/2 |w|^2 + sum_i c_i max_z [Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)>], all labellings tried."""

    tables: list[tuple[np.ndarray, np.ndarray]]  # for each sample, Delta and psi(x, z) - psi(x, y) for every z
    c: np.ndarray

    def risk(self, w: np.ndarray) -> tuple[Decimal, np.ndarray]:
        """The sum of the maxima, and a subgradient."""
        value, slope = ZERO, zeros(len(w))
        for weight, (losses, features) in zip(self.c, self.tables, strict=True):
            heights = losses + features @ w
            best = max(range(len(heights)), key=lambda j: heights[j])
            value, slope = value + weight * heights[best], slope + weight * features[best]
        return value, slope

    def value(self, w: np.ndarray) -> Decimal:
        """P at w."""
        return HALF * total(w * w) + self.risk(w)[0]

    def least(self, start: np.ndarray) -> Decimal:
        """The least P, by cutting planes."""
        return cut_planes(self.risk, [start], np.zeros(len(start), bool))[0]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """The pairs of classes, in the order of the machines."""
    return list(combinations(range(n_classes), 2))
