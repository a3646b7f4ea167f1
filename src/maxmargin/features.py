"""Features behind one protocol: what a problem needs to know of its data.

    scores(coef)       f_i = <w, phi(x_i)>
    square_norm(coef)  |w|^2
    combine(a)         the coefficients of w = sum_i a_i phi(x_i)
    block(rows)        K[rows, :]
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np

from .kernels import Kernel, Linear
from .samples import TILE

FULL = 2000  # up to this n the whole Gram matrix is formed at once: one BLAS call beats any cache


class Gram:
    """K_ij = k(x_i, x_j) + offset, never formed whole unless small; w lives as coefficients of phi(x_i)."""

    def __init__(self, kernel: Kernel, samples, offset: float = 0.0, whole: np.ndarray | None = None):
        self.kernel, self.samples, self.offset = kernel, samples, float(offset)
        self.n = samples.n
        self.whole = whole
        self.counters: Counter = Counter()

    @classmethod
    def from_data(cls, kernel: Kernel, X, offset: float = 0.0, weight: np.ndarray | None = None) -> Gram:
        """Bind the kernel to the training data X and lay the Gram matrix over it."""
        kernel = kernel.bind(X, weight)
        return cls(kernel, kernel.samples(X), offset)

    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, kept for all who ask; else None."""
        if self.whole is None and self.n <= FULL:
            K = self.kernel.evaluate(self.samples, self.samples)
            if self.offset:
                K += self.offset
            self.whole = K
            self.counters["rows"] += self.n
        return self.whole

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """K[rows, columns]."""
        if self.whole is not None:
            return self.whole[rows] if columns is None else self.whole[np.ix_(rows, columns)]
        self.counters["rows"] += len(rows)
        others = self.samples if columns is None else self.samples.take(columns)
        K = self.kernel.evaluate(self.samples.take(rows), others)
        if self.offset:
            K += self.offset
        return K

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K_ii."""
        return self.kernel.diagonal(self.samples) + self.offset

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of w = sum_i a_i phi(x_i): a itself, its layers added up."""
        return a if a.ndim == 1 else a.sum(axis=0)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f = K coef, in tiles of bounded memory, touching only the columns with coef != 0."""
        if self.whole is not None:
            return self.whole @ coef
        support = np.flatnonzero(coef)
        if isinstance(self.kernel, Linear):
            w = self.samples.combine(coef)
            return self.samples.project(w) + self.offset * coef.sum()
        if len(support) == 0:
            return np.zeros(self.n)
        return evaluate_scores(self.kernel, self.samples, self.samples.take(support), coef[support]) + (
            self.offset * coef.sum()
        )

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 = coef' K coef."""
        return float(coef @ scores)

    def subset(self, index: np.ndarray) -> Gram:
        """The Gram matrix of some of the samples; a whole matrix is shared, not evaluated again."""
        whole = None if self.whole is None else self.whole[np.ix_(index, index)]
        return Gram(self.kernel, self.samples.take(index), self.offset, whole)


class SignedGram:
    """K_kl = s_k s_l k(x_i(k), x_j(l)): the features s_k phi(x_i(k)), over a Gram matrix that is never doubled."""

    def __init__(self, gram: Gram, index: np.ndarray, sign: np.ndarray):
        self.gram, self.index, self.sign = gram, index, sign
        self.kernel, self.n, self.whole, self.counters = gram.kernel, len(index), None, gram.counters

    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, else None."""
        if self.whole is None and self.gram.form() is not None:
            self.whole = self.block(np.arange(self.n))
        return self.whole

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """K[rows, columns]."""
        columns = np.arange(self.n) if columns is None else columns
        samples, place = np.unique(self.index[columns], return_inverse=True)
        K = self.gram.block(self.index[rows], None if len(samples) == self.gram.n else samples)[:, place]
        return K * self.sign[rows][:, None] * self.sign[columns]

    @property
    def diagonal(self) -> np.ndarray:
        """K_kk."""
        return self.gram.diagonal[self.index]

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of w = sum_k a_k s_k phi(x_i(k)) over the samples of the Gram matrix."""
        return np.bincount(self.index, weights=self.sign * np.ravel(a), minlength=self.gram.n)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f_k = s_k <w, phi(x_i(k))>."""
        return self.sign * self.gram.scores(coef)[self.index]

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 = coef' K coef."""
        first = np.full(self.gram.n, -1)
        first[self.index] = np.arange(self.n)
        return float(coef @ (self.sign * scores)[first])

    def subset(self, keep: np.ndarray) -> SignedGram:
        """The features of some of the variables."""
        samples, place = np.unique(self.index[keep], return_inverse=True)
        part = SignedGram(self.gram.subset(samples), place, self.sign[keep])
        part.whole = None if self.whole is None else self.whole[np.ix_(keep, keep)]
        return part


def evaluate_scores(kernel: Kernel, samples, support, coef: np.ndarray) -> np.ndarray:
    """f_i = sum_j coef_j k(x_i, s_j) for one or several columns of coef, in tiles of bounded memory."""
    step = max(1, TILE // max(support.n, 1))
    if step >= samples.n:
        return kernel.evaluate(samples, support) @ coef
    f = np.empty((samples.n, *coef.shape[1:]))
    for k in range(0, samples.n, step):
        tile = samples.take(slice(k, k + step))
        f[k : k + step] = kernel.evaluate(tile, support) @ coef
    return f
