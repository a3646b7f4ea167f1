"""`maxmargin train --folds` and `--find-C`: cross-validation."""

from __future__ import annotations

import json
import re
from pathlib import Path

from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit


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
