"""The letters of svm-train, svm-scale and LIBLINEAR's train, spelled out as the words that `maxmargin` knows.

    -c 10 -g 0.5 -w-1 2        ->        --C=10 --gamma=0.5 --class-weight=-1=2

Whoever uses a letter of training gets the other program's defaults too, and its model format: a script that works with
svm-train works here when the name of the program is changed, and does the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Letter(NamedTuple):
    """How many values follow a letter, and the words that say the same."""

    values: int
    spell: Callable[..., list[str]]


def rename(word: str) -> Letter:
    """A letter that is only another name of a word."""
    return Letter(1, lambda value: [f"--{word}={value}"])


def choose(letter: str, choices: dict[str, list[str]], hint: str = "") -> Letter:
    """A letter whose value is a number in a list."""

    def spell(value: str) -> list[str]:
        if value not in choices:
            raise ValueError(f"{letter} must be one of {', '.join(choices)}, got {value!r}{hint}.")
        return choices[value]

    return Letter(1, spell)


def switch(letter: str, off: list[str], on: list[str]) -> Letter:
    """A letter that is 0 or 1."""
    return choose(letter, {"0": off, "1": on})


WEIGHT = Letter(1, lambda label, value: [f"--class-weight={label}={value}"])  # -w1 5: the label is part of the letter
FOLDS = rename("folds")

LIBSVM = {
    "-s": choose(
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
    "-t": choose(
        "-t",
        {
            "0": ["--kernel=linear"],
            "1": ["--kernel=poly"],
            "2": ["--kernel=rbf"],
            "3": ["--kernel=sigmoid"],
            "4": ["--kernel=precomputed"],
        },
    ),
    "-d": rename("degree"),
    "-g": Letter(1, lambda value: ["--gamma=auto" if reads_as_zero(value) else f"--gamma={value}"]),
    "-r": rename("coef0"),
    "-c": rename("C"),
    "-n": rename("nu"),
    "-p": rename("epsilon"),
    "-m": rename("cache-size"),
    "-e": Letter(1, lambda value: [f"--tol={0.5 * read_number('-e', value)!r}"]),
    "-h": switch("-h", ["--shrinking=no"], ["--shrinking=yes"]),
    "-b": switch("-b", [], ["--probability"]),
    "-w": WEIGHT,
    "-v": FOLDS,
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
LOOSEST, TIGHTEST = 1e-4, 1e-10
LOGISTIC = ["--estimator=RiskClassifier", "--loss=logistic"]
SQUARED_TUBE = ["--estimator=LinearSVR", "--loss=squared_epsilon_insensitive"]
LIBLINEAR = {
    "-s": choose(
        "-s",
        {
            "0": LOGISTIC,
            "1": ["--estimator=LinearSVC", "--loss=squared_hinge"],
            "2": ["--estimator=LinearSVC", "--loss=squared_hinge"],
            "3": ["--estimator=LinearSVC", "--loss=hinge"],
            "4": ["--estimator=LinearSVC", "--multi-class=crammer_singer"],
            "5": ["--estimator=LinearSVC", "--loss=squared_hinge", "--penalty=l1"],
            "6": [*LOGISTIC, "--penalty=l1"],
            "7": LOGISTIC,
            "11": SQUARED_TUBE,
            "12": SQUARED_TUBE,
            "13": ["--estimator=LinearSVR", "--loss=epsilon_insensitive"],
            "21": ["--estimator=OneClassSVM", "--kernel=linear"],
        },
    ),
    "-c": rename("C"),
    "-p": rename("epsilon"),
    "-n": rename("nu"),
    "-e": Letter(1, lambda value: [f"--tol={find_gap(read_number('-e', value))!r}"]),
    "-B": Letter(1, lambda value: spell_bias(read_number("-B", value))),
    "-R": Letter(0, lambda: ["--intercept=free"]),
    "-m": rename("n-jobs"),
    "-w": WEIGHT,
    "-v": FOLDS,
    "-C": Letter(0, lambda: ["--find-C"]),
}
LIBLINEAR_DEFAULTS = [
    "--estimator=LinearSVC", "--loss=squared_hinge", "--intercept=none", "--epsilon=0.1", f"--tol={LOOSEST!r}",
]  # fmt: skip

SCALE = {
    "-l": rename("lower"),
    "-u": rename("upper"),
    "-y": Letter(2, lambda lower, upper: [f"--target-lower={lower}", f"--target-upper={upper}"]),
    "-s": rename("save"),
    "-r": rename("restore"),
}
PREDICT = {"-b": switch("-b", [], ["--probability"])}

FAMILIES = {"libsvm": (LIBSVM, LIBSVM_DEFAULTS), "liblinear": (LIBLINEAR, LIBLINEAR_DEFAULTS)}
UNUSED = {"NuSVC": ("class_weight",)}  # what a program reads and does not look at, beside what a machine has not


def reads_as_zero(value: str) -> bool:
    """-g 0 is svm-train's way to say 1 / number of features."""
    return read_number("-g", value) == 0


def read_number(letter: str, value: str) -> float:
    """A number, or a sentence."""
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{letter} must be a number, got {value!r}.") from None


def find_gap(tolerance: float) -> float:
    """The certified gap that stands for LIBLINEAR's -e."""
    return min(max(0.01 * tolerance * tolerance, TIGHTEST), LOOSEST)


def spell_bias(bias: float) -> list[str]:
    """LIBLINEAR's -B: a constant column of that size, whose weight is regularised; none below zero."""
    if not bias > 0:
        return ["--intercept=none"]
    return ["--intercept=regularised", f"--intercept-scaling={bias!r}"]


def split_letters(argv: list[str], letters: dict[str, Letter]) -> tuple[list[str], list[str]]:
    """The letters of a command line, spelled out, and the rest of it as it is.

    Parameters
    ----------
    argv : list of str
    letters : dict
        `LIBSVM`, `LIBLINEAR`, `SCALE` or `PREDICT`.

    Returns
    -------
    spelled, rest : list of str
        Words of the letters, each as one argument `--word=value`; and what was no letter.
    """
    spelled: list[str] = []
    rest: list[str] = []
    waiting = list(argv)
    while waiting:
        argument = waiting.pop(0)
        if argument == "--":
            return spelled, [*rest, argument, *waiting]
        label = re.fullmatch(r"-w(.+)", argument)
        name = "-w" if label else argument
        asks_for_help = argument == "-h" and waiting[:1] not in (["0"], ["1"])
        if name not in letters or (name == "-w" and not label) or asks_for_help:
            rest.append(argument)
            continue
        letter = letters[name]
        if len(waiting) < letter.values:
            raise ValueError(f"{argument} needs {letter.values} value{'s' if letter.values > 1 else ''} after it.")
        values = [waiting.pop(0) for _ in range(letter.values)]
        spelled += letter.spell(label[1], *values) if label else letter.spell(*values)
    return spelled, rest
