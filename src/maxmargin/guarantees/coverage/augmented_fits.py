"""The machines of a fit with one row more: for each new row and each target that it might have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...estimators.machine import KernelMachine
from ...model.features import Gram
from ...model.kernels import make_kernel
from ...model.losses import PiecewiseConjugate
from ...runtime.blas import single_threaded_blas
from ...runtime.scikit_learn_search import clone
from ...runtime.threads import run_strips
from ...tuning.shared_cells import as_matrix
from .kernel_folds import SharedBase, hand_over
from .side_by_side import Subproblem, solve_side_by_side

ROWS_PER_BLOCK = 256  # new rows whose kernel values are formed together
MAX_PLACES = 1 << 20  # samples of all problems that are posed together


class Target(NamedTuple):
    """A target of the new row: what it is, and the dual that is held at a bound; None if it is free."""

    y: float
    held: float | None = None


class AugmentedFits:
    """f(x_i) of the n rows of a fit and of a new one, by the machine that was fitted to all n + 1.

    Parameters
    ----------
    estimator : SVC or SVR
        With one problem, a loss with rows and a free intercept.
    X, y
        The rows of the fit.

    Attributes
    ----------
    row : PiecewiseConjugate
        The five numbers of the rows of the fit.
    y : ndarray
        Their targets; of classes +1 for the first.
    gap : float
        The largest certified relative gap so far.
    """

    def __init__(self, estimator: KernelMachine, X: Any, y: Any):
        self.machine = clone(estimator)
        self.X, self.tol, self.gap = as_matrix(X), self.machine.tol, 0.0
        problems = self.machine.pose_problems(self.X, y)
        task, self.formulation = problems.tasks[0], problems.formulation
        self.y, self.c = task.y, task.c
        self.row: PiecewiseConjugate = self.formulation.loss.terms(task.y, task.c)
        self.kernel = make_kernel(
            estimator.kernel, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0
        )  # fmt: skip
        bound = self.kernel.bind(self.X)
        with single_threaded_blas():
            shared = SharedBase(self.X, bound)
            matrix = shared.form(shared.kernel)
            whole = Subproblem(np.arange(len(self.y)), self.y, self.c)
            self.fit = solve_side_by_side(
                self.formulation, matrix, Gram(shared.kernel, shared.samples), [whole], self.tol
            )[0]  # fmt: skip

    def score(self, X: Any, targets: Sequence[Target]) -> Iterator[tuple[slice, np.ndarray]]:
        """f of all n + 1 rows, of shape (new rows, targets, n + 1), for some new rows at a time."""
        new = as_matrix(X) if not sp.issparse(X) else sp.csr_array(X, dtype=float)
        for start in range(0, new.shape[0], ROWS_PER_BLOCK):
            part = slice(start, min(start + ROWS_PER_BLOCK, new.shape[0]))
            with single_threaded_blas():
                yield part, self.score_block(new[part], targets)

    def score_block(self, new: Any, targets: Sequence[Target]) -> np.ndarray:
        """The same for new rows whose kernel values fit into one matrix with those of the others."""
        n, m = len(self.y), new.shape[0]
        X = sp.vstack([self.X, new], format="csr") if sp.issparse(new) else np.concatenate([self.X, new])
        found = np.empty((m, len(targets), n + 1))
        if isinstance(self.kernel.gamma, str) and self.kernel.gamma == "scale":
            shared = SharedBase(X, self.kernel.bind(X))

            def work(start: int, stop: int) -> None:
                for j in range(start, stop):
                    rows = np.append(np.arange(n), n + j)
                    kernel = self.kernel.bind(X[rows])
                    self.solve_rows(shared.form(kernel), Gram(kernel, shared.samples), [j], targets, found)

            run_strips(work, m, 1)
            return found
        bound = self.kernel.bind(self.X)
        shared = SharedBase(X, bound)
        matrix, features = shared.form(shared.kernel).copy(), Gram(shared.kernel, shared.samples)
        step = max(1, MAX_PLACES // ((n + 1) * len(targets)))
        for start in range(0, m, step):
            self.solve_rows(matrix, features, range(start, min(start + step, m)), targets, found)
        return found

    def solve_rows(
        self, matrix: np.ndarray, features: Gram, new: Sequence[int], targets: Sequence[Target], found: np.ndarray
    ) -> None:
        """The machines of some new rows, each at all targets."""
        n = len(self.y)
        posed = [self.pose(matrix, n + j, target) for j in new for target in targets]
        solved = iter(solve_side_by_side(self.formulation, matrix, features, posed, self.tol))
        rows = np.arange(n + 1)
        for j in new:
            rows[n] = n + j
            K = matrix[:, rows][rows]
            for place in range(len(targets)):
                fit = next(solved)
                found[j, place] = K @ fit.coef + fit.b
                if targets[place].held is None:
                    found[j, place] = self.meet_conditions(found[j, place], targets[place].y, fit.coef)
                self.gap = max(self.gap, fit.gap)

    def meet_conditions(self, f: np.ndarray, y: float, a: np.ndarray) -> np.ndarray:
        """The nearest scores for which -f_i is in the subdifferential of conj at a_i, as at the optimum.

        Free support vectors of the hinge loss are at y f = 1, all of them. Where they are so but for the tolerance of a
        solve that began without the new row, that row is behind the others in nearly all of these ties, and its label
        is missed too often.
        """
        left, right = self.formulation.loss.terms(np.append(self.y, y), np.append(self.c, self.c[0])).slopes(a)
        return np.clip(f, -right, -left)

    def pose(self, matrix: np.ndarray, place: int, target: Target) -> Subproblem:
        """The problem with one row more, from the duals of the fit."""
        n = len(self.y)
        rows, held = np.append(np.arange(n), place), target.held
        c = float(self.c[0])  # that of all rows: there are no weights
        y, weights = np.append(self.y, target.y), np.append(self.c, c)
        duals = self.fit.coef
        if held is not None:
            duals = hand_over(
                matrix, rows[n:], np.array([-held]), rows[:n], duals, self.row.lo, self.row.hi
            )  # fmt: skip
        return Subproblem(rows, y, weights, np.append(duals, 0.0 if held is None else held), held is not None)
