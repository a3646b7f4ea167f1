"""Why a fit was slow or did not end, in a sentence that helps."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .kernels import Kernel
from .result import Result, Status

WIDE = 1e3  # a feature this many times wider than the others drowns them
LOOK = 20000  # rows looked at


def measure_spans(X) -> np.ndarray:
    """The standard deviation of each feature, on at most LOOK rows."""
    step = max(1, X.shape[0] // LOOK)
    part = X[::step]
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            mean = np.asarray(part.mean(axis=0), float).ravel()
            square = np.asarray(part.multiply(part).mean(axis=0), float).ravel()
            return np.sqrt(np.maximum(square - mean**2, 0.0))
        return np.asarray(part, float).std(axis=0)


def find_wide_feature(X) -> str | None:
    """A feature that spans many times the others, if there is one."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or X.shape[0] < 2:
        return None
    spans = measure_spans(X)
    moving = spans[spans > 0]
    if len(moving) < 2:
        return None
    widest = int(np.argmax(spans))
    ratio = spans[widest] / np.median(np.delete(spans, widest)[np.delete(spans, widest) > 0])
    if ratio < WIDE:
        return None
    return f"Feature {widest} spans {ratio:.0e} times the others; scale it (StandardScaler, MinMaxScaler)."


def diagnose(X, kernel: Kernel, result: Result, C: float | None) -> str:
    """What the data and the kernel suggest to do about a fit that did not reach its tolerance."""
    if kernel.name not in ("precomputed", "callable"):
        wide = find_wide_feature(X)
        if wide is not None:
            return wide
        largest = float(abs(X).max()) if X.shape[0] else 0.0
        if largest > 1e3:
            return f"The values of X reach {largest:.0e}; scale them (StandardScaler, MinMaxScaler)."
    if result.certificate.convex is False:
        return "The kernel is not positive semidefinite: the problem has no certificate; choose another kernel."
    if C is not None and C >= 1e4:
        return f"C={C:g} asks for an almost hard margin, which converges slowly; a smaller C is rarely worse."
    if result.status is Status.STALLED:
        return "A larger tol is all that float64 can deliver here."
    return "Allow more time or iterations, or a larger tol."
