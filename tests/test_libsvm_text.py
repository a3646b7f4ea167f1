"""LIBSVM text: what is read is what a slow reader reads, to the last bit, and faults are named by line and column."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from decimal import Decimal
from pathlib import Path

import libsvm_twin
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numba import njit
from selection import leave_long
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from slack import SLACK_SECONDS

from maxmargin import SVC, LinearSVC, read_libsvm, write_libsvm
from maxmargin.blocks import libsvm_text
from maxmargin.blocks.files import LibsvmBlocks
from maxmargin.compiled.decimals import BROKEN, DOWN, MIN_POWER_OF_TEN, SURE, UP, read_number
from maxmargin.compiled.shortest_decimals import write_number
from maxmargin.runtime.streams import estimate_length

RNG = np.random.default_rng(0)
PACKERS = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
FUZZ = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}
SEVENTEEN = RNG.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
EXTREME = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, 1e22, 1e23]
EXTREME += [2.0**53, 2.0**53 + 2, 1e16, 1e17, 123456789012345680.0, 0.1, 0.0001, 0.00001, 1 / 3, -2.5]


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks and strips of a few bytes, so that every text has many."""
    monkeypatch.setattr(libsvm_text, "CHUNK_BYTES", 40)
    monkeypatch.setattr(libsvm_text, "STRIP_BYTES", 11)


def write_text(folder: Path, text: str | bytes, name: str = "rows.svm") -> Path:
    """A file of this text, packed as its name says."""
    path = folder / name
    with PACKERS[path.suffix if path.suffix in PACKERS else ""](path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


# ---- numbers --------------------------------------------------------------------------------------------------------


@njit
def read_all(text, starts, values, verdicts, stops):
    """Every number that begins at one of these places."""
    for k in range(len(starts)):
        values[k], stops[k], verdicts[k] = read_number(text, starts[k])


@njit
def write_all(values, out):
    """Every number, a line each."""
    k = 0
    for value in values:
        k = write_number(out, k, value)
        out[k] = 10
        k += 1
    return k


def read_words(words: list[str]):
    """Values, verdicts, and whether all of each word was read."""
    lengths = np.array([len(word) for word in words])
    starts = np.cumsum(lengths + 1) - lengths - 1
    values, verdicts, stops = np.empty(len(words)), np.empty(len(words), int), np.empty(len(words), int)
    read_all(np.frombuffer("\n".join([*words, ""]).encode(), np.uint8), starts, values, verdicts, stops)
    return values, verdicts, stops == starts + lengths


def list_words() -> list[str]:
    """Numbers of all lengths and sizes."""
    finite = [x for x in SEVENTEEN.tolist() if np.isfinite(x)] + EXTREME
    words = [repr(x) for x in finite]
    words += [f"{x:.{k % 30}e}" for k, x in enumerate(finite)]
    words += [f"{x:.{k % 25}f}" for k, x in enumerate(RNG.normal(size=2000).tolist())]
    words += [f"{m}e{e}" for m, e in zip(RNG.integers(0, 2**63, 3000), RNG.integers(-345, 310, 3000), strict=True)]
    middles = [(Decimal(x) + Decimal(float(np.nextafter(x, np.inf)))) / 2 for x in finite[:1000]]
    words += [f"{middle:.{k % 3 * 15 + 18}e}" for k, middle in enumerate(middles)]
    words += ["+1", "+.5", ".5", "5.", "-.0", "1e-400", "1e400", "-1e400", "0e999999999999", "1e+5", "1E-5", "007"]
    words += ["0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "9" * 19, "9" * 20, "18446744073709551616"]
    return words


def test_numbers_are_the_nearest_floats():
    """As Python's float, to the last bit, wherever the compiled reader is sure; it seldom is not."""
    words = list_words()
    values, verdicts, whole = read_words(words)
    expected = np.array([float(word) for word in words])
    sure = verdicts == SURE
    assert whole.all()
    assert np.array_equal(values[sure].view(np.int64), expected[sure].view(np.int64))
    assert not (verdicts == BROKEN).any()
    usual = [repr(x) for x in RNG.normal(size=5000).tolist()]
    assert (read_words(usual)[1] == SURE).all()


@pytest.mark.parametrize(
    "word", ["", "-", ".", "e5", "+e5", "1e", "1e+", "nan", "inf", "Infinity", "x", "--1", "0x10", "1_0", "1,5", "１"]
)
def test_words_that_are_no_numbers(word):
    """Broken, or read to some place before the end."""
    _, verdicts, whole = read_words([word])
    assert verdicts[0] == BROKEN or not whole[0]


def test_the_shortest_text_of_a_float():
    """It reads back as the same bits, and has the digits of Python's repr."""
    values = np.concatenate([SEVENTEEN[np.isfinite(SEVENTEEN)], EXTREME, RNG.normal(size=3000), np.arange(-500.0, 500)])
    values = np.concatenate([values, np.round(RNG.normal(size=3000), 3), 2.0 ** np.arange(-1074, 1024)])
    out = np.empty(25 * len(values), np.uint8)
    words = out[: write_all(values, out)].tobytes().decode().split()
    assert np.array_equal(np.array([float(word) for word in words]).view(np.int64), values.view(np.int64))
    assert all(Decimal(word) == Decimal(repr(x)) for word, x in zip(words, values.tolist(), strict=True))
    assert max(len(word) for word in words) <= 24
    assert [words[list(values).index(x)] for x in (0.0001, 0.00001, 100.0, 1e17)] == ["0.0001", "1e-5", "100", "1e17"]


@pytest.mark.parametrize("k", [-342, -27, -1, 0, 1, 27, 55, 56, 324])
def test_the_table_of_powers(k):
    """The first 128 bits of 10^k, from below and from above."""
    low, high = (
        int(table[k - MIN_POWER_OF_TEN, 0]) << 64 | int(table[k - MIN_POWER_OF_TEN, 1]) for table in (DOWN, UP)
    )
    exact = 0 <= k <= 55
    assert high - low == (0 if exact else 1)
    assert low.bit_length() == 128
    power = 10 ** abs(k)
    shift = 128 - power.bit_length()
    if k >= 0:
        assert low == (power << shift if shift >= 0 else power >> -shift)
    else:
        assert low * power < 2 ** (127 + power.bit_length()) < high * power


# ---- reading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("chunk", [1, 37, 1 << 22])
def test_the_same_as_scikit_learn(packer, chunk, tmp_path, monkeypatch):
    """Labels, values and indices, however the text is cut."""
    monkeypatch.setattr(libsvm_text, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(libsvm_text, "STRIP_BYTES", max(1, chunk // 3))
    X = sp.random_array((200, 30), density=0.3, random_state=np.random.default_rng(1), format="csr")
    y = RNG.normal(size=200)
    plain = tmp_path / "plain.svm"
    dump_svmlight_file(X, y, str(plain), zero_based=False, comment="made here")
    path = write_text(tmp_path, plain.read_bytes(), f"rows.svm{packer}")
    found = read_libsvm(path)
    expected, labels = load_svmlight_file(str(plain))
    assert np.array_equal(found.X.toarray(), expected.toarray())
    assert np.array_equal(found.y, labels)
    assert found.query is None
    assert found.X.has_canonical_format
    assert isinstance(found.X, sp.csr_array)
    assert (found.X.indices.dtype, found.X.indptr.dtype, found.X.dtype) == (np.int32, np.int32, np.float64)


def test_what_lines_may_look_like(tmp_path, small_chunks):
    """Spaces, tabs, returns, comments, empty lines, no last end of line, rows without values."""
    path = write_text(tmp_path, b"# first\r\n\r\n  1   2:0.5\t4:1 # 9:9\r\n-1\n\n \t\n2 1:3#x\n+3 00005:1")
    X, y, _ = read_libsvm(path)
    assert list(y) == [1, -1, 2, 3]
    assert X.toarray().tolist() == [[0, 0.5, 0, 1, 0], [0] * 5, [3, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


@pytest.mark.parametrize("packer", PACKERS)
def test_a_byte_order_mark(packer, tmp_path, small_chunks):
    """Editors put one in front, where it is skipped; anywhere else it is a fault."""
    path = write_text(tmp_path, b"\xef\xbb\xbf1 1:2\n-1 2:3\n", f"rows.svm{packer}")
    X, y, _ = read_libsvm(path)
    assert (X.toarray().tolist(), list(y)) == ([[2, 0], [0, 3]], [1, -1])
    blocks = LibsvmBlocks(path, block_bytes=1)
    assert [blocks.load(k).y.tolist() for k in range(blocks.n_blocks)] == [[1], [-1]]
    with pytest.raises(ValueError, match="line 2"):
        read_libsvm(write_text(tmp_path, b"\xef\xbb\xbf1 1:2\n\xef\xbb\xbf-1 2:3\n", f"rows.svm{packer}"))


def test_zeros_without_end():
    """A device that gives zeros for ever is told from text at once."""
    with pytest.raises(ValueError, match="/dev/zero is not text"):
        read_libsvm("/dev/zero")


def test_features_up_to_two_billion(tmp_path, monkeypatch):
    """Those that occur are what a kernel machine needs; the w of a linear one would be larger than the memory."""
    path = write_text(tmp_path, "1 1:1 2147483646:2\n-1 2:1\n1 1:1\n-1 3:1\n")
    X, y, _ = read_libsvm(path)
    same = np.array([[1.0, 0, 0, 2], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    for kernel in ("rbf", "laplacian", "poly"):
        wide, narrow = (SVC(kernel=kernel, gamma=0.5).fit(each, y) for each in (X, same))
        np.testing.assert_allclose(wide.decision_function(X), narrow.decision_function(same), atol=1e-9)
    monkeypatch.setattr("maxmargin.estimators.validation.measure_memory", lambda: 2**34)
    for model in (LinearSVC(), SVC(kernel="linear")):
        with pytest.raises(ValueError, match=r"X has 2,147,483,646 features, and vectors of w would take 64 GB"):
            model.fit(X, y)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_an_empty_text(text, tmp_path):
    """No rows and no features, or as many as were asked for."""
    path = write_text(tmp_path, text)
    assert read_libsvm(path).X.shape == (0, 0)
    assert read_libsvm(path, n_features=3).X.shape == (0, 3)
    assert read_libsvm(path, query=True).query.shape == (0,)


def test_where_indices_begin(tmp_path, small_chunks):
    """By what is found, as in scikit-learn, or by what is said."""
    path = write_text(tmp_path, "1 1:1 3:2\n" * 20)
    assert read_libsvm(path).X.shape == (20, 3)
    assert read_libsvm(path, zero_based=False).X[[0]].toarray().tolist() == [[1, 0, 2]]
    assert read_libsvm(path, zero_based=True).X[[0]].toarray().tolist() == [[0, 1, 0, 2]]
    assert read_libsvm(path, n_features=9).X.shape == (20, 9)
    late = write_text(tmp_path, "1 1:1 3:2\n" * 20 + "1 0:5\n", "late.svm")
    assert read_libsvm(late).X[[0, -1]].toarray().tolist() == [[0, 1, 0, 2], [5, 0, 0, 0]]
    with pytest.raises(ValueError, match=r"late.svm, line 21, column 3: indices begin at 1, got '0:5'"):
        read_libsvm(late, zero_based=False)
    with pytest.raises(ValueError, match="index 3 is not among 3 features that begin at 0"):
        read_libsvm(late, n_features=3)


def test_too_many_features(tmp_path):
    """The first index that is too large is named."""
    path = write_text(tmp_path, "1 1:1\n1 1:1 9:1\n")
    with pytest.raises(ValueError, match=r"line 2, column 7: an index must be at most 8, got '9:1'"):
        read_libsvm(path, n_features=8)


def test_queries(tmp_path, small_chunks):
    """Left out unless asked for; every row has one, or none has."""
    path = write_text(tmp_path, "3 qid:1 1:1\n2 qid:1 2:1 # x\n1 qid:20\n")
    assert read_libsvm(path).query is None
    assert read_libsvm(path).X.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    for asked in (True, "auto"):
        assert read_libsvm(path, query=asked).query.tolist() == [1, 1, 20]
    expected = load_svmlight_file(str(path), query_id=True)[2]
    assert np.array_equal(read_libsvm(path, query=True).query, expected)
    plain = write_text(tmp_path, "1 1:1\n", "plain.svm")
    assert read_libsvm(plain, query="auto").query is None
    mixed = write_text(tmp_path, "1 qid:1 1:1\n1 1:1\n", "mixed.svm")
    for path, row in ((plain, 1), (mixed, 2)):
        with pytest.raises(ValueError, match=f"{path.name}, row {row}: qid: was expected after the label"):
            read_libsvm(path, query=True)
    with pytest.raises(ValueError, match=r"mixed.svm, row 2: qid: was expected"):
        read_libsvm(mixed, query="auto")


def test_floats_of_32_bits(tmp_path):
    """Rounded, and refused where they would be infinite; labels stay float64."""
    path = write_text(tmp_path, "1e39 1:0.1 2:3.4028235677973362e38 3:1e-50\n")
    X, y, _ = read_libsvm(path, dtype=np.float32)
    assert X.dtype == np.float32
    assert X.data.tolist() == [np.float32(0.1), np.finfo(np.float32).max, 0.0]
    assert y.dtype == np.float64
    assert y[0] == 1e39
    for word in ("3.4028235677973366e38", "-1e39", "340282356779733661637539395458142568448.000"):
        path = write_text(tmp_path, f"1 1:0.1 2:{word}\n")
        with pytest.raises(ValueError, match=r"line 1, column 11: the number is too large for float32"):
            read_libsvm(path, dtype=np.float32)
        assert read_libsvm(path).X.data[1] == float(word)


def test_indices_of_64_bits(tmp_path, small_chunks):
    """Where they are needed, and without memory for the features between."""
    text = "1 1:1 2147483647:2\n" + "1 1:1 5:1\n" * 10
    X = read_libsvm(write_text(tmp_path, text)).X
    assert (X.indices.dtype, X.shape[1]) == (np.int32, 2147483647)
    read_libsvm(write_text(tmp_path, "1 9999999999:1\n"))  # what is compiled is not measured
    huge = write_text(tmp_path, text + "1 2147483649:5 4611686018427387903:7\n" + "1 2:1\n" * 10)
    tracemalloc.start()
    X, y, _ = read_libsvm(huge)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert (X.indices.dtype, X.indptr.dtype, X.shape) == (np.int64, np.int64, (22, 4611686018427387903))
    assert X.indices[:4].tolist() == [0, 2147483646, 0, 4]
    assert X.indices[-12:-10].tolist() == [2147483648, 4611686018427387902]
    assert len(y) == 22
    with pytest.raises(ValueError, match="an index must be at most 2147483646, got '2147483647:2'"):
        LibsvmBlocks(huge)
    wide = read_libsvm(write_text(tmp_path, "1 1:1\n"), n_features=1 << 40).X
    assert wide.shape == (1, 1 << 40)


def test_a_pipe(tmp_path):
    """What can be read once only."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(b"1 1:1\n-1 2:1\n",))
    thread.start()
    assert read_libsvm(pipe).y.tolist() == [1, -1]
    thread.join()


def test_a_packed_pipe(tmp_path):
    """Its length is not tried out: what is read for that would be missing."""
    pipe = tmp_path / "pipe.gz"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(b"1 1:1\n-1 2:1\n"),))
    thread.start()
    assert read_libsvm(pipe).y.tolist() == [1, -1]
    thread.join()


@pytest.fixture
def stalled_pipe(tmp_path):
    """A pipe, and a function that writes to it and leaves it open; at the end it is closed, and all threads go home."""
    pipe, writers = tmp_path / "pipe", []
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)

    def write(text: bytes) -> None:
        writers.append(threading.Thread(target=os.write, args=(keeper, text)))
        writers[-1].start()

    yield pipe, write
    mine = [thread for thread in threading.enumerate() if thread.name in ("maxmargin-fetch", "maxmargin-close")]
    os.close(keeper)
    for thread in mine + writers:
        thread.join(timeout=60.0)
        assert not thread.is_alive()


def test_ctrl_c_ends_the_reading_of_a_pipe(stalled_pipe):
    """Though the other thread is in a read that does not return; nothing is left once the pipe is closed."""
    pipe, write = stalled_pipe
    write(b"1 1:1\n-1 1:2\n")
    sent: list[float] = []

    def press() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            read_libsvm(pipe)
        assert time.perf_counter() - sent[0] < 0.2 + SLACK_SECONDS
        assert "maxmargin-fetch" in {thread.name for thread in threading.enumerate()}  # it was left where it is
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_a_fault_is_told_while_the_pipe_stalls(stalled_pipe):
    """What is wrong in the first chunk does not wait for the second."""
    pipe, write = stalled_pipe
    write(b"1 1:x\n" * (libsvm_text.CHUNK_BYTES // 6 + 1))
    with pytest.raises(ValueError, match="line 1, column 5: a number was expected, got 'x'"):
        read_libsvm(pipe)  # which would otherwise not end, since the pipe stays open


def test_a_thread_reads_too(tmp_path):
    """Not the main one, which alone has threads to help it."""
    path, found = write_text(tmp_path, "1 1:1\n" * 100), []
    thread = threading.Thread(target=lambda: found.append(read_libsvm(path).y.sum()))
    thread.start()
    thread.join()
    assert found == [100]


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
    "1,2 1:1\n": "line 1, column 1: lines of several labels are not known here, got '1,2'",
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


# ---- writing --------------------------------------------------------------------------------------------------------


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether floats are the same, -0.0 and all."""
    return np.array_equal(np.asarray(a, np.float64).view(np.int64), np.asarray(b, np.float64).view(np.int64))


@pytest.mark.parametrize("name", ["a.svm", "a.svm.gz", "a.svm.bz2", "a.svm.xz"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_what_is_written_is_read(name, zero_based, tmp_path, monkeypatch):
    """Every bit of every value, explicit zeros, rows without values, queries, many strips."""
    monkeypatch.setattr("maxmargin.files.libsvm_text.VALUES_PER_STRIP", 50)
    X = sp.random_array((500, 40), density=0.2, random_state=np.random.default_rng(2), format="csr")
    X.data[: len(EXTREME)] = EXTREME
    X = sp.vstack([X, sp.csr_array((3, 40))]).tocsr()
    y = np.concatenate([RNG.normal(size=500), [1.0, -1.0, -0.0]])
    query = np.arange(503) // 7
    write_libsvm(tmp_path / name, X, y, query=query, zero_based=zero_based)
    found = read_libsvm(tmp_path / name, n_features=40, zero_based=zero_based, query=True)
    assert same_bits(found.X.data, X.data)
    assert np.array_equal(found.X.indices, X.indices)
    assert np.array_equal(found.X.indptr, X.indptr)
    assert same_bits(found.y, y)
    assert np.array_equal(found.query, query)


def test_the_text(tmp_path):
    """As people write it, and the same bytes each time, packed or not."""
    X, y = np.array([[0.5, 0, -2], [0, 0, 0], [1, 1e-7, 1e20]]), [1, -1, 2.5]
    write_libsvm(tmp_path / "a.svm", X, y)
    assert (tmp_path / "a.svm").read_text() == "1 1:0.5 3:-2\n-1\n2.5 1:1 2:1e-7 3:1e20\n"
    write_libsvm(tmp_path / "b.svm", X[:1], y[:1], query=[7], zero_based=True)
    assert (tmp_path / "b.svm").read_text() == "1 qid:7 0:0.5 2:-2\n"
    file = io.BytesIO()
    write_libsvm(file, sp.csc_array(X), y)
    assert file.getvalue() == (tmp_path / "a.svm").read_bytes()
    for name in ("c.svm.gz", "d.svm.gz"):
        write_libsvm(tmp_path / name, X, y)
    assert (tmp_path / "c.svm.gz").read_bytes() == (tmp_path / "d.svm.gz").read_bytes()
    write_libsvm(tmp_path / "empty.svm", np.empty((0, 3)), [])
    assert (tmp_path / "empty.svm").read_bytes() == b""


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint16, np.int64, bool, object])
def test_other_types(kind, tmp_path):
    """All numbers that float64 holds."""
    X = (np.arange(12).reshape(3, 4) % 5).astype(kind)
    write_libsvm(tmp_path / "a.svm", X, [True, False, True])
    found = read_libsvm(tmp_path / "a.svm", n_features=4)
    assert np.array_equal(found.X.toarray(), X.astype(float))
    assert found.y.tolist() == [1, 0, 1]


def test_duplicates_are_added(tmp_path):
    """A sparse matrix may hold an entry in two parts, in any order; what is given is not changed."""
    X = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    write_libsvm(tmp_path / "a.svm", X, [1])
    assert (tmp_path / "a.svm").read_text() == "1 1:2 3:5\n"
    assert X.indices.tolist() == [2, 0, 2]


REFUSED = {
    "nan": (([[1, np.nan]], [1]), {}, r"X must hold finite numbers of float64, but X\[0, 1\] is nan"),
    "inf": ((sp.csr_array([[0, 1], [0, np.inf]]), [1, 1]), {}, r"X\[1, 1\] is inf"),
    "integer": (([[0, 2**60 + 1]], [1]), {}, r"X\[0, 1\] is 1152921504606846977"),
    "label": (([[1]], [np.nan]), {}, r"y must hold finite numbers of float64, but y\[0\] is nan"),
    "text": (([[1]], ["a"]), {}, "y must hold real numbers, got values of type <U1"),
    "objects": (([[1]], [object()]), {}, "y must hold numbers, got objects"),
    "complex": (([[1j]], [1]), {}, "X must hold real numbers, got values of type complex128"),
    "labels": (([[1], [2]], [[1, 2], [3, 4]]), {}, r"y must have one value for each of the 2 samples"),
    "length": (([[1]], [1, 2]), {}, r"y must have one value for each of the 1 samples, got shape \(2,\)"),
    "vector": (([1, 2], [1, 2]), {}, "X must have two dimensions, got 1"),
    "query": (([[1]], [1]), {"query": [-1]}, r"query must hold whole numbers from 0 on, but query\[0\] is -1"),
    "half": (([[1]], [1]), {"query": [0.5]}, r"query must hold whole numbers from 0 on, but query\[0\] is 0.5"),
    "zero": (([[1]], [1]), {"zero_based": "auto"}, "zero_based must be True or False, got 'auto'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_data_that_cannot_be_written(case, tmp_path):
    """Refused with the place, and the file that was there is as it was."""
    arguments, options, sentence = REFUSED[case]
    path = write_text(tmp_path, "old")
    with pytest.raises(ValueError, match=sentence):
        write_libsvm(path, *arguments, **options)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["rows.svm"]


FULL = """
import resource, sys
import numpy as np
from maxmargin import write_libsvm
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    write_libsvm(sys.argv[1], np.random.default_rng(0).normal(size=(1000, 50)), np.ones(1000))
except OSError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    """The old file is whole, nothing is left beside it, and a sentence says so."""
    path = write_text(tmp_path, "1 1:1\n")
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, timeout=120, check=True)
    assert (
        f"path={str(path)!r} could not be written: File too large; the file that was there is unchanged" in done.stdout
    )
    assert path.read_text() == "1 1:1\n"
    assert os.listdir(tmp_path) == ["rows.svm"]


# ---- any bytes ------------------------------------------------------------------------------------------------------


def assert_same_as_twin(text: bytes, path: Path) -> None:
    """The same rows as the slow reader, or a sentence where it refuses."""
    path.write_bytes(text)
    try:
        rows = libsvm_twin.parse(text)
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
    assert_same_as_twin(text, tmp_path / "rows.svm")


@pytest.mark.slow
@given(valid_texts(), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), SPICE), max_size=3))
@settings(max_examples=200, **FUZZ)
def test_changed_texts(tmp_path, small_chunks, text, changes):
    """Sound lines, and such in which a few bytes were replaced."""
    for place, length, spice in changes:
        place %= len(text) + 1
        text = text[:place] + spice + text[place + length :]
    assert_same_as_twin(text, tmp_path / "rows.svm")


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
