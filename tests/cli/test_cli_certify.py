"""`maxmargin certify`: models of ours and of other libraries, certified on their data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load


def test_certify_our_model(blobs, capsys):
    """The certificate of the fit, computed anew; a smaller gap than there is ends with code 4.

    Without an intercept the gap that is left is far above rounding, whose bounds differ between judges.
    """
    run("train", "-q", blobs, "m", "--tol", "1e-4", "--intercept", "none")
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
        assert_refused(capsys, Exit.USAGE, "m does not contain nu: pass --nu", "certify", "m", blobs)


def test_certify_with_other_data(blobs, line, capsys):
    """Rows of another kind, or other rows."""
    run("train", "-q", blobs, "m")
    assert_refused(capsys, Exit.BAD_INPUT, "label", "certify", "m", line)
    Path("other").write_text(Path(blobs).read_text().replace("1:", "1:1", 1))
    run("certify", "m", "other")
    assert "are not the data that the model was fitted on" in capsys.readouterr().err
