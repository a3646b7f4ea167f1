"""What `minimize` may be asked for: its arguments checked, with one sentence for each that cannot be."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from .bundle.rules import RULES


def check_options(fun, method, ridge, tol, max_iter, max_seconds, max_cuts, callback) -> None:
    """Refuse what cannot be, one sentence each."""
    if not callable(fun):
        raise TypeError(f"fun must be a function of x that returns (value, subgradient), got {fun!r}.")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a round, got {callback!r}.")
    if not isinstance(method, str) or method not in RULES:
        raise ValueError(f"method must be one of {sorted(RULES)}, got {method!r}.")
    for name, value, least in (("ridge", ridge, 0.0), ("tol", tol, 0.0)):
        if not isinstance(value, Real) or not least <= value < np.inf:
            raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}.")
    if max_seconds is not None and (not isinstance(max_seconds, Real) or not max_seconds >= 0):
        raise ValueError(f"max_seconds must be None or a number of at least 0, got {max_seconds!r}.")
    for name, value, least in (("max_iter", max_iter, 0), ("max_cuts", max_cuts, 4)):
        if value is not None and (not isinstance(value, Integral) or value < least):
            raise ValueError(f"{name} must be None or a whole number of at least {least}, got {value!r}.")


def check_start(x0) -> np.ndarray:
    """x0 as a vector of finite numbers."""
    try:
        x = np.array(x0, float)
    except (TypeError, ValueError):
        raise ValueError(f"x0 must be a list of numbers, got {x0!r}.") from None
    if x.ndim != 1 or len(x) == 0:
        raise ValueError(f"x0 must be a vector of at least one number, got an array of shape {x.shape}.")
    if not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ValueError(f"x0 must be finite, but x0[{bad}] is {x[bad]}.")
    return x


def check_bounds(bounds, d: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(lo, hi) as vectors, or None for both."""
    if bounds is None:
        return None, None
    try:
        lo, hi = bounds
        lo, hi = (np.broadcast_to(np.asarray(each, float), (d,)).copy() for each in (lo, hi))
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be a pair (lo, hi) of numbers or of vectors like x0, got {bounds!r}.") from None
    if np.isnan(lo).any() or np.isnan(hi).any():
        raise ValueError("bounds must be numbers, got nan.")
    if (lo == np.inf).any() or (hi == -np.inf).any():
        raise ValueError("bounds must leave room for x, but a lo is inf or a hi is -inf.")
    if (lo > hi).any():
        bad = int(np.flatnonzero(lo > hi)[0])
        raise ValueError(f"bounds must have lo <= hi, but lo[{bad}] is {lo[bad]:g} and hi[{bad}] is {hi[bad]:g}.")
    return lo, hi
