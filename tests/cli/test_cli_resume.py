"""`maxmargin train --resume`: a saved model goes on with its fit."""

from __future__ import annotations

import json
from pathlib import Path

from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load


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
        "other is not the data that m was trained on",
        "train",
        "--resume",
        "m",
        "other",
    )
    run("train", "-q", "-c", "1", blobs, "m.model")
    assert_refused(capsys, Exit.BAD_INPUT, "m.model is not one", "train", "--resume", "m.model", blobs)
    assert_refused(capsys, Exit.USAGE, "which holds a SVC", "train", "--resume", "m", blobs, "--estimator", "SVR")
    assert_refused(capsys, Exit.BAD_INPUT, "nowhere", "train", "--resume", "nowhere", blobs)
