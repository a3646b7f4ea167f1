"""How long a user waits before the first fit: the import, the first fit ever, the first fit of a later process.

Every measurement is a process of its own. The first fit ever compiles into an empty folder (NUMBA_CACHE_DIR); a later
process loads from it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median
from tempfile import TemporaryDirectory

from ..measuring.report import Report, Table

MODELS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
IMPORTS = ("sklearn.svm", "maxmargin")
IMPORT_RUNS, COMPILE_RUNS, LATER_RUNS = 7, 3, 7

TIME_IMPORT = """
import time
began = time.perf_counter()
import {module}
print(time.perf_counter() - began)
"""

TIME_FIT = """
import time, numpy, maxmargin
X = numpy.random.default_rng(0).normal(size=(200, 5))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(float)
began = time.perf_counter()
maxmargin.{model}(**{parameters}).fit(X, y)
print(time.perf_counter() - began)
"""


def time_process(code: str, cache: str | None = None) -> float:
    """The seconds that a fresh interpreter prints; Numba's compiled code is kept in `cache`."""
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    finished = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"A measured process failed:\n{finished.stderr}")
    return float(finished.stdout)


def time_imports(runs: int) -> list[dict]:
    """The median of each import, taken in turns; the first round only warms the disk."""
    seconds = {module: [] for module in IMPORTS}
    for _ in range(runs + 1):
        for module, record in seconds.items():
            record.append(time_process(TIME_IMPORT.format(module=module)))
    base = median(seconds[IMPORTS[0]][1:])
    return [
        {"import": module, "seconds": median(record[1:]), "ratio": median(record[1:]) / base}
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


def run(*, brief: bool) -> Report:
    """Time imports and first fits."""
    report = Report("cold_start", "Waiting times before the first fit, measured in processes of their own.", [], [])
    runs = (2, 1, 1) if brief else (IMPORT_RUNS, COMPILE_RUNS, LATER_RUNS)
    imports = time_imports(runs[0])
    fits = [time_first_fits(model, *runs[1:]) for model in (MODELS[:1] if brief else MODELS)]
    report.tables = [
        Table("Import", {"import": "{}", "seconds": "{:.2f}", "ratio": "{:.2f}"}, imports),
        Table(
            "First fit, 200 rows, import not included",
            {"model": "{}", "first fit ever, s": "{:.2f}", "first fit of a later process, s": "{:.2f}"},
            fits,
        ),
    ]
    longest, later = (max(row[key] for row in fits) for key in list(fits[0])[1:])
    report.findings = [
        f"`import maxmargin` takes {imports[1]['ratio']:.2f} times as long as `import sklearn.svm`.",
        f"The first fit ever, compiling included, takes at most {longest:.1f} s.",
        f"The first fit of a later process takes at most {later:.2f} s after the import.",
    ]
    return report
