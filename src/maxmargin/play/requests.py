"""What the page asks for, checked: points, a model with its parameters, one or two solvers, and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..estimators.certified import CertifiedMachine
from ..estimators.registry import ESTIMATORS
from .choices import INTERCEPTS, KERNEL_NUMBERS, KERNELS, MODELS, NUMBERS, find_solver

MAX_POINTS = 2000
MAX_CLASSES = 3
MAX_COORDINATE = 1e6
MAX_SOLVERS = 2
MAX_SECONDS = 60.0  # of one solver
DEFAULT_SECONDS = 10.0
DEFAULT_TOL = 1e-4
WORDS = {"kernel": KERNELS, "intercept": INTERCEPTS}


@dataclass(frozen=True, eq=False)
class FitRequest:
    """Data, an estimator that is not fitted, the names of solvers, and how long each of them may take."""

    X: np.ndarray
    y: np.ndarray
    estimator: CertifiedMachine
    solvers: tuple[str, ...]
    max_seconds: float


def read_request(message: Any) -> FitRequest:
    """The request of a page; a ValueError says in one sentence what is wrong with it.

    Parameters
    ----------
    message : dict
        `points`: rows (x1, x2, class) for labels, (x, y) for curves; `model`, `parameters`, `solvers`, `max_seconds`.
    """
    if not isinstance(message, dict):
        raise ValueError(f"A request must be an object, got {type(message).__name__}.")
    model = message.get("model")
    if not isinstance(model, str) or model not in MODELS:
        raise ValueError(f"model must be one of {list(MODELS)}, got {model!r}.")
    estimator = ESTIMATORS[model](**read_parameters(model, message.get("parameters", {})))
    X, y = read_points(message.get("points"), estimator)
    solvers = read_solvers(message.get("solvers", ["auto"]))
    seconds = read_number("max_seconds", message.get("max_seconds", DEFAULT_SECONDS))
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError(f"max_seconds must lie between 0 and {MAX_SECONDS:g}, got {seconds!r}.")
    return FitRequest(X, y, estimator, solvers, seconds)


def read_number(name: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    return float(value)


def read_parameters(model: str, given: Any) -> dict[str, Any]:
    """The parameters of an estimator that the page may set; what they allow the estimator itself says in its fit."""
    if not isinstance(given, dict):
        raise ValueError(f"parameters must be an object, got {type(given).__name__}.")
    known = ESTIMATORS[model]().get_params()
    read: dict[str, Any] = {"tol": DEFAULT_TOL}
    for name, value in given.items():
        if name not in known or name not in {*NUMBERS, *WORDS, "loss", "multi_class", "penalty", "tol"}:
            raise ValueError(f"{model} has no parameter {name!r} on this page.")
        if name in NUMBERS or name == "tol":
            read[name] = read_number(name, value)
        elif not isinstance(value, str) or value not in WORDS.get(name, (value,)):
            raise ValueError(f"{name} must be one of {list(WORDS.get(name, ()))}, got {value!r}.")
        else:
            read[name] = value
    for name in ("gamma", "degree", "coef0"):
        if "kernel" in read and name not in KERNEL_NUMBERS[read["kernel"]]:
            read.pop(name, None)
    if read["tol"] <= 0:
        raise ValueError(f"tol must be above 0, got {read['tol']!r}.")
    return read


def read_points(points: Any, estimator: CertifiedMachine) -> tuple[np.ndarray, np.ndarray]:
    """X and y: columns of the plane and class numbers, or one column and its targets."""
    if not isinstance(points, list) or not points:
        raise ValueError("There are no points yet: draw some, or choose an example.")
    if len(points) > MAX_POINTS:
        raise ValueError(f"At most {MAX_POINTS} points can be fitted here, got {len(points)}.")
    width = 2 if estimator.task == "regression" else 3
    try:
        table = np.array(points, float)
    except (TypeError, ValueError):
        raise ValueError(f"Every point must be a row of {width} numbers.") from None
    if table.ndim != 2 or table.shape[1] != width:
        raise ValueError(f"Every point must be a row of {width} numbers, got rows of shape {table.shape[1:]}.")
    if not (np.abs(table) <= MAX_COORDINATE).all():
        raise ValueError(f"Coordinates must be numbers of at most {MAX_COORDINATE:g} in size.")
    if width == 2:
        return table[:, :1].copy(), table[:, 1].copy()
    classes = table[:, 2].astype(int)
    if not (np.isin(classes, range(MAX_CLASSES)) & (classes == table[:, 2])).all():
        raise ValueError(f"The class of a point must be 0 to {MAX_CLASSES - 1}.")
    return table[:, :2].copy(), classes


def read_solvers(names: Any) -> tuple[str, ...]:
    """The names of one or two solvers."""
    if not isinstance(names, list) or not 1 <= len(names) <= MAX_SOLVERS:
        raise ValueError(f"solvers must be a list of one to {MAX_SOLVERS} names, got {names!r}.")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"A solver is given by its name, got {name!r}.")
        find_solver(name)
    return tuple(names)
