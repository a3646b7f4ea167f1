"""ConformalClassifier: sets of labels that hold the right one as often as they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from ...estimators import SVC
from ...estimators.kernel_classifier import KernelClassifier
from ...runtime.scikit_learn import ClassifierMixin, StrOptions, check_is_fitted, fit_context
from ...runtime.scikit_learn_search import take_rows
from .augmented_fits import AugmentedFits, Target
from .conformal import ConformalEstimator, as_rows
from .fold_machines import FoldMachines
from .kernel_folds import can_share_matrix
from .ranks import check_coverage, select_upper, upper_rank
from .scores import SCORES

if TYPE_CHECKING:
    from ...contracts.inputs import MatrixLike, RandomState, VectorLike


class ConformalClassifier(ClassifierMixin, ConformalEstimator):
    """{k: #{i: s_-i(x_i, y_i) < s_-i(x, k)} < (1 - alpha)(n + 1)}: sets that hold the right label, whatever the data.

    s says how badly a label fits a row. For rows that are exchangeable with those of the fit, without any assumption on
    the machine or the distribution. docs/coverage.md has the theorems, and what they do not say.

    Parameters
    ----------
    estimator : classifier, default=None
        None is `SVC()`. Folds of `SVC` and `NuSVC` are solved side by side over one kernel matrix, each from the duals
        of the whole fit; any other estimator, and `conformity="lac"` or "aps", is fitted once for each fold.
    method : {"cv+", "jackknife+", "split", "full"}, default="cv+"
        With coverage 1 - alpha, "cv+" and "jackknife+" (a fold for each row) cover at least 1 - 2 alpha in the worst
        case, about 1 - alpha in practice (Romano, Sesia and Candes 2020); "split" and "full" at least 1 - alpha.
        "full" fits each new row with each label.
    conformity : {"margin", "lac", "aps"}, default="margin"
        max over m != k of f_m(x) - f_k(x), for two classes -y f(x); 1 - P(k | x); or the sum of all P(m | x) >=
        P(k | x). The last two need an estimator with probabilities.
    cv : int, splitter or list of splits, default=None
        Folds that hold out each row once. None is ten for "cv+", and a fold for each row for "jackknife+".
    calibration_share : float, default=0.25
        Rows that "split" does not train on.
    random_state : int, RandomState or None
        For the folds.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows; with "split" to those that train.
    scores_ : ndarray of shape (n,)
        s(x_i, y_i) of each row that was held out; not with "full".
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ConformalRegressor : The same for numbers.
    VennAbersClassifier : Probabilities in place of sets.

    References
    ----------
    - Y. Romano, M. Sesia and E. Candes (2020), Classification with valid and adaptive coverage, NeurIPS 33.
    - V. Vovk, A. Gammerman and G. Shafer (2005), Algorithmic Learning in a Random World, Springer.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(SVC(), method="jackknife+").fit(X[::2], y[::2])
    >>> found = model.predict_set(X[1::2], coverage=0.9)
    >>> found.shape
    (75, 3)
    >>> bool(found[range(75), y[1::2]].mean() >= 0.8)
    True
    """

    methods: ClassVar[tuple[str, ...]] = ("cv+", "jackknife+", "split", "full")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ConformalEstimator._parameter_constraints,
        "conformity": [StrOptions(set(SCORES))],
    }
    folds_: FoldMachines | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "cv+",
        conformity: str = "margin",
        cv: Any = None,
        calibration_share: float = 0.25,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.conformity = conformity
        self.cv = cv
        self.calibration_share = calibration_share
        self.random_state = random_state

    def default_estimator(self) -> Any:
        """SVC()."""
        return SVC()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit the machine, those of the folds, and the scores of rows that their machines have not seen.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = self.check_data(X, y)
        self.estimator_ = self.fit_whole(X, y)
        self.classes_ = self.estimator_.classes_
        places = np.searchsorted(self.classes_, y.ravel())
        estimator, read = self.make_estimator(), SCORES[self.conformity]
        self.folds_ = None
        if self.method == "full":
            self._X, self._y = X, y.ravel()
            return self
        if self.method == "split":
            fold = self.cut_calibration(y, classifier=True)
            self.estimator_ = self.fit_part(X, y, fold.train)
            held_out = take_rows(estimator, X, y, fold.test, fold.train)[0]
            scores = self._rate(read.read(self.estimator_, held_out))
            self.scores_ = np.take_along_axis(scores, places[fold.test][:, None], axis=1)[:, 0]
            return self
        folds = self.cut_folds(X, y, classifier=True)
        self.folds_ = self.fit_folds(estimator, X, y, folds, read, self.conformity == "margin")
        scores = self._rate(self.folds_.held_out)
        self.scores_ = np.take_along_axis(scores, places[:, None], axis=1)[:, 0]
        return self

    def _rate(self, decisions: np.ndarray) -> np.ndarray:
        """Scores of all classes."""
        n_classes = len(self.classes_)
        by_pairs = isinstance(self.estimator_, KernelClassifier) and vars(self.estimator_)["multi_class"] == "ovo"
        return SCORES[self.conformity].score(decisions, n_classes, by_pairs=by_pairs)

    def predict_set(self, X: MatrixLike, coverage: float = 0.9) -> np.ndarray:
        """Which labels are in the set of each row; all of them where there are too few rows for so much coverage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float between 0 and 1, default=0.9
            The promised share of sets that hold the right label, see `method` for what is proved of it.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), bool
            In the order of `classes_`. A set may be empty: then no label suits the row.
        """
        check_is_fitted(self)
        coverage = check_coverage(coverage)
        X = as_rows(X, self.estimator_)
        if self.method == "full":
            return self._predict_full(X, coverage)
        if self.folds_ is None:
            scores = self._rate(SCORES[self.conformity].read(self.estimator_, X))
            return scores <= float(select_upper(self.scores_, coverage))
        found = np.empty((X.shape[0], len(self.classes_)), bool)
        rank = upper_rank(len(self.scores_), coverage)
        for part, decisions in self.folds_.decide_by_parts(X):
            scores = self._rate(decisions)
            below = np.zeros(scores.shape[1:], int)
            for number, fold in enumerate(self.folds_.folds):
                below += np.searchsorted(np.sort(self.scores_[fold.test]), scores[number])
            found[part] = below < rank
        return found

    def _predict_full(self, X: Any, coverage: float) -> np.ndarray:
        """Labels whose score is among the smallest of all rows, by the machine that was fitted to them and the row."""
        estimator, classes = self.make_estimator(), self.classes_
        found = np.empty((X.shape[0], len(classes)), bool)
        n = len(self._y)
        if self.conformity == "margin" and len(classes) == 2 and can_share_matrix(estimator, n):
            fits = AugmentedFits(estimator, self._X, self._y)
            if fits.formulation.is_risk and fits.formulation.loss.row is not None:
                for part, f in fits.score(X, [Target(1.0), Target(-1.0)]):
                    for k, y in enumerate((1.0, -1.0)):
                        others, own = -fits.y * f[:, k, :-1], -y * f[:, k, -1]
                        found[part, k] = own <= select_upper(others.T, coverage)
                return found
        read = SCORES[self.conformity]
        for j in range(X.shape[0]):
            rows = append_row(self._X, X[j : j + 1])
            for k, label in enumerate(classes):
                labels = np.append(self._y, label)
                machine = self.make_estimator().fit(rows, labels)
                scores = self._rate(read.read(machine, rows))
                scores = np.take_along_axis(scores, np.searchsorted(classes, labels)[:, None], axis=1)[:, 0]
                found[j, k] = scores[-1] <= float(select_upper(scores[:-1], coverage))
        return found


def append_row(X: Any, row: Any) -> Any:
    """X with one row more."""
    return sp.vstack([X, row], format="csr") if sp.issparse(X) else np.concatenate([np.asarray(X), np.asarray(row)])
