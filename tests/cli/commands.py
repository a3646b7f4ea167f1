"""Commands run in this process, and what they must print."""

from __future__ import annotations

from maxmargin.cli import main
from maxmargin.cli.exit_codes import Exit

CERTIFICATE = ("primal", "dual", "relative gap", "KKT violation")


def run(*argv: object) -> int:
    """The exit code of a command in this process."""
    return main([str(argument) for argument in argv])


def assert_refused(capsys, code: Exit, sentence: str, *argv: object) -> None:
    """A command ends with a code and one sentence on stderr, and says nothing else."""
    assert run(*argv) == code
    out, err = capsys.readouterr()
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
