"""The letters of svm-train, svm-predict, svm-scale and LIBLINEAR's train, spelled out as words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maxmargin
from maxmargin.cli.exit_codes import UsageError
from maxmargin.cli.fitting import keep_known_parameters
from maxmargin.cli.machines import make_machine, make_solver, read_class_weight
from maxmargin.cli.options import ESTIMATOR_NAMES, OPTIONS, PARAMETERS_WITHOUT_OPTION
from maxmargin.cli.short_options import (
    IMITATED_PROGRAMS,
    LIBLINEAR_OPTIONS,
    LIBSVM_OPTIONS,
    PREDICT_OPTIONS,
    SCALE_OPTIONS,
    expand_short_options,
)
from maxmargin.cli.train import parse
from maxmargin.estimators.registry import ESTIMATORS

LIBSVM_LETTERS = {
    "-c 10": ["--C=10"],
    "-g 0.5": ["--gamma=0.5"],
    "-g 0": ["--gamma=auto"],
    "-r -1e-3": ["--coef0=-1e-3"],
    "-d 2": ["--degree=2"],
    "-n 0.2": ["--nu=0.2"],
    "-p 0.01": ["--epsilon=0.01"],
    "-m 500": ["--cache-size=500"],
    "-e 1e-5": ["--tol=5e-06"],
    "-h 0": ["--shrinking=no"],
    "-b 1": ["--probability"],
    "-b 0": [],
    "-w1 5": ["--class-weight=1=5"],
    "-w-1 0.5": ["--class-weight=-1=0.5"],
    "-v 5": ["--folds=5"],
    "-s 4 -t 1": ["--estimator=NuSVR", "--kernel=poly"],
}
LIBLINEAR_LETTERS = {
    "-s 0": ["--estimator=RiskClassifier", "--loss=logistic"],
    "-s 3": ["--estimator=LinearSVC", "--loss=hinge"],
    "-s 4": ["--estimator=LinearSVC", "--multi-class=crammer_singer"],
    "-s 6": ["--estimator=RiskClassifier", "--loss=logistic", "--penalty=l1"],
    "-s 13": ["--estimator=LinearSVR", "--loss=epsilon_insensitive"],
    "-B 1": ["--intercept=regularised", "--intercept-scaling=1.0"],
    "-B -1": ["--intercept=none"],
    "-B 0": ["--intercept=none"],
    "-B 1 -R": ["--intercept=regularised", "--intercept-scaling=1.0", "--intercept=free"],
    "-e 0.1": ["--tol=0.0001"],
    "-e 0.001": ["--tol=1e-08"],
    "-e 1e-8": ["--tol=1e-10"],
    "-C": ["--find-C"],
}


@pytest.mark.parametrize(("letters", "words"), LIBSVM_LETTERS.items())
def test_letters_of_svm_train(letters, words):
    """Each letter is the word that says the same."""
    assert expand_short_options([*letters.split(), "data"], LIBSVM_OPTIONS) == (words, ["data"])


@pytest.mark.parametrize(("letters", "words"), LIBLINEAR_LETTERS.items())
def test_letters_of_liblinear(letters, words):
    """Each letter is the word that says the same."""
    assert expand_short_options([*letters.split(), "data"], LIBLINEAR_OPTIONS) == (words, ["data"])


def test_letters_of_scale_and_predict():
    """Negative limits are values, not options."""
    expanded, rest = expand_short_options(
        ["-l", "-1", "-u", "1", "-y", "-1e-2", "2", "-s", "range", "data"], SCALE_OPTIONS
    )
    assert expanded == ["--lower=-1", "--upper=1", "--target-lower=-1e-2", "--target-upper=2", "--save=range"]
    assert rest == ["data"]
    assert expand_short_options(["-b", "1", "t", "m", "o"], PREDICT_OPTIONS) == (["--probability"], ["t", "m", "o"])


@pytest.mark.parametrize(
    ("letters", "table", "sentence"),
    [
        (
            "-s 5 data",
            LIBSVM_OPTIONS,
            "-s must be one of 0, 1, 2, 3, 4, got '5'; the solvers of LIBLINEAR need --liblinear.",
        ),
        ("-t x data", LIBSVM_OPTIONS, "-t must be one of 0, 1, 2, 3, 4, got 'x'."),
        ("-g wide data", LIBSVM_OPTIONS, "-g must be a number, got 'wide'."),
        ("-s 8 data", LIBLINEAR_OPTIONS, "-s must be one of 0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 21, got '8'."),
        ("-e much data", LIBLINEAR_OPTIONS, "-e must be a number, got 'much'."),
        ("data -c", LIBSVM_OPTIONS, "-c needs 1 value after it."),
        ("data -y 1", SCALE_OPTIONS, "-y needs 2 values after it."),
    ],
)
def test_wrong_values(letters, table, sentence):
    """One sentence names the letter and the value."""
    with pytest.raises(ValueError, match=re.escape(sentence) + "$"):
        expand_short_options(letters.split(), table)


def test_h_is_shrinking_or_help():
    """-h 0 and -h 1 are svm-train's; -h alone asks for help."""
    assert expand_short_options(["-h", "1", "data"], LIBSVM_OPTIONS) == (["--shrinking=yes"], ["data"])
    assert expand_short_options(["-h"], LIBSVM_OPTIONS) == ([], ["-h"])


def test_what_is_no_letter_stays():
    """Words, files and what comes after -- are not looked at."""
    argv = ["--C", "2", "-x", "-c10", "data", "--", "-c", "3"]
    assert expand_short_options(argv, LIBSVM_OPTIONS) == ([], argv)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            st.sampled_from([*LIBSVM_OPTIONS, *LIBLINEAR_OPTIONS, "-w1", "--C", "1", "0.5", "data", "--"]), st.text()
        )
    )
)
@pytest.mark.parametrize(
    "table",
    [LIBSVM_OPTIONS, LIBLINEAR_OPTIONS, SCALE_OPTIONS, PREDICT_OPTIONS],
    ids=["libsvm", "liblinear", "scale", "predict"],
)
def test_any_arguments_are_split_or_refused(table, argv):
    """Arbitrary arguments: words and a rest, in which none is invented, or a ValueError."""
    try:
        expanded, rest = expand_short_options(argv, table)
    except ValueError:
        return
    assert all(word.startswith("--") for word in expanded)
    left = list(argv)
    for argument in rest:
        left.remove(argument)


# ---- from arguments to machines -------------------------------------------------------------------------------------


def machine_of(*argv: str):
    """The estimator that the arguments ask for, without reading data."""
    arguments = parse([*argv, "data"], "train")
    name = arguments.estimator or "SVC"
    parameters = {**keep_known_parameters(arguments.short_option_parameters, name), **arguments.given}
    parameters.pop("class_weight", None)
    return make_machine(name, parameters), arguments


@pytest.mark.parametrize("family", IMITATED_PROGRAMS)
@pytest.mark.parametrize("solver", range(22))
def test_every_solver_type_makes_a_machine(family, solver):
    """-s of either family: a machine whose parameters are sound, or a refusal."""
    table, _ = IMITATED_PROGRAMS[family]
    try:
        table["-s"].expand(str(solver))
    except ValueError:
        return
    machine, arguments = machine_of(f"--{family}", "-s", str(solver), "-c", "3", "-p", "0.2", "-n", "0.3", "-e", "0.01")
    machine._validate_params()
    parameters = machine.get_params()
    assert parameters.get("C", 3.0) == 3.0
    assert parameters.get("nu", 0.3) == 0.3
    assert parameters.get("epsilon", 0.2) == 0.2
    assert parameters["tol"] == pytest.approx(0.005 if family == "libsvm" else 1e-6)
    assert arguments.imitated_program == family


def test_defaults_of_libsvm():
    """One letter, or the name of the program, brings svm-train's defaults."""
    for argv in (("-c", "1"), ("--libsvm",)):
        machine, arguments = machine_of(*argv)
        assert isinstance(machine, maxmargin.SVC)
        assert (machine.gamma, machine.tol, machine.cache_size, machine.C) == ("auto", 5e-4, 100.0, 1.0)
        assert machine.solver == maxmargin.SMO(stop="kkt", cache_size=100.0)
        assert arguments.imitated_program == "libsvm"


def test_defaults_of_liblinear():
    """L2-loss classification without an intercept, and a tube of 0.1 for regression."""
    machine, _ = machine_of("--liblinear")
    assert (machine.loss, machine._intercept_kind, machine.tol) == ("squared_hinge", "none", 1e-4)
    assert machine_of("--liblinear", "-s", "11")[0].epsilon == 0.1
    assert machine_of("--liblinear", "-B", "1", "-R")[0].intercept == "free"


def test_words_alone_have_our_defaults():
    """Without a letter nothing is as in svm-train; -q is not one of training."""
    machine, arguments = machine_of("--C", "2", "-q")
    assert machine.get_params() == maxmargin.SVC(C=2.0).get_params()
    assert arguments.imitated_program is None
    assert arguments.quiet


def test_words_beside_letters():
    """A word wins over a letter, and both may be given."""
    machine, _ = machine_of("-c", "1", "--C", "7", "--max-seconds", "5", "-h", "0")
    assert (machine.C, machine.max_seconds, machine.shrinking) == (7.0, 5.0, False)
    assert machine.solver == maxmargin.SMO(stop="kkt", shrinking=False, cache_size=100.0)


def test_letters_that_a_machine_has_not_are_left_out():
    """svm-train does not mind them; words are refused."""
    assert isinstance(machine_of("-s", "2", "-c", "5", "-p", "1")[0], maxmargin.OneClassSVM)
    with pytest.warns(UserWarning, match="-b 1 is left out: SVR has no probabilities"):
        machine_of("-s", "3", "-b", "1")
    with pytest.raises(UsageError, match=r"^--nu is no parameter of SVC; it is one of NuSVC, NuSVR, OneClassSVM"):
        machine_of("--nu", "0.5")


def test_every_parameter_has_a_word():
    """Each parameter of an estimator is an option or is left out on purpose; no option is without an estimator."""
    known = {name for each in ESTIMATOR_NAMES for name in getattr(maxmargin, each)().get_params()}
    assert known - {option.name for option in OPTIONS} == PARAMETERS_WITHOUT_OPTION
    assert {option.name for option in OPTIONS} <= known
    assert tuple(name for name, kind in ESTIMATORS.items() if kind.family != "structured") == ESTIMATOR_NAMES


# ---- solvers with parameters, weights of classes -------------------------------------------------------------------


def test_solvers_with_knobs():
    """smo:selection=mvp is SMO(selection="mvp")."""
    assert make_solver("newton", {}) == "newton"
    assert make_solver("smo:selection=mvp,working_set=2", {}) == maxmargin.SMO(selection="mvp", working_set=2)
    assert make_solver("gradient_descent:momentum=nesterov,step=0.5", {}).step == 0.5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sma:stop=kkt", "--solver must be auto or one of smo, newton"),
        ("smo:stopp=kkt", "--solver smo takes parameters as KEY=VALUE, and it has selection, stop, shrinking"),
        ("smo:stop", "got 'stop'."),
        ("newton:x=1", "and it has none; got 'x=1'."),
        ("smo:stop=never", "SMO's stop must be one of"),
    ],
)
def test_wrong_solvers(text, sentence):
    """A sentence names what there is."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make_solver(text, {})


def test_weights_of_classes():
    """Labels as they are written, or as the same number; names with an equals sign too."""
    y = np.array([-1.0, 1.0, 2.5])
    assert read_class_weight(["-1=2", "1.0=3,2.5=4"], y, strict=True) == {-1.0: 2.0, 1.0: 3.0, 2.5: 4.0}
    assert read_class_weight(["balanced"], y, strict=True) == "balanced"
    names = np.array(["a", "b=c"], dtype=object)
    assert read_class_weight(["b=c=2"], names, strict=True) == {"b=c": 2.0}
    with pytest.raises(ValueError, match=r"names the label '7', and the data have -1, 1, 2\.5"):
        read_class_weight(["7=1"], y, strict=True)
    with pytest.warns(UserWarning, match="it is left out"):
        assert read_class_weight(["7=1"], y, strict=False) is None
    assert read_class_weight(["1=2,red=3"], None, strict=True) == {1.0: 2.0, "red": 3.0}
    for wrong in ("1", "1=x", "="):
        with pytest.raises(ValueError, match="--class-weight must be balanced or LABEL=WEIGHT"):
            read_class_weight([wrong], y, strict=True)
