"""maxmargin certify MODEL DATA: P, D and their gap of a saved machine, recomputed from its coefficients alone."""

from __future__ import annotations

import argparse
import math
import time

from .data import read_with_model
from .exit_codes import Exit, UsageError
from .machines import read_class_weight, set_parameters
from .options import add_data_options, add_output_options, add_parameters, collect_parameters
from .parser import Parser
from .report import describe_certificate, print_json

DESCRIPTION = """How far from optimal MODEL is on the DATA it was trained on, whichever program trained it: primal
value, dual value and the gap between them. The text files of LIBSVM and LIBLINEAR do not contain C, nu, epsilon and
class weights: pass those used for training."""


def make_parser(program: str) -> argparse.ArgumentParser:
    """The options of certify."""
    parser = Parser(program, "[options] MODEL DATA", DESCRIPTION)
    parser.add_argument("model", metavar="MODEL", help="a file of train, svm-train or LIBLINEAR's train")
    parser.add_argument("data", metavar="DATA", help="what it was trained on")
    add_parameters(parser)
    add_data_options(parser)
    add_output_options(parser)
    return parser


def run(argv: list[str], program: str) -> int:
    """Load, read, judge; a gap above --tol, or above the tol of a model of ours, is exit code 4."""
    parser = make_parser(program)
    arguments = parser.parse_intermixed_args(argv)
    from ..files import load
    from ..public import certify

    data, model = read_with_model(load(arguments.model), arguments, trained=True)
    given = collect_parameters(arguments)
    seconds = given.pop("max_seconds", 30.0)
    texts = given.pop("class_weight", None)
    asked = given.pop("tol", find_tolerance(model))
    set_parameters(model, given)
    check_known(model, arguments)
    if texts is not None:
        model.set_params(class_weight=read_class_weight(texts, data.y, strict=True))
    began = time.perf_counter()
    y = data.y if model.takes_targets else None
    certificate = certify(model, data.X, y, data.weight, max_seconds=seconds)
    reached = asked is None or certificate.relative_gap <= asked
    if arguments.json:
        print_json({"command": "certify", "estimator": type(model).__name__, "asked": asked, "reached": reached,
                    "certificate": describe_certificate(certificate), "seconds": time.perf_counter() - began,
                    "files": {"model": arguments.model, "data": arguments.data}})  # fmt: skip
    elif not arguments.quiet:
        print(certificate)
        if not reached:
            print(f"The relative gap is above {asked:g}.")
    return Exit.SUCCESS if reached else Exit.GAP_TOO_LARGE


def check_known(model, arguments: argparse.Namespace) -> None:
    """Refuse a problem of which something is not known: text files leave it out, and nan stands for it."""
    for name, value in model.get_params().items():
        if isinstance(value, float) and math.isnan(value):
            raise UsageError(f"{arguments.model} does not contain {name}: pass --{name}, as in training.")


def find_tolerance(model) -> float | None:
    """The gap that a model of ours was to reach; None where another rule ended its fit, or another program."""
    from ..solvers.automatic import has_own_stopping_rule

    own_rule = has_own_stopping_rule(model.solver)
    return model.tol if model.has_results and not own_rule else None
