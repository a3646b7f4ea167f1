"""What the page is, how to read it, and on what it was made."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version

from benchmarks.measuring.machine import count_cores, measure_memory, name_processor

from .modelling import has_modelling_language
from .page import Chapter, Table, Text

LIBRARIES = ("maxmargin", "scikit-learn", "numpy", "scipy", "numba", "cvxopt", "matplotlib")
SENTENCES = """
Meoli (2021), the report in what follows, compares primal, Wolfe dual and Lagrangian dual of support vector machines in
twelve tables and eight figures (D. Meoli, <i>Support Vector Machines</i>, University of Pisa). Wu (2014) asks in
exercises how fast SMO is beside a general solver, and what a kernel cache is worth. This page runs all of these
experiments again, with the solvers of maxmargin and with the scikit-learn of today. Every fit is judged by its duality
gap. So the page can say not only which scores came out, but whether the problem was solved.

How to read it: the tables have the report's numbers on the left and ours on the right. The findings take each claim of
the report and give it a verdict, by a rule that looks at the measured rows. Every table can be had as a CSV file, with
all digits. Wide tables scroll sideways.

The data: two overlapping clouds of 100 points each for linear classification, four clouds for kernels, a noisy line
and a noisy sine of 100 points for regression. The line is the report's own: scikit-learn gives all rows of its table 8
to six digits. The seeds of the others are not known, so their numbers differ in the digits, and should not differ in
what follows from them. The points of the sine are in ascending order, and folds are not shuffled: two validation folds
lie outside the range of what was learned. That is why scores on the sine are far below zero, in the report and here.
"""
QUICK = """
<b>This is a quick run</b>: it has C = 1 and 100 and epsilon = 0.1 only, and smaller experiments throughout. The whole
page comes from <code>make report</code>.
"""


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """The first chapter."""
    tick("introduction")
    text = SENTENCES + QUICK if quick else SENTENCES
    return Chapter("What this is", [Text(text), describe_machine()])


def describe_machine() -> Table:
    """Processor, cores, memory, and the versions of what was measured."""
    rows = [["processor", name_processor()], ["cores", str(count_cores())], ["memory", measure_memory()]]
    rows += [["system", f"{platform.system()} {platform.machine()}"], ["python", platform.python_version()]]
    rows += [[library, version(library)] for library in LIBRARIES]
    rows += [["cvxpy", version("cvxpy") if has_modelling_language() else "not installed, left out"]]
    return Table("machine", "What the page was made on.", ["what", "which"], rows)


def count_ticks(quick: bool) -> int:
    """How often `write_chapter` calls `tick`."""
    return 1
