"""Tables, weights and ranges: read as they were meant, refused with line and column, scaled as svm-scale does."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.files import (
    Ranges,
    csv_table,
    find_ranges,
    read_data,
    read_libsvm,
    read_ranges,
    write_libsvm,
    write_ranges,
)
from maxmargin.files.ranges import TargetRange

RNG = np.random.default_rng(0)
FUZZ = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}


@pytest.fixture(params=["pyarrow", "Python alone"])
def reader(request, monkeypatch):
    """Both readers of tables; the first one only where it is installed."""
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


def write(folder: Path, text: str, name: str = "a.csv") -> Path:
    """A file of this text."""
    path = folder / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


# ---- comma-separated values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.csv.gz"])
def test_a_table_with_a_header(name, reader, tmp_path):
    """The last column is the target, numbers if all of them are."""
    data = read_data(write(tmp_path, "age,height,label\n30,1.5,1\n-4e1,+2,-1\n", name))
    assert data.X.tolist() == [[30, 1.5], [-40, 2]]
    assert data.X.flags.c_contiguous
    assert data.y.tolist() == [1, -1]
    assert data.y.dtype == np.float64
    assert data.names == ["age", "height"]
    assert (data.weight, data.query) == (None, None)


def test_labels_are_texts_if_one_of_them_is(reader, tmp_path):
    """Quoted or not; a comma within quotes is no end."""
    data = read_data(write(tmp_path, '5,1,"yes, sir"\r\n6,2,2\r\n7,3,"say ""no"""\r\n\r\n8,4, no \r\n'))
    assert data.y.tolist() == ["yes, sir", "2", 'say "no"', "no"]
    assert data.X.tolist() == [[5, 1], [6, 2], [7, 3], [8, 4]]
    assert data.names is None


def test_columns_by_name_and_place(reader, tmp_path):
    """Target, weight and query, wherever they stand; the rest are features."""
    path = write(tmp_path, "q,y,a,w,b\n3,1,2.5,0.5,7\n4,-1,3.5,2,8\n")
    for asked in ({"target": "y", "weight": "w", "query": "q"}, {"target": 1, "weight": -2, "query": 0}):
        data = read_data(path, **asked)
        assert data.X.tolist() == [[2.5, 7], [3.5, 8]]
        assert data.names == ["a", "b"]
        assert data.y.tolist() == [1, -1]
        assert data.weight.tolist() == [0.5, 2]
        assert data.query.tolist() == [3, 4]
        assert data.query.dtype == np.int64


def test_headers(reader, tmp_path):
    """A first line without a number, or one that is said to be a header."""
    path = write(tmp_path, "1,2\n3,4\n")
    assert read_data(path).names is None
    assert read_data(path, header=True).names == ["1"]
    assert read_data(path, header=True).X.tolist() == [[3]]
    assert read_data(write(tmp_path, "\n\n1,2\n3,4\n"), header=True).X.tolist() == [[3]]
    assert read_data(write(tmp_path, '"a\nb",c\n3,4\n')).names == ["a\nb"]
    assert read_data(write(tmp_path, "\ufeffa,b\n3,4\n")).names == ["a"]
    with pytest.raises(ValueError, match=r"column 1: a number was expected, got 'id'; if it is the header, pass"):
        read_data(write(tmp_path, "id,2019\n1,2\n"))
    assert read_data(write(tmp_path, "id,2019\n1,2\n"), header=True).names == ["id"]
    assert read_data(write(tmp_path, "a,b\n")).X.shape == (0, 1)


def test_all_columns_may_be_features(reader, tmp_path):
    """If their number says so, there is no target."""
    path = write(tmp_path, "1,2,3\n4,5,6\n")
    assert read_data(path, n_features=3).y is None
    assert read_data(path, n_features=3).X.shape == (2, 3)
    assert read_data(path, n_features=2).y.tolist() == [3, 6]
    with pytest.raises(ValueError, match=r"a.csv has 2 columns of features, where n_features=7"):
        read_data(path, n_features=7)
    with pytest.raises(ValueError, match=r"a.csv has 2 columns of features, where n_features=3"):
        read_data(path, n_features=3, target=0)


def test_other_delimiters(reader, tmp_path):
    """Tabs by the suffix, others if they are given."""
    assert read_data(write(tmp_path, "a\tb\n1\t2\n", "a.tsv")).X.tolist() == [[1]]
    assert read_data(write(tmp_path, "a;b\n1;2\n"), delimiter=";").X.tolist() == [[1]]
    assert read_data(write(tmp_path, "a;b\n1.5;2\n"), delimiter=";", dtype=np.float32).X.dtype == np.float32
    with pytest.raises(ValueError, match="delimiter must be one character, got ';;'"):
        read_data(tmp_path / "a.csv", delimiter=";;")


FAULTS = {
    "a,b\n1,2\n,3\n": "line 3, column 'a': the value is missing, got ''",
    "a,b\n1,2\nNA,3\n": "line 3, column 'a': the value is missing, got 'NA'",
    "a,b\n1,2\nnan,3\n": "line 3, column 'a': the value is missing, got 'nan'",
    "1,2\n?,3\n": "line 2, column 1: the value is missing, got '?'",
    "1,\n2,3\n": "line 1, column 2: the label is missing, got ''",
    "a,b\n1,2\nx,3\n": "line 3, column 'a': a number was expected, got 'x'",
    "a,b\n1,2\n1_0,3\n": "line 3, column 'a': a number was expected, got '1_0'",
    "a,b\n1,2\n0x1,3\n": "line 3, column 'a': a number was expected, got '0x1'",
    "a,b\n1,2\n-inf,3\n": "line 3, column 'a': numbers must be finite, got '-inf'",
    "a,b\n1,2\n1e999,3\n": "line 3, column 'a': numbers must be finite, got '1e999'",
    f"a,b\n1,2\n{'z' * 50},3\n": "line 3, column 'a': a number was expected, got 'zzzzzzzzzzzzzzzzzzzz...'",
    "a,b\n1,2\n\n1,2,3\n": "line 4: 2 fields were expected, got 3",
    "a,b\n1\n": "line 2: 2 fields were expected, got 1",
    'a,b\n1,"x\n': "line 2: unexpected end of data",
    'a,b\n1,x""y"\n2,"z\n': "line 3: unexpected end of data",
    'a,b\n1,"x"y\n': "line 2: ',' expected after '\"'",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_are_named(text, reader, tmp_path):
    """One sentence with the line, the column and a few letters, the same from both readers."""
    path = write(tmp_path, text)
    with pytest.raises(ValueError) as error:
        read_data(path)
    assert str(error.value) == f"{path}, {FAULTS[text]}."


def test_tables_that_are_refused(reader, tmp_path):
    """Nothing in it, columns that are not there or are asked for twice, letters of another code."""
    with pytest.raises(ValueError, match=r"a.csv has no rows"):
        read_data(write(tmp_path, "\n\n"))
    path = write(tmp_path, "a,b,a\n1,2,3\n")
    for options, sentence in {
        ("target", "z"): r"a.csv has no column 'z'; it has a, b, a",
        ("target", "a"): r"a.csv has 2 columns 'a'; it has a, b, a",
        ("target", 3): r"target=3 is not among the 3 columns of .*a.csv, counted from 0",
        ("query", 1.5): "query must be the name or the position of a column, got 1.5",
        ("weight", "z"): r"weight='z' is neither a column of .*a.csv nor a file",
        ("header", "yes"): "header must be True, False or 'auto', got 'yes'",
        ("dtype", int): "dtype must be float32 or float64",
    }.items():
        with pytest.raises((ValueError, TypeError), match=sentence):
            read_data(path, **dict([options]))
    with pytest.raises(ValueError, match=r"target and weight name the same column of .*, column 'b'"):
        read_data(path, target="b", weight=1)
    with pytest.raises(ValueError, match=r"target='b' cannot be found: .* has no column names; give its position"):
        read_data(path, target="b", header=False)
    with pytest.raises(ValueError, match=r"a.csv has no column of features: it has 1 in all"):
        read_data(write(tmp_path, "a\n1\n"))
    with pytest.raises(ValueError, match=r"row 1: a query must be a whole number, got 1.5"):
        read_data(write(tmp_path, "a,q,b\n1,1.5,2\n"), query="q")
    (tmp_path / "a.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a.csv is not UTF-8 text after line"):
        read_data(tmp_path / "a.csv")


def test_a_large_table(reader, tmp_path, monkeypatch):
    """More rows than a batch holds, floats of all digits, labels of a few kinds."""
    monkeypatch.setattr(csv_table, "BATCH_FIELDS", 1000)
    monkeypatch.setattr(csv_table, "BLOCK_BYTES", 4000)
    X, labels = RNG.normal(size=(2000, 4)) * 10.0 ** RNG.integers(-9, 9, (2000, 4)), RNG.integers(0, 3, 2000)
    lines = [",".join([*map(repr, row), "abc"[label]]) for row, label in zip(X.tolist(), labels, strict=True)]
    data = read_data(write(tmp_path, "\n".join(["p,q,r,s,class", *lines])))
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, np.array(list("abc"))[labels])


FIELD = st.one_of(
    st.sampled_from(["1", "2.5", "-3e-2", "", " ", "nan", "inf", "NA", "x", '"y"', '"a,b"', '"', "1_0", "+4", "5."]),
    st.floats().map(repr),
    st.text(max_size=3),
)  # fmt: skip


@given(st.lists(st.lists(FIELD, min_size=1, max_size=3), max_size=4), st.sampled_from(["\n", "\r\n", "\n\n"]))
@settings(max_examples=200, **FUZZ)
def test_both_readers_agree(tmp_path, rows, end):
    """On any table: the same data, or the same sentence."""
    pytest.importorskip("pyarrow")
    path = write(tmp_path, end.join(",".join(row) for row in rows) + end)
    outcomes = []
    for absent in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if absent:
                patch.setitem(sys.modules, "pyarrow", None)
            try:
                data = read_data(path)
                outcomes.append((data.X.tolist(), data.X.shape, data.y.tolist(), data.names))
            except ValueError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


# ---- Parquet --------------------------------------------------------------------------------------------------------


@pytest.fixture
def write_table(tmp_path):
    """A function that writes columns to a Parquet file in several row groups."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(columns: dict, name: str = "a.parquet") -> Path:
        parquet.write_table(pyarrow.table(columns), tmp_path / name, row_group_size=3)
        return tmp_path / name

    return write


def test_parquet(write_table, tmp_path):
    """Features of several types, labels as texts or numbers, weights and queries; a folder is one table."""
    columns = {"a": np.arange(8.0), "b": np.arange(8, dtype=np.int8), "q": np.arange(8) // 3, "w": np.arange(8) / 2}
    columns |= {"label": ["yes", "no"] * 4}
    path = write_table(columns)
    data = read_data(path, query="q", weight="w")
    assert np.array_equal(data.X, np.column_stack([np.arange(8), np.arange(8)]))
    assert data.X.dtype == np.float64
    assert data.y.tolist() == ["yes", "no"] * 4
    assert data.names == ["a", "b"]
    assert np.array_equal(data.weight, np.arange(8) / 2)
    assert np.array_equal(data.query, np.arange(8) // 3)
    assert read_data(tmp_path, target="label").X.shape == (8, 4)
    numbers = write_table({"y": [1, 2, 3], "x": np.float32([1, 2, 3])}, "b.pq")
    data = read_data(numbers, target="y", dtype=np.float32)
    assert data.y.tolist() == [1, 2, 3]
    assert data.X.dtype == np.float32
    assert read_data(numbers, n_features=2).y is None


def test_parquet_faults(write_table):
    """What is missing or not finite is named by row and column."""
    for columns, sentence in [
        ({"a": [1.0] * 4 + [None], "y": [1] * 5}, r"a.parquet, row 5, column 'a': the value is missing"),
        ({"a": [1.0] * 4 + [np.inf], "y": [1] * 5}, r"a.parquet, row 5, column 'a': numbers must be finite, got inf"),
        ({"a": [1.0] * 5, "y": [1] * 4 + [None]}, r"a.parquet, row 5, column 'y': the value is missing"),
        ({"a": [1.0] * 5, "y": ["u"] * 4 + [None]}, r"a.parquet, row 5, column 'y': the label is missing"),
        ({"a": [1.0] * 5, "y": [b"u"] * 5}, r"a.parquet, row 1, column 'y': a number or a text was expected, got b'u'"),
        ({"a": ["u"] * 5, "y": [1] * 5}, "features must be columns of numbers, but 'a' is of type string"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            read_data(write_table(columns))
    with pytest.raises(ValueError, match=r"a.parquet, row 5, column 'w': the value is missing"):
        read_data(write_table({"a": [1.0] * 5, "w": [1.0] * 4 + [None], "y": [1] * 5}), weight="w")
    with pytest.raises(ValueError, match="has no column 'z'; it has a, y"):
        read_data(write_table({"a": [1.0], "y": [1]}), target="z")


# ---- LIBSVM text and weights ----------------------------------------------------------------------------------------


def test_any_other_name_is_libsvm_text(tmp_path):
    """With queries if there are any, and weights from a file of their own."""
    path = write(tmp_path, "1 qid:3 1:1 2:5\n-1 qid:4 3:1\n", "a9a")
    weights = write(tmp_path, "0.5\n\n2 # twice\n", "weights")
    data = read_data(path, weight=weights)
    assert data.X.toarray().tolist() == [[1, 5, 0], [0, 0, 1]]
    assert isinstance(data.X, sp.csr_array)
    assert data.query.tolist() == [3, 4]
    assert data.weight.tolist() == [0.5, 2]
    assert data.names is None
    assert read_data(path, zero_based=True, n_features=9).X.shape == (2, 9)
    assert read_data(path, dtype=np.float32).X.dtype == np.float32
    table = write(tmp_path, "a,b\n1,2\n3,4\n")
    assert read_data(table, weight=str(weights)).weight.tolist() == [0.5, 2]


def test_weights_that_are_refused(tmp_path):
    """Too few, more than one a line, no numbers, no file; and columns of a text that has none."""
    path = write(tmp_path, "1 1:1\n-1 3:1\n", "a9a")
    for text, sentence in {
        "1\n": "weight='.*w' has 1 weights for 2 samples",
        "1 1:5\n2\n": "weight='.*w' must have one number per line, and row 1 has more",
        "1 2\n2\n": "w, line 1, column 3: index:value was expected, got '2'",
        "1\nx\n": "w, line 2, column 1: a number was expected, got 'x'",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            read_data(path, weight=write(tmp_path, text, "w"))
    with pytest.raises(FileNotFoundError, match=r"weight='.*z' does not exist"):
        read_data(path, weight=tmp_path / "z")
    with pytest.raises(TypeError, match="weight must be the path of a file, got 3"):
        read_data(path, weight=3)
    with pytest.raises(ValueError, match="target is for tables, and 'a9a' is read as LIBSVM text; it got 'y'"):
        read_data(path, target="y")
    with pytest.raises(FileNotFoundError, match=r"path='.*b9b' does not exist"):
        read_data(tmp_path / "b9b")
    with pytest.raises(ValueError, match=r"path='.*' is a folder without .parquet files"):
        read_data(tmp_path)


# ---- ranges ---------------------------------------------------------------------------------------------------------


TRAIN = np.array([[1.0, 0.0, 5.0, 2.0, 0.0], [3.0, 1.0, 0.0, 2.0, 0.0], [2.0, 0.25, 0.0, 2.0, 0.0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, lambda X: X.astype(np.float32)])
def test_scaling(form):
    """To [-1, 1] by feature; constant features become 0."""
    ranges = find_ranges(form(TRAIN))
    assert ranges.features.tolist() == [0, 1, 2]
    scaled = scale_quietly(ranges, form(TRAIN))
    assert sp.issparse(scaled) == sp.issparse(form(TRAIN))
    dense = scaled.toarray() if sp.issparse(scaled) else scaled
    assert dense.tolist() == [[-1, -1, 1, 0, 0], [1, 1, -1, 0, 0], [0, -0.5, -1, 0, 0]]
    assert scaled.dtype == (np.float32 if form(TRAIN).dtype == np.float32 else np.float64)


def scale_quietly(ranges: Ranges, X):
    """X scaled, whatever there is to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ranges.scale(X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_other_data_than_the_ranges_are_of(form):
    """Values beyond go beyond; features without a range become 0; features that are not there were 0."""
    ranges = find_ranges(TRAIN, lower=0.0)
    new = np.array([[5.0, 0.5, 0.0, 1.0, 3.0, 7.0], [1.0, 0.0, 0.0, 9.0, 3.0, 0.0]])
    with pytest.warns(UserWarning, match="scaled to 0, 2 that are not constant: index 4, 6"):
        scaled = ranges.scale(form(new))
    scaled = scaled.toarray() if sp.issparse(scaled) else scaled
    assert scaled.tolist() == [[2, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    narrow = scale_quietly(find_ranges(TRAIN), form(new[:, :1]))
    narrow = narrow.toarray() if sp.issparse(narrow) else narrow
    assert narrow.tolist() == [[3, -1, -1], [-1, -1, -1]]


def test_zeros_that_become_something_else():
    """A sparse matrix that fills up is worth a warning; lower=0 keeps it sparse."""
    X = sp.random_array((50, 20), density=0.1, random_state=np.random.default_rng(1), format="csr")
    with pytest.warns(UserWarning, match=r"Scaling made 1,000 stored values of 100, because zeros became nonzero"):
        find_ranges(X).scale(X)
    scaled = find_ranges(X, lower=0.0).scale(X)
    assert scaled.nnz == X.nnz
    assert scaled.max() == 1.0


def test_strips_of_sparse_data(monkeypatch):
    """Cut into strips of rows the result is the same."""
    X = sp.random_array((50, 20), density=0.3, random_state=np.random.default_rng(1), format="csr")
    whole = scale_quietly(find_ranges(X), X)
    monkeypatch.setattr("maxmargin.files.ranges.ENTRIES_PER_STRIP", 60)
    parts = scale_quietly(find_ranges(X), X)
    assert (whole != parts).nnz == 0
    assert np.array_equal(scale_quietly(find_ranges(X), X.toarray()), whole.toarray())
    assert parts.has_sorted_indices


def test_huge_indices_take_no_memory():
    """Ranges of the features that are there, not of those between."""
    X = sp.csr_array((np.array([1.0, 3.0]), np.array([0, 2**61]), np.array([0, 1, 2])), shape=(2, 2**61 + 1))
    ranges = find_ranges(X, lower=0.0)
    assert ranges.features.tolist() == [0, 2**61]
    assert ranges.scale(X).data.tolist() == [1, 1]


def test_targets():
    """Scaled if it is asked for, ends exactly."""
    y = np.array([0.3, 0.1, 0.7])
    assert find_ranges(TRAIN, y).scale_target(y) is y
    scaled = find_ranges(TRAIN, y, target=(0, 10)).scale_target(y)
    assert scaled[1:].tolist() == [0, 10]
    assert scaled[0] == 10 * (0.3 - 0.1) / (0.7 - 0.1)
    with pytest.raises(ValueError, match=r"y must be given where target=\(0, 1\) says how to scale it"):
        find_ranges(TRAIN, target=(0, 1))


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-1e150, 1e150)),
    st.floats(-100, 99), st.floats(0.5, 100),
)  # fmt: skip
@settings(max_examples=100, **FUZZ)
def test_dense_and_sparse_agree(X, lower, width):
    """The same numbers, and within the goal but for rounding."""
    ranges = find_ranges(X, lower=lower, upper=lower + width)
    dense, sparse = scale_quietly(ranges, X), scale_quietly(ranges, sp.csr_array(X))
    assert np.array_equal(dense, sparse.toarray()[:, : X.shape[1]])
    seen = dense[:, ranges.features]
    assert ((seen >= lower - 1e-9 * width) & (seen <= lower + width + 1e-9 * width)).all()


def test_range_files(tmp_path):
    """Written in svm-scale's form, and read back to the last bit."""
    ranges = find_ranges(TRAIN / 3, [1, 2, 4], lower=-2.0, upper=0.1, target=(0.0, 1.0))
    write_ranges(tmp_path / "a.range", ranges)
    lines = (tmp_path / "a.range").read_text().splitlines()
    assert lines[:5] == ["y", "0 1", "1 4", "x", "-2 0.10000000000000001"]
    assert lines[5].startswith("1 0.33333333333333331 1")
    back = read_ranges(tmp_path / "a.range")
    assert back.target == ranges.target == TargetRange(1, 4, 0, 1)
    assert (back.lower, back.upper) == (-2, 0.1)
    for name in ("features", "low", "high"):
        assert np.array_equal(getattr(back, name), getattr(ranges, name))
    write_ranges(tmp_path / "b.range.gz", find_ranges(TRAIN))
    assert read_ranges(tmp_path / "b.range.gz").target is None
    (tmp_path / "c.range").write_text("x\r\n-1 1\r\n\r\n2 0 1\r\n")
    assert read_ranges(tmp_path / "c.range").features.tolist() == [1]


RANGE_FAULTS = {
    "": "line 1: a line x, or y before it, was expected, got ''",
    "1 2\n": "line 1: a line x, or y before it, was expected, got '1 2'",
    "y\n0 1\n1 2\n": "line 4: a line x, or y before it, was expected, got ''",
    "y\n0 1\nx\n": "line 3: 2 finite numbers were expected, got 'x'",
    "x\n-1\n": "line 2: 2 finite numbers were expected, got '-1'",
    "x\n-1 1\n1 0 nan\n": "line 3: 2 finite numbers were expected, got '1 0 nan'",
    "x\n-1 1\n1 0 1_0\n": "line 3: 2 finite numbers were expected, got '1 0 1_0'",
    "x\n-1 1\n2 0 1\n1 0 1\n": "line 4: increasing indices of at least 1 were expected, got '1 0 1'",
    "x\n-1 1\n0 0 1\n": "line 3: increasing indices of at least 1 were expected, got '0 0 1'",
    "x\n-1 1\n99999999999999999999999999 0 1\n": "line 3: increasing indices of at least 1 were expected, got "
    "'99999999999999999999...'",
}


@pytest.mark.parametrize("text", RANGE_FAULTS)
def test_range_files_that_are_refused(text, tmp_path):
    """One sentence with the line."""
    path = write(tmp_path, text, "a.range")
    with pytest.raises(ValueError) as error:
        read_ranges(path)
    assert str(error.value) == f"{path}, {RANGE_FAULTS[text]}."


def test_ranges_that_are_refused(tmp_path):
    """Goals the wrong way round, data without rows or without end."""
    with pytest.raises(ValueError, match="lower must be less than upper, got lower=1 and upper=1"):
        find_ranges(TRAIN, lower=1.0)
    with pytest.raises(ValueError, match="y_lower must be less than y_upper, got y_lower=3 and y_upper=2"):
        find_ranges(TRAIN, [1, 2, 3], target=(3, 2))
    with pytest.raises(ValueError, match="X must have at least one row"):
        find_ranges(TRAIN[:0])
    with pytest.raises(ValueError, match="X must have two dimensions, got 1"):
        find_ranges(TRAIN[0])
    with pytest.raises(ValueError, match="The ranges of features must be finite, and short enough for float64"):
        find_ranges([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="The ranges of features must be finite, and short enough for float64"):
        find_ranges([[-1.7e308], [1.7e308]])
    with pytest.raises(ValueError, match=r"a.range: lower must be less than upper, got lower=2 and upper=1"):
        read_ranges(write(tmp_path, "x\n2 1\n", "a.range"))


@pytest.mark.slow
@pytest.mark.parametrize("density", [0.2, 0.9])
@pytest.mark.parametrize("options", [[], ["-l", "0"], ["-l", "-2.5", "-u", "7", "-y", "0", "5"]], ids=["", "l", "luy"])
def test_beside_svm_scale(options, density, tmp_path):
    """The same ranges, the same numbers to the digits it prints, and a warning where it warns."""
    program = shutil.which("svm-scale")
    if program is None:
        pytest.skip("svm-scale is not installed; it comes with libsvm-tools")
    X = sp.random_array((60, 25), density=density, random_state=np.random.default_rng(3), format="csr")
    X.data = RNG.normal(size=X.nnz)
    y = RNG.normal(size=60)
    new = sp.random_array((40, 27), density=density, random_state=np.random.default_rng(4), format="csr")
    write_libsvm(tmp_path / "train", X, y)
    write_libsvm(tmp_path / "new", new, y[:40])
    train, restored = (
        subprocess.run([program, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path)
        for arguments in ([*options, "-s", "ranges", "train"], ["-r", "ranges", "new"])
    )
    values = dict(zip(options[::2], options[1::2], strict=False))
    goals = {"lower": float(values.get("-l", -1)), "upper": float(values.get("-u", 1))}
    ranges = find_ranges(X, y, **goals, target=(0, 5) if "-y" in options else None)
    write_ranges(tmp_path / "ours", ranges)
    assert (tmp_path / "ours").read_text() == (tmp_path / "ranges").read_text()
    for data, labels, theirs in ((X, y, train), (new, y[:40], restored)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = ranges.scale(data)
        (tmp_path / "theirs").write_text(theirs.stdout)
        expected = read_libsvm(tmp_path / "theirs", n_features=ours.shape[1], zero_based=False)
        assert np.array_equal(ours.indices, expected.X.indices)
        assert np.allclose(ours.data, expected.X.data, rtol=1e-5, atol=0)
        assert np.allclose(ranges.scale_target(labels), expected.y, rtol=1e-5, atol=0)
        messages = " ".join(str(each.message) for each in caught)
        assert ("stored values" in messages) == (ours.nnz > 1.5 * data.nnz)
        assert ("original #nonzeros" in theirs.stderr) == (ours.nnz > data.nnz)  # a single one is enough for it
        assert ("without a range" in messages) == ("was not seen" in theirs.stderr)
