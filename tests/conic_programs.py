"""min over (w, b) of P as a cone program for Clarabel: an optimum that shares nothing with the library.

The unknowns are w, b, a bound t_i on the loss of each sample, and v, which some losses and |w|_1 need besides. Clarabel
minimises 1/2 x'Hx + q'x over affine expressions in cones. An expression is a matrix with a row for each sample: the
coefficients of all unknowns, and a constant at the end.
"""

from __future__ import annotations

from collections.abc import Callable

import clarabel
import numpy as np
import scipy.sparse as sp

PRECISION = 1e-8  # of gap and residuals, relative


class Program:
    """P = R(w) + sum_i c_i l(f_i; y_i), f = X w + b, with R(w) = 1/2 |w|^2 or |w|_1."""

    def __init__(self, X: np.ndarray, y: np.ndarray, c: np.ndarray, free: bool, penalty: str):
        n, d = X.shape
        size = 2 * d + 1 + 2 * n
        unknowns = np.eye(size + 1)
        self.y, self.c, self.one = y, c, np.tile(unknowns[-1], (n, 1))
        w, u, self.t, self.v = (
            unknowns[start : start + k] for start, k in ((0, d), (d, d), (2 * d, n), (2 * d + n, n))
        )
        self.f = X @ w + (np.tile(unknowns[size - 1], (n, 1)) if free else 0.0)
        self.square, self.linear = np.zeros(size), np.zeros(size)
        if penalty == "l2":
            self.square[:d] = 1.0
        else:
            self.linear[d : 2 * d] = 1.0
        self.charge_linearly(self.t)
        self.nonnegative, self.exponential = [u - w, u + w], []

    def charge_linearly(self, t: np.ndarray) -> None:
        """Add c.t to P."""
        self.linear += self.c @ t[:, :-1]

    def charge_squares(self, t: np.ndarray, factor: float) -> None:
        """Add factor c.t^2 to P."""
        self.square += 2.0 * factor * self.c @ t[:, :-1]

    def bound_exponential(self, exponent: np.ndarray, bound: np.ndarray) -> None:
        """exp(exponent) <= bound."""
        self.exponential.append(np.stack([exponent, self.one, bound], axis=1).reshape(-1, exponent.shape[1]))

    def scale(self, factor: np.ndarray | float, expression: np.ndarray) -> np.ndarray:
        """factor_i times row i."""
        return np.broadcast_to(factor, len(expression))[:, None] * expression

    def solve(self) -> float:
        """The optimum; AssertionError where Clarabel does not vouch for it."""
        rows, linear = np.vstack(self.nonnegative + self.exponential), sum(map(len, self.nonnegative))
        cones = [clarabel.NonnegativeConeT(linear)] + [clarabel.ExponentialConeT()] * ((len(rows) - linear) // 3)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = PRECISION
        H, A = sp.csc_matrix(np.diag(self.square)), sp.csc_matrix(-rows[:, :-1])
        found = clarabel.DefaultSolver(H, self.linear, A, rows[:, -1], cones, settings).solve()
        assert str(found.status) == "Solved", found.status
        return float(found.obj_val)


def write_hinge(program: Program, margin: float) -> None:
    """t >= 0, t >= margin - y f."""
    program.nonnegative += [program.t, program.t + program.scale(program.y, program.f) - margin * program.one]


def write_tube(program: Program, epsilon: float) -> None:
    """t >= 0, t >= |f - y| - epsilon."""
    away = program.f - program.scale(program.y, program.one)
    program.nonnegative += [
        program.t,
        program.t + epsilon * program.one - away,
        program.t + epsilon * program.one + away,
    ]


def write_quantile(program: Program, quantile: float) -> None:
    """t >= q (y - f), t >= (1 - q) (f - y)."""
    away = program.f - program.scale(program.y, program.one)
    program.nonnegative += [program.t + quantile * away, program.t - (1.0 - quantile) * away]


def write_huber(program: Program, threshold: float) -> None:
    """min over v of v^2 / 2h + |f - y - v|."""
    away = program.f - program.scale(program.y, program.one) - program.v
    program.nonnegative += [program.t - away, program.t + away]
    program.charge_squares(program.v, 0.5 / threshold)


def write_logistic(program: Program, _: float) -> None:
    """exp(-y f - t) + exp(-t) <= 1."""
    program.bound_exponential(-program.scale(program.y, program.f) - program.t, program.v)
    program.bound_exponential(-program.t, program.one - program.v)


def write_exponential(program: Program, _: float) -> None:
    """exp(-y f) <= t."""
    program.bound_exponential(-program.scale(program.y, program.f), program.t)


def write_poisson(program: Program, _: float) -> None:
    """exp(f) <= t + y f."""
    program.bound_exponential(program.f, program.t + program.scale(program.y, program.f))


def square(write: Callable) -> Callable:
    """The loss t^2 in place of t."""

    def write_squares(program: Program, parameter: float) -> None:
        write(program, parameter)
        program.charge_linearly(-program.t)
        program.charge_squares(program.t, 1.0)

    return write_squares


LOSSES: dict[str, Callable[[Program, float], None]] = {
    "hinge": write_hinge,
    "squared_hinge": square(write_hinge),
    "epsilon_insensitive": write_tube,
    "squared_epsilon_insensitive": square(write_tube),
    "absolute": lambda program, _: write_tube(program, 0.0),
    "quantile": write_quantile,
    "huber": write_huber,
    "logistic": write_logistic,
    "exponential": write_exponential,
    "poisson": write_poisson,
}


def find_optimum(X, y, c, loss: str, parameter: float, free: bool, penalty: str = "l2") -> float:
    """P* of a linear machine with a free intercept or none."""
    program = Program(X, y, c, free, penalty)
    LOSSES[loss](program, parameter)
    return program.solve()
