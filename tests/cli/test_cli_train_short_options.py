"""`maxmargin train` with the short options of svm-train and of LIBLINEAR's train."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load, read_libsvm, write_libsvm

# ---- letters --------------------------------------------------------------------------------------------------------


def test_letters_write_their_model(blobs, capsys):
    """The name and the format of svm-train, in the folder where it was called."""
    Path("elsewhere").mkdir()
    Path(blobs).rename("elsewhere/blobs")
    assert run("train", "-c", "10", "-g", "0.5", "elsewhere/blobs") == Exit.SUCCESS
    assert Path("blobs.model").read_text().startswith("svm_type c_svc\nkernel_type rbf\ngamma 0.5\n")
    assert run("predict", "elsewhere/blobs", "blobs.model", "out") == Exit.SUCCESS
    assert capsys.readouterr().out.splitlines()[-1].startswith("Accuracy = ")


def test_liblinear_writes_its_model(blobs):
    """Under its own name, and with its bias."""
    assert run("train", "--liblinear", "-s", "3", "-B", "1", "-q", blobs) == Exit.SUCCESS
    text = Path("blobs.model").read_text()
    assert text.startswith("solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 4\nbias 1\nw\n")


@pytest.mark.parametrize("letters", [["-s", "0"], ["-s", "1"], ["-s", "2"]], ids=["c_svc", "nu_svc", "one_class"])
def test_rows_of_kernel_values(letters, blobs, capsys):
    """-t 4: the file holds the kernel matrix, numbered from 1 on; the machine is that of the linear kernel."""
    X, y, _ = read_libsvm(blobs)
    K = (X @ X.T).toarray()
    rows = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), 1)) for row in K)
    lines = [f"{label:g} 0:{i} {row}" for i, (label, row) in enumerate(zip(y, rows, strict=True), 1)]
    Path("matrix").write_text("\n".join(lines) + "\n")
    for kernel, data in (("4", "matrix"), ("0", blobs)):
        assert run("train", *letters, "-t", kernel, "-e", "1e-8", data, f"m{kernel}") == Exit.SUCCESS
        assert run("predict", data, f"m{kernel}", f"out{kernel}") == Exit.SUCCESS
    assert "kernel_type precomputed" in Path("m4").read_text()
    assert Path("out4").read_text() == Path("out0").read_text()
    capsys.readouterr()
    if letters[1] != "2":
        assert run("train", *letters, "-t", "4", "-v", "3", "matrix") == Exit.SUCCESS
        assert "Cross Validation Accuracy = " in capsys.readouterr().out


# ---- files that are not what they seem ------------------------------------------------------------------------------


def test_weights_of_negative_labels(blobs):
    """--class-weight -1=5 without an equals sign; letters multiply, as in svm-train."""
    run("train", "-q", "--class-weight", "-1=5", "--class-weight", "1=2", blobs, "words")
    assert load("words").class_weight == {-1.0: 5.0, 1.0: 2.0}
    run("train", "-q", "-w-1", "5", "-w1", "2", "-w1", "3", "--to", "maxmargin", blobs, "letters")
    assert load("letters").class_weight == {-1.0: 5.0, 1.0: 6.0}


def test_labels_come_in_the_order_of_svm_train(blobs):
    """The first one that was seen comes first, but 1 before -1."""
    X, y, _ = read_libsvm(blobs)
    write_libsvm("seven", X, np.where(y == y[0], 7.0, 3.0))
    write_libsvm("signed", X, np.where(y == y[0], -1.0, 1.0))
    for name, labels in (("seven", "7 3"), ("signed", "1 -1")):
        assert run("train", "-q", "-b", "1", name, "m") == Exit.SUCCESS
        assert f"label {labels}\n" in Path("m").read_text()
        assert run("predict", "-q", "-b", "1", name, "m", "out") == Exit.SUCCESS
        assert Path("out").read_text().startswith(f"labels {labels}\n")
