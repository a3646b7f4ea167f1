"""Kernel machines of any library before the judge: the problems they solve, and the points that their duals are."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from itertools import pairwise
from math import fsum

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d, compute_class_weight

from ..contracts.estimators import Estimator
from ..estimators import SVC
from ..estimators.machine import KernelMachine
from ..estimators.multiclass import unpack_pairs
from ..estimators.tasks import Task
from ..estimators.training_set import Rows
from ..estimators.validation import check_length, check_weight, get_shape
from ..model.features import Gram
from ..model.formulations import Machine, sums_to_zero
from ..model.kernels import add_shift_product, is_function
from .posed_machine import PosedMachine, check_features, index_labels
from .row_search import find_rows

# do not shape the problem
IGNORED_PARAMETERS = {"tol", "probability", "max_iter", "verbose", "n_jobs", "random_state"}


def pose_kernel_machine(model, kind: type[Estimator], X, y, sample_weight) -> Iterator[PosedMachine]:
    """The binary problems of a kernel machine, and the points at which its dual coefficients are."""
    own = isinstance(model, KernelMachine)
    counterpart = copy(model) if own else make_counterpart(model, kind)
    if isinstance(counterpart.gamma, str) and hasattr(model, "_gamma"):
        counterpart.gamma = float(model._gamma)  # the kernel of the model, whatever data it is judged on
    X = X if is_function(counterpart.kernel) else check_features(model, X)
    n = get_shape(X)[0]
    targets = read_targets(model, kind, counterpart, y, n)
    check_length(X, targets)
    fitted = getattr(model, "shape_fit_", (n,))[0]  # a model file of LIBSVM does not say it
    if n != fitted:
        raise ValueError(f"X has {n} samples, but the model was fitted on {fitted}.")
    weight = check_weight(sample_weight, n)
    machines = read_machines(model, counterpart, weight, find_support(model, X, targets), n)
    balanced = all(sums_to_zero(machine.coef) for machine in machines)
    # Where the model has not kept it: scikit-learn's gamma="scale" does not look at the weights; ours does.
    problems = counterpart._pose_unsorted(Rows(X, targets, weight), weight if own else None, balanced)
    features, formulation = problems.features, problems.formulation
    features.form()
    machines = move_machines(machines, features, model if own else None)
    for task, machine in zip(problems.tasks, machines, strict=True):
        task = include_support(task, machine.coef)
        problem = formulation.pose(features.subset(task.index), task.y, task.c)
        point = formulation.write(problem, machine._replace(coef=machine.coef[task.index]))
        yield PosedMachine(problem, point, task.index)


def make_counterpart(model, kind: type[Estimator]) -> KernelMachine:
    """Our machine with the parameters of another library's, to pose the same problem."""
    ours = kind()
    theirs = model.get_params()
    shared = {key: value for key, value in theirs.items() if key in ours.get_params() and key not in IGNORED_PARAMETERS}
    return ours.set_params(**shared)


def read_targets(model, kind: type[Estimator], counterpart: KernelMachine, y, n: int) -> np.ndarray:
    """y as the model saw it: class indices in the order of its classes_, real numbers, or ones."""
    if not kind.takes_targets:
        return np.ones(n)
    if y is None:
        raise ValueError(f"y is needed to certify {kind.__name__}, got None.")
    if kind.task == "regression":
        return check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64, input_name="y")
    places = index_labels(column_or_1d(y), model.classes_)
    if not isinstance(model, KernelMachine):
        counterpart.classes_ = np.asarray(model.classes_)
        # LIBSVM's nu-SVC does not look at class weights, and "balanced" looks at sample weights in ours only.
        classes = compute_class_weight(
            model.class_weight if kind is SVC else None, classes=counterpart.classes_, y=column_or_1d(y)
        )
        counterpart.class_weight = dict(zip(counterpart.classes_.tolist(), classes.tolist(), strict=True))
    return places


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
            raise ValueError(
                f"X has no row{where} that equals support vector {place}; the model was fitted on other data."
            )
        support.append(members[found])
    return np.concatenate(support)


def read_machines(
    model, counterpart: KernelMachine, weight: np.ndarray | None, support: np.ndarray, n: int
) -> list[Machine]:
    """The binary machines of a model as coefficients over all training samples, in the signs of their tasks."""
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    b = np.ravel(model.intercept_)
    counted = np.arange(n) if isinstance(model, KernelMachine) or weight is None else np.flatnonzero(weight > 0)
    if support.max(initial=-1) < len(counted):
        support = counted[support]  # scikit-learn numbers the samples without those of no weight
    if counterpart.task == "classification" and not counterpart._is_one_vs_rest:
        two = len(model.classes_) == 2
        table = -table if two else unpack_pairs(table, np.asarray(model.n_support_)).T
        b = -b if two else b
    coef = np.zeros((len(table), n))
    coef[:, support] = table
    held = model._held_weights() if isinstance(model, KernelMachine) else [None] * len(b)
    return [Machine(row, float(shift), w=w) for row, shift, w in zip(coef, b, held, strict=True)]


def move_machines(machines: list[Machine], features: Gram, model: KernelMachine | None) -> list[Machine]:
    """The machines with intercepts that go with the samples as the kernel sees them.

    A machine of our own has kept these with all their digits; if its intercept_ was changed since, so are they.
    """
    kernel, b = features.kernel, np.array([machine.b for machine in machines])
    if not kernel.linear or kernel.shift is None:
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


def include_support(task: Task, coef: np.ndarray) -> Task:
    """The task with every sample that has a coefficient: one of no weight may have none, and that must show."""
    stray = np.setdiff1d(np.flatnonzero(coef), task.index)
    if not len(stray):
        return task
    index = np.concatenate([task.index, stray])
    return Task(index, np.append(task.y, np.ones(len(stray))), np.append(task.c, np.zeros(len(stray))))
