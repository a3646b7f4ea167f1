"""Linear peers and the routes they take to an optimum: each fit is one rung of a ladder, from coarse to fine.

A rung is a limit of passes over the data, a tolerance, or nothing where a library is only tried as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model, svm

from ..linear.linear_cases import LinearCase

STEP = 1.5  # from one limit of passes to the next
TIGHT, MANY = 1e-14, 10_000_000  # a tolerance, and a number of passes, that no fit reaches
SPARSE = 0.25  # with fewer entries than this that are not zero, LIBLINEAR is given CSR data
HINGES, TUBES = ("hinge", "squared_hinge"), ("epsilon_insensitive", "squared_epsilon_insensitive")


def count_passes() -> Iterator[int]:
    """10, 15, 22, ..."""
    passes = 10.0
    while passes < MANY:
        yield int(passes)
        passes *= STEP


def tighten(first: float = 1e-1, last: float = 1e-13) -> Iterator[float]:
    """Tolerances, two to a power of ten."""
    tolerance = first
    while tolerance > last:
        yield tolerance
        tolerance /= 10**0.5


def once() -> Iterator[None]:
    """The fit as it comes."""
    yield None


@dataclass(frozen=True)
class Route:
    """A way to fit: `fit(case, rung)` returns w and b of the peer's machine."""

    peer: str
    package: str
    losses: tuple[str, ...]
    fit: Callable[[LinearCase, object], tuple[np.ndarray, float]]
    rungs: Callable[[], Iterator]
    prepare: Callable[[LinearCase], object] = lambda case: case.X  # the form of the data that suits it, not timed


def lighten(case: LinearCase):
    """CSR data where they are mostly zeros."""
    dense = not sp.issparse(case.X)
    light = dense and np.count_nonzero(case.X) < SPARSE * case.X.size
    return sp.csr_matrix(case.X) if light else case.X


def append_constant(case: LinearCase):
    """A column of ones: the intercept of a library that does not regularise its own."""
    ones = np.ones((case.n, 1))
    return sp.csr_matrix(sp.hstack([case.X, ones])) if sp.issparse(case.X) else np.hstack([case.X, ones])


def read(model) -> tuple[np.ndarray, float]:
    """w and b of a scikit-learn model."""
    return np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])


def read_constant(model) -> tuple[np.ndarray, float]:
    """w and b where the last column is the constant one."""
    coef = np.ravel(model.coef_).astype(float)
    return coef[:-1], float(coef[-1])


# ---- LIBLINEAR ----------------------------------------------------------------------------------------------------


def fit_liblinear(case: LinearCase, *, dual: bool, tol: float = TIGHT, passes: int = MANY):
    """LIBLINEAR as scikit-learn wraps it."""
    kind = svm.LinearSVC if case.loss in HINGES else svm.LinearSVR
    model = kind(loss=case.loss, C=case.C, dual=dual, tol=tol, max_iter=passes, random_state=0, **case.shape)
    return read(model.fit(case.X, case.y))


NUMBERS = {  # LIBLINEAR's own numbers of its solvers, dual and primal
    "hinge": (3,), "squared_hinge": (1, 2), "epsilon_insensitive": (13,), "squared_epsilon_insensitive": (12, 11),
}  # fmt: skip


def fit_official(case: LinearCase, tol: float, *, dual: bool):
    """LIBLINEAR's own package; the dual solvers stop after 300 passes, or go over to the primal one."""
    tools = import_module("liblinear.liblinearutil")
    number = NUMBERS[case.loss][0 if dual else 1]
    options = f"-s {number} -c {case.C!r} -e {tol!r} -B 1 -q -p {case.shape.get('epsilon', 0.1)!r}"
    model = tools.train(case.y, case.X, options)
    w, b = model.get_decfun()
    sign = 1.0 if number > 10 or model.get_labels()[0] > 0 else -1.0
    w = np.asarray(w, float)
    return sign * np.append(w, np.zeros(case.X.shape[1] - len(w))), sign * float(b)


# ---- libraries that are tried as they come ------------------------------------------------------------------------


def fit_sgd(case: LinearCase, _):
    """Stochastic gradient descent of scikit-learn."""
    model = linear_model.SGDClassifier(
        loss=case.loss, alpha=1.0 / (case.n * case.C), fit_intercept=False, random_state=0
    )
    return read_constant(model.fit(case.X, case.y))


def fit_snapml(case: LinearCase, _):
    """Dual coordinate ascent of Snap ML on all cores."""
    kind = import_module("snapml").SupportVectorMachine
    model = kind(loss=case.loss, regularizer=1.0 / case.C, fit_intercept=True, n_jobs=2, random_state=0)
    return read(model.fit(case.X, case.y))


def fit_skglm(case: LinearCase, _):
    """Working sets and coordinate descent on the dual, by skglm; its own limit of 50 rounds ends it far too early."""
    model = import_module("skglm").LinearSVC(C=case.C, fit_intercept=False, max_iter=1000)
    return read_constant(model.fit(case.X, case.y))


# ---- other losses -------------------------------------------------------------------------------------------------


def fit_logistic(case: LinearCase, tol: float, *, solver: str):
    """scikit-learn's LogisticRegression."""
    model = linear_model.LogisticRegression(C=case.C, solver=solver, tol=tol, max_iter=MANY)
    return read(model.fit(case.X, case.y))


def fit_poisson(case: LinearCase, tol: float, *, solver: str):
    """scikit-learn's PoissonRegressor; its losses are divided by n."""
    model = linear_model.PoissonRegressor(alpha=1.0 / (case.n * case.C), solver=solver, tol=tol, max_iter=MANY)
    return read(model.fit(case.X, case.y))


def make_huber(C: float, **parameters) -> linear_model.HuberRegressor:
    """scikit-learn's HuberRegressor with its default epsilon: alpha = epsilon / C."""
    epsilon = linear_model.HuberRegressor().epsilon
    return linear_model.HuberRegressor(alpha=epsilon / C, **parameters)


def fit_huber(case: LinearCase, tol: float):
    """scikit-learn's HuberRegressor, which finds the scale of the noise too."""
    return read(make_huber(case.C, tol=tol, max_iter=MANY).fit(case.X, case.y))


def fit_quantile(case: LinearCase, _, *, solver: str):
    """scikit-learn's QuantileRegressor without a penalty: a linear program."""
    model = linear_model.QuantileRegressor(quantile=case.shape["quantile"], alpha=0.0, solver=solver)
    return read(model.fit(case.X, case.y))


def route_liblinear(losses: tuple[str, ...]) -> dict[str, Route]:
    """Every way to drive LIBLINEAR: by passes and by tolerance, in the dual and, for squared losses, in the primal."""
    squared = losses[1:]
    wrapped = {"peer": "scikit-learn", "package": "sklearn", "prepare": lighten}
    official = {"peer": "LIBLINEAR", "package": "liblinear", "prepare": lambda case: sp.csr_matrix(case.X)}
    return {
        "primal, tol": Route(
            losses=squared, rungs=tighten, fit=lambda case, tol: fit_liblinear(case, dual=False, tol=tol), **wrapped
        ),
        "dual, tol": Route(
            losses=losses, rungs=tighten, fit=lambda case, tol: fit_liblinear(case, dual=True, tol=tol), **wrapped
        ),
        "dual, passes": Route(
            losses=losses, rungs=count_passes, fit=lambda case, k: fit_liblinear(case, dual=True, passes=k), **wrapped
        ),
        "own package, primal, tol": Route(
            losses=squared, rungs=tighten, fit=lambda case, tol: fit_official(case, tol, dual=False), **official
        ),
        "own package, dual, tol": Route(
            losses=losses, rungs=tighten, fit=lambda case, tol: fit_official(case, tol, dual=True), **official
        ),
    }


def route_solvers(peer: str, loss: str, fit: Callable, solvers: tuple[str, ...], rungs: Callable) -> dict[str, Route]:
    """One route for each solver of a scikit-learn class."""
    return {
        f"{peer}, {solver}": Route(
            peer, "sklearn", (loss,), lambda case, rung, solver=solver: fit(case, rung, solver=solver), rungs
        )
        for solver in solvers
    }


ROUTES: dict[str, Route] = {
    **route_liblinear(HINGES),
    **{f"{name}, regression": route for name, route in route_liblinear(TUBES).items()},
    "SGD": Route("SGDClassifier", "sklearn", HINGES, fit_sgd, once, append_constant),
    "snapml": Route("snapml", "snapml", HINGES, fit_snapml, once),
    "skglm": Route("skglm", "skglm", HINGES[:1], fit_skglm, once, append_constant),
    **route_solvers("LogisticRegression", "logistic", fit_logistic, ("lbfgs", "newton-cholesky"), tighten),
    **route_solvers("PoissonRegressor", "poisson", fit_poisson, ("lbfgs", "newton-cholesky"), tighten),
    **route_solvers("QuantileRegressor", "quantile", fit_quantile, ("highs", "highs-ipm"), once),
    "HuberRegressor": Route("HuberRegressor", "sklearn", ("huber",), fit_huber, tighten),
}


def list_routes(loss: str, *, as_they_come: bool = False) -> dict[str, Route]:
    """The routes of a loss: those that climb to the optimum, or those of libraries tried as they come."""
    tried = ("SGD", "snapml", "skglm")
    return {name: route for name, route in ROUTES.items() if loss in route.losses and (name in tried) == as_they_come}
