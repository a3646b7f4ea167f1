"""One fit from a command line: the machine and its data, the fit that Ctrl-C may end, the model file, the report."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..contracts.blocks import Blocks
from ..contracts.estimators import Estimator
from ..contracts.files import ModelFormat
from ..runtime.interrupt import watch_interrupt
from . import print_to_stderr
from .data import open_in_blocks, pop_feature_names, read, reads_in_blocks
from .exit_codes import Exit
from .formats import choose_format, default_model_path
from .machines import has_parameter, make_machine, read_class_weight
from .report import count, describe_certificate, describe_fit, describe_parameters, name_solvers, print_json
from .saving import check_destination, save_model, treat_sigterm_as_interrupt
from .short_options import IGNORED_PARAMETERS

MAX_GUESSED_CLASSES = 20  # classes; more of them than half the rows are hardly classes


class Training(NamedTuple):
    """A machine that is to be fitted, and what on: arrays, or blocks that hold their own targets."""

    machine: Estimator
    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    query: np.ndarray | None
    names: list[str] | None = None  # of the features, where they come from a table
    first_index: int | None = None  # of the features, where they come from LIBSVM text

    @property
    def hashed_data(self) -> tuple:
        """X, y and weights of which a model file keeps the hash; nothing of data in blocks."""
        if isinstance(self.X, Blocks):
            return ()
        return self.X, self.y if self.machine.takes_targets else None, self.weight


def prepare_training(arguments: argparse.Namespace) -> Training:
    """The machine that the options ask for, and the data of the file."""
    if arguments.resume:
        from .resume import open_for_resume

        return open_for_resume(arguments)
    name = arguments.estimator or "SVC"
    parameters = {**keep_known_parameters(arguments.short_option_parameters, name), **arguments.given}
    texts = parameters.pop("class_weight", None)
    machine = make_machine(name, parameters)
    if texts is not None and not has_parameter(name, "class_weight"):
        make_machine(name, {"class_weight": None})  # refuses it in a sentence
    if parameters.get("probability") and machine.random_state is None:  # the same command, the same model
        machine.set_params(random_state=0)
    training = read_training_data(machine, arguments)
    if texts is not None:
        strict = "class_weight" in arguments.given
        machine.set_params(class_weight=read_class_weight(texts, training.y, strict))
    return training


def keep_known_parameters(parameters: dict, name: str) -> dict:
    """The parameters of short options and their defaults that the machine has; the programs ignore the rest too."""
    if parameters.get("probability") and not has_parameter(name, "probability"):
        warnings.warn(f"-b 1 is left out: {name} has no probabilities.", UserWarning, stacklevel=2)
    unused = IGNORED_PARAMETERS.get(name, ())
    return {key: value for key, value in parameters.items() if has_parameter(name, key) and key not in unused}


def read_training_data(machine, arguments: argparse.Namespace) -> Training:
    """The data in the form that the machine wants."""
    name = type(machine).__name__
    if reads_in_blocks(arguments, type(machine), needs_all=bool(arguments.folds or arguments.find_C)):
        blocks = open_in_blocks(arguments, machine)
        return Training(machine, blocks, None, None, None, first_index=blocks.first_index)
    precomputed = machine.is_kernel_matrix
    data = read(arguments, model=machine, precomputed=precomputed, features=pop_feature_names(machine), trained=True)
    if precomputed:
        check_square(data.X, arguments.data)
    if data.y is not None and machine.task == "classification" and len(np.unique(data.y)) == 1:
        raise ValueError(f"{arguments.data} has only the label {data.y[0]}, but {name} needs two classes or more.")
    check_targets(data.y, machine, arguments.data)
    if arguments.estimator is None:
        check_default_estimator(data.y, arguments.data)
    if data.y is None and machine.takes_targets:
        raise ValueError(f"{arguments.data} has no targets, but {name} needs them; name their column with --target.")
    return Training(machine, *data[:6])


def check_square(K: np.ndarray, path: str) -> None:
    """Kernel values of every row with every row."""
    rows, columns = K.shape
    if rows != columns:
        raise ValueError(
            f"{path} must have a kernel value for each of its {rows} rows in every row, as 0:number 1:value 2:value "
            f"..., and has {columns}."
        )


def check_targets(y: np.ndarray | None, machine: Estimator, path: str) -> None:
    """Labels for classifiers, numbers for regression."""
    if y is None or not machine.takes_targets:
        return
    name, numbers = type(machine).__name__, np.issubdtype(y.dtype, np.number)
    if machine.task == "classification" and numbers and (y != np.round(y)).any():
        fractional = y[y != np.round(y)][0]
        raise ValueError(
            f"{path} has targets such as {fractional:g}, and {name} needs labels of classes; for numbers take "
            "--estimator SVR "
            "or LinearSVR (-s 3)."
        )
    if machine.task != "classification" and not numbers:
        raise ValueError(f"{path} has targets such as {str(y[0])!r}, and {name} needs numbers.")


def check_default_estimator(y: np.ndarray | None, path: str) -> None:
    """SVC is only the default: refuse targets that look like the numbers of a regression."""
    n_distinct = 0 if y is None else len(np.unique(y))
    if n_distinct > MAX_GUESSED_CLASSES and 2 * n_distinct > len(y):
        raise ValueError(
            f"{path} has {n_distinct} different targets in {len(y)} rows: say what they are, --estimator SVR for "
            "numbers or --estimator SVC for labels."
        )


# ---- the fit --------------------------------------------------------------------------------------------------------


def fit(training: Training, arguments: argparse.Namespace, program: str) -> int:
    """Fit, save and report; the exit code says how it ended."""
    machine = training.machine
    path = arguments.model or arguments.resume or default_model_path(arguments.data, arguments.imitated_program)
    kind = choose_format(path, arguments.to, arguments.imitated_program, type(machine))
    check_destination(training, path, kind, arguments.data, careful=arguments.imitated_program is None)
    settings = {"verbose": int(sys.stderr.isatty() and not arguments.quiet)}
    if arguments.resume:
        settings["warm_start"] = True
    began = time.perf_counter()
    with treat_sigterm_as_interrupt() as terminated:
        interrupted = fit_until_interrupted(training, settings)
        seconds = time.perf_counter() - began
        store_feature_origin(training, arguments.imitated_program)
        # A first Ctrl-C that comes now waits for the file: the fit is over, and would be lost.
        with nullcontext() if interrupted else watch_interrupt() as late:
            save_model(training, path, kind)
    report(training, arguments, path, kind, seconds)
    if interrupted or late:
        print_to_stderr(f"{program}: {describe_interruption(machine, path, kind, arguments.data, seconds)}")
        return Exit.TERMINATED if terminated else Exit.INTERRUPTED
    finished = all(result.converged for result in machine.results_) and not lacks_probabilities(machine)
    return Exit.SUCCESS if finished else Exit.UNFINISHED


def lacks_probabilities(machine: Estimator) -> bool:
    """Whether the fit ended before the folds did of which its probabilities are made."""
    return machine.wants_probabilities and not machine.has_probabilities


def describe_interruption(machine: Estimator, path: str, kind: ModelFormat, data: str, seconds: float) -> str:
    """What was kept when Ctrl-C came, and what one can do with it."""
    sentences = [f"interrupted after {seconds:.3g} s; the best model so far is in {path}"]
    if not np.isfinite(machine.certificate_.gap):
        sentences.append(f"`maxmargin certify {path} {data}` certifies it")
    if lacks_probabilities(machine):
        sentences.append("it has no probabilities yet")
    if kind.is_complete:
        sentences.append(f"`maxmargin train --resume {path} {data}` continues it")
    return "; ".join(sentences) + "."


def fit_until_interrupted(training: Training, settings: dict[str, object]) -> bool:
    """Fit the machine, with some settings for this fit only; True if Ctrl-C ended it and the best point was kept.

    An estimator may have a setting as an attribute of its class in place of a parameter, so they are attributes here.
    """
    machine = training.machine
    attributes = vars(machine)
    saved = {name: attributes[name] for name in settings if name in attributes}
    before = attributes.pop("n_iter_", None)  # what is set when a machine is whole
    attributes.update(settings)
    try:
        fit_machine(training)
    except KeyboardInterrupt:
        if "n_iter_" not in vars(machine):
            raise
        return True
    finally:
        for name in settings:
            del attributes[name]
        attributes.update(saved)
        if "n_iter_" not in vars(machine) and before is not None:
            machine.n_iter_ = before
    return False


def store_feature_origin(training: Training, imitated_program: str | None) -> None:
    """What the features were called in the file: tables may have another order, texts may lack the first feature.

    Model files of LIBSVM have the labels in the order in which they came, but 1 before -1 (svm.cpp, svm_train).
    """
    machine = training.machine
    if imitated_program == "libsvm" and (machine.family, machine.task) == ("kernel", "classification"):
        labels, first = np.unique(training.y, return_index=True)
        signed = np.array_equal(labels, [-1, 1])
        machine._preference = np.array([1, 0]) if signed else np.argsort(first)
    if training.names is not None and len({*training.names}) == len(training.names):
        machine.feature_names_in_ = np.array(training.names, dtype=object)
    vars(machine).pop("first_index_", None)
    if training.first_index is not None and not machine.is_kernel_matrix:
        machine.first_index_ = training.first_index


def fit_machine(training: Training) -> None:
    """machine.fit with what its data have."""
    machine, X, y, weight, query, *_ = training
    fit_arguments = {} if weight is None else {"sample_weight": weight}
    if machine.takes_queries:
        fit_arguments["group"] = query
    if y is None:
        machine.fit(X, **fit_arguments)
    else:
        machine.fit(X, y, **fit_arguments)


# ---- the report -----------------------------------------------------------------------------------------------------


def report(training: Training, arguments: argparse.Namespace, path: str, kind: ModelFormat, seconds: float) -> None:
    """What was fitted, how it ended, where it is, and last its certificate."""
    machine = training.machine
    if arguments.json:
        print_json(describe_training(training, arguments, path, kind, seconds))
        return
    if arguments.quiet:
        return
    print(f"{arguments.data}: {describe_data(training)}")
    print(f"{describe_fit(machine)}, {seconds:.3g} s")
    print(f"saved as {path}")
    print(machine.certificate_)


def describe_data(training: Training) -> str:
    """Rows, features and classes."""
    rows = training.X.n if isinstance(training.X, Blocks) else training.X.shape[0]
    parts = [] if rows is None else [count(rows, "row")]
    parts.append(count(training.machine.n_features_in_, "feature"))
    text = " of ".join(parts)
    machine = training.machine
    return f"{text}, {len(machine.classes_)} classes" if machine.task == "classification" else text


def describe_training(
    training: Training, arguments: argparse.Namespace, path: str, kind: ModelFormat, seconds: float
) -> dict:
    """The same for programs."""
    machine = training.machine
    return {
        "command": "train",
        "estimator": type(machine).__name__,
        "status": machine.result_.status.value,
        "message": machine.result_.message,
        "certificate": describe_certificate(machine.certificate_),
        "seconds": seconds,
        "solver": name_solvers(machine.results_),
        "iterations": sum(result.n_iter for result in machine.results_),
        "support_vectors": len(machine.support_) if machine.family == "kernel" else None,
        "classes": machine.classes_ if machine.task == "classification" else None,
        "parameters": describe_parameters(machine),
        "files": {"data": arguments.data, "model": path, "format": kind.name},
    }
