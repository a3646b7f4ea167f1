"""`maxmargin scale` and `maxmargin convert`: data and models, there and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load, read_data, read_libsvm


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
    assert_refused(capsys, Exit.USAGE, "cannot be combined", "scale", "-s", "a", "-r", "b", line)
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
        (["m", "x.csv"], Exit.USAGE, "has no suffix of a model format"),
        (["m", "x", "--to", "csv"], Exit.USAGE, "--to csv is for data, and m is a model."),
        (["blobs", "x", "--to", "onnx"], Exit.USAGE, "--to onnx is for models, and blobs is not one."),
        (["m", "x.model", "--to", "liblinear"], Exit.BAD_INPUT, "SVC"),
    ],
)
def test_wrong_conversions(argv, code, sentence, blobs, capsys):
    """A sentence, and no file."""
    run("train", "-q", blobs, "m")
    assert_refused(capsys, code, sentence, "convert", *argv)
    assert not list(Path().glob("x*"))
