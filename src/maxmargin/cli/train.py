"""maxmargin train [options] DATA [MODEL]: min 1/2 |w|^2 + C sum_i s_i l(f(x_i); y_i), certified, into a file."""

from __future__ import annotations

import argparse

from ..files.formats import MODEL_FORMATS
from ..runtime.light_start import leave_out_scikit_learn
from .options import add_data_options, add_output_options, add_parameters, collect_parameters, integer
from .parser import Parser
from .short_options import IMITATED_PROGRAMS, LIBLINEAR_OPTIONS, LIBSVM_DEFAULTS, LIBSVM_OPTIONS, expand_short_options

USAGE = "[options] DATA [MODEL]"
DESCRIPTION = """Fit a machine to the rows of DATA and save it as MODEL, with its certificate: how far from optimal it
can be at most. Ctrl-C ends the fit and saves the best model so far; --resume continues it. The options of svm-train
work too (-s -t -c -g ...), and with --liblinear those of LIBLINEAR's train; each of them selects that program's
defaults and its model format."""


SHORT_OPTIONS_HELP = f"""Options of svm-train: {" ".join(LIBSVM_OPTIONS)}, -q; with --liblinear,
those of LIBLINEAR's train: {" ".join(LIBLINEAR_OPTIONS)}, -q. What they mean: docs/command_line.md."""


def make_parser(program: str, usage: str, description: str) -> argparse.ArgumentParser:
    """The options of train, which `maxmargin explain` has too."""
    parser = Parser(program, usage, description, epilog=SHORT_OPTIONS_HELP)
    parser.add_argument("data", metavar="DATA", help="LIBSVM text, .csv or .parquet; text also as .gz, .bz2 or .xz")
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="default: the name of DATA with .maxmargin, in this folder"
    )
    add_parameters(parser)
    add_switches(parser)
    group = parser.add_argument_group("the fit and its files")
    group.add_argument("--resume", metavar="MODEL", help="continue a model that was saved early, on the same data")
    group.add_argument("--to", choices=MODEL_FORMATS, help="format of MODEL, if its suffix does not say it")
    group.add_argument("--blocks", action="store_true", help="read DATA block by block, never whole; linear machines")
    imitated = group.add_mutually_exclusive_group()
    for name in IMITATED_PROGRAMS:
        imitated.add_argument(
            f"--{name}",
            dest="imitated_program",
            action="store_const",
            const=name,
            help=f"options, defaults and files of {name}",
        )
    add_data_options(parser)
    add_output_options(parser)
    return parser


def add_switches(parser: argparse.ArgumentParser) -> None:
    """Ways to train that write no model."""
    group = parser.add_argument_group("without a model")
    group.add_argument(
        "--folds", type=integer, metavar="N", default=argparse.SUPPRESS, help="cross-validate in N folds"
    )
    group.add_argument(
        "--find-C", action="store_true", default=argparse.SUPPRESS, help="find C by cross-validation (-C)"
    )


def parse(argv: list[str], program: str, usage: str = USAGE, description: str = DESCRIPTION) -> argparse.Namespace:
    """The arguments: long options, over short ones, over the defaults of the program whose short options they are."""
    parser = make_parser(program, usage, description)
    imitated_program = next((name for name in IMITATED_PROGRAMS if f"--{name}" in argv), None)
    argv = join_weights(argv)
    table, defaults = IMITATED_PROGRAMS.get(imitated_program, (LIBSVM_OPTIONS, LIBSVM_DEFAULTS))
    try:
        short_options, long_options = expand_short_options(argv, table)
    except ValueError as error:
        parser.error(str(error))
    arguments = parser.parse_intermixed_args(long_options)
    if short_options and imitated_program is None:
        arguments.imitated_program = "libsvm"
    short_option_parameters = (
        parse_short_options(short_options, defaults, program) if arguments.imitated_program else argparse.Namespace()
    )
    said = {"estimator": None, "folds": None, "find_C": False, **vars(short_option_parameters), **vars(arguments)}
    arguments.estimator, arguments.folds, arguments.find_C = said["estimator"], said["folds"], said["find_C"]
    check_switches(arguments, parser)
    arguments.given, arguments.short_option_parameters = (
        collect_parameters(arguments),
        collect_parameters(short_option_parameters),
    )
    arguments.explicit_short_parameters = collect_parameters(
        parse_short_options(short_options, [], program)
    )  # without the defaults of the program
    return arguments


def join_weights(argv: list[str]) -> list[str]:
    """--class-weight -1=5 as --class-weight=-1=5: argparse takes whatever begins with a dash for an option."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] == "--class-weight":
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def parse_short_options(short_options: list[str], defaults: list[str], program: str) -> argparse.Namespace:
    """The short options, expanded, over the defaults of their program."""
    parser = Parser(program, add_help=False)
    add_parameters(parser)
    add_switches(parser)
    return parser.parse_args([*defaults, *short_options])


def check_switches(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse what does not go together."""
    if arguments.folds is not None and arguments.folds < 2:
        parser.error(f"--folds (-v) must be 2 or more, got {arguments.folds}")
    exclusive = [argument for argument, on in (("--folds", arguments.folds), ("--find-C", arguments.find_C)) if on]
    if exclusive and (arguments.resume or arguments.blocks):
        parser.error(f"{exclusive[0]} cannot be combined with --resume or --blocks")
    if arguments.resume and arguments.imitated_program:
        parser.error("--resume continues a .maxmargin model, and takes no short options")


def asks_for_probabilities(arguments: argparse.Namespace) -> bool:
    """Whether the fit has folds, which are scikit-learn's."""
    return bool({**arguments.short_option_parameters, **arguments.given}.get("probability"))


def run(argv: list[str], program: str) -> int:
    """Read, fit, save, report; or cross-validate."""
    arguments = parse(argv, program)
    if not (arguments.folds or arguments.find_C or asks_for_probabilities(arguments)):
        leave_out_scikit_learn()
    from .fitting import fit, prepare_training

    training = prepare_training(arguments)
    if arguments.find_C:
        from .cost_search import search_cost

        return search_cost(training, arguments)
    if arguments.folds:
        from .cross_validation import cross_validate

        return cross_validate(training, arguments)
    return fit(training, arguments, program)
