"""The Wolfe dual written out as a quadratic program: min 1/2 v'Qv + q'v over 0 <= v <= upper, sign'v = balance.

The duals a of a problem are signed, and their conjugate term p a + d a^2/2 + e |a| has a kink at zero. Here every
sample has one variable v >= 0 for each side on which its dual can be nonzero, so that a_i = sum over sides of sign v.
Textbooks call them alpha for labels, where y gives the side, and alpha+ and alpha- for real targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.traits import Takes
from ..model.problem import Problem
from ..runtime.interruptible import check_interrupt

MAX_PROGRAM_VARIABLES = 5000  # variables: Q is dense, and a solver keeps two or three matrices of its size
TAKES = Takes(loss="piecewise")  # the problems whose Wolfe dual is a quadratic program


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """min 1/2 v'Qv + q'v over 0 <= v <= upper, sign'v = balance, whose minimum is -D at a_i = sum_k sign_k v_k.

    Parameters
    ----------
    Q : ndarray of shape (m, m)
        sign_k sign_l K[i(k), i(l)], plus d of the loss on the diagonal: 1/(2 c) for the squared losses.
    q : ndarray of shape (m,)
        sign p + e: -1 for the hinge, (epsilon - y, epsilon + y) for the epsilon-insensitive loss.
    sign, index : ndarray of shape (m,)
        The side of each variable, +1 or -1, and the sample it belongs to.
    upper : ndarray of shape (m,)
        Bounds, infinite for the squared losses.
    balance : float or None
        What the duals sum to; None if the intercept is not free.
    n : int
        The number of samples.
    """

    Q: np.ndarray
    q: np.ndarray
    sign: np.ndarray
    index: np.ndarray
    upper: np.ndarray
    balance: float | None
    n: int

    @classmethod
    def of(cls, problem: Problem) -> QuadraticProgram:
        """The program of a problem: samples in order, followed by the lower sides of duals that have two.

        Parameters
        ----------
        problem : Problem
            With a loss of the table of rows, one score per sample and the penalty 1/2 |w|^2.

        Returns
        -------
        QuadraticProgram
        """
        if reason := TAKES.refuse(problem.traits) or refuse_size(problem):
            raise ValueError(f"A quadratic program {reason}.")
        p, d, e, lo, hi = problem.row
        first, both = np.flatnonzero(hi > lo), np.flatnonzero((hi > 0) & (lo < 0))
        index = np.concatenate([first, both])
        sign = np.concatenate([np.where(hi[first] > 0, 1.0, -1.0), np.full(len(both), -1.0)])
        Q = np.multiply.outer(sign, sign)
        check_interrupt()
        Q *= form_kernel(problem, index)
        Q[np.diag_indices(len(Q))] += d[index]
        balance = None if problem.balance is None else float(problem.balance)
        upper = np.where(sign > 0, hi[index], -lo[index])
        return cls(Q, sign * p[index] + e[index], sign, index, upper, balance, problem.n)

    def signed(self, v: np.ndarray) -> np.ndarray:
        """a_i = sum over the sides of sample i of sign v."""
        return np.bincount(self.index, weights=self.sign * v, minlength=self.n)

    def value(self, v: np.ndarray) -> float:
        """1/2 v'Qv + q'v."""
        return 0.5 * float(v @ (self.Q @ v)) + float(self.q @ v)


def form_kernel(problem: Problem, index: np.ndarray) -> np.ndarray:
    """K[index, index], including the offset of a regularised intercept; the whole matrix is not copied."""
    features = problem.features
    K = features.form()
    if K is None:
        return features.block(index, index)
    return K if np.array_equal(index, np.arange(problem.n)) else K[np.ix_(index, index)]


def restore_balance(problem: Problem, a: np.ndarray) -> np.ndarray:
    """Feasible duals: those between their bounds share the imbalance, and those at a bound stay there."""
    inner = (a > problem.row.lo) & (a < problem.row.hi) & (a != 0)
    if problem.balance is not None and inner.any():
        a = a + np.where(inner, (float(problem.balance) - float(a.sum())) / np.count_nonzero(inner), 0.0)
    return problem.feasible(a)


def refuse_size(problem: Problem) -> str | None:
    """The refusal of too many duals for a matrix of all pairs, or of none, without its subject; else None."""
    m = np.count_nonzero(problem.row.hi > 0) + np.count_nonzero(problem.row.lo < 0)
    if m > MAX_PROGRAM_VARIABLES:
        return (
            f"keeps a matrix of all pairs of duals, and {m} duals make {8e-9 * m * m:.2g} GB; "
            f"at most {MAX_PROGRAM_VARIABLES} are taken, use 'smo'"
        )
    return None if m > 0 else "needs a sample whose weight is not zero"
