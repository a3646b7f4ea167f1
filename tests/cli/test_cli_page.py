"""docs/command_line.md runs word for word, and lists every command, code and short option."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import run

from maxmargin.cli import COMMANDS
from maxmargin.cli.exit_codes import Exit
from maxmargin.cli.short_options import LIBSVM_OPTIONS, PREDICT_OPTIONS, SCALE_OPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
PROGRAMS = {
    "maxmargin": [],
    "maxmargin-svm-train": ["train", "--libsvm"],
    "maxmargin-svm-predict": ["predict", "--libsvm"],
}


def test_the_page_runs_word_for_word(capsys):
    """Every command of docs/command_line.md, in order, in an empty folder; what it prints is what is written there."""
    pytest.importorskip("onnxruntime")
    printed = ""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in "".join(blocks).splitlines():
        command, _, rest = re.split(r" (\|\|?) ", line)[0], *line.partition("||")[1:]
        program, *argv = shlex.split(command)
        if program != "head":
            assert run(*PROGRAMS[program], *argv) == (Exit.UNFINISHED if rest else Exit.SUCCESS), line
            printed += capsys.readouterr().out
    assert "Accuracy = 95.7672% (181/189) (classification)\n" in printed
    assert "primal 44.32483666, dual 44.32483666, relative gap " in printed
    assert "Cross Validation Accuracy = 97.1053%\n" in printed
    assert Path("probabilities.txt").read_text().startswith("labels -1 1\n-1 0.99")


def test_the_page_has_every_word_and_code():
    """The tables of commands and exit codes are those of the code, and so are the short options."""
    page = PAGE.read_text()
    assert all(f"| `{name}" in page or f", `{name}`" in page for name in COMMANDS)
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == [str(int(code)) for code in Exit]
    tables = page[page.index("option of svm-train") :]
    assert all(
        f"`{letter}" in tables
        for letter in [*LIBSVM_OPTIONS, *SCALE_OPTIONS, *PREDICT_OPTIONS, "-B", "-R", "-C", "-s 21"]
    )
