"""What a command says of a model: a few lines for people, one object for programs."""

from __future__ import annotations

import json
import math

import numpy as np

from ..certificates.certificate import Certificate


def describe_certificate(certificate: Certificate) -> dict:
    """primal, dual, gap, relative_gap, rounding, kkt, convex, and of how many binary problems it is the worst."""
    names = ("primal", "dual", "gap", "relative_gap", "rounding", "kkt", "convex")
    return {**{name: getattr(certificate, name) for name in names}, "problems": max(len(certificate.parts), 1)}


def describe_parameters(model) -> dict:
    """The parameters of a model, as text where JSON has no word for them."""
    return {name: value if is_json_value(value) else str(value) for name, value in model.get_params().items()}


def is_json_value(value) -> bool:
    """Whether JSON knows it."""
    return value is None or isinstance(value, bool | int | float | str)


def print_json(record: dict) -> None:
    """One line on stdout; what is not a finite number becomes null."""
    print(json.dumps(to_json(record), allow_nan=False, default=str))


def to_json(value):
    """The value with plain numbers, and null for infinity and NaN."""
    if isinstance(value, dict):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe_fit(model) -> str:
    """Class, status, seconds, iterations and support vectors, in a line."""
    results = model.results_
    parts = [f"{count(sum(result.n_iter for result in results), 'iteration')} of {name_solvers(results)}"]
    if len(results) > 1:
        parts.append(f"{len(results)} binary problems")
    if model.family == "kernel":
        parts.append(count(len(model.support_), "support vector"))
    return f"{type(model).__name__}: {model.result_.status.value}, {', '.join(parts)}"


def name_solvers(results: list) -> str:
    """The solvers that were at work."""
    return " and ".join(dict.fromkeys(result.solver.name for result in results))


def count(number: int, thing: str) -> str:
    """1 row, 2 rows."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
