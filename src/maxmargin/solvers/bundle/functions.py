"""Any convex function of x, given by value and subgradient, as an oracle of places and cuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .cuts import Cuts
from .line import MAX_STEP_FACTOR, search_line
from .model import Model
from .oracle import Oracle

CONVEXITY_TOL = 1e-7  # of the size of its terms: a cut may lie above the function by so much, for rounding


class FunctionPlace(NamedTuple):
    """x, the value there, and a subgradient."""

    x: np.ndarray
    value: float
    slope: np.ndarray


class FunctionOracle(Oracle):
    """fun(x) -> (value, subgradient), each answer checked once."""

    def __init__(self, fun: Callable):
        self.fun = fun
        self.on_line: dict[float, FunctionPlace] = {}

    def locate(self, x: np.ndarray) -> FunctionPlace:
        """Ask the function at x; it gets a copy, and what it returns is copied, so that neither can spoil the other."""
        self.n_calls += 1
        returned = self.fun(x.copy())
        try:
            value, slope = returned
        except (TypeError, ValueError):
            raise ValueError(f"fun must return a pair (value, subgradient), got {type(returned).__name__}.") from None
        try:
            value, slope = np.asarray(value), np.asarray(slope)
            if np.iscomplexobj(value) or np.iscomplexobj(slope):
                raise TypeError
            value, slope = float(value.item()), np.array(slope, float).reshape(-1)
        except (TypeError, ValueError):
            raise ValueError("fun must return a number and an array of numbers, both real.") from None
        if slope.shape != x.shape:
            raise ValueError(f"fun must return a subgradient of {len(x)} numbers, one for each of x, got {len(slope)}.")
        if not np.isfinite(value) or not np.isfinite(slope).all():
            what = f"the value {value}" if not np.isfinite(value) else "a subgradient that is not finite"
            raise ValueError(f"fun must be finite wherever it is evaluated, and returned {what} at x = {show(x)}.")
        return FunctionPlace(x, value, slope)

    def cut(self, place: FunctionPlace) -> tuple[np.ndarray, float, None]:
        """phi = subgradient, offset = value - <phi, x>."""
        return place.slope, place.value - float(place.slope @ place.x), None

    def search(self, one: FunctionPlace, other: FunctionPlace, model: Model) -> FunctionPlace:
        """The least F on the line from one to the other, or beyond if there is no box; what is seen is remembered."""
        way, ridge = other.x - one.x, model.spread(model.ridges)
        self.on_line = {0.0: one, 1.0: other}

        def slope(t: float) -> float:
            if t not in self.on_line:
                self.on_line[t] = self.between(one, other, t)
            place = self.on_line[t]
            return float((place.slope + ridge * place.x) @ way)

        t = search_line(slope, slope(0.0), enough=0.1, looks=8, longest=1.0 if model.boxed else MAX_STEP_FACTOR)
        return self.on_line[t]

    def slope_along(self, place: FunctionPlace, one: FunctionPlace, other: FunctionPlace) -> float:
        """<subgradient, other - one>."""
        return float(place.slope @ (other.x - one.x))

    def seen_on_line(self) -> list[FunctionPlace]:
        """The places of the last search, each worth a cut since it has been paid for."""
        seen, self.on_line = list(self.on_line.values())[1:], {}
        return seen

    def check(self, best: FunctionPlace, place: FunctionPlace, slope: np.ndarray, cuts: Cuts) -> None:
        """Refuse a cut above a known value: no convex function has it."""
        heights = cuts.heights(place.x)
        top = int(np.argmax(heights))
        ours, highest = place.value - float(slope @ place.x), cuts.factor * float(cuts.offsets[top])
        pairs = (  # the height of a cut, the value it must not exceed, and the size of the terms it is the sum of
            (ours + float(slope @ best.x), best.value, abs(ours), best.x),
            (float(heights[top]), place.value, abs(highest) + abs(highest - float(heights[top])), place.x),
        )
        for height, value, terms, x in pairs:
            if height - value > CONVEXITY_TOL * (terms + abs(value) + abs(place.value)) + 1e-9:
                raise ValueError(
                    f"fun must be convex and return a subgradient, but a cut is at {height:.6g} where its value is "
                    f"{value:.6g}, at x = {show(x)}."
                )

    def aggregate(self, keys: list, shares: np.ndarray) -> None:
        """Nothing is kept for a cut."""


def show(x: np.ndarray) -> str:
    """The first numbers of x."""
    return "[" + ", ".join(f"{each:.4g}" for each in x[:4]) + (", ...]" if len(x) > 4 else "]")
