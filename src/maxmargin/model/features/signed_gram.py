"""A Gram matrix whose samples come with signs, some of them twice."""

from __future__ import annotations

import numpy as np

from ...contracts.features import KernelMatrix
from ...runtime.interpreter import cached_property
from ...runtime.rounding import Enclosed
from .gram import Gram, is_small
from .submatrix import take_submatrix


class SignedGram(KernelMatrix):
    """K_kl = s_k s_l k(x_i(k), x_j(l)): the features s_k phi(x_i(k)), over a Gram matrix that is never doubled."""

    signed = True

    def __init__(self, gram: Gram, index: np.ndarray, sign: np.ndarray):
        self.gram, self.index, self.sign = gram, index, sign
        self.kernel, self.n, self.whole, self.counters = gram.kernel, len(index), None, gram.counters

    @property
    def small(self) -> bool:
        """Whether the whole matrix may be formed."""
        return is_small(self.n)

    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, else None."""
        if self.whole is None and self.small and self.gram.form() is not None:
            self.whole = self.block(np.arange(self.n))
        return self.whole

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """K[rows, columns]."""
        self.counters["rows"] += len(rows)
        return self.evaluate(rows, columns)

    def evaluate(self, rows: np.ndarray, columns: np.ndarray | slice | None) -> np.ndarray:
        """K[rows, columns], evaluated and not counted."""
        columns = np.arange(self.n)[slice(None) if columns is None else columns]
        samples, place = np.unique(self.index[columns], return_inverse=True)
        evaluate = self.gram.block if self.gram.whole is not None else self.gram.evaluate
        K = evaluate(self.index[rows], None if len(samples) == self.gram.n else samples)[:, place]
        return np.multiply(K, self.sign[rows][:, None] * self.sign[columns], order="C")

    @property
    def diagonal(self) -> np.ndarray:
        """K_kk."""
        return self.gram.diagonal[self.index]

    @property
    def cost(self) -> float:
        """Nanoseconds of a kernel value on one core, in float32."""
        return self.gram.cost

    def measure_pace(self) -> None:
        """Measure the pace of scores, if that was not done lately."""
        self.gram.measure_pace()

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes with so many nonzero coefficients, at the pace of this run."""
        return self.gram.estimate_seconds(min(support, self.gram.n))

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of w = sum_k a_k s_k phi(x_i(k)) over the samples of the Gram matrix."""
        return np.bincount(self.index, weights=self.sign * np.ravel(a), minlength=self.gram.n)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f_k = s_k <w, phi(x_i(k))>."""
        return self.sign * self.gram.scores(coef)[self.index]

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """How far the machine that users see may be from the one that is judged, in units of the score."""
        errors = self.gram.bound_public_errors(coef, b, penalty, drift)
        return errors[self.index] if np.ndim(errors) else errors

    def measure_drift(self, coef: np.ndarray) -> float:
        """By which w changes where samples were moved and coefficients do not sum to zero exactly."""
        return self.gram.measure_drift(coef)

    @property
    def largest_size(self) -> float:
        """The largest |phi(x_i)|."""
        return self.gram.largest_size

    @property
    def sizes(self) -> np.ndarray:
        """r with |K_ij| <= r_i r_j, of the samples of the Gram matrix: that is what coefficients belong to."""
        return self.gram.sizes

    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f_k = s_k <w, phi(x_i(k))>, and a bound on the rounding error of each."""
        scores = self.gram.enclose(coef, closely)
        return Enclosed(self.sign * scores.value[self.index], scores.error[self.index])

    def enclose_penalty(self, coef: np.ndarray, scores: Enclosed) -> Enclosed:
        """R(w) = coef' K coef / 2, from the scores of coef."""
        first = self.first
        return self.gram.enclose_penalty(coef, Enclosed((self.sign * scores.value)[first], scores.error[first]))

    @cached_property
    def first(self) -> np.ndarray:
        """A variable of each sample."""
        first = np.full(self.gram.n, -1)
        first[self.index] = np.arange(self.n)
        return first

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 = coef' K coef."""
        return float(coef @ (self.sign * scores)[self.first])

    def subset(self, keep: np.ndarray) -> SignedGram:
        """The features of some of the variables."""
        samples, place = np.unique(self.index[keep], return_inverse=True)
        part = SignedGram(self.gram.subset(samples), place, self.sign[keep])
        part.whole = take_submatrix(self.whole, keep)
        return part
