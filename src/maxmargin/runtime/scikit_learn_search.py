"""What searches take of scikit-learn: its private names, and what differs between its versions 1.6 to 1.9.

As `scikit_learn.py` is for estimators. It brings all of `sklearn.model_selection` with it, so only searches import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 (makes HalvingGridSearchCV importable)
from sklearn.metrics import r2_score
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _insert_error_scores as insert_error_scores
from sklearn.model_selection._validation import _score as score_estimator
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures as warn_of_failures
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, indexable
from sklearn.utils._metadata_requests import _routing_enabled as is_routing_enabled
from sklearn.utils.metaestimators import _safe_split as take_rows
from sklearn.utils.validation import _check_method_params

from .scikit_learn import Interval, fit_context

__all__ = [
    "BaseSearchCV", "GridSearchCV", "HalvingGridSearchCV", "Interval", "Pipeline", "RandomizedSearchCV", "SearchPlan",
    "check_cv", "clone", "config_context", "cut_params", "fit_context", "get_config", "has_callbacks", "indexable",
    "insert_error_scores", "is_classifier", "is_default_scorer", "is_regressor", "is_routing_enabled", "list_metrics",
    "make_best", "plan_search", "r2_score", "route_params", "run_search", "score_estimator", "take_rows",
    "takes_weights", "unwrap_scorers", "warn_of_failures",
]  # fmt: skip


def has_callbacks(estimator: Any) -> bool:
    """Whether callbacks of scikit-learn 1.9 follow the fits of an estimator."""
    return bool(vars(estimator).get("_skl_callbacks"))


def cut_params(X: Any, params: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Parameters of fit or score for some of the rows: arrays of one value per row are cut, others stay."""
    return _check_method_params(X, params=params, indices=rows)


# ---- scorers --------------------------------------------------------------------------------------------------------


def list_metrics(scorer: Any) -> list[str] | None:
    """The names of a scorer of several metrics; None of a single one."""
    return list(scorer._scorers) if isinstance(scorer, _MultimetricScorer) else None


def unwrap_scorers(scorer: Any) -> Any:
    """The `scorer_` of a search: a dict of the scorers of several metrics, or the one."""
    return scorer._scorers if isinstance(scorer, _MultimetricScorer) else scorer


def is_default_scorer(scorer: Any) -> bool:
    """Whether a scorer only calls the `score` of an estimator."""
    return isinstance(scorer, _PassthroughScorer)


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer of one metric has a place for the weights of rows."""
    if is_default_scorer(scorer):
        return True  # the score of a machine of ours
    function = scorer._score_func if isinstance(scorer, _BaseScorer) else scorer
    return "sample_weight" in signature(function).parameters


def route_params(fit: Mapping[str, Any], score: Mapping[str, Any]) -> Any:
    """What `BaseSearchCV` is told of parameters of fits and of scores, whichever step has asked for them."""
    return Bunch(estimator=Bunch(fit=dict(fit)), scorer=Bunch(score=dict(score)), splitter=Bunch(split={}))


# ---- the steps of BaseSearchCV.fit ----------------------------------------------------------------------------------


class SearchPlan(NamedTuple):
    """What a search has settled before its first fit."""

    scorer: Any
    refit_metric: str
    X: Any
    y: Any
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    split_params: dict[str, Any]
    splitter: Any
    n_splits: int


def plan_search(search: Any, X: Any, y: Any, params: dict[str, Any]) -> SearchPlan:
    """Scorers, data, metadata and splitter, as scikit-learn's own search settles them."""
    scorer, refit_metric = search._get_scorers()
    X, y = indexable(X, y)
    routed = search._get_routed_params_for_fit(_check_method_params(X, params=params))
    splitter = search._checked_cv_orig = check_cv(search.cv, y, classifier=is_classifier(search.estimator))
    if hasattr(BaseSearchCV, "_check_input_parameters"):  # before, searches by halving call it themselves
        search._check_input_parameters(X=X, y=y, split_params=routed.splitter.split)
    n_splits = splitter.get_n_splits(X, y, **routed.splitter.split)
    return SearchPlan(
        scorer, refit_metric, X, y, routed.estimator.fit, routed.scorer.score, routed.splitter.split, splitter, n_splits
    )


def run_search(search: Any, evaluate: Callable[..., dict[str, Any]]) -> None:
    """The search's own choice of candidates; from 1.9 on it has tasks, which no callback follows here."""
    if "callback_ctx" in signature(search._run_search).parameters:
        context = search._init_callback_context(max_subtasks=1 + (search.refit is not False))
        search._run_search(evaluate, callback_ctx=context)
    else:
        search._run_search(evaluate)


def make_best(estimator: Any, parameters: Mapping[str, Any]) -> Any:
    """The estimator with the best parameters, not fitted; the parameters may be estimators, and are cloned too."""
    return clone(estimator).set_params(**clone(dict(parameters), safe=False))
