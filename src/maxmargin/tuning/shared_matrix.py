"""Kernel matrices of one kernel after the other over the same samples, from distances or products computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.kernels import RBF, Kernel, Laplacian, Linear, Polynomial
from ..model.tiles import precompute_norms
from ..runtime.threads import run_strips

ROWS_PER_STRIP = 64  # rows of the matrix that a core takes at a time
BASES = {RBF: "squares", Laplacian: "distances", Linear: "products", Polynomial: "products"}


def has_shared_matrix(kernel: Kernel) -> bool:
    """Whether matrices of the kernel at several parameters follow from the same distances or products."""
    return type(kernel) in BASES and bool(kernel.psd)


def choose_precision(n: int, memory_bytes: float) -> tuple[np.dtype, bool] | None:
    """The precision of K and whether its base is kept beside it; None where not even K fits."""
    for dtype, kept in ((np.float64, True), (np.float64, False), (np.float32, False)):
        if n * n * np.dtype(dtype).itemsize * (2 if kept else 1) <= memory_bytes:
            return np.dtype(dtype), kept
    return None


class SharedMatrix:
    """K_ij = k(x_i, x_j) for all samples, for one kernel at a time.

    Parameters
    ----------
    X : matrix of shape (n, d)
        All rows, those that folds train on and those they hold out.
    memory_bytes : float
        For K and what it is made from.
    """

    def __init__(self, X: Any, memory_bytes: float):
        self.X, self.n = X, X.shape[0]
        found = choose_precision(self.n, memory_bytes)
        if found is None:
            raise MemoryError
        self.dtype, self.keeps_base = found
        self.matrix = np.empty((self.n, self.n), self.dtype)
        self.base: np.ndarray | None = None
        self.base_of: tuple[Any, ...] | None = None
        self.kernel_values = 0

    def bind(self, kernel: Kernel) -> tuple[Kernel, Any]:
        """The kernel, its parameters numbers already, over all samples: moved to their mean where that saves digits."""
        moved = kernel.bind(self.X)
        if type(moved) is Linear:
            moved = moved.centre(self.X)
        return moved, moved.samples(self.X)

    def form(self, kernel: Kernel, samples: Any) -> np.ndarray:
        """K of a bound kernel; what was formed before is overwritten."""
        precompute_norms(samples)
        kind = BASES[type(kernel)]
        # Gamma may be so large that its distances must come from differences; a linear kernel has samples of its own.
        if isinstance(kernel, RBF) and kernel.cancels(samples, samples):
            kind = "differences"
        wanted = (kind, type(kernel) is Linear)
        if not self.keeps_base:
            write_base(kind, samples, self.matrix, kernel)
            self.kernel_values += self.n * self.n
            return self.matrix
        if self.base is None:
            self.base = np.empty_like(self.matrix)
        if wanted != self.base_of:
            write_base(kind, samples, self.base)
            self.base_of = wanted
            self.kernel_values += self.n * self.n
        apply_formula(kernel, self.base, self.matrix)
        return self.matrix


def write_base(kind: str, samples: Any, base: np.ndarray, kernel: Kernel | None = None) -> None:
    """Squares, distances or products of all pairs of samples, on all cores; of these K, where there is a kernel."""

    def write(start: int, stop: int) -> None:
        part = measure(kind, samples, start, stop)
        if kernel is not None:
            transform(kernel, part)
        base[start:stop] = part

    run_strips(write, samples.n, ROWS_PER_STRIP)


def measure(kind: str, samples: Any, start: int, stop: int) -> np.ndarray:
    """Squares, distances or products of some samples with all of them."""
    found = measure_between(kind, samples.take(slice(start, stop)), samples)
    if kind == "squares":
        found[np.arange(stop - start), np.arange(start, stop)] = 0.0
    return found


def measure_between(kind: str, tile: Any, samples: Any) -> np.ndarray:
    """The same of any samples with others."""
    if kind == "distances":
        return tile.distances(samples)
    if kind == "differences":
        return tile.squares(samples)
    found = tile.dots(samples)
    if kind == "squares":
        found *= -2.0
        found += samples.norms
        found += tile.norms[:, None]
        np.maximum(found, 0.0, out=found)
    return found


def apply_formula(kernel: Kernel, base: np.ndarray, matrix: np.ndarray) -> None:
    """K from what it is made from, on all cores."""

    def apply(start: int, stop: int) -> None:
        matrix[start:stop] = base[start:stop]
        transform(kernel, matrix[start:stop])

    run_strips(apply, len(matrix), ROWS_PER_STRIP)


def transform(kernel: Kernel, part: np.ndarray) -> None:
    """k from squares, distances or products, in place."""
    from ..compiled.kernel_rows import exponentiate

    if isinstance(kernel, RBF | Laplacian):
        exponentiate(part, -float(kernel.gamma))
    elif isinstance(kernel, Polynomial):
        part *= float(kernel.gamma)
        part += kernel.coef0
        np.power(part, kernel.degree, out=part)
