"""risk_bounds: what a fitted model and its training data say of the error on new samples."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from ...certificates.certificate import Certificate, judge_with_refinement, worst
from ...contracts.estimators import Estimator
from ...contracts.features import KernelMatrix
from ...estimators.registry import find_estimator, list_names
from ...model.losses import Hinge, PiecewiseConjugate, SquaredHinge
from ...model.problem import Problem
from ...runtime.blas import single_threaded_blas
from ...runtime.interrupt import watch_interrupt
from ..certification import pose_model
from ..posed_machine import PosedMachine, name_type
from .ball import find_smallest_ball
from .leave_one_out import LeaveOneOut, RefitBudget, leave_each_out, measure_losses
from .result import RiskBounds
from .stability import ScoreShiftBound, bound_score_shift, measure_spread

if TYPE_CHECKING:
    from ...contracts.inputs import MatrixLike, VectorLike
OPTIMAL_GAP = 1e-3  # relative gap up to which a model counts as the optimum that the bounds are about
RADIUS_MARGIN_LOSSES = (Hinge(), SquaredHinge())
TIME_SHARE = 0.25  # of the time for each of duals, ball and distances, so that some is left for the refits


def risk_bounds(
    model: Any,
    X: MatrixLike,
    y: Any,
    sample_weight: VectorLike | None = None,
    *,
    exact: bool | Literal["auto"] = "auto",
    max_seconds: float = 10.0,
) -> RiskBounds:
    """Error of leave-one-out <= 1/n #{i: rho_i |a_i| + xi_i >= 1}, from the duals; and that error, where it is cheap.

    Parameters
    ----------
    model : fitted SVC, SVR, LinearSVC, LinearSVR, RiskClassifier or RiskRegressor
        Of this library, of scikit-learn, or of a library with the same attributes; with a piecewise loss.
    X, y, sample_weight
        The data the model was fitted on.
    exact : bool or "auto", default="auto"
        Whether to compute leave-one-out exactly, by refits; to leave out one is to leave out one row. "auto" gives up
        as soon as it sees that they would take longer than `max_seconds`.
    max_seconds : float, default=10
        Time for everything. If it is not enough, exact leave-one-out is None, and a note says so.

    Returns
    -------
    RiskBounds
        Of many classes, a sample counts if it does in any of the binary problems, which are the `parts`.

    See Also
    --------
    RiskBounds : What it returns.
    certify : How far from optimal the fit is.

    References
    ----------
    - Jaakkola and Haussler (1999). Probabilistic kernel regression models. AISTATS.
    - Joachims (2000). Estimating the generalization performance of an SVM efficiently. ICML, 431-438.
    - Vapnik and Chapelle (2000). Bounds on error expectation for support vector machines. Neural Computation 12,
      2013-2036.
    - Chung, Kao, Sun, Wang and Lin (2003). Radius margin bounds for support vector machines with the RBF kernel.
      Neural Computation 15, 2643-2681.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, risk_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> bounds = risk_bounds(SVC().fit(X[50:], y[50:]), X[50:], y[50:])
    >>> bounds.leave_one_out.error <= bounds.xi_alpha
    True
    """
    kind = check_arguments(model, exact, max_seconds)
    end = time.perf_counter() + max_seconds
    with single_threaded_blas(), watch_interrupt() as interrupt:
        machines = list(pose_model(model, X, y, sample_weight, TIME_SHARE * max_seconds, interrupt))
        classes: Any = model.classes_ if kind.task == "classification" else ()
        parts = []
        for place, posed in enumerate(machines):
            now = time.perf_counter()
            budget = RefitBudget(now + max(end - now, 1e-3) / (len(machines) - place), exact == "auto", interrupt)
            positive = np.asarray(y)[posed.index] == classes[1] if len(classes) == 2 else None
            found = bound_problem(posed, select_weights(posed, sample_weight), positive, budget, bool(exact))
            parts.append(scatter_samples(found, posed.index, len(y)))
        if interrupt:
            raise KeyboardInterrupt
    return parts[0] if len(parts) == 1 else join(parts, machines, model, X, y, sample_weight)


def check_arguments(model: Any, exact: bool | str, max_seconds: float) -> type[Estimator]:
    """What the model is, or one sentence about what is wrong."""
    kind = find_estimator(model, has_risk_bounds)
    if kind is None:
        names = ", ".join(list_names(has_risk_bounds))
        raise TypeError(f"risk_bounds takes a fitted {names}, got {name_type(model)}.")
    if not (isinstance(exact, bool) or exact == "auto"):
        raise ValueError(f"exact must be True, False or 'auto', got {exact!r}.")
    if not isinstance(max_seconds, Real) or not max_seconds > 0:
        raise ValueError(f"max_seconds must be a positive number, got {max_seconds!r}.")
    return kind


def has_risk_bounds(kind: type[Estimator]) -> bool:
    """Whether the theorems are about this estimator."""
    return kind.has_risk_bounds


def check_problem(problem: Problem) -> PiecewiseConjugate:
    """Its conjugates; the theorems are about one score per sample, piecewise losses and the penalty 1/2 |w|^2."""
    if problem.row is None or problem.y.ndim > 1:
        raise ValueError(f"risk_bounds needs a piecewise loss of one score, and {problem.loss.name!r} is not one.")
    if problem.traits.penalty != "l2":
        raise ValueError("risk_bounds needs the penalty |w|^2 / 2, and this model has penalty='l1'.")
    return problem.row


def select_weights(posed: PosedMachine, sample_weight: Any) -> np.ndarray:
    """The sample weights of the rows of a problem, zero for those that have no say."""
    weight = np.ones(posed.problem.n) if sample_weight is None else np.asarray(sample_weight, float)[posed.index]
    return np.where(posed.problem.c > 0, weight, 0.0)


def bound_problem(
    posed: PosedMachine, weight: np.ndarray, positive: np.ndarray | None, budget: RefitBudget, exact: bool
) -> RiskBounds:
    """All bounds of one problem."""
    problem, point, _ = posed
    row = check_problem(problem)
    certificate = judge_with_refinement(problem, point)
    labels = problem.loss.target == "label"
    f = problem.shift(np.asarray(certificate.scores), point.b)
    losses = measure_losses(problem, f)
    notes = describe(certificate)
    radius_square, shift_bound = find_distances(problem, row, point.a, certificate, budget, notes)
    moved = shift_bound.size * np.abs(point.a)
    allowed = moved + np.maximum(0.0, 1.0 - problem.y * f) >= 1.0 if labels else losses + moved
    allowed = np.where(problem.c > 0, allowed.astype(float), np.nan)
    found = None
    if exact and certificate.convex is not False:
        found, sentence = leave_each_out(problem, point, weight, shift_bound, budget)
        notes += [sentence] if sentence else []
    notes += [] if found is None else describe_refits(found)
    precision, recall, f1 = estimate_scores(allowed == 1.0, positive, weight)
    return RiskBounds(
        kind="classification" if labels else "regression",
        n=int(np.count_nonzero(weight)),
        training=average(losses, weight),
        xi_alpha=average(allowed, weight),
        proven=not shift_bound.caveat,
        precision=precision,
        recall=recall,
        f1=f1,
        radius_margin=bound_by_radius(problem, row, certificate, radius_square, weight),
        leave_one_out=found,
        allowed=allowed,
        certificate=certificate,
        notes=tuple(notes),
    )


def scatter_samples(bounds: RiskBounds, index: np.ndarray, n: int) -> RiskBounds:
    """The same with what belongs to samples laid out over all n of them."""

    def place(values: np.ndarray) -> np.ndarray:
        whole = np.full(n, False if values.dtype == bool else np.nan)
        whole[index] = values
        return whole

    exact = bounds.leave_one_out
    if exact is not None:
        exact = replace(exact, losses=place(exact.losses), undetermined=place(exact.undetermined))
    return replace(bounds, allowed=place(bounds.allowed), leave_one_out=exact)


def average(values: np.ndarray, weight: np.ndarray) -> float:
    """The weighted mean over the rows that count."""
    counted = weight > 0
    return float(weight[counted] @ values[counted] / weight[counted].sum())


def describe(certificate: Certificate) -> list[str]:
    """What the certificate says against the bounds."""
    notes = []
    if not certificate.relative_gap <= OPTIMAL_GAP:
        notes.append(
            f"The model is not at its optimum (relative gap {certificate.relative_gap:.2g}), to which the bounds "
            "refer: fit it with a smaller tol."
        )
    if certificate.convex is False:
        notes.append("The kernel is not positive semidefinite: nothing is proven, and there are no refits and no ball.")
    elif certificate.convex is None:
        notes.append("The bounds assume a positive semidefinite kernel, which this one is not known to be.")
    return notes


def describe_refits(exact: LeaveOneOut) -> list[str]:
    """What the refits say against the number they gave, or against xi-alpha."""
    notes = []
    if not exact.gap <= OPTIMAL_GAP:
        notes.append(f"Exact leave-one-out is not quite exact: one fit has a relative gap of {exact.gap:.2g}.")
    if exact.undetermined.any():
        notes.append(
            f"In {exact.undetermined.sum()} of the refits no dual is free, and the intercept is the middle of an "
            "interval of optimal ones; xi-alpha does not bound those."
        )
    return notes


def find_distances(
    problem: Problem,
    row: PiecewiseConjugate,
    a: np.ndarray,
    certificate: Certificate,
    budget: RefitBudget,
    notes: list[str],
) -> tuple[float | None, ScoreShiftBound]:
    """R^2 of the ball that the radius-margin bound is about, and the reach of the duals; adds what is to be said.

    Without a free intercept the ball is around the origin. Squared losses add d = 1/(2c) to the diagonal.
    """
    counted, convex = problem.c > 0, certificate.convex is not False
    diagonal_shift = np.where(counted, row.d, 0.0)
    diagonal = cast(KernelMatrix, problem.features).diagonal
    radius_square = float((diagonal + diagonal_shift)[counted].max())
    spread = 0.0
    if problem.balance is not None:
        share = TIME_SHARE * max(budget.left, 1e-3)
        measured = measure_spread(problem, a, time.perf_counter() + share if convex else np.inf, budget.interrupt)
        if convex and (measured is None or problem.loss.target == "label"):
            ball = find_smallest_ball(
                problem.features, diagonal_shift, counted, max_seconds=share, interrupt=budget.interrupt
            )
            radius_square = ball.radius_square
        if measured is not None:
            spread = measured
        else:
            spread = 2.0 * radius_square  # |phi_i - phi_j|^2 <= 4 R^2 in a ball
            notes.append("There was no time to compare all samples, so xi-alpha uses distances from the ball.")
    shift_bound = bound_score_shift(problem, a, spread)
    if shift_bound.caveat and convex:
        notes.append(shift_bound.caveat)
    return (radius_square, shift_bound) if convex else (None, shift_bound._replace(certain=False, caveat="not convex"))


def bound_by_radius(
    problem: Problem,
    row: PiecewiseConjugate,
    certificate: Certificate,
    radius_square: float | None,
    weight: np.ndarray,
) -> float | None:
    """(R^2 + Delta/C)(|w|^2 + 2 C sum xi) / n, where Delta = 0 and R^2 is that of K + I/(2C) for the squared hinge.

    The second factor is 2 P* for both losses: for the squared hinge |w|^2 + 2 C sum xi^2, which is the |w|^2 of the
    machine with the kernel K + I/(2C). Delta = 1 for the hinge: Chung, Kao, Sun, Wang and Lin 2003. With weights, C is
    the least of them, and every error may be the heaviest. For other losses nothing of the kind is proven.
    """
    if radius_square is None or problem.loss not in RADIUS_MARGIN_LOSSES:
        return None
    counted = problem.c > 0
    curved = bool((row.d[counted] > 0).all())
    slack = 0.0 if curved else 1.0 / float(problem.c[counted].min())
    return (radius_square + slack) * 2.0 * certificate.primal * float(weight.max() / weight.sum())


def estimate_scores(
    wrong: np.ndarray, positive: np.ndarray | None, weight: np.ndarray
) -> tuple[float | None, float | None, float | None]:
    """TP/(TP + FP), TP/(TP + FN) and 2 TP/(2 TP + FP + FN), if all that count are errors (Joachims 2000)."""
    if positive is None:
        return None, None, None
    missed, alarms = float(weight[positive & wrong].sum()), float(weight[~positive & wrong].sum())
    found = float(weight[positive].sum()) - missed
    if found <= 0:
        return 0.0, 0.0, 0.0
    return found / (found + alarms), found / (found + missed), 2.0 * found / (2.0 * found + alarms + missed)


def join(
    parts: list[RiskBounds], machines: list[PosedMachine], model: Any, X: Any, y: Any, sample_weight: Any
) -> RiskBounds:
    """Many classes: right in every binary problem means all votes that count, so an error shows in some problem."""
    n = len(y)
    weight, allowed = np.zeros(n), np.full(n, np.nan)
    given = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    margins: list[Any] = []
    for part, posed in zip(parts, machines, strict=True):
        counted = posed.index[posed.problem.c > 0]
        weight[counted] = given[counted]
        allowed = np.fmax(allowed, part.allowed)  # which passes over NaN
        margins.append(None if part.radius_margin is None else part.radius_margin * given[counted].sum())
    notes = dict.fromkeys(note for part in parts for note in part.notes)  # each once, in their order
    notes["Leave-one-out of all classes together is not computed; `parts` has that of each binary problem."] = None
    wrong = (model.predict(X) != np.asarray(y)).astype(float)
    return RiskBounds(
        kind="classification",
        n=int(np.count_nonzero(weight)),
        training=average(wrong, weight),
        xi_alpha=average(allowed, weight),
        proven=all(part.proven for part in parts),
        precision=None,
        recall=None,
        f1=None,
        radius_margin=None if None in margins else float(sum(margins) / weight.sum()),
        leave_one_out=None,
        allowed=allowed,
        certificate=worst([part.certificate for part in parts]),
        notes=tuple(notes),
        parts=tuple(parts),
    )
