"""The small quadratic program of every bundle method, solved over its faces.

    maximise  q'a - 1/2 a'G a   over   a >= 0, sum a = 1

G_kl = <phi_k, phi_l> is positive semidefinite, and singular where cuts depend on one another. The method is that of
Wolfe (1976, Finding the nearest point in a polytope) and Kiwiel (1986): solve on the face of the cuts in use, walk to
its border where the solution lies beyond, and let in the cut that promises most. Every step stays on the simplex and
climbs, so that the weights may be used whenever it is stopped.
"""

from __future__ import annotations

import numpy as np

from ...runtime.scipy_functions import dpotrf, dpotrs

MIN_RELATIVE_RIDGE = 1e-15  # of the diagonal, so that the equations of cuts that depend on each other have a solution
MAX_WEIGHT = 1e12  # a weight beyond this is only a direction: the program is linear there
GRADIENT_REL_TOL = 1e-13  # of what q and G a amount to: a promise below that is rounding


def maximise_on_simplex(
    G: np.ndarray, q: np.ndarray, start: np.ndarray | None = None, max_steps: int | None = None
) -> np.ndarray:
    """argmax of q'a - 1/2 a'G a over a >= 0, sum a = 1.

    Parameters
    ----------
    G : ndarray of shape (m, m)
        Positive semidefinite.
    q : ndarray of shape (m,)
    start : ndarray of shape (m,), optional
        Weights to begin with; those of the last, smaller problem with a zero for the new cut are as good as it gets.
    max_steps : int, optional
        Faces to solve at most.

    Returns
    -------
    ndarray of shape (m,)
        Weights that are not negative and sum to one.
    """
    a = begin(G, q, start)
    face, entered = np.flatnonzero(a), -1
    for _ in range(10 * len(q) + 20 if max_steps is None else max_steps):
        face = climb(G, q, a, face)
        if entered >= 0 and a[entered] == 0.0:  # it promised no more than rounding: it would enter and leave for ever
            break
        promise = q - G[:, face] @ a[face]
        level = float(a[face] @ promise[face])
        best = int(np.argmax(promise))
        noise = GRADIENT_REL_TOL * (abs(level) + float(np.abs(q[face]).max()) + float(np.abs(q - promise).max()))
        if promise[best] - level <= noise or a[best] > 0:
            break
        face, entered = np.append(face, best), best
    return a / a.sum()


def begin(G: np.ndarray, q: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """The start on the simplex, or the one cut that is best by itself."""
    if start is not None and len(start) == len(q):
        a = np.maximum(start, 0.0)
        if 0.0 < a.sum() < np.inf:
            return a / a.sum()
    a = np.zeros(len(q))
    a[np.argmax(q - 0.5 * np.diag(G))] = 1.0
    return a


def climb(G: np.ndarray, q: np.ndarray, a: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Move `a` to the maximum on its face; where that lies beyond the border, drop the cuts it meets on the way."""
    while len(face) > 1:
        target = solve_face(G, q, face, a)
        if target.min() >= 0.0:
            a[face] = target
            return face[target > 0.0]
        previous = a[face]
        falling = target < previous
        reach = np.where(falling, previous / np.where(falling, previous - target, 1.0), np.inf)
        t = min(float(reach.min()), 1.0)
        moved = np.maximum(previous + t * (target - previous), 0.0)
        moved[reach <= t] = 0.0
        a[face] = moved / moved.sum()
        face = face[moved > 0.0]
    a[face] = 1.0
    return face


def solve_face(G: np.ndarray, q: np.ndarray, face: np.ndarray, a: np.ndarray, total: float = 1.0) -> np.ndarray:
    """The maximum over all weights of the face that sum to `total`, whatever their signs.

    In the differences to the heaviest cut, since what the cuts have in common does not matter and drowns the rest.
    """
    heavy = int(np.argmax(a[face]))
    first, others = face[heavy], np.delete(face, heavy)
    shared = G[others, first]
    H = G[np.ix_(others, others)] - shared[:, None] - shared + G[first, first]
    rhs = (q[others] - q[first]) - total * (shared - G[first, first])
    weights = solve_ridged(H, rhs)
    return np.insert(weights, heavy, total - weights.sum())


def solve_ridged(H: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """H x = rhs with a ridge as small as Cholesky's method allows, in units in which the diagonal of H is one.

    Cuts of very different steepness need the units; the residual is solved for once more.
    """
    diagonal = np.einsum("ii->i", H)
    units = np.sqrt(np.maximum(diagonal, 1e-30 * max(float(diagonal.max()), 0.0)))
    units = np.where(units > 0, units, 1.0)
    H = H / units / units[:, None]
    rhs, ridge = rhs / units, MIN_RELATIVE_RIDGE * len(H)
    for _ in range(60):
        factor, failed = dpotrf(H + ridge * np.eye(len(H)))
        if not failed:
            break
        ridge *= 10.0
    x, _ = dpotrs(factor, rhs)
    again, _ = dpotrs(factor, rhs - H @ x)
    x = (x + again) / units
    return x * min(1.0, MAX_WEIGHT / max(float(np.abs(x).max()), 1e-300))
