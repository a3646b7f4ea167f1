"""Reports: rows of numbers as a markdown table and as JSON, with the machine and the command they came from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .machine import describe_machine, print_machine

RESULTS = Path(__file__).parents[1] / "results"
COLLECTED = Path(__file__).parents[1] / "RESULTS.md"


@dataclass
class Table:
    """Columns with their formats ("{:.3f}", say) and rows of raw numbers; None is shown as a dash.

    A row may have `marks`, a sign for some of its columns that is shown after the number.
    """

    title: str
    columns: dict[str, str]
    rows: list[dict] = field(default_factory=list)

    def markdown(self) -> str:
        """The table as markdown, numbers to the right."""
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "|".join("---" if form == "{}" else "---:" for form in self.columns.values()) + "|"
        body = ["| " + " | ".join(self.show(row, column) for column in self.columns) + " |" for row in self.rows]
        return "\n".join([f"### {self.title}", "", head, rule, *body])

    def show(self, row: dict, column: str) -> str:
        """One cell."""
        if row.get(column) is None:
            return "-"
        return self.columns[column].format(row[column]) + row.get("marks", {}).get(column, "")


@dataclass
class Report:
    """What a script found: tables, and sentences that follow from their numbers."""

    name: str
    purpose: str
    tables: list[Table]
    findings: list[str]
    figure: str | None = None  # the name of a picture beside the report
    options: str = ""  # of the command, beside the name
    part: bool = False  # whether it is less than the whole benchmark
    details: list[dict] = field(default_factory=list)  # rows for the JSON alone
    machine: dict = field(default_factory=describe_machine)

    @property
    def command(self) -> str:
        """What to type to see it again."""
        sets = os.environ.get("SETS")
        return f'make bench SETS="{sets}"' if sets else f"python -m benchmarks {self.name} {self.options}".rstrip()

    def markdown(self) -> str:
        """The whole report."""
        parts = [f"## {self.name}", self.purpose]
        parts += [table.markdown() for table in self.tables]
        parts += ["\n".join(f"- {finding}" for finding in self.findings)] if self.findings else []
        parts += [f"![{self.name}]({self.figure})"] if self.figure else []
        parts += [f"Command: `{self.command}`.\n{print_machine(self.machine)}"]
        return "\n\n".join(parts) + "\n"

    def record(self) -> dict:
        """The whole report as plain data."""
        return {
            "name": self.name,
            "command": self.command,
            "machine": self.machine,
            "findings": self.findings,
            "tables": [{"title": table.title, "rows": table.rows} for table in self.tables],
            **({"details": self.details} if self.details else {}),
        }


def publish(report: Report, *, keep: bool) -> bool:
    """Print a report, and keep it unless the run was a brief one or one on a few sets; whether it was kept."""
    print(report.markdown())
    if not keep or report.part:
        print("A part of the benchmark: nothing was written.")
        return False
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{report.name}.md").write_text(report.markdown())
    (RESULTS / f"{report.name}.json").write_text(json.dumps(report.record(), indent=1) + "\n")
    return True


def collect(names: Iterable[str]) -> None:
    """All reports that there are in one page, RESULTS.md, each with its own machine, versions and command."""
    pages = [path.read_text() for name in names if (path := RESULTS / f"{name}.md").is_file()]
    head = (
        "# Results\n\n`make bench` writes this page, and the numbers as JSON to `benchmarks/results`. Command, machine "
        "and versions stand below each part.\n"
    )
    text = "\n".join([head, *pages])
    COLLECTED.write_text(re.sub(r"\]\((\w+\.png)\)", rf"]({RESULTS.name}/\1)", text))
