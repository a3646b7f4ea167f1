"""Where a training score here and the report's differ by more than noise, row by row, and why."""

from __future__ import annotations

from collections.abc import Callable

from .descent import write_descent
from .fits import Measured, measure
from .mistakes import recompute_gamma
from .page import Chapter, Table, Text
from .relaxation import relax_as_programmed
from .tables import PLANS, TableRow, list_rows

# of a training score: two standard errors of an accuracy of 0.97 on 133 samples; r2 of the sine; and, for the line,
# whose data are the report's own, what rounding and stopping rules leave
NOISE = {"clouds": 0.03, "four clouds": 0.03, "sine": 0.02, "line": 0.002}
SOLVED_GAP = 1e-3
SCIKIT_LEARN = ("libsvm", "liblinear")


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """The rows that differ, each with the reason that the numbers give; and what gradient descent descends on.

    Parameters
    ----------
    quick : bool
        By the rows of quick mode.
    tick : callable
        Told what comes next, before each row.

    Returns
    -------
    Chapter
    """
    lines, relaxed, published = [], 0, list_published(quick)
    for number, row in published:
        tick(f"differences: table {number}, {row.setting.solver}, {row.setting.task}")
        each = measure(row.setting)
        if is_apart(row, each):
            relaxed += row.setting.solver == "lagrangian"
            lines.append([number, *describe_row(row), row.published["train"], each.train, *explain(row, each)])
    columns = ["table", "solver", "task", "train: report", "train: here", "train: other steps", "why"]
    caption = "<b>Where the report's scores and ours differ</b> by more than noise, and why."
    same, rows = count_line_matches(published)
    text = Text(INTRODUCTION.format(apart=len(lines), all=len(published), relaxed=relaxed, same=same, rows=rows))
    tick("differences: what gradient descent descends on")
    return Chapter(
        "Where our numbers are not those of Meoli (2021)",
        [text, Table("differences", caption, columns, lines), *write_descent()],
    )


def list_published(quick: bool) -> list[tuple[int, TableRow]]:
    """The rows of the report with the numbers of their tables."""
    return [(number, row) for number in PLANS for row in list_rows(number, quick) if row.published is not None]


def count_ticks(quick: bool) -> int:
    """How often `write_chapter` calls `tick`."""
    return len(list_published(quick)) + 1


INTRODUCTION = """
{apart} of the {all} rows of the report differ from ours in their training score by more than noise; {relaxed} of these
are rows of the Lagrangian dual. Noise is 0.03 of an accuracy, 0.02 of r2 on the sine, whose points are not the
report's, and 0.002 on the line, whose points are.

For the Lagrangian dual the tables above run the report's text: MINRES on Q v = r (equations 32 and 67). Other steps
would have other scores: a program that solves the normal equations where Q is singular, projects v on the box, keeps
the projection with the least objective, stops as soon as the value of the relaxation is above that objective, and
averages b over all support vectors. These steps are made here, and their score is in a column of its own. On the line,
whose points are the report's, they give its r2 to five digits in {same} of {rows} rows.
"""
FIVE_DIGITS = 5e-6  # of a training score that is about 1


def count_line_matches(published: list[tuple[int, TableRow]]) -> tuple[int, int]:
    """Rows of the Lagrangian dual on the line that the other steps give to five digits, and all such rows."""
    rows = [row for _, row in published if row.setting.solver == "lagrangian" and row.setting.task.data == "line"]
    apart = [abs(relax_as_programmed(row.setting.task).train - row.published["train"]) for row in rows]
    return sum(each <= FIVE_DIGITS for each in apart), len(rows)


def is_apart(row: TableRow, each: Measured) -> bool:
    """Whether the training scores differ by more than the noise of the data."""
    return abs(each.train - row.published["train"]) > NOISE[row.setting.task.data]


def describe_row(row: TableRow) -> list[str]:
    """Who solves what, in words."""
    task = row.setting.task
    solver = row.published.get("dual") or row.setting.solver
    return [f"{solver} {row.setting.momentum}" if row.setting.momentum else solver, str(task)]


def say_effect(row: TableRow, each: Measured, score: float) -> str:
    """Whether a score by other steps is the report's up to noise, nearer to it than ours, or neither."""
    apart, before = (abs(train - row.published["train"]) for train in (score, each.train))
    if apart <= NOISE[row.setting.task.data]:
        return "would explain it"
    return "would come nearer" if apart < before else "would not explain it"


def explain(row: TableRow, each: Measured) -> tuple[float | None, str]:
    """The score with the steps that the report's program took, where they are known, and the reason in a few words."""
    task = row.setting.task
    if row.setting.solver == "lagrangian":
        score = relax_as_programmed(task).train
        return score, f"steps that equations 32 and 67 do not have {say_effect(row, each, score)}"
    if task.kernel == "poly" and row.setting.solver in ("smo", "cvxopt"):
        score = recompute_gamma(task).slip_train
        return score, f"gamma computed again from the support vectors at prediction {say_effect(row, each, score)}"
    if row.setting.solver in SCIKIT_LEARN:
        limit = ", at its limit of iterations" if each.end == "limit" else ""
        return None, f"the same program on other points{limit}"
    if each.gap > SOLVED_GAP:
        return None, f"neither is solved: the gap here is {each.gap:.2g}"
    return None, f"other points: the problem is solved here to a gap of {each.gap:.2g}"
