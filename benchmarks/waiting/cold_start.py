"""How long a user waits before the first fit: the import, the first fit ever, the first of a later process, a command.

Every measurement is a process of its own. The first fit ever compiles into an empty folder (NUMBA_CACHE_DIR); a later
process loads from it. A machine is as fast as its import of `sklearn.svm`, so everything is given as a ratio to that
too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from statistics import median
from tempfile import TemporaryDirectory

from ..measuring.report import Report, Table

MODELS = (
    "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "RiskClassifier", "RiskRegressor",
)  # fmt: skip
IMPORTS = ("sklearn.svm", "maxmargin")
COMMANDS = {
    "train": ("train", "-q", "data", "model.maxmargin"),
    "train, svm-train's options": ("train", "-q", "-c", "1", "data", "model"),
    "predict": ("predict", "-q", "data", "model.maxmargin", "out"),
    "help": ("--help",),
}
IMPORT_RUNS, COMPILE_RUNS, LATER_RUNS = 5, 1, 3
COMMAND_ROWS, COMMAND_FEATURES = 270, 13  # as heart_scale has

TIME_IMPORT = """
import time
began = time.perf_counter()
from {module} import SVC
print(time.perf_counter() - began)
"""

TIME_FIT = """
import time, numpy
from maxmargin import {model}
X = numpy.random.default_rng(0).normal(size=(200, 5))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(float)
began = time.perf_counter()
{model}(**{parameters}).fit(X, y)
print(time.perf_counter() - began)
"""

WRITE_ROWS = """
import numpy
from maxmargin import write_libsvm
X = numpy.random.default_rng(0).normal(size=({rows}, {features}))
write_libsvm("data", X, numpy.where(X[:, 0] + 0.5 * X[:, 1] + 0.5 * X[:, 2] ** 2 > 0.5, 1.0, -1.0))
"""


def run_process(command: list[str], cache: str | None = None, folder: str | None = None) -> str:
    """What a fresh interpreter prints; Numba's compiled code is kept in `cache`, and Python's where it always is."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    finished = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, cwd=folder, check=False
    )
    if finished.returncode:
        raise RuntimeError(f"A measured process failed:\n{finished.stderr}")
    return finished.stdout


def time_process(code: str, cache: str | None = None) -> float:
    """The seconds that a fresh interpreter prints."""
    return float(run_process(["-c", code], cache))


def time_imports(runs: int) -> list[dict]:
    """The median of each import, taken in turns; the first round only warms the disk."""
    seconds = {module: [] for module in IMPORTS}
    for _ in range(runs + 1):
        for module, record in seconds.items():
            record.append(time_process(TIME_IMPORT.format(module=module)))
    base = median(seconds[IMPORTS[0]][1:])
    return [
        {"import": f"from {module} import SVC", "seconds": median(record[1:]), "ratio": median(record[1:]) / base}
        for module, record in seconds.items()
    ]


def time_first_fits(model: str, compile_runs: int, later_runs: int) -> dict:
    """The median first fit with nothing compiled, and with everything compiled by an earlier process."""
    parameters = {"nu": 0.3} if model == "NuSVC" else {}
    code = TIME_FIT.format(model=model, parameters=parameters)
    first, later = [], []
    for _ in range(compile_runs):
        with TemporaryDirectory() as cache:
            first.append(time_process(code, cache))
            later += [time_process(code, cache) for _ in range(-(-later_runs // compile_runs))]
    return {"model": model, "first fit ever, s": median(first), "first fit of a later process, s": median(later)}


def time_commands(runs: int, base: float) -> list[dict]:
    """The median of each command from its start to its end, everything compiled; `base` is the import to compare."""
    rows = []
    with TemporaryDirectory() as folder:
        run_process(["-c", WRITE_ROWS.format(rows=COMMAND_ROWS, features=COMMAND_FEATURES)], folder=folder)
        for name, arguments in COMMANDS.items():
            seconds = []
            for _ in range(runs + 1):  # the first may compile
                began = time.perf_counter()
                run_process(["-m", "maxmargin", *arguments], folder=folder)
                seconds.append(time.perf_counter() - began)
            rows.append({"command": name, "seconds": median(seconds[1:]), "ratio": median(seconds[1:]) / base})
    return rows


def run(*, brief: bool) -> Report:
    """Time imports, first fits and commands."""
    report = Report("cold_start", "Waiting times before the first fit, measured in processes of their own.", [], [])
    runs = (2, 1, 1) if brief else (IMPORT_RUNS, COMPILE_RUNS, LATER_RUNS)
    imports = time_imports(runs[0])
    base = imports[0]["seconds"]
    fits = [time_first_fits(model, *runs[1:]) for model in (MODELS[:1] if brief else MODELS)]
    commands = time_commands(runs[0], base)
    report.tables = [
        Table("Import", {"import": "{}", "seconds": "{:.2f}", "ratio": "{:.2f}"}, imports),
        Table(
            "First fit, 200 rows, import not included",
            {"model": "{}", "first fit ever, s": "{:.2f}", "first fit of a later process, s": "{:.2f}"},
            fits,
        ),
        Table(
            f"Command line, {COMMAND_ROWS} rows, from start to end; ratio to the import of sklearn.svm",
            {"command": "{}", "seconds": "{:.2f}", "ratio": "{:.2f}"},
            commands,
        ),
    ]
    longest, later = (max(row[key] for row in fits) for key in list(fits[0])[1:])
    report.findings = [
        f"`from maxmargin import SVC` takes {imports[1]['ratio']:.2f} times as long as `from sklearn.svm import SVC`.",
        f"The first fit ever, compiling included, takes at most {longest:.1f} s.",
        f"The first fit of a later process takes at most {later:.2f} s after the import.",
        f"`maxmargin train` on {COMMAND_ROWS} rows takes {commands[0]['seconds']:.2f} s, {commands[0]['ratio']:.2f} "
        "times as long as the import of scikit-learn's svm module alone.",
    ]
    return report
