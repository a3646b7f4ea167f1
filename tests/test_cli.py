"""The commands of `maxmargin`: what they write and print, and the code with which they end."""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin import SVC
from maxmargin.cli import COMMANDS, main
from maxmargin.cli.exit_codes import Exit, Terminated
from maxmargin.cli.saving import treat_sigterm_as_interrupt
from maxmargin.cli.short_options import LIBSVM_OPTIONS, PREDICT_OPTIONS, SCALE_OPTIONS
from maxmargin.files import load, read_data, read_libsvm, save, write_libsvm

CERTIFICATE = ("primal", "dual", "relative gap", "KKT violation")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def blobs() -> str:
    """Two classes that overlap, 120 rows of 4 features."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(120) % 3 == 0, 1.0, -1.0)
    write_libsvm("blobs", rng.normal(size=(120, 4)) + 0.8 * y[:, None], y)
    return "blobs"


@pytest.fixture
def line() -> str:
    """A line with noise, 80 rows of 3 features."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    write_libsvm("line", X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=80))
    return "line"


@pytest.fixture
def flowers() -> str:
    """A table with a header and three classes by name."""
    rng = np.random.default_rng(2)
    names = np.array(["aster", "bell flower", "clover"])[np.arange(90) % 3]
    X = rng.normal(size=(90, 2)) + 3.0 * (np.arange(90) % 3)[:, None]
    rows = [f"{a:.6f},{b:.6f},{name}" for (a, b), name in zip(X, names, strict=True)]
    Path("flowers.csv").write_text("\n".join(["height,width,name", *rows]) + "\n")
    return "flowers.csv"


def run(*argv: object) -> int:
    """The exit code of a command in this process."""
    return main([str(argument) for argument in argv])


def assert_refused(capsys, code: Exit, sentence: str, *argv: object) -> None:
    """A command ends with a code and one sentence on stderr, and says nothing else."""
    assert run(*argv) == code
    out, err = capsys.readouterr()
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""


# ---- the program itself ---------------------------------------------------------------------------------------------


def test_version(capsys):
    """--version is that of the library."""
    assert run("--version") == Exit.SUCCESS
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    """COMMAND --help names its options and ends well."""
    if command == "bench":
        return  # it hands its arguments on
    assert run(command, "--help") == Exit.SUCCESS
    assert capsys.readouterr().out.startswith(f"usage: maxmargin {command}")


def test_help_lists_the_commands(capsys):
    """Every command with what it does."""
    assert run("--help") == Exit.SUCCESS
    out = capsys.readouterr().out
    assert all(f"  {name}" in out and purpose in out for name, purpose in COMMANDS.items())


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["fly"], "there is no command 'fly'; choose from train, predict"),
        (["trian"], "there is no command 'trian'; did you mean train?"),
        (["train"], "the following arguments are required: DATA"),
        (["train", "a", "b", "c"], "one file too many: c"),
        (["train", "--fast", "a"], "there is no option --fast"),
        (["train", "--c", "1", "a"], "there is no option --c; did you mean --C?"),
        (["predict", "--probabilities", "a", "b"], "there is no option --probabilities; did you mean --probability?"),
    ],
    ids=str,
)
def test_wrong_usage(argv, sentence, capsys):
    """argparse's code, and a sentence that helps."""
    assert run(*argv) == Exit.USAGE
    assert f"error: {sentence}" in capsys.readouterr().err


def test_no_command_is_a_cry_for_help(capsys):
    """The list of commands, for those who type the name of the program, or help."""
    assert run() == Exit.USAGE
    asked = capsys.readouterr().err
    assert run("help") == Exit.SUCCESS
    assert capsys.readouterr().out == asked
    assert run("help", "scale") == Exit.SUCCESS
    assert capsys.readouterr().out.startswith("usage: maxmargin scale")


@pytest.mark.parametrize(
    ("argv", "guests"),
    [
        (["--version"], ["numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas"]),
        (["train", "--help"], ["numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas"]),
        (["solvers"], ["sklearn", "numba", "matplotlib", "dask", "pandas"]),
    ],
    ids=["version", "help", "solvers"],
)
def test_what_needs_nothing_loads_nothing(argv, guests):
    """A process that only prints does not wait for libraries."""
    code = (
        f"import sys; from maxmargin.cli import main; code = main({argv!r}); "
        f"loaded = [name for name in {guests!r} if name in sys.modules]; sys.exit(f'{{loaded}}' if loaded else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_as_a_module():
    """python -m maxmargin is the same program."""
    done = subprocess.run(
        [sys.executable, "-m", "maxmargin", "solvers"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "smo" in done.stdout


@pytest.mark.slow
def test_nobody_listens():
    """A pipe that is closed early is no error."""
    command = f"{sys.executable} -m maxmargin solvers --markdown | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("# Solvers\n", "")


# ---- train ----------------------------------------------------------------------------------------------------------


def test_train_is_fit(blobs, capsys):
    """The saved machine is that of Python, and its certificate is the last line."""
    assert run("train", blobs, "--C", "2", "--gamma", "0.5") == Exit.SUCCESS
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "blobs: 120 rows of 4 features, 2 classes"
    assert out[1].startswith("SVC: converged, ")
    assert out[-2] == "saved as blobs.maxmargin"
    assert all(word in out[-1] for word in CERTIFICATE)
    X, y, _ = read_libsvm(blobs)
    expected = maxmargin.SVC(C=2.0, gamma=0.5).fit(X.toarray(), y)
    model = load("blobs.maxmargin")
    np.testing.assert_array_equal(model.decision_function(X.toarray()), expected.decision_function(X.toarray()))
    assert model.get_params() == expected.get_params()
    assert str(model.certificate_) == out[-1]


@pytest.mark.parametrize("name", ["NuSVC", "OneClassSVM", "LinearSVC", "RiskClassifier", "MetricSVC"])
def test_every_estimator_of_labels(name, blobs):
    """--estimator takes them all."""
    assert run("train", blobs, "m", "--estimator", name, "--quiet") == Exit.SUCCESS
    assert type(load("m")).__name__ == name


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "LinearSVR", "RiskRegressor", "RankSVM"])
def test_every_estimator_of_numbers(name, line):
    """--estimator takes them all."""
    assert run("train", line, "m", "--estimator", name, "--quiet") == Exit.SUCCESS
    assert type(load("m")).__name__ == name
    assert run("predict", line, "m", "out", "--quiet") == Exit.SUCCESS


def test_queries_reach_rank_svm():
    """qid: of the file are the groups of RankSVM."""
    rng = np.random.default_rng(0)
    X, query = rng.normal(size=(40, 3)), np.arange(40) // 10
    y = np.round(X[:, 0] * 2)
    write_libsvm("ranks", X, y, query=query)
    assert run("train", "ranks", "m", "--estimator", "RankSVM", "--quiet") == Exit.SUCCESS
    expected = maxmargin.RankSVM().fit(X, y, query)
    np.testing.assert_allclose(load("m").coef_, expected.coef_, rtol=1e-9)


def test_json_of_train(blobs, capsys):
    """One object with everything, and nothing else on stdout."""
    assert run("train", blobs, "--json", "--class-weight", "1=2,-1=0.5", "--probability") == Exit.SUCCESS
    record = json.loads(capsys.readouterr().out)
    assert record["status"] == "converged"
    assert record["certificate"]["relative_gap"] <= record["parameters"]["tol"]
    assert record["files"] == {"data": "blobs", "model": "blobs.maxmargin", "format": "maxmargin"}
    assert record["classes"] == [-1.0, 1.0]
    assert load("blobs.maxmargin").class_weight == {1.0: 2.0, -1.0: 0.5}
    assert {"seconds", "solver", "iterations", "support_vectors", "message", "estimator"} <= set(record)


def test_arguments_come_in_any_order(blobs):
    """Options before, between and behind the files."""
    for argv in ([blobs, "--C", "2", "m"], ["--C", "2", blobs, "m"], [blobs, "m", "--C", "2"], [blobs, "-c", "2", "m"]):
        assert run("train", "-q", *argv) == Exit.SUCCESS
        assert pytest.approx(2.0) == load("m").C
        Path("m").unlink()
    run("train", "-q", blobs, "m")
    assert run("predict", blobs, "-q", "m", "-b", "0", "out") == Exit.SUCCESS
    assert Path("out").is_file()


def test_data_that_nobody_scaled(capsys):
    """The warning says what to do, in the words of the command line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 1.0, 1e6]
    write_libsvm("wild", X, np.where(rng.random(60) < 0.5, 1.0, -1.0))
    assert run("train", "wild", "--kernel", "linear", "--max-iter", "5", "--C", "10") == Exit.UNFINISHED
    assert "Feature 2 spans 1e+06 times the others; scale it (maxmargin scale)." in capsys.readouterr().err


def test_quiet_is_quiet(blobs, capsys):
    """-q leaves the model, and no words."""
    assert run("train", "-q", blobs) == Exit.SUCCESS
    assert capsys.readouterr() == ("", "")
    assert Path("blobs.maxmargin").is_file()


def test_an_unfinished_fit_is_saved_and_told(blobs, capsys):
    """Code 3, one sentence with the gap, and a model that says so too."""
    assert run("train", blobs, "--max-iter", "3", "--tol", "1e-9") == Exit.UNFINISHED
    out, err = capsys.readouterr()
    assert err.startswith("maxmargin train: ")
    assert "The limit of iterations (max_iter) came first." in err
    assert ".py" not in err
    assert "max_iter" in out
    assert load("blobs.maxmargin").result_.status is maxmargin.Status.MAX_ITER


def test_the_suffix_says_the_format(blobs):
    """.maxmargin, .model and others; --to says it too."""
    for name, options, begin in (
        ("m.model", ["--kernel", "linear"], b"svm_type"),
        ("w.model", ["--estimator", "LinearSVC"], b"solver_type"),
        ("m", [], b"PK"),
        ("m.maxmargin", ["-c", "1"], b"PK"),
        ("m", ["-c", "1"], b"svm_type"),
        ("m", ["--to", "libsvm"], b"svm_type"),
    ):
        assert run("train", "-q", blobs, name, *options) == Exit.SUCCESS
        assert Path(name).read_bytes().startswith(begin)


def test_what_a_format_cannot_hold(blobs, capsys):
    """Refused in a sentence, and no file is left behind."""
    assert_refused(capsys, Exit.BAD_INPUT, "laplacian", "train", blobs, "m.model", "--kernel", "laplacian")
    assert not Path("m.model").exists()


WRONG_TRAININGS = {
    "no file": (["nowhere"], "nowhere"),
    "a folder": (["."], "."),
    "no number": (["blobs", "--C", "0"], "'C' parameter of SVC"),
    "no kernel": (["blobs", "--kernel", "cubic"], "'kernel' parameter of SVC"),
    "no solver": (["blobs", "--solver", "magic"], "'solver' parameter of SVC"),
    "numbers for labels": (["ages"], "has 30 different targets in 30 rows"),
    "numbers for classes": (["line", "--estimator", "SVC"], "needs labels of classes"),
    "names for numbers": (["flowers.csv", "--estimator", "SVR"], "SVR needs numbers"),
    "no column": (["flowers.csv", "--target", "colour"], "no column 'colour'"),
    "no label": (["blobs", "--class-weight", "7=2"], "names the label '7'"),
    "no folder": (["blobs", "nowhere/m"], "nowhere"),
    "a fault in the text": (["faulty"], "faulty, line 2"),
    "blocks of csv": (
        ["flowers.csv", "--blocks", "--estimator", "LinearSVC"],
        "--blocks takes LIBSVM text and Parquet",
    ),
    "no kernel values": (["blobs", "-t", "4", "-v", "3"], "must have a kernel value for each of its 120 rows"),
    "too few features": (["blobs", "--n-features", "2"], "an index must be at most 2"),
}


@pytest.mark.parametrize("case", WRONG_TRAININGS)
def test_wrong_input(case, blobs, line, flowers, capsys):
    """Code 1, one sentence that names the file or the parameter, no traceback, no model."""
    Path("faulty").write_text("1 1:0.5\n-1 1:x\n")
    Path("ages").write_text("".join(f"{age} 1:{age / 2}\n" for age in range(30, 60)))
    argv, sentence = WRONG_TRAININGS[case]
    assert_refused(capsys, Exit.BAD_INPUT, sentence, "train", *argv)
    assert not list(Path().glob("*.maxmargin"))


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--nu", "0.5"], "--nu is no parameter of SVC"),
        (["--class-weight", "1=2", "--estimator", "SVR"], "--class-weight is no parameter of SVR"),
        (["--C", "many"], "argument --C: invalid number value: 'many'"),
        (["--folds", "1"], "--folds (-v) must be 2 or more, got 1"),
        (["--folds", "3", "--blocks"], "--folds goes neither with --resume nor with --blocks"),
        (["--libsvm", "--liblinear"], "not allowed with argument"),
        (["-s", "9"], "-s must be one of 0, 1, 2, 3, 4, got '9'"),
        (["-c", "1", "--resume", "m"], "takes no letters"),
        (["--blocks"], "--blocks is for LinearSVC, LinearSVR, RiskClassifier, RiskRegressor, and not for SVC"),
        (["--find-C"], "--find-C (-C) is for linear machines"),
    ],
)
def test_options_that_do_not_go_together(argv, sentence, blobs, capsys):
    """Code 2 and a sentence."""
    assert_refused(capsys, Exit.USAGE, sentence, "train", blobs, *argv)


def test_dense_and_sparse_files_make_the_same_machine(blobs):
    """The form in which rows are kept is chosen by their zeros, and changes nothing."""
    X, y, _ = read_libsvm(blobs)
    wide = sp.csr_array((X.data, X.indices * 9, X.indptr), shape=(120, 40))
    write_libsvm("wide", wide, y)
    assert run("train", "-q", "wide", "--gamma", "0.1", "--kernel", "rbf") == Exit.SUCCESS
    assert run("train", "-q", blobs, "--gamma", "0.1", "--kernel", "rbf") == Exit.SUCCESS
    sparse, dense = load("wide.maxmargin"), load("blobs.maxmargin")
    assert sp.issparse(sparse.support_vectors_)
    assert not sp.issparse(dense.support_vectors_)
    np.testing.assert_allclose(sparse.certificate_.primal, dense.certificate_.primal, rtol=1e-5)
    assert (
        run("predict", "-q", "wide", "wide.maxmargin", "a") == run("predict", "-q", blobs, "blobs.maxmargin", "b") == 0
    )
    assert Path("a").read_text() == Path("b").read_text()


def test_blocks_reach_the_same_optimum(blobs, capsys):
    """A linear machine on blocks of the file, predictions too."""
    options = ["--estimator", "LinearSVC", "--loss", "hinge", "--tol", "1e-8", "--class-weight", "1=2"]
    assert run("train", blobs, "whole", "--json", *options) == Exit.SUCCESS
    assert run("train", blobs, "parts", "--json", "--blocks", *options) == Exit.SUCCESS
    whole, parts = (json.loads(text) for text in capsys.readouterr().out.splitlines())
    assert parts["certificate"]["primal"] == pytest.approx(whole["certificate"]["primal"], rel=1e-7)
    assert run("predict", blobs, "parts", "out", "--blocks") == Exit.SUCCESS
    assert "Accuracy = " in capsys.readouterr().out


def test_large_files_are_read_in_blocks(blobs, monkeypatch, capsys):
    """By themselves, if the machine is linear."""
    monkeypatch.setattr("maxmargin.cli.data.find_memory", lambda: 1000)
    assert run("train", blobs, "--estimator", "LinearSVC") == Exit.SUCCESS
    assert load("blobs.maxmargin").result_.counters["passes"] > 0
    assert run("train", blobs) == Exit.SUCCESS
    assert "support vectors" in capsys.readouterr().out


def test_weights_of_samples(blobs):
    """A file with one weight a line."""
    weight = np.where(np.arange(120) % 2 == 0, 2.0, 1.0)
    Path("weights").write_text("".join(f"{each:g}\n" for each in weight))
    assert run("train", "-q", blobs, "--weight", "weights") == Exit.SUCCESS
    X, y, _ = read_libsvm(blobs)
    expected = maxmargin.SVC().fit(X.toarray(), y, weight)
    assert load("blobs.maxmargin").certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-9)


# ---- resume ---------------------------------------------------------------------------------------------------------


def test_resume_goes_on(blobs, capsys):
    """From the duals of the file, on the same data; the model is written over."""
    assert run("train", blobs, "m", "--max-iter", "40", "--tol", "1e-10", "-q") == Exit.UNFINISHED
    begun = load("m").certificate_
    capsys.readouterr()
    assert run("train", "--resume", "m", blobs, "--max-iter", "-1", "--json") == Exit.SUCCESS
    record = json.loads(capsys.readouterr().out)
    assert record["files"]["model"] == "m"
    assert record["certificate"]["relative_gap"] <= 1e-10
    assert record["certificate"]["dual"] >= begun.dual
    assert load("m").tol == 1e-10


def test_resume_of_a_converged_machine_is_short(blobs, capsys):
    """Nothing is left to do, and with a smaller tol little."""
    run("train", "-q", blobs, "m", "--tol", "1e-6")
    assert run("train", "--resume", "m", blobs, "--json") == Exit.SUCCESS
    assert json.loads(capsys.readouterr().out)["iterations"] <= 1


def test_resume_refuses_other_data(blobs, line, capsys):
    """By the hash in the model file; models of others have no duals; another class is another machine."""
    run("train", "-q", blobs, "m")
    Path("other").write_text(Path(blobs).read_text().replace("1:", "1:1", 1))
    assert_refused(
        capsys,
        Exit.BAD_INPUT,
        "other holds other data than those that m was trained on",
        "train",
        "--resume",
        "m",
        "other",
    )
    run("train", "-q", "-c", "1", blobs, "m.model")
    assert_refused(capsys, Exit.BAD_INPUT, "m.model is none", "train", "--resume", "m.model", blobs)
    assert_refused(capsys, Exit.USAGE, "which holds a SVC", "train", "--resume", "m", blobs, "--estimator", "SVR")
    assert_refused(capsys, Exit.BAD_INPUT, "nowhere", "train", "--resume", "nowhere", blobs)


# ---- predict --------------------------------------------------------------------------------------------------------


def test_predict_writes_labels_and_accuracy(blobs, capsys):
    """A label a line, as svm-predict writes it."""
    run("train", "-q", blobs)
    assert run("predict", blobs, "blobs.maxmargin", "out") == Exit.SUCCESS
    X, y, _ = read_libsvm(blobs)
    labels = np.loadtxt("out")
    np.testing.assert_array_equal(labels, load("blobs.maxmargin").predict(X.toarray()))
    right = int((labels == y).sum())
    assert capsys.readouterr().out == f"Accuracy = {100 * right / 120:g}% ({right}/120) (classification)\n"
    assert set(Path("out").read_text().split()) == {"-1", "1"}
    assert run("predict", "--liblinear", blobs, "blobs.maxmargin", "out") == Exit.SUCCESS
    assert capsys.readouterr().out == f"Accuracy = {100 * right / 120:g}% ({right}/120)\n"


def test_predict_to_stdout(blobs, capsys):
    """Predictions on stdout, the accuracy on stderr; devices are written to."""
    run("train", "-q", blobs)
    assert run("predict", blobs, "blobs.maxmargin") == Exit.SUCCESS
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 120
    assert err.startswith("Accuracy = ")
    assert run("predict", blobs, "blobs.maxmargin", os.devnull) == Exit.SUCCESS
    assert not Path(os.devnull).is_file()


def test_probabilities_and_decisions(blobs, capsys):
    """-b 1: a header, then the label of the largest probability; --decisions: the value behind the label."""
    run("train", "-q", "--probability", blobs)
    assert run("predict", "-b", "1", "-q", blobs, "blobs.maxmargin", "out") == Exit.SUCCESS
    head, *lines = Path("out").read_text().splitlines()
    assert head == "labels -1 1"
    table = np.array([line.split() for line in lines], float)
    np.testing.assert_allclose(table[:, 1:].sum(axis=1), 1.0)
    np.testing.assert_array_equal(table[:, 0], np.where(table[:, 2] > table[:, 1], 1.0, -1.0))
    assert run("predict", "--decisions", "-q", blobs, "blobs.maxmargin", "out") == Exit.SUCCESS
    decisions = np.loadtxt("out")
    np.testing.assert_array_equal(np.sign(decisions[:, 1]), decisions[:, 0])
    run("train", "-q", "-b", "1", blobs, "m.model")
    run("predict", "-b", "1", "-q", blobs, "m.model", "out")
    assert Path("out").read_text().startswith("labels 1 -1\n")
    run("train", "-q", blobs)
    assert_refused(
        capsys, Exit.BAD_INPUT, "has no probabilities", "predict", "-b", "1", blobs, "blobs.maxmargin", "out2"
    )
    assert not Path("out2").exists()


def test_predict_numbers(line, capsys):
    """Mean squared error and squared correlation, as svm-predict says them."""
    run("train", "-q", line, "--estimator", "SVR", "--kernel", "linear")
    assert run("predict", line, "line.maxmargin", "out") == Exit.SUCCESS
    y, predicted = read_libsvm(line).y, np.loadtxt("out")
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"Mean squared error = {np.mean((predicted - y) ** 2):g} (regression)"
    shown = float(second.removeprefix("Squared correlation coefficient = ").removesuffix(" (regression)"))
    assert shown == pytest.approx(np.corrcoef(predicted, y)[0, 1] ** 2, rel=1e-4)
    assert run("predict", line, "line.maxmargin", "out", "--json") == Exit.SUCCESS
    assert json.loads(capsys.readouterr().out)["rows"] == 80


def test_a_table_with_names(flowers, capsys):
    """Labels that are words go in and come out."""
    assert run("train", flowers, "--class-weight", "bell flower=2") == Exit.SUCCESS
    assert run("predict", flowers, "flowers.csv.maxmargin", "out") == Exit.SUCCESS
    assert set(Path("out").read_text().splitlines()) == {"aster", "bell flower", "clover"}
    assert "Accuracy = " in capsys.readouterr().out
    assert run("train", "-q", flowers, "m", "--target", "height", "--estimator", "SVR") == Exit.BAD_INPUT


def test_features_that_are_missing_or_new(blobs, capsys):
    """Fewer features are zeros; more of them are refused by our models, and taken by LIBSVM's as svm-predict does."""
    run("train", "-q", blobs)
    Path("narrow").write_text("1 1:2\n-1\n")
    assert run("predict", "narrow", "blobs.maxmargin", "out") == Exit.SUCCESS
    assert len(Path("out").read_text().split()) == 2
    capsys.readouterr()
    Path("wide").write_text("1 1:2 9:5\n")
    assert_refused(capsys, Exit.BAD_INPUT, "9 features", "predict", "wide", "blobs.maxmargin", "out")
    run("train", "-q", "-c", "1", blobs, "m.model")
    assert run("predict", "-q", "wide", "m.model", "out") == Exit.SUCCESS


@pytest.mark.parametrize(
    ("argv", "code", "sentence"),
    [
        (["blobs", "nowhere", "out"], Exit.BAD_INPUT, "nowhere"),
        (["nowhere", "m", "out"], Exit.BAD_INPUT, "nowhere"),
        (["blobs", "blobs", "out"], Exit.BAD_INPUT, "blobs"),
        (["blobs", "m", "nowhere/out"], Exit.BAD_INPUT, "nowhere"),
        (["line", "r", "out", "--decisions"], Exit.BAD_INPUT, "SVR predicts numbers"),
        (["line", "r", "out", "-b", "1"], Exit.BAD_INPUT, "--probability (-b 1) needs classes, and SVR has none"),
        (["blobs", "m", "--json"], Exit.USAGE, "--json needs stdout for itself"),
        (["blobs", "m", "out", "-b"], Exit.USAGE, "-b needs 1 value after it"),
        (["blobs", "m", "out", "-b", "2"], Exit.USAGE, "-b must be one of 0, 1"),
    ],
)
def test_wrong_predictions(argv, code, sentence, blobs, line, capsys):
    """A sentence, and no file."""
    run("train", "-q", blobs, "m")
    run("train", "-q", line, "r", "--estimator", "SVR")
    assert_refused(capsys, code, sentence, "predict", *argv)
    assert not Path("out").exists()


# ---- letters --------------------------------------------------------------------------------------------------------


def test_letters_write_their_model(blobs, capsys):
    """The name and the format of svm-train, in the folder where it was called."""
    Path("elsewhere").mkdir()
    Path(blobs).rename("elsewhere/blobs")
    assert run("train", "-c", "10", "-g", "0.5", "elsewhere/blobs") == Exit.SUCCESS
    assert Path("blobs.model").read_text().startswith("svm_type c_svc\nkernel_type rbf\ngamma 0.5\n")
    assert run("predict", "elsewhere/blobs", "blobs.model", "out") == Exit.SUCCESS
    assert capsys.readouterr().out.splitlines()[-1].startswith("Accuracy = ")


def test_liblinear_writes_its_model(blobs):
    """Under its own name, and with its bias."""
    assert run("train", "--liblinear", "-s", "3", "-B", "1", "-q", blobs) == Exit.SUCCESS
    text = Path("blobs.model").read_text()
    assert text.startswith("solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 4\nbias 1\nw\n")


@pytest.mark.parametrize("letters", [["-s", "0"], ["-s", "1"], ["-s", "2"]], ids=["c_svc", "nu_svc", "one_class"])
def test_rows_of_kernel_values(letters, blobs, capsys):
    """-t 4: the file holds the kernel matrix, numbered from 1 on; the machine is that of the linear kernel."""
    X, y, _ = read_libsvm(blobs)
    K = (X @ X.T).toarray()
    rows = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), 1)) for row in K)
    lines = [f"{label:g} 0:{i} {row}" for i, (label, row) in enumerate(zip(y, rows, strict=True), 1)]
    Path("matrix").write_text("\n".join(lines) + "\n")
    for kernel, data in (("4", "matrix"), ("0", blobs)):
        assert run("train", *letters, "-t", kernel, "-e", "1e-8", data, f"m{kernel}") == Exit.SUCCESS
        assert run("predict", data, f"m{kernel}", f"out{kernel}") == Exit.SUCCESS
    assert "kernel_type precomputed" in Path("m4").read_text()
    assert Path("out4").read_text() == Path("out0").read_text()
    capsys.readouterr()
    if letters[1] != "2":
        assert run("train", *letters, "-t", "4", "-v", "3", "matrix") == Exit.SUCCESS
        assert "Cross Validation Accuracy = " in capsys.readouterr().out


# ---- cross-validation -----------------------------------------------------------------------------------------------


def test_folds_predict_unseen_rows(blobs, line, capsys):
    """The lines of svm-train -v, and no model."""
    assert run("train", "-v", "5", blobs) == Exit.SUCCESS
    out = capsys.readouterr().out
    assert out.startswith("Cross Validation Accuracy = ")
    assert 60 < float(out.split()[-1].rstrip("%")) <= 100
    assert run("train", "--folds", "5", line, "--estimator", "LinearSVR") == Exit.SUCCESS
    first, second = capsys.readouterr().out.splitlines()
    assert 0.001 < float(first.removeprefix("Cross Validation Mean squared error = ")) < 0.1
    assert float(second.removeprefix("Cross Validation Squared correlation coefficient = ")) > 0.9
    assert run("train", "--folds", "4", "--json", blobs) == Exit.SUCCESS
    assert json.loads(capsys.readouterr().out)["rows"] == 120
    assert not [*Path().glob("*.model"), *Path().glob("*.maxmargin")]


def test_more_folds_than_rows(blobs, capsys):
    """A sentence; a class of few rows does not matter."""
    assert_refused(capsys, Exit.BAD_INPUT, "at most the number of rows, 120, got 121", "train", "--folds", "121", blobs)


def test_search_for_C(blobs, line, capsys):
    """LIBLINEAR's -C: rates for rising C, the best one last."""
    assert run("train", "--liblinear", "-s", "2", "-C", "-c", "0.125", blobs) == Exit.SUCCESS
    *rates, best = capsys.readouterr().out.splitlines()
    assert rates[0].startswith("log2c=  -3.00\trate=")
    assert best.startswith("Best C = ")
    assert best.endswith("%")
    assert run("train", "--find-C", "--C", "64", "--estimator", "LinearSVR", "--epsilon", "0.1", line) == Exit.SUCCESS
    assert "CV MSE = " in capsys.readouterr().out.splitlines()[-1]
    assert run("train", "--liblinear", "-s", "11", "-C", "-q", "--max-seconds", "0.3", line) == Exit.UNFINISHED
    assert re.fullmatch(r"Best C = \S+ Best p = \S+  CV MSE = \S+\n", capsys.readouterr().out)


def write_flowers(name: str, order: list[int], header: bool = True) -> None:
    """Columns of flowers.csv in another order, or without the first line."""
    lines = [line.split(",") for line in Path("flowers.csv").read_text().splitlines()]
    Path(name).write_text("".join(",".join(line[k] for k in order) + "\n" for line in lines[not header :]))


@pytest.mark.parametrize("machine", ["SVC", "LinearSVC"])
def test_columns_are_found_by_their_names(machine, flowers, capsys):
    """Another order, no target, no names at all: the same predictions."""
    assert run("train", "-q", "--estimator", machine, flowers, "m") == Exit.SUCCESS
    assert run("predict", "-q", flowers, "m", "expected") == Exit.SUCCESS
    tables = {"turned": ([2, 1, 0], True), "bare": ([1, 0], True), "nameless": ([0, 1], False)}
    for name, (order, header) in tables.items():
        write_flowers(f"{name}.csv", order, header)
        assert run("predict", "-q", f"{name}.csv", "m", "out") == Exit.SUCCESS
        assert Path("out").read_text() == Path("expected").read_text(), name
    assert run("certify", "-q", "m", "turned.csv") == Exit.SUCCESS
    assert run("train", "-q", "--resume", "m", "turned.csv", "--tol", "1e-8") == Exit.SUCCESS
    assert list(load("m").feature_names_in_) == ["height", "width"]
    capsys.readouterr()
    write_flowers("less.csv", [0, 2])
    assert_refused(
        capsys, Exit.BAD_INPUT, "less.csv has no column 'width'; it has height, name.", "predict", "less.csv", "m", "o"
    )
    write_flowers("single.csv", [0], header=False)
    assert_refused(capsys, Exit.BAD_INPUT, "single.csv has 0 columns of features", "predict", "single.csv", "m", "o")


# ---- indices from 0 -------------------------------------------------------------------------------------------------


@pytest.fixture
def counted_from_0() -> tuple[str, str]:
    """Texts with the indices 0 to 3; the second lacks the feature 0, so that it looks as if it counted from 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[80:, 0] = 0.0
    y = np.where(X[:, 1] + 2.0 * X[:, 3] > 0, 1.0, -1.0)
    write_libsvm("zero", X[:80], y[:80], zero_based=True)
    write_libsvm("zero.t", X[80:], y[80:], zero_based=True)
    return "zero", "zero.t"


def read_right(capsys, *argv: object) -> int:
    """How many rows a command predicts rightly."""
    capsys.readouterr()
    assert run("predict", "--json", *argv, "out") == Exit.SUCCESS
    return json.loads(capsys.readouterr().out)["right"]


@pytest.mark.parametrize("machine", [["--estimator", "LinearSVC"], ["--kernel", "linear"], ["-t", "0"]], ids=str)
def test_features_keep_their_indices(machine, counted_from_0, capsys):
    """A test file is read as the training file was, whichever program wrote the model."""
    train, test = counted_from_0
    assert run("train", "-q", *machine, train, "m") == Exit.SUCCESS
    assert read_right(capsys, test, "m") >= 36
    if machine[0] == "-t":
        first = Path("m").read_text().partition("SV\n")[2].split()[1]
        assert first.startswith("0:")
        Path("m.gz").write_bytes(gzip.compress(Path("m").read_bytes()))
        assert read_right(capsys, test, "m.gz") >= 36
    write_libsvm("one", np.eye(2), [1.0, -1.0])
    run("train", "-q", "--estimator", "LinearSVC", "one", "m1")
    assert_refused(capsys, Exit.BAD_INPUT, "indices begin at 1, got '0:", "predict", train, "m1")


def test_liblinear_has_no_index_0(counted_from_0, capsys):
    """Its files have no place for it, which is said before the fit."""
    assert_refused(
        capsys, Exit.BAD_INPUT, "LIBLINEAR counts features from 1", "train", "--liblinear", counted_from_0[0]
    )


def test_scale_takes_indices_as_they_are(counted_from_0, capsys):
    """svm-scale: what is written has the indices of what was read, and ranges are restored by index."""
    train, test = counted_from_0
    assert run("scale", "--save", "range", "--out", "s", train) == Exit.SUCCESS
    assert run("scale", "--restore", "range", "--out", "s.t", test) == Exit.SUCCESS
    assert Path("range").read_text().splitlines()[2].startswith("0 ")
    X, expected = read_libsvm(train).X, read_libsvm("s", zero_based=True).X
    low, high = X.toarray().min(axis=0), X.toarray().max(axis=0)
    new = read_libsvm(test, zero_based=True, n_features=4).X.toarray()
    np.testing.assert_allclose(expected.toarray(), 2.0 * (X.toarray() - low) / (high - low) - 1.0, atol=1e-12)
    scaled = read_libsvm("s.t", zero_based=True, n_features=4).X.toarray()
    np.testing.assert_allclose(scaled, 2.0 * (new - low) / (high - low) - 1.0, atol=1e-12)
    assert_refused(
        capsys, Exit.BAD_INPUT, "--out and DATA are the same file, s, which would be lost", "scale", "--out", "s", "s"
    )


# ---- certify --------------------------------------------------------------------------------------------------------


def test_certify_our_model(blobs, capsys):
    """The certificate of the fit, computed anew; a smaller gap than there is ends with code 4."""
    run("train", "-q", blobs, "m", "--tol", "1e-4")
    assert run("certify", "m", blobs) == Exit.SUCCESS
    assert capsys.readouterr().out.strip() == str(load("m").certificate_)
    assert run("certify", "m", blobs, "--tol", "1e-15", "--json") == Exit.GAP_TOO_LARGE
    record = json.loads(capsys.readouterr().out)
    assert (record["asked"], record["reached"]) == (1e-15, False)
    run("train", "-q", blobs, "m", "--max-iter", "2")
    capsys.readouterr()
    assert run("certify", "m", blobs) == Exit.GAP_TOO_LARGE
    assert "The relative gap is above 1e-05." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("training", "given"),
    [
        (["-c", "2"], []),
        (["-s", "1", "-n", "0.4"], ["--nu", "0.4"]),
        (["--liblinear", "-s", "3", "-c", "2", "-B", "1"], ["--C", "2"]),
        (["--liblinear", "-s", "0", "-c", "2"], ["--C", "2"]),
        (["-c", "2", "-w1", "3"], ["--C", "2", "--class-weight", "1=3"]),
    ],
    ids=["c_svc", "nu_svc", "liblinear", "logistic", "weighed"],
)
def test_certify_text_models(training, given, blobs, capsys):
    """LIBSVM's and LIBLINEAR's files, with what they do not hold given as words."""
    run("train", "-q", *training, blobs, "m")
    capsys.readouterr()
    assert run("certify", "m", blobs, "--json", *given) == Exit.SUCCESS
    assert json.loads(capsys.readouterr().out)["certificate"]["relative_gap"] < 0.01
    if given[:1] == ["--nu"]:
        assert_refused(capsys, Exit.USAGE, "m does not hold nu: give --nu", "certify", "m", blobs)


def test_certify_with_other_data(blobs, line, capsys):
    """Rows of another kind, or other rows."""
    run("train", "-q", blobs, "m")
    assert_refused(capsys, Exit.BAD_INPUT, "label", "certify", "m", line)
    Path("other").write_text(Path(blobs).read_text().replace("1:", "1:1", 1))
    run("certify", "m", "other")
    assert "are not the data that the model was fitted on" in capsys.readouterr().err


# ---- scale and convert ----------------------------------------------------------------------------------------------


def test_scale_and_restore(blobs, capsys):
    """Ranges of one file used on another, as svm-scale does it."""
    assert run("scale", "-l", "0", "-u", "1", "-s", "ranges", blobs) == Exit.SUCCESS
    Path("scaled").write_text(capsys.readouterr().out)
    X, y, _ = read_libsvm("scaled", n_features=4)
    assert (X.toarray().min(axis=0), X.toarray().max(axis=0)) == (pytest.approx([0.0] * 4), pytest.approx([1.0] * 4))
    np.testing.assert_array_equal(y, read_libsvm(blobs).y)
    assert run("scale", "-r", "ranges", blobs, "--out", "again") == Exit.SUCCESS
    assert Path("again").read_text() == Path("scaled").read_text()


def test_scale_targets(line, capsys):
    """-y, and tables."""
    assert run("scale", "-y", "-1", "1", line, "--out", "scaled.csv") == Exit.SUCCESS
    y = read_data("scaled.csv").y
    assert (y.min(), y.max()) == (-1.0, 1.0)
    assert_refused(capsys, Exit.USAGE, "do not go together", "scale", "-s", "a", "-r", "b", line)
    assert_refused(capsys, Exit.BAD_INPUT, "nowhere", "scale", "-r", "nowhere", line)
    assert_refused(capsys, Exit.BAD_INPUT, "lower", "scale", "-l", "1", "-u", "0", line)


def test_data_there_and_back(blobs):
    """LIBSVM text to CSV to Parquet and back: the same numbers."""
    pytest.importorskip("pyarrow")
    for source, goal in ((blobs, "b.csv"), ("b.csv", "b.parquet"), ("b.parquet", "b.csv.gz"), ("b.csv.gz", "b.txt.xz")):
        assert run("convert", "--quiet", source, goal) == Exit.SUCCESS
    first, last = read_libsvm(blobs), read_libsvm("b.txt.xz")
    np.testing.assert_array_equal(first.X.toarray(), last.X.toarray())
    np.testing.assert_array_equal(first.y, last.y)


def test_tables_keep_everything():
    """Weights and queries are columns, a name that is taken gets an underscore, quotes go around what needs them."""
    pytest.importorskip("pyarrow")
    Path("points.csv").write_text('weight,y,name,w\n1,0.1,"a, b",2\n3,-1e-300,c,1\n')
    options = ["--target", "name", "--weight", "w", "--quiet"]
    assert run("convert", "points.csv", "again.csv", *options) == Exit.SUCCESS
    assert Path("again.csv").read_text() == 'weight,y,weight_,name\n1,0.1,2,"a, b"\n3,-1e-300,1,c\n'
    assert run("convert", "points.csv", "points.parquet", *options) == Exit.SUCCESS
    data = read_data("points.parquet", target="name", weight="weight_")
    assert (data.names, data.y.tolist(), data.weight.tolist()) == (["weight", "y"], ["a, b", "c"], [2.0, 1.0])
    np.testing.assert_array_equal(data.X, [[1.0, 0.1], [3.0, -1e-300]])
    assert (
        run("convert", "points.csv", "points.txt", *options) == Exit.BAD_INPUT
    )  # LIBSVM text has no place for weights


def test_names_become_numbers(flowers, capsys):
    """LIBSVM text has no names, and stderr says which is which."""
    assert run("convert", flowers, "flowers.txt") == Exit.SUCCESS
    out, err = capsys.readouterr()
    assert out == "flowers.txt: format libsvm, rows 90, features 2\n"
    assert "0 = aster, 1 = bell flower, 2 = clover" in err
    assert set(read_libsvm("flowers.txt").y) == {0.0, 1.0, 2.0}


def test_models_there_and_back(blobs, capsys):
    """Ours to LIBSVM's text and back: the same predictions."""
    run("train", "-q", blobs, "m.maxmargin")
    assert run("convert", "m.maxmargin", "m.model") == Exit.SUCCESS
    assert run("convert", "m.model", "again.maxmargin", "--json") == Exit.SUCCESS
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["format"] == "maxmargin"
    X = read_libsvm(blobs).X
    np.testing.assert_allclose(
        load("again.maxmargin").decision_function(X), load("m.maxmargin").decision_function(X.toarray()), rtol=1e-9
    )
    run("train", "-q", blobs, "w.maxmargin", "--estimator", "LinearSVC", "--intercept", "regularised")
    assert run("convert", "w.maxmargin", "w.model") == Exit.SUCCESS
    assert Path("w.model").read_text().startswith("solver_type L2R_L2LOSS_SVC")


def test_models_to_onnx(blobs, capsys):
    """With the largest difference of decision values."""
    pytest.importorskip("onnxruntime")
    run("train", "-q", blobs, "m")
    assert run("convert", "m", "m.onnx", "--json") == Exit.SUCCESS
    assert json.loads(capsys.readouterr().out)["largest difference"] < 1e-9


@pytest.mark.parametrize(
    ("argv", "code", "sentence"),
    [
        (["nowhere", "x.csv"], Exit.BAD_INPUT, "nowhere"),
        (["m", "x.csv"], Exit.USAGE, "names no format of models"),
        (["m", "x", "--to", "csv"], Exit.USAGE, "--to csv is for data, and m is a model."),
        (["blobs", "x", "--to", "onnx"], Exit.USAGE, "--to onnx is for models, and blobs is none."),
        (["m", "x.model", "--to", "liblinear"], Exit.BAD_INPUT, "SVC"),
    ],
)
def test_wrong_conversions(argv, code, sentence, blobs, capsys):
    """A sentence, and no file."""
    run("train", "-q", blobs, "m")
    assert_refused(capsys, code, sentence, "convert", *argv)
    assert not list(Path().glob("x*"))


# ---- solvers, explain, demo, bench ----------------------------------------------------------------------------------


def test_solvers_are_listed(capsys):
    """All of the registry; with --losses who takes what."""
    from maxmargin.solvers import SOLVERS

    assert run("solvers") == Exit.SUCCESS
    out = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{out}" for name in SOLVERS)
    assert run("solvers", "--losses") == Exit.SUCCESS
    assert "hinge: smo (frn)" in capsys.readouterr().out


def test_explain_says_what_train_would_do(blobs, capsys):
    """Time, memory and solver, for the same options; nothing is written."""
    assert run("explain", blobs, "-c", "10") == Exit.SUCCESS
    out = capsys.readouterr().out
    assert out.startswith("SVC on 120 samples of 4 features: about ")
    assert "Solver: smo, because " in out
    assert run("explain", blobs, "--estimator", "LinearSVC", "--json") == Exit.SUCCESS
    record = json.loads(capsys.readouterr().out)
    assert record["solver"].startswith("newton, because ")
    assert record["parameters"]["loss"] == "squared_hinge"
    assert record["seconds"] < 60
    assert sorted(os.listdir()) == ["blobs"]
    assert_refused(
        capsys, Exit.BAD_INPUT, "leave --blocks out", "explain", blobs, "--estimator", "LinearSVC", "--blocks"
    )


def test_explain_finds_the_feature_that_drowns_the_others(capsys):
    """And says what to do, in the words of the command line."""
    rng = np.random.default_rng(0)
    write_libsvm("wild", rng.normal(size=(60, 3)) * [1.0, 1e6, 1.0], np.where(np.arange(60) % 2 == 0, 1.0, -1.0))
    assert run("explain", "wild") == Exit.SUCCESS
    assert re.search(r"Feature 1 spans \S+ times the others; scale it \(maxmargin scale\)\.", capsys.readouterr().out)


def test_demo_writes_files(capsys):
    """Sets to play with, which train takes as they are."""
    assert run("demo", "--write", "sets") == Exit.SUCCESS
    assert {path.name for path in Path("sets").iterdir()} == {
        "cancer",
        "cancer.t",
        "diabetes",
        "diabetes.t",
        "wine.csv",
    }
    assert run("train", "-q", "sets/wine.csv") == Exit.SUCCESS
    assert len(load("wine.csv.maxmargin").classes_) == 3
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_demo_compares(capsys):
    """Two certificates, ours with the smaller gap."""
    assert run("demo") == Exit.SUCCESS
    out = capsys.readouterr().out
    gaps = [float(text.split("relative gap ")[1].split(",")[0]) for text in out.splitlines() if "KKT" in text]
    assert gaps[0] < gaps[1]


def test_bench_lists_or_says_where(monkeypatch, tmp_path, capfd):
    """The measurements of the repository; elsewhere a sentence."""
    assert run("bench", "--list") == Exit.SUCCESS
    assert "large_fits" in capfd.readouterr().out
    monkeypatch.setattr("maxmargin.cli.bench.REPOSITORY", tmp_path)
    assert_refused(capfd, Exit.BAD_INPUT, "benchmarks/ of the repository", "bench")


# ---- anything -------------------------------------------------------------------------------------------------------


CHOICES = {
    "--estimator": ["SVC", "NuSVC", "SVR", "OneClassSVM", "LinearSVC", "RiskRegressor", "MetricSVC", "RankSVM"],
    "--kernel": ["linear", "precomputed", "laplacian", "cubic"],
    "--loss": ["hinge", "logistic", "huber", "poisson", "multivariate"],
    "--solver": ["smo:stop=kkt", "newton", "bundle", "gradient_descent", "smo:fast=1"],
    "--intercept": ["none", "regularised", "some"],
    "--class-weight": ["balanced", "1=2", "9=1", "x"],
    "--multi-class": ["ovr", "softmax", "crammer_singer"],
    "--C": ["1", "inf", "-1", "nan"],
    "--folds": ["2", "200"],
    "--to": ["maxmargin", "libsvm", "liblinear", "csv"],
    "--n-features": ["4", "1"],
    "--target": ["0", "name"],
    "--resume": ["m", "m.model", "blobs"],
    "-s": ["0", "2", "3", "7", "13"],
    "-t": ["0", "4"],
    "-e": ["0.1", "x"],
    "-b": ["1"],
    "-w1": ["2"],
}
FLAGS = ["--blocks", "--probability", "--liblinear", "--json", "-q", "--find-C"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_any_options_end_with_a_code(seed, blobs, line, flowers, capsys):
    """Options drawn at random: a model, or a sentence; never an exception."""
    rng = np.random.default_rng(seed)
    kept = {name: Path(name).read_bytes() for name in (blobs, line, flowers)}
    for _ in range(25):
        for name, content in kept.items():
            Path(name).write_bytes(content)
        argv = ["train", "--max-seconds", "0.3"]
        for word in rng.choice(list(CHOICES), rng.integers(0, 4), replace=False):
            argv += [str(word), str(rng.choice(CHOICES[word]))]
        argv += [str(flag) for flag in rng.choice(FLAGS, rng.integers(0, 2))]
        argv += [str(rng.choice(list(kept))), *map(str, rng.choice(["m", "m.model"], rng.integers(0, 2)))]
        assert run(*argv) in (Exit.SUCCESS, Exit.BAD_INPUT, Exit.USAGE, Exit.UNFINISHED), argv
        assert "Traceback" not in capsys.readouterr().err


# ---- the page -------------------------------------------------------------------------------------------------------


PAGE = Path(__file__).parent.parent / "docs" / "command_line.md"
PROGRAMS = {
    "maxmargin": [],
    "maxmargin-svm-train": ["train", "--libsvm"],
    "maxmargin-svm-predict": ["predict", "--libsvm"],
}


def test_the_page_runs_word_for_word(capsys):
    """Every command of docs/command_line.md, in order, in an empty folder; what it prints is what is written there."""
    pytest.importorskip("onnxruntime")
    printed = ""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in "".join(blocks).splitlines():
        command, _, rest = re.split(r" (\|\|?) ", line)[0], *line.partition("||")[1:]
        program, *argv = shlex.split(command)
        if program != "head":
            assert run(*PROGRAMS[program], *argv) == (Exit.UNFINISHED if rest else Exit.SUCCESS), line
            printed += capsys.readouterr().out
    assert "Accuracy = 95.7672% (181/189) (classification)\n" in printed
    assert "primal 44.3249" in printed
    assert "Cross Validation Accuracy = 97.1053%\n" in printed
    assert Path("probabilities.txt").read_text().startswith("labels -1 1\n-1 0.99")


def test_the_page_has_every_word_and_code():
    """The tables of commands and exit codes are those of the code, and so are the letters."""
    page = PAGE.read_text()
    assert all(f"| `{name}" in page or f", `{name}`" in page for name in COMMANDS)
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == [str(int(code)) for code in Exit]
    tables = page[page.index("letter of svm-train") :]
    assert all(
        f"`{letter}" in tables
        for letter in [*LIBSVM_OPTIONS, *SCALE_OPTIONS, *PREDICT_OPTIONS, "-B", "-R", "-C", "-s 21"]
    )


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def endless() -> list[str]:
    """A training that does not end by itself: random labels, almost a hard margin, a gap below rounding."""
    rng = np.random.default_rng(0)
    write_libsvm("noise", rng.normal(size=(2500, 10)), np.where(rng.random(2500) < 0.5, 1.0, -1.0))
    return ["train", "noise", "m", "--C", "1e6", "--gamma", "0.01", "--tol", "1e-12"]


def start(argv: list[str]):
    """The program, with a terminal for its stderr; returns when the live line of the fit shows an iteration."""
    import pty

    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", *argv], stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment
    )
    os.close(terminal)
    shown, end = "", time.monotonic() + 90.0
    while "iteration" not in shown and time.monotonic() < end:
        if select.select([keyboard], [], [], 1.0)[0]:
            shown += os.read(keyboard, 4096).decode(errors="replace")
    assert "iteration" in shown, shown
    return process, keyboard


def hang_up(process, keyboard) -> tuple[int, str, str]:
    """The code with which the process ended, and what it said on stdout and stderr."""
    out, _ = process.communicate(timeout=60)
    said = ""
    while select.select([keyboard], [], [], 0.2)[0]:
        try:
            said += os.read(keyboard, 4096).decode(errors="replace")
        except OSError:  # Linux ends a terminal that nobody holds with an error
            break
    os.close(keyboard)
    return process.returncode, out, said


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_ctrl_c_saves_the_best_model(endless):
    """Code 130, a certificate, a sentence that says how to go on, and a model with which one can."""
    process, keyboard = start(endless)
    process.send_signal(signal.SIGINT)
    code, out, said = hang_up(process, keyboard)
    assert code == Exit.INTERRUPTED
    judged = all(word in out.splitlines()[-1] for word in CERTIFICATE)
    assert judged or "`maxmargin certify m noise` takes the time to judge it" in said
    assert "`maxmargin train --resume m noise` goes on with it" in said
    assert "Traceback" not in said
    assert run("certify", "-q", "m", "noise", "--tol", "1e-12") == Exit.GAP_TOO_LARGE
    assert run("train", "-q", "--resume", "m", "noise", "--max-seconds", "1") == Exit.UNFINISHED


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_a_second_ctrl_c_leaves_at_once(endless):
    """Code 130 whatever it was doing, and no half of a file."""
    save(SVC().fit(np.eye(2), [0, 1]), "m")
    before = Path("m").read_bytes()
    process, keyboard = start(endless)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code, _, said = hang_up(process, keyboard)
    assert code == Exit.INTERRUPTED
    assert "Traceback" not in said
    assert {path.name for path in Path().iterdir()} == {"m", "noise"}
    assert Path("m").read_bytes() == before or load("m").n_features_in_ == 10


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_termination_saves_the_best_model(endless):
    """What a batch system sends before it kills: code 143, and a model with which one can go on."""
    process, keyboard = start(endless)
    process.terminate()
    code, _, said = hang_up(process, keyboard)
    assert code == Exit.TERMINATED
    assert "`maxmargin train --resume m noise` goes on with it" in said
    assert len(load("m").predict(np.zeros((1, 10)))) == 1


def test_ctrl_c_while_the_model_is_written(blobs, monkeypatch):
    """The fit is over: the first one waits for the file, the second one does not."""
    from maxmargin.cli import saving

    write = saving.write_model
    for presses in (1, 2):

        def press(*arguments, presses=presses):
            for _ in range(presses):
                signal.raise_signal(signal.SIGINT)
            write(*arguments)

        monkeypatch.setattr(saving, "write_model", press)
        assert run("train", "-q", blobs, f"m{presses}") == Exit.INTERRUPTED
    assert Path("m1").exists()
    assert not Path("m2").exists()


def test_a_second_termination_means_nothing():
    """A batch system may signal the process and its group."""

    def be_terminated_twice() -> None:
        with treat_sigterm_as_interrupt() as came:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert len(came) == 2
            raise KeyboardInterrupt

    with pytest.raises(Terminated):
        be_terminated_twice()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


# ---- models that cannot be written ----------------------------------------------------------------------------------


def test_a_fit_is_not_lost(blobs, monkeypatch, capsys):
    """What a format cannot hold, or a disk: the model is in our format, and the sentence says where."""
    assert_refused(
        capsys, Exit.BAD_INPUT, "LIBSVM has no kernel 'laplacian'", "train", "--kernel", "laplacian", blobs, "a.model"
    )
    (kept,) = Path().glob("a.model.*.maxmargin")
    assert load(kept).kernel == "laplacian"
    monkeypatch.setattr("maxmargin.files.save", fail_once(maxmargin.save))
    assert_refused(capsys, Exit.BAD_INPUT, "No space left on device; the model is in ", "train", blobs, "b")
    assert len(list(Path().glob("b.*.maxmargin"))) == 1


def fail_once(save):
    """save on a disk that is full the first time."""
    left = [OSError(28, "No space left on device")]

    def attempt(*arguments, **more):
        if left:
            raise left.pop()
        save(*arguments, **more)

    return attempt


def test_destinations_are_looked_at_before_the_fit(blobs, flowers, monkeypatch, capsys):
    """A folder that is not there, a file that would be lost, labels that a format cannot hold."""
    monkeypatch.setattr(SVC, "fit", lambda *_: pytest.fail("it fits"))
    assert_refused(capsys, Exit.BAD_INPUT, "there is no", "train", blobs, "nowhere/m")
    assert_refused(capsys, Exit.BAD_INPUT, "MODEL and DATA are the same file", "train", blobs, blobs)
    assert_refused(capsys, Exit.BAD_INPUT, "flowers.csv, which is there and no model file", "train", blobs, flowers)
    assert_refused(capsys, Exit.BAD_INPUT, "labels that are whole numbers", "train", flowers, "m.model")


def test_outputs_are_no_inputs(blobs, capsys):
    """Neither the data nor the model is lost."""
    run("train", "-q", blobs, "m")
    assert_refused(capsys, Exit.BAD_INPUT, "OUT and MODEL are the same file, m", "predict", blobs, "m", "m")
    assert_refused(capsys, Exit.BAD_INPUT, "OUT and DATA are the same file, blobs", "predict", blobs, "m", blobs)
    assert_refused(capsys, Exit.BAD_INPUT, "OUT and IN are the same file, m", "convert", "m", "m")
    assert_refused(capsys, Exit.USAGE, "x.onnx is the name of a model, and blobs is none", "convert", blobs, "x.onnx")
    assert load("m").certificate_ is not None


# ---- files that are not what they seem ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("empty", "", "empty has no rows."),
        ("single", "1 1:2\n1 1:3\n", "single has the label 1.0 only, and SVC needs two classes or more."),
        ("semicolons.csv", "a;b;y\n1;2;0\n", "it has 1 in all; if its fields end at ';', say --delimiter ';'."),
        ("odd.csv", "a,1,y\n1,2,0\n", "if it is the header, pass --header yes"),
        ("model", "svm_type c_svc\n", "model is a model file, and data are expected there."),
    ],
)
def test_what_is_wrong_with_a_file(name, text, sentence, capsys):
    """One sentence with the name of the file, in the words of the command line."""
    Path(name).write_text(text)
    assert_refused(capsys, Exit.BAD_INPUT, sentence, "train", name)


def test_scaled_tables_keep_the_name_of_their_target(flowers):
    """So that --target finds it again."""
    assert run("scale", "--out", "scaled.csv", flowers) == Exit.SUCCESS
    assert Path("scaled.csv").read_text().startswith("height,width,name\n")
    assert run("train", "-q", "--target", "name", "scaled.csv", "m") == Exit.SUCCESS


def test_rows_of_kernel_values_in_another_order(blobs, capsys):
    """0:number is the column of a row among the values; rows that moved are refused, in training and in judging."""
    X, y, _ = read_libsvm(blobs)
    K = (X @ X.T).toarray()
    rows = [
        f"{label:g} 0:{i + 1} " + " ".join(f"{j + 1}:{k!r}" for j, k in enumerate(K[i].tolist()))
        for i, label in enumerate(y)
    ]
    Path("kernel").write_text("\n".join(rows) + "\n")
    assert run("train", "-q", "-t", "4", "kernel", "m") == Exit.SUCCESS
    Path("moved").write_text("\n".join([rows[1], rows[0], *rows[2:]]) + "\n")
    for command in (["train", "-t", "4", "moved"], ["certify", "m", "moved"]):
        assert_refused(capsys, Exit.BAD_INPUT, "moved, row 1: 0:1 was expected", *command)


def test_labels_of_several_words(capsys):
    """They stay one word in lines that have others."""
    Path("words.csv").write_text("".join(f"{x},{'low water' if x < 5 else 'high'}\n" for x in range(10)))
    run("train", "-q", "words.csv", "m")
    assert run("predict", "-q", "--decisions", "words.csv", "m", "out") == Exit.SUCCESS
    assert Path("out").read_text().startswith('"low water" ')


def test_delimiters_and_headers(flowers):
    """Texts of other habits."""
    Path("semicolons.csv").write_text(Path(flowers).read_text().replace(",", ";"))
    assert run("train", "-q", "--delimiter", ";", "--header", "yes", "semicolons.csv", "m") == Exit.SUCCESS
    assert list(load("m").feature_names_in_) == ["height", "width"]


def test_names_that_are_there_twice():
    """Columns are then found by their places."""
    Path("twice.csv").write_text("x,x,y\n1,2,a\n2,1,b\n3,4,a\n0,1,b\n5,1,a\n")
    assert run("train", "-q", "twice.csv", "m") == Exit.SUCCESS
    assert run("predict", "-q", "twice.csv", "m", "out") == Exit.SUCCESS


def test_errors_for_programs(capsys):
    """--json has the sentence on stdout, too."""
    assert run("train", "--json", "nowhere") == Exit.BAD_INPUT
    assert json.loads(capsys.readouterr().out) == {"command": "train", "error": "nowhere does not exist."}


def test_weights_of_negative_labels(blobs):
    """--class-weight -1=5 without an equals sign; letters multiply, as in svm-train."""
    run("train", "-q", "--class-weight", "-1=5", "--class-weight", "1=2", blobs, "words")
    assert load("words").class_weight == {-1.0: 5.0, 1.0: 2.0}
    run("train", "-q", "-w-1", "5", "-w1", "2", "-w1", "3", "--to", "maxmargin", blobs, "letters")
    assert load("letters").class_weight == {-1.0: 5.0, 1.0: 6.0}


def test_probabilities_are_the_same_again(blobs):
    """The folds are not drawn anew."""
    for name in ("a", "b"):
        assert run("train", "-q", "--probability", blobs, name) == Exit.SUCCESS
    np.testing.assert_array_equal(load("a")._probA, load("b")._probA)


def test_labels_come_in_the_order_of_svm_train(blobs):
    """The first one that was seen comes first, but 1 before -1."""
    X, y, _ = read_libsvm(blobs)
    write_libsvm("seven", X, np.where(y == y[0], 7.0, 3.0))
    write_libsvm("signed", X, np.where(y == y[0], -1.0, 1.0))
    for name, labels in (("seven", "7 3"), ("signed", "1 -1")):
        assert run("train", "-q", "-b", "1", name, "m") == Exit.SUCCESS
        assert f"label {labels}\n" in Path("m").read_text()
        assert run("predict", "-q", "-b", "1", name, "m", "out") == Exit.SUCCESS
        assert Path("out").read_text().startswith(f"labels {labels}\n")


def test_interrupted_while_reading(blobs, monkeypatch, capsys):
    """Nothing is fitted, nothing is written, no traceback."""

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.files.read_data", interrupt)
    assert_refused(capsys, Exit.INTERRUPTED, "maxmargin train: interrupted.", "train", blobs)


def test_out_of_memory(blobs, monkeypatch, capsys):
    """A sentence too."""

    def fail(*arguments, **options):
        raise MemoryError("8.00 GiB")

    monkeypatch.setattr("maxmargin.files.read_data", fail)
    assert_refused(capsys, Exit.BAD_INPUT, "There is not enough memory: 8.00 GiB", "train", blobs)
