"""The quadratic loss of targets of several numbers, with a metric M."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...contracts.losses import TERM_RELATIVE_ERROR, Loss, VectorTerms
from ...runtime.rounding import UNIT
from .weighted import invert_weights

RANK_TOLERANCE = 1e-12  # of the largest eigenvalue of M: a smaller one counts as zero


class MultivariateTerms(VectorTerms):
    """c/2 (f - y)' M (f - y) and -a.y + a' M^+ a / (2 c), on the range of M."""

    __slots__ = ("M", "c", "inverse", "least", "projection", "y")

    def __init__(self, y: np.ndarray, c: np.ndarray, metric: Metric):
        self.y, self.c, (self.M, self.inverse, self.projection, self.least) = y, c, metric

    def value(self, f):
        r = f - self.y
        return 0.5 * self.c * (r * (self.M @ r)).sum(axis=0)

    def response(self, f):
        a = -self.c * (self.M @ (f - self.y))
        return a, a

    def conjugate(self, a):
        quadratic = 0.5 * invert_weights(self.c) * (a * (self.inverse @ a)).sum(axis=0)
        outside = np.abs(a - self.projection @ a).max(axis=0) > 1e-9 * np.abs(a).max(axis=0, initial=0.0)
        return np.where(outside, np.inf, quadratic - (a * self.y).sum(axis=0))

    def repair(self, a, balance):
        """The duals in the range of M; what a component sums to too much is taken off, by weight."""
        a = np.where(self.c > 0, self.projection @ a, 0.0)
        if balance is None:
            return a
        return a - np.outer(self.projection @ (a.sum(axis=1) - balance), self.c / max(float(self.c.sum()), 1e-300))

    def bound_value_error(self, f, score_error):
        """c |M| |f - y| times the widths, c |M| widths^2 / 2, and a few roundings."""
        sizes, r = np.abs(self.M), np.abs(f - self.y)
        score_error = score_error + TERM_RELATIVE_ERROR * (np.abs(f) + np.abs(self.y))
        return self.c * (
            (sizes @ r) * (score_error + TERM_RELATIVE_ERROR * len(r) * r) + 0.5 * (sizes @ score_error) * score_error
        ).sum(axis=0)

    def bound_conjugate_error(self, a):
        """Roundings of a.y and of a' M^+ a, and what M^+ is off by.

        With z the computed M^+ a and r = a - M z, a' M^+ a = a'z + z'r + r' M^+ r, and r' M^+ r <= |r|^2 / least.
        """
        sizes, z, few = np.abs(a), self.inverse @ a, TERM_RELATIVE_ERROR * len(a)
        missed = np.abs(a - self.M @ z) + few * (sizes + np.abs(self.M) @ np.abs(z))
        quadratic = (np.abs(z) * (missed + few * sizes) + np.square(missed) / self.least).sum(axis=0)
        return (0.5 * invert_weights(self.c) * quadratic + few * (sizes * np.abs(self.y)).sum(axis=0)) * (1.0 + few)

    def bound_slope(self, a, f, moved):
        """|M^+ a / c - y + f|, the largest of any sample and component."""
        if not moved:
            return 0.0
        slope = np.abs(invert_weights(self.c) * (self.inverse @ a)) + np.abs(self.y) + np.abs(f)
        return 2.0 * float(slope.max(initial=0.0))

    def violation(self, a, f):
        """How far the scores are from those at which these duals are right, in the range of M."""
        apart = self.projection @ (f - self.y) + invert_weights(self.c) * (self.inverse @ a)
        return float(np.abs(apart).max(initial=0.0, where=np.broadcast_to(self.c > 0, apart.shape)))


class Metric(NamedTuple):
    """M, its pseudo-inverse, the projection on its range, and a lower bound on its least nonzero eigenvalue."""

    M: np.ndarray
    inverse: np.ndarray
    projection: np.ndarray
    least: float


def resolve_metric(M: np.ndarray) -> Metric:
    """M with eigenvalues below RANK_TOLERANCE times the largest set to zero.

    A product A'A of low rank has such eigenvalues, of either sign.
    Computed eigenvalues have errors of some k u |M| (Weyl), so the bound on the least one is reduced by that.
    """
    values, V = np.linalg.eigh(M)
    top, k = max(float(values[-1]), 1e-300), len(M)
    kept = values > RANK_TOLERANCE * top
    if not kept.all():
        V, values = V[:, kept], values[kept]
        M = (V * values) @ V.T
        M = 0.5 * (M + M.T)
    least = 0.99 * float(values.min(initial=top)) - 64.0 * k * UNIT * top
    return Metric(M, (V / values) @ V.T, V @ V.T, max(least, 1e-300))


@dataclass(frozen=True, eq=False)
class Multivariate(Loss):
    """(f - y)' M (f - y) / 2 for targets of several numbers, M positive semidefinite (`resolve_metric`).

    Parameters
    ----------
    M : ndarray of shape (k, k)
        Positive semidefinite.

    See Also
    --------
    maxmargin.RiskRegressor : With targets of shape (n, k).
    maxmargin.solvers.VectorRidge : The solver for it.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Multivariate
    >>> Multivariate(np.eye(2)).value(np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]]))
    array([[2.],
           [2.]])
    """

    M: np.ndarray
    name = "multivariate"
    target = "vector"
    structure = "quadratic"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and np.array_equal(self.M, other.M)

    __hash__ = None

    @property
    def curvature(self) -> float:
        """The largest eigenvalue of M."""
        return float(np.linalg.eigvalsh(self.M)[-1])

    def terms(self, y, c):
        """a = -c M (f - y); conj = -a.y + a' M^+ a / (2 c) on the range of M."""
        return MultivariateTerms(y, c, resolve_metric(self.M))
