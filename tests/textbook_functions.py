"""min f(x): convex functions of the literature whose minima are known, with a subgradient each.

Most are from Luksan and Vlcek, Test problems for nonsmooth unconstrained and linearly constrained optimization, and
from Haarala, Miettinen and Makela, New limited memory bundle method for large-scale nonsmooth optimization: the convex
ones. Where the literature gives eight digits, scipy gives all of them, as min t with f_i(x) <= t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.linalg import hilbert
from scipy.optimize import minimize

Oracle = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class TextbookFunction:
    """f(x) >= minimum, with equality at the minimiser where it is unique; `box` is a pair (lo, hi) around it."""

    name: str
    fun: Oracle
    x0: np.ndarray
    solution: float | Callable[[], float]
    minimiser: np.ndarray | None = None
    box: tuple = (-10.0, 10.0)
    smooth: bool = False
    linear: bool = False  # piecewise
    badly_scaled: bool = False

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return len(self.x0)

    @cached_property
    def minimum(self) -> float:
        """min f, in closed form or by a solver that is not ours."""
        return float(self.solution() if callable(self.solution) else self.solution)


# ---- maxima of smooth functions -------------------------------------------------------------------------------


def largest(pieces: Callable) -> Oracle:
    """max_i f_i(x), for pieces(x) = values, gradients."""

    def fun(x):
        values, gradients = pieces(x)
        k = int(np.argmax(values))
        return float(values[k]), np.array(gradients[k], float)

    return fun


def solve_epigraph(pieces: Callable, x0: np.ndarray) -> tuple[np.ndarray, float]:
    """x and t of min t with f_i(x) <= t, by scipy's SLSQP, begun again where it ended until t stays."""
    z, best = np.append(x0, np.max(pieces(x0)[0])), np.inf
    rise = np.append(np.zeros(len(x0)), 1.0)
    limits = {
        "type": "ineq",
        "fun": lambda z: z[-1] - np.asarray(pieces(z[:-1])[0]),
        "jac": lambda z: np.column_stack([-np.asarray(pieces(z[:-1])[1]), np.ones(len(pieces(z[:-1])[0]))]),
    }
    for _ in range(10):
        options = {"ftol": 1e-15, "maxiter": 1000}
        found = minimize(lambda z: z[-1], z, jac=lambda z: rise, constraints=limits, method="SLSQP", options=options)
        value = float(np.max(pieces(found.x[:-1])[0]))
        if value >= best:
            break
        z, best = np.append(found.x[:-1], value), value
    return z[:-1], best


def cb2(x):
    """x1^2 + x2^4, (2 - x1)^2 + (2 - x2)^2, 2 exp(x2 - x1)."""
    u, v = x
    bend = 2.0 * np.exp(min(v - u, 300.0))
    values = [u**2 + v**4, (2.0 - u) ** 2 + (2.0 - v) ** 2, bend]
    return values, [[2.0 * u, 4.0 * v**3], [2.0 * u - 4.0, 2.0 * v - 4.0], [-bend, bend]]


def cb3(x):
    """x1^4 + x2^2, (2 - x1)^2 + (2 - x2)^2, 2 exp(x2 - x1)."""
    u, v = x
    values, gradients = cb2(x)
    return [u**4 + v**2, *values[1:]], [[4.0 * u**3, 2.0 * v], *gradients[1:]]


def dem(x):
    """5 x1 + x2, -5 x1 + x2, x1^2 + x2^2 + 4 x2."""
    u, v = x
    return [5.0 * u + v, v - 5.0 * u, u**2 + v**2 + 4.0 * v], [[5.0, 1.0], [-5.0, 1.0], [2.0 * u, 2.0 * v + 4.0]]


def ql(x):
    """|x|^2 + 10 max(0, 4 - 4 x1 - x2, 6 - x1 - 2 x2)."""
    u, v = x
    base, slope = u**2 + v**2, 2.0 * np.asarray(x)
    values = [base, base + 10.0 * (4.0 - 4.0 * u - v), base + 10.0 * (6.0 - u - 2.0 * v)]
    return values, [slope, slope - [40.0, 10.0], slope - [10.0, 20.0]]


def lq(x):
    """-x1 - x2 + max(0, |x|^2 - 1)."""
    x = np.asarray(x)
    return [-x.sum(), -x.sum() + x @ x - 1.0], [-np.ones(2), 2.0 * x - 1.0]


def mifflin(low: float, high: float):
    """-x1 + max(low u, high u) with u = |x|^2 - 1: convex, since u is and 0 <= low <= high."""

    def pieces(x):
        beyond = x[0] ** 2 + x[1] ** 2 - 1.0
        slopes = [np.array([2.0 * step * x[0] - 1.0, 2.0 * step * x[1]]) for step in (low, high)]
        return [step * beyond - x[0] for step in (low, high)], slopes

    return pieces


def rosen_suzuki(x):
    """q(x) + 10 max(0, three convex quadratics)."""
    x = np.asarray(x, float)
    curves = np.array([[1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0]])
    lines = np.array([[-5.0, -5.0, -21.0, 7.0], [1.0, -1.0, 1.0, -1.0], [-1.0, 0.0, 0.0, -1.0], [2.0, -1.0, 0.0, -1.0]])
    values = curves @ x**2 + lines @ x - [0.0, 8.0, 10.0, 5.0]
    slopes = 2.0 * curves * x + lines
    return np.append(values[0], values[0] + 10.0 * values[1:]), np.vstack([slopes[0], slopes[0] + 10.0 * slopes[1:]])


def wong2(x):
    """q(x) + 10 max(0, eight convex functions): problem 113 of Hock and Schittkowski with a penalty."""
    a, b, c, d, e, f, g, h, i, j = x
    value = a * a + b * b + a * b - 14 * a - 16 * b + (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2
    value += 2 * (f - 1) ** 2 + 5 * g * g + 7 * (h - 11) ** 2 + 2 * (i - 10) ** 2 + (j - 7) ** 2 + 45
    slope = [2 * a + b - 14, 2 * b + a - 16, 2 * c - 20, 8 * d - 40, 2 * e - 6]
    slope = np.array([*slope, 4 * f - 4, 10 * g, 14 * h - 154, 4 * i - 40, 2 * j - 14])
    limits = [
        3 * (a - 2) ** 2 + 4 * (b - 3) ** 2 + 2 * c * c - 7 * d - 120,
        5 * a * a + 8 * b + (c - 6) ** 2 - 2 * d - 40,
        0.5 * (a - 8) ** 2 + 2 * (b - 4) ** 2 + 3 * e * e - f - 30,
        a * a + 2 * (b - 2) ** 2 - 2 * a * b + 14 * e - 6 * f,
        4 * a + 5 * b - 3 * g + 9 * h - 105,
        10 * a - 8 * b - 17 * g + 2 * h,
        -3 * a + 6 * b + 12 * (i - 8) ** 2 - 7 * j,
        -8 * a + 2 * b + 5 * i - 2 * j - 12,
    ]
    slopes = np.zeros((8, 10))
    slopes[0, :4] = 6 * a - 12, 8 * b - 24, 4 * c, -7
    slopes[1, :4] = 10 * a, 8, 2 * c - 12, -2
    slopes[2, [0, 1, 4, 5]] = a - 8, 4 * b - 16, 6 * e, -1
    slopes[3, [0, 1, 4, 5]] = 2 * a - 2 * b, 4 * b - 8 - 2 * a, 14, -6
    slopes[4, [0, 1, 6, 7]] = 4, 5, -3, 9
    slopes[5, [0, 1, 6, 7]] = 10, -8, -17, 2
    slopes[6, [0, 1, 8, 9]] = -3, 6, 24 * i - 192, -7
    slopes[7, [0, 1, 8, 9]] = -8, 2, 5, -2
    return value + 10.0 * np.append(0.0, limits), slope + 10.0 * np.vstack([np.zeros(10), slopes])


SHOR_CENTRES = np.array(
    [[0, 0, 0, 0, 0], [2, 1, 1, 1, 3], [1, 2, 1, 1, 2], [1, 4, 1, 2, 2], [3, 2, 1, 0, 1],
     [0, 2, 1, 0, 1], [1, 1, 1, 1, 1], [1, 0, 1, 2, 1], [0, 0, 2, 1, 0], [1, 1, 2, 0, 0]], float
)  # fmt: skip
SHOR_WEIGHTS = np.array([1.0, 5.0, 10.0, 2.0, 4.0, 3.0, 1.7, 2.5, 6.0, 4.5])


def shor(x):
    """b_i |x - a_i|^2."""
    apart = np.asarray(x) - SHOR_CENTRES
    return SHOR_WEIGHTS * (apart**2).sum(axis=1), 2.0 * SHOR_WEIGHTS[:, None] * apart


@cache
def make_maxquad() -> tuple[np.ndarray, np.ndarray]:
    """Five matrices A_k and vectors b_k of exponentials and sines; the A_k are positive definite."""
    i, k = np.arange(1.0, 11.0), np.arange(1.0, 6.0)
    low, high = np.minimum.outer(i, i), np.maximum.outer(i, i)
    A = np.sin(k)[:, None, None] * np.exp(low / high) * np.cos(low * high)
    A[:, np.arange(10), np.arange(10)] = 0.0
    A[:, np.arange(10), np.arange(10)] = i / 10.0 * np.abs(np.sin(k))[:, None] + np.abs(A).sum(axis=2)
    return A, np.exp(i / k[:, None]) * np.sin(np.outer(k, i))


def maxquad(x):
    """x'A_k x - b_k'x, by Lemarechal."""
    A, b = make_maxquad()
    product = A @ x
    return product @ x - b @ x, 2.0 * product - b


def nesterov_maximum(x):
    """x_i + |x|^2 / 2."""
    return x + 0.5 * float(x @ x), np.eye(len(x)) + x


def shift_maximum(x):
    """n x_i - sum_j x_j, by Goffin."""
    return len(x) * x - x.sum(), len(x) * np.eye(len(x)) - 1.0


# ---- other functions ------------------------------------------------------------------------------------------


def wolfe(x):
    """Wolfe's function, on which steepest descent with exact line searches fails; -8 at (-1, 0)."""
    u, v = x
    if u >= abs(v):
        root = 5.0 * np.hypot(3.0 * u, 4.0 * v)
        return root, np.array([9.0, 0.0]) if root == 0.0 else np.array([225.0 * u, 400.0 * v]) / root
    steep = min(u, 0.0) ** 8
    return 9.0 * u + 16.0 * abs(v) - min(u, 0.0) * steep, np.array([9.0 - 9.0 * steep, 16.0 * np.sign(v)])


def maximal_square(x):
    """max_i x_i^2."""
    k = int(np.argmax(np.abs(x)))
    return float(x[k] ** 2), 2.0 * x[k] * np.eye(1, len(x), k)[0]


def maximal_absolute(A: np.ndarray, b: np.ndarray | float = 0.0) -> Oracle:
    """max_i |A x - b|_i."""

    def fun(x):
        residual = A @ x - b
        k = int(np.argmax(np.abs(residual)))
        return float(np.abs(residual[k])), np.sign(residual[k]) * A[k]

    return fun


def sum_of_absolutes(A: np.ndarray, b: np.ndarray | float = 0.0) -> Oracle:
    """sum_i |A x - b|_i."""

    def fun(x):
        residual = A @ x - b
        return float(np.abs(residual).sum()), A.T @ np.sign(residual)

    return fun


def chained_lq(x):
    """sum_i of LQ of (x_i, x_i+1)."""
    u, v = x[:-1], x[1:]
    beyond = u**2 + v**2 - 1.0
    out = beyond > 0.0
    gradient = np.zeros(len(x))
    gradient[:-1] += 2.0 * u * out - 1.0
    gradient[1:] += 2.0 * v * out - 1.0
    return float(np.maximum(beyond, 0.0).sum() - u.sum() - v.sum()), gradient


def link_cb3(x):
    """The three pieces of CB3 of each (x_i, x_i+1): values, and derivatives by x_i and by x_i+1."""
    u, v = x[:-1], x[1:]
    bend = 2.0 * np.exp(np.minimum(v - u, 300.0))
    values = np.array([u**4 + v**2, (2.0 - u) ** 2 + (2.0 - v) ** 2, bend])
    return values, np.array([4.0 * u**3, 2.0 * u - 4.0, -bend]), np.array([2.0 * v, 2.0 * v - 4.0, bend])


def chained_cb3(x):
    """sum_i of CB3 of (x_i, x_i+1)."""
    values, left, right = link_cb3(x)
    k, i = values.argmax(axis=0), np.arange(len(x) - 1)
    return float(values.max(axis=0).sum()), np.append(left[k, i], 0.0) + np.append(0.0, right[k, i])


def joined_cb3(x):
    """The three pieces of CB3, each summed over (x_i, x_i+1)."""
    values, left, right = link_cb3(x)
    return values.sum(axis=1), np.pad(left, ((0, 0), (0, 1))) + np.pad(right, ((0, 0), (1, 0)))


def nesterov_chain(x):
    """(x_1^2 + sum_i (x_i - x_i+1)^2 + x_n^2) / 2 - x_1: smooth, with a condition of about n^2."""
    padded = np.concatenate([[0.0], x, [0.0]])
    steps = np.diff(padded)
    gradient = steps[:-1] - steps[1:]
    gradient[0] -= 1.0
    return 0.5 * float(steps @ steps) - x[0], gradient


# ---- the catalogue --------------------------------------------------------------------------------------------


def ramp(n: int) -> np.ndarray:
    """1, 2, .. with the signs of the second half turned."""
    i = np.arange(1.0, n + 1.0)
    return np.where(i <= n // 2, i, -i)


def pose_largest(name: str, pieces: Callable, x0, solution=None, minimiser=None, **traits) -> TextbookFunction:
    """The maximum of pieces; without a solution in closed form, scipy finds it."""
    x0 = np.array(x0, float)
    if solution is None:
        solution = lambda: solve_epigraph(pieces, x0)[1]  # noqa: E731
    return TextbookFunction(name, largest(pieces), x0, solution, minimiser, **traits)


PIECES = {  # small maxima of smooth functions, which a general solver can check
    "CB2": (cb2, (1.0, -0.1)),
    "CB3": (cb3, (2.0, 2.0), 2.0, np.ones(2)),
    "DEM": (dem, (1.0, 1.0), -3.0, np.array([0.0, -3.0])),
    "QL": (ql, (-1.0, 5.0), 7.2, np.array([1.2, 2.4])),
    "LQ": (lq, (-0.5, -0.5), -np.sqrt(2.0), np.full(2, np.sqrt(0.5))),
    "Mifflin 1": (mifflin(0.0, 20.0), (0.8, 0.6), -1.0, np.array([1.0, 0.0])),
    "Mifflin 2": (mifflin(0.25, 3.75), (-1.0, -1.0), -1.0, np.array([1.0, 0.0])),
    "Rosen-Suzuki": (rosen_suzuki, np.zeros(4), -44.0, np.array([0.0, 1.0, 2.0, -1.0])),
    "Shor": (shor, (0.0, 0.0, 0.0, 0.0, 1.0)),
    "MAXQUAD": (maxquad, np.ones(10)),
    "Wong 2": (wong2, (2.0, 3.0, 5.0, 5.0, 1.0, 2.0, 7.0, 3.0, 6.0, 10.0)),
}
LITERATURE = {  # as printed
    "CB2": 1.9522245, "CB3": 2.0, "DEM": -3.0, "QL": 7.2, "LQ": -1.4142136, "Mifflin 1": -1.0, "Mifflin 2": -1.0,
    "Rosen-Suzuki": -44.0, "Shor": 22.600162, "MAXQUAD": -0.8414083, "Wong 2": 24.306209,
}  # fmt: skip
AT_THE_START = {  # f(x0) as printed
    "CB2": 5.41, "CB3": 20.0, "DEM": 6.0, "QL": 56.0, "LQ": 1.0, "Mifflin 1": -0.8, "Mifflin 2": 4.75,
    "Wolfe": 60.207973, "Rosen-Suzuki": 0.0, "Shor": 80.0, "MAXQUAD": 5337.0664, "Maxq": 400.0, "Maxl": 20.0,
    "Goffin": 1225.0, "MXHILB": 4.4992053,
}  # fmt: skip


def make_catalogue() -> list[TextbookFunction]:
    """All functions, the small ones first."""
    line, nodes = np.arange(1.0, 31.0), np.arange(1.0, 51.0)
    known = [pose_largest(name, *rest) for name, rest in PIECES.items()]
    return [
        *known,
        TextbookFunction("Wolfe", wolfe, np.array([3.0, 2.0]), -8.0, np.array([-1.0, 0.0])),
        TextbookFunction("Maxq", maximal_square, ramp(20), 0.0, np.zeros(20), (-30.0, 30.0)),
        TextbookFunction("Maxl", maximal_absolute(np.eye(20)), ramp(20), 0.0, np.zeros(20), (-30.0, 30.0), linear=True),
        pose_largest("Goffin", shift_maximum, nodes - 25.5, 0.0, box=(-30.0, 30.0), linear=True),
        TextbookFunction("MXHILB", maximal_absolute(hilbert(50)), np.ones(50), 0.0, linear=True),
        TextbookFunction("L1HILB", sum_of_absolutes(hilbert(50)), np.ones(50), 0.0, linear=True),
        TextbookFunction("chained LQ", chained_lq, np.full(20, -0.5), -19.0 * np.sqrt(2.0), np.full(20, np.sqrt(0.5))),
        TextbookFunction("chained CB3", chained_cb3, np.full(20, 2.0), 38.0, np.ones(20)),
        pose_largest("joined CB3", joined_cb3, np.full(20, 2.0), 38.0, np.ones(20)),
        pose_largest("Nesterov's maximum", nesterov_maximum, np.zeros(30), -1.0 / 60.0, np.full(30, -1.0 / 30.0)),
        TextbookFunction(
            "Nesterov's chain", nesterov_chain, np.zeros(30), 0.5 / 31.0 - 0.5, 1.0 - line / 31.0, smooth=True
        ),
    ]


CATALOGUE = {function.name: function for function in make_catalogue()}
