"""The contract of features phi(x_i): what a problem needs to know of its data.

A weight vector w lives as *coefficients*: those of w = sum_i coef_i phi(x_i) over a kernel matrix, shape (n,); w itself
over a design, shape (d + 1,), its last number that of the constant feature; one such row for each class, (k, d + 1).
Scores have shape (n,), or (k, n) with one row for each class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..runtime.rounding import UNIT, Enclosed, Remainder, bound_conjugate
from .kernels import Kernel
from .samples import Samples


class Features(ABC):
    """f_i = <w, phi(x_i)>, and the regulariser R(w), with bounds on what rounding does to both.

    Attributes
    ----------
    n : int
        The number of samples, or of variables where samples come with signs.
    kernel : Kernel
        k(x, z) = <phi(x), phi(z)>.
    samples : Samples or None
        The data; None where variables are not the samples themselves.
    scaling : float
        The value of the constant feature, 0 where there is none.
    offset : float
        What is added to each kernel value: the square of the scaling.
    counters : Counter
        Kernel rows that were evaluated, under "rows".
    penalty : str
        The regulariser: "l2" is 1/2 |w|^2, "l1" is |w|_1.
    n_classes : int or None
        The number of scores per sample, where there is one w for each class or target.
    linear : bool
        Whether coefficients are w itself, in the space of the features.
    has_kernel_rows : bool
        Whether these are a `KernelMatrix`, whose `block` gives rows of it.
    signed : bool
        Whether samples come with signs, as those of the nu machines without a free intercept.
    by_weights : bool
        Whether scores are products of the samples with w itself, as those of a linear kernel are.
    """

    penalty: ClassVar[str] = "l2"
    linear: ClassVar[bool] = False
    has_kernel_rows: ClassVar[bool] = False
    signed: ClassVar[bool] = False
    n_classes: int | None = None
    by_weights: bool = False
    samples: Samples | None = None
    scaling: float = 0.0
    offset: float = 0.0
    n: int
    kernel: Kernel
    counters: Counter[str]

    @abstractmethod
    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of w = sum_i a_i phi(x_i), for duals a of the shape of the problem."""

    @abstractmethod
    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f_i = <w, phi(x_i)>."""

    def scores_of(self, coef: np.ndarray, index: np.ndarray) -> np.ndarray:
        """f_i of some of the samples."""
        scores: np.ndarray = self.scores(coef)[index]
        return scores

    @abstractmethod
    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2, from the coefficients and the scores of w."""

    @abstractmethod
    def subset(self, index: np.ndarray) -> Features:
        """The features of some of the samples; what is known of all of them is not evaluated again."""

    def penalty_value(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """R(w) = 1/2 |w|^2, the regulariser."""
        return 0.5 * self.square_norm(coef, scores)

    def penalty_conjugate(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """R*(v) = 1/2 |v|^2, its conjugate, from the coefficients and the scores of v."""
        return 0.5 * self.square_norm(coef, scores)

    # ---- what rounding may do, for the judge ----------------------------------------------------------------

    @abstractmethod
    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f_i = <w, phi(x_i)> and a bound on the rounding error of each; `closely` as if in twice the precision."""

    def enclose_where_needed(
        self, coef: np.ndarray, settles: Callable[[np.ndarray, Enclosed], np.ndarray]
    ) -> tuple[Enclosed, np.ndarray] | None:
        """The same scores, and the samples without a coefficient whose scores are known roughly; None to `enclose`.

        `settles(index, scores)` says of some samples which of them need no closer score than this one.
        """
        return None

    @abstractmethod
    def enclose_penalty(self, coef: np.ndarray, scores: Enclosed) -> Enclosed:
        """R(w) and a bound on its rounding error, from the coefficients and the scores of w."""

    @abstractmethod
    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """R(w) + R*(v) - <w, v> for v = sum_i a_i phi(x_i), from above.

        So much of the duals as `moved` may go elsewhere, and w may be off by `drift`.
        """

    @abstractmethod
    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """How far the machine that users see may be from the one that is judged, in units of the score."""

    def measure_drift(self, coef: np.ndarray) -> float:
        """How far w is from that of users, where samples were moved and coefficients do not sum to zero exactly."""
        return 0.0

    def bound_penalty_conjugate(self, penalty: float, remainder: Remainder) -> float:
        """R*(v) = |v|^2 / 2, from above."""
        return bound_conjugate(penalty, remainder.distance)

    # ---- how long certificates take -------------------------------------------------------------------------

    @abstractmethod
    def measure_pace(self) -> None:
        """Measure the pace of scores, if that was not done lately."""

    @abstractmethod
    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes with so many nonzero coefficients, at the pace that was measured."""


class KernelMatrix(Features):
    """K_ij = <phi(x_i), phi(x_j)>, of which rows can be evaluated.

    Attributes
    ----------
    whole : ndarray of shape (n, n) or None
        The whole matrix, once it has been formed.
    segments : list or None
        Samples packed for rows that compiled loops evaluate one at a time.
    diagonal : ndarray of shape (n,)
        K_ii.
    sizes : ndarray
        r with |K_ij| <= r_i r_j, one for each coefficient.
    largest_size : float
        The largest |phi(x_i)|.
    cost : float
        Nanoseconds of a kernel value on one core, in float32.
    """

    has_kernel_rows = True
    whole: np.ndarray | None = None
    segments: list[Any] | None = None
    diagonal: np.ndarray
    sizes: np.ndarray
    largest_size: float
    cost: float

    @property
    @abstractmethod
    def small(self) -> bool:
        """Whether the whole matrix may be formed."""

    @abstractmethod
    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, formed once and kept; else None."""

    @abstractmethod
    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """K[rows, columns], counted."""

    @abstractmethod
    def evaluate(self, rows: np.ndarray, columns: np.ndarray | slice | None) -> np.ndarray:
        """K[rows, columns], evaluated and not counted."""

    def source(self) -> tuple[Any, ...] | None:
        """What `compiled.single_rows` evaluates rows from; None if rows must be fetched, or are all there."""
        return None

    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """|w - v|^2 / 2 for v = sum_i a_i phi(x_i), from above."""
        pulled, apart = self.combine(a), None
        distance, plain = moved * self.largest_size + drift, 0.0
        if coef is not pulled and (coef != pulled).any():
            apart = coef - pulled
            half = self.enclose_penalty(apart, self.enclose(apart, closely))
            distance, plain = distance + float(np.sqrt(2.0 * max(half.high, 0.0))), max(float(half.value), 0.0)
        if np.size(a) > len(pulled) or apart is not None:  # duals of a sample are added up, with a rounding each
            distance += 2.0 * UNIT * float(np.abs(coef) @ self.sizes + np.abs(pulled) @ self.sizes)
        return Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), plain, distance)
