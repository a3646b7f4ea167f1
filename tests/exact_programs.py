"""min 1/2 x'Hx + c'x with Gx <= h and Ax = b, exact to the last digits, by cvxopt and an active set.

An interior point method ends a little inside, at an error of its own that differs from one processor to the next. The
constraints it finds active are right all the same. With these as equations the optimality conditions are linear, and
their solution is exact but for the rounding of long doubles. What the result may be off by is measured, and a
reference that is not sharp is an error.
"""

from __future__ import annotations

from typing import NamedTuple

import cvxopt
import numpy as np

OPTIONS = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-11, "feastol": 1e-11, "maxiters": 200}
OPTIMUM_TOLERANCE = 1e-11  # of the size of the optimum: far below what any test asserts


class Optimum(NamedTuple):
    """x, the multipliers of Gx <= h and of Ax = b, the value, and a bound on how far it is from the optimum."""

    x: np.ndarray
    z: np.ndarray
    y: np.ndarray
    value: float
    error: float


def solve_exactly(H, c, G, h, A=None, b=None) -> Optimum:
    """The optimum of a convex quadratic program, to about twelve digits or more."""
    H, c, G, h = (np.asarray(part, float) for part in (H, c, G, h))
    A, b = (np.zeros((0, len(c))), np.zeros(0)) if A is None else (np.asarray(A, float), np.asarray(b, float))
    parts = (H, c, G, h, A, b) if len(b) else (H, c, G, h)
    found = cvxopt.solvers.qp(*(cvxopt.matrix(np.ascontiguousarray(part)) for part in parts), options=OPTIONS)
    x, s, z, y = (np.array(found[name]).ravel() for name in ("x", "s", "z", "y"))
    best = measure(H, c, G, h, A, b, x, z, y)
    active = z > s
    for _ in range(20):
        x, z, y = refine_active_set(H, c, G, h, A, b, active, x, z, y)
        best = min(best, measure(H, c, G, h, A, b, x, z, y), key=lambda each: each.error)
        wrong = np.where(active, z < 0.0, G @ x > h) & (np.abs(np.where(active, z, G @ x - h)) > 1e-13)
        if not wrong.any():
            break
        active = active ^ wrong
    rounding = np.finfo(float).eps * (np.abs(H) @ np.abs(best.x)).sum()  # of H itself, which is a product of floats
    known = OPTIMUM_TOLERANCE * max(abs(best.value), 1e-3) + bound_distance(best.x) * rounding
    assert best.error <= known, f"the reference {best.value!r} may be off by {best.error:.2g}"
    return best


def refine_active_set(H, c, G, h, A, b, active, x, z, y) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x and multipliers near these, in long doubles, that solve the conditions of optimality."""
    rows = np.vstack([G[active], A])
    K = np.block([[H, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    both, right = np.concatenate([z[active], y]), np.concatenate([h[active], b])
    inverse = np.linalg.pinv(K, rcond=1e-13, hermitian=True)
    wide = [np.asarray(part, np.longdouble) for part in (H, c, rows, right, x, both)]
    for _ in range(3):
        x_rest = -(wide[0] @ wide[4] + wide[1] + wide[2].T @ wide[5])
        rest = np.concatenate([x_rest, wide[3] - wide[2] @ wide[4]]).astype(float)
        step = inverse @ rest
        wide[4], wide[5] = wide[4] + step[: len(c)], wide[5] + step[len(c) :]
    x, both = wide[4:]
    z = np.zeros(len(h), np.longdouble)
    z[active] = both[: active.sum()]
    return x, z, both[active.sum() :]


def measure(H, c, G, h, A, b, x, z, y) -> Optimum:
    """The value at x, and a bound on its distance to the optimum by the Lagrangian at (x, z, y), in long doubles."""
    z = np.maximum(z, 0.0)
    H, c, G, h, A, b, u, v, w = (np.asarray(part, np.longdouble) for part in (H, c, G, h, A, b, x, z, y))
    over, missed = G @ u - h, A @ u - b
    rest = H @ u + c + G.T @ v + A.T @ w
    steep = max(v.max(initial=0.0), np.abs(w).max(initial=0.0), np.abs(c).max(initial=0.0))
    error = np.abs(v * over).sum() + np.abs(w * missed).sum() + bound_distance(u) * np.abs(rest).sum()
    error += 2.0 * steep * (np.maximum(over, 0.0).sum() + np.abs(missed).sum())
    return Optimum(*(part.astype(float) for part in (u, v, w)), float(0.5 * u @ H @ u + c @ u), float(error))


def bound_distance(x: np.ndarray) -> float:
    """No optimum of the tests is further from x than this in any coordinate."""
    return 10.0 * (1.0 + np.abs(x).max(initial=0.0))
