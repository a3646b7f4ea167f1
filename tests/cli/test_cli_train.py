"""`maxmargin train`: the model it writes, what it prints, and the code with which it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from commands import CERTIFICATE, assert_refused, run

import maxmargin
from maxmargin.cli.exit_codes import Exit
from maxmargin.estimators.registry import list_names
from maxmargin.files import load, read_libsvm, write_libsvm

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


def test_data_that_are_not_scaled(capsys):
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
    assert "The fit reached its limit of iterations (max_iter)." in err
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
        (["--folds", "3", "--blocks"], "--folds cannot be combined with --resume or --blocks"),
        (["--libsvm", "--liblinear"], "not allowed with argument"),
        (["-s", "9"], "-s must be one of 0, 1, 2, 3, 4, got '9'"),
        (["-c", "1", "--resume", "m"], "takes no short options"),
        (["--blocks"], f"--blocks is for {', '.join(list_names(lambda kind: kind.takes_blocks))}, and not for SVC"),
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


# ---- files that are not what they seem ------------------------------------------------------------------------------


def test_errors_for_programs(capsys):
    """--json has the sentence on stdout, too."""
    assert run("train", "--json", "nowhere") == Exit.BAD_INPUT
    assert json.loads(capsys.readouterr().out) == {"command": "train", "error": "nowhere does not exist."}


def test_probabilities_are_the_same_again(blobs):
    """The folds are not drawn anew."""
    for name in ("a", "b"):
        assert run("train", "-q", "--probability", blobs, name) == Exit.SUCCESS
    np.testing.assert_array_equal(load("a")._probA, load("b")._probA)


def test_out_of_memory(blobs, monkeypatch, capsys):
    """A sentence too."""

    def fail(*arguments, **options):
        raise MemoryError("8.00 GiB")

    monkeypatch.setattr("maxmargin.files.read_data", fail)
    assert_refused(capsys, Exit.BAD_INPUT, "There is not enough memory: 8.00 GiB", "train", blobs)
