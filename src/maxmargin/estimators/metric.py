"""MetricSVC: a linear classifier trained for the metric it is judged by."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from ..model.losses import METRICS, MetricLoss
from ..model.problem import Point, Problem
from ..runtime.scikit_learn import Interval, RealNotInt, StrOptions
from .linear_classifier import LinearClassifier
from .multiclass import split_one_vs_rest
from .tasks import Task
from .training_set import Rows
from .validation import LINEAR_CONSTRAINTS

if TYPE_CHECKING:
    from ..contracts.inputs import SolverLike
    from ..contracts.samples import VectorSamples


MAX_REPEATED_ROWS = 10_000_000


class MetricSVC(LinearClassifier):
    """min 1/2 |w|^2 + C R(f), f = X w + b, where R(f) bounds n Delta, the errors as a metric counts them; certified.

    R(f) is the largest of n Delta(ybar, y) - sum over i with ybar_i != y_i of y_i f_i over all labellings ybar of the
    training samples, or the hinge loss of all pairs for the area under the ROC curve (Joachims 2005, A support vector
    method for multivariate performance measures). Two classes; the second of classes_ is the positive one.

    Parameters
    ----------
    metric : {"f1", "fbeta", "roc_auc", "precision_at_k", "recall_at_k", "prbep", "error"}, default="f1"
        With h true and m false positives, n_plus samples being positive, Delta is

        - "f1", "fbeta": 1 - (1 + beta^2) h / (h + m + beta^2 n_plus);
        - "precision_at_k": 1 - h / k over labellings with exactly k positives;
        - "recall_at_k": 1 - h / n_plus over the same labellings;
        - "prbep": both at k = n_plus, the break-even point of precision and recall;
        - "error": the share of errors, so that R is the sum of hinge losses, and C that of `LinearSVC`.

        "roc_auc": R = n / (n_plus n_minus) sum over pairs of max(0, 1 - (f_p - f_q)), p positive and q negative.
    C : float, default=1.0
        Weight of R against 1/2 |w|^2.
    beta : float, default=1.0
        For metric="fbeta": recall counts beta times as much as precision.
    k : int, float or None, default=None
        For precision and recall at k: a number of samples, a share of them in (0, 1], or None for n_plus.
    tol : float, default=1e-3
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    intercept : {"free", "regularised", "none"}, default="free"
        Metrics of order ("roc_auc", "prbep" and those at k) do not say where to cut the scores. For them, "free"
        chooses the cut after the fit: k training samples are predicted positive or, for "roc_auc" and "prbep", as many
        as are positive. "regularised" raises an error. The cut is not part of the problem, nor of its certificate.
    intercept_scaling : float, default=1.0
        The constant column of a regularised intercept.
    solver : "auto", a name or a solver object, default="auto"
    max_iter : int, default=-1
        Limit of iterations of the solver; -1 for none.
    max_seconds : float, default=None
        Time for the whole fit; the best point so far is kept.
    warm_start : bool, default=False
        Start from the last fit, if it was on the same samples.
    verbose : int, default=0
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,), or 0.0 with intercept="none"
    certificate_, certificates_, result_, results_
        As in `SVC`; ``result_.point.a`` are the duals.
    classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Metrics that count samples ("f1", "fbeta", "prbep" and those at k) take weights that are whole numbers, or multiples
    of the smallest one: such a row counts as often as its weight says.

    Where k is not n_plus, the labels y are not among the labellings. R is convex still, but it may be negative, it does
    not bound n Delta, and for k < n_plus it rewards high scores of positives without end: |w| grows with C.

    For f1, fbeta and prbep, R is no less than n minus the sum of all positive scores plus that of the n_plus largest
    negative ones. Where the positive class is so rare, and so mixed with the other, that as many negatives score as
    high whatever w is, w = 0 is optimal for every C.

    See Also
    --------
    RankSVM : Rankings of several queries.
    LinearSVC : The share of errors.

    References
    ----------
    - Joachims (2005). A support vector method for multivariate performance measures. ICML, 377-384.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import MetricSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MetricSVC("f1", C=0.1).fit(scale(X), y)
    >>> model.coef_.shape, model.certificate_.relative_gap <= model.tol
    ((1, 30), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LINEAR_CONSTRAINTS,
        "metric": [StrOptions(set(METRICS))],
        "beta": [Interval(Real, 0.0, None, closed="neither")],
        "k": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right"), None],
    }
    takes_blocks = False  # a metric is of all samples together
    _is_joint = False  # all classes at once: there are only two

    def __init__(
        self,
        metric: str = "f1",
        *,
        C: float = 1.0,
        beta: float = 1.0,
        k: int | None = None,
        tol: float = 1e-3,
        intercept: str = "free",
        intercept_scaling: float = 1.0,
        solver: SolverLike = "auto",
        max_iter: int = -1,
        max_seconds: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.C = C
        self.beta = beta
        self.k = k
        self.tol = tol
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_arguments(self, shape: tuple[int, int]) -> None:
        if self.intercept == "regularised" and not METRICS[self.metric].sees_intercept:
            raise ValueError(
                f"metric={self.metric!r} does not depend on the intercept, so there is nothing to regularise; "
                "intercept must be 'free' or 'none', got 'regularised'."
            )

    def _encode(self, y: Any) -> np.ndarray:
        y = super()._encode(y)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. A metric needs two classes, but y has {len(self.classes_)}."
            )
        return y

    def _pose_problems(self, data: Any) -> Any:
        """A metric that counts samples counts a row as often as its weight says: it is there that often."""
        weight = data.weight
        if weight is None or METRICS[self.metric].takes_weights:
            return super()._pose_problems(data)
        counted = weight[weight > 0]
        if not len(counted) or np.ptp(counted) <= 1e-12 * counted.max():
            return super()._pose_problems(data)
        counts, unit = self._count_repetitions(weight)
        rows = np.repeat(np.arange(len(weight)), counts)
        repeated = replace(data, X=data.X[rows], y=data.y[rows], weight=np.full(len(rows), unit))
        return super()._pose_problems(repeated)

    def _count_repetitions(self, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """How often each row counts, and the weight of one count: 1, or the smallest weight."""
        smallest = float(weight[weight > 0].min())
        unit = 1.0 if (weight == np.rint(weight)).all() else smallest
        counts = np.rint(weight / unit)
        if (np.abs(weight / unit - counts) > 1e-9 * counts).any():
            raise ValueError(
                f"metric={self.metric!r} counts samples, so sample_weight must be whole numbers, or multiples of the "
                f"smallest one, {smallest:g}; got {weight[np.argmax(np.abs(weight / unit - counts))]:g}."
            )
        if counts.sum() > MAX_REPEATED_ROWS:
            raise ValueError(
                f"metric={self.metric!r} counts samples, so sample_weight must add up to at most {MAX_REPEATED_ROWS:,} "
                f"counts of {unit:g}, got {counts.sum():,.0f}."
            )
        return counts.astype(np.intp), unit

    def _tasks(self, data: Rows) -> list[Task]:
        """One task."""
        y, weight = data.y, data.weight
        c = self._cost(weight, len(y))
        self._check_classes(y, c)
        return split_one_vs_rest(y, c, 2)[1:]

    @property
    def _intercept_kind(self) -> str:
        """That of the problem: none where the metric does not see it."""
        return self.intercept if METRICS[self.metric].sees_intercept else "none"

    def _loss(self) -> MetricLoss:
        metric: Any = METRICS[self.metric]
        return metric(**{key: getattr(self, key) for key in metric.__dataclass_fields__})

    def _warm_start_key(self) -> tuple[Any, ...]:
        return self._loss(), self._intercept_kind, self.n_features_in_

    def _read(self, problem: Problem, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """w and b; the cut of a metric of order is chosen here."""
        w, b = super()._read(problem, point)
        loss, terms = cast(MetricLoss, problem.loss), cast(Any, problem.terms)
        if self.intercept == "none" or loss.sees_intercept:
            return w, b
        k, samples = terms.k, cast("VectorSamples", problem.features.samples)
        wanted = problem.c[problem.y > 0].sum() if k is None else k * problem.c.mean()
        return w, np.asarray(-choose_threshold(samples.project(w), problem.c, float(wanted)))

    def _store(self, w: np.ndarray, b: np.ndarray) -> None:
        super()._store(w, b)
        if self.intercept != "none":
            self.intercept_ = np.array(self._kernel.move_to_origin(w, b), dtype=np.float64)


def choose_threshold(f: np.ndarray, weight: np.ndarray, wanted: float) -> float:
    """Half way between two scores, such that the weight above is as near to `wanted` as it can be."""
    order = np.argsort(-f)
    ranked, above = f[order], np.cumsum(weight[order])
    last = np.append(np.flatnonzero(ranked[:-1] > ranked[1:]), len(f) - 1)  # equal scores are not divided
    place = last[np.argmin(np.abs(above[last] - wanted))]
    return 0.5 * float(ranked[place] + (ranked[place + 1] if place + 1 < len(f) else ranked[place] - 2.0))
