"""Faults of LIBSVM text are named by line and column."""

from __future__ import annotations

import numpy as np
import pytest
from selection import leave_long
from text_files import PACKERS, write_text

from maxmargin import read_libsvm
from maxmargin.blocks import libsvm_text
from maxmargin.blocks.libsvm_files import LibsvmBlocks
from maxmargin.runtime.streams import estimate_length

FAULTS = {
    "1 1:1\n1 2\n": "line 2, column 3: index:value was expected, got '2'",
    "1 1:1\n\n1 a:2\n": "line 3, column 3: index:value was expected, got 'a:2'",
    "1 -1:2\n": "line 1, column 3: index:value was expected, got '-1:2'",
    "1 1:\n": "line 1, column 5: a number was expected, got ''",
    "1 1: 2\n": "line 1, column 5: a number was expected, got ''",
    "1 1 :2\n": "line 1, column 3: index:value was expected, got '1'",
    "1 1:x\n": "line 1, column 5: a number was expected, got 'x'",
    "1 1:1:1\n": "line 1, column 5: a number was expected, got '1:1'",
    "1 1:0x1F\n": "line 1, column 5: a number was expected, got '0x1F'",
    "1 1:1_0\n": "line 1, column 5: a number was expected, got '1_0'",
    "# c\nyes 1:1\n": "line 2, column 1: a number was expected, got 'yes'",
    "1,2 1:1\n": "line 1, column 1: lines with several labels are not supported, got '1,2'",
    "  1:1 2:1\n": "line 1, column 3: a label was expected before index:value, got '1:1'",
    "1 2:1 1:1\n": "line 1, column 7: the indices of a line must rise, got '1:1'",
    "1 2:1 2:1\n": "line 1, column 7: the indices of a line must rise, got '2:1'",
    "1 qid:x 2:1\n": "line 1, column 3: qid: and a whole number was expected, got 'qid:x'",
    "1 qid:99999999999999999999\n": "line 1, column 3: qid: and a whole number was expected, got "
    "'qid:9999999999999999...'",
    "1 2:1 qid:1\n": "line 1, column 7: qid: must come after the label, got 'qid:1'",
    "1 99999999999999999999999:1\n": "line 1, column 3: an index must be at most 4611686018427387903, got "
    "'99999999999999999999...'",
    "1 1:nan\n": "line 1, column 5: numbers must be finite, got 'nan'",
    "1 1:1 2:-Inf\n": "line 1, column 9: numbers must be finite, got '-Inf'",
    "NaN 1:1\n": "line 1, column 1: numbers must be finite, got 'NaN'",
    "1 1:1e400\n": "line 1, column 5: the number is too large for float64, got '1e400'",
    "-1e999 1:1\n": "line 1, column 1: the number is too large for float64, got '-1e999'",
    f"1 1:{2**1024 - 2**970}\n": "line 1, column 5: the number is too large for float64, got '17976931348623158079...'",
    "1 1:1\x0b2:1\n": "line 1, column 5: a number was expected, got '1\\x0b2:1'",
    "\x00\n": "line 1, column 1: a number was expected, got '\\x00'",
    "1\ufeff 1:1\n": "line 1, column 1: a number was expected, got '1\\ufeff'",
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS)
@pytest.mark.parametrize("before", ["", "1 1:1\n" * 30])
def test_faults_are_named(text, before, tmp_path, small_chunks):
    """One sentence with the file, the line, the column and a few letters, wherever the chunks are cut."""
    lines = before.count("\n")
    place, sentence = FAULTS[text].removeprefix("line ").split(",", 1)
    with pytest.raises(ValueError) as error:
        read_libsvm(write_text(tmp_path, before + text + "1 1:1\n1 bad\n"))
    assert str(error.value) == f"{tmp_path / 'rows.svm'}, line {int(place) + lines},{sentence}."


def test_the_first_fault_is_named(tmp_path):
    """Though strips are parsed side by side."""
    path = write_text(tmp_path, "1 1:1\n" * 200_000 + "1 x\n" + "1 1:1\n" * 100_000 + "1 y\n" * 1000)
    for _ in range(3):
        with pytest.raises(ValueError, match="line 200001, column 3"):
            read_libsvm(path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"zero_based": "yes"}, "zero_based must be True, False or 'auto', got 'yes'"),
        ({"zero_based": 1}, "zero_based must be True, False or 'auto', got 1"),
        ({"dtype": int}, "dtype must be float32 or float64"),
        ({"n_features": 0}, "n_features must be a positive integer, got 0"),
        ({"n_features": 2.5}, "n_features must be a positive integer, got 2.5"),
        ({"query": "yes"}, "query must be True, False or 'auto', got 'yes'"),
    ],
)
def test_options_that_are_refused(options, sentence, tmp_path):
    """Values that make no sense are refused with their names."""
    with pytest.raises(ValueError, match=sentence):
        read_libsvm(write_text(tmp_path, "1 1:1\n"), **options)


def test_paths_that_are_refused(tmp_path):
    """Nothing there, a folder, no path at all."""
    with pytest.raises(FileNotFoundError, match=r"path='.*a.svm' does not exist"):
        read_libsvm(tmp_path / "a.svm")
    with pytest.raises(ValueError, match=r"path must be a file, and .* is a folder"):
        read_libsvm(tmp_path)
    with pytest.raises(TypeError, match="path must be the path of a file, got 3"):
        read_libsvm(3)


@pytest.mark.parametrize("packer", [".gz", ".bz2", ".xz"])
def test_broken_packing(packer, tmp_path):
    """Cut short, and not packed at all."""
    path = write_text(tmp_path, "1 1:1\n" * 1000, f"rows.svm{packer}")
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"1 1:1\n"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"rows.svm{packer} cannot be unpacked: "):
            read_libsvm(path)
        with pytest.raises(ValueError, match=rf"rows.svm{packer} cannot be unpacked: "):
            LibsvmBlocks(path)


@pytest.mark.parametrize("packer", leave_long(PACKERS, ".xz"))
def test_the_length_of_a_text_is_guessed(packer, tmp_path):
    """Exactly if it is plain or short; else rather too large, as room that is not used costs nothing."""
    for n in (10, 120_000):
        text = b"\n".join(np.char.mod(b"%.9f", np.random.default_rng(n).normal(size=n)).tolist())
        guess = estimate_length(write_text(tmp_path, text, f"rows.svm{packer}"))
        exact = n == 10 or packer == ""
        assert guess == len(text) if exact else 0.9 * len(text) <= guess <= 1.6 * len(text)
    (tmp_path / "rows.svm.gz").write_bytes(b"no gzip")
    assert estimate_length(tmp_path / "rows.svm.gz") == 0


def test_a_line_without_end(tmp_path, monkeypatch):
    """A line may be long, not endless."""
    monkeypatch.setattr(libsvm_text, "CHUNK_BYTES", 100)
    path = write_text(tmp_path, "1 " + " ".join(f"{k}:1" for k in range(1, 3000)))
    assert read_libsvm(path).X.nnz == 2999
    monkeypatch.setattr(libsvm_text, "MAX_LINE_BYTES", 1000)
    with pytest.raises(ValueError, match=r"rows.svm has a line of more than 1,000 bytes"):
        read_libsvm(path)
