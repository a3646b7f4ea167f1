"""Files as blocks: every block is what a reader of whole files would have read, and broken files are named."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from block_tasks import add_products
from sklearn.datasets import load_svmlight_file

from maxmargin import open_blocks
from maxmargin.blocks import ArrayBlocks, LibsvmBlocks, NpyBlocks, ParquetBlocks

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(300, 7)) * (RNG.random((300, 7)) < 0.6)
LABELS = np.where(RNG.random(300) < 0.5, 1.0, -1.0)
PACKERS = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def join(blocks):
    """All blocks as one matrix and one vector."""
    loaded = list(blocks.stream())
    X = [block.X for block in loaded]
    return sp.vstack(X).tocsr() if sp.issparse(X[0]) else np.concatenate(X), np.concatenate([b.y for b in loaded])


@pytest.fixture(params=PACKERS)
def text_file(request, tmp_path):
    """A LIBSVM file, plain and compressed in three ways."""
    lines = ["# two lines", "# of comment"]
    for x, label in zip(DENSE.tolist(), LABELS.tolist(), strict=True):
        lines.append(" ".join([f"{label:g}", *(f"{j + 1}:{value!r}" for j, value in enumerate(x) if value)]))
    path = tmp_path / f"rows.svm{request.param}"
    with PACKERS[request.param](path, "wb") as file:
        file.write("\n".join([*lines, ""]).encode())
    return path


@pytest.mark.parametrize("block_bytes", [1, 100, 5000, 1 << 26])
def test_text_is_cut_at_ends_of_lines(text_file, block_bytes):
    """Blocks of one line, of some, of many, and one block of all."""
    blocks = LibsvmBlocks(text_file, block_bytes=block_bytes)
    assert (blocks.n, blocks.d, blocks.first_index) == (300, 7, 1)
    assert blocks.n_blocks == 1 if block_bytes == 1 << 26 else blocks.n_blocks > 1
    X, y = join(blocks)
    assert np.array_equal(X.toarray(), DENSE)
    assert np.array_equal(y, LABELS)


def test_blocks_of_text_come_in_any_order(text_file):
    """Backwards, and after a journey: a compressed file is unpacked from its beginning again."""
    blocks = pickle.loads(pickle.dumps(LibsvmBlocks(text_file, block_bytes=3000)))
    forth = [blocks.load(k).X.toarray() for k in range(blocks.n_blocks)]
    back = [blocks.load(k).X.toarray() for k in reversed(range(blocks.n_blocks))]
    assert all(np.array_equal(a, b) for a, b in zip(forth, reversed(back), strict=True))
    assert np.array_equal(np.concatenate(forth), DENSE)


def test_the_same_as_the_reader_of_scikit_learn(tmp_path):
    """Numbers of all lengths, exponents and signs, to the last bit."""
    words = [repr(x) for x in (RNG.normal(size=2000) * 10.0 ** RNG.integers(-30, 30, 2000)).tolist()]
    words += [f"{x:.{k % 25}g}" for k, x in enumerate(RNG.normal(size=2000))]
    words += ["1", "-0", "+.5", "3.", "1e5", "1E-5", "9007199254740993", "12345678901234567890123"]
    words += ["0.1e-300", "2.2250738585072011e-308", "5e-324", "17976931348623157e292"]
    path = tmp_path / "numbers.txt"
    path.write_text("".join(f"{word} 1:{word} 3:{words[k - 1]}\n" for k, word in enumerate(words)))
    X, y = join(LibsvmBlocks(path, block_bytes=10_000))
    assert np.array_equal(y, [float(word) for word in words])
    expected, _ = load_svmlight_file(str(path), zero_based=False)
    assert np.array_equal(X.toarray(), expected.toarray())


def test_what_lines_may_look_like(tmp_path):
    """Spaces, tabs, returns, comments, empty lines, no last end of line, rows without values."""
    path = tmp_path / "odd.svm"
    path.write_bytes(b"# first\r\n\r\n  1   2:0.5\t4:1 # 9:9\r\n-1\n\n \t\n2 1:3#x\n+3 5:1")
    blocks = LibsvmBlocks(path)
    X, y = join(blocks)
    assert list(y) == [1, -1, 2, 3]
    expected = [[0, 0.5, 0, 1, 0], [0] * 5, [3, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert X.toarray().tolist() == expected
    assert blocks.load(0).X.has_sorted_indices


def test_indices_may_begin_at_nought(tmp_path):
    """A zero anywhere says so, though it be in the last file."""
    first, second = tmp_path / "a.svm", tmp_path / "b.svm"
    first.write_text("1 1:1 2:2\n")
    second.write_text("-1 0:5\n")
    blocks = LibsvmBlocks([first, second])
    assert (blocks.n, blocks.d, blocks.n_blocks) == (2, 3, 2)
    assert join(blocks)[0].toarray().tolist() == [[0, 1, 2], [5, 0, 0]]
    assert LibsvmBlocks(first).d == 2
    assert LibsvmBlocks(first, zero_based=True).d == 3
    assert LibsvmBlocks(first, n_features=10).load(0).X.shape == (1, 10)
    assert LibsvmBlocks(first, dtype=np.float32).load(0).X.dtype == np.float32


def test_what_is_known_need_not_be_scanned(tmp_path):
    """With both given nothing is read before a block is asked for, and what does not fit is named then."""
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n1 9:1\n")
    blocks = LibsvmBlocks(path, n_features=3, zero_based=False)
    assert blocks.n is None
    with pytest.raises(ValueError, match=r"a.svm, line 2, column 3: an index must be at most 3, got '9:1'"):
        blocks.load(0)


BROKEN = {
    "1 1:1\n1 2\n": "line 2, column 3: index:value was expected, got '2'",
    "1 1:1\n\n1 a:2\n": "line 3, column 3: index:value was expected, got 'a:2'",
    "1 -1:2\n": "line 1, column 3: index:value was expected, got '-1:2'",
    "1 1 :2\n": "line 1, column 3: index:value was expected, got '1'",
    "1 1:x\n": "line 1, column 5: a number was expected, got 'x'",
    "1 2:1 1:1\n": "line 1, column 7: the indices of a line must rise, got '1:1'",
    "1 qid:3 2:1\n": "line 1, column 3: qid: is not supported here",
    "1 99999999999:1\n": "line 1, column 3: an index must be at most 2147483646",
}


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("packer", ["", ".gz"])
def test_broken_lines_are_named(text, packer, tmp_path):
    """One sentence with the file, the line and the word; lines before the block are counted."""
    path = tmp_path / f"broken.svm{packer}"
    with PACKERS[packer](path, "wb") as file:
        file.write(b"1 1:1\n" * 50 + text.encode())
    line, sentence = BROKEN[text].removeprefix("line ").split(",", 1)
    with pytest.raises(ValueError) as error:
        LibsvmBlocks(path, block_bytes=20)
    assert f"broken.svm{packer}, line {50 + int(line)},{sentence}" in str(error.value)


def test_an_empty_file_is_an_empty_block(tmp_path):
    """No rows, no features, one block."""
    path = tmp_path / "empty.svm"
    path.write_text("")
    blocks = LibsvmBlocks(path)
    assert (blocks.n, blocks.d, blocks.n_blocks) == (0, 0, 1)
    assert blocks.load(0).X.shape == (0, 0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"block_bytes": 0}, "block_bytes must be a positive integer, got 0"),
        ({"zero_based": "yes"}, "zero_based must be True, False or 'auto', got 'yes'"),
        ({"dtype": int}, "dtype must be float32 or float64"),
        ({"n_features": 0}, "n_features must be a positive integer, got 0"),
    ],
)
def test_options_of_text(options, sentence, tmp_path):
    """Values that make no sense are refused with their names."""
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n")
    with pytest.raises(ValueError, match=sentence):
        LibsvmBlocks(path, **options)


# ---- Parquet --------------------------------------------------------------------------------------------------------


@pytest.fixture
def parquet_folder(tmp_path):
    """Two files of several row groups, with labels, weights and features of several types."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"x{j}": DENSE[:, j] for j in range(5)}
    columns |= {"small": (np.arange(300) % 5).astype(np.int8), "flag": DENSE[:, 6] > 0}
    columns |= {"label": np.where(LABELS > 0, "yes", "no"), "target": LABELS, "weight": np.arange(300)}
    table = pyarrow.table(columns)
    parquet.write_table(table[:200], tmp_path / "a.parquet", row_group_size=40)
    parquet.write_table(table[200:], tmp_path / "b.parquet", row_group_size=30)
    return tmp_path


NAMES = [*(f"x{j}" for j in range(5)), "small", "flag"]


@pytest.mark.parametrize("limit", [None, 3000])
def test_parquet_by_row_groups(parquet_folder, limit, monkeypatch):
    """A folder, in the order of names; small row groups go together up to a limit."""
    if limit is not None:
        monkeypatch.setattr("maxmargin.blocks.parquet_files.BLOCK_BYTES", limit)
    blocks = ParquetBlocks(parquet_folder, target="target", weight="weight", features=NAMES)
    assert blocks.feature_names == NAMES
    assert (blocks.n, blocks.d, blocks.n_blocks) == (300, 7, 2 if limit is None else 8)
    blocks = pickle.loads(pickle.dumps(blocks))
    X, y = join(blocks)
    weights = np.concatenate([block.weight for block in blocks.stream()])
    expected = np.column_stack([DENSE[:, :5], np.arange(300) % 5, DENSE[:, 6] > 0])
    assert np.array_equal(X, expected)
    assert np.array_equal(y, LABELS)
    assert blocks.load(0).X.flags.c_contiguous
    assert np.array_equal(weights, np.arange(300.0))


def test_parquet_labels_and_all_other_columns(parquet_folder):
    """Labels are strings; without a list, features are what is left."""
    blocks = ParquetBlocks([parquet_folder / "a.parquet"], target="target", features=["x0"])
    assert blocks.load(0).X.shape == (200, 1)
    labels = ParquetBlocks(parquet_folder / "b.parquet", target="label", features=["x1", "small"]).load(0).y
    assert list(labels) == list(np.where(LABELS > 0, "yes", "no")[200:])
    with pytest.raises(ValueError, match="features must be columns of numbers, but 'label' is of type"):
        ParquetBlocks(parquet_folder, target="target")


def test_parquet_of_pandas(tmp_path):
    """The index is no feature, missing values are NaN, float32 stays."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.float32([1, np.nan, 3]), "b": np.float32([1, 2, 3])}, index=[5, 6, 9])
    frame.to_parquet(tmp_path / "a.parquet")
    block = ParquetBlocks(tmp_path / "a.parquet").load(0)
    assert block.X.dtype == np.float32
    assert np.array_equal(block.X, frame.to_numpy(), equal_nan=True)
    assert block.y is None
    pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}).to_parquet(tmp_path / "b.parquet")
    assert np.isnan(ParquetBlocks(tmp_path / "b.parquet").load(0).X[1, 0])


def test_parquet_refusals(parquet_folder):
    """Names of columns, other schemas, files that are no Parquet, folders without any."""
    import pyarrow
    from pyarrow import parquet

    with pytest.raises(ValueError, match="has no column 'z'; it has x0, x1"):
        ParquetBlocks(parquet_folder, target="z")
    with pytest.raises(ValueError, match="features must name at least one column"):
        ParquetBlocks(parquet_folder, target="target", features=[])
    (parquet_folder / "empty").mkdir()
    with pytest.raises(ValueError, match=r"is a folder without .parquet files"):
        ParquetBlocks(parquet_folder / "empty")
    parquet.write_table(pyarrow.table({"x0": [1]}), parquet_folder / "c.parquet")
    with pytest.raises(ValueError, match=r"c.parquet differs from .*a.parquet in its columns or their types"):
        ParquetBlocks(parquet_folder, target="target", features=["x0"])
    (parquet_folder / "c.parquet").write_text("nonsense")
    with pytest.raises(ValueError, match=r"c.parquet cannot be read as a Parquet file"):
        ParquetBlocks(parquet_folder, target="target", features=["x0"])


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    """One sentence says what to install."""
    (tmp_path / "a.parquet").write_text("")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[tables\]'"):
        ParquetBlocks(tmp_path / "a.parquet")


# ---- arrays, and all of them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_arrays_of_files(dtype, tmp_path):
    """Mapped, cut into rows, converted to floats, and without their data in a pickle."""
    values = np.round(3 * DENSE).astype(dtype)
    np.save(tmp_path / "X.npy", values)
    np.save(tmp_path / "y.npy", LABELS)
    blocks = NpyBlocks(tmp_path / "X.npy", tmp_path / "y.npy", rows=70)
    packed = pickle.dumps(blocks)
    assert len(packed) < 2000
    X, y = join(pickle.loads(packed))
    assert blocks.n_blocks == 5
    assert np.array_equal(X, values)
    assert X.dtype.kind == "f"
    assert np.array_equal(y, LABELS)
    assert np.array_equal(NpyBlocks(tmp_path / "X.npy", LABELS, LABELS, rows=70).load(1).weight, LABELS[70:140])


def test_arrays_that_are_refused(tmp_path):
    """Shapes and types, with the name of the parameter."""
    np.save(tmp_path / "y.npy", LABELS)
    np.save(tmp_path / "X.npy", DENSE)
    np.save(tmp_path / "Z.npy", DENSE * 1j)
    with pytest.raises(ValueError, match=r"path must be an .npy file of two dimensions"):
        NpyBlocks(tmp_path / "y.npy")
    with pytest.raises(ValueError, match=r"path must hold real numbers, got .* of complex128"):
        NpyBlocks(tmp_path / "Z.npy")
    with pytest.raises(ValueError, match=r"y must have one value for each of the 300 rows, got shape \(5,\)"):
        NpyBlocks(tmp_path / "X.npy", np.ones(5))
    (tmp_path / "bad.npy").write_text("nonsense, and a lot of it")
    with pytest.raises(ValueError, match=r"y='.*bad.npy' cannot be mapped as an .npy file"):
        NpyBlocks(tmp_path / "X.npy", tmp_path / "bad.npy")


def test_files_are_told_by_their_suffix(parquet_folder, text_file, tmp_path):
    """open_blocks finds the reader, and all of them give the same sums as arrays in memory."""
    np.save(tmp_path / "X.npy", DENSE)
    np.save(tmp_path / "y.npy", LABELS)
    expected = ArrayBlocks(DENSE, LABELS).run(add_products)
    assert np.array_equal(open_blocks(tmp_path / "X.npy", tmp_path / "y.npy").run(add_products), expected)
    assert np.array_equal(open_blocks(str(text_file)).run(add_products), expected)
    assert isinstance(open_blocks(parquet_folder, target="target", features=NAMES), ParquetBlocks)
    assert isinstance(open_blocks([parquet_folder / "a.parquet"], target="target", features=NAMES), ParquetBlocks)


def test_paths_that_are_refused(tmp_path):
    """Unknown suffixes, files that are not there, things that are no paths, targets twice."""
    (tmp_path / "a.xlsx").write_text("")
    (tmp_path / "a.svm").write_text("1 1:1\n")
    with pytest.raises(ValueError, match=r"path must end in .npy, .parquet, .svm, .*got a.xlsx"):
        open_blocks(tmp_path / "a.xlsx")
    with pytest.raises(ValueError, match="one kind at a time"):
        open_blocks([tmp_path / "a.svm", tmp_path / "a.xlsx"])
    with pytest.raises(FileNotFoundError, match=r"path='.*b.svm' does not exist"):
        open_blocks(tmp_path / "b.svm")
    with pytest.raises(TypeError, match="path must be a path or a list of paths, got 3"):
        open_blocks(3)
    with pytest.raises(TypeError, match=r"path must be a path or a list of paths, got \[\]"):
        open_blocks([])
    with pytest.raises(ValueError, match=r"y is for .npy files; 'a.svm' holds its own targets"):
        open_blocks(tmp_path / "a.svm", LABELS)
