"""A trace: every step of a run as a textbook prints it, the state after each, as a table, a file or a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ..model.kernels import Kernel
from ..runtime.display import Table
from ..solvers.trajectory import Trajectory
from .step_table import make_frame, show_cell, show_table, write_csv
from .trace_json import read_trace, write_trace

FIRST_COLUMNS, LAST_COLUMNS = ("n_iter", "step"), ("P", "D", "seconds")
LONG_COLUMNS = 9  # the most columns that fit on a line of text; arrays are left out first


class State(NamedTuple):
    """Where a run stands after a step.

    A machine is f(x) = <w, x - shift> + b where `w` is given, else sum_i coef_i k(x_i, x) + b. With two intercepts, b
    has one number for each. A function is asked at `x`, the best place so far.

    Attributes
    ----------
    a : ndarray or None
        The duals, of the shape of the problem's.
    b : float or ndarray
        The intercept, that of a regularised one included.
    w : ndarray of shape (d,) or (n_classes, d), or None
    coef : ndarray of shape (n,) or None
        Coefficients of the kernel expansion.
    x : ndarray of shape (d,) or None
    """

    a: np.ndarray | None = None
    b: float | np.ndarray = 0.0
    w: np.ndarray | None = None
    coef: np.ndarray | None = None
    x: np.ndarray | None = None


@dataclass(frozen=True, repr=False)
class Trace(Trajectory):
    """P(w_k, b_k), D(a_k) and what the solver did in each step k, with the state after it.

    Row 0 is the start: nothing was done yet. `len(trace)` counts rows, `trace[k]` is row k as a dict, `trace["m"]` a
    column as a list with None where a step has no such number. A trace is a `Trajectory`, so that pictures of these
    take it too.

    Attributes
    ----------
    steps : list of dict
        What the solver says of each step; `insight.step_columns` explains the names.
    states : list of State
        After each step. `points` is empty for a function, and in a trace that was read from a file.
    setting : dict
        What was solved: data, labels, bounds of the duals, kernel, loss, intercept; numbers, words and lists only.
    status, message : str
        Why the trace ends.
    kernel : Kernel or None
        By which `decision_function` evaluates f; None where there is none, or a file could not keep it.

    See Also
    --------
    trace : Makes it.
    maxmargin.plots.plot_trace : Draws it.

    References
    ----------
    - Wu (2014). Support Vector Machines. Lecture slides, National Tsing Hua University.

    Examples
    --------
    >>> from maxmargin import SVC, trace
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> steps = trace(SVC(kernel="linear", solver="smo"), X=X, y=y)
    >>> steps["i"][1], steps["j"][1], steps["clipped"][1]
    (1, 2, True)
    """

    steps: list[dict[str, Any]] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    setting: dict[str, Any] = field(default_factory=dict)
    status: str = ""
    message: str = ""
    kernel: Kernel | None = None

    # ---- rows and columns ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Rows, the start included."""
        return len(self.n_iter)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, one after the other."""
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: int | str) -> Any:
        """Row `key` as a dict, or the column of that name as a list."""
        if isinstance(key, str):
            if key not in self.columns:
                raise KeyError(f"a trace of {self.solver!r} has the columns {list(self.columns)}, not {key!r}.")
            return [row.get(key) for row in self]
        own = {"n_iter": int(self.n_iter[key]), "seconds": float(self.seconds[key])}
        return {**own, **self.steps[key], "P": float(self.primal[key]), "D": float(self.dual[key])}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in the order of the table."""
        named = dict.fromkeys(name for step in self.steps for name in step)
        return tuple(dict.fromkeys((*FIRST_COLUMNS, *named, *LAST_COLUMNS)))

    def column(self, name: str) -> np.ndarray:
        """A column of numbers as an array, with nan where a step has none."""
        return np.array([np.nan if value is None else float(value) for value in self[name]])

    # ---- as a table ----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """The table as text."""
        last = f"P = {self.primal[-1]:.6g}, D = {self.dual[-1]:.6g}"
        headline = f"Trace of {self.solver}: {int(self.n_iter[-1])} iterations, {last}, {self.status}"
        return f"{headline}\n{show_table(*self._list_shown())}"

    def describe(self) -> str:
        """The trace in a sentence."""
        return f"{super().describe()}, {self.status}"

    def tabulate(self) -> Table:
        """The table of `str`."""
        names, rows = self._list_shown()
        return Table([[show_cell(value) for value in row] for row in rows], names)

    def _list_shown(self) -> tuple[list[str], list[list[Any]]]:
        """The columns that hold anything, and their rows: arrays are left out where the table would be too wide."""
        names = [name for name in self.columns if any(value is not None for value in self[name])]
        if len(names) > LONG_COLUMNS:
            names = [name for name in names if not any(isinstance(value, np.ndarray) for value in self[name])]
        return names, [[row.get(name) for name in names] for row in self]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as CSV, also written to a file if one is named; w of two numbers becomes w[0] and w[1]."""
        text = write_csv(self.columns, [[row.get(name) for name in self.columns] for row in self])
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_frame(self) -> Any:
        """The table as a DataFrame of pandas, indexed by n_iter."""
        return make_frame(self.columns, [[row.get(name) for name in self.columns] for row in self])

    # ---- as JSON -------------------------------------------------------------------------------------------

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The whole trace as JSON, also written to a file if one is named; numbers keep their last digit."""
        text = write_trace(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Self:
        """A trace from what `to_json` wrote: its text, the path of a file, or the object that `json.loads` made."""
        parts = read_trace(source)
        states = [State(**state) for state in parts.pop("states")]
        return cls(states=states, **parts)

    # ---- replay and pictures -------------------------------------------------------------------------------

    def decision_function(self, step: int, X: Any) -> np.ndarray:
        """f(x) after a step: <w, x - shift> + b, or sum_i coef_i k(x_i, x) + b.

        With two intercepts their mean is taken: the curve between the two walls. The labels are those of the problem,
        `setting["y"]`: in `SVC` the first class of a pair is +1, as in LIBSVM, so that for two classes the sign is
        opposite to that of the estimator's `decision_function`.
        """
        state, X = self.states[step], np.asarray(X, float)
        b = float(np.mean(state.b)) if np.ndim(state.b) and state.w is None else state.b
        shift = self.setting.get("shift")
        if state.w is not None:
            return (X if shift is None else X - np.asarray(shift)) @ state.w.T + b
        rows = self.setting.get("X")
        if self.kernel is None or rows is None or state.coef is None:
            raise ValueError(f"This trace of {self.solver!r} holds no kernel and rows by which f could be evaluated.")
        return self.kernel(X, np.asarray(rows, float)) @ state.coef + b

    def plot(self, ax: Any = None) -> Any:
        """What is natural for the solver: m and M closing, P and D, or the model under a function of one variable."""
        from ..plots import plot_trace

        return plot_trace(self, ax=ax)
