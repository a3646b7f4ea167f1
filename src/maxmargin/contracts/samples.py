"""The contract of samples: rows as kernels see them, which can be taken, multiplied and measured.

`Samples` are all a kernel of one's own must know; `VectorSamples` are those that are vectors of numbers, dense or
sparse. `wrap` makes samples of a matrix, by its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from importlib import import_module
from typing import Any, ClassVar

import numpy as np


class Samples(ABC):
    """n samples x_i.

    Attributes
    ----------
    n : int
        The number of samples.
    d : int
        The number of features; of a matrix of kernel values, the number of its columns.
    dtype : dtype
        The precision of the arithmetic, float64 unless `to_float32` was called. The numbers themselves stay as they
        were given, and are converted tile by tile where the two differ.
    nbytes : int
        Bytes of the numbers held, 0 where they are not counted.
    copied : int
        Bytes that were made from the data as given, beside those that the user holds.
    holds_vectors : bool
        Whether these are `VectorSamples`.
    sparse : bool
        Whether only numbers that are not zero are stored.
    """

    holds_vectors: ClassVar[bool] = False
    sparse: ClassVar[bool] = False
    n: int
    d: int
    dtype: np.dtype
    nbytes: int = 0
    copied: int = 0

    @abstractmethod
    def take(self, index: np.ndarray | slice) -> Samples:
        """The samples of an index or a slice."""

    def to_float32(self, megabytes: float = np.inf) -> Samples | None:
        """The same samples for arithmetic in float32, as a copy if that is no larger; None if there are no such."""
        return None

    @property
    def needs_conversion(self) -> bool:
        """Whether the samples are held in another precision than they are multiplied in."""
        return False

    def precompute_norms(self) -> None:
        """Evaluate |x_i|^2, and the largest of them, before threads share them; nothing to do without vectors."""
        return


class VectorSamples(Samples):
    """Samples that are vectors of d numbers.

    Attributes
    ----------
    norms : ndarray of shape (n,)
        |x_i|^2, in `dtype`.
    lengths : ndarray of shape (n,)
        |x_i|_1, in `dtype`.
    terms : int
        Terms of a product of two rows, at most.
    rounding : float
        The relative error of the numbers against the data as given: 0, or u where samples were moved to another origin,
        since fl(x - shift) is off by u |fl(x - shift)| at most.
    displacement : float
        |m| of samples that were moved by m.
    """

    holds_vectors = True
    norms: np.ndarray
    lengths: np.ndarray
    terms: int
    rounding: float = 0.0
    displacement: float = 0.0

    @abstractmethod
    def take(self, index: np.ndarray | slice) -> VectorSamples:
        """The samples of an index or a slice; norms that are known are not computed again."""

    @abstractmethod
    def dots(self, other: Any, out: np.ndarray | None = None) -> np.ndarray:
        """<x_i, z_j>, of shape (n, other.n), for other samples of the same kind."""

    @abstractmethod
    def distances(self, other: Any, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|_1, of shape (n, other.n)."""

    @abstractmethod
    def squares(self, other: Any, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|^2 from differences, of shape (n, other.n)."""

    @abstractmethod
    def combine(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i, of shape (d,), for coef of shape (n,); of shape (k, d) for coef of shape (k, n)."""

    @abstractmethod
    def project(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w>, of shape (n,), for w of shape (d,); of shape (n, k) for w of shape (d, k)."""

    @abstractmethod
    def sum_squares(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_ij^2 for each feature j, of shape (d,)."""

    @abstractmethod
    def take_features(self, index: np.ndarray) -> VectorSamples:
        """The samples with some of their features."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers held."""

    @property
    @abstractmethod
    def entries_per_sample(self) -> float:
        """Numbers of a sample that are stored, in the mean."""

    @property
    @abstractmethod
    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values in float64, features and starts of the rows, as of a CSR matrix."""

    @abstractmethod
    def pack_groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, values and starts of groups of rows, for compiled loops in twice the precision.

        features[starts[g] : starts[g + 1]] are those that any row of group g has, in order, and
        values[place * rows + lane] is that of row `lane` of the group at features[place].
        """


@singledispatch
def wrap(X: Any) -> VectorSamples:
    """Samples over a matrix X of shape (n, d), by its type; `maxmargin.model.samples` registers the types."""
    import_module("maxmargin.model.samples")  # not yet imported: it registers every type in place of this function
    samples: VectorSamples = wrap(X)
    return samples
