"""What a trace is of: the data, the bounds of the duals, the kernel; and the state of a machine at a point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts.estimators import Estimator
from ..model.problem import Point, Problem
from .step_trace import State
from .trace_json import describe_kernel, encode

MAX_KEPT_NUMBERS = 200_000  # of X that a trace keeps; larger data are left out


def describe_problem(problem: Problem, X: Any = None, estimator: Estimator | None = None) -> dict[str, Any]:
    """The problem in numbers, words and lists; X as given shows by how much the samples were moved."""
    features, row = problem.features, problem.row
    rows = read_rows(problem)
    shift = None if features.linear is False else find_displacement(problem, rows, X)
    kernel = None if features.linear else describe_kernel(features.kernel)
    if rows is not None and kernel is not None and kernel["shift"] is not None:
        rows = rows + np.array(kernel["shift"])
    if shift is not None:
        rows = rows + shift
    free = problem.balance is not None
    return {
        "kind": "machine",
        "estimator": None if estimator is None else type(estimator).__name__,
        "task": None if estimator is None else estimator.task,
        "loss": problem.loss.name, "target": problem.loss.target, "n": problem.n,
        "X": encode(rows), "y": encode(problem.y), "c": encode(problem.c),
        "lo": None if row is None else encode(row.lo), "hi": None if row is None else encode(row.hi),
        "p": None if row is None else encode(row.p), "epsilon": None if row is None else encode(row.e),
        "kernel": kernel, "shift": encode(shift),
        "intercept": "free" if free else "regularised" if features.scaling else "none",
        "balance": encode(problem.balance),
    }  # fmt: skip


def describe_function(descent: Any) -> dict[str, Any]:
    """A function that is minimised: its ridge and its box."""
    model = descent.model
    return {
        "kind": "function", "n": len(descent.start), "x0": encode(descent.start), "ridge": float(model.ridges[0]),
        "lo": encode(model.lo), "hi": encode(model.hi),
    }  # fmt: skip


def read_rows(problem: Problem) -> np.ndarray | None:
    """The samples as the kernel sees them, if they are vectors and not too many."""
    samples = None if problem.features.signed else problem.features.samples
    if samples is None or not samples.holds_vectors or samples.n * samples.d > MAX_KEPT_NUMBERS:
        return None
    values, columns, starts = samples.entries
    rows = np.zeros((samples.n, samples.d))
    rows[np.repeat(np.arange(samples.n), np.diff(starts)), columns] = values
    return rows


def find_displacement(problem: Problem, rows: np.ndarray | None, X: Any) -> np.ndarray | None:
    """The m of samples x - m, from the data as given; None where samples were not moved."""
    if rows is None or X is None or not problem.features.samples.displacement:
        return None
    return np.asarray(X, float).mean(axis=0) - rows.mean(axis=0)


def read_state(problem: Problem, point: Point) -> State:
    """Duals, and w or the coefficients of the expansion, with the intercept that makes f(x) of them."""
    features = problem.features
    a, coef, b = np.array(point.a, float), np.array(problem.expand(point), float), point.b
    if features.linear:
        w, last = coef[..., :-1], coef[..., -1]
        return State(a, tidy(np.asarray(b) + features.scaling * last), np.array(w))
    if point.w is not None:
        return State(a, tidy(b), np.array(point.w), coef)
    offset = 0.0 if features.signed else features.offset * float(coef.sum())
    return State(a, tidy(np.asarray(b) + offset), None, coef)


def tidy(b: Any) -> float | np.ndarray:
    """A number, or an array of them where there are several."""
    return float(b) if np.ndim(b) == 0 else np.array(b, float)
