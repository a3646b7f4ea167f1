"""What the machines that tune themselves share: `fit` searches, and everything else is that of the best machine."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..certificates.certificate import Certificate
from ..estimators.certified import CertifiedMachine
from ..estimators.multiclass import weigh_classes
from ..runtime.frames import to_matrix
from ..runtime.scikit_learn import BaseEstimator, DocumentedEstimator, available_if, check_is_fitted, fit_context
from ..runtime.scikit_learn_search import BaseSearchCV
from ..runtime.user_warnings import warn_user
from .ranges import Axis, derive_costs, derive_gammas, read_axis
from .refinement import RefiningSearchCV
from .search import EngineSearchCV

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike, VectorLike

DEFAULT_FOLDS = 5
# Parameters of a machine that the search has itself, or that mean nothing to it; probabilities are made of folds again.
REPLACED_PARAMETERS = ("C", "checkpoint", "gamma", "max_seconds", "n_jobs", "probability", "verbose", "warm_start")
OWN_PARAMETERS: dict[str, Any] = {
    "cv": None, "scoring": None, "refit": True, "n_jobs": None, "verbose": 0, "max_seconds": None, "checkpoint": None,
}  # fmt: skip
KERNELS_WITH_GAMMA = ("rbf", "laplacian", "poly", "sigmoid")


def has_best(name: str) -> Any:
    """Whether the best machine, or one that is not fitted, has a method."""

    def check(tuned: TunedMachine) -> bool:
        getattr(vars(tuned).get("best_estimator_") or tuned.make_machine(), name)
        return True

    return check


class TunedMachine(DocumentedEstimator, BaseEstimator):
    """A machine with the C, and the gamma, of the best mean score over folds."""

    machine_class: ClassVar[type[CertifiedMachine]]
    axis_names: ClassVar[tuple[str, ...]] = ("C",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass that names its machine has the parameters of that machine, and those of a search."""
        super().__init_subclass__(**options)
        if "machine_class" not in vars(cls):
            return
        cls.__init__.__signature__ = describe_parameters(cls)  # type: ignore[attr-defined]
        constraints = cls.machine_class._parameter_constraints
        theirs = {**BaseSearchCV._parameter_constraints, **EngineSearchCV._limit_constraints}
        cls._parameter_constraints = {
            **{name: rule for name, rule in constraints.items() if name not in REPLACED_PARAMETERS},
            **{name: theirs[name] for name in OWN_PARAMETERS},
            "refit": ["boolean"],
            **{f"{name}s": "no_validation" for name in cls.axis_names},
        }

    # ---- parameters ---------------------------------------------------------------------------------------

    def _set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """All parameters, those that are not given at their defaults."""
        signature = inspect.signature(type(self).__init__).parameters
        unknown = [name for name in parameters if name not in signature]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}.")
        for name, parameter in signature.items():
            if name != "self":
                setattr(self, name, parameters.get(name, parameter.default))

    def make_machine(self) -> Any:
        """The machine that is tuned, at its default C and gamma."""
        own = {*OWN_PARAMETERS, *(f"{name}s" for name in self.axis_names)}
        given = self.get_params(deep=False)
        return self.machine_class(**{name: value for name, value in given.items() if name not in own})

    def __sklearn_tags__(self) -> Any:
        return self.make_machine().__sklearn_tags__()

    # ---- the search ---------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None, groups: VectorLike | None = None
    ) -> Self:
        """Find the C, and the gamma, of the best mean score over the folds, and fit all rows with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            For fits, for scores, and for the ranges of C and gamma: weight 2 is the row given twice. Without `scoring`,
            scores of held-out rows also count the weights of their classes; a scorer that takes no weights has none.
        groups : array-like of shape (n_samples,), default=None
            For `cv`.

        Returns
        -------
        self
        """
        machine = self.make_machine()
        check_data(machine, X, y, sample_weight)
        targets, X = np.asarray(y), np.asarray(X) if isinstance(X, list | tuple) else X
        y = targets.ravel() if targets.ndim == 2 and targets.shape[1] == 1 else y
        weight = None if sample_weight is None else np.maximum(np.asarray(sample_weight, np.float64).ravel(), 0.0)
        axes = self._make_axes(machine, to_matrix(X), targets, weight)
        score_weight = weight if self.scoring is not None else weigh_rows(machine, targets.ravel(), weight)
        search = RefiningSearchCV(
            machine, axes, score_weight=score_weight, scoring=self.scoring, n_jobs=self.n_jobs, refit=self.refit,
            cv=self._fix_folds(X, y, groups), verbose=self.verbose, max_seconds=self.max_seconds,
            checkpoint=self.checkpoint,
        )  # fmt: skip
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        try:
            search.fit(X, y, **weights)
        finally:  # also where Ctrl-C has ended it
            if "cv_results_" in vars(search):
                self._keep(search)
        self._warn_of_edges(axes)
        return self

    def _make_axes(self, machine: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> tuple[Axis, ...]:
        """Where to look."""
        parameters: Any = self
        costs = read_axis("C", parameters.Cs, derive_costs(machine, X, y, weight))
        if "gamma" not in self.axis_names:
            return (costs,)
        if not (isinstance(machine.kernel, str) and machine.kernel in KERNELS_WITH_GAMMA):
            if parameters.gammas is not None:
                raise ValueError(f"gammas must be None where kernel={machine.kernel!r} has no gamma.")
            return (costs,)
        return costs, read_axis("gamma", parameters.gammas, derive_gammas(X, weight))

    def _fix_folds(self, X: Any, y: Any, groups: Any) -> list[Any]:
        """The same folds for all rounds; five by default, or as many as the smallest class has members."""
        from sklearn.model_selection import check_cv

        classes = self.machine_class.task == "classification"
        parameters: Any = self
        cv = parameters.cv
        if cv is None:
            fewest = int(np.unique(np.asarray(y), return_counts=True)[1].min()) if classes else len(np.asarray(y))
            cv = max(min(DEFAULT_FOLDS, fewest), 2)
        return list(check_cv(cv, y, classifier=classes).split(X, y, groups))

    def _keep(self, search: RefiningSearchCV) -> None:
        """What the search has found."""
        self.cv_results_, self.search_outcome_ = search.cv_results_, search.search_outcome_
        self.best_index_, self.best_score_ = search.best_index_, search.best_score_
        self.best_params_, self.scorer_, self.n_splits_ = search.best_params_, search.scorer_, search.n_splits_
        self.search_message_ = search.message_
        folds = range(search.n_splits_)
        self.scores_ = np.stack([self.cv_results_[f"split{fold}_test_score"] for fold in folds], axis=1)
        for name, value in self.best_params_.items():
            setattr(self, f"{name}_", value)
        if hasattr(search, "best_estimator_"):
            self.best_estimator_ = search.best_estimator_

    @property
    def cell_certificates_(self) -> dict[tuple[int, int], Certificate | None]:
        """The certificate of each candidate on each fold."""
        return {place: cell.certificate for place, cell in self.search_outcome_.cells.items()}

    def _warn_of_edges(self, axes: tuple[Axis, ...]) -> None:
        """Once, where the best lies at the edge of values that were given."""
        edges = [axis for axis in axes if axis.is_given and axis.is_edge(self.best_params_[axis.name])]
        if not edges:
            return
        told = " and ".join(f"{axis.name}={self.best_params_[axis.name]:g}" for axis in edges)
        names = " and ".join(f"{axis.name}s" for axis in edges)
        warn_user(f"The best candidate has {told}, at the edge of {names}; values beyond may be better.")
        self.search_message_ += f" The best lies at the edge of {names}."

    # ---- the best machine ---------------------------------------------------------------------------------

    def _find_best(self) -> Any:
        """The best machine, fitted."""
        check_is_fitted(self)
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} was fitted with refit=False, and has no best_estimator_.")
        return self.best_estimator_

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes are those of the best machine: coef_, support_, certificate_, classes_ and so on."""
        if name.endswith("_") and not name.startswith("_") and "best_estimator_" in self.__dict__:
            return getattr(self.__dict__["best_estimator_"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def predict(self, X: MatrixLike) -> np.ndarray:
        """What the best machine predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._find_best().predict(X)

    @available_if(has_best("decision_function"))
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """f(x) of the best machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._find_best().decision_function(X)

    @available_if(has_best("predict_proba"))
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the best machine, where its loss has them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._find_best().predict_proba(X)

    @available_if(has_best("predict_log_proba"))
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Their logarithms.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._find_best().predict_log_proba(X)

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """The score by which candidates were compared, of the best machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self._find_best(), X, y, **weights))


def check_data(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """As the machine checks them, and its parameters: bad ones end here, with one sentence."""
    machine._validate_params()
    if machine._validate(X, y, sample_weight).form != "memory":
        raise ValueError(f"{type(machine).__name__}CV needs rows in memory, got {type(X).__name__}.")


def weigh_rows(machine: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
    """What each row counts in the fit of a machine: its weight times that of its class; None where all count one."""
    class_weight = vars(machine).get("class_weight")
    if class_weight is None:
        return weight
    classes, codes = np.unique(y, return_inverse=True)
    counted = weigh_classes(class_weight, classes, codes, weight)[codes]
    return counted if weight is None else counted * weight


def describe_parameters(kind: type[TunedMachine]) -> inspect.Signature:
    """Cs, gammas, the parameters of a search, and those of the machine that a search leaves to it."""
    machine = inspect.signature(kind.machine_class.__init__).parameters
    names = [f"{name}s" for name in kind.axis_names]
    own = dict.fromkeys(names) | OWN_PARAMETERS
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [inspect.Parameter(name, keyword, default=default, annotation=Any) for name, default in own.items()]
    parameters += [
        parameter.replace(kind=keyword)
        for name, parameter in machine.items()
        if name not in ("self", *REPLACED_PARAMETERS)
    ]
    return inspect.Signature(parameters, return_annotation=None)
