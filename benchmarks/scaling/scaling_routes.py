"""Ways to a linear machine over blocks of rows: ours, the solvers of dask-ml, and SGD by partial_fit.

A route yields points: seconds of the clock, how far it was told to go, and the coefficients it had then. All are for
P = 1/2 |w|^2 + 1/2 b^2 + C sum_i l(y_i f_i). dask-glm minimises lamduh/2 |(w, b)|^2 + sum_i log(1 + exp(-y_i f_i)) with
lamduh = 1/C if its columns are not scaled (normalize=False) and the constant one is given as a column; its newton and
gradient_descent leave the penalty out. SGD minimises alpha/2 |w|^2 + 1/n sum_i l with alpha = 1/(C n), b unpenalised.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import SGDClassifier

from maxmargin.blocks.dask.cluster import silence_graph_warnings

from ..linear.linear_cases import LinearCase
from ..measuring.clock import time_once
from ..measuring.idle_cores import wait_for_idle_cores
from .scaling_data import BLOCK

OURS = "maxmargin"
TOLS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
RUNGS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # iterations, or epochs
STEP = 2.0  # the next rung takes about so much longer
SOLVERS = ("lbfgs", "newton", "admm", "gradient_descent", "proximal_grad")
TIGHT = {
    "lbfgs": {"tol": 1e-12}, "newton": {"tol": 1e-12}, "admm": {}, "gradient_descent": {"tol": 1e-14},
    "proximal_grad": {"tol": 1e-14},
}  # fmt: skip
RATES = {
    "optimal": {"learning_rate": "optimal"},
    "optimal, averaged": {"learning_rate": "optimal", "average": True},
    "1e-3, averaged": {"learning_rate": "constant", "eta0": 1e-3, "average": True},
    "0.1 / sqrt(t), averaged": {"learning_rate": "invscaling", "eta0": 0.1, "power_t": 0.5, "average": True},
}


class Point(NamedTuple):
    """Where a route was."""

    rung: float
    seconds: float
    w: np.ndarray
    b: float


@dataclass
class Spread:
    """A problem in memory, and its rows on the workers: X, y in -1 and 1, and for dask-ml [X, 1] and y in 0 and 1."""

    case: LinearCase
    X: Any
    y: Any
    Z: Any
    zero_one: Any

    @classmethod
    def lay(cls, case: LinearCase, rows: int = BLOCK) -> Spread:
        """Send the rows to the workers, where they stay."""
        import dask.array as da
        from distributed import wait

        with silence_graph_warnings():
            X = da.from_array(case.X, chunks=(rows, -1)).persist()
            y = da.from_array(case.y, chunks=rows).persist()
        Z = X.map_blocks(add_constant, chunks=(X.chunks[0], (X.shape[1] + 1,)), dtype=X.dtype).persist()
        zero_one = ((y + 1.0) / 2.0).persist()
        wait([X, y, Z, zero_one])
        return cls(case, X, y, Z, zero_one)


def add_constant(X: np.ndarray) -> np.ndarray:
    """[X, 1]."""
    return np.column_stack([X, np.ones(len(X))])


def list_routes(loss: str) -> dict[str, Callable[[Spread, float], Iterator[Point]]]:
    """Every route for a loss, by name."""
    routes: dict = {OURS: follow_ours, f"{OURS} in memory": partial(follow_ours, apart=False)}
    if loss == "logistic":
        routes |= {f"dask-ml {name}": partial(follow_dask, solver=name) for name in SOLVERS}
    return routes | {f"SGD {name}": partial(follow_sgd, rate=name) for name in RATES}


def climb(fit: Callable[[int], tuple[np.ndarray, float]], cap: float) -> Iterator[Point]:
    """One fit a rung, until the next one would take longer than the cap or nothing changes any more.

    The first one is done twice, and the first time does not count.
    """
    last, _ = None, time_once(lambda: fit(RUNGS[0]))
    for rung in RUNGS:
        wait_for_idle_cores()
        seconds, (w, b) = time_once(lambda: fit(rung))  # noqa: B023
        yield Point(rung, seconds, w, b)
        if STEP * seconds > cap or (last is not None and np.array_equal(last, w)):
            return
        last = w


def follow_ours(spread: Spread, cap: float, *, apart: bool = True) -> Iterator[Point]:
    """Fits to several tolerances, each from nothing: on the workers, or in the memory of this process."""
    X, y = (spread.X, spread.y) if apart else (spread.case.X, spread.case.y)
    for tol in TOLS:
        wait_for_idle_cores()
        seconds, machine = time_once(lambda: spread.case.make_ours(tol).fit(X, y))  # noqa: B023
        yield Point(tol, seconds, machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0]))
        if seconds > cap:
            return


def follow_dask(spread: Spread, cap: float, solver: str) -> Iterator[Point]:
    """Fits of dask-ml with several limits of iterations, each from nothing, their own tests of convergence strict."""
    from dask_ml.linear_model import LogisticRegression

    logging.getLogger("distributed.scheduler").setLevel(logging.ERROR)  # it warns of the graphs of dask-glm
    options = {"normalize": False} | ({"abstol": 1e-10, "reltol": 1e-10} if solver == "admm" else {})

    def fit(rung: int) -> tuple[np.ndarray, float]:
        machine = LogisticRegression(
            solver=solver, C=spread.case.C, max_iter=rung, fit_intercept=False, solver_kwargs=options, **TIGHT[solver]
        ).fit(spread.Z, spread.zero_one)
        return np.asarray(machine.coef_)[:-1], float(machine.coef_[-1])

    yield from climb(fit, cap)


def follow_sgd(spread: Spread, cap: float, rate: str) -> Iterator[Point]:
    """Epochs of partial_fit over the blocks, in this process; the clock stands still between epochs."""
    case, spent = spread.case, 0.0
    loss = "log_loss" if case.loss == "logistic" else case.loss
    machine = SGDClassifier(loss=loss, alpha=1.0 / (case.C * case.n), random_state=0, **RATES[rate])
    parts = [slice(start, start + BLOCK) for start in range(0, case.n, BLOCK)]
    wait_for_idle_cores()
    for epoch in range(1, RUNGS[-1] + 1):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for part in parts:
                machine.partial_fit(case.X[part], case.y[part], classes=(-1.0, 1.0))
        spent += time.perf_counter() - began
        if epoch in RUNGS:
            yield Point(epoch, spent, machine.coef_.ravel().copy(), float(machine.intercept_[0]))
        if spent > cap:
            return
