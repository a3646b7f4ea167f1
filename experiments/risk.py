"""Structural risk minimisation: which C and gamma each criterion chooses, and what the test samples say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .page import Chapter, Figure, Text
from .risk_grids import (
    CRITERIA,
    SETS,
    Survey,
    draw_surveys,
    list_grids,
    survey_grid,
    tabulate_choices,
    tabulate_grids,
)
from .risk_theorems import CASES, PROBLEMS, conclude, count_violations, tabulate

INTRODUCTION = """
Wu (2014) ends with a heading and no text: structural risk minimisation. The idea is
Vapnik's. A machine comes from a family of machines, and C and the kernel say how rich the family is. The richer it is,
the less a small training error means. So choose, along a nested sequence of families, the one with the least
<i>bound</i> on the error of new samples. <code>maxmargin.risk_bounds</code> has the bounds that follow from one fit,
and the leave-one-out error that they are bounds of.

All criteria see the training samples alone. <b>xi-alpha</b> is the share of samples with 2 alpha R² + xi ≥ 1.
<b>Radius-margin</b> is (R² + 1/C) (|w|² + 2 C sum xi) / n for the hinge, and R² |w|² / n with the kernel K + I/(2C) for
the squared hinge; R is the radius of the smallest ball around the samples. <b>Leave-one-out</b> is exact.
<b>5-fold</b> is cross-validation. The test error is known to none of them.
"""


def describe_choices(surveys: list[Survey]) -> Iterator[str]:
    """How much each criterion loses against the best, where xi-alpha stands, and what it all costs."""
    excess = {
        criterion: [
            float(each.list_errors("test")[each.choose(criterion)] - each.list_errors("test").min()) for each in surveys
        ]
        for criterion in CRITERIA
    }
    order = sorted(CRITERIA, key=lambda criterion: np.mean(excess[criterion]))
    told = ", ".join(f"{criterion} {np.mean(excess[criterion]):.4f}" for criterion in order)
    yield (
        f"Test error at the choice of each criterion, less the least on the grid, on average over {len(surveys)} "
        f"grids: {told}. The largest of these differences is {max(excess[order[-1]]):.4f}, for {order[-1]}."
    )
    bounds = [each for survey in surveys for each in survey.bounds]
    within = sum(each.training <= each.leave_one_out.error <= each.xi_alpha for each in bounds)
    factor = [each.xi_alpha / each.leave_one_out.error for each in bounds if each.leave_one_out.error > 0]
    vacuous = sum(each.vacuous for each in bounds)
    yield (
        f"In {within} of {len(bounds)} fits the exact leave-one-out error is between the training error and xi-alpha. "
        f"The median of xi-alpha over leave-one-out is {np.median(factor):.1f}. The radius-margin number is above 1, "
        f"and so vacuous, in {vacuous} of {len(bounds)}; its least value may be in the right place all the same."
    )
    yield describe_costs(surveys)


def describe_costs(surveys: list[Survey]) -> str:
    """How near leave-one-out and cross-validation come to the test error, and the seconds of each."""
    test = np.concatenate([survey.list_errors("test") for survey in surveys])
    exact, folds = (
        float(np.abs(np.concatenate([survey.list_errors(key) for survey in surveys]) - test).mean())
        for key in ("leave-one-out", "5-fold")
    )
    seconds = {key: sum(survey.seconds[key] for survey in surveys) for key in surveys[0].seconds}
    refits = sum(each.leave_one_out.refits for survey in surveys for each in survey.bounds)
    rows = sum(each.n for survey in surveys for each in survey.bounds)
    return (
        f"Leave-one-out differs from the test error by {exact:.4f} on average, 5-fold cross-validation by {folds:.4f}. "
        f"The bounds took {seconds['bounds']:.1f} s in all, five folds {seconds['5-fold']:.1f} s, exact leave-one-out "
        f"{seconds['leave-one-out']:.1f} s: {refits:,} refits for {rows:,} rows left out."
    )


def describe_sine(survey: Survey) -> str:
    """What the bound says of absolute errors, and what is chosen."""
    test = survey.list_errors("test")
    chosen = {criterion: survey.choose(criterion) for criterion in CRITERIA if criterion != "radius-margin"}
    told = ", ".join(f"{name} C = {survey.grid.values[k]:.3g} (test error {test[k]:.4f})" for name, k in chosen.items())
    return (
        "For regression, the absolute error of a row left out is at least |r| and at most |r| + 2 R² |a|, with its "
        f"residual r and its dual a. On the noisy sine the criteria choose: {told}. The least test error on the grid "
        f"is {test.min():.4f}."
    )


# ---- the chapter ----------------------------------------------------------------------------------------------


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """Bounds, leave-one-out, cross-validation and test errors over C and gamma; the theorems on random problems.

    Parameters
    ----------
    quick : bool
        Fewer values, samples and problems.
    tick : callable
        Told what comes next, before each fit.

    Returns
    -------
    Chapter
    """
    *surveys, sine = [survey_grid(grid, quick, tick) for grid in list_grids(quick)]
    blocks: list = [Text(INTRODUCTION), Text("\n\n".join(describe_choices(surveys))), tabulate_choices(surveys)]
    for data in SETS:
        drawn = [survey for survey in surveys if survey.grid.data == data]
        caption = f"{data.capitalize()}: what each criterion says of C and gamma. Rings: what it would choose."
        blocks.append(Figure(f"risk_{data.replace(' ', '_')}", caption, draw_surveys(drawn)))
    caption = "The noisy sine: what each criterion says of C."
    blocks += [Text(describe_sine(sine)), Figure("risk_sine", caption, draw_surveys([sine]))]
    tallies = {}
    for case in CASES:
        tick(f"risk: random problems, {', '.join(case)}")
        tallies[case] = count_violations(case, PROBLEMS[quick])
    blocks += [Text(conclude(tallies, PROBLEMS[quick])), tabulate(tallies, PROBLEMS[quick])]
    return Chapter(
        "Structural risk minimisation: choosing C and gamma by bounds", [*blocks, tabulate_grids([*surveys, sine])]
    )


def count_ticks(quick: bool) -> int:
    """How often `write_chapter` calls `tick`."""
    return sum(len(grid.values) for grid in list_grids(quick)) + len(CASES)
