"""Kernels: every formula against scikit-learn's, on every layout of data, near the origin and far from it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.metrics import pairwise

import maxmargin.model.features.gram
import maxmargin.model.tiles
from maxmargin import SVC
from maxmargin.compiled.kernel_rows import add_stored_rows, rbf_from_dots
from maxmargin.compiled.single_rows import evaluate_row
from maxmargin.contracts.kernels import FLOAT32_MAX_ERROR
from maxmargin.model.features import Design, Gram, SignedGram, take_submatrix
from maxmargin.model.kernels import (
    KERNELS,
    RBF,
    Custom,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    make_kernel,
    resolve_gamma,
)
from maxmargin.model.samples import Dense, Sparse, wrap
from maxmargin.model.tiles import evaluate_rows, evaluate_scores

LAYOUTS = ("float64", "float32", "fortran", "csr32", "csr64", "csr-float32", "csr-matrix")
KNOBS = {"gamma": 0.3, "degree": 3, "coef0": 0.7}
REFERENCES = {
    "linear": lambda X, Z, gamma, degree, coef0: pairwise.linear_kernel(X, Z),
    "poly": lambda X, Z, gamma, degree, coef0: pairwise.polynomial_kernel(X, Z, degree, gamma, coef0),
    "rbf": lambda X, Z, gamma, degree, coef0: pairwise.rbf_kernel(X, Z, gamma),
    "sigmoid": lambda X, Z, gamma, degree, coef0: pairwise.sigmoid_kernel(X, Z, gamma, coef0),
    "laplacian": lambda X, Z, gamma, degree, coef0: pairwise.laplacian_kernel(X, Z, gamma),
}
FORMULAS = [name for name in KERNELS if name != "precomputed"]
every_formula = pytest.mark.parametrize("name", FORMULAS)


def make_data(n: int, seed: int = 0) -> np.ndarray:
    """Rows with many zeros, one of them empty, whose entries are numbers of float32."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7)) * (rng.uniform(size=(n, 7)) < 0.6)
    X[n // 2] = 0.0
    return X.astype(np.float32).astype(np.float64)


def lay_out(X: np.ndarray, layout: str):
    """X in one of the layouts users bring."""
    if layout == "csr-matrix":
        return sp.csr_matrix(X)
    if layout.startswith("csr"):
        X = sp.csr_array(X.astype(np.float32) if layout == "csr-float32" else X)
        index = np.int64 if layout == "csr64" else np.int32
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        return X
    if layout == "fortran":
        return np.asfortranarray(X)
    return X.astype(layout)


@every_formula
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_equal_scikit_learn(name, layout):
    """k(x, z) between two sets of samples, float64 whatever the layout."""
    X, Z = make_data(23), make_data(11, seed=1)
    K = make_kernel(name, **KNOBS)(lay_out(X, layout), lay_out(Z, layout))
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, REFERENCES[name](X, Z, **KNOBS), rtol=1e-11, atol=1e-13)


@every_formula
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_the_other_way_round(name, layout):
    """Fewer rows than columns, and a matrix against itself."""
    X, Z = make_data(5), make_data(40, seed=1)
    kernel = make_kernel(name, **KNOBS)
    K = kernel(lay_out(X, layout), lay_out(Z, layout))
    np.testing.assert_allclose(K, REFERENCES[name](X, Z, **KNOBS), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(kernel(lay_out(Z, layout)), REFERENCES[name](Z, Z, **KNOBS), rtol=1e-11, atol=1e-13)


@every_formula
@pytest.mark.parametrize("layout", LAYOUTS)
def test_diagonal_and_parts(name, layout):
    """diagonal is that of the matrix; the rows of a part are those of the whole."""
    kernel = make_kernel(name, **KNOBS)
    samples = kernel.samples(lay_out(make_data(30), layout))
    K = kernel.evaluate(samples, samples)
    np.testing.assert_allclose(kernel.diagonal(samples), np.diag(K), rtol=1e-12, atol=1e-14)
    index = np.array([7, 0, 29, 15])
    np.testing.assert_allclose(kernel.evaluate(samples.take(index), samples), K[index], rtol=1e-12, atol=1e-14)
    part = samples.take(slice(4, 9))
    np.testing.assert_allclose(kernel.diagonal(part), np.diag(K)[4:9], rtol=1e-12, atol=1e-14)


@every_formula
def test_evaluation_leaves_data_alone(name):
    """Neither the data nor the norms are changed by evaluating a kernel on them."""
    X = lay_out(make_data(20), "csr32")
    before = X.copy()
    kernel = make_kernel(name, **KNOBS)
    samples = kernel.samples(X)
    first = kernel.evaluate(samples, samples)
    kernel.diagonal(samples)
    np.testing.assert_array_equal(kernel.evaluate(samples, samples), first)
    np.testing.assert_array_equal(X.toarray(), before.toarray())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [name for name in FORMULAS if "gamma" in KERNELS[name].__dataclass_fields__])
def test_gamma_is_bound_from_the_training_data(name, layout):
    """'scale' is 1/(d Var(X)), 'auto' 1/d, a number itself; and binding changes nothing else."""
    X = make_data(50)
    expected = {"scale": 1.0 / (7 * X.var()), "auto": 1.0 / 7.0, 0.25: 0.25}
    for gamma, number in expected.items():
        bound = make_kernel(name, gamma=gamma).bind(lay_out(X, layout))
        assert isinstance(bound, KERNELS[name])
        assert bound.gamma == pytest.approx(number, rel=1e-6 if "float32" in layout else 1e-12)


SPREADS = [(0.0, 1.0), (10.0, 1e-5), (1e6, 1.0), (1e15, 1.0), (1.0, 2e-16), (1e-30, 1e-30)]  # centre and spread


def measure_variance_exactly(X, weight) -> Fraction:
    """Var(X) in rational numbers, each row counted as often as its weight says."""
    weight = [Fraction(float(each)) for each in weight]
    rows = [[Fraction(float(value)) for value in row] for row in X]
    count = sum(weight) * len(rows[0])
    mean = sum(w * sum(row) for w, row in zip(weight, rows, strict=True)) / count
    return sum(w * sum((x - mean) ** 2 for x in row) for w, row in zip(weight, rows, strict=True)) / count


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("centre", "spread"), SPREADS)
def test_gamma_is_exact_to_the_last_digits(centre, spread, layout):
    """1/(d Var(X)) in rational numbers, wherever the data lie, dense and sparse, weighted or not."""
    rng = np.random.default_rng(8)
    X, weight = centre + spread * rng.normal(size=(40, 3)), rng.uniform(0.0, 3.0, 40)
    X = X.astype(np.float32).astype(float) if "float32" in layout else X
    for w in (None, weight):
        exact = measure_variance_exactly(X, np.ones(40) if w is None else w)
        expected = float(1 / (3 * exact)) if exact else 1.0
        assert resolve_gamma("scale", lay_out(X, layout), w) == pytest.approx(expected, rel=4e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gamma_counts_weights_as_repetitions(layout):
    """A weight of k is the row k times, of zero no row; equal weights are no weights to the bit."""
    rng = np.random.default_rng(9)
    X, times = lay_out(10.0 + 1e-3 * rng.normal(size=(30, 4)), layout), np.arange(30) % 4
    repeated = resolve_gamma("scale", X[np.repeat(np.arange(30), times)])
    assert resolve_gamma("scale", X, times.astype(float)) == pytest.approx(repeated, rel=4e-15)
    for equal in (1.0, 0.01, 1.0 / 3.0):
        assert resolve_gamma("scale", X, np.full(30, equal)) == resolve_gamma("scale", X)


def test_gamma_of_whole_numbers_is_exact():
    """Where nothing is rounded, gamma has the bits of scikit-learn's."""
    X = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    theirs = sklearn.svm.SVC().fit(X, [1, 1, 1, 2, 2, 2])._gamma
    assert resolve_gamma("scale", X) == resolve_gamma("scale", sp.csr_array(X)) == theirs == 0.25


def test_gamma_of_constant_data_is_one():
    """Without variance 'scale' falls back to 1, as scikit-learn does; rounding in the mean is no variance."""
    rng = np.random.default_rng(10)
    assert resolve_gamma("scale", sp.csr_array((4, 3))) == 1.0
    for n, value in product(range(1, 40), (2.0, 0.1, 1.0 / 3.0, 7e5 + 0.1, 1e-9)):
        X = np.full((n, 3), value)
        for weight in (None, rng.uniform(0.1, 1.0, n)):
            assert resolve_gamma("scale", X, weight) == resolve_gamma("scale", sp.csr_array(X), weight) == 1.0


@pytest.mark.parametrize("size", [1e200, 1e-160])
def test_gamma_beyond_what_a_square_can_be(size):
    """A number all the same, and no warning."""
    X = size * np.array([[1.0, -1.0], [2.0, 0.5]])
    for data in (X, sp.csr_array(X)):
        assert 0.0 <= resolve_gamma("scale", data) < np.inf


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_rbf_far_from_the_origin(spread):
    """Data of mean 1e6 keep the digits of their differences."""
    rng = np.random.default_rng(3)
    X = 1e6 + spread * rng.normal(size=(40, 3))
    kernel = RBF(gamma=0.5 / spread**2).bind(X)
    direct = np.exp(-kernel.gamma * ((X[:, None] - X) ** 2).sum(axis=-1))
    np.testing.assert_allclose(kernel(X), direct, rtol=1e-7)
    np.testing.assert_allclose(kernel(X[:5], X[5:]), direct[:5, 5:], rtol=1e-7)


def test_rbf_shift_of_new_samples():
    """Samples seen later are moved by the training data's shift, whatever their own mean is."""
    rng = np.random.default_rng(4)
    X, Z = 1e6 + rng.normal(size=(30, 2)), 1e6 + 3.0 + rng.normal(size=(4, 2))
    kernel = RBF(gamma=0.2).bind(X)
    direct = np.exp(-0.2 * ((Z[:, None] - X) ** 2).sum(axis=-1))
    np.testing.assert_allclose(kernel(Z, X), direct, rtol=1e-8)


def make_exact_data() -> tuple[np.ndarray, np.ndarray]:
    """Rows in steps of 2^-10, which are numbers of float64 at 2^26 too, and labels that a small fit can learn."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(60, 3)) * 2.0**10) / 2.0**10
    return X, np.where(np.abs(X[:, 0]) + 0.3 * rng.normal(size=60) > 0.6, 1, -1)


def is_translation_invariant(name: str) -> bool:
    """Whether k(x + t, z + t) = k(x, z), seen near the origin."""
    X, kernel = make_exact_data()[0], make_kernel(name, **KNOBS)
    return np.allclose(kernel(X + 1.0), kernel(X), rtol=1e-9)


@every_formula
@pytest.mark.parametrize("layout", ["float64", "csr32"])
@pytest.mark.parametrize("shift", [2.0**20, 2.0**26])
def test_values_and_fits_far_from_the_origin(name, layout, shift):
    """Moved without rounding, a kernel of differences has the same values and the same certified fit.

    |x|^2 - 2 <x, z> + |z|^2 has no correct digit there, so a kernel must subtract samples first (`shifts.py`). Other
    kernels have other values there, without cancelling.
    """
    X, y = make_exact_data()
    near, far = lay_out(X, layout), lay_out(X + shift, layout)
    if not is_translation_invariant(name):
        K = make_kernel(name, **KNOBS)(far)
        np.testing.assert_allclose(K, REFERENCES[name](X + shift, X + shift, **KNOBS), rtol=1e-11)
        return
    expected, found = (SVC(C=3.0, kernel=name, tol=1e-8).fit(data, y) for data in (near, far))
    kernel = found.pose_first_problem(far, y).features.kernel
    np.testing.assert_allclose(kernel(far), expected.pose_first_problem(near, y).features.kernel(near), rtol=1e-11)
    assert found.result_.converged
    assert found.certificate_.relative_gap <= 1e-8
    for part in ("primal", "dual"):
        certified = getattr(expected.certificate_, part)
        assert getattr(found.certificate_, part) == pytest.approx(certified, rel=2e-8)
    np.testing.assert_allclose(found.decision_function(far), expected.decision_function(near), atol=1e-3)


def test_the_kernels_of_differences():
    """Those that the test above walks over."""
    assert {"rbf", "laplacian"} <= {name for name in FORMULAS if is_translation_invariant(name)}
    assert not any(is_translation_invariant(name) for name in ("linear", "poly", "sigmoid"))


def test_exponential_to_a_few_ulp():
    """exp for x <= 0 against NumPy's, over all of [-300, 0]."""
    rng = np.random.default_rng(5)
    x = np.concatenate([np.linspace(-300.0, 0.0, 100001), -(10.0 ** rng.uniform(-18, 2.4, 100000)), [-0.0, -5e-324]])
    got = (0.5 * x)[None]
    rbf_from_dots(got, np.zeros(1), np.zeros(len(x)), 1.0)
    expected = np.exp(x)
    assert np.max(np.abs(got[0] - expected) / np.spacing(expected)) <= 4.0


def test_exponential_vanishes_far_out():
    """Far out the value is as good as zero, never nan, and no denormal number that would slow down sums."""
    got = np.array([[-1e3, -1e8, -1e300]])
    rbf_from_dots(got, np.zeros(1), np.zeros(3), 1.0)
    assert (got > 1e-131).all()
    assert (got < 1e-130).all()


def test_rbf_transform_equals_its_twin():
    """The compiled pass over a tile against plain NumPy."""
    rng = np.random.default_rng(6)
    A, B = rng.normal(size=(9, 4)), rng.normal(size=(13, 4))
    dots, left, right = A @ B.T, (A**2).sum(axis=1), (B**2).sum(axis=1)
    expected = np.exp(-0.7 * np.maximum(left[:, None] + right - 2.0 * dots, 0.0))
    rbf_from_dots(dots, left, right, 0.7)
    np.testing.assert_allclose(dots, expected, rtol=1e-13)


def test_half_precision_exponential():
    """exp for x <= 0 in float32 against NumPy's, to a few units of the last place; tiny values are not denormal."""
    x = np.concatenate([np.linspace(-40.0, 0.0, 100001), [-0.0, -1e-30]]).astype(np.float32)
    got = (np.float32(0.5) * x)[None].copy()
    rbf_from_dots(got, np.zeros(1, np.float32), np.zeros(len(x), np.float32), 1.0)
    expected = np.exp(x.astype(np.float64))
    assert np.max(np.abs(got[0] / expected - 1.0)) < 1e-6
    far = np.array([[-45.0, -1e4, -1e30]], np.float32)
    rbf_from_dots(far, np.zeros(1, np.float32), np.zeros(3, np.float32), 1.0)
    assert (far > 4e-18).all()
    assert (far < 5e-18).all()


def test_half_precision_values_are_within_their_promise():
    """Where RBF offers float32 its values are right to SAFE; far from the origin it does not offer it."""
    X = 3.0 * np.random.default_rng(8).normal(size=(50, 6))
    kernel = RBF(gamma=0.5).bind(X)
    samples = kernel.samples(X)
    half = kernel.to_float32(samples)
    K = kernel.evaluate(half, half.take(np.arange(20)), np.empty((50, 20), np.float32))
    np.testing.assert_allclose(K, kernel.evaluate(samples, samples)[:, :20], rtol=FLOAT32_MAX_ERROR, atol=1e-17)
    far = RBF(gamma=0.5)
    assert far.to_float32(far.samples(X + 1e4)) is None


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stored_rows_are_added(count, dtype):
    """f[start:stop] += steps' rows[slots, start:stop], and nothing else is touched."""
    rng = np.random.default_rng(9)
    rows, slots, steps = rng.normal(size=(12, 3000)).astype(dtype), rng.permutation(12)[:count], rng.normal(size=count)
    f = rng.normal(size=3000)
    expected = f.copy()
    expected[7:2500] += steps @ rows[slots, 7:2500].astype(np.float64)
    add_stored_rows(f, rows, slots, steps, 7, 2500)
    np.testing.assert_allclose(f, expected, rtol=1e-12, atol=1e-12 if dtype == np.float64 else 1e-5)


@every_formula
@pytest.mark.parametrize("gamma", [0.3, 2.0, -0.3])
@pytest.mark.parametrize("coef0", [0.0, 1.0, -1.0])
def test_psd_is_only_claimed_where_it_holds(name, gamma, coef0):
    """psd=True means no negative eigenvalue, for any parameter the kernel takes."""
    try:
        kernel = make_kernel(name, gamma=gamma, degree=3, coef0=coef0)
    except ValueError:
        return
    if kernel.psd is not True:
        return
    eigenvalues = np.linalg.eigvalsh(kernel(make_data(40)))
    assert eigenvalues[0] >= -1e-12 * np.abs(eigenvalues).max()


def test_psd_flags():
    """What is known of each kernel."""
    assert Linear().psd is Laplacian().psd is RBF().psd is True
    assert Polynomial(coef0=0.0).psd is True
    assert Polynomial(coef0=-0.5).psd is None
    assert Sigmoid.psd is Precomputed.psd is Custom.psd is None


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 7])
def test_polynomial_degrees(degree):
    """Repeated squaring is the power."""
    X = make_data(12)
    K = Polynomial(degree=degree, gamma=0.4, coef0=-0.2)(X)
    np.testing.assert_allclose(K, (0.4 * X @ X.T - 0.2) ** degree, rtol=1e-12, atol=1e-15)


@every_formula
@pytest.mark.parametrize("layout", ["float64", "csr32"])
@pytest.mark.parametrize("columns", [1, 3])
def test_scores_in_tiles(name, layout, columns, monkeypatch):
    """Tiles give what one piece gives, for one column of coefficients or several."""
    kernel = make_kernel(name, **KNOBS)
    samples, support = (kernel.samples(lay_out(make_data(n, n), layout)) for n in (53, 17))
    coef = np.random.default_rng(7).normal(size=(17, columns) if columns > 1 else 17)
    whole = evaluate_scores(kernel, samples, support, coef)
    np.testing.assert_allclose(whole, kernel.evaluate(samples, support) @ coef, rtol=1e-12)
    monkeypatch.setattr(maxmargin.model.tiles, "SMALL_TILE", 0)
    monkeypatch.setattr(maxmargin.model.tiles, "TILE_SIDE_SAMPLES", 10)
    tiled = evaluate_scores(kernel, samples, support, coef)
    assert tiled.shape == whole.shape
    np.testing.assert_allclose(tiled, whole, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("layout", ["float64", "float32", "csr32", "csr64"])
def test_samples_in_tiles(layout, monkeypatch):
    """Dot products, sums and projections of samples do not depend on the size of a tile."""
    import maxmargin.model.samples.strips

    X = make_data(60)
    w, coef = np.linspace(-1.0, 1.0, 7), np.linspace(-2.0, 1.0, 60)
    monkeypatch.setattr(maxmargin.model.samples.strips, "TILE_ENTRIES", 50)
    samples = wrap(lay_out(X, layout))
    np.testing.assert_allclose(samples.dots(samples.take(slice(0, 9))), X @ X[:9].T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(samples.combine(coef), coef @ X, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(samples.project(w), X @ w, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(samples.norms, (X**2).sum(axis=1), rtol=1e-12)
    assert isinstance(samples, Sparse if layout.startswith("csr") else Dense)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian"])
def test_sparse_entries_given_twice(name):
    """A CSR matrix that stores an entry in two parts is the matrix of the sums."""
    places, ends = np.array([0, 0, 1, 0], np.int32), np.array([0, 3, 4], np.int32)
    X = sp.csr_array((np.array([1.0, 2.0, 3.0, 1.0]), places, ends), shape=(2, 2))
    np.testing.assert_allclose(make_kernel(name, **KNOBS)(X), make_kernel(name, **KNOBS)(X.toarray()), rtol=1e-12)


@every_formula
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_gram_whole_or_not(name, offset, monkeypatch):
    """A Gram matrix gives the same block, diagonal, scores and norm whether formed whole or not."""
    X = make_data(31)
    coef = np.where(np.arange(31) % 3 == 0, 0.0, np.linspace(-1.0, 1.0, 31))
    rows, columns = np.array([4, 30, 0]), np.array([1, 2, 8, 9])
    K = REFERENCES[name](X, X, **KNOBS) + offset
    for full in (0, 100):
        monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", full)
        gram = Gram.from_data(make_kernel(name, **KNOBS), X, offset)
        assert (gram.form() is None) == (full == 0)
        np.testing.assert_allclose(gram.block(rows), K[rows], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(gram.block(rows, columns), K[np.ix_(rows, columns)], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(gram.diagonal, np.diag(K), rtol=1e-11)
        np.testing.assert_allclose(gram.scores(coef), K @ coef, rtol=1e-10, atol=1e-12)
        assert gram.square_norm(coef, gram.scores(coef)) == pytest.approx(coef @ K @ coef, rel=1e-10)
        part = gram.subset(columns)
        np.testing.assert_allclose(part.block(np.arange(4)), K[np.ix_(columns, columns)], rtol=1e-11, atol=1e-13)


@every_formula
@pytest.mark.parametrize("layout", ["float64", "csr32"])
def test_rows_in_strips(name, layout, monkeypatch):
    """Columns shared among cores give what one piece gives."""
    kernel = make_kernel(name, **KNOBS)
    samples, others = (kernel.samples(lay_out(make_data(n, n), layout)) for n in (9, 700))
    monkeypatch.setattr(maxmargin.model.tiles, "SMALL_TILE", 0)
    monkeypatch.setattr(maxmargin.model.tiles, "TILE_SIDE_SAMPLES", 4)
    K = evaluate_rows(kernel, samples, others)
    np.testing.assert_allclose(K, kernel.evaluate(samples, others), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "index", [[0], [3, 4, 5], [0, 1, 7, 8], [9, 2, 5], [0, 2, 4, 6, 8], [1, 2, 4, 5, 7, 9]], ids=str
)
def test_cut(index):
    """whole[index, index], by blocks or not."""
    whole, index = np.random.default_rng(10).normal(size=(10, 10)), np.array(index)
    np.testing.assert_array_equal(take_submatrix(whole, index), whole[np.ix_(index, index)])
    assert take_submatrix(None, index) is None


@pytest.mark.parametrize("n", [3, 8, 21, 40])
@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 0.4, 0.7), RBF(0.3), Sigmoid(0.2, 0.1), Laplacian(0.3)])
def test_rows_one_at_a_time(kernel, offset, n):
    """Rows evaluated within the compiled loop, from two packed segments, are the rows of the kernel matrix."""
    gram = Gram.from_data(kernel, make_data(n + 60), offset=offset)
    gram = gram.pack(np.array([0, 13, 13 + n, n + 60]))
    index = np.r_[0:13, 13 : 13 + n]
    part, row = gram.join(0, 1, index), np.empty(13 + n)
    K = kernel.evaluate(gram.samples.take(index), gram.samples.take(index)) + offset
    for i in range(13 + n):
        evaluate_row(i, part.source(), row)
        np.testing.assert_allclose(row, K[i], rtol=1e-12, atol=1e-13)


def test_rows_that_must_be_fetched():
    """Kernels and samples that single rows cannot be evaluated from have no source of them."""
    sparse, own = Gram(RBF(0.3), wrap(sp.csr_array(make_data(30)))), Gram.from_data(SlowKernel(0.3), make_data(30))
    for gram in (sparse, own):
        assert gram.pack(np.array([0, 10, 20])).join(0, 1, np.arange(20)).source() is None


class SlowKernel(RBF):
    """A kernel of the user, of which only `evaluate` is known."""


@pytest.mark.parametrize("full", [0, 100])
def test_signed_features(full, monkeypatch):
    """s_k s_l k(x_i, x_j) with samples taken twice: blocks, diagonal, scores, norm and parts."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", full)
    rng = np.random.default_rng(11)
    gram = Gram.from_data(RBF(gamma=0.3), make_data(12))
    index, sign = np.tile(np.arange(12), 2), np.repeat([1.0, -1.0], 12)
    features = SignedGram(gram, index, sign)
    K = gram.kernel.evaluate(gram.samples, gram.samples)[np.ix_(index, index)] * sign[:, None] * sign
    features.form()
    a, keep = rng.normal(size=24), np.array([1, 5, 13, 20, 23])
    coef = features.combine(a)
    np.testing.assert_allclose(features.block(np.array([3, 20])), K[[3, 20]], rtol=1e-12)
    np.testing.assert_allclose(features.diagonal, np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(features.scores(coef), K @ a, atol=1e-12)
    assert features.square_norm(coef, features.scores(coef)) == pytest.approx(a @ K @ a, rel=1e-11)
    part = features.subset(keep)
    np.testing.assert_allclose(part.block(np.arange(5)), K[np.ix_(keep, keep)], rtol=1e-12)


@pytest.mark.parametrize("scaling", [0.0, 2.0])
def test_design_is_the_linear_kernel(scaling):
    """w itself as coefficients gives the scores and the norm of the Gram matrix with offset scaling^2."""
    X, a = make_data(20), np.random.default_rng(12).normal(size=20)
    design, gram = Design(wrap(X), scaling), Gram.from_data(Linear(), X, scaling**2)
    w, scores = design.combine(a), gram.scores(a)
    np.testing.assert_allclose(design.scores(w), scores, atol=1e-12)
    assert design.square_norm(w, scores) == pytest.approx(gram.square_norm(a, scores), rel=1e-11)
    index = np.array([3, 4, 11])
    np.testing.assert_allclose(design.subset(index).block(np.arange(3)), gram.block(index, index), atol=1e-13)


def test_gram_of_zero_coefficients():
    """No support, no scores."""
    gram = Gram.from_data(RBF(gamma=1.0), make_data(10))
    np.testing.assert_array_equal(gram.scores(np.zeros(10)), np.zeros(10))


def test_precomputed_is_the_matrix():
    """Blocks, parts and diagonal of a given matrix, widened to float64."""
    K = REFERENCES["rbf"](make_data(20), make_data(20), **KNOBS).astype(np.float32)
    kernel = make_kernel("precomputed")
    samples = kernel.samples(K)
    part = samples.take(np.array([3, 1]))
    assert kernel.evaluate(part, samples).dtype == np.float64
    np.testing.assert_array_equal(kernel.evaluate(part, samples), K[[3, 1]])
    np.testing.assert_array_equal(kernel.evaluate(samples, part), K[:, [3, 1]])
    np.testing.assert_array_equal(kernel.diagonal(part), np.diag(K)[[3, 1]])


def test_callable_is_evaluated_against_the_training_data():
    """A callable kernel bound to X gives function(Z, X) for new samples Z, dense or sparse."""
    X, Z = make_data(12), make_data(5, seed=9)
    kernel = make_kernel(lambda A, B: sp.csr_array(A @ B.T)).bind(X)
    train, new = kernel.samples(X), kernel.samples(Z)
    np.testing.assert_allclose(kernel.evaluate(train, train), X @ X.T, atol=1e-14)
    np.testing.assert_allclose(kernel.evaluate(new, train.take(np.array([2, 3]))), Z @ X[[2, 3]].T, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(train), (X**2).sum(axis=1), atol=1e-14)


@pytest.mark.parametrize("shape", [(12, 11), (12,), (3, 3), ()])
def test_callable_of_wrong_shape_is_refused(shape):
    """The sentence says which shape was expected and which came back."""
    kernel = make_kernel(lambda A, B: np.zeros(shape)).bind(make_data(12))
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(12, 12\), but returned"):
        kernel.samples(make_data(12))


@pytest.mark.parametrize("name", ["gaussian", "", "RBF", None, 3])
def test_unknown_kernels_are_refused(name):
    """The sentence lists the names that are known and repeats the one given."""
    with pytest.raises(ValueError, match=r"kernel must be one of \['laplacian', .*'sigmoid'\].*got "):
        make_kernel(name)


def test_kernel_objects_pass_through():
    """A Kernel is taken as it is."""
    kernel = RBF(gamma=2.0)
    assert make_kernel(kernel, gamma=5.0) is kernel
    assert isinstance(kernel, Kernel)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(6, 1, 1), (7, 33, 5), (64, 31, 17), (101, 95, 16), (12, 64, 200)])
@pytest.mark.parametrize("wide", [None, True])
def test_products_of_dense_rows(dtype, shape, wide):
    """Tiles of every remainder of rows, columns and features are products."""
    from maxmargin.compiled.dense_products import dense_dots

    random, (rows, columns, d) = np.random.default_rng(0), shape
    X, Z = random.normal(size=(rows, d)).astype(dtype), random.normal(size=(columns, d)).astype(dtype)
    tile = np.full((rows, columns), np.nan, dtype)
    dense_dots(tile, X, Z, wide)
    expected = X.astype(np.float64) @ Z.astype(np.float64).T
    sizes = np.abs(X.astype(np.float64)) @ np.abs(Z.astype(np.float64)).T
    assert (np.abs(tile - expected) <= (d + 2) * np.finfo(dtype).eps * sizes).all()
