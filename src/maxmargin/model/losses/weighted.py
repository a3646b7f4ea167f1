"""Arithmetic with weights c that may be zero, and with shares t that may be at the ends of their range."""

from __future__ import annotations

import numpy as np


def invert_weights(c: np.ndarray) -> np.ndarray:
    """1/c, and 0 where c = 0: the bounds of such a sample hold its dual at zero."""
    return np.divide(1.0, c, out=np.zeros_like(np.asarray(c, float)), where=np.asarray(c) > 0)


def infinite_bound(c: np.ndarray) -> np.ndarray:
    """The bound of a dual that is free to grow: infinite, but 0 where c = 0."""
    return np.where(np.asarray(c) > 0, np.inf, 0.0)


def conjugate_of_weighted(c: np.ndarray, a: np.ndarray, conjugate: np.ndarray) -> np.ndarray:
    """The conjugate, or where c = 0 that of the zero function: 0 at a = 0, infinite elsewhere."""
    return np.where(c > 0, conjugate, np.where(a == 0, 0.0, np.inf))


def multiply_by_weight(c: np.ndarray, values: np.ndarray) -> np.ndarray:
    """c values, and 0 where c = 0 even if the value has overflowed."""
    return np.multiply(c, values, out=np.zeros(np.broadcast_shapes(np.shape(c), np.shape(values))), where=c > 0)


def entropy(t: np.ndarray) -> np.ndarray:
    """t log t, with 0 log 0 = 0 and infinity for t < 0."""
    safe = np.where(t > 0, t, 1.0)
    return np.where(t >= 0, safe * np.log(safe), np.inf)


def safe_log(t: np.ndarray) -> np.ndarray:
    """log t, -inf at and below zero, without a warning."""
    return np.log(np.where(t > 0, t, 1.0)) + np.where(t > 0, 0.0, -np.inf)
