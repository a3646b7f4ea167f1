"""certify_tuning: a C, and a proof that no other C in a range has a much smaller cross-validated error."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, indexable

from ...estimators import SVC, LinearSVC, RiskClassifier
from ...estimators.validation import MAX_C, check_weight
from ...runtime.blas import single_threaded_blas
from ...runtime.deadline import Clock
from ...runtime.interrupt import watch_interrupt
from .folds import TuningData, get_machine, make_folds
from .proofs import ErrorFloor, Fold
from .result import CertifiedTuning
from .search import CoverRun

if TYPE_CHECKING:
    from ...contracts.inputs import MatrixLike, VectorLike
CLASSIFIERS = (SVC, LinearSVC, RiskClassifier)


def certify_tuning(
    model: Any,
    X: MatrixLike,
    y: VectorLike,
    Cs: tuple[float, float] = (1e-3, 1e3),
    *,
    cv: Any = 5,
    eps: float = 0.01,
    sample_weight: VectorLike | None = None,
    groups: VectorLike | None = None,
    tol: float = 1e-8,
    max_values: int = 200,
    max_seconds: float | None = None,
) -> CertifiedTuning:
    """A C with error(C) - eps <= error(C') for every C' in [Cs[0], Cs[1]], proven by bounds on held-out scores.

    error(C) is the cross-validated error of the machines that minimise 1/2 |w|^2 + C sum_i s_i l(f_i; y_i) over the
    training rows of each fold. Fits at some values of C bound the scores of the minimisers at all others, and with
    them the labels that must be wrong; values of C are added until that suffices everywhere.

    Parameters
    ----------
    model : SVC, LinearSVC or RiskClassifier, or a Pipeline that ends in one
        Its C does not matter. Many classes need multi_class="ovr". The steps of a pipeline are fitted in each fold.
    X, y : the data
    Cs : (float, float), default=(1e-3, 1e3)
        The range of C, both ends included.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn; a number means stratified folds.
    eps : float, default=0.01
        A share of labels. If it is less than one label of a fold, it may not be within reach.
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplies C in the fits; errors count every row alike.
    groups : array-like of shape (n_samples,), default=None
        For the splitter.
    tol : float, default=1e-8
        The certified relative gap of each fit. A fit that leaves a label undecided is solved further.
    max_values : int, default=200
        The largest number of values of C to fit.
    max_seconds : float, default=None
        If a limit comes first, the result says which eps is proven.

    Returns
    -------
    CertifiedTuning
        With C, error, eps, the values of C that were fitted, the lower bound over C, and plot().

    See Also
    --------
    CertifiedTuning : What it returns.
    SVCCV : Searches without a proof.

    References
    ----------
    - Shibagaki, Suzuki, Karasuyama and Takeuchi (2015). Regularization path of cross-validation error lower bounds.
      NIPS, 1675-1683.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import SVC, certify_tuning
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> tuning = certify_tuning(SVC(), X, y, Cs=(0.1, 10.0), eps=0.05)
    >>> tuning.proven
    True
    >>> bool(tuning.lower_bounds.min() >= tuning.error - 0.05 - 1e-9)
    True
    """
    low, high = check_range(Cs)
    check_model(model)
    check_numbers(eps, tol, max_values, max_seconds)
    clock = Clock(max_seconds)
    data = check_data(model, X, y, sample_weight)
    splits = list(check_cv(cv, data.y, classifier=True).split(data.X, data.y, groups))
    with single_threaded_blas(), watch_interrupt() as interrupt:
        folds = make_folds(model, data, splits)
        run = CoverRun(folds, float(eps), float(tol), int(max_values), clock, interrupt, get_machine(model).solver)
        reason = run.run(low, high)
        if interrupt:
            raise KeyboardInterrupt
    return make_result(run, low, high, reason)


def make_result(run: CoverRun, low: float, high: float, reason: str) -> CertifiedTuning:
    """What a run has found."""
    edges, values = join_floors(run.floors)
    best, fitted = run.best, run.fitted
    return CertifiedTuning(
        C=best.C,
        error=best.error,
        low=low,
        high=high,
        eps=max(best.error - float(values.min()), 0.0),
        asked_eps=run.eps,
        Cs=np.array([node.C for node in fitted]),
        errors=np.array([node.error for node in fitted]),
        edges=edges,
        lower_bounds=values,
        n_folds=len(run.folds),
        n_fits=run.n_fits,
        seconds=run.clock.seconds,
        notes=tuple(describe(run, reason)),
    )


def describe(run: CoverRun, reason: str) -> Iterable[str]:
    """What is to be said against a result."""
    if reason:
        yield reason
    elif run.least <= 0.0:
        yield f"The error is no more than eps={run.eps:g}, so this bound says nothing; choose a smaller eps."
    if run.worst_gap > run.tol:
        yield f"Not all fits reached tol={run.tol:g}: the largest relative gap is {run.worst_gap:.2g}."
    if not all(knows_definite(fold) for fold in run.folds):
        yield "It assumes a positive semidefinite kernel, which this one is not known to be."


def knows_definite(fold: Fold) -> bool:
    """Whether the kernel is positive semidefinite by its formula."""
    return bool(fold.machines[0].features.kernel.psd)


def join_floors(floors: list[ErrorFloor]) -> tuple[np.ndarray, np.ndarray]:
    """The lower bound over the whole range, pieces of equal value joined."""
    values = np.concatenate([floor.values for floor in floors])
    edges = np.concatenate([floors[0].edges[:1], *(floor.edges[1:] for floor in floors)])
    last = np.append(values[1:] != values[:-1], True)
    return np.append(edges[0], edges[1:][last]), values[last]


def check_range(Cs: Any) -> tuple[float, float]:
    """Two positive numbers in their order."""
    try:
        low, high = (float(each) for each in Cs)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Cs must be two numbers, the ends of a range, got {Cs!r}.") from error
    if not 0.0 < low <= high <= MAX_C:
        raise ValueError(f"Cs must be 0 < low <= high <= {MAX_C:g}, got {Cs!r}.")
    return low, high


def check_model(model: Any) -> None:
    """A classifier with C and the penalty 1/2 |w|^2, solved class by class."""
    machine = get_machine(model) if isinstance(model, Pipeline) else model
    if not isinstance(machine, CLASSIFIERS):
        names = ", ".join(kind.__name__ for kind in CLASSIFIERS)
        raise TypeError(f"certify_tuning takes {names} of maxmargin, or a Pipeline that ends in one, got {model!r}.")
    machine._validate_params()
    if machine._parameter("penalty") != "l2":
        raise ValueError("certify_tuning needs the penalty |w|^2 / 2, got penalty='l1'.")


def check_numbers(eps: Any, tol: Any, max_values: Any, max_seconds: Any) -> None:
    """Numbers in their ranges."""
    for name, value in (("eps", eps), ("tol", tol)):
        if not is_positive(value):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
    if not isinstance(max_values, Integral) or isinstance(max_values, bool) or max_values < 1:
        raise ValueError(f"max_values must be a positive integer, got {max_values!r}.")
    if max_seconds is not None and not is_positive(max_seconds):
        raise ValueError(f"max_seconds must be a positive number or None, got {max_seconds!r}.")


def is_positive(value: Any) -> bool:
    """Whether it is a positive number."""
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0.0


def check_data(model: Any, X: Any, y: Any, sample_weight: Any) -> TuningData:
    """Data whose rows can be taken; what they hold is checked in each fold."""
    X, y = indexable(X, column_or_1d(y))
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    classes, machine = np.unique(y), get_machine(model)
    if len(classes) > 2 and machine._parameter("multi_class") != "ovr":
        raise ValueError(f"y has {len(classes)} classes: certify_tuning then needs multi_class='ovr'.")
    return TuningData(X, np.asarray(y), check_weight(sample_weight, len(y)))
