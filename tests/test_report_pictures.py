"""The chapters of figures and of convergence: every unit of work is told, and the words are those of the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from experiments import convergence, figures, fits
from experiments.clouds import make_clouds, make_line
from experiments.page import Figure, Table, Text, render_figure
from maxmargin.solvers.trajectory import Trajectory

FEW = ("smo", "newton", "coordinate", "adagrad")


def make_run(primal) -> Trajectory:
    """A run made up for a test: one iteration a second."""
    steps = np.arange(len(primal))
    return Trajectory("made_up", steps, steps.astype(float), np.array(primal, float), np.ones(len(primal)), [])


# ---- figures --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn():
    """The chapter of figures, with short ways, and what it told."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fits.STEPS, "gd", 150)
        patch.setitem(fits.STEPS, "adagrad", 150)
        return figures.write_chapter(True, told.append), told


@pytest.mark.slow
def test_eight_figures(drawn):
    """Figures 1 to 8 in their order, one tick each, and the table of the ends of all ways."""
    chapter, told = drawn
    pictures = [block for block in chapter.blocks if isinstance(block, Figure)]
    assert [picture.name for picture in pictures] == [f"figure_{number}" for number in range(1, 9)]
    assert all(picture.caption.startswith(f"Figure {k}: ") for k, picture in enumerate(pictures, start=1))
    assert len(told) == figures.count_ticks(True) == 8
    for picture in pictures:
        assert len(picture.panels) == 2
        assert all(panel.axes for panel in picture.panels)
    assert render_figure(pictures[3]).count("<img") == 2


@pytest.mark.slow
def test_ends_of_the_ways(drawn):
    """Eight optimisers on four losses: none ends below the minimum, and Nesterov's method reaches a smooth one."""
    (table,) = [block for block in drawn[0].blocks if isinstance(block, Table)]
    assert len(table.rows) == 8
    assert all(len(row) == len(table.columns) == 10 for row in table.rows)
    excesses = np.array([row[3::2] for row in table.rows], float)
    assert (excesses >= -1e-9).all()
    (nesterov,) = [row for row in table.rows if row[:2] == ["library", "Nesterov"]]
    assert max(nesterov[5], nesterov[9]) < 1e-5  # the squared losses


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
def test_surfaces_have_two_coordinates(loss):
    """The minimum over two coordinates that scipy finds is that of the problem."""
    problem, _ = figures.pose(loss)

    def by_hand(u):
        if loss == "squared_hinge":
            X, y = make_clouds()
            return 0.5 * u @ u + np.sum(np.maximum(0.0, 1.0 - y * (X @ u)) ** 2)
        x, y = make_line()
        return 0.5 * u @ u + np.sum(np.maximum(0.0, np.abs(x @ u[:1] + u[1] - y) - 0.1) ** 2)

    best = minimize(by_hand, np.zeros(2), tol=1e-10).fun
    assert figures.solve(problem, tol=1e-9).certificate.dual == pytest.approx(best, rel=1e-7)


# ---- convergence ----------------------------------------------------------------------------------------------


@pytest.fixture
def few_solvers(monkeypatch):
    """Four solvers only."""
    every = convergence.list_solvers
    monkeypatch.setattr(
        convergence,
        "list_solvers",
        lambda kind: {name: solver for name, solver in every(kind).items() if name in FEW},
    )
    monkeypatch.setattr(convergence, "STEPS", 300)


@pytest.mark.slow
def test_convergence_chapter(few_solvers):
    """A figure, a sentence and a table for each problem, one row for each solver, one tick for each run."""
    told = []
    chapter = convergence.write_chapter(True, told.append)
    kinds = [type(block) for block in chapter.blocks]
    assert kinds == [Text, *[Figure, Text, Table] * 3]
    tables = [block for block in chapter.blocks if isinstance(block, Table)]
    assert [len(table.rows) for table in tables] == [4, 3, 2]
    assert len(told) == convergence.count_ticks(True) == 4 + 3 + 2
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    smo = next(row for row in tables[-1].rows if row[0] == "smo")
    assert smo[1] < smo[2] <= 300
    assert smo[3] <= smo[4]
    assert render_figure(chapter.blocks[1]).count("<img") == 2 * 3


def test_every_solver_is_in():
    """Those of the registry that take the problem, and both kinds of momentum."""
    names = {name for kind in convergence.pose_problems() for name in convergence.list_solvers(kind)}
    assert {"smo", "newton", "bundle", "one_slack", "qp", "gradient_descent, nesterov"} <= names
    assert set(convergence.choose_styles()) == names


def test_no_panel_is_a_tangle():
    """Every solver belongs to a family; a family has five curves at most, each with a style of its own."""
    styles = convergence.choose_styles()
    for kind in convergence.pose_problems():
        families = convergence.group_solvers(convergence.list_solvers(kind))
        assert convergence.OTHERS not in families
        assert sum(map(len, families.values())) == len(convergence.list_solvers(kind))
        for members in families.values():
            assert len(members) <= 5
            assert len({tuple(styles[name].values()) for name in members}) == len(members)
    assert convergence.group_solvers(["smo", "new"]) == {
        "few duals at a time, and cutting planes": ["smo"],
        convergence.OTHERS: ["new"],
    }


def test_levels():
    """Iterations and seconds are those of the first step within each level, None where there is none."""
    run = make_run([2.0, 1.0005, 1.1, 1.0 + 5e-7, 1.0])
    assert convergence.measure(run, 1.0) == [1, 3, 1.0, 3.0, 0.0]
    assert convergence.measure(make_run([2.0, 1.5]), 1.0) == [None, None, None, None, 0.5]


def test_findings_in_words():
    """Who is quickest, who needs the fewest iterations, and who stays away."""
    rows = [
        ["kind", "swift", 5, 50, 0.001, 0.002, 0.0],
        ["kind", "sparing", 2, 3, 0.1, 0.2, 0.0],
        ["kind", "slow", 10, None, 1.0, None, 0.25],
    ]
    said = convergence.say_findings("kind", rows)
    assert "2 of 3 come within 1e-06 of P*" in said
    assert (
        "<code>swift</code> is the quickest, after 2 ms; <code>sparing</code> needs the fewest iterations, 3." in said
    )
    assert "The others come as near as this: <code>slow</code> 0.25" in said
    assert "it needs the fewest" in convergence.say_findings("kind", rows[1:2])
    assert "quickest" not in convergence.say_findings("kind", rows[2:])
