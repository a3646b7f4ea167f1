"""maxmargin convert IN OUT: data as LIBSVM text, CSV or Parquet; models as ours, LIBSVM's, LIBLINEAR's or ONNX."""

from __future__ import annotations

import argparse
from pathlib import Path

from .data import detect_data_format, read
from .exit_codes import Exit, UsageError
from .formats import MODEL_FORMATS, ONNX, choose_format, detect_model_format, write_model
from .options import add_data_options, add_output_options
from .outputs import check_not_overwriting
from .parser import Parser
from .report import print_json
from .written_data import write_data

DATA_FORMATS = ("libsvm", "csv", "parquet")
MODEL_SUFFIXES = (".maxmargin", ".model", ".onnx")
DESCRIPTION = """Write IN in another format, which the suffix of OUT says, or --to. Data: .csv, .parquet, and LIBSVM
text under any other name. Models: .maxmargin, .onnx, and .model for the text of LIBSVM (kernel machines) or LIBLINEAR
(linear ones). What a format cannot hold is refused."""


def make_parser(program: str) -> argparse.ArgumentParser:
    """The words of convert."""
    parser = Parser(program, "[options] IN OUT", DESCRIPTION)
    parser.add_argument("data", metavar="IN", help="data or a model")
    parser.add_argument("out", metavar="OUT", help="the same, written anew")
    parser.add_argument("--to", choices=dict.fromkeys((*DATA_FORMATS, *MODEL_FORMATS)), help="what OUT is to be")
    add_data_options(parser)
    add_output_options(parser)
    return parser


def run(argv: list[str], program: str) -> int:
    """Data if IN does not begin as a model does."""
    arguments = make_parser(program).parse_intermixed_args(argv)
    check_not_overwriting(arguments.out, "OUT", {"IN": arguments.data})
    record = {"command": "convert", "files": {"in": arguments.data, "out": arguments.out}}
    if Path(arguments.data).is_file() and detect_model_format(arguments.data) is not None:
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
    kind = arguments.to or detect_data_format(arguments.out)
    if kind not in DATA_FORMATS:
        raise UsageError(f"--to {kind} is for models, and {arguments.data} is none.")
    if arguments.to is None and Path(arguments.out).suffix in MODEL_SUFFIXES:
        raise UsageError(f"{arguments.out} is the name of a model, and {arguments.data} is none.")
    data = read(arguments, keep_sparse=True)
    write_data(arguments.out, data, kind)
    return {"format": kind, "rows": data.X.shape[0], "features": data.X.shape[1]}


def convert_model(arguments: argparse.Namespace) -> dict:
    """Load it, and write it; of ONNX, by how much its decision values differ."""
    from ..files import export_onnx, load

    model = load(arguments.data)
    name = type(model).__name__
    if arguments.to is None and Path(arguments.out).suffix not in MODEL_SUFFIXES:
        raise UsageError(f"{arguments.out} names no format of models: .maxmargin, .model and .onnx do, and --to.")
    kind = choose_format(arguments.out, arguments.to, None, name)
    if kind not in MODEL_FORMATS:
        raise UsageError(f"--to {kind} is for data, and {arguments.data} is a model.")
    if kind == ONNX:
        return {"format": kind, "estimator": name, "largest difference": float(export_onnx(model, arguments.out))}
    write_model(model, arguments.out, kind)
    return {"format": kind, "estimator": name}
