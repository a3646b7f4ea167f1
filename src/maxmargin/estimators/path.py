"""path(X, y, Cs=...): a linear machine at many values of C, certified at each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from ..certificates.certificate import Certificate, worst
from ..contracts.losses import Loss
from ..insight.diagnosis import suggest_remedy
from ..insight.progress import ProgressLine
from ..model.problem import Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.display import Displayed, Table
from ..runtime.scikit_learn import ConvergenceWarning
from ..runtime.user_warnings import warn_user
from ..solvers.paths import solve_path
from ..solvers.result import Progress, Result
from .linear_problems import LinearProblems
from .losses import find_target
from .risk_classifier import RiskClassifier
from .risk_regressor import RiskRegressor
from .tasks import Budget
from .validation import MAX_C, check_loss_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..contracts.inputs import ClassWeight, LossLike, MatrixLike, SolverLike, VectorLike
    from ..model.kernels import Kernel


@dataclass(frozen=True, repr=False)
class Path(Displayed):
    """min R(w) + C sum_i s_i l(f_i; y_i) for each C, certified.

    Attributes
    ----------
    Cs : ndarray of shape (m,)
        In the order in which they were asked for.
    coefs : ndarray of shape (m, d)
        w at each C.
    intercepts : ndarray of shape (m,)
    results : list of Result
        One for each C: point, certificate, iterations, seconds.
    loss : str
        The name of the loss.

    See Also
    --------
    path : Makes it.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = path(scale(X), y, Cs=[0.01, 0.1, 1])
    >>> found.coefs.shape, len(found.results)
    ((3, 30), 3)
    """

    Cs: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    results: list[Result]
    loss: str = "hinge"

    @property
    def certificates(self) -> list[Certificate]:
        """One for each C."""
        return [result.certificate for result in self.results]

    @property
    def certificate(self) -> Certificate:
        """The worst of them."""
        return worst(self.certificates)

    @property
    def converged(self) -> np.ndarray:
        """Whether each C reached its tolerance."""
        return np.array([result.converged for result in self.results])

    @property
    def seconds(self) -> float:
        """Of all solves."""
        return float(sum(result.seconds for result in self.results))

    def describe(self) -> str:
        """The path in a sentence."""
        if not self.results:
            return f"{self.loss}, no value of C: there was no time"
        reached = "all of them" if self.converged.all() else f"{int(self.converged.sum())} of them"
        return (
            f"relative gap at most {self.certificate.relative_gap:.2g} at {len(self.Cs)} values of C from "
            f"{self.Cs.min():.4g} to {self.Cs.max():.4g}, {reached} converged in {self.seconds:.2g} s; {self.loss}"
        )

    def tabulate(self) -> Table:
        """A row for each C."""
        each = zip(self.Cs, self.results, self.coefs, self.intercepts, strict=True)
        rows = [
            (
                f"{C:.4g}", f"{result.certificate.relative_gap:.2g}", f"{result.certificate.primal:.6g}",
                f"{np.linalg.norm(w):.4g}", f"{b:.4g}", f"{result.n_iter:,}", result.status.value,
            )
            for C, result, w, b in each
        ]  # fmt: skip
        return Table(rows, ("C", "relative gap", "primal", "|w|", "b", "iterations", "status"))

    def plot(self, ax: Any = None) -> Any:
        """The coefficients over C, and the certified gaps below; see `maxmargin.plots.plot_path`."""
        from ..plots import plot_path

        return plot_path(self, ax=ax)


def path(
    X: MatrixLike,
    y: VectorLike,
    *,
    Cs: ArrayLike | None = None,
    loss: LossLike = "hinge",
    sample_weight: VectorLike | None = None,
    tol: float = 1e-4,
    intercept: str = "free",
    intercept_scaling: float = 1.0,
    class_weight: ClassWeight = None,
    solver: SolverLike = "auto",
    max_iter: int = -1,
    max_seconds: float | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    verbose: int = 0,
    **loss_parameters: float,
) -> Path:
    """min 1/2 |w|^2 + C sum_i s_i l(<w, x_i> + b; y_i) for every C in Cs, each certified.

    The values of C are solved from the smallest to the largest, each starting from a prediction by the two before it.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes for the losses of `RiskClassifier`, targets for those of `RiskRegressor`.
    Cs : array-like of positive numbers, default=np.logspace(-3, 2, 30)
    loss : str or Loss, default="hinge"
        A loss of `RiskClassifier` or `RiskRegressor`; an object belongs to one of them by its `target`.
    sample_weight : array-like of shape (n_samples,), default=None
    tol : float, default=1e-4
        The certified relative gap to reach at every C.
    intercept, intercept_scaling, class_weight, solver, max_iter
        As in `RiskClassifier`.
    max_seconds : float, default=None
        Time for the whole path. Values of C that were not reached in time are left out, and a warning says how many.
    callback : callable, optional
        As in `solve`; a true return value ends the path.
    verbose : int, default=0
        1 shows a live line while the path is followed, in a terminal or a notebook.
    **loss_parameters
        quantile, epsilon or threshold, as in `RiskRegressor`.

    Returns
    -------
    Path
        With Cs, coefs, intercepts, results, certificates, and plot().

    See Also
    --------
    Path : What it returns.
    RiskClassifier : One C.
    maxmargin.plots.plot_path : The coefficients over C.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = path(scale(X), y, Cs=[0.01, 0.1, 1], loss="logistic")
    >>> found.coefs.shape, all(result.converged for result in found.results)
    ((3, 30), True)
    """
    machine = make_machine(loss, class_weight, loss_parameters)
    machine.set_params(
        tol=tol, intercept=intercept, intercept_scaling=intercept_scaling, solver=solver, max_iter=max_iter,
        max_seconds=max_seconds,
    )  # fmt: skip
    machine._validate_params()
    budget, costs = Budget(max_seconds), check_costs(Cs)
    rows = machine._check_rows(X, y, sample_weight)
    line = ProgressLine(title="path", tol=tol, solves=len(costs), max_seconds=max_seconds, quiet=not verbose)
    with single_threaded_blas():
        problems = machine._pose_problems(rows)
        if len(problems) > 1:
            raise ValueError(
                f"path takes two classes, and y has {len(problems)}; call it for each class against the rest."
            )
        check_loss_weights(np.outer([costs.min(), costs.max()], problems.tasks[0].c))
        with line:
            attempts = solve_path(
                count_posed(problems, line), costs, solver=solver, tol=tol,
                max_iter=None if max_iter == -1 else max_iter, max_seconds=budget.share(),
                callback=show_progress(line, callback) if line.live else callback,
            )  # fmt: skip
        solved = np.array([result is not None for result in attempts])
        results = [result for result in attempts if result is not None]
        problem = problems.problem(0)
        fits = [problems.read(problem, result) for result in results]
    report(rows.X, problems.kernel, results, costs[solved], tol, len(costs) - len(results), machine._feature_names)
    w, b = np.stack([fit.w for fit in fits]), np.stack([fit.b for fit in fits])
    name = loss.name if isinstance(loss, Loss) else loss
    return Path(costs[solved], w, np.array(problems.kernel.move_to_origin(w, b), float), results, name)


def count_posed(problems: LinearProblems, line: ProgressLine) -> Callable[[float], Problem]:
    """The problem at each C, in the order in which they are solved; the line counts those before."""
    posed = count()

    def pose(C: float) -> Problem:
        line.solved = next(posed)
        return problems.scaled_problem(0, C)

    return pose


def show_progress(
    line: ProgressLine, callback: Callable[[Progress], bool | None] | None
) -> Callable[[Progress], bool | None]:
    """The callback, with the line before it."""

    def report_progress(progress: Progress) -> bool | None:
        line.show(progress)
        return None if callback is None else callback(progress)

    return report_progress


def make_machine(loss: LossLike, class_weight: ClassWeight, loss_parameters: dict[str, Any]) -> Any:
    """The machine whose loss it is, with C = 1."""
    labels = find_target(loss) == "label"
    if loss_parameters and (labels or isinstance(loss, Loss)):
        raise TypeError(f"loss={loss!r} has no parameter {next(iter(loss_parameters))!r}.")
    if labels:
        return RiskClassifier(loss, class_weight=class_weight)
    if class_weight is not None:
        raise ValueError(f"class_weight needs a loss for labels, and loss={loss!r} is for real targets.")
    return RiskRegressor(loss, **loss_parameters)


def check_costs(Cs: Any) -> np.ndarray:
    """The values of C as positive finite numbers."""
    try:
        Cs = np.logspace(-3, 2, 30) if Cs is None else np.atleast_1d(np.asarray(Cs).astype(float, casting="safe"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"Cs must be positive numbers, got {Cs!r}.") from error
    if Cs.ndim != 1 or len(Cs) == 0:
        raise ValueError(f"Cs must be a list of numbers, got an array of shape {Cs.shape}.")
    bad = ~((Cs > 0) & (Cs < np.inf))
    if bad.any():
        raise ValueError(f"Cs must be positive and finite, got {Cs[bad][0]:g}.")
    return np.minimum(Cs, MAX_C)


def report(
    X: Any, kernel: Kernel, results: list[Result], Cs: np.ndarray, tol: float, left_out: int, names: np.ndarray | None
) -> None:
    """Warn once if the tolerance was not reached somewhere, with the gap, the reason and the remedy."""
    failed = [(result, C) for result, C in zip(results, Cs, strict=True) if not result.converged]
    if failed:
        result, C = max(failed, key=lambda pair: pair[0].certificate.relative_gap)
        dropped = f"{left_out} larger values of C were left out for lack of time. " if left_out else ""
        warn_user(
            f"{result.message} At {len(failed)} of {len(results)} values of C the certified relative gap is above "
            f"tol={tol:g}, at C={C:g} it is {result.certificate.relative_gap:.2g}. "
            f"{dropped}{suggest_remedy(X, kernel, result, C, names)}",
            ConvergenceWarning,
        )
