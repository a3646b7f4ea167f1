"""A sparse matrix with parts that contradict each other gets one sentence, at every door."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from every_estimator import every_estimator
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler

from maxmargin import (
    SVC,
    BlockwiseTransformer,
    ChainModel,
    LinearSVC,
    MulticlassModel,
    RankSVM,
    StructuredSVM,
    certify,
    diagnose,
    export_onnx,
    path,
    risk_bounds,
    save,
    write_libsvm,
)
from maxmargin.blocks import ArrayBlocks, Block, Blocks
from maxmargin.certificates.data_hash import hash_data
from maxmargin.files import Data, find_ranges, write_csv, write_parquet
from maxmargin.model.sparse_format import check_sparse

N, D = 24, 4
X = np.where(np.random.default_rng(0).random((N, D)) < 0.6, np.random.default_rng(1).normal(size=(N, D)), 0.0)
y = np.arange(N) % 2
COMPRESSED = ("csr", "csc", "bsr")


def make(kind: str, suffix: str = "array"):
    """The samples in a format of scipy's."""
    constructor = getattr(sp, f"{kind}_{suffix}")
    return constructor(X, blocksize=(2, 2)) if kind == "bsr" else constructor(X)


def break_index(matrix):
    """A matrix one of whose indices is beyond its last column: it kills the process, or is taken for a number."""
    matrix.indices[3] = 1 << 28
    return matrix


def shift_pointer(matrix, place: int, value: int):
    """One entry of indptr is another."""
    matrix.indptr[place] = value
    return matrix


def put(matrix, name: str, value):
    """One of the parts is another."""
    setattr(matrix, name, value(getattr(matrix, name)))
    return matrix


FAULTS = {
    "index too large": (break_index, r"indices\[3\] is 268435456, and must be from 0 to \d+"),
    "index below zero": (
        lambda m: put(m, "indices", lambda part: np.where(np.arange(len(part)) == 3, -1, part).astype(part.dtype)),
        r"indices\[3\] is -1, and must be from 0",
    ),
    "index of another type": (
        lambda m: put(m, "indices", lambda part: part.astype(float)),
        r"indices must be one row of signed integers, got .* float64",
    ),
    "unsigned index": (lambda m: put(m, "indices", lambda part: part.astype(np.uint64)), "indices must be .* uint64"),
    "index as a list": (lambda m: put(m, "indices", np.ndarray.tolist), r"indices must be one row .*list"),
    "fewer indices than values": (
        lambda m: put(m, "indices", lambda part: part[:5]),
        r"indices has 5 entries and data has \d+",
    ),
    "fewer values than indices": (
        lambda m: put(m, "data", lambda part: part[:5]),
        r"indices has \d+ entries and data has 5",
    ),
    "values of many dimensions": (
        lambda m: put(m, "data", lambda part: part[..., None]),
        "data has [24] dimensions",
    ),
    "pointer too short": (lambda m: put(m, "indptr", lambda part: part[:-1]), r"indptr has \d+ entries where \d+ are"),
    "pointer too long": (
        lambda m: put(m, "indptr", lambda part: np.append(part, part[-1:])),
        r"indptr has \d+ entries where \d+ are expected",
    ),
    "pointer of another type": (
        lambda m: put(m, "indptr", lambda part: part.astype(float)),
        "indptr must be one row of signed integers",
    ),
    "pointer that starts late": (lambda m: shift_pointer(m, 0, 1), "indptr begins with 1 and not with 0"),
    "pointer beyond the end": (lambda m: shift_pointer(m, -1, 1 << 28), "indptr ends with 268435456, beyond the"),
    "pointer that leaps": (
        lambda m: shift_pointer(m, 2, 1 << 28),
        r"indptr must not fall, and indptr\[3\] is \d+ after",
    ),
    "pointer that falls": (lambda m: shift_pointer(m, 1, -7), r"indptr must not fall, and indptr\[1\] is -7 after 0"),
    "pointer that ends at zero": (lambda m: shift_pointer(m, -1, 0), r"indptr must not fall"),
    "pointer whose steps overflow": (
        lambda m: shift_pointer(shift_pointer(m, 1, np.iinfo(m.indptr.dtype).max), 2, -9),
        r"indptr must not fall",
    ),
}


@pytest.mark.parametrize("suffix", ["array", "matrix"])
@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize(("fault", "words"), FAULTS.values(), ids=FAULTS)
def test_compressed_formats(kind, suffix, fault, words):
    """The sentence names the matrix, its class, the part and the value."""
    with pytest.raises(ValueError, match=rf"^X is a broken {kind}_{suffix}: {words}.*\.$"):
        check_sparse(fault(make(kind, suffix)))


def edit_lists(matrix, row: list, values: list):
    """The first row of a LIL matrix is another."""
    matrix.rows[0], matrix.data[0] = row, values
    return matrix


def add_key(matrix, key: tuple):
    """A DOK matrix with one more entry."""
    matrix._dict[key] = 1.0
    return matrix


OTHERS = {
    "row too large": (lambda: put(make("coo"), "row", lambda part: part + (1 << 28)), r"row\[0\] is 268435456"),
    "column below zero": (lambda: put(make("coo"), "col", lambda part: part - D), r"col\[0\] is -"),
    "fewer rows": (lambda: put(make("coo"), "data", lambda part: part[:5]), r"row has \d+ entries and data has"),
    "few offsets": (lambda: put(make("dia"), "offsets", lambda part: part[:2]), "there are 2 offsets"),
    "flat diagonals": (lambda: put(make("dia"), "data", lambda part: part[0]), "data has the shape"),
    "few lists": (
        lambda: put(make("lil"), "data", lambda part: part[:5]),
        "rows and data have 24 and 5 lists where 24",
    ),
    "columns without values": (
        lambda: edit_lists(make("lil"), [0, 1], [1.0]),
        r"rows\[0\] has 2 entries and data\[0\]",
    ),
    "a list too wide": (lambda: edit_lists(make("lil"), [D], [1.0]), r"rows\[0\]\[0\] is 4, and must be from 0 to 3"),
    "a list of words": (lambda: edit_lists(make("lil"), ["a"], [1.0]), r"rows\[0\] must be one row of signed integers"),
    "a strange key": (lambda: add_key(make("dok"), (0, D)), r"the key \(0, 4\) is outside of it"),
}


@pytest.mark.parametrize(("matrix", "words"), OTHERS.values(), ids=OTHERS)
def test_other_formats(matrix, words):
    """They would be converted to CSR, which reads and writes beyond their ends."""
    with pytest.raises(ValueError, match=rf"X is a broken (coo|dia|lil|dok)_array: .*{words}"):
        check_sparse(matrix())
    with pytest.raises(ValueError, match=words):
        SVC().fit(matrix(), y)


@pytest.mark.parametrize("suffix", ["array", "matrix"])
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_sound_matrices_pass_untouched(kind, suffix):
    """Every format, empty ones, and spare room behind the last entry."""
    matrix = make(kind, suffix)
    before = matrix.copy()
    check_sparse(matrix)
    check_sparse(type(matrix)((3, 2)))
    assert (matrix != before).nnz == 0
    if kind in COMPRESSED:
        matrix.indices, matrix.data = (np.concatenate([part, part]) for part in (matrix.indices, matrix.data))
        spare = len(matrix.data)
        check_sparse(matrix)
        assert len(matrix.data) == spare


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2)], ids=["one", "three"])
def test_dimensions(shape):
    """Sparse arrays of scipy's may have one dimension, or from 1.15 on three."""
    if len(shape) == 3 and np.lib.NumpyVersion(scipy.__version__) < "1.15.0":
        pytest.skip("sparse arrays of three dimensions came with SciPy 1.15")
    with pytest.raises(ValueError, match=r"Expected 2D array, but X is a coo_array of shape \("):
        SVC().fit(sp.coo_array(np.ones(shape)), [0, 1])


@every_estimator
@pytest.mark.parametrize("fault", ["index too large", "pointer that leaps", "fewer values than indices"])
def test_estimators(model, fault):
    """Fit, and whatever takes new samples."""
    spoil, words = FAULTS[fault]
    queries = (np.arange(N) // 6,) if isinstance(model, RankSVM) else ()
    with pytest.raises(ValueError, match=words):
        clone(model).fit(spoil(make("csr", "matrix")), y, *queries)
    model = clone(model).set_params(tol=0.1).fit(make("csr", "matrix"), y, *queries)
    for method in ("predict", "decision_function", "score_samples", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=words):
                getattr(model, method)(spoil(make("csr")))


def chains(matrix) -> list:
    """Two sequences, the second of them broken where the matrix is."""
    return [make("csr"), matrix]


@pytest.mark.parametrize(
    ("structure", "wrap", "labels", "name"),
    [(ChainModel(), chains, [y, y], r"X\[1\]"), (MulticlassModel(), lambda matrix: matrix, y, "X")],
    ids=["chains", "classes"],
)
def test_structures(structure, wrap, labels, name):
    """A sequence of a list is named; a row without weight is not looked up first."""
    words = rf"{name} is a broken csr_array: indices\[3\] is 268435456"
    for weight in (None,) if structure.edges else (None, np.arange(len(labels))):
        with pytest.raises(ValueError, match=words):
            StructuredSVM(structure).fit(wrap(break_index(make("csr"))), labels, weight)
    model = StructuredSVM(structure, tol=0.1).fit(wrap(make("csr")), labels)
    with pytest.raises(ValueError, match=words):
        model.predict(wrap(break_index(make("csr"))))


class OwnBlocks(Blocks):
    """A source of the user's."""

    n_blocks = 2

    def __init__(self, matrix):
        super().__init__()
        self.matrix = matrix

    def load(self, number: int) -> Block:
        """The same rows again and again."""
        return Block(self.matrix, y, None, number)


def test_blocks():
    """Arrays in blocks, sources of one's own, and maps in front of them."""
    words = r"broken csr_array: indices\[3\] is 268435456"
    with pytest.raises(ValueError, match=words):
        ArrayBlocks(break_index(make("csr")), y)
    with pytest.raises(ValueError, match=rf"{words}.* \(block 0\)"):
        LinearSVC().fit(OwnBlocks(break_index(make("csr"))))
    model = LinearSVC().fit(OwnBlocks(make("csr")))
    with pytest.raises(ValueError, match=words):
        model.predict(OwnBlocks(break_index(make("csr"))))
    mapping = BlockwiseTransformer(MaxAbsScaler())
    for source in (break_index(make("csr")), OwnBlocks(break_index(make("csr")))):
        with pytest.raises(ValueError, match=words):
            mapping.fit(source)
    with pytest.raises(ValueError, match=words):
        mapping.fit(make("csr")).transform(break_index(make("csr")))


def test_partitions_of_dask():
    """Blocks of a Dask array may be sparse."""
    array = pytest.importorskip("dask.array")
    delayed = pytest.importorskip("dask").delayed
    broken = array.from_delayed(delayed(break_index)(make("csr")), shape=(N, D), dtype=float)
    with pytest.raises(ValueError, match=r"X is a broken csr_array: indices\[3\] is 268435456"):
        LinearSVC().fit(broken, array.from_array(y, chunks=N))


DOORS = {
    "certify": lambda bad, kernel, linear: certify(kernel, bad, y),
    "certify a linear machine": lambda bad, kernel, linear: certify(linear, bad, y),
    "risk_bounds": lambda bad, kernel, linear: risk_bounds(kernel, bad, y),
    "diagnose": lambda bad, kernel, linear: diagnose(SVC(), bad, y),
    "path": lambda bad, kernel, linear: path(bad, y, Cs=[1.0]),
    "a kernel of the user's": lambda bad, kernel, linear: SVC(kernel=lambda A, B: (A @ B.T).toarray()).fit(bad, y),
    "write_libsvm": lambda bad, kernel, linear: write_libsvm(io.BytesIO(), bad, y),
    "write_csv": lambda bad, kernel, linear: write_csv(io.BytesIO(), Data(bad, y, None, None, None)),
    "find_ranges": lambda bad, kernel, linear: find_ranges(bad),
    "scale": lambda bad, kernel, linear: find_ranges(make("csr")).scale(bad),
    "hash": lambda bad, kernel, linear: hash_data(bad, y),
}


@pytest.fixture(scope="module")
def models():
    """A kernel machine and a linear one."""
    return SVC(tol=0.1).fit(make("csr"), y), LinearSVC(tol=0.1).fit(make("csr"), y)


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_doors(door, kind, models):
    """Every function that takes samples."""
    with pytest.raises(ValueError, match=rf"X is a broken {kind}_array: indices\[3\] is 268435456"):
        door(break_index(make(kind)), *models)


def test_files_are_not_begun(models, tmp_path):
    """Nothing is left where a model or a table was to be written."""
    broken, target = break_index(make("csr")), tmp_path / "target"
    doors = [lambda: save(models[0], target, X=broken, y=y)]
    doors += [lambda: write_csv(target, Data(broken, y, None, None, None))]
    for module, door in (
        ("pyarrow", lambda: write_parquet(target, Data(broken, y, None, None, None))),
        ("onnx", lambda: export_onnx(models[0], target, broken)),
    ):
        pytest.importorskip(module)
        doors.append(door)
    for door in doors:
        with pytest.raises(ValueError, match=r"X is a broken csr_array: indices\[3\] is 268435456"):
            door()
        assert list(tmp_path.iterdir()) == []


def test_precomputed_kernels_are_not_sparse():
    """Broken or not."""
    square = sp.csr_array(np.eye(N))
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        SVC(kernel="precomputed").fit(square, y)
    with pytest.raises(ValueError, match="X is a broken csr_array"):
        SVC(kernel="precomputed").fit(shift_pointer(square, -1, 1 << 28), y)
