"""Fits that take long, one or more for every solver of the registry: to run out of time, and to be interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
import scipy.sparse as sp

from maxmargin import (
    SVC,
    SVR,
    ChainModel,
    LagrangianDual,
    LinearSVC,
    MetricSVC,
    NuSVC,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    StructuredSVM,
)  # fmt: skip


@cache
def make_clouds(n: int, d: int, n_classes: int = 2, form: str = "dense") -> tuple:
    """Overlapping clouds with 15 % of the labels sampled at random."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    X = 0.5 * rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n, d))
    drawn = rng.uniform(size=n) < 0.15
    y[drawn] = rng.integers(0, n_classes, drawn.sum())
    if form == "sparse":
        X[rng.uniform(size=X.shape) < 0.9] = 0.0
        X = sp.csr_array(X)
    return X, y


@cache
def make_sequences(n: int = 300) -> tuple:
    """Sequences of four to twelve of eight labels, each with twenty noisy features."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(8, 20))
    y = [rng.integers(0, 8, rng.integers(4, 12)) for _ in range(n)]
    return [centres[labels] + 2.0 * rng.normal(size=(len(labels), 20)) for labels in y], y


def make_vectors(n: int, d: int) -> tuple:
    """Targets of five numbers."""
    X, _ = make_clouds(n, d)
    return X, X[:, :5] ** 2


def hinge(solver: str, **more) -> RiskClassifier:
    """A linear machine with a hinge and a tolerance that it will not reach soon."""
    return RiskClassifier("hinge", solver=solver, **{"C": 1e3, "tol": 1e-14, **more})


SHARP = {"C": 1e4, "tol": 1e-12}
LONG: dict[str, Callable[[], tuple]] = {
    "smo": lambda: (SVC(**SHARP), *make_clouds(6000, 20)),
    "smo pairs": lambda: (SVC(kernel="linear", C=1e6, tol=1e-13), *make_clouds(1500, 20)),
    "smo wide": lambda: (SVC(**SHARP), *make_clouds(3000, 1000)),
    "smo sparse": lambda: (SVC(**SHARP), *make_clouds(6000, 100, form="sparse")),
    "smo classes": lambda: (SVC(**SHARP), *make_clouds(4000, 10, 5)),
    "smo nu": lambda: (NuSVC(nu=0.3, tol=1e-13), *make_clouds(5000, 10)),
    "smo regression": lambda: (SVR(kernel="poly", C=1e5, tol=1e-12), *make_clouds(3000, 10)),
    "smo one class": lambda: (OneClassSVM(nu=0.5, tol=1e-12), *make_clouds(20_000, 10)),
    "newton": lambda: (RiskClassifier("logistic", C=1e4, tol=1e-15, solver="newton"), *make_clouds(50_000, 200)),
    "newton sparse": lambda: (
        RiskClassifier("logistic", C=100.0, tol=1e-15, solver="newton"),
        *make_clouds(10_000, 4000, form="sparse"),
    ),
    "multipliers": lambda: (hinge("multipliers"), *make_clouds(100_000, 60)),
    "interior_point": lambda: (hinge("interior_point"), *make_clouds(100_000, 60)),
    "coordinate": lambda: (hinge("coordinate"), *make_clouds(30_000, 100, form="sparse")),
    "proximal_newton": lambda: (LinearSVC(penalty="l1", C=1.0, tol=1e-13), *make_clouds(50_000, 100)),
    "class_newton": lambda: (
        RiskClassifier("logistic", multi_class="softmax", C=10.0, tol=1e-15, solver="class_newton"),
        *make_clouds(30_000, 60, 10),
    ),
    "class_coordinate": lambda: (hinge("class_coordinate", multi_class="crammer_singer"), *make_clouds(10_000, 60, 10)),
    "vector_ridge": lambda: (RiskRegressor("multivariate", tol=1e-15), *make_vectors(50_000, 200)),
    "bundle": lambda: (hinge("bundle"), *make_clouds(30_000, 60)),
    "bundle metric": lambda: (MetricSVC("f1", C=1e3, tol=1e-12), *make_clouds(30_000, 60)),
    "bundle ranking": lambda: (RankSVM(C=1e3, tol=1e-12), *make_clouds(20_000, 60)),
    "one_slack": lambda: (hinge("one_slack", intercept="none"), *make_clouds(30_000, 60)),
    "gradient_descent": lambda: (
        RiskClassifier("squared_hinge", C=1e5, tol=1e-14, solver="gradient_descent"),
        *make_clouds(30_000, 60),
    ),
    "gradient_descent kernel": lambda: (
        SVC(loss="squared_hinge", C=100.0, tol=1e-14, solver="gradient_descent"),
        *make_clouds(4000, 20),
    ),
    "adagrad": lambda: (hinge("adagrad"), *make_clouds(30_000, 60)),
    "lagrangian_dual": lambda: (SVC(C=1e3, tol=1e-14, solver="lagrangian_dual"), *make_clouds(2500, 20)),
    "lagrangian_dual plain": lambda: (
        SVC(loss="squared_hinge", C=1e3, tol=1e-14, solver=LagrangianDual(method="plain")),
        *make_clouds(1500, 20),
    ),
    "qp": lambda: (SVC(C=1e3, tol=1e-14, solver="qp"), *make_clouds(2500, 20)),
    "frank_wolfe": lambda: (
        StructuredSVM(ChainModel(), C=10.0, tol=1e-9, solver="frank_wolfe"),
        *make_sequences(),
    ),
    "structured_bundle": lambda: (
        StructuredSVM(ChainModel(), C=10.0, tol=1e-9, solver="structured_bundle"),
        *make_sequences(),
    ),
    "classes": lambda: (LinearSVC(loss="hinge", C=1e3, tol=1e-13), *make_clouds(30_000, 60, 10)),
}  # fmt: skip
ONCE = [name for name in LONG if " " not in name]  # one for each solver, and "classes"


def fit_quietly(model, X, y):
    """Fit, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
