"""Why a fit was slow or did not end, in a sentence that helps."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .kernels import Kernel
from .result import Result, Status

WIDE = 1e3  # a feature this many times wider than the others drowns them
FAR = 50.0  # a feature whose mean is this many times its spread wastes the digits of the kernel
LOOK = 2_000_000  # entries looked at, at most


def measure_spans(X) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of each feature, on at most LOOK entries."""
    step = max(1, X.shape[0] * X.shape[1] // LOOK)
    part = X[::step]
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            mean = np.asarray(part.mean(axis=0), float).ravel()
            square = np.asarray(part.multiply(part).mean(axis=0), float).ravel()
            return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
        part = np.asarray(part, float)
        return part.mean(axis=0), part.std(axis=0)


def find_odd_feature(X) -> str | None:
    """A feature that spans many times the others, or lies far from zero, if there is one."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or X.shape[0] < 2:
        return None
    means, spans = measure_spans(X)
    widest, moving = int(np.argmax(spans)), np.flatnonzero(spans > 0)
    others = moving[moving != widest]
    if len(others) and spans[widest] >= WIDE * np.median(spans[others]):
        ratio = spans[widest] / np.median(spans[others])
        return f"Feature {widest} spans {ratio:.0e} times the others; scale it (StandardScaler, MinMaxScaler)."
    if len(moving) and (np.abs(means[moving]) >= FAR * spans[moving]).any():
        far = moving[np.argmax(np.abs(means[moving]) / spans[moving])]
        return f"Feature {far} has mean {means[far]:.2g} and spread {spans[far]:.2g}; centre it (StandardScaler)."
    return None


def diagnose(X, kernel: Kernel, result: Result, C: float | None) -> str:
    """What the data and the kernel suggest to do about a fit that did not reach its tolerance."""
    if kernel.name not in ("precomputed", "callable") and X is not None:  # of data in blocks there is no X to look at
        odd = find_odd_feature(X)
        if odd is not None:
            return odd
        largest = max(float(X.max()), -float(X.min())) if X.shape[0] else 0.0
        if largest > 1e3:
            return f"The values of X reach {largest:.0e}; scale them (StandardScaler, MinMaxScaler)."
    if result.certificate.convex is False:
        return "The kernel is not positive semidefinite: the problem has no certificate; choose another kernel."
    if C is not None and C >= 1e4:
        return f"C={C:g} asks for an almost hard margin, which converges slowly; a smaller C is rarely worse."
    if result.status is Status.STALLED:
        return "Centre and scale the data, choose a smaller C, or accept a larger tol."
    return "Allow more time or iterations, or a larger tol."
