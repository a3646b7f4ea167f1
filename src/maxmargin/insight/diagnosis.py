"""What makes a fit slow: before it, the scale of the features, its cost and its solver; after it, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..blocks.dask import is_collection
from ..contracts.estimators import Estimator
from ..model.kernels import Kernel, is_function, translate
from ..model.sparse_format import check_sparse
from ..runtime.display import Displayed, Table
from ..runtime.frames import name_feature, read_feature_names, to_matrix
from ..runtime.scikit_learn import BaseEstimator, check_consistent_length, clone, is_classifier
from ..solvers.result import Result, Status

if TYPE_CHECKING:
    from ..contracts.inputs import VectorLike

WIDE_SPREAD_RATIO = 1e3  # a feature this many times wider than the others drowns them
FAR_MEAN_RATIO = 50.0  # a feature whose mean is this many times its spread wastes the digits of the kernel
UNEVEN_SPREAD_RATIO = 10.0  # spreads that differ by more than this are not standardised ones
MAX_SAMPLED_ENTRIES = 2_000_000  # entries looked at, at most
ANNOUNCED_SECONDS = 5.0  # seconds from which on a fit is announced
KERNEL_ENTRIES_PER_ROW = 1000  # entries that a row of a kernel machine counts as
MIN_ANNOUNCED_ENTRIES = 5_000_000  # entries without which no fit takes that long


# ---- the scale of the features --------------------------------------------------------------------------------------


def measure_spans(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of each feature, on at most MAX_SAMPLED_ENTRIES entries."""
    step = max(1, X.shape[0] * X.shape[1] // MAX_SAMPLED_ENTRIES)
    part = X[::step]
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            mean = np.asarray(part.mean(axis=0), float).ravel()
            square = np.asarray(part.multiply(part).mean(axis=0), float).ravel()
            return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
        part = np.asarray(part, float)
        return part.mean(axis=0), part.std(axis=0)


def find_odd_feature(X: Any, names: np.ndarray | None = None) -> str | None:
    """A feature that spans many times the others, or lies far from zero, if there is one; by its name if it has one."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or X.shape[0] < 2:
        return None
    means, spans = measure_spans(X)
    widest, moving = int(np.argmax(spans)), np.flatnonzero(spans > 0)
    others = moving[moving != widest]
    if len(others) and spans[widest] >= WIDE_SPREAD_RATIO * np.median(spans[others]):
        ratio = spans[widest] / np.median(spans[others])
        name = name_feature(widest, names)
        return f"Feature {name} spans {ratio:.0e} times the others; scale it (StandardScaler, MinMaxScaler)."
    if len(moving) and (np.abs(means[moving]) >= FAR_MEAN_RATIO * spans[moving]).any():
        far = moving[np.argmax(np.abs(means[moving]) / spans[moving])]
        return (
            f"Feature {name_feature(far, names)} has mean {means[far]:.2g} and spread {spans[far]:.2g}; centre it "
            "(StandardScaler)."
        )
    return None


def describe_scale(X: Any, names: np.ndarray | None = None) -> list[str]:
    """What is odd about the features: one that drowns the others, constant ones, spreads that differ."""
    odd, (_, spans) = find_odd_feature(X, names), measure_spans(X)
    said = [] if odd is None else [odd]
    constant, moving = np.flatnonzero(spans == 0), spans[spans > 0]
    if len(constant) and not sp.issparse(X):
        first = name_feature(constant[0], names)
        said.append(
            f"Feature {first} is constant and carries no information; leave it out."
            if len(constant) == 1
            else f"{len(constant)} features are constant and carry no information, such as {first}; leave them out."
        )
    if odd is None and len(moving) > 1 and moving.max() > UNEVEN_SPREAD_RATIO * moving.min() and not sp.issparse(X):
        said.append(
            f"The features have spreads from {moving.min():.2g} to {moving.max():.2g}; those of small spread have "
            "little influence; standardise them (StandardScaler)."
        )
    return said


# ---- before a fit ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Diagnosis(Displayed):
    """The predicted time, memory and solver of a fit, and what is unusual about its features.

    Attributes
    ----------
    model : str
        The name of the class.
    n_samples, n_features : int
    seconds : float
        The approximate time of the fit.
    at_least : bool
        Whether `seconds` is a lower bound only, since a part of the data took too long.
    bytes : int
        An approximate upper bound on the memory beside X.
    solver : str
        Which solver takes it and why.
    scale : list of str
        What is odd about the features, and what to do.

    See Also
    --------
    diagnose : Makes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> diagnose(SVC(), X * [1e6, 1, 1, 1], y).scale[0][:15]
    'Feature 0 spans'
    """

    model: str
    n_samples: int
    n_features: int
    seconds: float
    at_least: bool
    bytes: int
    solver: str
    scale: list[str]

    @property
    def headline(self) -> str:
        """One line: the size of the fit, its time and its memory."""
        return (
            f"{self.model} on {self.n_samples:,} samples of {self.n_features:,} features: {self._say_time()}, "
            f"{self._say_memory()}."
        )

    def __str__(self) -> str:
        return "\n".join([self.headline, f"Solver: {self.solver}", *self.scale])

    def describe(self) -> str:
        """The headline, and how much is odd about the features."""
        return self.headline + (f" {' '.join(self.scale)}" if self.scale else "")

    def tabulate(self) -> Table:
        """Time, memory, solver, and what is odd about the features."""
        return Table(
            [
                ("model", self.model),
                ("samples", f"{self.n_samples:,}"),
                ("features", f"{self.n_features:,}"),
                ("time", self._say_time()),
                ("memory", self._say_memory()),
                ("solver", self.solver),
                *(("note", sentence) for sentence in self.scale),
            ]
        )

    def _say_time(self) -> str:
        from .progress import say_duration

        return f"{'more than' if self.at_least else 'about'} {say_duration(self.seconds)}"

    def _say_memory(self) -> str:
        return f"up to {max(self.bytes >> 20, 1):,} MB beyond the data"


def diagnose(model: Estimator, X: Any, y: Any = None, sample_weight: VectorLike | None = None) -> Diagnosis:
    """T(n) = fixed + slope n^growth: how long a fit will take, its memory, its solver, and what is odd about X.

    Small parts of the data are fitted for it, which takes a few per cent of the time of a long fit, and about a second
    at most.

    Parameters
    ----------
    model : estimator of this package
        Its own state does not change.
    X, y, sample_weight
        As for `fit`; in memory.

    Returns
    -------
    Diagnosis
        Print it to read it.

    See Also
    --------
    Diagnosis : What it returns.
    explain : Which solver takes a problem.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> found = diagnose(SVC(), X, y)
    >>> found.model, found.n_samples, found.seconds < 10
    ('SVC', 150, True)
    """
    if not isinstance(model, Estimator) or model.family == "structured":
        got = repr(model) if isinstance(model, BaseEstimator | str) else type(model).__name__
        raise ValueError(f"model must be an estimator of maxmargin for rows of features, got {got}.")
    if not hasattr(X, "__len__") and not sp.issparse(X):
        raise ValueError(f"X must be in memory, got {type(X).__name__}.")
    check_sparse(X)
    check_consistent_length(X, y, sample_weight)
    machine: Any = model
    if is_collection(X) or (model.family == "kernel" and is_function(machine.kernel)):
        return foresee(model, X, y, sample_weight, None)
    return foresee(model, to_matrix(X), None if y is None else np.asarray(y), sample_weight, read_feature_names(X))


def foresee(model: Any, X: Any, y: Any, sample_weight: Any, names: np.ndarray | None) -> Diagnosis:
    """The diagnosis of a fit on rows that can be cut."""
    from ..solvers.choice import explain
    from .cost import count_rows, draw_rows, keep_few_classes, predict_bytes, predict_seconds, run_pilots, take

    n = count_rows(X)
    few = keep_few_classes(model, X, y, sample_weight)
    pilots = run_pilots(model, few.X, few.y, few.weight)
    fitted, m = pilots[-1].model, count_rows(few.X)
    seconds, at_least = predict_seconds(pilots, m)
    rows = draw_rows(few.y if is_classifier(model) else None, m, pilots[-1].rows)  # with which it was fitted
    square = model.is_kernel_matrix
    problem = clone(model).pose_first_problem(take(few.X, rows, square), None if y is None else take(few.y, rows))
    flat, held = hasattr(X, "shape") and len(X.shape) == 2, predict_bytes(fitted, X, n, few.n_classes)
    return Diagnosis(
        type(model).__name__, n, int(X.shape[1]) if flat else 0, few.times * seconds, at_least, held,
        explain(problem, model.solver, model.tol), describe_scale(X, names) if flat and not square else [],
    )  # fmt: skip


def announce(model: Any, X: Any, y: Any, sample_weight: Any) -> str | None:
    """The headline and the worst of what is odd about X, before a fit that will take long; None before others.

    Where `max_seconds` says how long it takes, there is nothing to announce. Nor is there where the prediction fails:
    the fit itself says what is wrong with the data.
    """
    if model.max_seconds is not None or model.family == "structured" or not hasattr(X, "shape"):
        return None
    of_kernel = model.family == "kernel"
    entries = X.shape[0] * (KERNEL_ENTRIES_PER_ROW if of_kernel else X.shape[1])
    if entries < MIN_ANNOUNCED_ENTRIES or model.is_kernel_matrix or (of_kernel and callable(model.kernel)):
        return None
    try:
        diagnosis = foresee(model, X, y, sample_weight, vars(model).get("feature_names_in_"))
    except Exception:
        return None
    return " ".join([diagnosis.headline, *diagnosis.scale[:1]]) if diagnosis.seconds >= ANNOUNCED_SECONDS else None


# ---- after a fit ----------------------------------------------------------------------------------------------------


def suggest_remedy(X: Any, kernel: Kernel, result: Result, C: float | None, names: np.ndarray | None = None) -> str:
    """What the data, the kernel and the solver suggest to do about a fit that did not reach its tolerance."""
    linear = kernel.name == "linear" and result.solver.name == "smo"
    hint = " With the linear kernel, LinearSVC(loss='hinge') and LinearSVR are faster." if linear else ""
    return find_remedy(X, kernel, result, C, names) + hint


def find_remedy(X: Any, kernel: Kernel, result: Result, C: float | None, names: np.ndarray | None) -> str:
    """One sentence: features, kernel, C, or patience."""
    if kernel.name not in ("precomputed", "callable") and X is not None:  # of data in blocks there is no X to look at
        X = translate(X, kernel.shift) if kernel.linear else X  # what the solver saw of them
        odd = find_odd_feature(X, names)
        if odd is not None:
            return odd
        largest = max(float(X.max()), -float(X.min())) if X.shape[0] else 0.0
        if largest > 1e3:
            return f"The values of X reach {largest:.0e}; scale them (StandardScaler, MinMaxScaler)."
    if result.certificate.convex is False:
        return "The kernel is not positive semidefinite: the problem has no certificate; choose another kernel."
    if C is not None and C >= 1e4:
        return f"C={C:g} asks for an almost hard margin, which converges slowly; a smaller C is rarely worse."
    if result.status in (Status.STALLED, Status.ROUNDING_LIMIT):
        return "Centre and scale the data, choose a smaller C, or accept a larger tol."
    return "Allow more time or iterations, or a larger tol."
