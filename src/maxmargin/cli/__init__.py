"""maxmargin COMMAND [options]: the library from a shell, one file per command.

Nothing heavy is imported before a command needs it: `maxmargin --help` answers in a tenth of a second.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

from ..runtime.light_start import end_process, own_process
from .exit_codes import Exit, Terminated, UsageError
from .script import is_program, run_program

PYTHON_SCALERS = re.compile("StandardScaler(,| or) MinMaxScaler")  # how users of Python are told to scale
SHELL_OPTIONS = {"lower=0": "--lower 0", "header=True": "--header yes", "delimiter=": "--delimiter "}
PATH_ARGUMENT = re.compile(r"\bpath='([^']*)'")  # how errors name a file to users of Python
COMMANDS = {
    "train": "fit a machine to a file of data and save it with its certificate",
    "predict": "predict the rows of a file with a saved machine",
    "tune": "find the best C and gamma by cross-validation, as LIBSVM's grid.py does",
    "scale": "scale features to a range, and save the ranges",
    "certify": "recompute how far from optimal a saved machine is, whichever program trained it",
    "convert": "convert data or machines from one format to another",
    "solvers": "list the solvers and what each of them takes",
    "explain": "predict the solver, the memory and the time of a fit",
    "compile": "compile ahead of the first fit, for images and read-only installations",
    "demo": "fit a small real data set, or write some to files",
    "play": "draw points in the browser, and watch the solvers at work",
    "bench": "run the benchmarks, which need the repository",
}


def main(argv: list[str] | None = None, program: str = "maxmargin") -> int:
    """Run a command and return its exit code, see `Exit`.

    Parameters
    ----------
    argv : list of str, optional
        The arguments after the name of the program; by default those of this process.
    program : str
        The name of the program, for messages.
    """
    whole_process = argv is None
    if whole_process and is_program(sys.argv[1:]):
        return run_program(sys.argv[1:])
    if whole_process:
        own_process()
    code = run(sys.argv[1:] if argv is None else list(argv), program)
    if whole_process and code in (Exit.INTERRUPTED, Exit.TERMINATED):
        # A thread may still be within a compiled loop, and the interpreter would wait for it.
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    if whole_process:
        end_process()
    return code


def run(argv: list[str], program: str) -> int:
    """The exit code of a command; whatever is wrong becomes one sentence on stderr."""
    name = program
    try:
        if argv[:1] == ["help"]:
            argv = [*argv[1:2], "--help"]
        if not argv or argv[0] not in COMMANDS:
            return parse_program(argv, program)
        name = f"{program} {argv[0]}" if program == "maxmargin" else program
        command = import_module(f".{argv[0]}", __package__)
        with print_warnings(name):
            code = command.run(argv[1:], name)
            sys.stdout.flush()
        return int(code)
    except SystemExit as leave:  # argparse has printed help, or what it did not understand
        return int(leave.code or 0)
    except KeyboardInterrupt as stop:
        print_to_stderr(f"{name}: interrupted.")
        return Exit.TERMINATED if isinstance(stop, Terminated) else Exit.INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed it
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.SUCCESS
    except UsageError as error:
        print_to_stderr(f"{name}: {error}")
        return Exit.USAGE
    except (ValueError, OSError, ImportError, MemoryError, OverflowError) as error:
        print_to_stderr(f"{name}: {describe(error)}")
        if "--json" in argv:
            print(json.dumps({"command": argv[0], "error": describe(error)}))
        return Exit.BAD_INPUT


def parse_program(argv: list[str], program: str) -> int:
    """--help, --version, or a command that there is not."""
    from ..runtime.version import __version__
    from .parser import Parser, suggest_nearest

    listed = ", ".join(COMMANDS)
    lines = "\n".join(f"  {name:9s} {purpose}" for name, purpose in COMMANDS.items())
    parser = Parser(
        program, "COMMAND [options], or SCRIPT.py [arguments]",
        "Support vector machines that tell you how good they are.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"commands:\n{lines}\n\n`{program} COMMAND --help` explains a command. "
        "A program SCRIPT.py, or -m MODULE,\nis run with our classes in sklearn.svm.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parsed, unknown = parser.parse_known_args(argv)
    if parsed.command is not None and os.path.exists(parsed.command):
        parser.error(f"{parsed.command} is a file; put a command before it, such as train")
    if parsed.command is not None:
        hint = suggest_nearest(parsed.command, COMMANDS) or f"; choose from {listed}"
        parser.error(f"there is no command {parsed.command!r}{hint}")
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    parser.print_help(sys.stderr)
    return Exit.USAGE


def describe(error: Exception) -> str:
    """An error in one sentence."""
    if isinstance(error, MemoryError):
        return f"There is not enough memory: {error}" if str(error) else "There is not enough memory."
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, OSError) and error.strerror:
        return translate_to_shell(error.strerror)
    return translate_to_shell(str(error))


def translate_to_shell(text: str) -> str:
    """What the library says, in terms of the command line."""
    text = PYTHON_SCALERS.sub("maxmargin scale", PATH_ARGUMENT.sub(r"\1", " ".join(text.split())))
    for word, option in SHELL_OPTIONS.items():
        text = text.replace(word, option)
    return text


def print_to_stderr(sentence: str) -> None:
    """For people, on stderr."""
    with suppress(OSError):
        print(sentence, file=sys.stderr, flush=True)


@contextmanager
def print_warnings(name: str) -> Iterator[None]:
    """Within this context a warning is a sentence on stderr, without the place in the code where it was raised."""

    def show(message, category, filename, lineno, file=None, line=None):
        print_to_stderr(f"{name}: {translate_to_shell(str(message))}")

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.filterwarnings("ignore", "The `probability` parameter", FutureWarning)
        warnings.showwarning = show
        yield
