"""The short options of svm-train, svm-scale and LIBLINEAR's train, expanded to the long options of `maxmargin`.

    -c 10 -g 0.5 -w-1 2        ->        --C=10 --gamma=0.5 --class-weight=-1=2

A short option of training brings the other program's defaults too, and its model format: a script that works with
svm-train works here when the name of the program is changed, and does the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class ShortOption(NamedTuple):
    """How many values follow a short option, and the long options that say the same."""

    values: int
    expand: Callable[..., list[str]]


def make_alias(word: str) -> ShortOption:
    """A short option that is only another name of a long one."""
    return ShortOption(1, lambda value: [f"--{word}={value}"])


def make_choice(short_option: str, choices: dict[str, list[str]], hint: str = "") -> ShortOption:
    """A short option whose value is a number in a list."""

    def expand(value: str) -> list[str]:
        if value not in choices:
            raise ValueError(f"{short_option} must be one of {', '.join(choices)}, got {value!r}{hint}.")
        return choices[value]

    return ShortOption(1, expand)


def make_switch(short_option: str, off: list[str], on: list[str]) -> ShortOption:
    """A short option that is 0 or 1."""
    return make_choice(short_option, {"0": off, "1": on})


# -w1 5: the label is part of the option.
CLASS_WEIGHT_OPTION = ShortOption(1, lambda label, value: [f"--class-weight={label}={value}"])
FOLDS_OPTION = make_alias("folds")

LIBSVM_OPTIONS = {
    "-s": make_choice(
        "-s",
        {
            "0": ["--estimator=SVC"],
            "1": ["--estimator=NuSVC"],
            "2": ["--estimator=OneClassSVM"],
            "3": ["--estimator=SVR"],
            "4": ["--estimator=NuSVR"],
        },
        "; the solvers of LIBLINEAR need --liblinear",
    ),
    "-t": make_choice(
        "-t",
        {
            "0": ["--kernel=linear"],
            "1": ["--kernel=poly"],
            "2": ["--kernel=rbf"],
            "3": ["--kernel=sigmoid"],
            "4": ["--kernel=precomputed"],
        },
    ),
    "-d": make_alias("degree"),
    "-g": ShortOption(1, lambda value: ["--gamma=auto" if reads_as_zero(value) else f"--gamma={value}"]),
    "-r": make_alias("coef0"),
    "-c": make_alias("C"),
    "-n": make_alias("nu"),
    "-p": make_alias("epsilon"),
    "-m": make_alias("cache-size"),
    "-e": ShortOption(1, lambda value: [f"--tol={0.5 * read_number('-e', value)!r}"]),
    "-h": make_switch("-h", ["--shrinking=no"], ["--shrinking=yes"]),
    "-b": make_switch("-b", [], ["--probability"]),
    "-w": CLASS_WEIGHT_OPTION,
    "-v": FOLDS_OPTION,
}
# -e is LIBSVM's own rule, m(a) - M(a) < e. SMO stops by it here too, on exact scores in float64, and at half of it: of
# two points that meet the same rule either may have the smaller gap. Half makes ours the smaller one, as a rule.
LIBSVM_DEFAULTS = [
    "--estimator=SVC", "--kernel=rbf", "--gamma=auto", "--epsilon=0.1", "--tol=5e-4", "--cache-size=100",
    "--solver=smo:stop=kkt",
]  # fmt: skip

# -e of LIBLINEAR is a norm of a gradient or a violation, and for smooth losses its gap falls with the square of it:
# -s 1 leaves a relative gap of 1e-4 with -e 0.1, its default, and of 1e-8 with -e 0.001 (`python -m benchmarks
# letters`). So the certified gap is (e / 10)^2, within limits: no fit of that benchmark was less accurate.
LOOSEST_GAP, TIGHTEST_GAP = 1e-4, 1e-10
LOGISTIC_OPTIONS = ["--estimator=RiskClassifier", "--loss=logistic"]
SQUARED_TUBE_OPTIONS = ["--estimator=LinearSVR", "--loss=squared_epsilon_insensitive"]
LIBLINEAR_OPTIONS = {
    "-s": make_choice(
        "-s",
        {
            "0": LOGISTIC_OPTIONS,
            "1": ["--estimator=LinearSVC", "--loss=squared_hinge"],
            "2": ["--estimator=LinearSVC", "--loss=squared_hinge"],
            "3": ["--estimator=LinearSVC", "--loss=hinge"],
            "4": ["--estimator=LinearSVC", "--multi-class=crammer_singer"],
            "5": ["--estimator=LinearSVC", "--loss=squared_hinge", "--penalty=l1"],
            "6": [*LOGISTIC_OPTIONS, "--penalty=l1"],
            "7": LOGISTIC_OPTIONS,
            "11": SQUARED_TUBE_OPTIONS,
            "12": SQUARED_TUBE_OPTIONS,
            "13": ["--estimator=LinearSVR", "--loss=epsilon_insensitive"],
            "21": ["--estimator=OneClassSVM", "--kernel=linear"],
        },
    ),
    "-c": make_alias("C"),
    "-p": make_alias("epsilon"),
    "-n": make_alias("nu"),
    "-e": ShortOption(1, lambda value: [f"--tol={convert_tolerance(read_number('-e', value))!r}"]),
    "-B": ShortOption(1, lambda value: expand_bias(read_number("-B", value))),
    "-R": ShortOption(0, lambda: ["--intercept=free"]),
    "-m": make_alias("n-jobs"),
    "-w": CLASS_WEIGHT_OPTION,
    "-v": FOLDS_OPTION,
    "-C": ShortOption(0, lambda: ["--find-C"]),
}
LIBLINEAR_DEFAULTS = [
    "--estimator=LinearSVC", "--loss=squared_hinge", "--intercept=none", "--epsilon=0.1", f"--tol={LOOSEST_GAP!r}",
]  # fmt: skip

SCALE_OPTIONS = {
    "-l": make_alias("lower"),
    "-u": make_alias("upper"),
    "-y": ShortOption(2, lambda lower, upper: [f"--target-lower={lower}", f"--target-upper={upper}"]),
    "-s": make_alias("save"),
    "-r": make_alias("restore"),
}
PREDICT_OPTIONS = {"-b": make_switch("-b", [], ["--probability"])}

IMITATED_PROGRAMS = {"libsvm": (LIBSVM_OPTIONS, LIBSVM_DEFAULTS), "liblinear": (LIBLINEAR_OPTIONS, LIBLINEAR_DEFAULTS)}
# What svm-train reads and ignores, beside the parameters that a machine does not have.
IGNORED_PARAMETERS = {"NuSVC": ("class_weight",)}


def reads_as_zero(value: str) -> bool:
    """-g 0 is svm-train's way to say 1 / number of features."""
    return read_number("-g", value) == 0


def read_number(short_option: str, value: str) -> float:
    """A number, or a sentence."""
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{short_option} must be a number, got {value!r}.") from None


def convert_tolerance(tolerance: float) -> float:
    """The certified gap that stands for LIBLINEAR's -e."""
    return min(max(0.01 * tolerance * tolerance, TIGHTEST_GAP), LOOSEST_GAP)


def expand_bias(bias: float) -> list[str]:
    """LIBLINEAR's -B: a constant column of that size, whose weight is regularised; none below zero."""
    if not bias > 0:
        return ["--intercept=none"]
    return ["--intercept=regularised", f"--intercept-scaling={bias!r}"]


def expand_short_options(argv: list[str], short_options: dict[str, ShortOption]) -> tuple[list[str], list[str]]:
    """The short options of a command line, expanded, and the rest of it as it is.

    Parameters
    ----------
    argv : list of str
    short_options : dict
        `LIBSVM_OPTIONS`, `LIBLINEAR_OPTIONS`, `SCALE_OPTIONS` or `PREDICT_OPTIONS`.

    Returns
    -------
    expanded, rest : list of str
        Long options, each as one argument `--option=value`; and what was no short option.
    """
    expanded: list[str] = []
    rest: list[str] = []
    remaining = list(argv)
    while remaining:
        argument = remaining.pop(0)
        if argument == "--":
            return expanded, [*rest, argument, *remaining]
        label = re.fullmatch(r"-w(.+)", argument)
        name = "-w" if label else argument
        asks_for_help = argument == "-h" and remaining[:1] not in (["0"], ["1"])
        if name not in short_options or (name == "-w" and not label) or asks_for_help:
            rest.append(argument)
            continue
        short_option = short_options[name]
        if len(remaining) < short_option.values:
            raise ValueError(
                f"{argument} needs {short_option.values} value{'s' if short_option.values > 1 else ''} after it."
            )
        values = [remaining.pop(0) for _ in range(short_option.values)]
        expanded += short_option.expand(label[1], *values) if label else short_option.expand(*values)
    return expanded, rest
