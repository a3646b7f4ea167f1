"""StructuredSVM: outputs that are sequences, matchings, trees, or anything else that an oracle can search."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sized
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from ..model.sparse_format import check_sparse
from ..runtime.scikit_learn import HasMethods, Interval, StrOptions, check_is_fitted, fit_context
from ..solvers.result import Result, Status
from ..structures.chain import ChainModel
from ..structures.model import adopt_model, check_model, gather, prepare
from ..structures.multiclass import MulticlassModel
from ..structures.problem import StructuredPoint, StructuredProblem
from .certified import CertifiedMachine
from .fit_problems import FitProblems
from .solves import Solves
from .tasks import Budget
from .training_set import Structures
from .validation import (
    C_CONSTRAINT,
    JOBS_CONSTRAINT,
    SOLVE_CONSTRAINTS,
    bound_cost,
    check_loss_weights,
    check_weight,
    refuse_types,
)

if TYPE_CHECKING:
    from ..contracts.inputs import FilePath, SolverLike, VectorLike

SOLVERS = ("frank_wolfe", "structured_bundle")


class StructuredFit(NamedTuple):
    """What was solved: w is in the point of the result."""

    result: Result


@dataclass(frozen=True, eq=False)
class StructuredFitProblems(FitProblems):
    """The one problem of a fit, and the model that was prepared for it."""

    model: Any
    whole: StructuredProblem
    X: None = None

    @property
    def indices(self) -> list[np.ndarray | None]:
        """Samples are told apart by their labellings, not by numbers."""
        return [None]

    def problem(self, k: int) -> StructuredProblem:
        """The problem."""
        return self.whole

    def read(self, problem: StructuredProblem, result: Result) -> StructuredFit:
        """The result itself."""
        return StructuredFit(result)

    def run_all(self, run: Callable[[int], StructuredFit], budget: Budget, stores: list[Any]) -> list[StructuredFit]:
        """The one solve."""
        return [run(0)]


class StructuredSVM(CertifiedMachine):
    """min 1/2 |w|^2 + C sum_i s_i max_z [Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)>], certified.

    Margin rescaling (Taskar et al. 2003; Tsochantaridis et al. 2005), without an intercept. psi, Delta and the search
    for the largest z belong to the model.

    Parameters
    ----------
    model : StructuredModel
        `ChainModel()`, `MulticlassModel()`, or an object with the methods joint_feature, loss and argmax.
    C : float, default=1.0
        Weight of the losses against 1/2 |w|^2; the losses of a sample are those of all its parts.
    tol : float, default=1e-3
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    solver : "auto", "frank_wolfe", "structured_bundle" or a solver object, default="auto"
    max_iter : int, default=-1
        Limit of iterations of the solver (passes over the samples, or cuts); -1 for none.
    max_seconds : float, default=None
        Time for the fit; the best point so far is kept.
    checkpoint : path, default=None
        A file to which the fit writes its state, every few seconds and at the end. If it holds the state of an earlier
        fit of the same problem, this one continues from there.
    warm_start : bool, default=False
        Start from the last fit, if it was on the same samples.
    n_jobs : int, default=None
        Processes in which "structured_bundle" and the judge call the oracle of your own model; None for one. The models
        of this package use all cores anyway.
    verbose : int, default=0
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        w.
    model_ : StructuredModel
        A copy of the model, prepared with the training data.
    certificate_ : Certificate
        P, D and their gap. If the model is not exact, P comes from its upper bounds, and is infinite without them.
    result_ : Result
        Status, history, counters; ``result_.point`` holds the labellings and their weights.
    n_iter_ : int
        Passes over the samples, or cuts.

    See Also
    --------
    ChainModel : Sequences of labels.
    MulticlassModel : One label.
    StructuredModel : A model of your own.

    References
    ----------
    - Taskar, Guestrin and Koller (2003). Max-margin Markov networks. NIPS.
    - Tsochantaridis, Joachims, Hofmann and Altun (2005). Large margin methods for structured and interdependent
      output variables. Journal of Machine Learning Research 6, 1453-1484.
    - Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013). Block-coordinate Frank-Wolfe optimization for structural
      SVMs. ICML, 53-61.
    - Joachims, Finley and Yu (2009). Cutting-plane training of structural SVMs. Machine Learning 77, 27-59.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassModel, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredSVM(MulticlassModel(), C=0.1).fit(X, y)
    >>> model.predict(X).shape, bool(model.certificate_.relative_gap <= model.tol)
    ((150,), True)
    """

    task = "structured"
    family = "structured"
    local_parameters = ("checkpoint",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SOLVE_CONSTRAINTS,
        "model": "no_validation",
        "C": C_CONSTRAINT,
        "solver": [StrOptions({"auto", *SOLVERS}), HasMethods(["accepts", "start"])],
        "checkpoint": "no_validation",
        "n_jobs": JOBS_CONSTRAINT,
        "max_iter": [Interval(Integral, -1, None, closed="left")],
    }

    def __init__(
        self,
        model: Any,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        solver: SolverLike = "auto",
        max_iter: int = -1,
        max_seconds: float | None = None,
        checkpoint: FilePath | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.C = C
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.model, MulticlassModel)
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: VectorLike | None = None) -> Self:
        """min P(w) over the samples, to a certified gap.

        Parameters
        ----------
        X : list of n inputs, or what the model takes
        y : list of n labellings
        sample_weight : array-like of shape (n,), default=None
            Weight 2 equals the sample twice; samples with weight zero or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _validate(self, X: Any, y: Any, sample_weight: Any, group: Any = None) -> Structures:
        """Samples of positive weight."""
        check_model(self.model)
        refuse_types(self, "solver")
        X, y = as_samples(X), as_samples(y)
        n, observed = check_lengths(X, y), (X, y, sample_weight)
        weight = spread_weight(sample_weight, n)
        counted = np.flatnonzero(weight > 0)
        if len(counted) < n:
            X, y, weight = take(X, counted), take(y, counted), weight[counted]
        return Structures(X, y, weight, observed)

    def _pose_problems(self, data: Structures) -> StructuredFitProblems:
        """The one problem of a copy of the model, prepared with the data."""
        model = copy.deepcopy(self.model)
        size = prepare(model, data.X, data.y)
        examples = gather(model, data.X, data.y, self.n_jobs).begin(size)
        c = bound_cost(self.C) * data.weight
        check_loss_weights(c)
        return StructuredFitProblems(model, StructuredProblem(examples, c))

    def _warm_points(self, problems: StructuredFitProblems) -> list[StructuredPoint | None]:
        """The point of the last fit, if it was on samples like these."""
        last, problem = self.result_ if self.warm_start and self.has_results else None, problems.whole
        if last is None or last.point is None or len(last.point.w) != problem.size:
            return [None]
        point = last.point
        same = all(
            len(joint_labelling.weight) == problem.n and problem.examples.fits(joint_labelling.labelling)
            for joint_labelling in point.sheets
        )
        return [point if same else None]

    def _set_fitted_attributes(self, problems: StructuredFitProblems, fits: list[StructuredFit]) -> None:
        """What the fit found."""
        self.__dict__.pop("data_hash_", None)  # of the data of an earlier fit, from a file
        result = fits[0].result
        self.model_, self.result_, self.certificate_ = problems.model, result, result.certificate
        if isinstance(problems.model, ChainModel):
            self.n_features_in_ = problems.model.n_features_
        self.coef_, self.n_iter_ = result.point.w, result.n_iter

    def _list_failed(self) -> list[Result]:
        return Solves([self.result_], [None]).failed

    def __getstate__(self) -> dict[str, Any]:
        """As of every machine; its one certificate is that of its one result, without scores."""
        state = super().__getstate__()
        return {name: state[name] for name in state if name != "certificate_" or "_kept_results" not in state}

    def _list_results(self) -> list[Result]:
        return [self.result_] if "result_" in vars(self) else []

    def _restore_results(self, results: list[Result]) -> None:
        (self.result_,) = results
        self.certificate_ = self.result_.certificate

    def _explain(self, failed: list[Result], problems: StructuredFitProblems) -> str:
        """Why the fit stopped, how far from optimal it may be, and what to do."""
        name, gap, exact = type(self.model_).__name__, self.certificate_.relative_gap, problems.whole.examples.exact
        if not np.isfinite(self.certificate_.primal) and not exact:
            return (
                f"{name} has an approximate argmax and no upper_bound, so how far from optimal w is cannot be known: "
                f"the certified gap is infinite; the lower bound {self.certificate_.dual:.6g} on P holds."
            )
        known = f"The certified relative gap is {gap:.2g}, tol is {self.tol:g}."
        if self.result_.status is Status.STALLED and not exact:
            return f"{name} has an approximate argmax, and its upper_bound leaves a gap that no w can close. {known}"
        more = "" if self.result_.status is Status.ROUNDING_LIMIT else "more time or iterations, "
        return f"{self.result_.message} {known} Allow {more}a larger tol, or a smaller C."

    def predict(self, X: Any) -> Any:
        """argmax_z <w, psi(x, z)>.

        Parameters
        ----------
        X : list of inputs, or what the model takes

        Returns
        -------
        list of labellings; an array of classes for `MulticlassModel`
        """
        check_is_fitted(self, "coef_")
        X = as_samples(X)
        if count(X) == 0:
            raise ValueError("X must hold at least one sample, got none.")
        answer = gather(self.model_, X).predict(self.coef_)
        return adopt_model(self.model_).read(answer, X)

    def score(self, X: Any, y: Any, sample_weight: VectorLike | None = None) -> float:
        """1 - sum_i s_i Delta(y_i, f(x_i)) / sum_i s_i parts(y_i): the share of right labels for sequences.

        For `ChainModel` the parts are the labels of all sequences together, for other models each sample is one part,
        unless the model has a method `parts`. With costs other than 0 and 1 it is 1 minus the mean cost of a part.

        Parameters
        ----------
        X : list of inputs, or what the model takes
        y : list of labellings
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        weight = spread_weight(sample_weight, check_lengths(X, y))
        answers = self.predict(X)
        losses = np.array([self.model_.loss(right, z) for right, z in zip(y, answers, strict=True)])
        parts = np.array(list(map(adopt_model(self.model_).parts, y)))
        return float(1.0 - (weight @ losses) / (weight @ parts))


def as_samples(X: Any) -> Any:
    """X itself if it has a length or a shape; else the array that it says it is, if it says so."""
    if isinstance(X, Sized) or sp.issparse(X):
        return X
    array = np.asarray(X)
    return array if array.ndim else X


def count(X: Any) -> int:
    """The number of samples of a list or a matrix."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        raise ValueError(f"X and y must be lists or arrays of samples, got {type(X).__name__}.") from None


def check_lengths(X: Any, y: Any) -> int:
    """The number of samples, the same in X and y, and not zero."""
    check_sparse(X)
    n, labels = count(X), count(y)
    if n != labels:
        raise ValueError(f"X has {n} samples and y has {labels}; there must be one labelling for each sample.")
    if n == 0:
        raise ValueError("X must hold at least one sample, got none.")
    return n


def spread_weight(sample_weight: Any, n: int) -> np.ndarray:
    """One weight for each sample, from a number for all of them or an array; zero for samples that are left out."""
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, float(sample_weight))
    weight = check_weight(sample_weight, n)
    return np.ones(n) if weight is None else weight


def take(X: Any, index: np.ndarray) -> Any:
    """Some of the samples."""
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]
