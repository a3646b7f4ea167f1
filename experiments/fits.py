"""One row of a table: a problem of the report, a solver, three folds, and what came of it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

import numpy as np
from sklearn import svm
from sklearn.model_selection import KFold, StratifiedKFold

import maxmargin as mm

from . import clouds

DATA = {
    "clouds": clouds.make_clouds, "four clouds": clouds.make_four_clouds,
    "line": clouds.make_line, "sine": clouds.make_sine,
}  # fmt: skip
COEF0 = {"clouds": 1.0, "four clouds": 1.0, "sine": 3.0}  # r of the polynomial kernel
FOLDS = 3
FIT_SECONDS = 10.0  # that a fit may take; the page cannot hang
ADDED_ROWS_GAP = 1e-6  # certified gap of the rows that are added
STEPS = {"adagrad": 4000, "gd": 4000, "lagrangian": 1000}  # the largest counts in the tables of the report
LIBSVM_STEPS = 20_000_000
ENDS = ("done", "stalled", "limit", "time")  # why a fit ended, the worst reason last
LINEAR_MACHINES = ("adagrad", "gd", "liblinear")
MOMENTUM = {"none": "none", "standard": "polyak", "nesterov": "nesterov"}


@dataclass(frozen=True)
class Task:
    """min 1/2 |w|^2 + C sum_i l(f_i; y_i) on some data: loss, kernel, C, epsilon, and what becomes of b."""

    data: str
    loss: str
    C: float
    kernel: str = "linear"
    epsilon: float | None = None
    intercept: str = "free"
    degree: int = 3  # of the polynomial kernel

    @property
    def classifies(self) -> bool:
        """Whether the targets are labels."""
        return self.epsilon is None

    def __str__(self) -> str:
        tube = "" if self.classifies else f", epsilon = {self.epsilon:g}"
        degree = f" of degree {self.degree}" if self.kernel == "poly" and self.degree != 3 else ""
        return f"{self.kernel} kernel{degree}, C = {self.C:g}{tube}"


@dataclass(frozen=True)
class Setting:
    """A task and who solves it: the report's name of a solver, or `default`, `augmented`, `keerthi`."""

    task: Task
    solver: str
    momentum: str | None = None


@dataclass(frozen=True)
class Measured:
    """Means over the folds; the worst gap; P and D of every fold, by the judge."""

    seconds: float
    n_iter: float
    train: float
    val: float
    n_sv: float
    gap: float
    primals: tuple[float, ...]
    duals: tuple[float, ...]
    n_train: float
    end: str
    residual: float | None = None


@cache
def load_folds(data: str) -> list[tuple[np.ndarray, ...]]:
    """X, y of three training folds and of their validation folds, cut as scikit-learn cuts them: without shuffling."""
    X, y = DATA[data]()
    folds = StratifiedKFold(FOLDS) if y.dtype.kind == "i" else KFold(FOLDS)
    return [(X[train], y[train], X[val], y[val]) for train, val in folds.split(X, y)]


@cache
def measure(setting: Setting) -> Measured:
    """Fit the three folds, one after the other, and have each fit judged.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    Measured
    """
    warm_up(replace(setting, task=replace(setting.task, C=1.0, epsilon=setting.task.epsilon and 0.1)))
    fits = [measure_fold(setting, *fold) for fold in load_folds(setting.task.data)]
    mean = {key: fmean(fit[key] for fit in fits) for key in ("seconds", "n_iter", "train", "val", "n_sv", "n_train")}
    residuals = [fit["residual"] for fit in fits if fit["residual"] is not None]
    return Measured(
        **mean,
        gap=max(fit["certificate"].relative_gap for fit in fits),
        primals=tuple(fit["certificate"].primal for fit in fits),
        duals=tuple(fit["certificate"].dual for fit in fits),
        end=max((fit["end"] for fit in fits), key=ENDS.index),
        residual=max(residuals, default=None),
    )


@cache
def warm_up(setting: Setting) -> None:
    """A few steps on the first fold: what is compiled is compiled now, and is no part of a fit time.

    A fit by pairs goes on to its end: its last test and its certificate are compiled too.
    """
    X, y, *_ = load_folds(setting.task.data)[0]
    model = make_model(setting, len(y))
    fit_once(model if setting.solver == "keerthi" else model.set_params(max_iter=3), X, y)


def measure_fold(setting: Setting, X, y, X_val, y_val) -> dict:
    """One fit: seconds, iterations, scores, support vectors, certificate."""
    seconds, model = fit_once(make_model(setting, len(y)), X, y)
    result = getattr(model, "result_", None)
    certificate = mm.certify(model, X, y, max_seconds=FIT_SECONDS) if result is None else model.certificate_
    return {
        "seconds": seconds,
        "n_iter": float(np.max(model.n_iter_)) if result is None else result.n_iter,
        "train": model.score(X, y),
        "val": model.score(X_val, y_val),
        "n_sv": count_support(model, setting.task, X, y),
        "certificate": certificate,
        "residual": None if result is None else result.counters.get("residual"),
        "n_train": len(y),
        "end": name_end(model, result),
    }


def name_end(model, result: mm.Result | None) -> str:
    """done, stalled, or what ran out first: the limit of iterations or the time."""
    if result is None:
        return "limit" if np.max(model.n_iter_) >= model.max_iter else "done"
    ends = {"converged": "done", "max_iter": "limit", "max_seconds": "time"}
    return ends.get(result.status.value, "stalled")


def fit_once(model, X, y) -> tuple[float, object]:
    """Seconds and the fitted model; that a fit stopped early is left to its gap to tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - began, model


def count_support(model, task: Task, X, y) -> int:
    """Support vectors; of a machine that has no duals, the samples whose loss has a slope."""
    if hasattr(model, "support_"):
        return len(model.support_)
    if task.classifies:
        return int(np.sum(y * model.decision_function(X) <= 1.0 + 1e-6))
    return int(np.sum(np.abs(y - model.predict(X)) >= task.epsilon - 1e-6))


# ---- models ---------------------------------------------------------------------------------------------------


def make_model(setting: Setting, n: int):
    """The estimator of a setting, for n samples."""
    if setting.solver == "liblinear":
        return make_liblinear(setting.task)
    if setting.solver == "libsvm":
        model = svm.SVC if setting.task.classifies else svm.SVR
        return model(**kernel_arguments(setting.task), max_iter=LIBSVM_STEPS)
    plain = {"intercept": setting.task.intercept, "max_seconds": FIT_SECONDS, **make_solver(setting, n)}
    if is_linear_machine(setting):
        model = mm.LinearSVC if setting.task.classifies else mm.LinearSVR
        return model(loss=setting.task.loss, C=setting.task.C, **epsilon_argument(setting.task), **plain)
    model = mm.SVC if setting.task.classifies else mm.SVR
    return model(**kernel_arguments(setting.task), **plain)


def is_linear_machine(setting: Setting) -> bool:
    """Whether the solver works on w: those of the primal tables do, and the default where b is regularised."""
    primal = setting.task.kernel == "linear" and setting.task.intercept == "regularised"
    return setting.solver in LINEAR_MACHINES or (setting.solver == "default" and primal)


def make_liblinear(task: Task):
    """scikit-learn's linear machine: LIBLINEAR's dual coordinate descent with its limit of 1000 passes."""
    model = svm.LinearSVC if task.classifies else svm.LinearSVR
    return model(loss=task.loss, C=task.C, dual=True, max_iter=1000, random_state=0, **epsilon_argument(task))


def kernel_arguments(task: Task) -> dict:
    """What our kernel machines and scikit-learn's call by the same names."""
    kernel = {"kernel": task.kernel, "C": task.C, **epsilon_argument(task)}
    return (
        {**kernel, "degree": task.degree, "coef0": COEF0[task.data], "gamma": "scale"}
        if task.kernel != "linear"
        else kernel
    )


def epsilon_argument(task: Task) -> dict:
    """epsilon, where there is one."""
    return {} if task.classifies else {"epsilon": task.epsilon}


def make_solver(setting: Setting, n: int) -> dict:
    """The solver as in Meoli (2021), its limit of iterations, and tol where the certified gap decides."""
    name = setting.solver
    limit = {"max_iter": STEPS[name]} if name in STEPS else {}
    if name == "adagrad":
        return {"solver": mm.AdaGrad(step=0.5, stop="patience"), **limit}
    if name == "gd":  # on P/n: with a step of 0.001 on P itself, descent diverges at C = 100 (`descent.py`)
        momentum = MOMENTUM[setting.momentum]
        beta = None if momentum == "none" else 0.4
        return {"solver": mm.GradientDescent(momentum, beta=beta, step=0.001 / n, stop="patience"), **limit}
    if name == "lagrangian":
        return {"solver": mm.LagrangianDual("plain", step=0.5, inner="minres"), **limit}
    if name == "smo":  # as users have it, with the tol of the estimator
        return {"solver": mm.SMO()}
    if name == "keerthi":  # the report's own rules: the pairs of Keerthi et al. and Shevade et al., m - M < 0.001
        return {"solver": mm.SMO(selection="keerthi", stop="kkt"), "tol": 1e-3}
    others = {"cvxopt": lambda: mm.QP("cvxopt"), "augmented": lambda: mm.LagrangianDual("augmented")}
    return {"solver": others[name]() if name in others else "auto", "tol": ADDED_ROWS_GAP}
