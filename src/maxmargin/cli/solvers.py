"""maxmargin solvers: the solvers of the registry; with --losses, which loss each of them takes."""

from __future__ import annotations

import shutil
import textwrap

from .exit_codes import Exit
from .parser import Parser


def run(argv: list[str], program: str) -> int:
    """Print one table, or all of them."""
    parser = Parser(program, description="The solvers that --solver takes.")
    parser.add_argument("--losses", action="store_true", help="ask every solver about every loss and intercept")
    parser.add_argument("--markdown", action="store_true", help="the whole page, docs/solvers.md")
    arguments = parser.parse_args(argv)
    if arguments.markdown:
        from ..insight.overview import describe_solvers

        print(describe_solvers(), end="")
    else:
        print_solvers()
    if arguments.losses:
        print_losses()
    return Exit.SUCCESS


def print_solvers() -> None:
    """Name, formulation, forms of data and step of every solver."""
    from ..insight.overview import describe_step
    from ..solvers import SOLVERS

    name_width = max(map(len, SOLVERS))
    line_width = max(40, shutil.get_terminal_size((120, 24)).columns - 1)
    for name, make in SOLVERS.items():
        step = describe_step(make)
        print(f"{name:{name_width}s}  {make.formulation}, data in {' or '.join(make.forms)}")
        print(
            textwrap.fill(
                step, line_width, initial_indent=" " * (name_width + 2), subsequent_indent=" " * (name_width + 2)
            )
        )


def print_losses() -> None:
    """For each kind of machine the losses, and the solvers that take them, with marks for the intercepts."""
    from ..insight.overview import INTERCEPT_MARKS, KINDS, ask_solvers, show_cell

    answers = ask_solvers()
    marks = ", ".join(f"{mark} {name}" for name, mark in INTERCEPT_MARKS.items())
    for kind, title in KINDS.items():
        print(f"\n{title} (intercepts: {marks})")
        asked = [answer for answer in answers if answer.probe.kind == kind]
        for loss in dict.fromkeys(answer.probe.loss for answer in asked):
            takers = dict.fromkeys(answer.solver for answer in asked)
            cells = {
                name: show_cell([a for a in asked if a.solver == name and a.probe.loss == loss]) for name in takers
            }
            taken = ", ".join(f"{name} ({cell.replace(' ', '')})" for name, cell in cells.items() if cell)
            line = f"{loss}: {taken or 'no solver'}"
            print(textwrap.fill(line, 118, initial_indent="  ", subsequent_indent="      "))
