"""Gradient descent on P/n with the report's step, written out: how its iterations depend on what counts as lower."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import numpy as np

from .fits import STEPS, load_folds
from .page import Table, Text
from .published import load_table

STEP, PATIENCE = 0.001, 5
LEAST_FALLS = (0.0, 1e-4)  # by which a loss must be lower to count as lower
COSTS = (1.0, 10.0, 100.0)
EPSILON = 0.1
DIVERGED = 1e12  # times the first value


def count_iterations(C: float, divided: bool, least_fall: float) -> float | None:
    """Iterations of w <- w - 0.001 grad until five in a row are not lower, mean of the folds of the line; or None.

    Parameters
    ----------
    C : float
    divided : bool
        Whether the descent is on P/n; on P itself otherwise.
    least_fall : float
        By how much a value must be lower than the lowest so far.

    Returns
    -------
    float or None
        None where the values grow without end.
    """
    counts = [descend(X, y, C, len(y) if divided else 1, least_fall) for X, y, *_ in load_folds("line")]
    return None if None in counts else fmean(counts)


def descend(X, y, C: float, divisor: int, least_fall: float) -> int | None:
    """Iterations on (1/2 |w|^2 + C sum_i max(0, |f_i - y_i| - epsilon)^2) / divisor, b regularised."""
    Z = np.column_stack([X, np.ones(len(y))])
    w, lowest, idle, first = np.zeros(Z.shape[1]), np.inf, 0, None
    n_iter = 0
    while n_iter < STEPS["gd"]:
        n_iter += 1
        residual = Z @ w - y
        excess = np.maximum(np.abs(residual) - EPSILON, 0.0)
        value = (0.5 * w @ w + C * excess @ excess) / divisor
        first = value if first is None else first
        if not value <= DIVERGED * first:
            return None
        idle = 0 if value < lowest - least_fall else idle + 1
        lowest = min(lowest, value)
        if idle >= PATIENCE and lowest < first:
            break
        w = w - STEP * (w + 2.0 * C * Z.T @ (np.sign(residual) * excess)) / divisor
    return n_iter


def write_descent() -> list:
    """The report's counts beside those of three readings of its rule."""
    report = {
        row["C"]: row["n_iter"]
        for row in load_table(12)
        if row["solver"] == "gd" and row["momentum"] == "none" and row["epsilon"] == EPSILON
    }
    rows = []
    for C in COSTS:
        on_mean = [count_iterations(C, True, fall) for fall in LEAST_FALLS]
        rows.append([int(C), report[C], count_iterations(C, False, 0.0), *on_mean])
    rows = [[c if c is None else round(c) for c in r] for r in rows]
    columns = ["C", "report", "here: on P", "here: on P/n", "here: on P/n, falls below 1e-4 not counted"]
    caption = "<b>Gradient descent on the line</b>: iterations until five in a row are not lower. A dash: it diverges."
    return [
        Text(say_descent(rows)),
        Table("descent", caption, columns, rows),
    ]


def say_descent(rows: list[list]) -> str:
    """What the counts say of the function that the report descends on: C, its count, on P, on P/n by two rules."""
    diverging = " and ".join(f"{row[0]:g}" for row in rows if row[2] is None)
    on_sum = f"on P with a step of {STEP:g} it diverges at C = {diverging}" if diverging else "on P it converges too"
    falls = all(earlier[k] > later[k] for k in (1, 3, 4) for earlier, later in pairwise(rows))
    trend = "fall with C, as the report's do" if falls else "do not fall with C as the report's do"
    exact = [k for k in (3, 4) if all(row[1] == row[k] for row in rows)]
    apart = max(max(row[k] / row[1], row[1] / row[k]) for row in rows for k in (3, 4))
    counts = (
        "one of the two rules tried here gives all of its counts"
        if exact
        else f"neither of the two rules tried here gives its counts: they are up to {apart:.1f} times apart"
    )
    return (
        f"What did the report's gradient descent descend on? Here, {on_sum}. Descent on P/n is what tables 6 and 12 "
        f"run, and its iterations {trend}. How much lower a loss must be to count as lower is not said, and {counts}. "
        f"That the report descended on P/n is a guess."
    )
