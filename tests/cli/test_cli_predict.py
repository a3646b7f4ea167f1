"""`maxmargin predict`: labels, probabilities, decision values and scores."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load, read_libsvm

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
        (["blobs", "m", "--json"], Exit.USAGE, "--json prints to stdout; name a file OUT"),
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


# ---- files that are not what they seem ------------------------------------------------------------------------------


def test_labels_of_several_words(capsys):
    """They stay one word in lines that have others."""
    Path("words.csv").write_text("".join(f"{x},{'low water' if x < 5 else 'high'}\n" for x in range(10)))
    run("train", "-q", "words.csv", "m")
    assert run("predict", "-q", "--decisions", "words.csv", "m", "out") == Exit.SUCCESS
    assert Path("out").read_text().startswith('"low water" ')
