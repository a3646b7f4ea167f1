"""The pieces of `make test-downstream`: what is selected, compared, explained and written."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import downstream
import pytest
from downstream import (
    LIBRARIES,
    Comparison,
    Library,
    SuiteRun,
    SwapTimes,
    check_reasons,
    read_report,
    write_reasons,
    write_table,
    write_times,
)
from downstream_reasons import REASONS, Reason, list_reasons

HERE = Path(__file__).parent
PYRIEMANN = next(library for library in LIBRARIES if library.name == "pyriemann")
REPORT = """<testsuites><testsuite>
<testcase classname="a.test_b" name="test_good[1-x]"/>
<testcase classname="a.test_b" name="test_bad"><failure/></testcase>
<testcase classname="a.test_b" name="test_broken"><error/></testcase>
<testcase classname="a.test_b" name="test_left"><skipped/></testcase></testsuite></testsuites>"""
TESTS = """
from sklearn.svm import SVC
import pytest

def make_machine():
    return SVC()

def test_called():
    assert make_machine().fit([[0.0], [1.0]], [0, 1]).__module__.startswith("maxmargin")

@pytest.mark.parametrize("model", [SVC(), 3], ids=["one", "two"])
def test_parametrised(model):
    pass

def test_other():
    pass
"""


def compare(passed: set[str], failed: set[str], swapped_passed: set[str], swapped_failed: set[str]) -> Comparison:
    """Two runs of pyRiemann's tests."""
    runs = (passed, failed), (swapped_passed, swapped_failed)
    return Comparison(PYRIEMANN, *(SuiteRun(frozenset(good), frozenset(bad), 1.0) for good, bad in runs))


def test_a_report_is_read():
    """Errors are failures; what is skipped is neither."""
    run = read_report(REPORT, 2.0)
    assert run.passed == {"a.test_b::test_good[1-x]"}
    assert run.failed == {"a.test_b::test_bad", "a.test_b::test_broken"}


def test_the_table_counts():
    """Tests that fail in both runs, and in one of them; a test that has vanished counts as failed."""
    table = write_table([compare({"::a", "::b", "::c"}, {"::d"}, {"::a"}, {"::b", "::d"})])
    assert table.splitlines()[2] == "| pyriemann | 0.12 | its own | 4 | 1 | 2 | 2 |"
    missing = Comparison(Library("absent", "1.0", "ours", ()), downstream.NOT_RUN, downstream.NOT_RUN, "why")
    assert "| absent | 1.0 | ours | why |" in write_table([missing])


def test_a_failure_needs_a_reason_and_a_reason_a_failure(monkeypatch):
    """Either is told."""
    found = compare({"m::test_a[1-x]", "m::test_b"}, set(), {"m::test_b"}, {"m::test_a[1-x]"})
    (line,) = check_reasons(found)
    assert "m::test_a[1-x] fails only with the swap" in line
    monkeypatch.setitem(REASONS, "pyriemann", {"test_a-1-*": "A reason."})
    assert check_reasons(found) == []
    assert "| pyriemann | `test_a-1-*` | A reason. |" in write_reasons([found])
    monkeypatch.setitem(REASONS, "pyriemann", {"test_a-1-*": "A reason.", "test_b": "Another."})
    (line,) = check_reasons(found)
    assert "test_b has a reason and does not fail" in line


def test_reasons_are_well_formed():
    """The name of a test of a library that is run, and a sentence that is long enough to say why."""
    assert set(REASONS) <= {library.name for library in LIBRARIES}
    for reason in chain.from_iterable(list_reasons(library.name) for library in LIBRARIES):
        assert isinstance(reason, Reason)
        assert re.fullmatch(r"test_[\w*]+(-[\w.*=()-]+)?", reason.pattern), reason.pattern
        assert len(reason.text) > 60
        assert reason.text.endswith(".")


def test_the_page_takes_the_table(tmp_path, monkeypatch):
    """Between the two marks, and nothing else changes."""
    page = tmp_path / "ecosystem.md"
    page.write_text(f"before\n{downstream.BEGIN}\nold\n{downstream.END}\nafter\n")
    monkeypatch.setattr(downstream, "PAGE", page)
    downstream.write_page(r"new \1")
    assert page.read_text() == f"before\n{downstream.BEGIN}\nnew \\1\n{downstream.END}\nafter\n"


def test_the_page_has_a_line_for_every_library():
    """docs/ecosystem.md names each of them."""
    page = (HERE.parent / "docs" / "ecosystem.md").read_text()
    assert all(f"| {library.name} | " in page for library in LIBRARIES)


def test_tests_of_ours_are_there():
    """Each is a program, and no test of this project: its library need not be installed."""
    for library in LIBRARIES:
        for name in library.tests if library.root == "ours" else ():
            assert not name.startswith("test_")
            tree = ast.parse((HERE / "downstream_uses" / name).read_text())
            assert any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body)


def test_times_say_what_else_the_machine_did():
    """Where other programs had more than a few percent of it; their share, and both ratios."""
    quiet = write_times(SwapTimes((10.0, 12.0), (11.0, 15.0), 0.01))
    assert "10.0 s of processor time without the swap and 11.0 s with" in quiet
    assert "1.10 times as long, and by the clock 1.25 times" in quiet.replace("\n", " ")
    assert quiet.replace("\n", " ").endswith(f"the shortest of {downstream.ROUNDS} runs in turn.")
    busy = write_times(SwapTimes((10.0, 12.0), (11.0, 15.0), 0.62)).replace("\n", " ")
    assert busy.endswith("in turn, on a machine that spent 62% of its processors on other work.")
    assert max(map(len, quiet.splitlines())) <= 120


def test_the_processor_time_of_the_machine_grows():
    """With what this process does, where the machine tells it."""
    before, began = downstream.read_busy_seconds(), time.process_time()
    while time.process_time() - began < 0.1:
        pass
    spent = downstream.read_busy_seconds() - before
    assert spent >= 0.05 or not Path("/proc/stat").exists()


@pytest.mark.slow
def test_tests_are_selected_and_swapped(tmp_path):
    """Those that name a machine, that call what does, or that have one among their parameters; with our classes."""
    (tmp_path / "test_machines.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "svm_selection",
        "--swap",
        "-v",
        "-p",
        "no:cacheprovider",
        tmp_path,
    ]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=120, check=False)
    names = re.findall(r"::(\S+) PASSED", done.stdout)
    assert names == ["test_called", "test_parametrised[one]", "test_parametrised[two]"], done.stdout + done.stderr
    assert "1 deselected" in done.stdout
