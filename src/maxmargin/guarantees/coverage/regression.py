"""ConformalRegressor and ConformalQuantileRegressor: intervals that cover new targets as often as they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...estimators import SVR
from ...runtime.scikit_learn import RegressorMixin, StrOptions, check_is_fitted, fit_context
from ...runtime.scikit_learn_search import take_rows
from .conformal import ConformalEstimator, as_rows
from .fold_machines import FoldMachines, Predictions
from .ranks import check_coverage, select_lower, select_upper

if TYPE_CHECKING:
    from ...contracts.inputs import MatrixLike, RandomState, VectorLike

READ = Predictions()


class IntervalRegressor(RegressorMixin, ConformalEstimator):
    """[lower(x), upper(x)] of one machine or two, moved out by a quantile of held-out residuals."""

    folds_: tuple[FoldMachines, FoldMachines] | None
    residuals_: np.ndarray

    def default_estimator(self) -> Any:
        """SVR()."""
        return SVR()

    def make_pair(self) -> tuple[Any, Any]:
        """The estimators of the lower and the upper end, not fitted; the same object where they are one."""
        estimator = self.make_estimator()
        return estimator, estimator

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit the machine, those of the folds, and the residuals of rows that their machines have not seen.

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
        y = np.asarray(y, float).ravel()
        lower, upper = self.make_pair()
        self.folds_ = None
        if self.method == "full":
            self._prepare_full(lower, X, y)
            return self
        if self.method == "split":
            self._split(lower, upper, X, y)
            return self
        folds = self.cut_folds(X, y, classifier=False)
        first = self.fit_folds(lower, X, y, folds, READ, True)
        second = first if upper is lower else self.fit_folds(upper, X, y, folds, READ, True)
        self.folds_ = first, second
        self.residuals_ = np.maximum(first.held_out[:, 0] - y, y - second.held_out[:, 0])
        return self

    def _split(self, lower: Any, upper: Any, X: Any, y: np.ndarray) -> None:
        """Machines of the training rows, residuals of the calibration rows."""
        fold = self.cut_calibration(y, classifier=False)
        rows, targets = take_rows(lower, X, y, fold.train)
        first = lower.fit(rows, targets)
        second = first if upper is lower else upper.fit(rows, targets)
        held_out = take_rows(lower, X, y, fold.test, fold.train)[0]
        low, high = first.predict(held_out), second.predict(held_out)
        self.residuals_ = np.maximum(low - y[fold.test], y[fold.test] - high)
        self.split_ = first, second
        if upper is lower:
            self.estimator_ = first

    def _prepare_full(self, estimator: Any, X: Any, y: np.ndarray) -> None:
        raise NotImplementedError

    def _predict_full(self, X: Any, coverage: float) -> np.ndarray:
        raise NotImplementedError

    def predict_interval(self, X: MatrixLike, coverage: float = 0.9) -> np.ndarray:
        """[lower, upper] for each row; infinite ends where there are too few rows for so much coverage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float between 0 and 1, default=0.9
            The promised share of new targets within their intervals, see `method` for what is proved of it.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        check_is_fitted(self)
        coverage = check_coverage(coverage)
        X = as_rows(X, self.estimator_)
        if self.method == "full":
            return self._predict_full(X, coverage)
        R = self.residuals_
        if self.folds_ is None:
            first, second = self.split_
            reach = float(select_upper(R, coverage))
            return order_ends(first.predict(X) - reach, second.predict(X) + reach)
        found = np.empty((X.shape[0], 2))
        lower, upper = self.folds_
        for part, low in lower.decide_by_parts(X):
            high = low if upper is lower else upper.decide(X[part])
            found[part] = order_ends(*self._combine(low[:, :, 0], high[:, :, 0], coverage))
        return found

    def _combine(self, low: np.ndarray, high: np.ndarray, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Both ends from the decisions of all folds, of shape (folds, rows)."""
        R = self.residuals_
        if self.method == "minmax":
            reach = float(select_upper(R, coverage))
            return low.min(axis=0) - reach, high.max(axis=0) + reach
        owner = self.folds_[0].fold_of  # type: ignore[index]
        return select_lower(low[owner] - R[:, None], coverage), select_upper(high[owner] + R[:, None], coverage)


def order_ends(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Both ends as columns; where they have crossed, so that the interval is empty, their middle twice."""
    with np.errstate(invalid="ignore"):
        crossed = low > high
        middle = np.where(crossed, 0.5 * (low + high), 0.0)
    return np.column_stack([np.where(crossed, middle, low), np.where(crossed, middle, high)])


class ConformalRegressor(IntervalRegressor):
    """[q^-(f_-i(x) - R_i), q^+(f_-i(x) + R_i)] with R_i = |y_i - f_-i(x_i)|: intervals that cover, whatever the data.

    For rows that are exchangeable with those of the fit, without any assumption on the machine or the distribution.
    docs/coverage.md has the theorems, and what they do not say.

    Parameters
    ----------
    estimator : regressor, default=None
        None is `SVR()`. Folds of `SVR` and `NuSVR` are solved side by side over one kernel matrix, each from the
        duals of the whole fit; any other estimator is fitted once for each fold.
    method : {"cv+", "jackknife+", "minmax", "split", "full"}, default="cv+"
        With coverage 1 - alpha, "cv+" and "jackknife+" (a fold for each row) cover at least 1 - 2 alpha in the worst
        case, about 1 - alpha in practice (Barber et al. 2021); "minmax", "split" and "full" at least 1 - alpha.
        "full" is for `SVR` with a loss of bounded slope: two fits for each new row.
    cv : int, splitter or list of splits, default=None
        Folds that hold out each row once. None is ten for "cv+", and a fold for each row for "jackknife+" and "minmax".
    calibration_share : float, default=0.25
        Rows that "split" does not train on.
    random_state : int, RandomState or None
        For the folds.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows; with "split" to those that train.
    residuals_ : ndarray of shape (n,)
        R_i of each row that was held out; not with "full".
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ConformalQuantileRegressor : Intervals that are wide where targets vary much.
    ConformalClassifier : The same for classes.
    risk_bounds : The exact leave-one-out error.

    References
    ----------
    - R. F. Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani (2021), Predictive inference with the jackknife+,
      The Annals of Statistics 49(1), 486-507.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR, ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> model = ConformalRegressor(SVR(), method="jackknife+").fit(X[:100], y[:100])
    >>> low, high = model.predict_interval(X[100:], coverage=0.9).T
    >>> bool(np.mean((low <= y[100:]) & (y[100:] <= high)) >= 0.8)
    True
    """

    methods: ClassVar[tuple[str, ...]] = ("cv+", "jackknife+", "minmax", "split", "full")

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "cv+",
        cv: Any = None,
        calibration_share: float = 0.25,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.calibration_share = calibration_share
        self.random_state = random_state

    def _prepare_full(self, estimator: Any, X: Any, y: np.ndarray) -> None:
        from .full_regression import FullRegression

        self.full_ = FullRegression(estimator, X, y)

    def _predict_full(self, X: Any, coverage: float) -> np.ndarray:
        return self.full_.predict_interval(X, coverage)


class ConformalQuantileRegressor(IntervalRegressor):
    """[lower(x) - Q, upper(x) + Q]: machines of two quantiles, moved by a quantile of max(lower - y, y - upper).

    Conformalised quantile regression (Romano, Patterson and Candes 2019): intervals are wide where targets vary much,
    and cover whether or not the quantiles are right. Q is negative where they are too wide.

    Parameters
    ----------
    estimator : regressor with `loss` and `quantile`, default=None
        `SVR`, `LinearSVR` or `RiskRegressor`; its loss is set to "quantile". None is `SVR()`.
    coverage : float between 0 and 1, default=0.9
        The machines are those of the quantiles (1 - coverage) / 2 and (1 + coverage) / 2.
    method : {"cv+", "jackknife+", "minmax", "split"}, default="cv+"
        As in `ConformalRegressor`; "split" is that of the paper.
    cv, calibration_share, random_state
        As in `ConformalRegressor`.

    Attributes
    ----------
    estimator_ : estimator
        Of the median, fitted to all rows.
    residuals_ : ndarray
        max(lower - y, y - upper) of rows that were held out.

    See Also
    --------
    ConformalRegressor : Intervals of one width, from one machine.

    References
    ----------
    - Y. Romano, E. Patterson and E. Candes (2019), Conformalized quantile regression, NeurIPS 32.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR, ConformalQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (200, 1))
    >>> y = X[:, 0] * (1 + 0.3 * rng.normal(size=200))
    >>> model = ConformalQuantileRegressor(SVR(), random_state=0).fit(X, y)
    >>> low, high = model.predict_interval([[0.2], [2.8]]).T
    >>> bool(high[1] - low[1] > 2 * (high[0] - low[0]))
    True
    """

    methods: ClassVar[tuple[str, ...]] = ("cv+", "jackknife+", "minmax", "split")

    def __init__(
        self,
        estimator: Any = None,
        *,
        coverage: float = 0.9,
        method: str = "cv+",
        cv: Any = None,
        calibration_share: float = 0.25,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.cv = cv
        self.calibration_share = calibration_share
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IntervalRegressor._parameter_constraints,
        "coverage": "no_validation",
        "method": [StrOptions({"cv+", "jackknife+", "minmax", "split"})],
    }

    def make_estimator(self) -> Any:
        """The estimator with the quantile loss, at the median."""
        estimator = super().make_estimator()
        if not {"loss", "quantile"} <= set(estimator.get_params()):
            raise ValueError(
                f"estimator must have the parameters loss and quantile, as SVR has, got {type(estimator).__name__}."
            )
        return estimator.set_params(loss="quantile", quantile=0.5)

    def make_pair(self) -> tuple[Any, Any]:
        """Those of the two quantiles."""
        alpha = 1.0 - check_coverage(self.coverage)
        return tuple(self.make_estimator().set_params(quantile=q) for q in (0.5 * alpha, 1.0 - 0.5 * alpha))

    def predict_interval(self, X: MatrixLike, coverage: float | None = None) -> np.ndarray:
        """[lower, upper] for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float between 0 and 1, default=None
            Another one than the parameter; the machines stay those of its quantiles.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        return super().predict_interval(X, self.coverage if coverage is None else coverage)
