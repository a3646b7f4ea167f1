"""Traces in JSON: every number to its last digit, states as what has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.kernels import KERNELS, Kernel, Precomputed, make_kernel
from .step_columns import COLUMNS

if TYPE_CHECKING:
    from .step_trace import State, Trace

FORMAT, VERSION = "maxmargin trace", 1
CHANGED_MAX_SHARE = 0.5  # of the numbers of a state: with more changes than these, all of them are written
WORDS = {"Infinity": np.inf, "-Infinity": -np.inf, "NaN": np.nan}  # JSON has no such numbers


def encode(value: Any) -> Any:
    """A value of a trace as JSON has it: arrays as lists, numbers that are not finite as words."""
    if isinstance(value, np.ndarray):
        return [encode(each) for each in value.tolist()]
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {name: encode(each) for name, each in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def decode(value: Any) -> Any:
    """The value again: lists of numbers become arrays."""
    if isinstance(value, str):
        return WORDS.get(value, value)
    if isinstance(value, list):
        return np.array([decode(each) for each in value], float)
    return value


def encode_change(value: np.ndarray | None, before: np.ndarray | None) -> Any:
    """An array, or the flat places and new values where it differs from the one before; null if there is none."""
    if value is None:
        return None
    if before is not None and before.shape == value.shape:
        changed = np.flatnonzero(value.ravel() != before.ravel())
        if len(changed) <= CHANGED_MAX_SHARE * value.size:
            return {"at": changed.tolist(), "to": encode(value.ravel()[changed])}
    return encode(value)


def decode_change(value: Any, before: np.ndarray | None) -> np.ndarray | None:
    """The array again."""
    if not isinstance(value, Mapping):
        return None if value is None else np.asarray(decode(value), float)
    if before is None:
        raise ValueError("The trace file refers to an earlier state that it does not contain.")
    array = before.copy()
    array.ravel()[np.array(value["at"], int)] = decode(value["to"])
    return array


def encode_states(states: list[State]) -> list[dict[str, Any]]:
    """Each state by what differs from the last."""
    encoded, last = [], {"a": None, "w": None, "coef": None, "x": None}
    for state in states:
        now = {"a": state.a, "w": state.w, "coef": state.coef, "x": state.x}
        changes = {name: encode_change(value, last[name]) for name, value in now.items() if value is not None}
        encoded.append({**changes, "b": encode(state.b)})
        last = now
    return encoded


def decode_states(encoded: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The states again, as keyword arguments."""
    states: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for each in encoded:
        last = {name: decode_change(value, last.get(name)) for name, value in each.items() if name != "b"}
        states.append({**last, "b": decode(each["b"])})
    return states


def write_trace(trace: Trace) -> str:
    """The trace as JSON."""
    names = [name for name in trace.columns if name in {key for step in trace.steps for key in step}]
    parts = {
        "format": FORMAT, "version": VERSION, "solver": trace.solver, "status": trace.status, "message": trace.message,
        "setting": trace.setting, "columns": {name: COLUMNS[name] for name in names},
        "n_iter": trace.n_iter, "seconds": trace.seconds, "P": trace.primal, "D": trace.dual,
        "steps": trace.steps,
    }  # fmt: skip
    return json.dumps({**encode(parts), "states": encode_states(trace.states)}, allow_nan=False)


def read_trace(source: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a trace, as keyword arguments of `Trace`; states as those of `State`."""
    parts = source if isinstance(source, Mapping) else json.loads(read_text(source))
    if not isinstance(parts, Mapping) or parts.get("format") != FORMAT or parts.get("version") != VERSION:
        raise ValueError(f"source must be JSON of the format {FORMAT!r}, version {VERSION}, and is not.")
    states = decode_states(parts["states"])
    steps = [{name: decode(value) for name, value in step.items()} for step in parts["steps"]]
    return {
        "solver": parts["solver"], "n_iter": np.array(parts["n_iter"], int), "seconds": decode(parts["seconds"]),
        "primal": decode(parts["P"]), "dual": decode(parts["D"]), "points": [], "steps": steps, "states": states,
        "setting": dict(parts["setting"]), "status": parts["status"], "message": parts["message"],
        "kernel": restore_kernel(parts["setting"].get("kernel")),
    }  # fmt: skip


def read_text(source: str | os.PathLike[str]) -> str:
    """The text itself if it is an object of JSON, else that of the file of this name."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    return Path(source).read_text(encoding="utf-8")


def describe_kernel(kernel: Kernel) -> dict[str, Any] | None:
    """Name and parameters of a kernel that a file can keep, else None."""
    if type(kernel) not in KERNELS.values() or isinstance(kernel, Precomputed):
        return None
    gamma, coef0, degree = kernel.parameters
    shift = None if kernel.shift is None else np.asarray(kernel.shift, float).tolist()
    return {"name": kernel.name, "gamma": gamma, "coef0": coef0, "degree": degree, "shift": shift}


def restore_kernel(described: Mapping[str, Any] | None) -> Kernel | None:
    """The kernel again."""
    if described is None:
        return None
    kernel = make_kernel(
        described["name"], gamma=described["gamma"], coef0=described["coef0"], degree=described["degree"]
    )
    return kernel if described["shift"] is None else replace(kernel, shift=np.array(described["shift"], float))
