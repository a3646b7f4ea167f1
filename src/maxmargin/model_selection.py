"""GridSearchCV, RandomizedSearchCV and HalvingGridSearchCV: scikit-learn's, with machines of ours tuned by one engine.

Change the import, and nothing else::

    from maxmargin.model_selection import GridSearchCV

Where the estimator is one of this package, or a Pipeline that ends in one, cells share what they can and each of them
is certified. Any other estimator goes to scikit-learn's own search, unchanged.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .runtime import scikit_learn_search as theirs
from .tuning.search import EngineSearchCV

__all__ = ["GridSearchCV", "HalvingGridSearchCV", "RandomizedSearchCV"]


class GridSearchCV(theirs.GridSearchCV, EngineSearchCV):
    """argmax over a grid of parameters of the mean held-out score over the folds.

    A drop-in for `sklearn.model_selection.GridSearchCV`: its parameters, attributes and `cv_results_`.

    Parameters
    ----------
    estimator, param_grid, scoring, refit, cv, pre_dispatch, error_score, return_train_score
        As in scikit-learn.
    n_jobs : int, default=None
        Threads for machines of this package; None is all cores.
    verbose : int, default=0
        1 shows a live line with the finished cells and the best candidate so far; 2 prints a line for each cell.
    max_seconds : float, default=None
        Time for all cells. Candidates that do not finish in time are left out of `cv_results_`, with a warning.
    checkpoint : path, default=None
        A file that keeps the finished cells. A later search over the same data continues from there, even with more
        candidates.

    Attributes
    ----------
    cv_results_ : dict
        As in scikit-learn, with one more column, "worst_relative_gap": the largest certified relative duality gap of a
        candidate over the folds.
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in scikit-learn.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    search_outcome_ : SearchOutcome
        All cells with their certificates, and whether time or Ctrl-C ended the search.

    Notes
    -----
    Ctrl-C ends the search: finished candidates stay in `cv_results_`, the best of them is fitted to all rows, and
    KeyboardInterrupt is raised. With callbacks of scikit-learn 1.9, which follow single fits, its own search runs.

    See Also
    --------
    RandomizedSearchCV : Parameters drawn at random.
    HalvingGridSearchCV : Few rows first.
    maxmargin.SVCCV : Finds C and gamma by itself.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.
    - DeCoste and Wagstaff (2000). Alpha seeding for support vector machines. KDD, 345-349.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.model_selection import GridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1]}, cv=3).fit(X, y)
    >>> search.best_params_
    {'C': 10, 'gamma': 0.1}
    >>> bool(search.cv_results_["worst_relative_gap"].max() <= 1e-5)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **theirs.GridSearchCV._parameter_constraints,
        **EngineSearchCV._limit_constraints,
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        max_seconds: float | None = None,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            estimator, param_grid, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
            pre_dispatch=pre_dispatch, error_score=error_score, return_train_score=return_train_score,
        )  # fmt: skip
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint


class RandomizedSearchCV(theirs.RandomizedSearchCV, EngineSearchCV):
    """argmax over parameters drawn at random of the mean held-out score over the folds.

    A drop-in for `sklearn.model_selection.RandomizedSearchCV`.

    Parameters
    ----------
    estimator, param_distributions, n_iter, scoring, refit, cv, pre_dispatch, random_state, error_score
        As in scikit-learn.
    return_train_score
        As in scikit-learn.
    n_jobs, verbose, max_seconds, checkpoint
        As in `GridSearchCV`.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_
        As in `GridSearchCV`.
    multimetric_, classes_, n_features_in_, feature_names_in_, search_outcome_
        As in `GridSearchCV`.

    See Also
    --------
    GridSearchCV : All combinations.

    References
    ----------
    - Bergstra and Bengio (2012). Random search for hyper-parameter optimization. Journal of Machine Learning
      Research 13, 281-305.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.model_selection import RandomizedSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RandomizedSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1]}, n_iter=2, cv=3, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), bool(search.cv_results_["worst_relative_gap"].max() <= 1e-5)
    (2, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **theirs.RandomizedSearchCV._parameter_constraints,
        **EngineSearchCV._limit_constraints,
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        max_seconds: float | None = None,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            estimator, param_distributions, n_iter=n_iter, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv,
            verbose=verbose, pre_dispatch=pre_dispatch, random_state=random_state, error_score=error_score,
            return_train_score=return_train_score,
        )  # fmt: skip
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint


class HalvingGridSearchCV(theirs.HalvingGridSearchCV, EngineSearchCV):
    """argmax over a grid of parameters of the mean held-out score, the best of each round with more rows in the next.

    A drop-in for `sklearn.model_selection.HalvingGridSearchCV`, which scikit-learn calls experimental.

    Parameters
    ----------
    estimator, param_grid, factor, resource, max_resources, min_resources, aggressive_elimination, cv, scoring, refit
        As in scikit-learn.
    error_score, return_train_score, random_state
        As in scikit-learn.
    n_jobs, verbose, max_seconds, checkpoint
        As in `GridSearchCV`.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_
        As in `GridSearchCV`.
    multimetric_, classes_, n_features_in_, feature_names_in_, search_outcome_
        As in `GridSearchCV`.
    n_resources_, n_candidates_, n_iterations_
        As in scikit-learn.

    See Also
    --------
    GridSearchCV : All rows at once.

    References
    ----------
    - Jamieson and Talwalkar (2016). Non-stochastic best arm identification and hyperparameter optimization.
      AISTATS, 240-248.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.model_selection import HalvingGridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = HalvingGridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=3, random_state=0).fit(X, y)
    >>> search.best_params_["C"] in (0.1, 1, 10)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **theirs.HalvingGridSearchCV._parameter_constraints,
        **EngineSearchCV._limit_constraints,
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        factor: float = 3,
        resource: str = "n_samples",
        max_resources: Any = "auto",
        min_resources: Any = "exhaust",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        max_seconds: float | None = None,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            estimator, param_grid, factor=factor, resource=resource, max_resources=max_resources,
            min_resources=min_resources, aggressive_elimination=aggressive_elimination, cv=cv, scoring=scoring,
            refit=refit, error_score=error_score, return_train_score=return_train_score, random_state=random_state,
            n_jobs=n_jobs, verbose=verbose,
        )  # fmt: skip
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint
