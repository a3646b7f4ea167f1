"""maxmargin train --resume MODEL DATA: the fit goes on from the duals in the model file."""

from __future__ import annotations

import argparse

from ..certificates.data_hash import hash_data
from ..files import load
from ..files.formats import detect_model_format
from .exit_codes import UsageError
from .fitting import Training, read_training_data
from .machines import read_class_weight, set_parameters


def open_for_resume(arguments: argparse.Namespace) -> Training:
    """The machine of a model file, to be fitted further with the parameters that are given, and its data."""
    kind = detect_model_format(arguments.resume)
    if kind is None or not kind.is_complete:
        raise ValueError(f"--resume needs a .maxmargin file, which has the duals, and {arguments.resume} is not one.")
    machine = load(arguments.resume)
    name = type(machine).__name__
    if arguments.estimator not in (None, name):
        raise UsageError(f"--estimator {arguments.estimator} does not suit {arguments.resume}, which holds a {name}.")
    parameters = dict(arguments.given)
    texts = parameters.pop("class_weight", None)
    set_parameters(machine, parameters)
    training = read_training_data(machine, arguments)
    if training.hashed_data:
        check_hash(training, arguments)
    if texts is not None:
        machine.set_params(class_weight=read_class_weight(texts, training.y, strict=True))
    return training


def check_hash(training: Training, arguments: argparse.Namespace) -> None:
    """The data are those of the model file, row by row."""
    kept = vars(training.machine).get("data_hash_")
    if kept is None:
        raise ValueError(f"{arguments.resume} does not say on which data it was trained, so it cannot be resumed.")
    if kept != hash_data(*training.hashed_data):
        raise ValueError(
            f"{arguments.data} is not the data that {arguments.resume} was trained on; give that file, or train again "
            "without --resume."
        )
