"""f on a grid: what the page draws boundaries, margins and curves from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..estimators.fit_problems import FitProblems
from ..estimators.kernel_problems import KernelProblems
from ..estimators.linear_problems import LinearProblems
from ..model.problem import Point, Problem

GRID_COLUMNS, GRID_ROWS = 73, 55  # of a picture of the plane
CURVE_POINTS = 241  # of a picture of a curve
MARGIN_SHARE = 0.08  # of the range of the data, left free around them
LARGEST_VALUE = 1e6  # that is drawn; beyond it f is cut off
DECIMALS = 4


@dataclass(frozen=True)
class Window:
    """The part of the plane that is drawn: x from left to right, y from bottom to top."""

    left: float = -4.0
    right: float = 4.0
    bottom: float = -3.0
    top: float = 3.0

    @classmethod
    def around(cls, points: np.ndarray) -> Window:
        """The usual window if it holds the points, else one that holds them with a margin around."""
        usual = cls()
        low, high = points.min(axis=0), points.max(axis=0)
        if (low >= (usual.left, usual.bottom)).all() and (high <= (usual.right, usual.top)).all():
            return usual
        margin = MARGIN_SHARE * np.maximum(high - low, 1e-9 + 1e-3 * np.abs(high))
        (left, bottom), (right, top) = (low - margin).tolist(), (high + margin).tolist()
        return cls(left, right, bottom, top)


class Screen:
    """A grid over a window, and the values of a machine on it.

    Parameters
    ----------
    window : Window
    curve : bool
        Whether x alone is a feature, so that f is a curve.
    problems : FitProblems
        Those of a fit of a kernel machine or of a linear machine, over rows in memory.
    """

    def __init__(self, window: Window, curve: bool, problems: FitProblems):
        self.window, self.curve = window, curve
        if not isinstance(problems, KernelProblems | LinearProblems):
            raise TypeError(f"There is no picture of problems of type {type(problems).__name__}.")
        self.problems = problems
        self.kernel_values: dict[int, np.ndarray] = {}  # between the grid and the rows of each problem

    @cached_property
    def places(self) -> np.ndarray:
        """The places of the grid as rows, from the bottom left, row by row."""
        window = self.window
        if self.curve:
            return np.linspace(window.left, window.right, CURVE_POINTS)[:, None]
        x, y = np.linspace(window.left, window.right, GRID_COLUMNS), np.linspace(window.bottom, window.top, GRID_ROWS)
        return np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1)

    def describe(self) -> dict[str, Any]:
        """Window and size, for the page."""
        window = self.window
        edges = {"left": window.left, "right": window.right, "bottom": window.bottom, "top": window.top}
        columns, rows = (CURVE_POINTS, 1) if self.curve else (GRID_COLUMNS, GRID_ROWS)
        return {**edges, "columns": columns, "rows": rows, "curve": self.curve}

    def rows(self, k: int) -> np.ndarray:
        """The rows of X that problem k is over."""
        index = np.asarray(self.problems.indices[k])
        return self.problems.find_rows(index) if isinstance(self.problems, KernelProblems) else index

    def values(self, k: int, problem: Problem, point: Point) -> list[list[float]]:
        """f on the grid at a point of problem k: one list, or one for each class where all are one problem."""
        if isinstance(self.problems, LinearProblems):
            w, b = self.problems.read_point(problem, point)
            f = self.problems.kernel.samples(self.places).project(np.atleast_2d(w).T) + b
        else:
            f = self.evaluate_kernel_machine(self.problems, k, problem, point)[:, None]
        f = np.nan_to_num(np.clip(f, -LARGEST_VALUE, LARGEST_VALUE))
        return np.round(f.T, DECIMALS).tolist()

    def evaluate_kernel_machine(self, problems: KernelProblems, k: int, problem: Problem, point: Point) -> np.ndarray:
        """sum_i coef_i k(x_i, x) + b; the kernel values are evaluated once for all steps."""
        machine = problems.formulation.read(problem, point)
        if k not in self.kernel_values:
            self.kernel_values[k] = problems.features.kernel(self.places, problems.X[self.rows(k)])
        return self.kernel_values[k] @ machine.coef + machine.b
