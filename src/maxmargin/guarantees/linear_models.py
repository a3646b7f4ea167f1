"""Linear machines of any library before the judge: P at their (w, b), and the best lower bound that is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d

from ..contracts.estimators import Estimator
from ..estimators.linear_machine import LinearMachine
from ..estimators.multiclass import split_one_vs_rest
from ..estimators.risk_regressor import check_vectors
from ..estimators.tasks import Task
from ..estimators.training_set import Rows
from ..estimators.validation import bound_cost, check_length, check_weight
from ..model.features import Design
from ..model.formulations import Risk
from ..model.kernels import Linear
from ..model.losses import LOSSES
from ..model.problem import Point, Problem
from ..model.samples import wrap
from ..runtime.interrupt import Interrupt
from ..runtime.scikit_learn import weigh_liblinear_classes
from ..solvers.loop import solve
from .posed_machine import PosedMachine, check_features, index_labels


def pose_linear_machine(
    model: LinearMachine, X, y, sample_weight, max_seconds: float, interrupt: Interrupt | None
) -> Iterator[PosedMachine]:
    """Our linear machines: P at their (w, b), D at the best dual found, whatever loss, intercept and penalty."""
    X = check_features(model, X)
    if y is None:
        raise ValueError(f"y is needed to certify {type(model).__name__}, got None.")
    if model.takes_queries:
        raise ValueError("RankSVM cannot be certified again without its queries; its fit has a certificate_.")
    y = read_targets(model, y)
    problems = model._pose_problems(Rows(X, y, check_weight(sample_weight, check_length(X, y))))
    for k, point in enumerate(read_points(model, problems.kernel)):
        problem = problems.problem(k)
        suggested = problem.terms.response(problem.shift(problem.features.scores(point.coef), point.b))[0]
        found = find_dual(problem, point._replace(a=suggested), max_seconds / len(problems), interrupt)
        yield PosedMachine(problem, found, problems.tasks[k].index)


def read_targets(model: LinearMachine, y) -> np.ndarray:
    """Class indices in the order of classes_, real numbers, or vectors of them."""
    if model.task == "classification":
        return index_labels(column_or_1d(y), model.classes_)
    y = np.asarray(y) if model.is_vector_valued else column_or_1d(y)
    y = check_array(y, ensure_2d=False, dtype=np.float64)
    return check_vectors(y) if model.is_vector_valued else y


def pose_foreign_linear_machine(
    model, kind: type[Estimator], X, y, sample_weight, max_seconds: float, interrupt: Interrupt | None
) -> Iterator[PosedMachine]:
    """LIBLINEAR's machines: P at their (w, b), D at the best dual found here, since they keep none."""
    if getattr(model, "penalty", "l2") != "l2" or getattr(model, "multi_class", "ovr") != "ovr":
        raise ValueError("certify supports LinearSVC only with penalty='l2' and multi_class='ovr'.")
    X = check_features(model, X)
    if y is None:
        raise ValueError(f"y is needed to certify {kind.__name__}, got None.")
    labels = kind.task == "classification"
    y = column_or_1d(y) if labels else check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64)
    weight = check_weight(sample_weight, check_length(X, y))
    scaling = float(model.intercept_scaling) if model.fit_intercept else 0.0
    c = bound_cost(model.C) * (np.ones(len(y)) if weight is None else np.maximum(weight, 0.0))
    loss = LOSSES[model.loss](**({"epsilon": model.epsilon} if model.loss in kind.tube_losses else {}))
    formulation = Risk("regularised" if scaling else "none", scaling, loss)
    features = Design(wrap(X), scaling)
    coefs = np.atleast_2d(model.coef_)
    intercepts = np.broadcast_to(np.ravel(model.intercept_), len(coefs))
    tasks = split_linear(model, y, c, weight) if labels else [Task(np.flatnonzero(c > 0), y[c > 0], c[c > 0])]
    for task, w, b in zip(tasks, coefs, intercepts, strict=True):
        problem = formulation.pose(features.subset(task.index), task.y.astype(float), task.c)
        coef = np.append(w, b / scaling if scaling else 0.0).astype(float)
        stray = 0.0 if scaling else float(b)
        suggested = Point(problem.terms.response(problem.features.scores(coef))[0], stray, coef)
        yield PosedMachine(problem, find_dual(problem, suggested, max_seconds / len(tasks), interrupt), task.index)


def read_points(model: LinearMachine, kernel: Linear) -> list[Point]:
    """w and b of the binary machines, or of all classes as one, as the kernel sees the samples; without duals."""
    w = model.coef_.toarray() if sp.issparse(model.coef_) else np.atleast_2d(model.coef_)
    b = np.broadcast_to(np.ravel(model.intercept_), len(w)).astype(float)
    joint = model._is_joint
    if joint and model.task == "classification" and len(w) == 1:  # two classes solved as one: their difference is kept
        w, b = np.concatenate([-0.5 * w, 0.5 * w]), np.concatenate([-0.5 * b, 0.5 * b])
    free, b = model._intercept_kind == "free", kernel.move_to_shift(w, b)
    last = np.zeros(len(w)) if free or not model._constant_column else b / model._constant_column
    coef, b = np.column_stack([w, last]), b if free else np.zeros(len(b))
    if joint:
        return [Point(np.empty(0), b if free else 0.0, coef)]
    return [Point(np.empty(0), float(shift), row) for row, shift in zip(coef, b, strict=True)]


def split_linear(model, y: np.ndarray, c: np.ndarray, weight: np.ndarray | None) -> list[Task]:
    """One task for each class against the rest; one in all for two classes, the second being +1.

    Of many classes LIBLINEAR weighs the one that stands against the rest, and not the rest.
    """
    place = index_labels(y, model.classes_)
    weights = weigh_liblinear_classes(model.class_weight, model.classes_, y, weight)
    if len(model.classes_) == 2:
        return split_one_vs_rest(place, c * weights[place], 2)[1:]
    tasks = split_one_vs_rest(place, c, len(weights))
    return [
        task._replace(c=task.c * np.where(task.y > 0, weight, 1.0)) for task, weight in zip(tasks, weights, strict=True)
    ]


def find_dual(problem: Problem, point: Point, max_seconds: float, interrupt: Interrupt | None) -> Point:
    """The point with duals for a machine that has none: those its scores suggest, improved until the bound is tight."""
    found = solve(problem, tol=1e-7, max_seconds=max_seconds, warm=point, interrupt=interrupt).point
    return point._replace(a=found.a, mixture=found.mixture)
