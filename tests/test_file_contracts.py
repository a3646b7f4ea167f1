"""A file format is one class and one line in the registry: then `read_data`, `load` and every command take it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import SVC, LinearSVC, open_blocks
from maxmargin.blocks import ArrayBlocks
from maxmargin.cli import main
from maxmargin.cli.exit_codes import Exit
from maxmargin.contracts.files import Data, DataFormat, DataRequest, ModelFormat
from maxmargin.files import load, read_data, write_libsvm
from maxmargin.files.formats import (
    DATA_FORMATS,
    MODEL_FORMATS,
    detect_model_format,
    find_data_format,
    find_model_format,
    is_model_file,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(3)
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, 1.0, -1.0)


class JsonLines(DataFormat):
    """A list of features and a target per line."""

    name, title, suffixes = "jsonl", "JSON lines", (".jsonl",)
    can_stream = True

    def read(self, path, request: DataRequest) -> Data:
        """All lines."""
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        names = [f"f{j}" for j in range(len(rows[0]["x"]))]
        features = np.array([row["x"] for row in rows], request.dtype)
        return Data(features, np.array([row["y"] for row in rows]), None, None, names)

    def write(self, path, data: Data) -> None:
        """A line for each row, to an open file."""
        for x, y in zip(data.X.toarray() if hasattr(data.X, "toarray") else data.X, data.y, strict=True):
            path.write((json.dumps({"x": x.tolist(), "y": float(y)}) + "\n").encode())

    def open_blocks(self, path, **options) -> ArrayBlocks:
        """The rows, some at a time."""
        data = self.read(path, DataRequest())
        return ArrayBlocks(data.X, data.y, **options)

    def stream(self, path, request: DataRequest) -> ArrayBlocks:
        """The same."""
        return self.open_blocks(path, rows=7)


class NumpyArchive(DataFormat):
    """X and y in one file of NumPy, a ZIP archive as our own model files are."""

    name, title, suffixes, is_text = "npz", "An archive of NumPy", (".npz",), False

    def read(self, path, request: DataRequest) -> Data:
        """Both arrays."""
        with np.load(path) as arrays:
            return Data(arrays["X"].astype(request.dtype), arrays["y"])

    def write(self, path, data: Data) -> None:
        """Both arrays, to an open file."""
        np.savez(path, X=data.X.toarray() if hasattr(data.X, "toarray") else data.X, y=data.y)


class Weights(ModelFormat):
    """w and b of a linear classifier as JSON."""

    name, title, suffixes, first_bytes = "weights", "Weights", (".weights",), b'{"weights"'

    def has_place_for(self, estimator) -> bool:
        """Linear classifiers only."""
        return (estimator.family, estimator.task) == ("linear", "classification")

    def read(self, path, n_features=None):
        """A machine that predicts."""
        kept = json.loads(Path(path).read_text())
        model = LinearSVC()
        model.coef_, model.intercept_ = np.array(kept["weights"]), np.array(kept["intercept"])
        model.classes_, model.n_features_in_ = np.array(kept["classes"]), model.coef_.shape[1]
        return model

    def write(self, model, path, X=None, y=None, sample_weight=None) -> dict[str, float]:
        """All numbers, and the largest of them for the report."""
        kept = {"weights": model.coef_.tolist(), "intercept": np.ravel(model.intercept_).tolist()}
        with open(path, "w") as file:
            json.dump({**kept, "classes": model.classes_.tolist()}, file)
        return {"largest weight": float(np.abs(model.coef_).max())}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of LIBSVM text, and the formats above registered."""
    for kind in (JsonLines(), NumpyArchive()):
        monkeypatch.setitem(DATA_FORMATS, kind.name, kind)
    monkeypatch.setitem(MODEL_FORMATS, Weights.name, Weights())
    monkeypatch.chdir(tmp_path)
    write_libsvm("rows", X, Y)
    return tmp_path


def test_data_of_ones_own_format(folder, capsys):
    """Converted to, read whole and in blocks, trained on; its title is in the messages."""
    assert main(["convert", "rows", "rows.jsonl"]) == Exit.SUCCESS
    assert "format jsonl, rows 60, features 3" in capsys.readouterr().out
    found = read_data(folder / "rows.jsonl", dtype=np.float32)
    assert np.array_equal(found.X, X.astype(np.float32))
    assert np.array_equal(found.y, Y)
    assert open_blocks(folder / "rows.jsonl", rows=10).n_blocks == 6
    options = ["--estimator", "LinearSVC", "--quiet"]
    assert main(["train", "rows.jsonl", "whole.maxmargin", *options]) == Exit.SUCCESS
    assert main(["train", "rows.jsonl", "blocks.maxmargin", "--blocks", *options]) == Exit.SUCCESS
    whole, blocks = (load(f"{name}.maxmargin").coef_ for name in ("whole", "blocks"))
    assert np.allclose(whole, blocks, rtol=0.05, atol=0.01)
    assert main(["convert", "rows.jsonl", "again", "--to", "libsvm"]) == Exit.SUCCESS
    assert np.array_equal(read_data("again").X.toarray(), X)
    (folder / "rows.csv").write_text("1,2,0\n3,4,1\n")
    assert main(["train", "rows.csv", "m", "--blocks", *options]) == Exit.BAD_INPUT
    assert "--blocks takes LIBSVM text, Parquet and JSON lines" in capsys.readouterr().err


def test_data_that_begin_as_a_model_does(folder, capsys):
    """The suffix says that they are data: written, trained on, predicted, converted back, and never written over."""
    assert main(["convert", "rows", "rows.npz"]) == Exit.SUCCESS
    assert detect_model_format("rows.npz") is MODEL_FORMATS["maxmargin"]
    assert not is_model_file("rows.npz")
    assert main(["train", "rows.npz", "m.maxmargin", "--estimator", "LinearSVC", "--quiet"]) == Exit.SUCCESS
    assert is_model_file("m.maxmargin")
    assert main(["predict", "rows.npz", "m.maxmargin", "out", "--quiet"]) == Exit.SUCCESS
    assert np.array_equal(np.loadtxt("out"), load("m.maxmargin").predict(X))
    assert main(["convert", "rows.npz", "again.svm"]) == Exit.SUCCESS
    assert np.array_equal(read_data("again.svm").X.toarray(), X)
    capsys.readouterr()
    assert main(["train", "rows", "rows.npz", "--quiet"]) == Exit.BAD_INPUT
    assert "which exists and is not a model file" in capsys.readouterr().err
    assert main(["train", "m.maxmargin"]) == Exit.BAD_INPUT
    assert "m.maxmargin is a model file, but data are expected there." in capsys.readouterr().err


def test_a_table_whose_first_column_is_named_as_models_begin(folder):
    """svm_type is the first word of LIBSVM's model files, and here that of a header."""
    (folder / "rows.csv").write_text("svm_type,y\n" + "".join(f"{x},{y}\n" for x, y in zip(X[:, 0], Y, strict=True)))
    assert main(["train", "rows.csv", "m.maxmargin", "--quiet"]) == Exit.SUCCESS
    assert load("m.maxmargin").n_features_in_ == 1


def test_models_of_ones_own_format(folder, capsys):
    """Written by train, recognised by its first bytes, read by predict and load; refused for other machines."""
    assert main(["train", "rows", "m.weights", "--estimator", "LinearSVC", "--quiet"]) == Exit.SUCCESS
    model = load("m.weights")
    assert main(["predict", "rows", "m.weights", "out", "--quiet"]) == Exit.SUCCESS
    assert np.array_equal(np.loadtxt("out"), model.predict(X))
    assert main(["train", "rows", "n.weights", "--quiet"]) == Exit.BAD_INPUT
    assert "The model files of Weights have no place for a SVC." in capsys.readouterr().err
    maxmargin.save(LinearSVC().fit(X, Y), "m.maxmargin")
    assert main(["convert", "m.maxmargin", "again.weights"]) == Exit.SUCCESS
    assert "largest weight" in capsys.readouterr().out


def test_no_suffix_means_two_things():
    """A suffix names one format of data; one of models it names for each family of estimators."""
    suffixes = [suffix for kind in DATA_FORMATS.values() for suffix in (*kind.suffixes, *kind.other_suffixes)]
    assert len(suffixes) == len(set(suffixes))
    for estimator in (SVC, LinearSVC):
        for suffix in {suffix for kind in MODEL_FORMATS.values() for suffix in kind.suffixes}:
            named = [kind for kind in MODEL_FORMATS.values() if kind.has_suffix(suffix)]
            assert [kind for kind in named if estimator.family in kind.families] == [
                find_model_format(suffix, estimator)
            ]
    assert find_data_format("a.csv.gz").name == "csv"
    assert find_data_format("a.npy").name == find_data_format("anything").name == "libsvm"


def test_what_a_format_cannot_do_it_says():
    """A method that is not there says so, for each ability that a format does not claim."""
    for kind in DATA_FORMATS.values():
        if not kind.can_read:
            with pytest.raises(NotImplementedError, match="is not read as a whole"):
                kind.read(None, DataRequest())
        if not kind.can_stream:
            with pytest.raises(NotImplementedError, match="is not read in blocks"):
                kind.open_blocks("x")
        if not kind.can_write:
            with pytest.raises(NotImplementedError, match="is not written"):
                kind.write("x", None)
