"""Losses, kernels, samples and features derive from their contracts; the least that a contract asks for is enough."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from own_losses import PinballHinge

from maxmargin import SVC, Newton, Status, solve
from maxmargin.certificates.certificate import judge
from maxmargin.contracts.features import Features, KernelMatrix
from maxmargin.contracts.kernels import Kernel
from maxmargin.contracts.losses import JointTerms, Loss, PiecewiseLoss, SmoothTerms, Terms, VectorTerms
from maxmargin.contracts.samples import Samples, VectorSamples, wrap
from maxmargin.model.features import AbsoluteDesign, ClassDesign, Design, Gram, SignedGram
from maxmargin.model.kernels import KERNELS, RBF, Custom, Linear
from maxmargin.model.losses import (
    LOSSES,
    METRICS,
    Logistic,
    MulticlassHinge,
    Multivariate,
    PairwiseLoss,
    PiecewiseConjugate,
    Poisson,
    Softmax,
)
from maxmargin.model.problem import Point, Problem
from maxmargin.model.samples import Dense, PrecomputedRows, Sparse


def make_data(n: int = 60, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping clouds, and their labels +1/-1."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


# ---- what is in the package ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_losses_of_one_score(loss):
    """Each is a Loss; its terms are of the kind that it says."""
    assert issubclass(loss, Loss)
    terms = loss().terms(np.ones(3), np.ones(3))
    assert isinstance(terms, PiecewiseConjugate if issubclass(loss, PiecewiseLoss) else SmoothTerms)
    assert terms.piecewise == issubclass(loss, PiecewiseLoss)
    assert (loss().row(np.ones(3), np.ones(3)) is None) != terms.piecewise
    assert not terms.joint


@pytest.mark.parametrize("loss", [Softmax(), MulticlassHinge(), Multivariate(np.eye(2))], ids=lambda loss: loss.name)
def test_losses_of_many_scores(loss):
    """Their terms have several scores per sample."""
    terms = loss.terms(np.zeros((2, 3)) if loss.target == "vector" else np.zeros(3), np.ones(3))
    assert isinstance(loss, Loss)
    assert isinstance(terms, VectorTerms)
    assert not terms.joint
    assert not terms.piecewise


@pytest.mark.parametrize(
    "loss", [*(metric() for metric in METRICS.values()), PairwiseLoss()], ids=lambda loss: loss.name
)
def test_losses_of_lists(loss):
    """Their terms have one value for all scores, and say how steep it is."""
    terms = loss.terms(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4))
    assert isinstance(terms, JointTerms)
    assert terms.joint
    assert not terms.piecewise
    assert terms.steepness.shape == (4,)
    np.testing.assert_array_equal(terms.repair(np.arange(4), None), np.arange(4.0))


@pytest.mark.parametrize("kernel", [*KERNELS.values(), Custom], ids=[*KERNELS, "callable"])
def test_kernels(kernel):
    """Each is a Kernel, and only the linear one says that it is linear."""
    assert issubclass(kernel, Kernel)
    assert kernel.linear == (kernel is Linear)
    assert kernel().shift is None


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix, list])
def test_samples(form):
    """Matrices of every kind are wrapped by their type, and samples say what they hold."""
    samples = wrap(form(make_data()[0]))
    assert isinstance(samples, VectorSamples)
    assert type(samples) is (Sparse if samples.sparse else Dense)
    assert samples.sparse == sp.issparse(form(make_data()[0]))
    assert samples.holds_vectors


def test_samples_of_a_matrix_of_kernel_values():
    """Rows of kernel values are samples, but no vectors."""
    rows = PrecomputedRows(np.eye(3))
    assert isinstance(rows, Samples)
    assert not rows.holds_vectors
    assert not rows.sparse
    assert not rows.needs_conversion
    assert rows.to_float32() is None


def test_features():
    """Each derives from the contract, and says what it is."""
    X, y = make_data()
    gram, design = Gram.from_data(RBF(0.5), X), Design(wrap(X), 1.0)
    signed = SignedGram(gram, np.arange(60), y)
    for features, linear, rows, sign in (
        (gram, False, True, False), (design, True, True, False), (AbsoluteDesign(wrap(X)), True, True, False),
        (ClassDesign(design, 3), True, False, False), (signed, False, True, True),
    ):  # fmt: skip
        assert isinstance(features, Features)
        assert (features.linear, features.has_kernel_rows, features.signed) == (linear, rows, sign)
        assert isinstance(features, KernelMatrix) == rows
    assert signed.samples is None
    assert signed.segments is None
    assert signed.source() is None


def test_packing_leaves_features_as_they_are():
    """Segments belong to the matrix that `pack` returns, in float64 to the one that `widen_segments` returns."""
    gram = Gram.from_data(RBF(0.5), make_data()[0])
    packed = gram.pack(np.array([0, 30]), exact=False)
    wide = packed.widen_segments()
    assert gram.segments is None
    assert [segment.packed.dtype for segment in packed.segments] == [np.float32, np.float32]
    assert [segment.packed.dtype for segment in wide.segments] == [np.float64, np.float64]
    assert packed.counters is gram.counters


@pytest.mark.parametrize("base", [Loss, PiecewiseLoss, Terms, SmoothTerms, VectorTerms, JointTerms, Kernel, Samples])
def test_bases_are_abstract(base):
    """What a contract requires cannot be forgotten."""
    assert base.__abstractmethods__
    with pytest.raises(TypeError, match="abstract"):
        base()


# ---- the least that is enough ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PseudoHuberTerms(SmoothTerms):
    """c (sqrt(1 + r^2) - 1) with r = f - y, and c (1 - sqrt(1 - t^2)) - a y with t = a / c, without cancellation."""

    y: np.ndarray
    c: np.ndarray

    def value(self, f):
        """c r^2 / (1 + sqrt(1 + r^2))."""
        r = f - self.y
        return self.c * r * r / (1.0 + np.hypot(1.0, r))

    def response(self, f):
        """-c r / sqrt(1 + r^2)."""
        r = f - self.y
        a = -self.c * r / np.hypot(1.0, r)
        return a, a

    def conjugate(self, a):
        """Infinite beyond |a| = c."""
        t = np.clip(a / self.c, -1.0, 1.0)
        inside = self.c * t * t / (1.0 + np.sqrt((1.0 - t) * (1.0 + t))) - a * self.y
        return np.where(np.abs(a) <= self.c, inside, np.inf)

    def slopes(self, a):
        """t / sqrt(1 - t^2) - y."""
        t = a / self.c
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = t / np.sqrt((1.0 - t) * (1.0 + t)) - self.y
        return slope, slope

    def second_derivative(self, f):
        """c (1 + r^2)^(-3/2)."""
        return self.c * np.hypot(1.0, f - self.y) ** -3.0


@dataclass(frozen=True)
class PseudoHuber(Loss):
    """sqrt(1 + (f - y)^2) - 1."""

    name = "pseudo_huber"
    target = "real"
    curvature = 1.0

    def terms(self, y, c):
        """Five functions, and no bounds of one's own."""
        return PseudoHuberTerms(y, c)


@dataclass(frozen=True)
class Cauchy(Kernel):
    """1 / (1 + gamma |x - z|^2)."""

    gamma: float = 0.5
    name = "cauchy"

    def evaluate(self, A, B):
        """From norms and products, which dense and sparse samples have."""
        squares = A.norms[:, None] + B.norms - 2.0 * A.dots(B)
        return 1.0 / (1.0 + self.gamma * np.maximum(squares, 0.0))

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@pytest.mark.parametrize("balance", [0.0, None], ids=["free", "none"])
def test_a_piecewise_loss_of_ones_own(balance):
    """Five numbers per sample are enough for every solver of rows, and for the judge."""
    X, y = make_data()
    result = solve(Problem(Gram.from_data(RBF(0.5), X), y, np.ones(60), PinballHinge(0.2), balance), tol=1e-6)
    assert result.status == Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("solver", ["auto", Newton()], ids=["auto", "newton"])
@pytest.mark.parametrize("balance", [0.0, None], ids=["free", "none"])
def test_a_smooth_loss_of_ones_own(balance, solver):
    """Five functions are enough for Newton's method and for the judge, whose bounds have honest defaults."""
    X, y = make_data()
    problem = Problem(
        Design(wrap(X), 0.0 if balance is not None else 1.0), 3.0 * y + X[:, 0], np.ones(60), PseudoHuber(), balance
    )
    result = solve(problem, solver, tol=1e-8)
    assert result.status == Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-8
    assert result.certificate.rounding < 1e-8 * result.certificate.primal


def test_default_bounds_beside_those_of_the_logistic_loss():
    """The defaults hold where the loss gives sharper bounds: no smaller, and not larger by orders of magnitude."""
    rng = np.random.default_rng(1)
    y, c, f = np.where(rng.random(200) < 0.5, 1.0, -1.0), 10.0 ** rng.uniform(-3, 3, 200), rng.normal(size=200) * 5.0
    terms, wide = Logistic().terms(y, c), 10.0 ** rng.uniform(-16, -6, 200)
    own, default = terms.bound_value_error(f, wide), SmoothTerms.bound_value_error(terms, f, wide)
    assert (default >= own * (1.0 - 1e-9)).all()
    assert (default <= 10.0 * own).all()
    a = terms.response(f)[0]
    own, default = terms.bound_conjugate_error(a), SmoothTerms.bound_conjugate_error(terms, a)
    assert (default >= 0.3 * own).all()
    assert (default <= 10.0 * own).all()
    slopes = np.abs(terms.slopes(a)[0]) + np.abs(f)
    assert slopes.min() <= SmoothTerms.bound_slope(terms, a, f, 1e-9) <= slopes.max() * (1.0 + 1e-6)
    assert SmoothTerms.bound_slope(terms, a, f, 0.0) == 0.0
    assert SmoothTerms.bound_slope(terms, a, f, 1e9) == np.inf


def test_a_wrong_smooth_loss_is_not_certified():
    """A point that is not optimal has a gap, whatever the defaults."""
    X, y = make_data()
    problem = Problem(Design(wrap(X), 1.0), y, np.ones(60), PseudoHuber(), None)
    result = solve(problem, Newton(), tol=1e-8)
    moved = Point(result.point.a * 1.01, result.point.b, result.point.coef)
    assert judge(problem, moved).relative_gap > 1e-6


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_kernel_of_ones_own(form):
    """`evaluate` and `diagonal` are enough for a fit with a certificate; that it is convex the judge cannot know."""
    X, y = make_data()
    model = SVC(kernel=Cauchy(), tol=1e-5).fit(form(X), y)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.certificate_.convex is None
    assert model.score(form(X), y) > 0.7


@dataclass(frozen=True, slots=True, eq=False)
class LinexTerms(SmoothTerms):
    """c (exp(s r) - s r - 1) with r = f - y, and its conjugate, by formulas that cancel; s is a plain number."""

    y: np.ndarray
    c: np.ndarray
    s: float = 1.0

    def value(self, f):
        """Differences of numbers of size 1."""
        r = self.s * (f - self.y)
        return self.c * (np.exp(r) - r - 1.0)

    def response(self, f):
        """-c s (exp(s r) - 1)."""
        a = -self.c * self.s * np.expm1(self.s * (f - self.y))
        return a, a

    def conjugate(self, a):
        """c ((1 + v) log(1 + v) - v) - a y with v = -a / (c s) >= -1."""
        v = -a / (self.c * self.s)
        inside = self.c * ((1.0 + v) * np.log1p(np.maximum(v, -1.0 + 1e-300)) - v) - a * self.y
        return np.where(v > -1.0, inside, np.inf)

    def slopes(self, a):
        """-log(1 + v) / s - y."""
        slope = -np.log1p(-a / (self.c * self.s)) / self.s - self.y
        return slope, slope

    def second_derivative(self, f):
        """c s^2 exp(s r)."""
        return self.c * self.s**2 * np.exp(self.s * (f - self.y))


def test_default_bounds_of_formulas_that_cancel():
    """exp(r) - r - 1 near r = 0 has lost most of its digits, and the bounds know it; so do those of its conjugate."""
    rng = np.random.default_rng(2)
    r, c = 10.0 ** rng.uniform(-12, -4, 400) * rng.choice([-1.0, 1.0], 400), 10.0 ** rng.uniform(-3, 3, 400)
    terms, none = LinexTerms(np.zeros(400), c), np.zeros(400)
    exact = c * (r**2 / 2 + r**3 / 6 + r**4 / 24 + r**5 / 120)
    lost = np.abs(terms.value(r) - exact)
    assert (lost <= terms.bound_value_error(r, none)).all()
    assert lost.max() > 1e-15 * c.max() * 1e-2  # the formula does cancel
    exact = c * (r**2 / 2 - r**3 / 6 + r**4 / 12 - r**5 / 20)
    lost = np.abs(terms.conjugate(-c * r) - exact)
    assert (lost <= terms.bound_conjugate_error(-c * r)).all()


def test_default_bound_of_a_conjugate_where_its_slope_vanishes_on_one_side():
    """t log t - t at t = y - a/c near 1, with y so large that the rounding of a moves t: both sides are looked at."""
    y, c = np.full(400, 1e12), np.ones(400)
    a = y - 1.0 + np.arange(-200, 200) * 1.25e-4  # within what a may be rounded to
    terms = Poisson().terms(y, c)
    t = y - a
    moved = np.abs(terms.conjugate(a + 1.25e-4) - terms.conjugate(a))
    assert (t > 0.9).all()
    assert (moved <= 2.0 * SmoothTerms.bound_conjugate_error(terms, a)).all()


def test_default_part_of_terms_with_a_plain_number():
    """Arrays are cut down to some samples, a parameter of the formula is not."""
    part = LinexTerms(np.arange(5.0), np.ones(5), 2.0).take(np.array([3, 1]))
    assert part.y.tolist() == [3.0, 1.0]
    assert part.s == 2.0


@dataclass(frozen=True)
class Linex(Loss):
    """exp(s (f - y)) - s (f - y) - 1."""

    s: float = 1.0
    name = "linex"
    target = "real"
    grows_exponentially = True

    def terms(self, y, c):
        """By formulas that cancel."""
        return LinexTerms(y, c, self.s)


def test_the_judge_allows_for_what_a_loss_of_ones_own_cancels():
    """Where P is not larger than what its terms lose, the certificate says so instead of claiming a small gap."""
    X, _ = make_data()
    y = 1e-7 * X[:, 0]
    problem = Problem(Design(wrap(X), 1.0), y, np.full(60, 1e3), Linex(2.0), None)
    result = solve(problem, Newton(), tol=1e-6)
    r = 2.0 * (X @ result.point.coef[:-1] + result.point.coef[-1] - y)
    exact = 0.5 * result.point.coef @ result.point.coef + np.sum(1e3 * (r**2 / 2 + r**3 / 6))
    assert result.certificate.primal >= exact
    assert result.certificate.dual <= exact


def test_contracts_alone_are_enough_for_a_kernel_of_ones_own():
    """A kernel is called before anything but its contract was imported; the types of samples are registered then."""
    program = """
from dataclasses import dataclass
from maxmargin.contracts import Kernel

@dataclass(frozen=True)
class Own(Kernel):
    name = "own"
    def evaluate(self, A, B): return A.dots(B)
    def diagonal(self, A): return A.norms

assert Own()([[1.0, 2.0], [3.0, 4.0]]).tolist() == [[5.0, 11.0], [11.0, 25.0]]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
