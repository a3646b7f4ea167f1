"""The machines of folds of a kernel machine: all of them over one matrix, each from the duals of the whole fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...estimators.machine import KernelMachine
from ...estimators.tasks import Task
from ...model.features import Gram
from ...model.kernels import RBF, Kernel, Linear, make_kernel
from ...model.tiles import open_tile
from ...runtime.blas import single_threaded_blas
from ...runtime.scikit_learn_search import clone
from ...runtime.threads import run_strips
from ...tuning.matrix_cells import describe_kernel
from ...tuning.shared_cells import CandidateEstimator, as_matrix
from ...tuning.shared_matrix import BASES, has_shared_matrix, measure_between, transform
from .fold_machines import Fold, FoldMachines
from .side_by_side import SolvedSubproblem, Subproblem, solve_side_by_side

MEGABYTE_BYTES = 2**20
MAX_PLACES = 1 << 20  # samples of all problems that are posed together: some hundred megabytes


def can_share_matrix(estimator: Any, n: int) -> bool:
    """Whether folds of an estimator are solved over one matrix: a kernel machine as it is, whose matrix fits."""
    if not (CandidateEstimator(estimator).can_share and isinstance(estimator, KernelMachine)):
        return False
    if vars(estimator).get("class_weight") is not None:  # weights may depend on the rows of a fold
        return False
    kernel = make_kernel(estimator.kernel, gamma=1.0, degree=estimator.degree, coef0=estimator.coef0)
    return has_shared_matrix(kernel) and 16.0 * n * n <= estimator.cache_size * MEGABYTE_BYTES


class SharedBase:
    """Squares, distances or products of samples, from which their kernel values follow at any gamma.

    Parameters
    ----------
    X : matrix of shape (n, d)
    kernel : Kernel
        Bound to data.
    """

    def __init__(self, X: Any, kernel: Kernel):
        self.kernel = kernel.centre(X) if isinstance(kernel, Linear) else kernel
        self.samples, self.kind = self.kernel.samples(X), BASES[type(kernel)]
        if isinstance(self.kernel, RBF) and self.kernel.cancels(self.samples, self.samples):
            self.kind = "differences"
        self.base = measure_between(self.kind, self.samples, self.samples)

    def form(self, kernel: Kernel, base: np.ndarray | None = None) -> np.ndarray:
        """Kernel values, into a matrix of this thread."""
        base = self.base if base is None else base
        matrix = open_tile(base.shape[0], base.shape[1], np.dtype(float), "matrix")
        matrix[:] = base
        transform(kernel, matrix)
        return matrix

    def measure_new(self, X: Any) -> np.ndarray:
        """The base of new rows against the samples."""
        return measure_between(self.kind, self.kernel.samples(X), self.samples)


class KernelFolds(FoldMachines):
    """Machines of all folds of a kernel machine.

    Each starts from the duals of the whole fit, less those of the rows that are held out. Rows whose duals are zero
    leave the machine as it is: the same (w, b, a) meets the conditions of optimality without them. With gamma="scale"
    each fold has the gamma of its own rows, as its own fit would have.

    Attributes
    ----------
    table : ndarray of shape (folds, machines, n)
        Coefficients of all rows.
    b : ndarray of shape (folds, machines)
    gap : float
        The largest certified relative gap.
    solved : int
        How many problems had to be solved.
    """

    def __init__(self, estimator: Any, X: Any, y: np.ndarray, folds: Sequence[Fold]):
        super().__init__(folds, len(y))
        self.machine = clone(estimator)
        X = as_matrix(X)
        problems = self.machine.pose_problems(X, y)
        self.formulation, self.tol = problems.formulation, self.machine.tol
        self.tasks = [task._replace(index=problems.find_rows(task.index), pair=None) for task in problems.tasks]
        kernel = make_kernel(
            estimator.kernel, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0
        )  # fmt: skip
        whole = kernel.bind(X)
        self.shared = SharedBase(X, whole)
        varies = isinstance(kernel.gamma, str) and kernel.gamma == "scale"
        self.kernels = [kernel.bind(X[fold.train]) if varies else self.shared.kernel for fold in self.folds]
        n, machines = len(y), len(self.tasks)
        self.table, self.b = np.zeros((len(self.folds), machines, n)), np.zeros((len(self.folds), machines))
        self.gap, self.solved = 0.0, 0
        self.bounds = [self.bound_duals(task) for task in self.tasks]
        with single_threaded_blas():
            self.solve_all(X, varies)
            self.held_out = self.decide_held_out()

    # ---- solving ------------------------------------------------------------------------------------------

    def solve_all(self, X: Any, varies: bool) -> None:
        """The machines of the whole fit, then those of the folds, kernel by kernel."""
        matrix = self.shared.form(self.shared.kernel).copy()
        features = Gram(self.shared.kernel, self.shared.samples)
        whole = [Subproblem(task.index, task.y, task.c) for task in self.tasks]
        fits = solve_side_by_side(self.formulation, matrix, features, whole, self.tol)
        self.solved += len(fits)
        if not varies:
            self.solve_folds(matrix, features, range(len(self.folds)), fits, True)
            return
        groups: dict[Any, list[int]] = {}
        for number, kernel in enumerate(self.kernels):
            groups.setdefault(describe_kernel(kernel), []).append(number)
        listed = list(groups.values())

        def work(start: int, stop: int) -> None:
            for numbers in listed[start:stop]:
                kernel = self.kernels[numbers[0]]
                self.solve_folds(self.shared.form(kernel), Gram(kernel, self.shared.samples), numbers, fits, False)

        run_strips(work, len(listed), 1)

    def solve_folds(
        self, matrix: np.ndarray, features: Gram, numbers: Sequence[int], fits: list[SolvedSubproblem], same: bool
    ) -> None:
        """The machines of some folds, at the kernel of the whole fit or at another one."""
        waiting: list[tuple[int, int]] = []
        posed: list[Subproblem] = []
        for number in numbers:
            held_out = np.zeros(len(self.fold_of), bool)
            held_out[self.folds[number].test] = True
            for k, (task, fit) in enumerate(zip(self.tasks, fits, strict=True)):
                out = held_out[task.index]
                if same and (not out.any() or self.keeps_machine(fit, out)):
                    self.keep(number, k, task, task.index, fit)
                    continue
                waiting.append((number, k))
                posed.append(self.pose_without(matrix, k, fit, out))
                if sum(len(each.rows) for each in posed[-1:]) * len(posed) >= MAX_PLACES:
                    self.solve_waiting(matrix, features, waiting, posed)
                    waiting, posed = [], []
        if posed:
            self.solve_waiting(matrix, features, waiting, posed)

    def solve_waiting(
        self, matrix: np.ndarray, features: Gram, waiting: list[tuple[int, int]], posed: list[Subproblem]
    ) -> None:
        """Solve what was posed."""
        found = solve_side_by_side(self.formulation, matrix, features, posed, self.tol)
        for (number, k), problem, fit in zip(waiting, posed, found, strict=True):
            self.keep(number, k, self.tasks[k], problem.rows, fit)
        self.solved += len(found)

    @property
    def starts_warm(self) -> bool:
        """Whether duals sum to zero, one for each sample, so that those of the whole fit can be started from."""
        return self.formulation.is_risk

    def bound_duals(self, task: Task) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of the duals of a task, where machines start warm."""
        if not self.starts_warm:
            return task.c, task.c
        row = self.formulation.loss.terms(task.y, task.c)
        return row.lo, row.hi

    def keeps_machine(self, fit: SolvedSubproblem, out: np.ndarray) -> bool:
        """Whether the machine of the whole fit is that of the fold: rows are held out that have no dual.

        Where no dual is free, the interval of optimal intercepts may grow without them.
        """
        return self.starts_warm and fit.fixes_intercept and not fit.coef[out].any()

    def pose_without(self, matrix: np.ndarray, k: int, fit: SolvedSubproblem, out: np.ndarray) -> Subproblem:
        """The problem of a task without the rows that are held out."""
        task = self.tasks[k]
        rows, y, c = task.index[~out], task.y[~out], task.c[~out]
        if not self.starts_warm:
            return Subproblem(rows, y, c)
        lo, hi = (bound[~out] for bound in self.bounds[k])
        start = hand_over(matrix, task.index[out], fit.coef[out], rows, fit.coef[~out], lo, hi)
        return Subproblem(rows, y, c, start)

    def keep(self, number: int, k: int, task: Task, rows: np.ndarray, fit: SolvedSubproblem) -> None:
        """The machine of a fold."""
        self.table[number, k, rows] = fit.coef
        self.b[number, k] = fit.b
        self.gap = max(self.gap, fit.gap)

    # ---- decisions ----------------------------------------------------------------------------------------

    def decide_held_out(self) -> np.ndarray:
        """f(x) of each row by the machine that has not seen it."""
        found = np.empty((len(self.fold_of), len(self.tasks)))

        def work(start: int, stop: int) -> None:
            for number in range(start, stop):
                rows = self.folds[number].test
                K = self.shared.base[rows]
                transform(self.kernels[number], K)
                found[rows] = K @ self.table[number].T + self.b[number]

        run_strips(work, len(self.folds), 16)
        return found

    def decide(self, X: Any) -> np.ndarray:
        """f(x) of new rows by all machines: one product where they share a kernel."""
        base = self.shared.measure_new(as_matrix(X) if not sp.issparse(X) else sp.csr_array(X, dtype=float))
        folds, machines, n = self.table.shape
        with single_threaded_blas():
            if all(kernel is self.kernels[0] for kernel in self.kernels):
                K = self.shared.form(self.kernels[0], base)
                found = (K @ self.table.reshape(-1, n).T).T.reshape(folds, machines, -1).transpose(0, 2, 1)
                return found + self.b[:, None, :]
            found = np.empty((folds, len(base), machines))
            run_strips(partial(self.decide_apart, base, found), folds, 8)
        return found

    def decide_apart(self, base: np.ndarray, found: np.ndarray, start: int, stop: int) -> None:
        """The same for some folds with kernels of their own."""
        for number in range(start, stop):
            K = self.shared.form(self.kernels[number], base)
            found[number] = K @ self.table[number].T + self.b[number]


def hand_over(
    matrix: np.ndarray, gone: np.ndarray, given: np.ndarray, rows: np.ndarray, a: np.ndarray, lo: np.ndarray,
    hi: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The duals a of some rows, with those of other rows added so that the sum stays: to the nearest free ones first.

    The nearest have the most similar phi(x), so that w moves least.
    """
    a = a.copy()
    for sign in (1.0, -1.0):
        leaving = sign * given > 0.0
        amount = float(given[leaving].sum())
        if amount == 0.0:
            continue
        closeness = matrix[gone[leaving]].max(axis=0)[rows]
        room = hi - a if sign > 0.0 else a - lo
        free = (a > lo) & (a < hi) & (a != 0.0)
        nearest = int(np.argmax(np.where(free & (room >= abs(amount)), closeness, -np.inf)))
        if free[nearest] and room[nearest] >= abs(amount):
            a[nearest] += amount
            continue
        order = np.lexsort((-closeness, ~free))  # free duals first, the nearest of them first
        room = np.minimum(np.maximum(room[order], 0.0), abs(amount))
        a[order] += sign * np.clip(abs(amount) - (np.cumsum(room) - room), 0.0, room)
    return a
