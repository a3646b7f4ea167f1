"""A fit of the page as Python code that repeats it."""

from __future__ import annotations

import numpy as np

from .choices import VARIANTS, spell_solver
from .requests import FitRequest

POINTS_PER_LINE = 6


def write_code(request: FitRequest, solver: str) -> str:
    """A program that fits the same data with the same parameters and solver, and prints the certificate."""
    kind = type(request.estimator)
    changed = request.estimator.get_params()
    defaults = kind().get_params()
    parameters = {key: value for key, value in changed.items() if key == "tol" or value != defaults[key]}
    arguments = [f"{key}={value!r}" for key, value in parameters.items()] + [f"solver={spell_solver(solver)}"]
    names = [kind.__name__, *([type(VARIANTS[solver]).__name__] if solver in VARIANTS else [])]
    several = "[:, None]" if changed.get("loss") == "multivariate" else ""
    targets = "" if request.estimator.task == "novelty" else f", y{several}"
    return "\n".join([
        "import numpy as np",
        "",
        f"from maxmargin import {', '.join(sorted(names))}",
        "",
        f"X = np.array({spell_rows(request.X)})",
        *([] if not targets else [f"y = np.array({spell_rows(request.y)})"]),
        f"model = {kind.__name__}({', '.join(arguments)})",
        f"model.fit(X{targets})",
        "print(model.certificate_)",
        "",
    ])  # fmt: skip


def spell_rows(table: np.ndarray) -> str:
    """The numbers as nested lists, some rows on each line."""
    rows = [repr(row) for row in table.tolist()]
    lines = [", ".join(rows[k : k + POINTS_PER_LINE]) for k in range(0, len(rows), POINTS_PER_LINE)]
    return "[\n    " + ",\n    ".join(lines) + ",\n]"
