"""The program `maxmargin` itself: its version, its help, wrong usage, and what it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest
from commands import run

import maxmargin
from maxmargin.cli import COMMANDS
from maxmargin.cli.exit_codes import Exit


def test_version(capsys):
    """--version is that of the library."""
    assert run("--version") == Exit.SUCCESS
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    """COMMAND --help names its options and ends well."""
    if command == "bench":
        return  # it hands its arguments on
    assert run(command, "--help") == Exit.SUCCESS
    assert capsys.readouterr().out.startswith(f"usage: maxmargin {command}")


def test_help_lists_the_commands(capsys):
    """Every command with what it does."""
    assert run("--help") == Exit.SUCCESS
    out = capsys.readouterr().out
    assert all(f"  {name}" in out and purpose in out for name, purpose in COMMANDS.items())


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["fly"], "there is no command 'fly'; choose from train, predict"),
        (["trian"], "there is no command 'trian'; did you mean train?"),
        (["train"], "the following arguments are required: DATA"),
        (["train", "a", "b", "c"], "one file too many: c"),
        (["train", "--fast", "a"], "there is no option --fast"),
        (["train", "--c", "1", "a"], "there is no option --c; did you mean --C?"),
        (["predict", "--probabilities", "a", "b"], "there is no option --probabilities; did you mean --probability?"),
    ],
    ids=str,
)
def test_wrong_usage(argv, sentence, capsys):
    """argparse's code, and a sentence that helps."""
    assert run(*argv) == Exit.USAGE
    assert f"error: {sentence}" in capsys.readouterr().err


def test_no_command_is_a_cry_for_help(capsys):
    """The list of commands, for those who type the name of the program, or help."""
    assert run() == Exit.USAGE
    asked = capsys.readouterr().err
    assert run("help") == Exit.SUCCESS
    assert capsys.readouterr().out == asked
    assert run("help", "scale") == Exit.SUCCESS
    assert capsys.readouterr().out.startswith("usage: maxmargin scale")


@pytest.mark.parametrize(
    ("argv", "guests"),
    [
        (["--version"], ["numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas"]),
        (["train", "--help"], ["numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas"]),
        (["solvers"], ["sklearn", "numba", "matplotlib", "dask", "pandas"]),
    ],
    ids=["version", "help", "solvers"],
)
def test_what_needs_nothing_loads_nothing(argv, guests):
    """A process that only prints does not wait for libraries."""
    code = (
        f"import sys; from maxmargin.cli import main; code = main({argv!r}); "
        f"loaded = [name for name in {guests!r} if name in sys.modules]; sys.exit(f'{{loaded}}' if loaded else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_as_a_module():
    """python -m maxmargin is the same program."""
    done = subprocess.run(
        [sys.executable, "-m", "maxmargin", "solvers"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "smo" in done.stdout


@pytest.mark.slow
def test_a_pipe_that_is_closed_early():
    """A pipe that is closed early is no error."""
    command = f"{sys.executable} -m maxmargin solvers --markdown | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("# Solvers\n", "")
