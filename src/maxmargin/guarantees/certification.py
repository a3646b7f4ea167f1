"""The judge called on models: ours, scikit-learn's, and whatever wears the same attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from itertools import pairwise
from math import fsum
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ..certificates.data_hash import hash_data
from ..certificates.in_memory import Certificate, judge, judge_with_refinement, worst
from ..estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from ..estimators.linear_machine import LinearMachine
from ..estimators.machine import KernelMachine, Task
from ..estimators.multiclass import split_one_vs_rest, unpack_pairs
from ..estimators.ranking import RankSVM
from ..estimators.risk import check_vectors
from ..estimators.validation import bound_cost, check_length, check_weight, is_function
from ..model.features import Design, Gram
from ..model.formulations import Machine, Risk, sums_to_zero
from ..model.kernels import Linear, add_shift_product
from ..model.losses import LOSSES
from ..model.problem import Point, Problem
from ..model.samples import wrap
from ..model.sparse_format import check_sparse
from ..runtime.interrupt import Interrupt
from ..runtime.scikit_learn import weigh_liblinear_classes
from ..runtime.threads import single_threaded_blas
from ..solvers.loop import solve
from .row_search import find_rows

KERNEL_MACHINE_CLASSES = {machine.__name__: machine for machine in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}
KERNEL_MACHINES = tuple(KERNEL_MACHINE_CLASSES)
LINEAR_MACHINES = ("LinearSVC", "LinearSVR")


def certify(model, X, y=None, sample_weight=None, *, max_seconds: float = 30.0) -> Certificate:
    """P, D, their gap and the KKT violation of any fitted SVM, in float64, from its coefficients alone.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, RiskClassifier or RiskRegressor; a Problem
        Of this library, of scikit-learn, or of a library with the same attributes. With a `Problem`, X is a `Point`.
    X, y, sample_weight
        The data the model was fitted on.
    max_seconds : float, default=30
        Linear machines are judged by w alone; the best lower bound found in this time is used.

    Returns
    -------
    Certificate
        The worst of the binary problems; all of them in its `parts`.
    """
    if isinstance(model, Problem):
        return judge(model, X)
    compare_data(model, X, y, sample_weight)
    with single_threaded_blas():
        posed = pose_model(model, X, y, sample_weight, max_seconds)
        return worst([judge_with_refinement(problem, point) for problem, point, _ in posed])


def compare_data(model, X, y, sample_weight) -> None:
    """Warn if a model file says that the model was fitted on other data."""
    kept, y = getattr(model, "data_hash_", None), None if isinstance(model, OneClassSVM) else y
    if kept is not None and hash_data(X, y, sample_weight) != kept:
        warnings.warn(
            "X, y and sample_weight are not the data that the model was fitted on: its file holds another hash.",
            UserWarning,
            stacklevel=3,
        )


class PosedMachine(NamedTuple):
    """A binary machine of a model as a point of the problem that it claims to solve, over some rows of X."""

    problem: Problem
    point: Point
    index: np.ndarray


def pose_model(
    model, X, y, sample_weight, max_seconds: float, interrupt: Interrupt | None = None
) -> Iterator[PosedMachine]:
    """The binary machines of a fitted model, one after the other; duals that it does not keep are looked for."""
    kind = None if isinstance(model, LinearMachine) else name_kind(model)
    check_is_fitted(model)
    refuse_unknown(model)
    if kind is None:
        return pose_own_linear(model, X, y, sample_weight, max_seconds, interrupt)
    if kind in LINEAR_MACHINES:
        return pose_linear(model, kind, X, y, sample_weight, max_seconds, interrupt)
    return pose_kernel(model, kind, X, y, sample_weight)


def refuse_unknown(model) -> None:
    """Model files of other libraries leave parameters open, without which there is no problem to judge."""
    for name in ("C", "nu", "epsilon"):
        value = getattr(model, name, None)
        if isinstance(value, float) and np.isnan(value):
            raise ValueError(f"{name} is not known, since the model's file does not hold it; set_params({name}=...).")


def check_features(model, X):
    """X as a matrix of floats with as many features as the model was fitted on."""
    check_sparse(X)
    X = check_array(X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr")
    expected = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != expected:
        raise ValueError(f"X has {X.shape[1]} features, but the model was fitted on {expected}.")
    return X


def name_kind(model) -> str:
    """Which of the known machines a model is, by the name of its class or of a class it derives from."""
    for ancestor in type(model).__mro__:
        if ancestor.__name__ in KERNEL_MACHINES + LINEAR_MACHINES:
            return ancestor.__name__
    raise TypeError(
        f"certify takes a fitted {', '.join(KERNEL_MACHINES + LINEAR_MACHINES)} or a Problem, "
        f"got {type(model).__name__}."
    )


# ---- kernel machines ------------------------------------------------------------------------------------------


def pose_kernel(model, kind: str, X, y, sample_weight) -> Iterator[PosedMachine]:
    """The binary problems of a kernel machine, and the points at which its dual coefficients are."""
    own = isinstance(model, KernelMachine)
    counterpart = copy(model) if own else make_counterpart(model, kind)
    if isinstance(counterpart.gamma, str) and hasattr(model, "_gamma"):
        counterpart.gamma = float(model._gamma)  # the kernel of the model, whatever data it is judged on
    X = X if is_function(counterpart.kernel) else check_features(model, X)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    targets = read_targets(model, kind, counterpart, y, n)
    check_length(X, targets)
    fitted = getattr(model, "shape_fit_", (n,))[0]  # a model file of LIBSVM does not say it
    if n != fitted:
        raise ValueError(f"X has {n} samples, but the model was fitted on {fitted}.")
    weight = check_weight(sample_weight, n)
    formulation = counterpart._formulation()
    machines = read_machines(model, kind, counterpart, weight, find_support(model, X, targets), n)
    balanced = all(sums_to_zero(machine.coef) for machine in machines)
    # Where nobody has kept it: scikit-learn's gamma="scale" does not look at the weights; ours does.
    features = counterpart._features(X, weight if own else None, formulation, balanced)
    features.form()
    machines = move_machines(machines, features, model if own else None)
    for task, machine in zip(counterpart._tasks(targets, weight), machines, strict=True):
        task = include_support(task, machine.coef, targets)
        problem = formulation.pose(features.subset(task.index), task.y, task.c)
        point = formulation.write(problem, machine._replace(coef=machine.coef[task.index]))
        yield PosedMachine(problem, point, task.index)


def make_counterpart(model, kind: str) -> KernelMachine:
    """Our machine with the parameters of another library's, to pose the same problem."""
    ours = KERNEL_MACHINE_CLASSES[kind]()
    theirs = model.get_params()
    shared = {key: value for key, value in theirs.items() if key in ours.get_params() and key not in IGNORED_PARAMETERS}
    return ours.set_params(**shared)


IGNORED_PARAMETERS = {"tol", "probability", "max_iter", "verbose", "n_jobs", "random_state"}  # do not shape the problem


def read_targets(model, kind: str, counterpart, y, n: int) -> np.ndarray:
    """y as the model saw it: class indices in the order of its classes_, real numbers, or ones."""
    if kind == "OneClassSVM":
        return np.ones(n)
    if y is None:
        raise ValueError(f"y is needed to certify {kind}, got None.")
    if kind in ("SVR", "NuSVR"):
        return check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64, input_name="y")
    places = index_labels(column_or_1d(y), model.classes_)
    if not isinstance(model, KernelMachine):
        counterpart.classes_ = np.asarray(model.classes_)
        # LIBSVM's nu-SVC does not look at class weights, and nobody's "balanced" at sample weights but ours.
        classes = compute_class_weight(
            model.class_weight if kind == "SVC" else None, classes=counterpart.classes_, y=column_or_1d(y)
        )
        counterpart.class_weight = dict(zip(counterpart.classes_.tolist(), classes.tolist(), strict=True))
    return places


def index_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label in the sorted classes."""
    place = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
    if not (classes[place] == y).all():
        unknown_label = y[classes[place] != y][0]
        raise ValueError(
            f"y has the label {unknown_label}, which the model has never seen; it knows {classes.tolist()}."
        )
    return place


def find_support(model, X, targets: np.ndarray) -> np.ndarray:
    """Which samples the support vectors are; where the model does not say, rows of X that equal them."""
    if hasattr(model, "support_"):
        return np.asarray(model.support_, int)
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    labels = hasattr(model, "classes_")
    support = []
    for k, (start, stop) in enumerate(pairwise(ends)):
        members = np.flatnonzero(targets == k) if labels else np.arange(len(targets))
        found = find_rows(model.support_vectors_[start:stop], X[members])
        if (found < 0).any():
            where = f" of class {model.classes_[k]}" if labels else ""
            place = start + int(np.argmax(found < 0))
            raise ValueError(f"X has no row{where} that equals support vector {place}; the model was fitted on others.")
        support.append(members[found])
    return np.concatenate(support)


def read_machines(
    model, kind: str, counterpart, weight: np.ndarray | None, support: np.ndarray, n: int
) -> list[Machine]:
    """The binary machines of a model as coefficients over all training samples, in the signs of their tasks."""
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    b = np.ravel(model.intercept_)
    counted = np.arange(n) if isinstance(model, KernelMachine) or weight is None else np.flatnonzero(weight > 0)
    if support.max(initial=-1) < len(counted):
        support = counted[support]  # scikit-learn numbers the samples without those of no weight
    if kind in ("SVC", "NuSVC") and not counterpart._one_vs_rest:
        two = len(model.classes_) == 2
        table = -table if two else unpack_pairs(table, np.asarray(model.n_support_)).T
        b = -b if two else b
    coef = np.zeros((len(table), n))
    coef[:, support] = table
    held = model._held_weights() if isinstance(model, KernelMachine) else [None] * len(b)
    return [Machine(row, float(shift), w=w) for row, shift, w in zip(coef, b, held, strict=True)]


def move_machines(machines: list[Machine], features: Gram, model: KernelMachine | None) -> list[Machine]:
    """The machines with intercepts that go with the samples as the kernel sees them.

    A machine of our own has kept these with all their digits; if someone has changed its intercept_, by so much here.
    """
    kernel, b = features.kernel, np.array([machine.b for machine in machines])
    if not isinstance(kernel, Linear) or kernel.shift is None:
        return machines
    if model is not None and np.array_equal(kernel.shift, model._kernel.shift):
        b = model._intercept_ + (b - model._public_intercepts())
    else:
        b = np.array([move_intercept(machine, features) for machine in machines])
    return [machine._replace(b=float(each)) for machine, each in zip(machines, b, strict=True)]


def move_intercept(machine: Machine, features: Gram) -> float:
    """b + <w, m> for w = sum_i coef_i x_i = sum_i coef_i (x_i - m) + d m, d the sum of the coef_i; rounded once."""
    shift = features.kernel.shift
    if machine.w is not None:
        return float(add_shift_product(np.array([machine.b]), machine.w[None], shift)[0])
    high, low, _ = features.samples.combine_closely(machine.coef)
    parts = np.concatenate([high, low, fsum(machine.coef) * shift])
    return float(add_shift_product(np.array([machine.b]), parts[None], np.tile(shift, 3))[0])


def include_support(task: Task, coef: np.ndarray, targets: np.ndarray) -> Task:
    """The task with every sample the machine leans on: one of no weight may have no coefficient, and that must show."""
    stray = np.setdiff1d(np.flatnonzero(coef), task.index)
    if not len(stray):
        return task
    index = np.concatenate([task.index, stray])
    return Task(index, np.append(task.y, np.ones(len(stray))), np.append(task.c, np.zeros(len(stray))))


# ---- linear machines ------------------------------------------------------------------------------------------


def pose_linear(model, kind: str, X, y, sample_weight, max_seconds: float, interrupt) -> Iterator[PosedMachine]:
    """LIBLINEAR's machines: P at their (w, b), D at the best dual found here, since they keep none."""
    if getattr(model, "penalty", "l2") != "l2" or getattr(model, "multi_class", "ovr") != "ovr":
        raise ValueError("certify knows LinearSVC with penalty='l2' and multi_class='ovr' only.")
    X = check_features(model, X)
    if y is None:
        raise ValueError(f"y is needed to certify {kind}, got None.")
    y = column_or_1d(y) if kind == "LinearSVC" else check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64)
    weight = check_weight(sample_weight, check_length(X, y))
    scaling = float(model.intercept_scaling) if model.fit_intercept else 0.0
    c = bound_cost(model.C) * (np.ones(len(y)) if weight is None else np.maximum(weight, 0.0))
    loss = LOSSES[model.loss](**({"epsilon": model.epsilon} if kind == "LinearSVR" else {}))
    formulation = Risk("regularised" if scaling else "none", scaling, loss)
    features = Design(wrap(X), scaling)
    coefs = np.atleast_2d(model.coef_)
    intercepts = np.broadcast_to(np.ravel(model.intercept_), len(coefs))
    if kind == "LinearSVC":
        tasks = split_linear(model, y, c, weight)
    else:
        tasks = [Task(np.flatnonzero(c > 0), y[c > 0], c[c > 0])]
    for task, w, b in zip(tasks, coefs, intercepts, strict=True):
        problem = formulation.pose(features.subset(task.index), task.y.astype(float), task.c)
        coef = np.append(w, b / scaling if scaling else 0.0).astype(float)
        stray = 0.0 if scaling else float(b)
        suggested = Point(problem.terms.response(problem.features.scores(coef))[0], stray, coef)
        yield PosedMachine(problem, find_dual(problem, suggested, max_seconds / len(tasks), interrupt), task.index)


def pose_own_linear(model: LinearMachine, X, y, sample_weight, max_seconds: float, interrupt) -> Iterator[PosedMachine]:
    """Our linear machines: P at their (w, b), D at the best dual found, whatever loss, intercept and penalty."""
    X = check_features(model, X)
    if y is None:
        raise ValueError(f"y is needed to certify {type(model).__name__}, got None.")
    if isinstance(model, RankSVM):
        raise ValueError("RankSVM cannot be certified again without its queries; its fit has a certificate_.")
    labels, vectors = hasattr(model, "classes_"), getattr(model, "_vector", False)
    y = np.asarray(y) if vectors else column_or_1d(y)
    y = y if labels else check_array(y, ensure_2d=False, dtype=np.float64)
    y = check_vectors(y) if vectors else y
    weight = check_weight(sample_weight, check_length(X, y))
    kernel = model._make_kernel(X)
    tasks = model._tasks(index_labels(y, model.classes_) if labels else y, weight)
    features = model._features(X, kernel)
    for task, point in zip(tasks, read_points(model, kernel), strict=True):
        problem = model._pose(task.cut(features), task)
        if problem.terms is not None and hasattr(problem.terms, "response"):
            suggested = problem.terms.response(problem.shift(problem.features.scores(point.coef), point.b))[0]
        else:
            suggested = np.zeros(problem.shape)
        found = find_dual(problem, point._replace(a=suggested), max_seconds / len(tasks), interrupt)
        yield PosedMachine(problem, found, task.index)


def read_points(model: LinearMachine, kernel: Linear) -> list[Point]:
    """w and b of the binary machines, or of all classes as one, as the kernel sees the samples; without duals."""
    w = model.coef_.toarray() if sp.issparse(model.coef_) else np.atleast_2d(model.coef_)
    b = np.broadcast_to(np.ravel(model.intercept_), len(w)).astype(float)
    if (
        getattr(model, "_joint", False) and hasattr(model, "classes_") and len(w) == 1
    ):  # two classes solved as one are kept as their difference
        w, b = np.concatenate([-0.5 * w, 0.5 * w]), np.concatenate([-0.5 * b, 0.5 * b])
    free, b = model._intercept_kind == "free", kernel.move_to_shift(w, b)
    last = np.zeros(len(w)) if free or not model._scaling else b / model._scaling
    coef, b = np.column_stack([w, last]), b if free else np.zeros(len(b))
    if getattr(model, "_joint", False):
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
