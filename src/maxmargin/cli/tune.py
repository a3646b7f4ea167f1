"""maxmargin tune [options] DATA: argmax over C and gamma of the accuracy of cross-validation, as LIBSVM's grid.py."""

from __future__ import annotations

import argparse

from .exit_codes import UsageError
from .options import add_data_options, add_output_options, add_parameters, collect_parameters, integer
from .parser import Parser
from .short_options import LIBSVM_OPTIONS, expand_short_options

DESCRIPTION = """Score every C and gamma of a grid by cross-validation on the rows of DATA, and print the best, as
LIBSVM's grid.py does: its options work too (-log2c -log2g -v, and those of svm-train). --out trains the best
machine on all rows and saves it. --scale and --test do what easy.py does: scale, search, train, predict. Ctrl-C ends
the search and keeps the finished candidates."""
GRID_OPTIONS = ("-log2c", "-log2g", "--log2c", "--log2g")
DEFAULT_LOG2C, DEFAULT_LOG2G = "-5,15,2", "3,-15,-2"  # those of grid.py
MAX_VALUES = 1000  # of C or gamma


def make_parser(program: str) -> argparse.ArgumentParser:
    """The options of tune."""
    parser = Parser(program, "[options] DATA", DESCRIPTION)
    parser.add_argument("data", metavar="DATA", help="LIBSVM text, .csv or .parquet; text also as .gz, .bz2 or .xz")
    group = parser.add_argument_group("the search")
    for name, default in (("log2c", DEFAULT_LOG2C), ("log2g", DEFAULT_LOG2G)):
        letter = {"log2c": "C", "log2g": "gamma"}[name]
        group.add_argument(
            f"--{name}", metavar="BEGIN,END,STEP", help=f"powers of two for {letter}, or null; default {default}"
        )
    group.add_argument("--folds", type=integer, metavar="N", default=5, help="of cross-validation (-v), default 5")
    group.add_argument("--out", metavar="MODEL", help="train the best machine on all rows, and save it")
    group.add_argument("--scale", action="store_true", help="scale features to [-1, 1] first, and save the ranges")
    group.add_argument("--test", metavar="FILE", help="predict its rows with the best machine, into FILE.predict")
    add_parameters(parser)
    add_data_options(parser)
    add_output_options(parser)
    return parser


def parse(argv: list[str], program: str) -> argparse.Namespace:
    """The arguments, with what the reading of training data looks at."""
    parser = make_parser(program)
    try:
        short_options, long_options = expand_short_options(join_ranges(argv), LIBSVM_OPTIONS)
    except ValueError as error:
        parser.error(str(error))
    arguments = parser.parse_intermixed_args([*short_options, *long_options])
    if arguments.folds < 2:
        parser.error(f"--folds (-v) must be 2 or more, got {arguments.folds}")
    arguments.estimator = vars(arguments).get("estimator")
    arguments.given, arguments.short_option_parameters = collect_parameters(arguments), {}
    arguments.resume = arguments.imitated_program = arguments.model = arguments.to = None
    arguments.blocks = arguments.find_C = False
    try:
        arguments.log2c = read_range("log2c", arguments.log2c or DEFAULT_LOG2C)
        arguments.log2g = read_range("log2g", arguments.log2g) if arguments.log2g else None
    except UsageError as error:
        parser.error(str(error))
    return arguments


def join_ranges(argv: list[str]) -> list[str]:
    """-log2c -5,15,2 as --log2c=-5,15,2: argparse takes whatever begins with a dash for an option."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] in GRID_OPTIONS:
            joined[-1] = f"--{joined[-1].lstrip('-')}={argument}"
        else:
            joined.append(argument)
    return joined


def read_range(name: str, text: str) -> list[float]:
    """begin,end,step as the numbers from begin to end; null as none."""
    if text == "null":
        return []
    try:
        begin, end, step = map(float, text.split(","))
        count = int((end - begin) / step + 1e-9) + 1
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"--{name} must be begin,end,step with a step towards end, or null, got {text!r}") from None
    if not 1 <= count <= MAX_VALUES:
        raise UsageError(f"--{name} must have 1 to {MAX_VALUES} values, got {text!r}")
    return [begin + place * step for place in range(count)]


def run(argv: list[str], program: str) -> int:
    """Read, search, print; train, save and predict if asked for."""
    arguments = parse(argv, program)
    from .grid import tune

    return tune(arguments, program)
