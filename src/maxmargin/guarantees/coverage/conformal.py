"""What conformal estimators share: parameters, folds, and the machine that was fitted to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...runtime.scikit_learn import BaseEstimator, Interval, StrOptions, check_is_fitted, check_random_state
from ...runtime.scikit_learn_search import check_cv, clone, indexable, take_rows
from .fold_machines import Decisions, FittedFolds, Fold, FoldMachines
from .kernel_folds import KernelFolds, can_share_matrix

DEFAULT_FOLDS = 10


class ConformalEstimator(BaseEstimator):
    """An estimator around another one, whose sets or intervals cover new rows that are exchangeable with its own."""

    methods: ClassVar[tuple[str, ...]]
    estimator: Any
    method: str
    cv: Any
    calibration_share: float
    random_state: Any
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "cv": ["cv_object"],
        "calibration_share": [Interval(Real, 0.0, 1.0, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "methods" in vars(cls):
            cls._parameter_constraints = {
                **cls._parameter_constraints, "method": [StrOptions(set(cls.methods))]
            }  # fmt: skip

    def make_estimator(self) -> Any:
        """A new estimator of the kind that was given, or of the default."""
        return self.default_estimator() if self.estimator is None else clone(self.estimator)

    def default_estimator(self) -> Any:
        """What stands for estimator=None."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.make_estimator().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.pairwise = inner.input_tags.sparse, inner.input_tags.pairwise
        return tags

    # ---- folds --------------------------------------------------------------------------------------------

    def cut_folds(self, X: Any, y: np.ndarray, *, classifier: bool) -> list[Fold]:
        """The folds of "cv+" and "minmax", or one for each row."""
        n = len(y)
        if self.method in ("jackknife+", "minmax") and self.cv is None:
            rows = np.arange(n)
            return [Fold(np.delete(rows, i), np.array([i])) for i in range(n)]
        cv = self.cv
        if cv is None or isinstance(cv, int):
            return self.shuffle_folds(y, DEFAULT_FOLDS if cv is None else cv, classifier)
        return [Fold(*rows) for rows in check_cv(cv, y, classifier=classifier).split(X, y)]

    def shuffle_folds(self, y: np.ndarray, folds: int, classifier: bool) -> list[Fold]:
        """Folds of rows in random order; the same share of each class in all of them."""
        from sklearn.model_selection import KFold, StratifiedKFold

        if not classifier:
            folds = min(folds, len(y))
            return [Fold(*rows) for rows in KFold(folds, shuffle=True, random_state=self.random_state).split(y)]
        folds = max(2, min(folds, int(np.unique(y, return_counts=True)[1].min())))
        kind = StratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        return [Fold(*rows) for rows in kind.split(y[:, None], y)]

    def cut_calibration(self, y: np.ndarray, *, classifier: bool) -> Fold:
        """The training rows of "split", and its calibration rows."""
        from sklearn.model_selection import train_test_split

        rows = np.arange(len(y))
        stratify = y if classifier and np.unique(y, return_counts=True)[1].min() >= 2 else None
        size = max(1, round(self.calibration_share * len(y)))
        if stratify is not None:
            size = max(size, len(np.unique(y)))
        state = check_random_state(self.random_state)
        train, test = train_test_split(rows, test_size=size, random_state=state, stratify=stratify)
        return Fold(train, test)

    def fit_folds(
        self, estimator: Any, X: Any, y: np.ndarray, folds: Sequence[Fold], decisions: Decisions, shared: bool
    ) -> FoldMachines:
        """The machines of all folds: over one matrix where that can be."""
        if shared and can_share_matrix(estimator, len(y)):
            return KernelFolds(estimator, X, y, folds)
        return FittedFolds(estimator, X, y, folds, decisions)

    # ---- the machine of all rows --------------------------------------------------------------------------

    def check_data(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Rows that can be cut, and targets as a vector."""
        X, y = indexable(X, y)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if len(np.asarray(y)) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 rows to hold some out, got n_samples = 1.")
        return X, np.asarray(y)

    def fit_whole(self, X: Any, y: Any) -> Any:
        """The estimator on all rows, which checks them; its features are those of this estimator."""
        found = self.make_estimator().fit(X, y)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if name in vars(found):
                setattr(self, name, getattr(found, name))
        return found

    def fit_part(self, X: Any, y: np.ndarray, rows: np.ndarray) -> Any:
        """The estimator on some rows."""
        estimator = self.make_estimator()
        return estimator.fit(*take_rows(estimator, X, y, rows))

    def predict(self, X: Any) -> np.ndarray:
        """What the estimator that was fitted to all rows predicts; with method="split", to those that train.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)


def as_rows(X: Any, estimator: Any) -> Any:
    """New rows that have a shape and can be cut; the fitted estimator has checked the number and names of columns."""
    if sp.issparse(X):
        X = sp.csr_array(X)
    elif not hasattr(X, "iloc"):
        X = np.asarray(X)
    estimator.predict(X[:1])
    return X.to_numpy() if hasattr(X, "to_numpy") else X
