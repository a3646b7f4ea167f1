"""The search of `maxmargin tune`: grid.py's lines while it runs and its answer at the end, then easy.py's steps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..runtime.light_start import load_seldom_used
from ..runtime.scikit_learn_search import clone
from ..tuning.cells import CellOutcome, Fold, SearchData, SearchOutcome, SearchSettings
from ..tuning.engine import evaluate_cells
from ..tuning.search_report import SearchLine
from . import print_to_stderr
from .cross_validation import split
from .data import pop_feature_names, read
from .exit_codes import Exit, UsageError
from .fitting import Training, fit_until_interrupted, prepare_training, store_feature_origin
from .formats import choose_format
from .machines import leave_out_probabilities, name_label
from .outputs import check_not_overwriting, open_output
from .report import describe_certificate, print_json
from .saving import check_destination, save_model, treat_sigterm_as_interrupt
from .score import Score
from .tune import DEFAULT_LOG2G, read_range

KERNELS_WITHOUT_GAMMA = ("linear", "precomputed")


class Rate(NamedTuple):
    """A candidate, and how good it was: the accuracy in percent, or the mean squared error."""

    parameters: dict[str, float]
    rate: float


def tune(arguments: argparse.Namespace, program: str) -> int:
    """Search, print the best, and do with it what was asked for."""
    load_seldom_used()
    training = prepare_training(arguments)
    check_machine(training, arguments)
    max_seconds, training.machine.max_seconds = training.machine.max_seconds, None
    kind = None
    if arguments.out is not None:
        kind = choose_format(arguments.out, None, None, type(training.machine))
        check_destination(training, arguments.out, kind, arguments.data, careful=True)
    training, ranges = scale(training, arguments)
    table = RateTable(training, arguments)
    with treat_sigterm_as_interrupt() as terminated:
        outcome = table.solve(max_seconds)
        table.rate_incomplete()
        if not table.rates:
            if outcome.interrupted:
                raise KeyboardInterrupt
            raise ValueError(f"--max-seconds {max_seconds:g} ended before any candidate was scored.")
        best, interrupted = table.find_best(), outcome.interrupted
        if arguments.out is not None or arguments.test is not None:
            training.machine.set_params(**best.parameters)
            interrupted = fit_until_interrupted(training, {"verbose": 0}) or interrupted
            store_feature_origin(training, None)
        if kind is not None:
            save_model(training, arguments.out, kind)
    report(table, best, arguments, outcome, training)
    if arguments.test is not None:
        predict(training, ranges, arguments)
    if interrupted:
        done = f"{len(table.rates)} of {len(table.candidates)}"
        print_to_stderr(f"{program}: interrupted; {done} candidates were scored, and the best of them is kept.")
        return Exit.TERMINATED if terminated else Exit.INTERRUPTED
    return Exit.UNFINISHED if outcome.out_of_time else Exit.SUCCESS


def check_machine(training: Training, arguments: argparse.Namespace) -> None:
    """Refuse machines and options that a grid of C and gamma has nothing to say of."""
    machine = training.machine
    name = type(machine).__name__
    if machine.task not in ("classification", "regression") or training.y is None:
        raise UsageError(f"tune is for classifiers and regression, and not for {name}.")
    parameters = machine.get_params()
    if arguments.log2c and "C" not in parameters:
        raise UsageError(f"{name} has no C; pass --log2c null.")
    has_gamma = "gamma" in parameters and machine.kernel not in KERNELS_WITHOUT_GAMMA
    if arguments.log2g and not has_gamma:
        raise UsageError(f"--log2g needs a kernel with a gamma, and {name} has none here.")
    if arguments.log2g is None:
        arguments.log2g = read_range("log2g", DEFAULT_LOG2G) if has_gamma else []
    check_not_overwriting(arguments.out, "--out", {"DATA": arguments.data})


def scale(training: Training, arguments: argparse.Namespace) -> tuple[Training, Any]:
    """The rows scaled to [-1, 1] where that was asked for, and the ranges, which are saved as easy.py does."""
    if not arguments.scale:
        return training, None
    from ..files import find_ranges, write_ranges

    if training.machine.is_kernel_matrix:
        raise UsageError("--scale is for features, and --kernel precomputed has kernel values.")
    ranges = find_ranges(training.X)
    path = f"{Path(arguments.data).name}.range"
    check_not_overwriting(path, "the file of ranges", {"DATA": arguments.data})
    write_ranges(path, ranges, zero_based=training.first_index == 0)
    return training._replace(X=ranges.scale(training.X)), ranges


class RateTable:
    """The candidates of a grid, and the rates of those that are done."""

    def __init__(self, training: Training, arguments: argparse.Namespace):
        self.training, self.arguments = training, arguments
        self.powers = [
            {name: power for name, power in (("c", c), ("g", g)) if power is not None}
            for c in arguments.log2c or [None]
            for g in arguments.log2g or [None]
        ]
        names = {"c": "C", "g": "gamma"}
        self.candidates = [{names[key]: 2.0**power for key, power in each.items()} for each in self.powers]
        self.folds = [Fold(train, test) for train, test in split(training, arguments.folds)]
        self.classes = training.machine.task == "classification"
        self.cells: dict[int, dict[int, CellOutcome]] = {number: {} for number in range(len(self.candidates))}
        self.rates: dict[int, Rate] = {}
        self.line = SearchLine("tune", self.candidates, len(self.folds), quiet=True)

    def solve(self, max_seconds: float | None) -> SearchOutcome:
        """All cells, as far as time and Ctrl-C allow."""
        from sklearn.metrics import check_scoring

        training, machine = self.training, leave_out_probabilities(clone(self.training.machine))  # for the refit alone
        weights = {} if training.weight is None else {"sample_weight": training.weight}
        scorer = check_scoring(machine, None if self.classes else "neg_mean_squared_error")
        settings = SearchSettings(
            scorer, error_score="raise", n_jobs=vars(machine).get("n_jobs"), max_seconds=max_seconds, on_cell=self.note
        )
        data = SearchData(training.X, training.y, self.folds, weights)
        # The lines of grid.py are progress enough, where they are seen.
        quiet = self.arguments.json or not (self.arguments.quiet or not sys.stdout.isatty())
        with SearchLine("tune", self.candidates, len(self.folds), max_seconds=max_seconds, quiet=quiet) as self.line:
            return evaluate_cells(machine, self.candidates, data, settings)

    def note(self, outcome: CellOutcome) -> None:
        """A cell is done; with the last fold of its candidate, a line is printed."""
        cells = self.cells[outcome.candidate]
        cells[outcome.fold] = outcome
        self.line.show(outcome)
        if len(cells) == len(self.folds):
            self.rate(outcome.candidate, range(len(self.folds)))
            if not (self.arguments.quiet or self.arguments.json):
                print(self.describe(outcome.candidate), flush=True)

    def rate(self, number: int, folds: Iterable[int]) -> None:
        """The accuracy, or the error, of a candidate over all rows that some folds hold out."""
        folds = list(folds)
        sizes, scores = zip(*((len(self.folds[k].test), self.cells[number][k].test_scores) for k in folds), strict=True)
        mean = float(np.average(scores, weights=sizes))
        self.rates[number] = Rate(self.candidates[number], round(100.0 * mean, 10) if self.classes else -mean)

    def rate_incomplete(self) -> None:
        """Where no candidate is done on all folds: those that are done on the folds of the one that came furthest."""
        furthest = max(self.cells.values(), key=len)
        if not self.rates and furthest:
            for number, cells in self.cells.items():
                if furthest.keys() <= cells.keys():
                    self.rate(number, furthest)

    def find_best(self) -> Rate:
        """The best rate; of several the one with the smallest C, and then the first."""
        sign = -1.0 if self.classes else 1.0
        order = sorted(self.rates)
        return min((self.rates[k] for k in order), key=lambda each: (sign * each.rate, each.parameters.get("C", 0.0)))

    def describe(self, number: int) -> str:
        """[local] 5 -7 81.2 (best c=32.0, g=0.0078125, rate=81.2), as grid.py prints it."""
        best, names = self.find_best(), {"C": "c", "gamma": "g"}
        powers = " ".join(f"{power:g}" for power in self.powers[number].values())
        chosen = "".join(f"{names[name]}={value}, " for name, value in best.parameters.items())
        return f"[local] {powers} {self.rates[number].rate:g} (best {chosen}rate={best.rate:g})"


def report(table: RateTable, best: Rate, arguments: argparse.Namespace, outcome: SearchOutcome, training: Any) -> None:
    """grid.py's last line, or an object for programs."""
    if arguments.json:
        measure = "accuracy" if table.classes else "mean_squared_error"
        fitted = "certificate_" in vars(training.machine)
        print_json({
            "command": "tune", "estimator": type(training.machine).__name__, "folds": len(table.folds),
            "best": {**best.parameters, measure: best.rate / 100.0 if table.classes else best.rate},
            "candidates": [
                {**rate.parameters, measure: rate.rate / 100.0 if table.classes else rate.rate}
                for _, rate in sorted(table.rates.items())
            ],
            "interrupted": outcome.interrupted, "out_of_time": outcome.out_of_time,
            "certificate": describe_certificate(training.machine.certificate_) if fitted else None,
            "files": {"data": arguments.data, "model": arguments.out},
        })  # fmt: skip
        return
    print(" ".join([*(str(value) for value in best.parameters.values()), f"{best.rate:g}"]))


def predict(training: Training, ranges: Any, arguments: argparse.Namespace) -> None:
    """The rows of the test file, scaled as those of the training were; a line for each into FILE.predict."""
    test = argparse.Namespace(**{**vars(arguments), "data": arguments.test, "weight": None})
    machine, n_features = training.machine, training.X.shape[1]
    features = pop_feature_names(machine)
    data = read(test, model=machine, precomputed=machine.is_kernel_matrix, n_features=n_features, features=features)
    X = data.X if ranges is None else ranges.scale(data.X)
    if hasattr(X, "toarray") and machine.needs_dense:
        X = X.toarray()
    predicted = machine.predict(X)
    path = f"{Path(arguments.test).name}.predict"
    check_not_overwriting(path, "the file of predictions", {"DATA": arguments.data, "--test": arguments.test})
    with open_output(path) as out:
        out.write("".join(f"{name_label(value)}\n" for value in predicted.tolist()).encode())
    if data.y is not None and not (arguments.quiet or arguments.json):
        score = Score(machine)
        score.add(predicted, data.y)
        for line in score.list_lines(note="classification"):
            print(line)
