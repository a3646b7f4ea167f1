"""Other projects' tests that use support vector machines, with scikit-learn's classes and with ours in their place.

make test-downstream                                  # all libraries
make test-downstream LIBRARIES="pyriemann skl2onnx"   # some of them

The libraries are installed in .venv-downstream, beside the package as users install it. Each library's own tests come
with what is installed, or from its source distribution; where neither has a test with a support vector machine,
tests/downstream_uses has one of ours. Every test runs twice, once without and once with `maxmargin.patch_sklearn()`.

The exit code is 0 if each test that fails only with our classes has a reason in tests/downstream_reasons.py, and each
reason its failure. Without LIBRARIES, docs/ecosystem.md gets the table.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import textwrap
import time
import xml.etree.ElementTree as ElementTree
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from downstream_reasons import Reason, list_reasons
from svm_selection import NAMES_OF_MACHINES
from version_matrix import PIP, ROOT, build_wheel, capture_output_of

ENVIRONMENT = ROOT / ".venv-downstream"
PYTHON = ENVIRONMENT / "bin" / "python"
PAGE = ROOT / "docs" / "ecosystem.md"
BEGIN, END = "<!-- make test-downstream -->", "<!-- end -->"
TOOLS = ("pytest", "pytest-timeout", "pandas", "matplotlib", "onnxruntime")  # what the tests import
TEST_SECONDS, SUITE_SECONDS, INSTALL_SECONDS = 300, 3600, 900
ROUNDS = 5  # runs of scikit-learn's svm tests in turn, of which the shortest counts
QUIET_SHARE = 0.05  # of the processors that other programs may use before the page tells


class Library(NamedTuple):
    """A distribution and where its tests of support vector machines are, as paths below `root`.

    `root` is "installed", in what is installed; "source", in the source distribution; or "ours". Of folders, the files
    that name a machine are taken. `plugins` have the fixtures that its tests need and that are not distributed.
    """

    name: str
    version: str
    root: str
    tests: tuple[str, ...]
    plugins: tuple[str, ...] = ()


LIBRARIES = (
    Library(
        "scikit-learn", "", "installed",
        (
            "sklearn/svm/tests", "sklearn/tests/test_calibration.py", "sklearn/tests/test_multiclass.py",
            "sklearn/tests/test_multioutput.py", "sklearn/tests/test_pipeline.py", "sklearn/feature_selection/tests",
            "sklearn/ensemble/tests/test_bagging.py", "sklearn/ensemble/tests/test_stacking.py",
            "sklearn/ensemble/tests/test_voting.py", "sklearn/ensemble/tests/test_weight_boosting.py",
            "sklearn/model_selection/tests", "sklearn/inspection", "sklearn/metrics/_plot/tests",
        ),
    ),
    Library("imbalanced-learn", "0.14.2", "installed", ("imblearn",)),
    Library("pyriemann", "0.12", "source", ("tests",), ("pyriemann_fixtures",)),
    Library("skl2onnx", "1.20.0", "source", ("tests",)),
    Library("skops", "0.16.0", "installed", ("skops/io/tests/test_persist.py",)),
    Library("pyod", "3.6.7", "ours", ("pyod_uses.py",)),
    Library("mlxtend", "0.25.0", "ours", ("mlxtend_uses.py",)),
    Library("mapie", "1.6.0", "ours", ("mapie_uses.py",)),
    Library("optuna-integration", "5.0.0", "ours", ("optuna_uses.py",)),
    Library("shap", "0.51.0", "ours", ("shap_uses.py",)),
    Library("dask-ml", "2025.1.0", "ours", ("dask_ml_uses.py",)),
)  # fmt: skip


class SuiteRun(NamedTuple):
    """The tests of a library that passed and those that failed, by their names, and how long they took."""

    passed: frozenset[str]
    failed: frozenset[str]
    seconds: float
    note: str = ""


class Comparison(NamedTuple):
    """What was found of a library; `note` where nothing was run."""

    library: Library
    without: SuiteRun
    swapped: SuiteRun
    note: str = ""

    @property
    def only_with_swap(self) -> list[str]:
        """The tests that pass with scikit-learn's classes and not with ours; one that has not run at all is one."""
        return sorted(self.without.passed - self.swapped.passed)


NOT_RUN = SuiteRun(frozenset(), frozenset(), 0.0)


def main() -> int:
    """Install, run, print; 1 if a test fails without a reason, or a reason is without its failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [library.name for library in LIBRARIES]
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=", ".join(names))
    parser.add_argument("--no-install", action="store_true", help="the environment is there already")
    parser.add_argument("--no-times", action="store_true", help="scikit-learn's svm tests are not timed")
    arguments = parser.parse_args()
    if unknown := set(arguments.libraries) - set(names):
        parser.error(f"there is no library {', '.join(sorted(unknown))}")
    if not arguments.no_install:
        set_up()
    found = [
        compare(library) for library in LIBRARIES if library.name in arguments.libraries or not arguments.libraries
    ]
    table = write_table(found)
    if not arguments.no_times:
        table += "\n\n" + write_times(measure_times())
    print(table)
    complaints = [line for comparison in found for line in check_reasons(comparison)]
    print(*complaints, sep="\n")
    if not arguments.libraries:
        write_page(f"{table}\n\n{write_reasons(found)}")
    return int(bool(complaints))


# ---- the environment --------------------------------------------------------------------------------------------


def set_up() -> None:
    """A new environment with the package, compiled, and each library that can be installed beside it."""
    run_elsewhere([sys.executable, "-m", "venv", "--clear", ENVIRONMENT])
    wheel = build_wheel()
    install(str(wheel), *TOOLS)
    for library in LIBRARIES:
        if library.version and not install(f"{library.name}=={library.version}"):
            print(f"{library.name} {library.version} cannot be installed here.")
    run_elsewhere([PYTHON, "-m", "maxmargin", "compile"])


def install(*wanted: str) -> bool:
    """Whether pip could install it beside the versions of requirements-test.txt."""
    fixed = ["--constraint", ROOT / "requirements-test.txt", "--only-binary", ":all:"]
    return not run_elsewhere([PYTHON, "-m", "pip", "install", *PIP, *fixed, *wanted]).returncode


def run_elsewhere(command: list, folder: Path = ROOT, **options) -> subprocess.CompletedProcess:
    """A command in the environment, with what makes tests repeatable and nothing that leads to other packages."""
    leads = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
    kept = {key: value for key, value in os.environ.items() if key not in leads and not key.startswith("PYTEST_")}
    kept |= {"PYTHONHASHSEED": "0", "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42", "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(command, cwd=folder, env=kept, timeout=SUITE_SECONDS, check=False, **options)


def find_version(name: str) -> str:
    """The version that is installed; "" if there is none."""
    return capture_output_of([PYTHON, "-c", f"from importlib.metadata import version as v; print(v({name!r}))"])


def find_tests(library: Library) -> tuple[Path, list[Path]] | None:
    """The folder to run a library's tests in, and the tests; None where the source distribution cannot be had."""
    if library.root == "ours":
        folder = ROOT / "tests" / "downstream_uses"
    elif library.root == "installed":
        folder = Path(capture_output_of([PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
    else:
        folder = unpack_source(library)
        if folder is None:
            return None
    return folder, [path for test in library.tests for path in list_files(folder / test)]


def list_files(path: Path) -> list[Path]:
    """A file itself; of a folder, the tests that name a machine."""
    if path.is_file():
        return [path]
    return [file for file in sorted(path.rglob("test_*.py")) if NAMES_OF_MACHINES.search(file.read_text())]


def unpack_source(library: Library) -> Path | None:
    """The source distribution of a library, unpacked; None where it cannot be had."""
    place = ENVIRONMENT / "sources" / library.name
    if not place.exists():
        place.mkdir(parents=True)
        source = ["--no-binary", ":all:", "--no-deps", f"{library.name}=={library.version}"]
        run_elsewhere([PYTHON, "-m", "pip", "download", *PIP, "--dest", place, *source])
        for archive in place.glob("*.tar.gz"):
            shutil.unpack_archive(archive, place, filter="data")
    return next((folder for folder in sorted(place.iterdir()) if folder.is_dir()), None)


# ---- the tests --------------------------------------------------------------------------------------------------


def compare(library: Library) -> Comparison:
    """A library's tests without and with the swap."""
    version = find_version(library.name)
    if not version:
        return Comparison(library, NOT_RUN, NOT_RUN, "cannot be installed")
    library = library._replace(version=version)
    tests = find_tests(library)
    if tests is None:
        return Comparison(library, NOT_RUN, NOT_RUN, "its source distribution cannot be had")
    print(f"{library.name} {version}", flush=True)
    plugins = [part for name in library.plugins for part in ("-p", name)]
    runs = [run_suite(library.name, *tests, [*plugins, *swap]) for swap in ([], ["--swap"])]
    note = next((run.note for run in runs if run.note), "")
    return Comparison(library, *runs, note)


def run_suite(name: str, folder: Path, tests: list[Path], options: list[str]) -> SuiteRun:
    """The tests that use machines, in a process of their own; what it says is kept beside the environment."""
    label = f"{name}{'.swapped' if '--swap' in options else ''}"
    report, configuration = ENVIRONMENT / f"{label}.xml", ENVIRONMENT / "pytest.ini"
    configuration.write_text("[pytest]\n")
    report.unlink(missing_ok=True)
    command = [
        PYTHON, "-m", "pytest", "-c", configuration, "--rootdir", folder, "-p", "no:cacheprovider", "-p",
        "svm_selection", "-q", "--tb=short", "-W", "ignore",
        f"--timeout={TEST_SECONDS}", f"--junitxml={report}", *options, *tests,
    ]  # fmt: skip
    began = time.perf_counter()
    with (ENVIRONMENT / f"{label}.txt").open("w") as output:
        try:
            run_elsewhere(command, folder, stdout=output, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return NOT_RUN._replace(note=f"the tests took more than {SUITE_SECONDS} seconds")
    seconds = time.perf_counter() - began
    if not report.exists():
        return NOT_RUN._replace(note="the tests could not be started")
    return read_report(report.read_text(), seconds)


def read_report(text: str, seconds: float) -> SuiteRun:
    """The tests of a report in JUnit's format; one that is skipped, or expected to fail, is neither."""
    passed, failed = set(), set()
    for case in ElementTree.fromstring(text).iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(name)
        elif case.find("skipped") is None:
            passed.add(name)
    return SuiteRun(frozenset(passed - failed), frozenset(failed), seconds)


# ---- reasons ----------------------------------------------------------------------------------------------------


def matches(reason: Reason, test: str) -> bool:
    """Whether a reason is for a test, whose brackets are no wildcards."""
    return fnmatchcase(test.rpartition("::")[2].replace("[", "-").replace("]", ""), reason.pattern)


def check_reasons(comparison: Comparison) -> list[str]:
    """A line for each failure without a reason, and for each reason that should have a failure and has none."""
    reasons, failures = list_reasons(comparison.library.name), comparison.only_with_swap
    if comparison.note:
        return [f"{comparison.library.name}: {comparison.note}"] if comparison.note != "cannot be installed" else []
    name = comparison.library.name
    unexplained = [test for test in failures if not any(matches(reason, test) for reason in reasons)]
    idle = [each for each in reasons if each.always and not any(matches(each, test) for test in failures)]
    return [
        *(f"{name}: {test} fails only with the swap, and no reason is given" for test in unexplained),
        *(f"{name}: {reason.pattern} has a reason and does not fail" for reason in idle),
    ]


# ---- the page ---------------------------------------------------------------------------------------------------


def write_table(found: list[Comparison]) -> str:
    """One line per library, in Markdown."""
    heads = ("library", "version", "tests", "run", "failed without", "failed with", "only with the swap")
    lines = [heads, ["---"] * len(heads)]
    for library, without, swapped, note in found:
        ran = len(without.passed | without.failed)
        counts = [ran, len(without.failed), len(swapped.failed), len(without.passed - swapped.passed)]
        whose = "ours" if library.root == "ours" else "its own"
        lines.append([library.name, library.version, whose, *([note, "", "", ""] if note else counts)])
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_reasons(found: list[Comparison]) -> str:
    """The tests that fail with our classes alone, and why."""
    lines = ["| library | test | reason |", "|---|---|---|"]
    for comparison in found:
        for reason in list_reasons(comparison.library.name):
            count = sum(matches(reason, test) for test in comparison.only_with_swap)
            if count:
                times = f" ({count})" if count > 1 else ""
                lines.append(f"| {comparison.library.name} | `{reason.pattern}`{times} | {reason.text} |")
    return "\n".join(lines) if len(lines) > 2 else "No test fails with our classes alone."


def write_page(text: str) -> None:
    """Put the table where the page has its place for it."""
    page = PAGE.read_text()
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page))


# ---- how long it takes ------------------------------------------------------------------------------------------


class SwapTimes(NamedTuple):
    """CPU and wall seconds without and with the swap, and the share of all processors that other programs had."""

    without: tuple[float, float]
    swapped: tuple[float, float]
    others: float


def measure_times() -> SwapTimes:
    """How long scikit-learn's svm tests take without and with the swap, in turn: the least of some rounds each."""
    library = LIBRARIES[0]._replace(tests=("sklearn/svm/tests",))
    folder, tests = find_tests(library)
    run_suite("times", folder, tests, ["--swap"])  # all is compiled and in memory after that
    best, began, busy, own = [(float("inf"), float("inf"))] * 2, time.perf_counter(), read_busy_seconds(), 0.0
    for _ in range(ROUNDS):
        for place, options in enumerate(([], ["--swap"])):
            before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            wall = run_suite("times", folder, tests, options).seconds
            cpu = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
            best[place] = (min(best[place][0], cpu), min(best[place][1], wall))
            own += cpu
    others = (read_busy_seconds() - busy - own) / ((time.perf_counter() - began) * (os.cpu_count() or 1))
    return SwapTimes(*best, max(others, 0.0))


def read_busy_seconds() -> float:
    """The processor time of all programs since the machine was started; 0 where Linux does not tell."""
    try:
        user, nice, system = map(int, Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
    except OSError:
        return 0.0
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def write_times(times: SwapTimes) -> str:
    """Both times and their ratio, and what else the machine did."""
    (cpu, wall), (our_cpu, our_wall), others = times
    company = f", on a machine that spent {others:.0%} of its processors on other work" if others > QUIET_SHARE else ""
    sentences = (
        f"scikit-learn's own svm tests take {cpu:.1f} s of processor time without the swap and {our_cpu:.1f} s with "
        f"it, imports included: {our_cpu / cpu:.2f} times as long, and by the clock {our_wall / wall:.2f} times as "
        f"long. These are the shortest of {ROUNDS} runs in turn{company}."
    )
    return textwrap.fill(sentences, 120, break_on_hyphens=False)


if __name__ == "__main__":
    sys.exit(main())
