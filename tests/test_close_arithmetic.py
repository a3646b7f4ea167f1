"""Sums in twice the precision and bounds on rounding, held against rational and decimal numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC
from maxmargin.compiled.single_rows import evaluate_row
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.model.samples import Sparse
from maxmargin.model.tiles import evaluate_scores, evaluate_scores_closely
from maxmargin.runtime.rounding import bound_sum

DIGITS = 80  # of the decimal numbers that stand for real ones
UNIT = 2.0**-53
KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(degree=3, gamma=0.7, coef0=0.5),
    "poly negative": Polynomial(degree=4, gamma=-0.7, coef0=-1.5),
    "rbf": RBF(gamma=0.3),
    "laplacian": Laplacian(gamma=0.2),
    "sigmoid": Sigmoid(gamma=0.4, coef0=-0.3),
}
FORMS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sp.csr_array,
    "sparse float32": lambda X: sp.csr_array(X.astype(np.float32)),
}
SCALES = (1e-8, 1e-3, 1.0, 30.0, 1e4, 1e8)
OFFSETS = (0.0, 1.0, 1e4, 1e8)


def decimal(number: Fraction) -> Decimal:
    """The fraction, rounded to DIGITS."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def evaluate_exactly(kernel: Kernel, x: list[Fraction], z: list[Fraction]) -> Decimal:
    """k(x, z) to nearly DIGITS digits."""
    dot = sum(a * b for a, b in zip(x, z, strict=True))
    if isinstance(kernel, Linear):
        return decimal(dot)
    if isinstance(kernel, RBF):
        return decimal(-Fraction(kernel.gamma) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()
    if isinstance(kernel, Laplacian):
        return decimal(-Fraction(kernel.gamma) * sum(abs(a - b) for a, b in zip(x, z, strict=True))).exp()
    base = Fraction(kernel.gamma) * dot + Fraction(kernel.coef0)
    if isinstance(kernel, Polynomial):
        return decimal(base**kernel.degree)
    power = decimal(-2 * abs(base)).exp()
    return (1 - power) / (1 + power) * (1 if base >= 0 else -1)


def read_exactly(X) -> list[list[Fraction]]:
    """The numbers of a matrix as fractions."""
    X = X.toarray() if sp.issparse(X) else X
    return [[Fraction(float(value)) for value in row] for row in X]


def sum_exactly(kernel: Kernel, X, S, coef: np.ndarray) -> list[Decimal]:
    """sum_j coef_j k(x_i, s_j)."""
    weights, support = [Decimal(float(each)) for each in coef], read_exactly(S)
    rows = [[evaluate_exactly(kernel, x, z) for z in support] for x in read_exactly(X)]
    return [sum(a * value for a, value in zip(weights, row, strict=True)) for row in rows]


def draw(generator: np.random.Generator, n: int, d: int, scale: float, offset: float) -> np.ndarray:
    """Normal numbers with some zeros, at an offset in some of the features."""
    X = scale * generator.normal(size=(n, d)) + offset * (generator.random(d) < 0.7)
    return X * (generator.random((n, d)) < 0.8)


def draw_cases(seed: int):
    """X, support and coefficients of all scales and offsets."""
    generator = np.random.default_rng(seed)
    for scale in SCALES:
        for offset in OFFSETS:
            n, m, d = generator.integers(1, 5), generator.integers(1, 19), generator.integers(1, 12)
            coef = generator.normal(size=m) * 10.0 ** generator.uniform(-3, 3, size=m)
            X = draw(generator, n + m, d, scale, offset)
            yield X[:n], X[n:], coef, scale


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.cover("all")
def test_close_scores_are_as_near_as_they_say(name, form):
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**9), 10**9
        for X, S, coef, scale in draw_cases(hash_name(name + form)):
            kernel = rescale(KERNELS[name], scale)
            X, S = FORMS[form](X), FORMS[form](S)
            samples, support = kernel.samples(X), kernel.samples(S)
            f, errors = evaluate_scores_closely(kernel, samples, support, coef)
            sizes = measure_terms(kernel, samples, support, coef)
            functions = 9.0 * UNIT * np.abs(coef).sum() * (name in ("rbf", "laplacian", "sigmoid"))
            for i, exact in enumerate(sum_exactly(kernel, X, S, coef)):
                assert abs(Decimal(float(f[i])) - exact) <= Decimal(float(errors[i]))
                assert errors[i] <= 1e-280 + 1.01 * UNIT * abs(f[i]) + 1e-26 * sizes[i] + functions


def measure_terms(kernel: Kernel, samples, support, coef: np.ndarray) -> np.ndarray:
    """sum_j |coef_j| r_i r_j with r as in `sizes`, and of tanh the size of its argument."""
    if isinstance(kernel, Sigmoid):
        return abs(kernel.gamma) * samples.norm_bounds * (np.abs(coef) @ support.norm_bounds) + np.abs(coef).sum()
    return kernel.sizes(samples) * (np.abs(coef) @ kernel.sizes(support))


def hash_name(name: str) -> int:
    """The same number for the same name in every process."""
    return sum(ord(letter) * 31**place for place, letter in enumerate(name)) % 2**32


def rescale(kernel: Kernel, scale: float) -> Kernel:
    """The kernel with a gamma that suits the scale, so that values are neither 0 nor 1."""
    if isinstance(kernel, Linear):
        return kernel
    power = 1 if isinstance(kernel, Laplacian) else 2
    return type(kernel)(**{**vars(kernel), "gamma": kernel.gamma / scale**power})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.cover("all")
def test_plain_scores_are_as_near_as_the_bound_says(name, form):
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**9), 10**9
        for X, S, coef, scale in draw_cases(hash_name("plain" + name + form)):
            kernel = rescale(KERNELS[name], scale)
            X, S = FORMS[form](X), FORMS[form](S)
            samples, support = kernel.samples(X), kernel.samples(S)
            f = evaluate_scores(kernel, samples, support, coef)
            sizes = kernel.sizes(samples) * (np.abs(coef) @ kernel.sizes(support))
            errors = kernel.bound_value_errors(samples, support, coef)
            bounds = 1.01 * errors + bound_sum(len(coef) + 1) * sizes
            for i, exact in enumerate(sum_exactly(kernel, X, S, coef)):
                assert abs(Decimal(float(f[i])) - exact) <= Decimal(float(bounds[i]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear()], ids=["rbf", "linear"])
def test_samples_that_were_moved_count_as_given(kernel, form):
    generator = np.random.default_rng(3)
    with localcontext() as context:
        context.prec = DIGITS
        for offset in (0.3, 30.0, 1e3, 1e5, 1e8):
            X = FORMS[form](generator.normal(size=(30, 4)) + offset * np.array([1.0, 0.7, -1.0, 3.3]))
            bound = kernel.bind(X).centre(X)
            assert (bound.shift is not None) == (offset > 1.0)
            coef = generator.normal(size=26)
            samples, support = bound.samples(X[:4]), bound.samples(X[4:])
            assert samples.rounding == (UNIT if offset > 1.0 else 0.0)
            f, errors = evaluate_scores_closely(bound, samples, support, coef)
            moved = [Fraction(0)] * 4 if bound.shift is None else [Fraction(each) for each in bound.shift]
            rows, columns = (move_exactly(part, moved) for part in (X[:4], X[4:]))
            values = [[evaluate_exactly(bound, x, z) for z in columns] for x in rows]
            plain = evaluate_scores(bound, samples, support, coef)
            bounds = bound.bound_value_errors(samples, support, coef)
            bounds += bound_sum(30) * bound.sizes(samples) * (np.abs(coef) @ bound.sizes(support))
            for i, row in enumerate(values):
                exact = sum(Decimal(float(a)) * value for a, value in zip(coef, row, strict=True))
                assert abs(Decimal(float(f[i])) - exact) <= Decimal(float(errors[i]))
                assert abs(Decimal(float(plain[i])) - exact) <= Decimal(float(bounds[i]))
            assert (errors <= 1e-14 * measure_terms(bound, samples, support, coef) + 1e-290).all()


def move_exactly(X, shift: list[Fraction]) -> list[list[Fraction]]:
    """x_i - shift."""
    return [[value - each for value, each in zip(row, shift, strict=True)] for row in read_exactly(X)]


@pytest.mark.parametrize("form", FORMS)
def test_weights_and_projections_are_as_near_as_they_say(form):
    for X, S, coef, _ in draw_cases(hash_name("weights" + form)):
        X, S = FORMS[form](X), FORMS[form](S)
        samples, support = Linear().samples(X), Linear().samples(S)
        high, low, error = support.combine_closely(coef)
        vectors, weights = read_exactly(S), [Fraction(float(each)) for each in coef]
        w = [sum(a * row[k] for a, row in zip(weights, vectors, strict=True)) for k in range(support.d)]
        found = [Fraction(float(a)) + Fraction(float(b)) for a, b in zip(high, low, strict=True)]
        off = sum((a - b) ** 2 for a, b in zip(w, found, strict=True))
        assert off <= Fraction(error) ** 2
        assert error <= 1e-28 * (np.abs(coef) @ support.norm_bounds) + 1e-280
        f_high, f_low, errors = samples.project_closely(high, low)
        for i, row in enumerate(read_exactly(X)):
            exact = sum(a * b for a, b in zip(row, found, strict=True))
            assert abs(Fraction(f_high[i]) + Fraction(f_low[i]) - exact) <= Fraction(errors[i])
        assert (errors <= 1e-28 * samples.norm_bounds * np.linalg.norm(high) + 1e-280).all()


def test_values_that_are_given_are_exact_and_only_their_sum_is_bounded():
    generator = np.random.default_rng(0)
    K = generator.normal(size=(50, 50)) * 10.0 ** generator.uniform(-8, 8, size=(50, 50))
    coef = generator.normal(size=50)
    coef[::2] *= 1e12
    samples = Precomputed().samples(K)
    f, errors = evaluate_scores_closely(Precomputed(), samples, samples, coef)
    exact = [sum(Fraction(a) * Fraction(b) for a, b in zip(row, coef, strict=True)) for row in K]
    assert all(abs(Fraction(a) - b) <= Fraction(e) for a, b, e in zip(f, exact, errors, strict=True))
    assert (errors <= 1.01 * UNIT * np.abs(f) + 1e-28 * np.abs(K) @ np.abs(coef)).all()
    assert (Precomputed().bound_value_errors(samples, samples, coef) == 0.0).all()
    sizes = Precomputed().sizes(samples)
    assert (np.abs(K) <= np.outer(sizes, sizes)).all()


@dataclass(frozen=True)
class Cauchy(Kernel):
    """1 / (1 + |x - z|^2), a kernel of the user's own."""

    name = "cauchy"
    psd = True

    def evaluate(self, A, B):
        """1 / (1 + |a_i - b_j|^2)."""
        return 1.0 / (1.0 + np.maximum(A.norms[:, None] + B.norms - 2.0 * A.dots(B), 0.0))

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


def test_a_kernel_of_the_users_own_is_what_it_returns():
    X = np.random.default_rng(1).normal(size=(600, 3))
    samples, coef = Cauchy().samples(X), np.random.default_rng(2).normal(size=600)
    f, errors = evaluate_scores_closely(Cauchy(), samples, samples, coef)
    K = Cauchy().evaluate(samples, samples)
    exact = np.array([math.fsum(math.fsum(two) for two in [row * coef]) for row in K])
    assert np.abs(f - exact).max() <= 1e-12
    assert errors.max() <= 1.01 * UNIT * np.abs(f).max() + 1e-25
    assert (Cauchy().sizes(samples) >= 1.0).all()


def test_support_in_several_tiles_and_no_support_at_all(monkeypatch):
    monkeypatch.setattr("maxmargin.model.tiles.TILE_ENTRIES", 64)
    generator = np.random.default_rng(4)
    X, coef = generator.normal(size=(20, 5)), generator.normal(size=45)
    S = generator.normal(size=(45, 5))
    kernel = RBF(gamma=0.5)
    f, _ = evaluate_scores_closely(kernel, kernel.samples(X), kernel.samples(S), coef)
    np.testing.assert_allclose(f, evaluate_scores(kernel, kernel.samples(X), kernel.samples(S), coef), rtol=1e-13)
    f, errors = evaluate_scores_closely(kernel, kernel.samples(X), kernel.samples(S[:0]), coef[:0])
    assert (f == 0.0).all()
    assert errors.max() < 1e-280


def test_overflow_has_an_infinite_error():
    X = np.array([[1e200, 1.0], [1.0, 1e-200]])
    for kernel in (Linear(), Polynomial(degree=3, gamma=1.0), RBF(gamma=-1.0)):
        samples = kernel.samples(X)
        _, errors = evaluate_scores_closely(kernel, samples, samples, np.array([1.0, 1.0]))
        assert errors[0] == np.inf
        assert not kernel.bound_value_errors(samples, samples, np.array([1.0, 1.0]))[0] < np.inf


# ---- samples whose distances are small beside their norms ------------------------------------------------------------


def place_far(X: np.ndarray, how: str, offset: float) -> np.ndarray:
    """Samples far from the origin: all in one place, in two places, or in one of the features."""
    sides = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)[:, None]
    return (
        X + offset * {"one place": 1.0, "two places": sides, "one feature": sides * (np.arange(X.shape[1]) == 0)}[how]
    )


def evaluate_from_differences(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """exp(-gamma |x - z|^2) or exp(-gamma |x - z|_1) of the numbers as they are."""
    apart = X[:, None] - X
    return np.exp(-kernel.gamma * (np.abs(apart) if isinstance(kernel, Laplacian) else apart**2).sum(axis=2))


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("how", ["one place", "two places", "one feature"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Laplacian(gamma=0.3)], ids=["rbf", "laplacian"])
@pytest.mark.cover("all")
def test_values_of_samples_far_from_the_origin(kernel, form, how, offset):
    X = place_far(np.random.default_rng(0).normal(size=(70, 5)), how, offset)
    gram = Gram(kernel, kernel.samples(FORMS[form](X)))  # as it is: of so few samples `from_data` makes dense ones
    exact = evaluate_from_differences(kernel, X)
    np.testing.assert_allclose(gram.kernel.evaluate(gram.samples, gram.samples), exact, atol=1e-8)
    gram = gram.pack(np.array([0, 40]))
    source = gram.source()
    assert (source is None) == (form == "sparse")
    if source is not None:
        row = np.empty(gram.n)
        for i in (0, 39, 40, 69):
            evaluate_row(i, source, row)
            np.testing.assert_allclose(row, exact[i], atol=1e-8)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("how", ["one place", "two places", "one feature"])
@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_machines_on_samples_far_from_the_origin(kernel, form, how, offset):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.3 * generator.normal(size=60) > 0, 1, -1)
    X = place_far(X, how, offset)
    model = SVC(kernel=kernel, gamma=0.3, tol=1e-6).fit(FORMS[form](X), y)
    K = evaluate_from_differences(RBF(gamma=0.3) if kernel == "rbf" else Laplacian(gamma=0.3), X)
    twin = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    assert model.certificate_.primal == pytest.approx(twin.certificate_.primal, rel=2e-6)
    np.testing.assert_allclose(model.decision_function(FORMS[form](X)), twin.decision_function(K), atol=0.02)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [RBF(), RBF(gamma=100.0), Laplacian()], ids=["scale", "narrow", "laplacian"])
def test_samples_of_sound_scales_are_evaluated_from_products(kernel, form):
    X = FORMS[form](np.random.default_rng(0).normal(size=(50, 30)))
    kernel = kernel.bind(X)
    samples = kernel.samples(X)
    assert not kernel.cancels(samples, samples)


@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("wide", [False, True])
def test_differences_of_sparse_rows_of_any_pattern(density, wide):
    generator = np.random.default_rng(5)
    A, B = (generator.normal(size=(n, 12)) * (generator.random((n, 12)) < density) for n in (5, 17))
    mine, its = (spread_out(sp.csr_array(X), 10**8 if wide else 1) for X in (A, B))
    apart = A[:, None] - B
    np.testing.assert_allclose(mine.differences(its, squares=True), (apart**2).sum(axis=2), atol=1e-13)
    np.testing.assert_allclose(mine.differences(its, squares=False), np.abs(apart).sum(axis=2), atol=1e-13)


def spread_out(X: sp.csr_array, factor: int) -> Sparse:
    """The samples with feature k moved to factor k."""
    return Sparse.of(X.data, X.indices.astype(np.int64) * factor, X.indptr, X.shape[1] * factor, np.float64)
