"""The report's Lagrangian dual with the steps of its program that its text leaves out, made again.

Equations 32 and 67 say MINRES on Q v = r, and no more. The program behind the tables (D. Meoli, optiml, public as
source code) does five things besides, and each of them shows in the tables:

1. where Q is singular it solves the normal equations Q Q v = Q r;
2. it answers not with v, but with v projected on the box, and among these with the one of the least objective;
3. it takes the value of the relaxation for a lower bound, and stops when that is no longer below the objective. Where Q
   is singular the value is no bound, and the rule may stop at the first iteration;
4. it has a multiplier of the equality for every sample, not one, which is what "reduced of 1/3" counts, and takes
   their product with y from every component, where mu y belongs;
5. its intercept is the mean over all support vectors, also where b is regularised.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import fmean

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import minres
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import pairwise_kernels

from .fits import COEF0, Task, load_folds

STEP, OFFSET = 0.5, 1e-8  # of AdaGrad
MAX_ITERATIONS = 1000
GAP_TOL = 1e-6  # of the program's own gap
SUPPORT_TOL = 1e-6  # from which on a dual makes a support vector


@dataclass(frozen=True)
class Relaxed:
    """Means over three folds: iterations, scores, support vectors."""

    n_iter: float
    train: float
    val: float
    n_sv: float


@dataclass(frozen=True)
class Program:
    """min 1/2 v'Qv + q'v over 0 <= v <= C, and sign'v = 0 where the intercept is free."""

    Q: np.ndarray
    q: np.ndarray
    sign: np.ndarray
    C: float
    free: bool

    def value(self, v: np.ndarray) -> float:
        """1/2 v'Qv + q'v."""
        return float(0.5 * v @ self.Q @ v + self.q @ v)


@cache
def relax_as_programmed(task: Task) -> Relaxed:
    """The five steps above on the three folds of a task.

    Parameters
    ----------
    task : Task
        With the hinge or the epsilon-insensitive loss.

    Returns
    -------
    Relaxed
    """
    rows = [relax_fold(task, *fold) for fold in load_folds(task.data)]
    return Relaxed(*(fmean(column) for column in zip(*rows, strict=True)))


def relax_fold(task: Task, X, y, X_val, y_val) -> tuple[float, float, float, float]:
    """Iterations, training score, validation score, support vectors."""
    targets = np.where(y == y.max(), 1.0, -1.0) if task.classifies else y
    K, K_val = (evaluate_kernel(task, Z, X) for Z in (X, X_val))
    program = write_program(task, K, targets)
    v, n_iter = ascend(program)
    n = len(y)
    a = program.sign * v
    a = a if task.classifies else a[:n] + a[n:]
    support = np.abs(v) > SUPPORT_TOL
    support = support if task.classifies else support[:n] | support[n:]
    b = float(np.mean((targets - K @ a)[support])) if support.any() else 0.0
    scores = [score(task, y, targets, K @ a + b), score(task, y_val, targets, K_val @ a + b)]
    return n_iter, *scores, float(np.count_nonzero(support))


def evaluate_kernel(task: Task, Z, X) -> np.ndarray:
    """k(z_i, x_j) by scikit-learn's functions, gamma = 1 / (d Var(X))."""
    if task.kernel == "linear":
        return Z @ X.T
    more = {"degree": 3, "coef0": COEF0[task.data]} if task.kernel == "poly" else {}
    return pairwise_kernels(Z, X, metric=task.kernel, gamma=1.0 / (X.shape[1] * X.var()), **more)


def write_program(task: Task, K: np.ndarray, y: np.ndarray) -> Program:
    """Equations 18 and 25, or 56 and 60, with the signs of their linear terms corrected."""
    free = task.intercept == "free"
    K = K if free else K + 1.0
    if task.classifies:
        return Program(np.outer(y, y) * K, -np.ones(len(y)), y, task.C, free)
    sign = np.repeat([1.0, -1.0], len(y))
    q = task.epsilon - np.concatenate([y, -y])
    return Program(np.outer(sign, sign) * np.tile(K, (2, 2)), q, sign, task.C, free)


def ascend(program: Program) -> tuple[np.ndarray, int]:
    """Projected AdaGrad on the multipliers; the projected v of the least objective, and the iterations."""
    m = len(program.q)
    count = m if program.free else 0  # multipliers of the equality, one for every sample
    multipliers = np.zeros(count + 2 * m)
    squares = np.zeros_like(multipliers)
    solve = choose_solver(program.Q)
    best = np.full(m, program.C / 2.0)
    n_iter = 0
    while n_iter < MAX_ITERATIONS:
        n_iter += 1
        equality, above, below = np.split(multipliers, [count, count + m])
        linear = program.q + above - below - (equality @ program.sign if count else 0.0)
        v = solve(-linear)
        relaxed = 0.5 * v @ program.Q @ v + linear @ v - program.C * above.sum()
        best = min(best, np.clip(v, 0.0, program.C), key=program.value)
        objective = program.value(best)
        if objective - relaxed <= GAP_TOL * max(abs(objective), 1.0):
            break
        gradient = np.concatenate([program.sign * v if count else v[:0], program.C - v, v])
        gradient[(multipliers <= 0.0) & (gradient > 0.0)] = 0.0
        squares += gradient**2
        multipliers = multipliers - STEP * gradient / np.sqrt(squares + OFFSET)
    return best, n_iter


def choose_solver(Q: np.ndarray):
    """Cholesky's factors where there are any, else MINRES on the normal equations."""
    try:
        factors = cho_factor(Q)
    except LinAlgError:
        square = Q @ Q
        return lambda right: minres(square, Q @ right)[0]
    return lambda right: cho_solve(factors, right)


def score(task: Task, y: np.ndarray, targets: np.ndarray, f: np.ndarray) -> float:
    """Accuracy or r2."""
    return accuracy_score(y == y.max(), f > 0) if task.classifies else r2_score(y, f)
