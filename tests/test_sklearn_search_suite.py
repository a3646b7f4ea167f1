"""scikit-learn's own tests of its searches, run on ours: nothing is copied, the classes are swapped."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from search_swap import EXPECTED

HERE = Path(__file__).parent
FOLDER = "sklearn.model_selection.tests"


def run_suite(module: str, folder: Path, **environment: str) -> tuple[subprocess.CompletedProcess, dict[str, int]]:
    """One of scikit-learn's test modules in a process of its own; what pytest's last line counts."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = ["-p", "search_swap", "-c", "pytest.ini", "-p", "no:cacheprovider", "-q", "-rfEX", "--tb=short"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "SEARCH_SWAP_"))}
    paths = os.pathsep.join([str(HERE), *filter(None, [kept.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", f"{FOLDER}.{module}"], cwd=folder,
        env=kept | {"PYTHONPATH": paths} | environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    summary = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    return done, {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", summary.split(" in ")[0])}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["test_search", "test_successive_halving"])
@pytest.mark.parametrize("every", [False, True], ids=["ours", "every estimator"])
def test_suite(module, every, tmp_path):
    """All pass; where the engine takes every estimator, one thread has the order of fits that some tests ask for."""
    if importlib.util.find_spec(f"{FOLDER}.{module}") is None:
        pytest.skip("scikit-learn is installed without its tests")
    environment = {"SEARCH_SWAP_ALL": "1", "OMP_NUM_THREADS": "1"} if every else {}
    done, counts = run_suite(module, tmp_path, **environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert counts["passed"] >= {"test_search": 100, "test_successive_halving": 60}[module]
    assert counts.get("xfailed", 0) == (len(EXPECTED) if every and module == "test_search" else 0)
    assert not {"failed", "error", "errors", "xpassed"} & set(counts)


def test_exceptions_have_reasons():
    """The list is short."""
    assert len(EXPECTED) <= 2
    assert all(len(reason) > 60 and reason.endswith(".") for reason in EXPECTED.values())
