"""What the linear classifiers share: labels to problems, w and b of each class, and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..blocks.problem import BlockProblem, Targets
from ..certificates.optimum.bounds import Interval
from ..certificates.optimum.labels import find_certain_maxima, find_certain_signs
from ..contracts.losses import Loss
from ..model.features import AbsoluteDesign, ClassDesign, Design
from ..model.kernels import Linear
from ..model.losses import MulticlassHinge
from ..model.problem import Problem
from ..runtime.scikit_learn import LinearClassifierMixin, SparseCoefMixin, fit_context
from .block_data import apply_blockwise
from .certified_scores import CertifiedLabels
from .linear_machine import LinearMachine
from .linear_problems import LinearFit
from .multiclass import split_one_vs_rest, weigh_classes
from .plain_arrays import encode_classes
from .tasks import Task
from .training_set import BlockRows, Rows
from .validation import bound_cost

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike, VectorLike


class LinearClassifier(LinearClassifierMixin, SparseCoefMixin, CertifiedLabels, LinearMachine):
    """Binary machines for every class against the rest, or one machine of all classes; the largest score wins."""

    task = "classification"

    @property
    def _is_joint(self) -> bool:  # type: ignore[override]
        """Whether all classes are solved as one problem."""
        return self._parameter("multi_class") != "ovr"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: Any = None, sample_weight: VectorLike | None = None) -> Self:
        """min 1/2 |w|^2 + sum_i c_i l(<w, x_i> + b; y_i) for each class against the rest, certified.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection, Blocks} of shape (n_samples, n_features)
            Training vectors; float64 or float32 and C-ordered or CSR data are not copied. Dask arrays and data frames,
            `Blocks` and large memory-mapped arrays are read block by block, see docs/scaling.md.
        y : array-like of shape (n_samples,)
            Class labels; None only where X is an object of `Blocks`, which holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C. Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _encode(self, y: Any) -> np.ndarray:
        """Class indices 0..k-1; sets classes_."""
        self.classes_, y = encode_classes(y)
        self._check_count()
        return y

    def _check_count(self) -> None:
        """Refuse fewer than two classes."""
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]}"
            )

    def _tasks(self, data: Rows) -> list[Task]:
        """One task in all for two classes, the second being +1, or for classes solved as one; else one per class."""
        y, weight = data.y, data.weight
        c = self._cost(weight, len(y))
        class_weight = weigh_classes(self._parameter("class_weight"), self.classes_, y, weight)
        weighed = c if (class_weight == 1).all() else c * class_weight[y]
        if self._is_joint:
            index = np.flatnonzero(weighed > 0)
            tasks = [Task(index, y[index].astype(float), weighed[index])]
        elif len(self.classes_) == 2:
            tasks = split_one_vs_rest(y, weighed, 2)[1:]
        else:
            tasks = self._split(y, c, class_weight)
        self._check_classes(y, weighed)
        return tasks

    def _target_of_blocks(self) -> str:
        return "label"

    def _pose_blocks(self, data: BlockRows) -> list[BlockProblem]:
        """The same problems over blocks: one in all, or one for each class."""
        totals, C = data.survey.totals, bound_cost(self.C)
        self.classes_ = np.asarray(data.survey.labels)
        self._check_count()
        k = len(self.classes_)
        class_weight = weigh_classes(self._parameter("class_weight"), self.classes_, np.arange(k), totals)
        self._check_totals(totals * class_weight)
        if self._is_joint:
            targets = Targets(C, self.classes_, None, class_weight)
            return [self._pose_block_problem(data, targets, self._joint_loss(), k)]
        weights = [class_weight if k == 2 else self._weigh_one(class_weight, each) for each in range(k)]
        by_class = [Targets(C, self.classes_, each, weights[each]) for each in range(k)]
        return [self._pose_block_problem(data, each, self._loss()) for each in by_class[1 if k == 2 else 0 :]]

    def _weigh_one(self, class_weight: np.ndarray, positive: int) -> np.ndarray:
        """The weights of all classes where one stands against the rest."""
        return class_weight

    def _split(self, y: np.ndarray, c: np.ndarray, class_weight: np.ndarray) -> list[Task]:
        """One task for each class against the rest, every sample weighed by its own class."""
        return split_one_vs_rest(y, c * class_weight[y], len(class_weight))

    def _check_classes(self, y: np.ndarray, c: np.ndarray) -> None:
        """Every class has a sample that counts."""
        self._check_totals(np.bincount(y, weights=c, minlength=len(self.classes_)))

    def _check_totals(self, totals: np.ndarray) -> None:
        if not totals.all():
            label = self.classes_[totals == 0][0]
            raise ValueError(f"Invalid input - class {label} has no sample of positive weight.")

    def _pose_task(self, features: Design, task: Task) -> Problem:
        """As for two classes, or one problem of all classes with an intercept for each."""
        if not self._is_joint:
            return super()._pose_task(features, task)
        k = len(self.classes_)
        balance = np.zeros(k) if self._intercept_kind == "free" else None
        return Problem(ClassDesign(features, k), task.y, task.c, self._joint_loss(), balance)

    def _features(self, X: Any, kernel: Linear) -> Design:
        """X as the kernel sees it, with the norm of the penalty."""
        if self._is_joint or self._parameter("penalty") == "l2":
            return super()._features(X, kernel)
        return AbsoluteDesign(kernel.samples(X), self._constant_column)

    def _joint_loss(self) -> Loss:
        """The loss of all classes at once."""
        return MulticlassHinge()

    def _warm_start_key(self) -> tuple[Any, ...]:
        joint = (self.multi_class, len(self.classes_)) if self._is_joint else "ovr"
        return *super()._warm_start_key(), joint, self._parameter("penalty")

    def _unpack(self, fits: list[LinearFit]) -> None:
        """coef_ of shape (1, d) for two classes, else (k, d)."""
        if not self._is_joint:
            self._store(np.array([fit.w for fit in fits]), np.array([fit.b for fit in fits]))
            return
        w, b = fits[0].w, fits[0].b
        if len(self.classes_) == 2:
            self._store(w[1:] - w[:1], b[1:] - b[:1])
        else:  # the loss sees differences only, so that free intercepts are known up to a constant
            self._store(w, b - b.mean() if self._intercept_kind == "free" else b)

    @apply_blockwise
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """f(x) = <w, x> + b of each machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes: positive means classes_[1].
        """
        f = self._scores(X)
        return f.ravel() if f.shape[1] == 1 else f

    @apply_blockwise
    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with f(x) largest; for two classes the second where f(x) > 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        f = self.decision_function(X)
        return self._decide(f[:, None] if f.ndim == 1 else f)

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """By the sign of one machine, or by the largest score."""
        choice = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_.take(choice)

    def _find_certain(self, scores: Interval, labels: np.ndarray) -> np.ndarray:
        """By the sign of one machine, or by the largest score."""
        choice = np.searchsorted(self.classes_, labels)
        return find_certain_signs(scores, choice) if len(self.classes_) == 2 else find_certain_maxima(scores, choice)

    @property
    def _decides_by_signs(self) -> bool:
        """Whether there is one machine."""
        return len(self.classes_) == 2 and not self._is_joint

    def _find_open_scores(self, scores: Interval) -> np.ndarray:
        """All where the largest decides."""
        return super()._find_open_scores(scores) if len(self.classes_) == 2 else np.ones(scores.lower.shape, bool)
