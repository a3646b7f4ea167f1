"""Any bytes as LIBSVM text: the same rows, or a fault at the same place, as in the reference reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import libsvm_text_reference
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from text_files import same_bits

from maxmargin import read_libsvm, write_libsvm

FUZZ = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}


def assert_same_as_reference(text: bytes, path: Path) -> None:
    """The same rows as the slow reader, or a sentence where it refuses."""
    path.write_bytes(text)
    try:
        rows = libsvm_text_reference.parse(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"""rows.svm, line \d+, column \d+: .*, got ['"].*['"]\.$"""):
            read_libsvm(path)
        return
    X, y, _ = read_libsvm(path, zero_based=True)
    assert same_bits(y, [row.label for row in rows])
    assert X.indptr.tolist() == [0, *np.cumsum([len(row.pairs) for row in rows], dtype=int)]
    assert X.indices.tolist() == [index for row in rows for index, _ in row.pairs]
    assert same_bits(X.data, [value for row in rows for _, value in row.pairs])
    if rows and all(row.query is not None for row in rows):
        assert read_libsvm(path, query=True).query.tolist() == [row.query for row in rows]


SPICE = st.sampled_from(
    [b" ", b"\n", b"\t", b"\r", b"#", b":", b"-", b"+", b".", b"e", b"E", b"qid:", b"0", b"9", b"nan", b"inf", b"\x00",
     b",", b"1e", b"999999999999999999999", b"\xff", b"\x0b", b"1:1", b"00", b"e-400", b"e400", b"_", b"x"]
)  # fmt: skip


@st.composite
def valid_texts(draw) -> bytes:
    """Lines that are sound, with numbers in all shapes."""
    number = st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.integers(-(10**25), 10**25).map(str),
        st.from_regex(r"[+-]?[0-9]{0,22}\.[0-9]{1,22}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    )
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        indices = sorted(draw(st.sets(st.one_of(st.integers(0, 50), st.integers(0, 2**62 - 1)), max_size=5)))
        query = draw(st.sampled_from(["", " qid:3", "  qid:4000"]))
        pairs = "".join(f" {index}:{draw(number)}" for index in indices)
        lines.append(f"{draw(number)}{query}{pairs}{draw(st.sampled_from(['', ' ', ' # c:1', '#']))}")
    return draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines).encode()


@given(st.binary(max_size=200))
@example(b"1 1:1\r")
@settings(max_examples=300, **FUZZ)
def test_any_bytes(tmp_path, text):
    """A result or a sentence, never a crash."""
    assert_same_as_reference(text, tmp_path / "rows.svm")


@pytest.mark.slow
@given(valid_texts(), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), SPICE), max_size=3))
@settings(max_examples=200, **FUZZ)
def test_changed_texts(tmp_path, small_chunks, text, changes):
    """Sound lines, and such in which a few bytes were replaced."""
    for place, length, spice in changes:
        place %= len(text) + 1
        text = text[:place] + spice + text[place + length :]
    assert_same_as_reference(text, tmp_path / "rows.svm")


@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4), max_size=5),
    st.booleans(),
)
@settings(max_examples=100, **FUZZ)
def test_any_floats_go_there_and_back(tmp_path, rows, sparse):
    """Written and read, to the last bit."""
    X = np.array(rows, np.float64).reshape(-1, 4)
    given = sp.csr_array(X) if sparse else X
    write_libsvm(tmp_path / "rows.svm", given, X[:, 0])
    found = read_libsvm(tmp_path / "rows.svm", n_features=4)
    assert np.array_equal(found.X.toarray(), X)
    assert same_bits(found.y, X[:, 0])


@pytest.mark.slow
def test_inputs_of_a_fuzzer(tmp_path):
    """libFuzzer looks for bytes that crash the parser, or that it reads otherwise than its slow twin."""
    pytest.importorskip("atheris", reason="atheris is not installed")
    script, runs = Path(__file__).with_name("fuzz_libsvm_text.py"), os.environ.get("FUZZ_RUNS", "150000")
    # A process inherits the peak of its parent's memory, which is that of all tests before: one allocation counts.
    limits = ["-rss_limit_mb=0", "-malloc_limit_mb=2048"]
    done = subprocess.run(
        [sys.executable, script, f"-runs={runs}", "-max_len=120", "-seed=1", *limits, tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"Done {runs} runs" in done.stderr
