"""Some rows of a linear problem, and Newton steps on the smooth function they make.

    phi(u) = 1/2 u'R u - base'u + sum_i max over a of ( -a f_i - conj_i(a) - proximal term )       f = Z u

Z = (X, constant): the last feature is the intercept, free (constant 1, not in R) or regularised (constant = scaling).
`base` stands for the rows outside the block, whose duals are assumed to stay at their bounds.
"""

from __future__ import annotations

import numpy as np

from ...model.kernels import Linear
from ...model.samples import Dense, Sparse
from ...model.tiles import evaluate_square
from ...runtime.interpreter import cached_property
from ...runtime.interruptible import abortable
from ...runtime.scipy_functions import cho_solve
from .oracle import Response
from .system import DrawnRows, draw_rows, solve_newton

LINE_SEARCH_SLOPE_SHARE = 0.1  # of the first slope: the largest slope at which a line search ends
EXPONENTIAL_WALL_FACTOR = 10.0  # times the first slope: a steeper line is on the wall of an exponential


class RowBlock:
    """Samples and their oracle, at a point u with the scores f."""

    def __init__(self, samples, oracle, constant: float, ridge: float, base: np.ndarray):
        self.samples, self.oracle, self.constant, self.ridge, self.base = samples, oracle, constant, ridge, base
        self.square: np.ndarray | None = None
        self.drawn: DrawnRows | None = None  # rows that were taken out already, at random
        self.response: Response | None = None
        self.factors: tuple[np.ndarray, bool] | None = None  # of the last matrix, if that of all rows

    def project(self, u: np.ndarray) -> np.ndarray:
        """f = Z u."""
        return self.samples.project(u[:-1]) + self.constant * u[-1]

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Z'a."""
        return np.append(self.samples.combine(a), self.constant * a.sum())

    def place(self, u: np.ndarray, f: np.ndarray) -> None:
        """Move to u: evaluate the rows, and form the gradient R u - base - Z'a."""
        self.u, self.f = u, f
        self.response = self.oracle.respond(f)
        self.pulled = self.combine(self.response.a)
        self.gradient = u - self.base - self.pulled
        self.gradient[-1] += (self.ridge - 1.0) * u[-1]

    @property
    def value(self) -> float:
        """phi(u), what a step must lower."""
        u = self.u
        return 0.5 * float(u[:-1] @ u[:-1] + self.ridge * u[-1] ** 2) - float(self.base @ u) + self.response.smooth

    def gram(self, rows: np.ndarray) -> np.ndarray:
        """<x_i, x_j> of some rows; if there are few rows in all, the whole matrix is computed once and kept."""
        if self.samples.n > 2 * len(rows) + 200:
            return multiply_rows(self.samples.take(rows))
        if self.square is None:
            self.square = multiply_rows(self.samples)
        return self.square[np.ix_(rows, rows)]

    @cached_property
    def row_sample(self) -> tuple[DrawnRows, DrawnRows]:
        """The rows that stand for all others in the matrix of a step, and those that stand for themselves."""
        return draw_rows(self.samples, self.drawn)

    def find_step(self, damping: float, accuracy: float) -> np.ndarray:
        """Newton's direction."""
        return solve_newton(self, self.gradient, damping, accuracy)

    def repeat_step(self) -> np.ndarray:
        """The direction by the factors of the last matrix: a pass over the rows in place of their squares."""
        return -cho_solve(self.factors, self.gradient, check_finite=False)

    def search(self, step: np.ndarray, move: np.ndarray, steep: float = LINE_SEARCH_SLOPE_SHARE) -> float:
        """t > 0 with phi'(u + t step) near zero: Newton's method in one variable, kept within a bracket.

        Near means at most `steep` times the first slope. If that slope is large on a short interval only, such a point
        may lie beyond the minimum, where phi is larger than at the start: then a smaller `steep` is needed.
        """
        slope = float(self.gradient @ step)
        curve = float(step[:-1] @ step[:-1] + self.ridge * step[-1] ** 2)
        leant = float(self.pulled @ step)
        low, high, t, last = 0.0, np.inf, 1.0, np.inf
        for _ in range(60):
            first, second = self.oracle.directional_derivative(self.f, move, t)
            now = slope + leant - first + t * curve
            if not np.isfinite(now):
                now = np.inf
            if abs(now) <= steep * abs(slope) or high - low <= 1e-12 * min(high, 1e12):
                break
            low, high = (t, high) if now < 0 else (low, t)
            t = t - now / (curve + second) if np.isfinite(now) and curve + second > 0 else np.inf
            # Down the wall of an exponential a Newton step has length one: halve the bracket there.
            crawling = (abs(now) > 0.5 * last or now > EXPONENTIAL_WALL_FACTOR * abs(slope)) and high < np.inf
            if crawling or not low < t < high:
                t = 0.5 * (low + high) if high < np.inf else 4.0 * low
            last = abs(now)
        return t if np.isfinite(now) else low


def multiply_rows(samples: Dense | Sparse) -> np.ndarray:
    """<x_i, x_j> of all pairs, on all cores; an interrupt aborts it at once."""
    with abortable():
        return evaluate_square(Linear(), samples)
