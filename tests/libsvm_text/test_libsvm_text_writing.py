"""LIBSVM text that is written is read back to the last bit."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from text_files import EXTREME, RNG, same_bits, write_text

from maxmargin import read_libsvm, write_libsvm


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
    "query": (([[1]], [1]), {"query": [-1]}, r"query must hold whole numbers of at least 0, but query\[0\] is -1"),
    "half": (([[1]], [1]), {"query": [0.5]}, r"query must hold whole numbers of at least 0, but query\[0\] is 0.5"),
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
