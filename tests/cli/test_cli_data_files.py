"""Data files of the commands: columns, indices, labels, delimiters, and files that are not what they seem."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load, read_libsvm, write_libsvm

# ---- cross-validation -----------------------------------------------------------------------------------------------


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
    message = "--out and DATA are the same file, s, which would be overwritten"
    assert_refused(capsys, Exit.BAD_INPUT, message, "scale", "--out", "s", "s")


# ---- files that are not what they seem ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("empty", "", "empty has no rows."),
        ("single", "1 1:2\n1 1:3\n", "single has only the label 1.0, but SVC needs two classes or more."),
        ("semicolons.csv", "a;b;y\n1;2;0\n", "it has 1 in all; if its fields end at ';', say --delimiter ';'."),
        ("odd.csv", "a,1,y\n1,2,0\n", "if it is the header, pass --header yes"),
        ("model", "svm_type c_svc\n", "model is a model file, but data are expected there."),
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
