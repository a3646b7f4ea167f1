"""maxmargin predict [options] DATA MODEL [OUT]: what a saved machine predicts for the rows of a file, one per line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..contracts.estimators import Estimator
from ..files.formats import detect_model_format
from ..runtime.light_start import leave_out_scikit_learn
from .data import open_in_blocks, read_with_model, reads_in_blocks
from .exit_codes import Exit
from .machines import name_label
from .options import add_data_options, add_output_options
from .outputs import check_not_overwriting, is_stdout, open_output
from .parser import Parser
from .report import print_json
from .score import Score
from .short_options import PREDICT_OPTIONS, expand_short_options

BATCH_ROWS = 20_000  # that are predicted in one go
DESCRIPTION = """Predict the rows of DATA with MODEL, which may be ours, LIBSVM's or LIBLINEAR's, and write a line for
each to OUT, or to stdout. The targets in DATA are compared with the predictions."""


def make_parser(program: str) -> argparse.ArgumentParser:
    """The options of predict."""
    parser = Parser(program, "[options] DATA MODEL [OUT]", DESCRIPTION)
    parser.add_argument("data", metavar="DATA", help="LIBSVM text, .csv or .parquet")
    parser.add_argument("model", metavar="MODEL", help="a file of train, svm-train or LIBLINEAR's train")
    parser.add_argument("out", metavar="OUT", nargs="?", help="default: stdout, and the accuracy on stderr")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--probability", action="store_true", help="the probabilities of the classes after each label (-b 1)"
    )
    kind.add_argument("--decisions", action="store_true", help="the decision values after each label")
    parser.add_argument("--blocks", action="store_true", help="read DATA block by block, never whole")
    imitated = parser.add_mutually_exclusive_group()
    imitated.add_argument(
        "--libsvm", dest="imitated_program", action="store_const", const="libsvm", help="print what svm-predict prints"
    )
    imitated.add_argument(
        "--liblinear",
        dest="imitated_program",
        action="store_const",
        const="liblinear",
        help="print what LIBLINEAR's predict prints",
    )
    add_data_options(parser)
    add_output_options(parser)
    return parser


def run(argv: list[str], program: str) -> int:
    """Load, predict part by part, write, compare."""
    parser = make_parser(program)
    try:
        short_options, long_options = expand_short_options(argv, PREDICT_OPTIONS)
    except ValueError as error:
        parser.error(str(error))
    arguments = parser.parse_intermixed_args([*short_options, *long_options])
    if arguments.json and is_stdout(arguments.out):
        parser.error("--json prints to stdout; name a file OUT for the predictions")
    check_not_overwriting(arguments.out, "OUT", {"DATA": arguments.data, "MODEL": arguments.model})
    leave_out_scikit_learn()
    model, parts = open_model_and_data(arguments)
    formatter = PredictionFormatter(model, arguments)
    score = Score(model)
    with open_output(arguments.out) as out:
        out.write(formatter.format_header())
        for X, y in parts:
            predicted, lines = formatter.format_rows(X)
            out.write(lines)
            if y is not None and is_comparable(predicted, y):
                score.add(predicted, y)
    report(score, arguments)
    return Exit.SUCCESS


def is_comparable(predicted: np.ndarray, y: np.ndarray) -> bool:
    """Whether both are numbers, or both are names."""
    return np.issubdtype(predicted.dtype, np.number) == np.issubdtype(y.dtype, np.number)


def report(score: Score, arguments: argparse.Namespace) -> None:
    """The accuracy, on stdout unless the predictions are there."""
    stream = sys.stderr if is_stdout(arguments.out) else sys.stdout
    if arguments.json:
        print_json({"command": "predict", **score.describe(),
                    "files": {"data": arguments.data, "model": arguments.model, "out": arguments.out}})  # fmt: skip
    elif not arguments.quiet and score.n:
        for line in score.list_lines(note="" if arguments.imitated_program == "liblinear" else "classification"):
            print(line, file=stream)


# ---- the model and its data -----------------------------------------------------------------------------------------


def open_model_and_data(arguments: argparse.Namespace) -> tuple[object, Iterator]:
    """The model, and its rows in parts (X, y)."""
    from ..files import load

    model = load(arguments.model)
    if reads_in_blocks(arguments, type(model)):
        arguments.n_features = arguments.n_features or model.n_features_in_
        blocks = open_in_blocks(arguments, model)
        return model, ((block.X, block.y) for block in blocks.stream())
    data, model = read_with_model(model, arguments)
    return model, split_rows(data.X, data.y)


def split_rows(X, y: np.ndarray | None) -> Iterator:
    """Parts of X and y."""
    for start in range(0, X.shape[0], BATCH_ROWS):
        part = slice(start, start + BATCH_ROWS)
        yield X[part], None if y is None else y[part]


# ---- what is written ------------------------------------------------------------------------------------------------


class PredictionFormatter:
    """Predictions as lines of text, as LIBSVM's programs write them."""

    def __init__(self, model, arguments: argparse.Namespace):
        self.model, self.decisions, self.probability = model, arguments.decisions, arguments.probability
        if self.decisions and model.task not in ("classification", "novelty"):
            raise ValueError(f"--decisions needs decision values, and {type(model).__name__} predicts numbers.")
        self.order = order_labels(model, arguments.model) if self.probability else None
        if self.probability and self.order is None and arguments.imitated_program is None:
            raise ValueError(f"--probability (-b 1) needs classes, and {type(model).__name__} has none.")
        if self.order is not None and not model.has_probabilities:
            short_options = "-s 0, 6 or 7" if arguments.imitated_program == "liblinear" else "--probability (-b 1)"
            remedy = f"train it with {short_options}"
            if model.wants_probabilities:
                remedy = "its fit ended before they were there, and `maxmargin train --resume` continues it"
            raise ValueError(f"{arguments.model} has no probabilities; {remedy}.")

    def format_header(self) -> bytes:
        """The line before the first."""
        if self.order is None:
            return b""
        return f"labels {' '.join(quote(name_label(self.model.classes_[k].item())) for k in self.order)}\n".encode()

    def format_rows(self, X) -> tuple[np.ndarray, bytes]:
        """The predictions of some rows, and their lines."""
        X = match_form(X, self.model)
        if self.order is None:
            predicted = self.model.predict(X)
            columns = self.model.decision_function(X) if self.decisions else None
        else:
            columns = self.model.predict_proba(X)
            predicted = self.model.classes_[columns.argmax(axis=1)]
            columns = columns[:, self.order]
        words = [name_label(value) for value in predicted.tolist()]
        if columns is not None:
            numbers = np.asarray(columns).reshape(len(words), -1).tolist()
            words = [
                " ".join([quote(word), *(f"{x:.17g}" for x in row)]) for word, row in zip(words, numbers, strict=True)
            ]
        return predicted, "".join(f"{word}\n" for word in words).encode()


def quote(label: str) -> str:
    """A label as one word, in a line that has others."""
    return f'"{label}"' if " " in label else label


def match_form(X, model):
    """X dense where a kernel machine was trained on dense data: it does not take others."""
    return X.toarray() if sp.issparse(X) and model.needs_dense else X


def order_labels(model: Estimator, path: str) -> list[int] | None:
    """The columns of probabilities in the order of the labels in the model file; None if there are no classes."""
    if model.task != "classification":
        return None
    places = list(range(len(model.classes_)))
    kind = detect_model_format(path)
    labels = None if kind is None else kind.read_label_order(path)
    if labels is None:
        return places
    found = [int(np.flatnonzero(model.classes_ == label)[0]) for label in labels]
    return found if sorted(found) == places else places
