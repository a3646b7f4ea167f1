"""The options of the command line: --C, --kernel, --max-seconds and others are the parameters of the estimators."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

# Names for the help, which is printed without loading an estimator: those of `estimators.registry` whose data fit into
# a table (a test compares them).
ESTIMATOR_NAMES = (
    "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "RiskClassifier", "RiskRegressor",
    "MetricSVC", "RankSVM",
)  # fmt: skip


class Option(NamedTuple):
    """A parameter of estimators as an option, how its text is read, and what it is."""

    name: str
    read: Callable[[str], object]
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        """max_seconds -> --max-seconds."""
        return "--" + self.name.replace("_", "-")


def number(text: str) -> float:
    """A number, also infinity."""
    return float(text)


def integer(text: str) -> int:
    """A whole number."""
    return int(text)


def answer(text: str) -> bool:
    """yes or no."""
    if text not in ("yes", "no"):
        raise ValueError(text)
    return text == "yes"


def width(text: str) -> float | str:
    """scale, auto, or a number."""
    return text if text in ("scale", "auto") else float(text)


def share(text: str) -> int | float:
    """A number of samples, or a share of them."""
    return float(text) if "." in text else int(text)


def path_or_index(text: str) -> str | int:
    """The name of a column, or its place."""
    return int(text) if text.lstrip("-").isdigit() else text


OPTIONS = (
    Option("C", number, "NUMBER", "weight of the losses against the penalty"),
    Option("nu", number, "NUMBER", "bound on the shares of errors and support vectors, for nu machines and one class"),
    Option("epsilon", number, "NUMBER", "half the width of the regression tube"),
    Option("loss", str, "NAME", "hinge, squared_hinge, logistic, huber, quantile, ...: depends on the estimator"),
    Option("quantile", number, "NUMBER", "which quantile of y --loss quantile estimates"),
    Option("threshold", number, "NUMBER", "residual from which --loss huber is linear"),
    Option("penalty", str, "l2|l1", "1/2 |w|^2 or |w|_1, for linear classifiers"),
    Option("kernel", str, "NAME", "linear, poly, rbf, sigmoid, laplacian or precomputed"),
    Option("gamma", width, "NUMBER", "of the kernel: scale, auto (1 / number of features) or a number"),
    Option("degree", integer, "INTEGER", "of the polynomial kernel"),
    Option("coef0", number, "NUMBER", "of the polynomial and the sigmoid kernel"),
    Option("intercept", str, "KIND", "free, regularised (as in LIBLINEAR) or none"),
    Option("intercept_scaling", number, "NUMBER", "the constant column of a regularised intercept"),
    Option("multi_class", str, "KIND", "ovo, ovr, crammer_singer or softmax: depends on the estimator"),
    Option("metric", str, "NAME", "what MetricSVC trains for: f1, fbeta, roc_auc, precision_at_k, ..."),
    Option("beta", number, "NUMBER", "of --metric fbeta"),
    Option("k", share, "NUMBER", "of --metric precision_at_k and recall_at_k"),
    Option("tol", number, "GAP", "the certified relative duality gap to reach"),
    Option("max_seconds", number, "SECONDS", "time for the fit; the best model so far is saved"),
    Option("max_iter", integer, "INTEGER", "limit of iterations for each binary problem; -1 for none"),
    Option("solver", str, "NAME[:KEY=VALUE,...]", "see `maxmargin solvers`; for instance smo:selection=mvp"),
    Option("cache_size", number, "MEGABYTES", "for kernel rows"),
    Option("shrinking", answer, "yes|no", "set aside samples that are unlikely to change"),
    Option("n_jobs", integer, "INTEGER", "binary problems solved in parallel; all cores by default"),
    Option("certify_labels", share, "NUMBER", "the share of training labels that must be certain before the fit ends"),
    Option("random_state", integer, "INTEGER", "for the folds of --probability"),
    Option("checkpoint", str, "FILE", "stores the state of a linear fit, from which another continues"),
)
# Parameters of the estimators that are no options: what the command line does by itself, what only a program can give
# (matrices), and what does not change a model.
PARAMETERS_WITHOUT_OPTION = {
    "verbose", "warm_start", "probability", "class_weight", "label_costs", "label_scales", "M",
    "decision_function_shape", "break_ties", "dual", "fit_intercept",
}  # fmt: skip


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """The options of the estimators; those that are not given leave no trace."""
    group = parser.add_argument_group("the machine and its parameters, as in Python")
    group.add_argument(
        "--estimator",
        choices=ESTIMATOR_NAMES,
        default=argparse.SUPPRESS,
        metavar="CLASS",
        help=", ".join(ESTIMATOR_NAMES),
    )
    for option in OPTIONS:
        group.add_argument(
            option.flag, dest=option.name, type=option.read, metavar=option.metavar, help=option.help,
            default=argparse.SUPPRESS,
        )  # fmt: skip
    group.add_argument(
        "--class-weight", action="append", metavar="LABEL=WEIGHT", default=argparse.SUPPRESS,
        help="multiplies C for a class; several times, or with commas; or balanced",
    )  # fmt: skip
    group.add_argument(
        "--probability", action="store_true", default=argparse.SUPPRESS, help="also fit probabilities, by five folds"
    )


def collect_parameters(arguments: argparse.Namespace) -> dict:
    """The parameters that were given, by their names in Python."""
    names = [*(option.name for option in OPTIONS), "class_weight", "probability"]
    given = vars(arguments)
    return {name: given[name] for name in names if name in given}


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """How a file of data is to be read."""
    group = parser.add_argument_group("the data")
    group.add_argument("--target", type=path_or_index, metavar="COLUMN", help="of CSV and Parquet: name or index of y")
    group.add_argument("--weight", metavar="FILE|COLUMN", help="sample weights: one per line, or a column of the table")
    group.add_argument("--n-features", type=integer, metavar="INTEGER", help="if the last features may be absent")
    group.add_argument(
        "--zero-based",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether the indices of LIBSVM text begin at 0",
    )
    group.add_argument("--delimiter", metavar="LETTER", help="of CSV, default: a comma")
    group.add_argument(
        "--header", choices=("auto", "yes", "no"), default="auto", help="whether the first line of CSV names columns"
    )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """How much is printed, and for whom."""
    group = parser.add_argument_group("what is printed")
    group.add_argument("-q", "--quiet", action="store_true", help="print only warnings and errors")
    group.add_argument("--json", action="store_true", help="one JSON object on stdout, for programs")
