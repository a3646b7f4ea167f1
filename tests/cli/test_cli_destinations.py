"""Files that the commands write: looked at before the fit, never lost, never an input."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import assert_refused, run

import maxmargin
from maxmargin import SVC
from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load


def test_a_fit_is_not_lost(blobs, monkeypatch, capsys):
    """What a format cannot hold, or a disk: the model is in our format, and the sentence says where."""
    assert_refused(
        capsys, Exit.BAD_INPUT, "LIBSVM has no kernel 'laplacian'", "train", "--kernel", "laplacian", blobs, "a.model"
    )
    (kept,) = Path().glob("a.model.*.maxmargin")
    assert load(kept).kernel == "laplacian"
    monkeypatch.setattr("maxmargin.files.models.save", fail_once(maxmargin.save))
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
    assert_refused(capsys, Exit.BAD_INPUT, "flowers.csv, which exists and is not a model file", "train", blobs, flowers)
    assert_refused(capsys, Exit.BAD_INPUT, "labels that are whole numbers", "train", flowers, "m.model")


def test_outputs_are_no_inputs(blobs, capsys):
    """Neither the data nor the model is lost."""
    run("train", "-q", blobs, "m")
    assert_refused(capsys, Exit.BAD_INPUT, "OUT and MODEL are the same file, m", "predict", blobs, "m", "m")
    assert_refused(capsys, Exit.BAD_INPUT, "OUT and DATA are the same file, blobs", "predict", blobs, "m", blobs)
    assert_refused(capsys, Exit.BAD_INPUT, "OUT and IN are the same file, m", "convert", "m", "m")
    message = "x.onnx is the name of a model file, and blobs is not a model"
    assert_refused(capsys, Exit.USAGE, message, "convert", blobs, "x.onnx")
    assert load("m").certificate_ is not None
