"""The package under the versions that people have: for each row of a table an environment, an installation, the tests.

make test-versions                                 # all rows
make test-versions VERSIONS="lowest newest-3.13"   # some of them

Environments are made anew in .venv-versions, with the package as users install it. A row whose Python is not on this
machine is skipped and says so. The exit code is 0 if no test of any row failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


class VersionSet(NamedTuple):
    """A Python and the versions of the libraries; "" is the newest that pyproject.toml allows."""

    name: str
    python: str
    numpy: str = ""
    scipy: str = ""
    scikit_learn: str = ""
    numba: str = ""

    @property
    def requirements(self) -> list[str]:
        """numpy==2.0.0 and so on, for those that are fixed."""
        return [f"{library}=={version}" for library, version in zip(LIBRARIES, self[2:], strict=True) if version]


# Each scikit-learn beside the libraries of its time: older ones call what newer releases of SciPy no longer have.
MATRIX = (
    #   name                python  numpy    scipy     scikit-learn  numba
    VersionSet("lowest",           "3.11", "2.0.0", "1.13.0", "1.6.0",      "0.61.0"),
    VersionSet("scikit-learn-1.6", "3.12", "2.2.6", "1.15.3", "1.6.1",      "0.61.2"),
    VersionSet("scikit-learn-1.7", "3.13", "2.3.5", "1.16.3", "1.7.2",      "0.63.1"),
    VersionSet("scikit-learn-1.8", "3.11", "2.4.0", "1.17.0", "1.8.0",      "0.65.1"),
    VersionSet("newest-3.11",      "3.11"),
    VersionSet("newest-3.12",      "3.12"),
    VersionSet("newest-3.13",      "3.13"),
)  # fmt: skip
TESTS = (
    "test_scikit_learn.py",
    "test_sklearn_suite.py",
    "test_check_estimator.py::test_check_estimator",
    "test_callbacks.py",
    "test_estimators_*.py",
    "test_linear_estimators_*.py",
    "test_audit.py",
    "test_model_files_*.py",
    "test_data_hash.py",
    "cli/test_cli_scripts.py",
)
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "cvxopt", "pandas", "rich")  # what the tests import beside the package

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv-versions"
PIP = ("--quiet", "--disable-pip-version-check")
COMMAND_SECONDS = 900  # seconds for one command


class MatrixResult(NamedTuple):
    """What was found in a row; `note` where the tests did not run."""

    row: VersionSet
    versions: tuple[str, ...] = ("", "", "", "", "")
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    note: str = ""


def main() -> int:
    """Run the rows that are asked for and print the table; 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(row.name for row in MATRIX))
    asked = parser.parse_args().rows
    if unknown := set(asked) - {row.name for row in MATRIX}:
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    wheel = build_wheel()
    outcomes = [run_row(row, wheel) for row in MATRIX if row.name in asked or not asked]
    print(write_table(outcomes))
    return int(any(outcome.failed for outcome in outcomes))


def build_wheel() -> Path:
    """The package as users install it, built from a copy of its files, since a build leaves folders beside them."""
    source = ENVIRONMENTS / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run([sys.executable, "-m", "pip", "wheel", *PIP, "--no-deps", "--wheel-dir", source, source])
    return next(source.glob("*.whl"))


def run_row(row: VersionSet, wheel: Path) -> MatrixResult:
    """Make the environment of a row and run the tests in it."""
    interpreter = find_python(row.python)
    if interpreter is None:
        return MatrixResult(row, note=f"skipped: there is no Python {row.python} here")
    print(f"{row.name}: Python {row.python}, {', '.join(row.requirements) or 'the newest of everything'}", flush=True)
    began = time.perf_counter()
    try:
        python = set_up(row, interpreter, wheel)
        counts = run_tests(python, ENVIRONMENTS / f"{row.name}.xml")
        return MatrixResult(row, read_versions(python), *counts, time.perf_counter() - began)
    except subprocess.SubprocessError as error:
        return MatrixResult(row, failed=1, note=f"failed: {error}")


def find_python(version: str) -> str | None:
    """An interpreter of that version: on the path, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for candidate in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))):
        command = [candidate, "-c", "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        if (
            candidate and capture_output_of(command) == version
        ):  # one of pyenv's may be on the path and say that it is not there
            return str(candidate)
    return None


def set_up(row: VersionSet, interpreter: str, wheel: Path) -> Path:
    """The Python of a new environment with the package, the libraries of the row, and what the tests import."""
    python = ENVIRONMENTS / row.name / "bin" / "python"
    run([interpreter, "-m", "venv", "--clear", ENVIRONMENTS / row.name])
    install = [python, "-m", "pip", "install", *PIP, "--no-compile", "--only-binary", ":all:"]
    run([*install, wheel, *row.requirements, *TOOLS])
    return python


def list_tests() -> list[Path]:
    """The test files of every name and pattern in `TESTS`."""
    folder = ROOT / "tests"
    return [path for name in TESTS for path in (sorted(folder.glob(name)) if "*" in name else [folder / name])]


def run_tests(python: Path, report: Path) -> tuple[int, int, int]:
    """How many tests of the installed package passed, failed and were skipped."""
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = run([*command, *list_tests()], check=False)
    if not report.exists():
        return 0, 1, 0
    suite = ElementTree.parse(report).getroot().find("testsuite")
    ran, failures, errors, skipped = (int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped"))
    return ran - failures - errors - skipped, failures + errors or int(done.returncode != 0), skipped


def read_versions(python: Path) -> tuple[str, ...]:
    """The versions in an environment: Python's and those of the libraries."""
    command = "import platform, sys; from importlib.metadata import version as v; print(platform.python_version(), "
    return tuple(capture_output_of([python, "-c", command + "*map(v, sys.argv[1:]))", *LIBRARIES]).split())


def run(command: list, check: bool = True, **options) -> subprocess.CompletedProcess:
    """A command, without what would lead an interpreter to the packages of another."""
    leads = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
    kept = {key: value for key, value in os.environ.items() if key not in leads}
    return subprocess.run(command, cwd=ROOT, env=kept, timeout=COMMAND_SECONDS, check=check, **options)


def capture_output_of(command: list) -> str:
    """What a command prints."""
    return run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def write_table(outcomes: list[MatrixResult]) -> str:
    """One line per row, in Markdown."""
    heads = ("row", "python", *LIBRARIES, "passed", "failed", "skipped", "seconds")
    lines = [heads, ["---"] * len(heads)]
    for row, versions, passed, failed, skipped, seconds, note in outcomes:
        counts = [note, "", "", ""] if note else [passed, failed, skipped, f"{seconds:.0f}"]
        lines.append([row.name, *versions, *counts])
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
