"""VennAbersClassifier: two probabilities for each row, one of which is calibrated whatever the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...estimators import SVC
from ...runtime.scikit_learn import ClassifierMixin, StrOptions, check_is_fitted, fit_context
from ...runtime.scikit_learn_search import take_rows
from .conformal import ConformalEstimator, as_rows
from .fold_machines import FoldMachines
from .scores import Margins

if TYPE_CHECKING:
    from ...contracts.inputs import MatrixLike, RandomState, VectorLike

READ = Margins()
SAME_SCORE = 1e-9  # of the largest score: two that are as near are one


class IsotonicPair(NamedTuple):
    """p0 and p1 of a new score: isotonic regression at it, with the label 0 and with the label 1 added there.

    Attributes
    ----------
    scores : ndarray of shape (m,)
        Distinct scores of the rows that calibrate, ascending.
    at, between : ndarray of shape (m, 2) and (m + 1, 2)
        p0 and p1 at each of them, and before, between and beyond them.
    unit : float
        Scores are multiples of it: those that differ by rounding are the same.
    """

    scores: np.ndarray
    at: np.ndarray
    between: np.ndarray
    unit: float

    @classmethod
    def fit(cls, scores: np.ndarray, labels: np.ndarray) -> IsotonicPair:
        """Both for all places where a new score can lie, in O(m) but for the sort (Vovk, Petej and Fedorova 2015)."""
        unit = SAME_SCORE * float(np.abs(scores).max()) or SAME_SCORE
        distinct, place = np.unique(np.rint(scores / unit), return_inverse=True)
        weights = np.bincount(place).astype(float)
        sums = np.bincount(place, weights=labels)
        left = stack_blocks(sums, weights)
        right = stack_blocks(weights[::-1] - sums[::-1], weights[::-1])  # by symmetry: labels and order reversed
        m = len(distinct)
        at, between = np.empty((m, 2)), np.empty((m + 1, 2))
        for k in range(m + 1):
            between[k] = [insert(left, k, right, m - k, float(label), 1.0) for label in (0, 1)]
        for k in range(m):
            at[k] = [
                insert(left, k, right, m - k - 1, sums[k] + label, weights[k] + 1.0) for label in (0, 1)
            ]  # fmt: skip
        return cls(distinct, at, between, unit)

    def read(self, scores: np.ndarray) -> np.ndarray:
        """p0 and p1 of new scores, as columns."""
        scores = np.rint(scores / self.unit)
        place = np.searchsorted(self.scores, scores)
        known = place < len(self.scores)
        known[known] = self.scores[place[known]] == scores[known]
        found = self.between[place]
        found[known] = self.at[place[known]]
        return found


class Blocks(NamedTuple):
    """The blocks of the isotonic regressions of all beginnings of a list, as a tree: one new block for each of them."""

    sums: list[float]
    weights: list[float]
    before: list[int]


def stack_blocks(sums: np.ndarray, weights: np.ndarray) -> Blocks:
    """Pool adjacent violators, block by block; `before` says which block lies left of that which ends at k."""
    found = Blocks([], [], [])
    for k, (total, weight) in enumerate(zip(sums.tolist(), weights.tolist(), strict=True)):
        last = k - 1
        while last >= 0 and found.sums[last] * weight >= total * found.weights[last]:
            total, weight, last = total + found.sums[last], weight + found.weights[last], found.before[last]
        found.sums.append(total)
        found.weights.append(weight)
        found.before.append(last)
    return found


def insert(left: Blocks, before: int, right: Blocks, after: int, total: float, weight: float) -> float:
    """The mean of the block of something inserted between the first `before` and the last `after` scores."""
    i, j = before - 1, after - 1
    while True:
        if i >= 0 and left.sums[i] * weight >= total * left.weights[i]:
            total, weight, i = total + left.sums[i], weight + left.weights[i], left.before[i]
        elif j >= 0 and (right.weights[j] - right.sums[j]) * weight <= total * right.weights[j]:
            total, weight, j = total + right.weights[j] - right.sums[j], weight + right.weights[j], right.before[j]
        else:
            return total / weight


class VennAbersClassifier(ClassifierMixin, ConformalEstimator):
    """[p0(x), p1(x)]: isotonic calibration with the label 0, and with the label 1, added at the score of the row.

    For rows that are exchangeable with the calibration rows, p_y with the true label y is perfectly calibrated: it is
    a probability of y = 1 given itself. How far apart the two are says how much is known (Vovk, Petej and Fedorova
    2015). For two classes. docs/coverage.md has the theorem, and what it does not say.

    Parameters
    ----------
    estimator : classifier, default=None
        None is `SVC()`.
    method : {"cross", "split"}, default="cross"
        "split" calibrates on rows that are not trained on, to which the theorem applies. "cross" does so for each of
        several folds, and combines their pairs: better probabilities, without the theorem.
    cv : int, splitter or list of splits, default=None
        The folds of "cross"; None is ten.
    calibration_share : float, default=0.25
        Rows that "split" does not train on.
    random_state : int, RandomState or None
        For the folds.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows; with "split" to those that train.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ConformalClassifier : Sets of labels with proved coverage.
    SVC : One probability, from `probability=`.

    References
    ----------
    - V. Vovk, I. Petej and V. Fedorova (2015), Large-scale probabilistic predictors with and without guarantees of
      validity, NeurIPS 28.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import SVC, VennAbersClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = VennAbersClassifier(SVC(), random_state=0).fit(X[::2], y[::2])
    >>> low, high = model.predict_bounds(X[1::2]).T
    >>> bool((low <= high).all() and high.mean() - low.mean() < 0.3)
    True
    """

    methods: ClassVar[tuple[str, ...]] = ("cross", "split")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ConformalEstimator._parameter_constraints,
        "method": [StrOptions({"cross", "split"})],
    }
    folds_: FoldMachines | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "cross",
        cv: Any = None,
        calibration_share: float = 0.25,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.calibration_share = calibration_share
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def default_estimator(self) -> Any:
        """SVC()."""
        return SVC()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit the machine, those of the folds, and the isotonic regressions of their held-out decisions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self
        """
        X, y = self.check_data(X, y)
        self.estimator_ = self.fit_whole(X, y)
        self.classes_ = self.estimator_.classes_
        if len(self.classes_) != 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(self.classes_)} classes."
            )
        labels = np.searchsorted(self.classes_, y.ravel())
        estimator = self.make_estimator()
        if self.method == "split":
            fold = self.cut_calibration(y, classifier=True)
            self.estimator_, self.folds_ = self.fit_part(X, y, fold.train), None
            held_out = take_rows(estimator, X, y, fold.test, fold.train)[0]
            self.pairs_ = [IsotonicPair.fit(-READ.read(self.estimator_, held_out)[:, 0], labels[fold.test])]
            return self
        self.folds_ = self.fit_folds(estimator, X, y, self.cut_folds(X, y, classifier=True), READ, True)
        scores = -self.folds_.held_out[:, 0]
        self.pairs_ = [IsotonicPair.fit(scores[fold.test], labels[fold.test]) for fold in self.folds_.folds]
        return self

    def _read_pairs(self, X: Any) -> np.ndarray:
        """p0 and p1 of each fold, of shape (folds, rows, 2)."""
        check_is_fitted(self)
        X = as_rows(X, self.estimator_)
        if self.folds_ is None:
            return self.pairs_[0].read(-READ.read(self.estimator_, X)[:, 0])[None]
        found = np.empty((len(self.pairs_), X.shape[0], 2))
        for part, decisions in self.folds_.decide_by_parts(X):
            for number, pair in enumerate(self.pairs_):
                found[number, part] = pair.read(-decisions[number, :, 0])
        return found

    def predict_bounds(self, X: MatrixLike) -> np.ndarray:
        """[p0, p1] of the class classes_[1], of "cross" their means over the folds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        return self._read_pairs(X).mean(axis=0)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """GM(p1) / (GM(1 - p0) + GM(p1)), GM the geometric mean over the folds: the least regret of the log loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        p0, p1 = np.moveaxis(self._read_pairs(X), -1, 0)
        second, first = (np.exp(np.log(part).mean(axis=0)) for part in (p1, 1.0 - p0))
        return np.column_stack([first, second]) / (first + second)[:, None]

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with the larger probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_.take((self.predict_proba(X)[:, 1] > 0.5).astype(int))
