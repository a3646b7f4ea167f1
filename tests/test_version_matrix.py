"""What pyproject.toml declares is what the table of versions tests."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from version_matrix import LIBRARIES, MATRIX, ROOT, MatrixResult, VersionSet, find_python, run_row, write_table

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = {wanted.name: wanted.specifier for wanted in map(Requirement, PROJECT["dependencies"])}


def read_bound(specifiers: SpecifierSet, operator: str) -> Version:
    """The version behind one operator."""
    (found,) = [Version(each.version) for each in specifiers if each.operator == operator]
    return found


def test_dependencies_are_the_four():
    """NumPy, SciPy, scikit-learn and Numba alone, each with a lower and an upper bound."""
    assert tuple(DECLARED) == LIBRARIES
    for specifiers in DECLARED.values():
        assert read_bound(specifiers, ">=") < read_bound(specifiers, "<")


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_lowest_is_tested(library):
    """The first row has the lower bounds themselves."""
    assert MATRIX[0].name == "lowest"
    tested = dict(zip(LIBRARIES, MATRIX[0][2:], strict=True))[library]
    assert Version(tested) == read_bound(DECLARED[library], ">=")


def test_every_python_is_tested():
    """Each declared Python has a row of the newest releases, and the first has the lowest ones."""
    classifiers = {word.rpartition(" :: ")[2] for word in PROJECT["classifiers"] if ":: Python :: 3." in word}
    pythons = {row.python for row in MATRIX if not row.requirements}
    assert classifiers == pythons == {row.python for row in MATRIX}
    bounds = SpecifierSet(PROJECT["requires-python"])
    assert Version(MATRIX[0].python) == min(map(Version, pythons)) == read_bound(bounds, ">=")
    assert max(map(Version, pythons)) < read_bound(bounds, "<")
    assert not bounds.contains(f"3.{max(Version(python).minor for python in pythons) + 1}")


def test_every_minor_version_of_scikit_learn_is_tested():
    """From the lowest to the last below the upper bound, which the newest rows have."""
    last = read_bound(DECLARED["scikit-learn"], "<").minor - 1
    tested = {Version(row.scikit_learn).minor if row.scikit_learn else last for row in MATRIX}
    assert tested == set(range(read_bound(DECLARED["scikit-learn"], ">=").minor, last + 1))


def test_a_missing_python_is_said(tmp_path):
    """No row fails for want of an interpreter, and none passes in silence."""
    assert find_python("3.0") is None
    outcome = run_row(VersionSet("antique", "3.0"), tmp_path / "no.whl")
    assert outcome.failed == outcome.passed == 0
    assert "skipped: there is no Python 3.0 here" in write_table([outcome])


def test_the_table_has_a_line_per_row():
    """Versions, counts and seconds."""
    outcome = MatrixResult(MATRIX[0], ("3.11.7", "2.0.0", "1.13.0", "1.6.0", "0.61.0"), 900, 0, 12, 71.4)
    assert "| lowest | 3.11.7 | 2.0.0 | 1.13.0 | 1.6.0 | 0.61.0 | 900 | 0 | 12 | 71 |" in write_table([outcome])
