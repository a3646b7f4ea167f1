"""maxmargin tune: grid.py's lines and answer, easy.py's steps, and a search that is ended early."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import sklearn.model_selection as theirs
from commands import assert_refused, run

from maxmargin import SVC, load
from maxmargin.cli.exit_codes import Exit
from maxmargin.cli.tune import read_range
from maxmargin.files import read_libsvm
from maxmargin.tuning import plain_cells

SMALL = ("-log2c", "-1,3,2", "-log2g", "-1,-5,-2", "-v", "3")
LINE = re.compile(r"\[local\] (\S+) (\S+) (\S+) \(best c=(\S+), g=(\S+), rate=(\S+)\)")


def test_lines_and_answer_of_grid_py(capsys, blobs):
    """A line for each candidate, the best so far in each, and the best at the end."""
    assert run("tune", *SMALL, blobs) == Exit.SUCCESS
    *lines, last = capsys.readouterr().out.splitlines()
    found = [tuple(map(float, LINE.fullmatch(line).groups())) for line in lines]
    assert {each[:2] for each in found} == {(c, g) for c in (-1, 1, 3) for g in (-1, -3, -5)}
    best = max(each[2] for each in found)
    c, g, rate = map(float, last.split())
    assert (c, g, rate) == found[-1][3:]
    assert rate == best
    X, y, *_ = read_libsvm(blobs)
    folds = theirs.StratifiedKFold(3, shuffle=True, random_state=0)
    right = theirs.cross_val_predict(SVC(C=c, gamma=g), X.toarray(), y, cv=folds) == y
    assert rate == pytest.approx(100.0 * right.mean(), abs=1e-4)


def test_the_answer_is_that_of_train_with_folds(capsys, blobs):
    """The same folds as -v of train, and the same accuracy."""
    run("train", "-v", "4", "--C", "8", "--gamma", "0.125", blobs)
    accuracy = re.search(r"Accuracy = (\S+)%", capsys.readouterr().out)[1]
    run("tune", "--log2c=3,3,1", "--log2g=-3,-3,1", "--folds", "4", "--quiet", blobs)
    assert capsys.readouterr().out == f"8.0 0.125 {accuracy}\n"


def test_the_steps_of_easy_py(capsys, blobs):
    """Scale, search, train, predict: ranges, a model and predictions are files."""
    assert run("tune", "--scale", "--test", blobs, "--out", "best.maxmargin", *SMALL, blobs) == Exit.SUCCESS
    out = capsys.readouterr().out
    model = load("best.maxmargin")
    last = next(line for line in out.splitlines() if not line.startswith("[local]"))
    assert last.split()[:2] == [str(model.C), str(model.gamma)]
    predicted = np.loadtxt(f"{blobs}.predict")
    y = read_libsvm(blobs)[1]
    assert f"Accuracy = {100.0 * np.mean(predicted == y):g}%" in out
    run("scale", "--restore", f"{blobs}.range", "--out", "scaled", blobs)
    np.testing.assert_array_equal(model.predict(read_libsvm("scaled")[0].toarray()), predicted)


def test_tables_with_names_and_regression(capsys, flowers, line):
    """Labels by name, and the mean squared error of numbers, the smallest of which is best."""
    assert run("tune", "-q", "--target", "name", "--test", flowers, *SMALL, flowers) == Exit.SUCCESS
    assert set(Path(f"{flowers}.predict").read_text().split("\n")) == {"aster", "bell flower", "clover", ""}
    capsys.readouterr()
    assert run("tune", "--json", "-s", "3", *SMALL, line) == Exit.SUCCESS
    told = json.loads(capsys.readouterr().out)
    assert told["best"]["mean_squared_error"] == min(each["mean_squared_error"] for each in told["candidates"])
    assert len(told["candidates"]) == 9


def test_machines_without_gamma(capsys, blobs):
    """C alone, and no g in the lines."""
    assert run("tune", "--estimator", "LinearSVC", "-log2c", "-2,2,2", blobs) == Exit.SUCCESS
    *lines, last = capsys.readouterr().out.splitlines()
    assert all(re.fullmatch(r"\[local\] \S+ \S+ \(best c=\S+, rate=\S+\)", line) for line in lines)
    assert len(lines) == 3
    assert len(last.split()) == 2


def test_time_and_ctrl_c_keep_what_is_done(capsys, blobs, monkeypatch):
    """The best of what is done is printed and saved; the code tells that the search is not complete."""
    evaluate, calls = plain_cells.ChainWalk.evaluate, []

    def press(self, number):
        calls.append(number)
        if len(calls) == 12:
            signal.raise_signal(signal.SIGINT)
        return evaluate(self, number)

    monkeypatch.setattr(plain_cells.ChainWalk, "evaluate", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        options = ("--estimator", "LinearSVC", "-log2c", "-4,4,1", "-v", "3")
        code = run("tune", "--n-jobs", "1", "--out", "best.maxmargin", *options, blobs)
    finally:
        signal.signal(signal.SIGINT, before)
    out, err = capsys.readouterr()
    assert code == Exit.INTERRUPTED
    assert re.search(r"interrupted; \d of 9 candidates were scored, and the best of them is kept", err)
    (best,) = out.splitlines()  # of the first fold: no candidate is done on all of them
    assert best.split()[0] == str(load("best.maxmargin").C)


def test_what_is_refused(capsys, blobs):
    """One sentence each."""
    assert_refused(capsys, Exit.USAGE, "--log2c must be begin,end,step", "tune", "-log2c", "1,2", blobs)
    assert_refused(capsys, Exit.USAGE, "--log2g must be begin,end,step", "tune", "-log2g", "1,2,0", blobs)
    assert_refused(capsys, Exit.USAGE, "NuSVC has no C", "tune", "--estimator", "NuSVC", blobs)
    assert_refused(capsys, Exit.USAGE, "--log2g needs a kernel", "tune", "-t", "0", "-log2g", "1,2,1", blobs)
    assert_refused(capsys, Exit.USAGE, "tune is for classifiers", "tune", "-s", "2", blobs)
    assert_refused(capsys, Exit.USAGE, "--folds (-v) must be 2 or more", "tune", "-v", "1", blobs)
    assert_refused(
        capsys,
        Exit.BAD_INPUT,
        "--max-seconds 1e-07 ended before any candidate was",
        "tune",
        "--max-seconds",
        "1e-7",
        blobs,
    )


def test_ranges_are_those_of_grid_py():
    """From begin to end, both included."""
    assert read_range("log2c", "-5,15,2") == list(range(-5, 16, 2))
    assert read_range("log2g", "3,-15,-2") == list(range(3, -16, -2))
    assert read_range("log2g", "0,1,0.1")[-1] == pytest.approx(1.0)
    assert read_range("log2g", "null") == []
