"""maxmargin convert IN OUT: data as LIBSVM text, CSV or Parquet; models as ours, LIBSVM's, LIBLINEAR's or ONNX."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..files.formats import (
    DATA_FORMATS,
    MODEL_FORMATS,
    find_data_format,
    is_model_file,
    join_words,
    list_suffixes,
)
from .data import read
from .data_output import write_data
from .exit_codes import Exit, UsageError
from .formats import choose_format, write_model
from .options import add_data_options, add_output_options
from .outputs import check_not_overwriting
from .parser import Parser
from .report import print_json

DESCRIPTION = """Write IN in another format, which the suffix of OUT says, or --to. Data: .csv, .parquet, and LIBSVM
text under any other name. Models: .maxmargin, .onnx, and .model for the text of LIBSVM (kernel machines) or LIBLINEAR
(linear ones). Models and data that a format cannot hold raise an error."""


def make_parser(program: str) -> argparse.ArgumentParser:
    """The options of convert."""
    parser = Parser(program, "[options] IN OUT", DESCRIPTION)
    parser.add_argument("data", metavar="IN", help="data or a model")
    parser.add_argument("out", metavar="OUT", help="the same in another format")
    writable = [name for name, kind in DATA_FORMATS.items() if kind.can_write]
    formats = dict.fromkeys((*writable, *MODEL_FORMATS))
    parser.add_argument("--to", choices=formats, help="format of OUT, if its suffix does not say it")
    add_data_options(parser)
    add_output_options(parser)
    return parser


def run(argv: list[str], program: str) -> int:
    """A model if IN is the file of one, else data."""
    arguments = make_parser(program).parse_intermixed_args(argv)
    check_not_overwriting(arguments.out, "OUT", {"IN": arguments.data})
    record = {"command": "convert", "files": {"in": arguments.data, "out": arguments.out}}
    if is_model_file(arguments.data):
        told = convert_model(arguments)
    else:
        told = convert_data(arguments)
    if arguments.json:
        print_json({**record, **told})
    elif not arguments.quiet:
        print(f"{arguments.out}: {', '.join(f'{key} {value}' for key, value in told.items())}")
    return Exit.SUCCESS


def convert_data(arguments: argparse.Namespace) -> dict:
    """Read all of it, and write it."""
    if arguments.to is not None and arguments.to not in DATA_FORMATS:
        raise UsageError(f"--to {arguments.to} is for models, and {arguments.data} is not one.")
    if arguments.to is None and names_model(arguments.out):
        raise UsageError(f"{arguments.out} is the name of a model file, and {arguments.data} is not a model.")
    kind = find_data_format(arguments.out) if arguments.to is None else DATA_FORMATS[arguments.to]
    data = read(arguments, keep_sparse=True)
    write_data(arguments.out, data, kind)
    return {"format": kind.name, "rows": data.X.shape[0], "features": data.X.shape[1]}


def convert_model(arguments: argparse.Namespace) -> dict:
    """Load it, and write it; of ONNX, by how much its decision values differ."""
    from ..files import load

    model = load(arguments.data)
    if arguments.to is None and not names_model(arguments.out):
        known = join_words(list(dict.fromkeys(list_suffixes(MODEL_FORMATS.values()))), "and")
        raise UsageError(f"{arguments.out} has no suffix of a model format: use {known}, or --to.")
    if arguments.to is not None and arguments.to not in MODEL_FORMATS:
        raise UsageError(f"--to {arguments.to} is for data, and {arguments.data} is a model.")
    kind = choose_format(arguments.out, arguments.to, None, type(model))
    return {"format": kind.name, "estimator": type(model).__name__, **write_model(model, arguments.out, kind)}


def names_model(path: str) -> bool:
    """Whether the suffix of a path is one of model files."""
    return any(kind.has_suffix(Path(path).suffix) for kind in MODEL_FORMATS.values())
