"""LIBSVM text: what is read is what scikit-learn reads, to the last bit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from text_files import PACKERS, RNG, write_text

from maxmargin import SVC, LinearSVC, read_libsvm
from maxmargin.blocks import libsvm_text
from maxmargin.blocks.libsvm_files import LibsvmBlocks


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
