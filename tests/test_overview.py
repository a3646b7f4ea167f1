"""docs/solvers.md: written from the registry, up to date, and true."""

from __future__ import annotations

from pathlib import Path

import pytest
from selection import leave_long
from time_allowances import HANG_SECONDS

from maxmargin import solve
from maxmargin.insight.overview import KINDS, ask_solvers, describe_solvers
from maxmargin.solvers import SOLVERS

PAGE = Path(__file__).parent.parent / "docs" / "solvers.md"
ANSWERS = ask_solvers()


def test_the_page_is_up_to_date():
    """`python -m maxmargin.insight.overview > docs/solvers.md` would change nothing."""
    assert PAGE.read_text() == describe_solvers()


@pytest.mark.parametrize("solver", leave_long(SOLVERS, "adagrad"))
def test_what_is_taken_is_solved(solver):
    """Every cell with a letter: the solver reaches a gap on that problem, or says that its steps are too slow."""
    taken = [answer.probe for answer in ANSWERS if answer.solver == solver and answer.reason is None]
    assert taken or solver in ("frank_wolfe", "structured_bundle")
    for probe in taken:
        result = solve(probe.problem, solver, tol=0.05, max_seconds=HANG_SECONDS)
        assert result.converged, (probe.kind, probe.loss, probe.intercept, result.certificate)


def test_every_solver_and_kind_is_there():
    """No solver without a row, no kind without a table."""
    page = describe_solvers()
    assert all(f"| `{name}` | `{make.__name__}` | {make.formulation}" in page for name, make in SOLVERS.items())
    assert all(f"### {title}" in page for title in KINDS.values())


def test_a_kernel_problem_has_a_taker_for_every_loss():
    """Also for losses that have no row."""
    losses = {answer.probe.loss for answer in ANSWERS if answer.probe.kind == "kernel"}
    taken = {answer.probe.loss for answer in ANSWERS if answer.probe.kind == "kernel" and answer.reason is None}
    assert losses == taken
