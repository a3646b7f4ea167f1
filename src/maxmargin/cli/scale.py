"""maxmargin scale [options] DATA: x -> lower + (upper - lower) (x - low) / (high - low), feature by feature."""

from __future__ import annotations

import argparse

import numpy as np

from ..files.formats import find_data_format
from .data import read
from .data_output import write_data
from .exit_codes import Exit
from .options import add_data_options, number
from .outputs import check_not_overwriting
from .parser import Parser
from .short_options import SCALE_OPTIONS, expand_short_options

DESCRIPTION = """Scale every feature of DATA to [lower, upper] and write the rows to stdout, as svm-scale does.
--save stores the ranges, and --restore reads those of another file: scale test data with the ranges of the training
data."""


def make_parser(program: str) -> argparse.ArgumentParser:
    """The options of scale."""
    parser = Parser(program, "[options] DATA", DESCRIPTION)
    parser.add_argument("data", metavar="DATA", help="LIBSVM text, .csv or .parquet")
    parser.add_argument("--lower", type=number, default=-1.0, metavar="NUMBER", help="of features (-l), default -1")
    parser.add_argument("--upper", type=number, default=1.0, metavar="NUMBER", help="of features (-u), default 1")
    parser.add_argument("--target-lower", type=number, metavar="NUMBER", help="of targets (-y), default: not scaled")
    parser.add_argument("--target-upper", type=number, metavar="NUMBER", help="of targets (-y)")
    parser.add_argument("--save", metavar="FILE", help="write the ranges (-s)")
    parser.add_argument("--restore", metavar="FILE", help="read the ranges from a file (-r)")
    parser.add_argument("--out", metavar="FILE", help="default: stdout; .csv and .parquet are tables")
    add_data_options(parser)
    return parser


def run(argv: list[str], program: str) -> int:
    """Find or restore the ranges, scale, write."""
    parser = make_parser(program)
    try:
        short_options, long_options = expand_short_options(argv, SCALE_OPTIONS)
    except ValueError as error:
        parser.error(str(error))
    arguments = parser.parse_intermixed_args([*short_options, *long_options])
    if arguments.save and arguments.restore:
        parser.error("--save (-s) and --restore (-r) cannot be combined")
    if (arguments.target_lower is None) != (arguments.target_upper is None):
        parser.error("--target-lower and --target-upper (-y) must be given together")
    check_not_overwriting(arguments.out, "--out", {"DATA": arguments.data})
    data = read_with_literal_indices(arguments)
    ranges = take_ranges(data, arguments)
    y = data.y if ranges.target is None else ranges.scale_target(data.y)
    write_data(arguments.out, data._replace(X=ranges.scale(data.X), y=y))
    return Exit.SUCCESS


def read_with_literal_indices(arguments: argparse.Namespace):
    """The data; of LIBSVM text column j is index j, as it is written.

    A file that lacks the first feature would else be taken for one that counts from 1, and its ranges for others.
    """
    if not find_data_format(arguments.data).is_table and arguments.zero_based == "auto":
        arguments.zero_based = "yes"
        arguments.n_features = arguments.n_features and arguments.n_features + 1
    return read(arguments, keep_sparse=True)


def take_ranges(data, arguments: argparse.Namespace):
    """The ranges of a file, or those of the data, kept if asked for."""
    from ..files import find_ranges, read_ranges, write_ranges

    zero_based = data.first_index == 0
    if arguments.restore:
        ranges = read_ranges(arguments.restore, zero_based=zero_based)
        if data.names is not None and ranges.features.max(initial=-1) >= data.X.shape[1]:
            told = f"{arguments.restore} has ranges of {ranges.features.max() + 1}"
            raise ValueError(f"{arguments.data} has {data.X.shape[1]} features, and {told}.")
        return ranges
    if arguments.target_lower is not None and not np.issubdtype(data.y.dtype, np.number):
        raise ValueError(f"--target-lower (-y) needs targets that are numbers, and {arguments.data} has {data.y[0]!r}.")
    target = None if arguments.target_lower is None else (arguments.target_lower, arguments.target_upper)
    ranges = find_ranges(data.X, data.y, lower=arguments.lower, upper=arguments.upper, target=target)
    if arguments.save:
        write_ranges(arguments.save, ranges, zero_based=zero_based)
    return ranges
