"""What SVC and NuSVC share: a machine for every pair of classes, or for every class, and their vote."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from ..certificates.optimum.bounds import Interval
from ..certificates.optimum.intercepts import OwnScores
from ..certificates.optimum.labels import (
    bound_class_votes,
    find_certain_maxima,
    find_certain_signs,
    find_certain_votes,
)
from ..certificates.optimum.machines import stack
from ..model.class_pairs import list_pairs
from ..model.features import FLOAT32_MIN_TOL, Gram
from ..model.tiles import evaluate_scores_by_segment
from ..runtime.rounding import Enclosed, bound_sum
from ..runtime.scikit_learn import (
    PROBABILITY_CONSTRAINT,
    ClassifierMixin,
    StrOptions,
    check_is_fitted,
    count_votes,
    fit_context,
    warn_of_probability,
)
from .certified_scores import CertifiedLabels
from .kernel_problems import KernelFits, KernelProblems
from .multiclass import (
    order_support,
    pack_pairs,
    split_one_vs_one,
    split_one_vs_rest,
    split_sorted_classes,
    spread_duals,
    unpack_pairs,
    vote,
    weigh_classes,
)
from .pair_probabilities import PairProbabilities
from .plain_arrays import encode_classes
from .tasks import PairTasks, Task
from .training_set import Rows
from .validation import (
    CERTIFY_CONSTRAINT,
    CONSTRAINTS,
    FEW_NUMBERS,
    INTERCEPT_CONSTRAINT,
    JOBS_CONSTRAINT,
    check_loss_weights,
)

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike, VectorLike


class KernelClassifier(ClassifierMixin, CertifiedLabels, PairProbabilities):
    """Binary machines for every pair of classes (one-vs-one) or every class (one-vs-rest), and their vote."""

    task = "classification"
    is_drop_in = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "intercept": INTERCEPT_CONSTRAINT,
        "probability": PROBABILITY_CONSTRAINT,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "n_jobs": JOBS_CONSTRAINT,
        "certify_labels": CERTIFY_CONSTRAINT,
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """min 1/2 |w|^2 + sum_i c_i l(f_i; y_i) for each pair of classes, certified.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training vectors, or the Gram matrix if kernel="precomputed".
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C. Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        warn_of_probability(type(self).__name__, self.probability)
        return self._fit(X, y, sample_weight)

    # ---- from labels to tasks and back --------------------------------------------------------------------

    def _encode(self, y: Any) -> np.ndarray:
        """Class indices 0..k-1; sets classes_."""
        classes, y = encode_classes(y)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        return y

    def _validate(self, X: Any, y: Any, sample_weight: Any, group: Any = None) -> Rows:
        """As always; weights must leave samples of two classes."""
        data = super()._validate(X, y, sample_weight, group)
        if data.weight is not None and np.count_nonzero(np.bincount(data.y[data.weight > 0])) < 2:
            self._refuse_one_class()
        return data

    def _sort_samples(self, features: Gram, data: Rows) -> tuple[Gram, Rows, np.ndarray | None]:
        """Samples class by class where there are many classes, so that each pair is two runs of rows."""
        if len(self.classes_) == 2:
            return features, data, None
        order, y = None, data.y
        if (y[1:] < y[:-1]).any():
            order = np.argsort(y, kind="stable")
            features, y = features.subset(order), y[order]
        sizes = np.bincount(y, minlength=len(self.classes_)).tolist()
        if not self._is_one_vs_rest:
            exact = self.tol < FLOAT32_MIN_TOL or features.small
            features = features.pack(list(accumulate(sizes[:-1], initial=0)), exact)
        weight = data.weight if order is None or data.weight is None else data.weight[order]
        return features, Rows(data.X, y, weight, data.group, data.observed, sizes), order

    def _tasks(self, data: Rows) -> Sequence[Task]:
        """One task for each pair of classes, or for each class against the rest; sets class_weight_."""
        y, weight = data.y, data.weight
        self.class_weight_ = weigh_classes(self.class_weight, self.classes_, y, weight)
        costs = self._cost() * self.class_weight_
        c = costs[y] if weight is None else costs[y] * weight
        distinct = costs if weight is None else c
        counts = (min(distinct.tolist()) if len(distinct) <= FEW_NUMBERS else distinct.min()) > 0
        if counts:
            check_loss_weights(distinct)
        else:
            counted = c > 0
            check_loss_weights(c[counted])
            if np.count_nonzero(np.bincount(y[counted])) < 2:
                self._refuse_one_class()
        tasks: Sequence[Task]
        if self._is_one_vs_rest:
            tasks = split_one_vs_rest(y, c, len(self.classes_))
        elif counts and data.class_sizes is not None:
            tasks = split_sorted_classes(data.class_sizes, c)
        else:
            tasks = split_one_vs_one(y, c, len(self.classes_))
        self._check_tasks(tasks)
        return tasks

    @property
    def _is_one_vs_rest(self) -> bool:  # type: ignore[override]
        """Whether each class is trained against all others; with two classes there is only one pair."""
        return self.multi_class == "ovr" and len(self.classes_) > 2

    @abstractmethod
    def _cost(self) -> float:
        """What multiplies the weights of all samples."""

    def _refuse_one_class(self) -> NoReturn:
        raise ValueError("Invalid input - all samples with positive weights belong to the same class.")

    def _check_tasks(self, tasks: Sequence[Task]) -> None:
        if isinstance(tasks, PairTasks):
            return  # each has samples of two classes
        for task in tasks:
            if abs(task.y.sum()) == len(task.y):
                self._refuse_one_class()

    def _unpack(self, problems: KernelProblems, fits: KernelFits) -> None:
        """LIBSVM's arrays, with scikit-learn's shapes and signs."""
        n_classes, y = len(self.classes_), problems.y
        arrange = spread_duals if self._is_one_vs_rest else pack_pairs
        duals = arrange(problems.tasks, fits.coef, y, n_classes)
        support, self._n_support = order_support(duals, y, n_classes)
        duals = duals[:, support]
        self._store_support(problems.find_rows(support), problems.X)
        self._dual_coef_, self._intercept_ = duals, fits.b
        intercepts = self._public_intercepts()
        if self._is_one_vs_rest:
            self.dual_coef_, self.intercept_ = self._dual_coef_, intercepts
        elif n_classes == 2:
            self.dual_coef_, self.intercept_ = -duals + 0.0, -intercepts + 0.0
        else:
            self.dual_coef_, self.intercept_ = duals + 0.0, intercepts + 0.0
        self.n_iter_ = self._count_iterations(fits.n_iter, fits.converged).astype(np.int32)
        self._probA = self._probB = np.empty(0)
        self._calibration = None
        self._preference = None  # model files of LIBSVM have an order of their own in which ties are decided
        self._match_sparsity()

    # ---- prediction ---------------------------------------------------------------------------------------

    def _expansion(self) -> np.ndarray:
        """One column of coefficients for each binary machine."""
        table = super()._expansion().T
        return table.T if self._is_one_vs_rest or len(self.classes_) == 2 else unpack_pairs(table, self._n_support)

    def _weigh_support(self, samples: Any, support: Any) -> np.ndarray:
        """sum_i coef_i k(x_i, x) of each machine; by classes where every pair has coefficients of two classes only."""
        if self._is_one_vs_rest or len(self.classes_) == 2:
            return super()._weigh_support(samples, support)
        parts = evaluate_scores_by_segment(self._kernel, samples, support, super()._expansion(), self._n_support)
        i, j = list_pairs(len(self.classes_)).T
        return (parts[i, :, j - 1] + parts[j, :, i]).T

    def _linear_coef(self) -> Any:
        coef = super()._linear_coef()
        return -coef if len(self.classes_) == 2 else coef

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """f(x) of each binary machine, or their one-vs-rest summary.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes (n_classes - 1) / 2)
            One column for two classes (positive means classes_[1]); with decision_function_shape="ovr" one column
            per class, else one column per pair.
        """
        decisions = self._decision_values(X)
        if len(self.classes_) == 2:
            return -decisions.ravel()
        if self._is_one_vs_rest or self.decision_function_shape == "ovo":
            return decisions
        return count_votes(decisions < 0, -decisions, len(self.classes_))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with f(x) largest, or with most pairs won.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._check_fitted()
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._decide(self._decision_values(X))

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """The labels of these scores."""
        return self.classes_.take(self._choose(scores))

    def _choose(self, decisions: np.ndarray) -> np.ndarray:
        """The place of the class with f(x) largest, or with most pairs won."""
        if len(self.classes_) == 2:
            return (decisions.ravel() < 0).astype(int)
        if self._is_one_vs_rest:
            return np.argmax(decisions, axis=1)
        if self.break_ties:
            return np.argmax(count_votes(decisions < 0, -decisions, len(self.classes_)), axis=1)
        return vote(decisions, len(self.classes_), self._preference)

    def _arrange_bounds(self, scores: Interval) -> Interval:
        """As `decision_function` arranges decisions."""
        if len(self.classes_) == 2:
            return Interval(-scores.upper[:, 0], -scores.lower[:, 0])
        if self._is_one_vs_rest or self.decision_function_shape == "ovo":
            return scores
        return bound_class_votes(scores, len(self.classes_))

    def _find_certain(self, scores: Interval, labels: np.ndarray) -> np.ndarray:
        """By the sign of one machine, the largest score, or the votes of the pairs."""
        choice = np.searchsorted(self.classes_, labels)
        if len(self.classes_) == 2:
            return find_certain_signs(scores, 1 - choice)  # the first class is the positive one
        if self._is_one_vs_rest:
            return find_certain_maxima(scores, choice)
        if self.break_ties:
            return find_certain_maxima(bound_class_votes(scores, len(self.classes_)), choice)
        return find_certain_votes(scores, choice, len(self.classes_), self._preference)

    @property
    def _decides_by_signs(self) -> bool:
        """Whether there are pairs, and not the largest of sums or scores."""
        return not self._is_one_vs_rest

    def _decide_training(self, scores: Interval, problems: KernelProblems) -> np.ndarray:
        """Of pairs, which know the samples of two classes each, the label that was given."""
        if len(self.classes_) > 2 and not self._is_one_vs_rest:
            return self.classes_.take(problems.y)
        return super()._decide_training(scores, problems)

    def _find_certain_training(self, scores: Sequence[OwnScores], problems: KernelProblems) -> np.ndarray:
        """Of many classes those of samples that win all pairs of their class: any rival has lost one, to them."""
        if len(self.classes_) == 2 or self._is_one_vs_rest:
            return super()._find_certain_training(scores, problems)
        won = np.zeros(len(problems.y), int)
        for task, own in zip(problems.tasks, scores, strict=True):
            won[task.index] += np.where(task.y > 0.0, own.scores.lower > 0.0, own.scores.upper < 0.0)
        return won == len(self.classes_) - 1

    def _bound_rows(
        self, scores: Sequence[OwnScores], problems: KernelProblems, duals: np.ndarray, rows: np.ndarray
    ) -> Interval:
        """Of pairs, by one product with the duals of each class."""
        if len(self.classes_) == 2 or self._is_one_vs_rest:
            return super()._bound_rows(scores, problems, duals, rows)
        features, n_classes = problems.features, len(self.classes_)
        samples: Any = features.samples
        table = pack_pairs(problems.tasks, duals, problems.y, n_classes)
        support, counts = order_support(table, problems.y, n_classes)
        parts = evaluate_scores_by_segment(
            features.kernel, samples.take(rows), samples.take(support), table[:, support].T, counts
        )  # fmt: skip
        first, second = list_pairs(n_classes).T
        values = parts[first, :, second - 1] + parts[second, :, first]
        ends = np.cumsum([0, *(len(index) for index in problems.indices)])[:-1]
        weights, sizes = np.add.reduceat(np.abs(duals), ends), features.sizes[rows]
        rate = features.kernel.bound_value_error(features.samples)
        rate += bound_sum(len(support) + 16) * features.largest_size**2
        found = [
            own.bound(Enclosed(value, np.full(len(rows), rate * weight)), sizes)
            for own, value, weight in zip(scores, values, weights.tolist(), strict=True)
        ]
        return stack(found)

    def _find_open_scores(self, scores: Interval) -> np.ndarray:
        """Of pairs those that may be won by either class; all where sums or the largest score decide."""
        if len(self.classes_) > 2 and (self._is_one_vs_rest or self.break_ties):
            return np.ones(scores.lower.shape, bool)
        return super()._find_open_scores(scores)

    @property
    def margin_width_(self) -> np.ndarray:
        """2 / |w| of each binary machine."""
        check_is_fitted(self)
        with np.errstate(divide="ignore"):
            return 2.0 / self._norms
