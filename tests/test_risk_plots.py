"""The plots of the risk bounds, and their chapter."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure as Drawing
from textbook import make_data

from experiments import risk
from experiments.risk_grids import Grid, Survey, tabulate_choices
from experiments.risk_theorems import CASES, count_violations, is_proven
from maxmargin import SVC, SVR, risk_bounds
from maxmargin.plots import plot_risk_bounds

DOCS = Path(__file__).parent.parent / "docs" / "risk.md"


def draw(**others):
    """Axes with the bounds of three fits, and the bounds."""
    X, y, _ = make_data("SVC", n=30)
    Cs = [1.0, 0.5, 10.0]
    bounds = [risk_bounds(SVC(C=C).fit(X, y), X, y) for C in Cs]
    return plot_risk_bounds(Cs, bounds, ax=Drawing().subplots(), others=others), bounds


def test_the_picture_has_every_curve():
    """By name and in the order of C, a ring at the least of each, and zero errors at half a sample."""
    ax, bounds = draw(test=np.array([0.3, 0.2, 0.0]))
    curves = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert list(curves) == ["xi-alpha bound", "radius-margin", "leave-one-out", "training", "test"]
    xi_alpha = [bounds[k].xi_alpha for k in (1, 0, 2)]
    np.testing.assert_allclose(curves["xi-alpha bound"].get_xydata(), np.column_stack([[0.5, 1.0, 10.0], xi_alpha]))
    np.testing.assert_allclose(curves["test"].get_ydata(), [0.2, 0.3, 0.5 / 30])
    rings = [line.get_xydata()[0].tolist() for line in ax.get_lines() if len(line.get_xdata()) == 1]
    assert len(rings) == 4
    assert rings[-1] == [10.0, 0.5 / 30]


def test_the_picture_of_regression_has_no_radius():
    """Curves that no bound has are left out."""
    X, y, _ = make_data("SVR", n=30)
    bounds = [risk_bounds(SVR(C=C).fit(X, y), X, y, exact=False) for C in (0.1, 1.0)]
    ax = plot_risk_bounds([0.1, 1.0], bounds, ax=Drawing().subplots())
    labels = [line.get_label() for line in ax.get_lines() if not line.get_label().startswith("_")]
    assert labels == ["xi-alpha bound", "training"]
    assert ax.get_ylabel() == "mean absolute error"


def test_the_picture_refuses_what_does_not_fit():
    """Lengths must agree, and a logarithm needs positive numbers."""
    _, bounds = draw()
    with pytest.raises(ValueError, match=r"values must be a list of positive numbers, got \[0.0, 1.0, 2.0\]"):
        plot_risk_bounds([0, 1, 2], bounds)
    with pytest.raises(ValueError, match="bounds must be as many as values, got 3 for 2"):
        plot_risk_bounds([1, 2], bounds)
    with pytest.raises(ValueError, match=r"others\['test'\] must have the shape \(3,\)"):
        plot_risk_bounds([1, 2, 3], bounds, others={"test": [0.1]})


def test_choices_are_the_first_least():
    """Of several values with the least criterion the first is chosen: the most regularised."""
    _, bounds = draw()
    survey = Survey(Grid("moons", "hinge", "C", np.array([1.0, 2.0, 3.0])), bounds, [0.2, 0.1, 0.1], [0.3, 0.2, 0.25])
    assert survey.choose("5-fold") == 1
    assert survey.choose("test") == 1
    assert survey.choose("xi-alpha") == int(np.argmin([each.xi_alpha for each in bounds]))
    columns, rows = (getattr(tabulate_choices([survey]), part) for part in ("columns", "rows"))
    assert dict(zip(columns, rows[0], strict=True))["5-fold: test error"] == 0.2
    assert dict(zip(columns, rows[0], strict=True))["best: chooses"] == 2.0


def test_violations_are_counted():
    """None where there is a theorem; and the count is able to find one where there is none."""
    assert count_violations(("squared_hinge", "free", "unequal"), 4)[1:3] == (0, 0)
    assert count_violations(("epsilon_insensitive", "free", "unequal"), 12).determined > 0
    assert [is_proven(case) for case in CASES].count(False) == 2


@pytest.mark.slow
def test_the_examples_of_the_documentation_run(capsys):
    """Every block of code of docs/risk.md, and what the first of them prints."""
    text = DOCS.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), {})
    plt.close("all")
    printed = capsys.readouterr().out.splitlines()
    shown = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    assert printed[1:6] == shown[1:6]  # but for the gap, in the line before
    assert "7.249" in printed[9]
    assert "3.699" in printed[8]


@pytest.mark.slow
def test_the_chapter_is_written():
    """As many ticks as announced, every block named, and the sentences hold the numbers of the tables."""
    told = []
    chapter = risk.write_chapter(True, told.append)
    assert len(told) == risk.count_ticks(True)
    names = [block.name for block in chapter.blocks if hasattr(block, "name")]
    assert names == ["risk_choices", "risk_breast_cancer", "risk_moons", "risk_sine", "risk_theorems", "risk_grids"]
    grids = next(block for block in chapter.blocks if getattr(block, "name", "") == "risk_grids")
    assert all(len(row) == len(grids.columns) for row in grids.rows)
    assert len(grids.rows) == sum(len(grid.values) for grid in risk.list_grids(True))
