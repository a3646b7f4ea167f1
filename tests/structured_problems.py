"""Small structured problems whose labellings can all be listed, and models written the way a user would."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import scipy.sparse as sp
from exact_programs import solve_exactly
from scipy.optimize import linear_sum_assignment

from maxmargin.structures import ChainModel, StructuredModel, StructuredProblem
from maxmargin.structures.model import gather, prepare


def make_chains(n: int = 6, d: int = 3, k: int = 3, longest: int = 4, seed: int = 0, noise: float = 1.0):
    """Sequences whose labels depend on their features and on the label before."""
    rng = np.random.default_rng(seed)
    unary, transitions = rng.normal(size=(k, d)), rng.normal(size=(k, k))
    X, y = [], []
    for i in range(n):
        length = 1 + (i % longest)
        x = rng.normal(size=(length, d)) * (rng.random((length, d)) < 0.8)
        scores = x @ unary.T + noise * rng.normal(size=(length, k))
        labels = [int(np.argmax(scores[0]))]
        for t in range(1, length):
            labels.append(int(np.argmax(scores[t] + transitions[labels[-1]])))
        X.append(x)
        y.append(np.array(labels))
    y[0] = np.arange(len(y[0])) % k
    y[-1][:] = np.arange(len(y[-1])) % k  # every label occurs
    return X, y


def pose(model, X, y, C: float = 1.0, weight=None) -> StructuredProblem:
    """The problem as the estimator poses it."""
    size = prepare(model, X, y)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    return StructuredProblem(gather(model, X, y).begin(size), C * weight)


def list_labellings(x, k: int) -> list[np.ndarray]:
    """All labellings of a sequence."""
    return [np.array(z) for z in product(range(k), repeat=len(x))]


def build_feature(x, z, d: int, k: int) -> np.ndarray:
    """psi(x, z) of a chain, from its definition."""
    unary, transitions, start, end = np.zeros((d, k)), np.zeros((k, k)), np.zeros(k), np.zeros(k)
    x = x.toarray() if sp.issparse(x) else x
    for t, label in enumerate(z):
        unary[:, label] += x[t]
    for r, s in pairwise(z):
        transitions[r, s] += 1.0
    start[z[0]] += 1.0
    end[z[-1]] += 1.0
    return np.concatenate([unary.ravel(), transitions.ravel(), start, end])


def solve_program(differences: list[np.ndarray], losses: list[np.ndarray], c: np.ndarray) -> float:
    """min 1/2 |w|^2 + sum_i c_i xi_i with xi_i >= losses_iz - <w, differences_iz> for all labellings z."""
    size, n = differences[0].shape[1], len(c)
    H = np.zeros((size + n, size + n))
    H[:size, :size] = np.eye(size)
    rows, limits = [], []
    for i, (g, delta) in enumerate(zip(differences, losses, strict=True)):
        slack = np.zeros((len(g), n))
        slack[:, i] = -1.0
        rows.append(np.column_stack([-g, slack]))
        limits.append(-delta)
    cost = np.concatenate([np.zeros(size), c])
    return solve_exactly(H, cost, np.vstack(rows), np.concatenate(limits)).value


def solve_chains(X, y, c: np.ndarray, k: int, costs: np.ndarray) -> float:
    """The optimal value of a problem of chains, with all labellings listed."""
    d, differences, losses = X[0].shape[1], [], []
    for x, right in zip(X, y, strict=True):
        labellings = list_labellings(x, k)
        truth = build_feature(x, right, d, k)
        differences.append(np.array([truth - build_feature(x, z, d, k) for z in labellings]))
        losses.append(np.array([costs[right, z].sum() for z in labellings]))
    return solve_program(differences, losses, c)


class PlainChain(StructuredModel):
    """The chain model as a user would write it, by listing all labellings: no packed form, one sample at a time."""

    def __init__(self, k: int):
        self.k = k

    def prepare(self, X, y) -> int:
        """d k + k^2 + 2 k."""
        self.d = X[0].shape[1]
        return self.d * self.k + self.k**2 + 2 * self.k

    def joint_feature(self, x, y) -> np.ndarray:
        """Dense."""
        return build_feature(x, y, self.d, self.k)

    def loss(self, y, z) -> float:
        """Wrong labels."""
        return float(np.sum(np.asarray(y) != z))

    def argmax(self, x, w, y=None):
        """The best of all."""
        labellings = list_labellings(x, self.k)
        scores = [w @ self.joint_feature(x, z) + (0.0 if y is None else self.loss(y, z)) for z in labellings]
        return labellings[int(np.argmax(scores))]


class GreedyChain(PlainChain):
    """Labels chosen one after the other, which may miss the best; bounded by the largest of each part."""

    exact, bounded = False, True

    def argmax(self, x, w, y=None):
        """The best label given the one before."""
        unary, transitions, start, end = self.split(w)
        labels: list[int] = []
        for t in range(len(x)):
            scores = x[t] @ unary + (start if t == 0 else transitions[labels[-1]])
            scores = scores + (end if t == len(x) - 1 else 0.0)
            labels.append(int(np.argmax(scores if y is None else scores + (np.arange(self.k) != y[t]))))
        return np.array(labels)

    def upper_bound(self, x, y, w) -> float:
        """The largest score of every token, of every transition, of the start and of the end, each by itself."""
        if not self.bounded:
            return np.inf
        unary, transitions, start, end = self.split(w)
        tokens = sum(float(np.max(x[t] @ unary + (np.arange(self.k) != y[t]))) for t in range(len(x)))
        return tokens + (len(x) - 1) * float(transitions.max()) + float(start.max() + end.max())

    def split(self, w):
        """The four groups of weights."""
        d, k = self.d, self.k
        base, tail = d * k, d * k + k * k
        return w[:base].reshape(d, k), w[base:tail].reshape(k, k), w[tail : tail + k], w[tail + k :]


class UnboundedChain(GreedyChain):
    """The same without a bound."""

    bounded = False


class Matching(StructuredModel):
    """Which row goes with which column: x has shape (m, m, d), a labelling is a permutation of m columns."""

    def joint_feature(self, x, y):
        """The features of the chosen pairs."""
        return x[np.arange(len(y)), y].sum(axis=0)

    def loss(self, y, z):
        """Rows that are matched wrongly."""
        return float(np.sum(y != z))

    def argmax(self, x, w, y=None):
        """The Hungarian method."""
        gain = x @ w
        if y is not None:
            gain = gain + 1.0
            gain[np.arange(len(y)), y] -= 1.0
        return linear_sum_assignment(gain, maximize=True)[1]


def make_matchings(n: int = 20, m: int = 4, d: int = 3, seed: int = 0):
    """Assignments that are optimal for hidden weights, up to noise."""
    rng = np.random.default_rng(seed)
    w, X = rng.normal(size=d), rng.normal(size=(n, m, m, d))
    y = [linear_sum_assignment(x @ w + 0.2 * rng.normal(size=(m, m)), maximize=True)[1] for x in X]
    return list(X), y


def hamming(k: int) -> np.ndarray:
    """Every wrong label costs 1."""
    return 1.0 - np.eye(k)


def chain_of(X, y, **arguments) -> ChainModel:
    """A prepared chain model."""
    model = ChainModel(**arguments)
    prepare(model, X, y)
    return model
