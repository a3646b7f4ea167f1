"""Where to look for C and gamma, from the data alone; and the axes of a search, given by the user or refined by us.

The units make the ranges follow the scale of the data:

- Gaussian kernels see g |x - x'|^2, which is 2 g d Var(X) on average: gamma is measured in 1 / (d Var(X)), the value of
  gamma="scale". From 1/256 of it, where the kernel is all but linear, to 16 times it, where it sees close samples only.
- Kernels that grow with x, and linear machines: X times s is C times 1/s^2, so C is measured in 1 / mean |x - mean|^2.
- Losses that grow like |f - y|: y times s is C times s, so C is measured in the standard deviation of y (Cherkassky and
  Ma 2004 take three of them). Squared losses have no such unit.
- Linear machines begin at 1 / (2 n) of their unit: below, all samples are within their margins, and another C only
  changes the length of w (Chu, Ho, Tsai, Lin and Lin 2015, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..estimators.losses import name_loss

COARSE_STEP = 4  # powers of two between two values of a coarse axis
KERNEL_C_POWERS = (-5, 15)  # of two: the range of LIBSVM's grid.py
GAMMA_POWERS = (-8, 4)
LINEAR_HIGHEST_C_POWER = 10  # LIBLINEAR's search ends there too
SQUARED_LOSSES = ("squared_epsilon_insensitive", "least_squares", "squared_hinge")
BOUNDED_KERNELS = ("rbf", "laplacian")


@dataclass(frozen=True)
class Axis:
    """Values of a parameter: those that were given, or unit times powers of two that may be refined.

    Attributes
    ----------
    name : str
    values : tuple
        In rising order where they are numbers.
    unit : float or None
        None where the values were given, and no others are wanted.
    """

    name: str
    values: tuple[Any, ...]
    unit: float | None = None

    @property
    def is_given(self) -> bool:
        """Whether the user chose the values."""
        return self.unit is None

    def is_edge(self, value: Any) -> bool:
        """Whether a value is the first or the last of several numbers."""
        numbers = [each for each in self.values if isinstance(each, Real)]
        return len(numbers) > 1 and value in (min(numbers), max(numbers))

    def list_neighbours(self, value: Any, step: int) -> list[Any]:
        """The value, and what is next to it: `step` powers of two away, or in the list that was given."""
        if self.unit is not None:
            return [value * 2.0**-step, value, value * 2.0**step]
        place = self.values.index(value)
        return list(self.values[max(place - 1, 0) : place + 2])


def read_axis(name: str, given: Any, derived: Axis) -> Axis:
    """The axis that a user asks for: None is the derived one, a number that many values over its range, or a list."""
    if given is None:
        return derived
    if isinstance(given, Integral) and not isinstance(given, bool):
        if int(given) < 1:
            raise ValueError(f"{name}s must be at least 1, or a list of values, got {given!r}.")
        low, high = derived.values[0], derived.values[-1]
        return Axis(name, tuple(np.geomspace(low, high, int(given)).tolist()))
    values = [given] if isinstance(given, str | Real) else list(given)
    bad = [value for value in values if not is_positive(value) and not (name == "gamma" and value in ("scale", "auto"))]
    if bad or not values:
        what = "positive numbers, 'scale' or 'auto'" if name == "gamma" else "positive numbers"
        raise ValueError(f"{name}s must be {what}, got {bad[0] if bad else values!r}.")
    numbers = sorted({float(value) for value in values if not isinstance(value, str)})
    return Axis(name, (*dict.fromkeys(value for value in values if isinstance(value, str)), *numbers))


def is_positive(value: Any) -> bool:
    """Whether it is a positive number."""
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0


def derive_gammas(X: Any, weight: np.ndarray | None = None) -> Axis:
    """gamma around 1 / (d Var(X)); a row counts as often as its weight says."""
    spread = measure_variance(X, weight) * X.shape[1]
    return make_axis("gamma", 1.0 / spread if spread > 0 else 1.0, *GAMMA_POWERS)


def derive_costs(machine: Any, X: Any, y: np.ndarray, weight: np.ndarray | None = None) -> Axis:
    """C around its unit; a row counts as often as its weight says."""
    unit = measure_target_unit(machine, y, weight)
    kernel = getattr(machine, "kernel", "linear")
    if isinstance(kernel, str) and kernel in BOUNDED_KERNELS:
        return make_axis("C", unit, *KERNEL_C_POWERS)
    if machine.family == "kernel" and kernel != "linear":  # kernels of the user's, matrices, powers of dot products
        return make_axis("C", unit, *KERNEL_C_POWERS)
    length = measure_length(X, weight)
    lowest = floor(-log2(2.0 * (X.shape[0] if weight is None else float(weight.sum()))))
    return make_axis("C", unit / length if length > 0 else unit, lowest, LINEAR_HIGHEST_C_POWER)


def make_axis(name: str, unit: float, low: int, high: int) -> Axis:
    """unit times powers of two, coarse steps from low until high is reached."""
    count = ceil((high - low) / COARSE_STEP) + 1
    return Axis(name, tuple(unit * 2.0 ** (low + COARSE_STEP * place) for place in range(count)), unit)


def measure_target_unit(machine: Any, y: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The unit of C that comes from y."""
    if (
        machine.task != "regression"
        or name_loss(vars(machine).get("loss")) in SQUARED_LOSSES
        or y.dtype.kind not in "iuf"
    ):
        return 1.0
    spread = float(np.std(y)) if weight is None else measure_length(y.reshape(-1, 1), weight) ** 0.5
    return spread if spread > 0 and np.isfinite(spread) else 1.0


def measure_variance(X: Any, weight: np.ndarray | None = None) -> float:
    """Of all entries of X, as gamma="scale" has it."""
    if weight is not None:
        mean = float((X.T @ weight).sum()) / (X.shape[1] * float(weight.sum()))
        rows = X.multiply(X).sum(axis=1) if sp.issparse(X) else ((X - mean) ** 2).sum(axis=1)
        squares = float(np.asarray(rows).ravel() @ weight) / (X.shape[1] * float(weight.sum()))
        return squares - mean * mean if sp.issparse(X) else squares
    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean * mean)
    return float(np.var(X))


def measure_length(X: Any, weight: np.ndarray | None = None) -> float:
    """The mean of |x - mean|^2."""
    if weight is not None:
        mean = np.asarray(X.T @ weight).ravel() / weight.sum()
        rows = X.multiply(X).sum(axis=1) if sp.issparse(X) else ((X - mean) ** 2).sum(axis=1)
        squares = float(np.asarray(rows).ravel() @ weight) / float(weight.sum())
        return squares - float(mean @ mean) if sp.issparse(X) else squares
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        return float(X.multiply(X).sum() / X.shape[0] - mean @ mean)
    return float(np.var(X, axis=0).sum())
