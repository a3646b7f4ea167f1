"""The contract of a kernel k(x, z).

A kernel of one's own is a frozen dataclass of its parameters that gives `evaluate` and `diagonal`. What it knows beyond
that (a bound on its values, on their rounding errors, what they cost) makes fits quicker and certificates sharper.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import BOUND_INFLATION
from .samples import Samples, wrap

FLOAT32_MAX_ERROR = 1e-4  # relative error of a kernel value that the exact refresh of the scores can take up
TILE_VALUES = 1 << 21  # kernel values evaluated at a time where all of them are looked at (16 MB in float64)


@dataclass(frozen=True)
class Kernel(ABC):
    """k(x, z), evaluated for all pairs of two sets of samples.

    Attributes
    ----------
    name : str
        How users call it.
    psd : bool or None
        True where the formula is positive semidefinite for all data, None where that is not known.
    linear : bool
        Whether k(x, z) = <x, z>, so that w can be held in the space of the features.
    gamma : float
        The width, of a kernel that has one; 0 for others.
    shift : ndarray of shape (d,) or None
        What is subtracted from every sample, of a kernel that does so.
    """

    name: ClassVar[str]
    psd: ClassVar[bool | None] = None
    linear: ClassVar[bool] = False
    gamma = 0.0  # not annotated, since those of subclasses are fields
    shift = None

    @abstractmethod
    def evaluate(self, A: Any, B: Any) -> np.ndarray:
        """K_ij = k(a_i, b_j), of shape (A.n, B.n), in the precision of the samples A and B."""

    @abstractmethod
    def diagonal(self, A: Any) -> np.ndarray:
        """k(a_i, a_i), of shape (A.n,)."""

    def bind(self, X: Any, weight: np.ndarray | None = None) -> Kernel:
        """This kernel with every parameter a number, chosen from the training data X and the weights of its rows."""
        return self

    def centre(self, X: Any) -> Kernel:
        """This kernel, seen from the mean of the training data X where they lie far out and only b changes by that."""
        return self

    def samples(self, X: Any) -> Samples:
        """The rows of X as this kernel sees them."""
        return wrap(X)

    def write(self, A: Any, B: Any, out: np.ndarray) -> np.ndarray:
        """K_ij = k(a_i, b_j), into a tile that is used again and again."""
        out[:] = self.evaluate(A, B)
        return out

    @property
    def parameters(self) -> tuple[float, float, int]:
        """gamma, coef0 and degree, as far as the formula has them."""
        return 0.0, 0.0, 0

    def sizes(self, samples: Any) -> np.ndarray:
        """r with |k(x_i, x_j)| <= r_i r_j for all samples: sqrt(k(x_i, x_i)), by Cauchy and Schwarz. Shape (n,).

        For a kernel that is not known to be positive semidefinite, the root of the largest |k(x_i, x_j)|, which takes a
        pass over all of them. One that knows a bound gives it here instead.
        """
        if self.psd:
            sizes: np.ndarray = np.sqrt(np.maximum(self.diagonal(samples), 0.0)) * BOUND_INFLATION
            return sizes
        largest, step = 0.0, max(1, TILE_VALUES // max(samples.n, 1))
        for start in range(0, samples.n, step):
            check_interrupt()
            K = self.evaluate(samples.take(slice(start, start + step)), samples)
            largest = max(largest, float(np.abs(K).max(initial=0.0)))
        return np.full(samples.n, np.sqrt(largest) * BOUND_INFLATION)

    def bound_value_errors(self, samples: Any, support: Any, coef: np.ndarray) -> np.ndarray:
        """Bounds on sum_j |coef_j| |fl k(x_i, s_j) - k(x_i, s_j)| for values in float64, whatever the order of sums.

        From sizes of samples alone, without a kernel value. Zero here: the values as evaluated are the kernel.
        """
        return np.zeros(samples.n)

    def bound_size(self, samples: Any) -> float:
        """The largest of `sizes`."""
        return float(self.sizes(samples).max(initial=0.0))

    def bound_value_error(self, samples: Any) -> float:
        """The largest |fl k(x_i, x_j) - k(x_i, x_j)| among samples that are vectors, bounded from above.

        Far samples may be evaluated from differences, near ones from products, whose errors grow with the samples: the
        largest is at most twice the one beside the sample with the largest norm.
        """
        top = samples.take(np.array([int(np.argmax(samples.norms))]))
        return 2.0 * float(self.bound_value_errors(samples, top, np.ones(1)).max())

    def cost(self, samples: Any) -> float:
        """Nanoseconds of a kernel value on one core in float32; in float64 twice as many."""
        return 0.8 + float(samples.entries_per_sample / 30.0 if samples.sparse else samples.d / 50.0)

    def bound_rounding(self, samples: Any) -> float:
        """A bound on the error of a kernel value that is evaluated in float32; infinite where none is known."""
        return np.inf

    def bound_relative_rounding(self, samples: Any) -> float:
        """The same, over the size of the differences between kernel values that matter."""
        return self.bound_rounding(samples)

    def to_float32(self, samples: Any, megabytes: float = np.inf) -> Samples | None:
        """The samples for evaluation in float32 with an error below FLOAT32_MAX_ERROR, or None if there are no such."""
        if not samples.holds_vectors or not samples.n:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return samples.to_float32(megabytes) if self.bound_relative_rounding(samples) < FLOAT32_MAX_ERROR else None

    def __call__(self, A: Any, B: Any = None) -> np.ndarray:
        """K_ij = k(a_i, b_j) for two matrices of samples."""
        A = self.samples(A)
        return self.evaluate(A, A if B is None else self.samples(B))
