"""The options of every command, from the parsers that print its help."""

from __future__ import annotations

import argparse
import contextlib
import re
from pathlib import PurePosixPath
from unittest.mock import patch

from maxmargin import cli
from maxmargin.cli.parser import Parser

OPENING = """# Options of every command

What `maxmargin COMMAND --help` prints. [The command line](command_line.md) explains the commands by examples.

"""


def make_command_pages() -> dict[PurePosixPath, str]:
    """command_line_options.md."""
    parts = [describe(name, summary) for name, summary in cli.COMMANDS.items()]
    return {PurePosixPath("command_line_options.md"): OPENING + "\n".join(parts)}


def find_parser(name: str) -> Parser | None:
    """The parser that answers `maxmargin NAME --help`; None for a command that has none."""
    if name == "bench":  # a program of the repository, in a process of its own
        return None
    found: list[Parser] = []
    keep = patch.object(Parser, "print_help", lambda self, file=None: found.append(self))
    with keep, contextlib.suppress(SystemExit):
        cli.run([name, "--help"], "maxmargin")
    return found[0] if found else None


def describe(name: str, summary: str) -> str:
    """A section: usage, description and a table for each group of options."""
    parser = find_parser(name)
    lines = [f"## maxmargin {name}", "", f"{summary[0].upper()}{summary[1:]}.", ""]
    if parser is None:
        return "\n".join(lines)
    usage = re.sub(r"^usage: ", "", parser.format_usage()).strip()
    lines += ["```text", usage, "```", ""]
    if parser.description:
        lines += [escape(parser.description), ""]
    for group in parser._action_groups:
        rows = [row for action in group._group_actions if (row := write_row(action))]
        if rows:
            title = "Files" if group.title == "positional arguments" else group.title or ""
            lines += [f"### {title[:1].upper()}{title[1:]}", "", "| | |", "|---|---|", *rows, ""]
    if parser.epilog:
        lines += ["```text", parser.epilog.strip(), "```", ""]
    return "\n".join(lines)


def write_row(action: argparse.Action) -> str | None:
    """An option and what it does; nothing for --help and for what the help leaves out."""
    if action.help is argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
        return None
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    names = [f"{each} {value}" if action.nargs != 0 else each for each in action.option_strings] or [str(value)]
    text = (action.help or "").replace("%%", "%")
    return f"| {', '.join('`' + each.replace('|', chr(92) + '|') + '`' for each in names)} | {escape(text)} |"


def escape(text: str) -> str:
    """As it stands, in Markdown."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else re.sub(r"([\\|*_<>\[\]$])", r"\\\1", part) for part in parts)
