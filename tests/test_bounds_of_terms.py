"""The bounds that the judges add up, one by one and beside exact numbers: of losses, conjugates, sums and shares.

An allowance is granted once: whoever adds bounds up adds 16 roundings of the bounds themselves, so a bound may be low
by that much (`grant`). Where a bound is known not to hold, its test is expected to fail and says by how much.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from exact_numbers import ONE, ZERO, Factors, exact, many_digits, total
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.certificates.in_blocks import (
    BlockSums,
    EnclosedSum,
    FeasibleStep,
    Move,
    add_duals,
    balance_by_feasible_steps,
    count_additions,
    find_spares,
)
from maxmargin.certificates.in_memory import RowSums
from maxmargin.compiled.compiler import njit
from maxmargin.compiled.double_double import EXP_ERROR, TANH_ERROR, exp_double, tanh_double
from maxmargin.compiled.lanes import load, store
from maxmargin.compiled.row_sums import judge_rows
from maxmargin.model.losses import (
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    LeastSquares,
    Logistic,
    MulticlassHinge,
    Multivariate,
    Poisson,
    Quantile,
    Softmax,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.model.normal_equations import RIDGE_SHARE_OF_TRACE, factor_semidefinite
from maxmargin.runtime.rounding import BALANCE_ROUNDINGS, UNIT, Enclosed, bound_sum
from maxmargin.solvers.bundle.cuts import Cuts
from maxmargin.solvers.bundle.model import Model, Step, flatten_mean

SMALL = Decimal("1e-12")  # an argument of log(1 + x) below which its series is summed
SINGLE = [Logistic(), Exponential(), Poisson()]
CLASSES = 4
COSTS = np.random.default_rng(7).uniform(0.1, 5.0, (CLASSES, CLASSES))
SCALES = np.random.default_rng(8).uniform(0.1, 2.0, (CLASSES, CLASSES))
MANY = [Softmax(), MulticlassHinge(), MulticlassHinge(COSTS, SCALES)]


def name_loss(loss) -> str:
    """The name of a loss, and whether errors have costs of their own."""
    return loss.name + ("" if getattr(loss, "plain", True) else " with costs")


def grant(bound: float) -> Decimal:
    """A bound with the least that is added for roundings of bounds, where there is a single row."""
    return Decimal(float(bound)) * Decimal(1.0 + bound_sum(16))


# ---- losses in eighty digits ----------------------------------------------------------------------------------------


def log_one_plus(x: Decimal) -> Decimal:
    """log(1 + x), also where 1 + x has no digits of x."""
    if abs(x) > SMALL:
        return (ONE + x).ln()
    return sum((-((-x) ** k) / k for k in range(1, 7)), ZERO)


def entropy(t: Decimal) -> Decimal:
    """t log t."""
    return t * t.ln() if t > 0 else ZERO


def raise_entropy(t: Decimal, way: Decimal) -> Decimal:
    """(t + way) log(t + way) - t log t, where the two may have no digits that differ."""
    if t + way <= 0 or t == 0:
        return entropy(t + way) - entropy(t)
    return way * (t + way).ln() + t * log_one_plus(way / t)


def exponentials(gaps: list[Decimal]) -> Decimal:
    """log(1 + sum_k exp(g_k))."""
    top = max(gaps)
    if top <= 0:
        return log_one_plus(sum(gap.exp() for gap in gaps))
    return top + ((-top).exp() + sum((gap - top).exp() for gap in gaps)).ln()


def measure_loss(loss, f, y, c: Decimal) -> Decimal:
    """c l(f; y) of one sample; with many scores f is an array, and y a class or an array."""
    if loss.name == "logistic":
        return c * exponentials([-y * f])
    if loss.name == "exponential":
        return c * (-y * f).exp()
    if loss.name == "poisson":
        return c * (f.exp() - y * f)
    if loss.name == "multivariate":
        return c * (f - y) @ exact(loss.M) @ (f - y) / 2
    others = [k for k in range(len(f)) if k != y]
    if loss.name == "softmax":
        return c * exponentials([f[k] - f[y] for k in others])
    costs, scales = (exact(np.ones_like(COSTS) if part is None else part)[y] for part in vars(loss).values())
    return c * max(ZERO, *(scales[k] * (f[k] - f[y] + costs[k]) for k in others))


def find_share(loss, a: Decimal, y: Decimal, c: Decimal) -> Decimal:
    """t in whose terms the conjugate of a loss of one score is written."""
    return y - a / c if loss.name == "poisson" else y * a / c


def measure_conjugate(loss, a: Decimal, y: Decimal, c: Decimal) -> Decimal:
    """conj(a) of one sample with one score."""
    t = find_share(loss, a, y, c)
    if loss.name == "logistic":
        return c * (entropy(t) + ((ONE - t) * log_one_plus(-t) if t < 1 else ZERO))
    return c * (entropy(t) - t)


def draw_scores(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Of either sign, from 1e-8 to 700 in size; all of a sample far from zero and near each other, in some columns."""
    f = rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-8, np.log10(700.0), shape)
    return np.where(rng.random(shape[-1]) < 0.3, np.atleast_2d(f)[0] + rng.normal(size=shape), f)


def draw_widths(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """How far scores may be off: not at all, by a rounding, or by up to 10."""
    wide = 10.0 ** rng.uniform(-16, 1, f.shape)
    return rng.choice([0.0, 1.0, 1.0], f.shape) * np.where(rng.random(f.shape[-1]) < 0.4, UNIT * np.abs(f), wide)


def draw_targets(rng: np.random.Generator, loss, n: int) -> np.ndarray:
    """Labels or counts."""
    if loss.target == "label":
        return rng.choice([-1.0, 1.0], n)
    return np.round(10.0 ** rng.uniform(0, 4, n)) * rng.choice([0.0, 1.0, 1.0, 1.0], n)


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """From 1e-6 to 1e6."""
    return 10.0 ** rng.uniform(-6, 6, n)


# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_values_at_scores_that_are_off(loss):
    """c l of one score, anywhere in an interval around the score it was evaluated at."""
    rng, n = np.random.default_rng(0), 250
    f, y, c = draw_scores(rng, n), draw_targets(rng, loss, n), draw_weights(rng, n)
    wide, places = draw_widths(rng, f), [(-1.0, 0.0, 1.0, *rng.uniform(-1, 1, 2)) for _ in range(n)]
    terms = loss.terms(y, c)
    values, bounds = terms.value(f), terms.bound_value_error(f, wide)
    counted = np.flatnonzero(np.isfinite(bounds) & (bounds < 1e300))
    assert len(counted) > 0.95 * n
    with many_digits():
        for i in counted:
            for place in places[i]:
                at = exact(f[i]) + exact(place) * exact(wide[i])
                off = measure_loss(loss, at, exact(y[i]), exact(c[i])) - exact(values[i])
                assert abs(off) <= grant(bounds[i])


@pytest.mark.parametrize("loss", MANY, ids=name_loss)
def test_values_of_many_scores_that_are_off(loss):
    """At corners of the box of scores, at those where the loss is largest and least among them, and inside."""
    rng, n = np.random.default_rng(1), 100
    f, c, y = draw_scores(rng, CLASSES, n), draw_weights(rng, n), rng.integers(0, CLASSES, n)
    wide = draw_widths(rng, f)
    terms = loss.terms(y.astype(float), c)
    values, bounds = terms.value(f), terms.bound_value_error(f, wide)
    with many_digits():
        for i in range(n):
            against = np.where(np.arange(CLASSES) == y[i], -1.0, 1.0)
            sides = (0.0 * against, against, -against, rng.choice([-1.0, 1.0], CLASSES), rng.uniform(-1, 1, CLASSES))
            for side in sides:
                at = exact(f[:, i]) + exact(side) * exact(wide[:, i])
                assert abs(measure_loss(loss, at, y[i], exact(c[i])) - exact(values[i])) <= grant(bounds[i])


def draw_metric(rng: np.random.Generator, k: int, condition: float) -> np.ndarray:
    """A symmetric matrix with eigenvalues from 1 / condition to 1."""
    Q = np.linalg.qr(rng.normal(size=(k, k)))[0]
    M = (Q * np.geomspace(1.0, 1.0 / condition, k)) @ Q.T
    return 0.5 * (M + M.T)


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e6])
def test_values_of_vectors_that_are_off(condition):
    """Targets of several numbers, near to the scores or far from them."""
    rng, n, k = np.random.default_rng(2), 40, 3
    loss = Multivariate(draw_metric(rng, k, condition))
    f, c = draw_scores(rng, k, n), draw_weights(rng, n)
    y = np.where(rng.random(n) < 0.5, f * (1.0 + 1e-9 * rng.normal(size=(k, n))), 100.0 * rng.normal(size=(k, n)))
    wide = draw_widths(rng, f)
    terms = loss.terms(y, c)
    values, bounds = terms.value(f), terms.bound_value_error(f, wide)
    with many_digits():
        for i in range(n):
            uphill = np.sign(loss.M @ (f[:, i] - y[:, i]))
            for side in (np.zeros(k), uphill, -uphill, rng.choice([-1.0, 1.0], k), rng.uniform(-1, 1, k)):
                at = exact(f[:, i]) + exact(side) * exact(wide[:, i])
                assert abs(measure_loss(loss, at, exact(y[:, i]), exact(c[i])) - exact(values[i])) <= grant(bounds[i])


@pytest.mark.parametrize("loss", [Exponential(), Poisson()], ids=name_loss)
def test_bounds_that_overflow_are_infinite(loss):
    """exp(800) is 1e347: a finite bound would be wrong."""
    terms = loss.terms(np.ones(1), np.full(1, 1e-3))
    assert terms.bound_value_error(np.zeros(1), np.full(1, 800.0))[0] == np.inf


# ---- conjugates -----------------------------------------------------------------------------------------------------


def draw_shares(rng: np.random.Generator, n: int) -> np.ndarray:
    """Between 0 and 1: inside, near to an end, a rounding from 1, and at an end."""
    kinds = [
        rng.random(n), 10.0 ** rng.uniform(-290, 0, n), 1.0 - 10.0 ** rng.uniform(-16, 0, n), np.zeros(n), np.ones(n),
        1.0 - UNIT * rng.integers(0, 4, n),
    ]  # fmt: skip
    return np.choose(rng.integers(0, len(kinds), n), kinds)


def draw_duals(rng: np.random.Generator, loss, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Duals of a loss of one score, within their domain up to rounding."""
    t = draw_shares(rng, len(y))
    if loss.name == "logistic":
        return c * t * y
    large = t * 10.0 ** rng.uniform(0, 250 if loss.name == "exponential" else 4, len(y))
    if loss.name == "exponential":
        return c * np.where(rng.random(len(y)) < 0.3, large, t) * y
    return np.where(rng.random(len(y)) < 0.5, c * (y - large), c * (y * t))


def list_conjugates(loss, seed: int, n: int):
    """(exact share, conjugate as computed, exactly, and the bound) of duals that are in their domain exactly."""
    rng = np.random.default_rng(seed)
    y, c = draw_targets(rng, loss, n), draw_weights(rng, n)
    a = draw_duals(rng, loss, y, c)
    terms = loss.terms(y, c)
    for i, (value, bound) in enumerate(zip(terms.conjugate(a), terms.bound_conjugate_error(a), strict=True)):
        numbers = exact(a[i]), exact(y[i]), exact(c[i])
        t = find_share(loss, *numbers)
        if t >= 0 and (t <= 1 or loss.name != "logistic") and np.isfinite(value):  # an infinite one makes no claim
            yield t, exact(value), measure_conjugate(loss, *numbers), bound


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_conjugates_inside_their_domain_and_at_its_ends(loss):
    with many_digits():
        found = list(list_conjugates(loss, 3, 1000))
        assert len(found) > 900
        assert sum(t == 0 for t, *_ in found) > 50
        for _, value, truth, bound in found:
            if loss.name != "poisson" or bound > 0:  # where it is zero, see the next test
                assert abs(value - truth) <= grant(bound)


def test_conjugates_of_counts_that_are_used_up():
    """t = y - a/c of about 1e-16 y, computed as 0: the conjugate is off by c t (1 - log t)."""
    with many_digits():
        for t, value, truth, bound in list_conjugates(Poisson(), 3, 1000):
            if bound == 0:
                assert abs(value - truth) <= grant(bound), t


def draw_simplex(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Shares of classes that sum to one: inside, near to a corner or a side, and at a corner."""
    n, columns = len(y), np.arange(len(y))
    t = rng.dirichlet(np.ones(CLASSES), n).T
    own, other = np.zeros_like(t), np.zeros_like(t)
    own[y, columns], other[(y + 1) % CLASSES, columns] = 1.0, 1.0
    near = 10.0 ** rng.uniform(-17, -1, n)
    kinds = [t, rng.dirichlet(np.full(CLASSES, 0.05), n).T, own, other]
    kinds += [corner + near * (t - corner) for corner in (own, other)]
    return np.choose(rng.integers(0, len(kinds), n), kinds)


@pytest.mark.parametrize("loss", MANY, ids=name_loss)
def test_conjugates_of_many_scores(loss):
    """The dual of a sample's own class is minus the sum of the others, which float64 has up to rounding."""
    rng, n = np.random.default_rng(4), 300
    y, c = rng.integers(0, CLASSES, n), draw_weights(rng, n)
    terms = loss.terms(y.astype(float), c)
    scales = 1.0 if name_loss(loss) in ("softmax", "multiclass_hinge") else SCALES[y].T
    a = terms.repair(-c * draw_simplex(rng, y) * scales, None)
    values, bounds = terms.conjugate(a), terms.bound_conjugate_error(a)
    costs = exact(np.ones_like(COSTS) if name_loss(loss) == "multiclass_hinge" else COSTS)
    with many_digits():
        for i in range(n):
            others = np.delete(np.arange(CLASSES), y[i])
            duals, weight = exact(a[others, i]), exact(c[i])
            truth = total(duals * costs[y[i], others])
            if loss.name == "softmax":
                rest = max(ONE + total(duals) / weight, ZERO)  # below zero by a rounding at a corner
                truth = weight * sum((entropy(-dual / weight) for dual in duals), entropy(rest))
            assert abs(exact(values[i]) - truth) <= grant(bounds[i])


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e4, 1e8, 1e11])
def test_conjugates_of_vectors(condition):
    """a' M^-1 a with the exact inverse of M, however near to singular M is."""
    rng, n, k = np.random.default_rng(5), 30, 3
    loss = Multivariate(draw_metric(rng, k, condition))
    c, y = draw_weights(rng, n), rng.normal(size=(k, n)) * rng.choice([0.0, 1.0, 1e3], n)
    a = np.where(rng.random(n) < 0.5, c * rng.normal(size=(k, n)), c * (loss.M @ rng.normal(size=(k, n))))
    terms = loss.terms(y, c)
    values, bounds = terms.conjugate(a), terms.bound_conjugate_error(a)
    with many_digits():
        factors = Factors(exact(loss.M))
        for i in range(n):
            dual = exact(a[:, i])
            truth = dual @ factors.solve(dual) / (2 * exact(c[i])) - dual @ exact(y[:, i])
            assert abs(exact(values[i]) - truth) <= grant(bounds[i])


# ---- moving duals ---------------------------------------------------------------------------------------------------


def move_dual(loss, numbers: tuple, f: Decimal, way: Decimal) -> Decimal:
    """What conj(a) + a f changes by when a, the first of the numbers (a, y, c), moves."""
    a, y, c = numbers
    return measure_conjugate(loss, a + way, y, c) - measure_conjugate(loss, a, y, c) + way * f


def find_most_room(loss, a: np.ndarray, y: np.ndarray, c: np.ndarray) -> int:
    """The dual that is furthest from the ends of its domain."""
    shares = [find_share(loss, *map(exact, numbers)) for numbers in zip(a, y, c, strict=True)]
    if loss.name == "logistic":
        shares = [min(t, ONE - t) for t in shares]
    return max(range(len(a)), key=lambda i: shares[i] * exact(c[i]))


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_moving_the_dual_with_most_room(loss):
    """As much as the judge may ask for: the rounding of the sum of all duals, and up to a quarter of the room."""
    rng, finite = np.random.default_rng(6), 0
    with many_digits():
        for _ in range(120):
            n = int(rng.integers(1, 6))
            y, c, f = draw_targets(rng, loss, n), draw_weights(rng, n), draw_scores(rng, n)
            t = 10.0 ** rng.uniform(-3, 0, n)
            a = c * (y - t * np.maximum(y, 1.0)) if loss.name == "poisson" else c * t * y
            moved = bound_sum(n + 2) * np.abs(a).sum() * 10.0 ** rng.uniform(0, 15)
            slope = loss.terms(y, c).bound_slope(a, f, moved)
            if np.isfinite(slope):
                finite += 1
                k = find_most_room(loss, a, y, c)
                numbers = tuple(map(exact, (a[k], y[k], c[k])))
                for share in (-1.0, 1.0, rng.uniform(-1, 1)):
                    changed = move_dual(loss, numbers, exact(f[k]), exact(share) * exact(moved))
                    assert abs(changed) <= exact(moved) * grant(slope)
    assert finite > 60


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_duals_without_room_have_no_bound(loss):
    terms, a, f = loss.terms(np.ones(2), np.full(2, 3.0)), np.ones(2), np.zeros(2)
    assert terms.bound_slope(a, f, 0.0) == 0.0
    assert terms.bound_slope(a, f, 0.2) < np.inf
    assert terms.bound_slope(a, f, 0.6) == np.inf


def test_moving_the_dual_of_a_count_whose_slope_is_zero():
    """log t near zero, and a score of zero: then what t = y - a/c is off by is a large part of the slope."""
    rng, loss = np.random.default_rng(9), Poisson()
    with many_digits():
        for _ in range(200):
            c, y = draw_weights(rng, 1), np.full(1, 2.0)
            a = c * (1.0 - 6.0 * UNIT)
            moved = bound_sum(3) * float(a[0])
            slope = loss.terms(y, c).bound_slope(a, np.zeros(1), moved)
            for side in (-1, 1):
                changed = move_dual(loss, tuple(map(exact, (a[0], y[0], c[0]))), ZERO, side * exact(moved))
                assert abs(changed) <= exact(moved) * grant(slope)


@pytest.mark.parametrize("loss", MANY, ids=name_loss)
def test_moving_a_share_between_two_classes(loss):
    """From the class with the largest share to any other one, and back; also to one without a share."""
    rng, n = np.random.default_rng(10), 100
    y, c, f = rng.integers(0, CLASSES, n), draw_weights(rng, n), draw_scores(rng, CLASSES, n)
    t = draw_simplex(rng, y)
    costs = exact(np.ones_like(COSTS) if name_loss(loss) == "multiclass_hinge" else COSTS)
    moved = 10.0 ** rng.uniform(-300, -1, n) * c
    with many_digits():
        for i in range(n):
            one = slice(i, i + 1)
            terms = loss.terms(y[one].astype(float), c[one])
            slope = terms.bound_slope(-c[one] * t[:, one], f[:, one], moved[i])
            rich, weight, way = int(t[:, i].argmax()), exact(c[i]), exact(moved[i])
            for poor in np.delete(np.arange(CLASSES), rich):
                ends = (rich, -1), (poor, 1)
                changed = way * (exact(f[poor, i]) - exact(f[rich, i]))
                if loss.name == "softmax":
                    taken, given = (raise_entropy(exact(t[k, i]), side * way / weight) for k, side in ends)
                    changed = -changed + weight * (taken + given)
                else:
                    price = np.where(np.arange(CLASSES) == y[i], ZERO, costs[y[i]])
                    changed += way * (price[poor] - price[rich])
                assert abs(changed) <= way * grant(slope)


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e6])
def test_moving_a_component_of_a_vector(condition):
    """By a rounding of the duals, in the sample with the largest weight, any component either way."""
    rng, n, k = np.random.default_rng(11), 5, 3
    with many_digits():
        for _ in range(20):
            loss = Multivariate(draw_metric(rng, k, condition))
            c, y, f = draw_weights(rng, n), rng.normal(size=(k, n)), draw_scores(rng, k, n)
            terms = loss.terms(y, c)
            a = c * (loss.M @ rng.normal(size=(k, n)))
            moved = bound_sum(k + 8) * float(np.abs(a).sum())
            slope = terms.bound_slope(a, f, moved)
            factors, i, way = Factors(exact(loss.M)), int(c.argmax()), exact(moved)
            inner = factors.solve(exact(a[:, i])) / exact(c[i])
            for j, side in product(range(k), (-1, 1)):
                unit = exact(np.eye(k)[j])
                bend = way * way * (unit @ factors.solve(unit)) / (2 * exact(c[i]))
                changed = side * way * (inner[j] - exact(y[j, i]) + exact(f[j, i])) + bend
                assert abs(changed) <= way * grant(slope)


# ---- sums over rows -------------------------------------------------------------------------------------------------

KINKED = [Hinge(), EpsilonInsensitive(0.25), Quantile(0.3)]
CURVED = [SquaredHinge(), SquaredEpsilonInsensitive(0.25), Huber(0.5), LeastSquares()]


class Rows(SimpleNamespace):
    """Rows of a loss, their duals, scores, errors of these, an intercept and a balance."""

    def judge(self):
        """What the compiled judge says: its sums, what must be moved, and what that costs."""
        found, moved, cost = judge_rows(self.s, self.errors, self.b, self.a, *self.row, True, self.balance)
        return RowSums(*found), moved, cost

    @property
    def missing(self) -> Fraction:
        """balance - sum(a), exactly."""
        return Fraction(self.balance) - sum(map(Fraction, self.a.tolist()))

    def write(self, i: int, side: int) -> tuple[list[Fraction | None], Fraction, Fraction]:
        """(p, d, e, lo, hi), f and a of a row as fractions, bounds that are infinite as None."""
        row = [Fraction(float(part[i])) if np.isfinite(part[i]) else None for part in self.row]
        f = Fraction(float(self.s[i])) + Fraction(self.b) + side * Fraction(float(self.errors[i]))
        return row, f, Fraction(float(self.a[i]))


def draw_rows(loss, seed: int, balance: float, n: int = 20) -> Rows:
    """Rows with duals at bounds, at zero and between; the last one is clearly free, and misses the balance by a bit."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n) if loss.target == "label" else rng.normal(size=n)
    c = 10.0 ** rng.uniform(-3, 3, n)
    row = loss.row(y, c)
    low, high = np.maximum(row.lo, -3.0 * c), np.minimum(row.hi, 3.0 * c)
    a = np.where(rng.random(n) < 0.3, 0.0, np.clip(low + rng.choice([0.0, 0.3, 1.0], n) * (high - low), low, high))
    rest = balance - float(a.sum())
    missed = rng.choice([-1.0, 1.0]) * (np.abs(a).sum() + abs(rest)) * 10.0 ** rng.uniform(-17, -8)
    y, c, a = np.append(y, np.sign(rest)), np.append(c, 4.0 * abs(rest)), np.append(a, rest + missed)
    row = type(row)(*(np.ascontiguousarray(np.broadcast_to(part, n + 1), float) for part in loss.row(y, c)))
    errors = 10.0 ** rng.uniform(-17, -1, n + 1) * (rng.random(n + 1) < 0.8)
    away = np.where(rng.random(n + 1) < 0.5, rng.normal(size=n + 1), rng.choice([0.0, 1.0, -1.0, 0.5], n + 1) * errors)
    b = float(rng.choice([0.0, 0.3, 1e3]))
    s = rng.choice([-1.0, 1.0], n + 1) * row.e - row.p + away - b
    return Rows(row=row, a=a, s=s, errors=errors, b=b, balance=balance)


def measure_row(row: list[Fraction | None], f: Fraction, a: Fraction) -> tuple[Fraction, Fraction]:
    """c l(f) = max over t of -t f - conj(t), and conj(a)."""
    p, d, e, lo, hi = row

    def conjugate(t: Fraction) -> Fraction:
        return p * t + d * t * t / 2 + e * abs(t)

    places = [Fraction(0), lo, hi] + ([(-f - p - e) / d, (-f - p + e) / d] if d else [])
    inside = [t for t in places if t is not None and (lo is None or t >= lo) and (hi is None or t <= hi)]
    return max(-t * f - conjugate(t) for t in inside), conjugate(a)


@pytest.mark.parametrize("balance", [0.0, -7.3, 1e5])
@pytest.mark.parametrize("loss", [*KINKED, *CURVED], ids=name_loss)
@pytest.mark.cover("all")
def test_sums_with_a_balance_hold_from_both_sides(loss, balance):
    for seed in range(4):
        rows = draw_rows(loss, seed, balance, n=12 if seed or balance else 280)  # more than are summed at a time
        sums, moved, _ = rows.judge()
        assert sums.inside == 1.0
        assert Fraction(moved) >= abs(rows.missing)
        assert moved <= 1.01 * float(abs(rows.missing)) + BALANCE_ROUNDINGS * UNIT * abs(balance) + 1e-26 * sums.size
        for side in (-1, 0, 1):
            each = [rows.write(i, side) for i in range(len(rows.a))]
            losses, conjugates = (sum(part) for part in zip(*(measure_row(*one) for one in each), strict=True))
            products = sum(f * a for _, f, a in each)
            assert abs(losses - Fraction(sums.losses)) <= Fraction(sums.loss_error)
            assert abs(conjugates - Fraction(sums.conjugates)) <= Fraction(sums.conjugate_error)
            assert 0 <= losses + conjugates + products <= Fraction(sums.most)


def cost_exactly(rows: Rows, i: int, way: Fraction) -> Fraction:
    """What conj(a) + a f of a row rises by when its dual moves, either way and at the worst score of its interval."""
    rises = []
    for side, end in product((-1, 1), repeat=2):
        row, f, a = rows.write(i, end)
        rises.append(measure_row(row, f, a + side * way)[1] - measure_row(row, f, a)[1] + side * way * f)
    return max(rises)


def check_cost(rows: Rows, granted: int) -> None:
    """Some dual can move by what the judge says at its cost; d moved^2 / 2 is `granted` so many times."""
    _, moved, cost = rows.judge()
    way = Fraction(moved)
    able = np.flatnonzero((rows.row.lo + moved < rows.a) & (rows.a < rows.row.hi - moved))
    assert len(rows.a) - 1 in able
    least = min(cost_exactly(rows, i, way) - granted * Fraction(float(rows.row.d[i])) * way * way / 2 for i in able)
    assert least <= Fraction(cost) * Fraction(1.0 + bound_sum(8))


@pytest.mark.parametrize("balance", [0.0, -7.3, 1e5])
@pytest.mark.parametrize("loss", [*KINKED, *CURVED], ids=name_loss)
@pytest.mark.cover("all")
def test_a_free_dual_takes_up_what_the_balance_misses(loss, balance):
    """Up to a term of second order, which is zero without curvature, and which the next test asks for."""
    for seed in range(12):
        check_cost(draw_rows(loss, seed, balance, n=8), granted=1)


@pytest.mark.parametrize("loss", CURVED, ids=name_loss)
def test_a_free_dual_of_a_curved_loss_takes_up_what_the_balance_misses(loss):
    for seed in range(20):
        check_cost(draw_rows(loss, seed, 0.0, n=8), granted=0)


# ---- functions in twice the precision -------------------------------------------------------------------------------


@njit(nogil=True, error_model="numpy")
def evaluate_lanes(high, low, value, rest, hyperbolic):
    """exp or tanh of vectors of eight numbers."""
    for k in range(np.uintp(0), np.uintp(high.shape[0]), np.uintp(8)):
        x, y = load(high, k), load(low, k)
        if hyperbolic:
            a, b = tanh_double(x, y)
        else:
            a, b = exp_double(x, y)
        store(value, k, a)
        store(rest, k, b)


def evaluate_pairs(high: np.ndarray, low: np.ndarray, hyperbolic: bool) -> list[Decimal]:
    """exp(high + low) or tanh(high + low), both parts added exactly; vectors must be full."""
    assert len(high) % 8 == 0
    value, rest = np.empty_like(high), np.empty_like(high)
    evaluate_lanes(high, low, value, rest, hyperbolic)
    return list(exact(value) + exact(rest))


def draw_arguments(seed: int, most: float) -> tuple[np.ndarray, np.ndarray]:
    """Near zero, subnormal, near multiples of log(2) / 2, near 1/16, and anywhere up to `most`; and low parts."""
    rng, n = np.random.default_rng(seed), 640
    signs = rng.choice([-1.0, 1.0], (3, n))
    high = np.concatenate([
        rng.uniform(-1, 1, n), signs[0] * 10.0 ** rng.uniform(-323, 0, n), rng.uniform(-most, most, n),
        signs[1] * np.minimum(0.5 * np.log(2.0) * rng.integers(0, 2020, n) * (1.0 + 1e-12 * rng.normal(size=n)), most),
        signs[2] * 0.0625 * (1.0 + rng.choice([0.0, UNIT, 1e-3, 0.1], n) * rng.normal(size=n)),
        np.array([0.0, -0.0, 5e-324, -5e-324, most, -most, 0.0625, -0.0625]),
    ])  # fmt: skip
    return high, UNIT * high * rng.choice([0.0, 1.0, -1.0, rng.random()], len(high))


def test_exponentials_in_twice_the_precision():
    high, low = draw_arguments(12, 699.9)
    with many_digits(50):
        for x, value in zip(exact(high) + exact(low), evaluate_pairs(high, low, False), strict=True):
            assert abs(value - x.exp()) <= Decimal(EXP_ERROR) * x.exp()


def test_exponentials_beyond_their_range_are_cut_off():
    """exp(-700) is a normal number, with a rest that is not; no argument gives less, or more than exp(700)."""
    high = np.array([-700.0, -700.1, -745.0, -1e5, -np.inf, 700.0, 710.0, np.inf])
    with many_digits(50):
        found = evaluate_pairs(high, np.zeros(8), False)
        for value, end in zip(found, [-700] * 5 + [700] * 3, strict=True):
            assert abs(value - Decimal(end).exp()) <= Decimal(EXP_ERROR) * Decimal(end).exp()


def test_hyperbolic_tangents_in_twice_the_precision():
    high, low = draw_arguments(13, 400.0)
    with many_digits(50):
        for x, value in zip(exact(high) + exact(low), evaluate_pairs(high, low, True), strict=True):
            power = (-2 * abs(x)).exp()
            truth = (ONE - power) / (ONE + power) if abs(x) > SMALL else abs(x) - abs(x) ** 3 / 3
            assert abs(value - truth.copy_sign(x)) <= Decimal(TANH_ERROR) * truth


# ---- duals of blocks ------------------------------------------------------------------------------------------------


def weigh_rooms(rng: np.random.Generator, n_blocks: int):
    """Duals of some blocks that nearly sum to zero, what the judge knows of them, and their exact sum and rooms."""
    n, additions = 6, count_additions(n_blocks)
    a = rng.normal(size=(n_blocks, n)) * 10.0 ** rng.uniform(-3, 3, (n_blocks, 1))
    a[-1] -= a.sum() / n * (1.0 - rng.choice([0.0, 1e-16, 1e-12, 1e-3]))
    lo, hi = a - rng.random(a.shape), a + rng.random(a.shape)
    summed = sum((add_duals(block) for block in a), EnclosedSum())
    up, down = (sum((FeasibleStep(float(way.sum())) for way in end - a), FeasibleStep()) for end in (hi, lo))
    weighed = BlockSums(EnclosedSum(), EnclosedSum(), EnclosedSum(), 0.0, EnclosedSum(), summed, up, down, 0.0)
    exactly = [sum(map(Fraction, part.ravel().tolist())) for part in (a, lo, hi)]
    rooms = exactly[2] - exactly[0], exactly[0] - exactly[1]
    return weighed, summed.close(additions), exactly[0], rooms, n * n_blocks


def check_moves(moves: list[Move], forwards: bool, missing: Fraction, ahead: Fraction, back: Fraction) -> None:
    """Shares within the spares make up for what is missing: ahead, or back where the sign is another one."""
    share, spare = Fraction(moves[0].share), Fraction(moves[0].spare)
    needed = missing / ahead if forwards else Fraction(0)
    assert abs(needed - share) <= spare
    assert share + spare <= 1
    if not forwards and missing:
        assert missing / back <= Fraction(moves[1].spare) <= 1


def test_rooms_balance_duals_exactly():
    """The sum of the duals as it is, and as it may be; the way back is allowed where its sign is not known."""
    rng, found, uncertain = np.random.default_rng(14), 0, 0
    for _ in range(80):
        n_blocks = int(rng.integers(1, 80))
        weighed, summed, truth, (up, down), n = weigh_rooms(rng, n_blocks)
        problem = SimpleNamespace(blocks=SimpleNamespace(n_blocks=n_blocks), n=n)
        moves = balance_by_feasible_steps(problem, weighed, summed)
        value, error = Fraction(summed.value), Fraction(summed.error)
        assert abs(value - truth) <= error
        if moves is None:
            assert abs(truth) + 2 * error >= Fraction(0.99) * min(up, down)
            continue
        found, uncertain = found + 1, uncertain + (len(moves) == 2)
        ahead, back = (down, up) if value > 0 else (up, down)
        for possible in (truth, value - error, value + error):
            check_moves(moves, possible * value >= 0, abs(possible), ahead, back)
    assert found > 40
    assert uncertain > 6


def test_moves_cost_no_more_than_they_say():
    """t rise + t^2 quadratic, wherever t and the rise are in their intervals."""
    rng = np.random.default_rng(15)
    for _ in range(200):
        size = 10.0 ** rng.uniform(-8, 8)
        rise = Enclosed(size * rng.normal(), size * rng.choice([0.0, 1e-15, 1e-3]) * rng.random())
        spare = rng.choice([0.0, 1e-15, 1e-4])
        move = Move(rng.random() * rng.choice([0.0, 1e-9, 1.0]), spare, Enclosed(np.zeros(1), 0.0), rise, rng.random())
        most = Fraction(float(move.cost.high))
        for t_side, rise_side in product((-1, 0, 1), repeat=2):
            t = Fraction(move.share) + t_side * Fraction(float(move.spare))
            slope = Fraction(rise.value) + rise_side * Fraction(float(rise.error))
            assert t < 0 or t * slope + t * t * Fraction(move.quadratic) <= most


def solve_exactly(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """x with A x = b, by elimination; None where A is singular."""
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        if rows[k][k] == 0:
            return None
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [mine - rows[i][k] * its for mine, its in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def write_fractions(matrix: np.ndarray) -> list[list[Fraction]]:
    """The numbers of a matrix."""
    return [[Fraction(float(value)) for value in row] for row in matrix]


def find_mixture(sums: list[list[Fraction]], spares: list[Fraction], aim: list[Fraction]) -> list[Fraction] | None:
    """Shares s between 0 and the spares with sum_i s_i sums_i = aim: a vertex, as many of them as equations inside."""
    k, every = len(aim), range(len(sums))
    vertices = product(combinations(every, len(sums) - k), product((0, 1), repeat=len(sums) - k))
    for outer, ends in sorted(vertices, key=lambda vertex: sum(vertex[1])):
        shares = [Fraction(0)] * len(sums)
        for i, end in zip(outer, ends, strict=True):
            shares[i] = end * spares[i]
        inner = [i for i in every if i not in outer]
        left = [goal - sum(s * row[j] for s, row in zip(shares, sums, strict=True)) for j, goal in enumerate(aim)]
        found = solve_exactly([[sums[i][j] for i in inner] for j in range(k)], left)
        if found is not None and all(0 <= share <= spares[i] for i, share in zip(inner, found, strict=True)):
            return [dict(zip(inner, found, strict=True)).get(i, shares[i]) for i in every]
    return None


def draw_totals(rng: np.random.Generator, k: int, zero_sum: bool) -> np.ndarray:
    """Sums of duals at intercepts shifted up and down, with a few bits each, so that they sum to zero exactly."""
    ends = np.concatenate([np.eye(k), -np.eye(k)])
    totals = np.round(64.0 * (ends + 0.3 * rng.normal(size=ends.shape))) / 64.0 * 2.0 ** rng.integers(-20, 20)
    if zero_sum:
        totals[:, -1] = -totals[:, :-1].sum(axis=1)
    return totals


def check_spares(totals: np.ndarray, doubts: np.ndarray, left: np.ndarray, sides: np.ndarray, k: int) -> None:
    """Sums at corners of the box `left`, and totals at one of `doubts`, are corrected by shares within the spares.

    k is the number of equations: with duals that sum to zero over classes the last one follows from the others.
    """
    spares = find_spares(totals, doubts, left, k < totals.shape[1])
    assert spares is not None
    moved = [
        [a + b * int(side) / k for a, b, side in zip(*rows, strict=True)][:k]
        for rows in zip(write_fractions(totals), write_fractions(doubts), sides, strict=True)
    ]
    for corner in product((-1, 1), repeat=k):
        aim = [side * Fraction(float(width)) for side, width in zip(corner, left[:k], strict=True)]
        if k < totals.shape[1] and sum(aim):
            share = min(Fraction(1), Fraction(float(left[-1])) / abs(sum(aim)))
            aim = [share * value for value in aim]
        shares = find_mixture(moved, [Fraction(float(spare)) for spare in spares], aim)
        assert shares is not None
        assert [sum(s * row[j] for s, row in zip(shares, moved, strict=True)) for j in range(k)] == aim


@pytest.mark.parametrize("zero_sum", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.cover("all")
def test_spare_shares_correct_any_sums(k, zero_sum):
    """Whatever the sums miss, and wherever the totals are in their intervals."""
    rng, found = np.random.default_rng(16 + k), 0
    for _ in range(12):
        zero = zero_sum and k > 1
        totals = draw_totals(rng, k, zero)
        unit = np.abs(totals).max()
        doubts = np.full(totals.shape, unit * rng.choice([0.0, 1e-15, 1e-5]))
        left = unit * 10.0 ** rng.uniform(-15, -3) * rng.uniform(0.5, 1.0, k)
        sides = rng.choice([-1, 1], totals.shape)
        if find_spares(totals, doubts, left, zero) is not None:
            found += 1
            check_spares(totals, doubts, left, sides, k - zero)
    assert found >= 6


def test_spare_shares_correct_sums_of_unequal_widths():
    """To correct the first sum spoils the second by 1e-13, and only a share of 1e-7 can mend that."""
    totals = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1e-6], [0.0, -1e-6]])
    check_spares(totals, np.full((4, 2), 1e-10), np.array([1e-3, 1e-15]), np.ones((4, 2)), 2)


@pytest.mark.parametrize(
    "totals",
    [np.array([[1.0], [2.0]]), np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.array([[np.inf], [-1.0]])],
    ids=["one side", "one way", "infinite"],
)
def test_there_are_no_spare_shares_where_sums_cannot_go_both_ways(totals):
    assert find_spares(totals, np.zeros(totals.shape), np.full(totals.shape[1], 1e-9), False) is None


# ---- the mean of cuts -----------------------------------------------------------------------------------------------


def draw_cuts(rng: np.random.Generator, m: int, d: int, flat: int) -> tuple[Cuts, np.ndarray]:
    """Cuts and weights; in the last `flat` coordinates the mean is flat to rounding."""
    blocks = (slice(0, d - flat), slice(d - flat, d))
    cuts, weights = Cuts(d, blocks), rng.dirichlet(np.ones(m))
    slopes = rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-4, 4, d)
    slopes[-1, d - flat :] = -(weights[:-1] @ slopes[:-1, d - flat :]) / weights[-1]
    for slope, offset in zip(slopes, 10.0 ** rng.uniform(-2, 4) * rng.normal(size=m), strict=True):
        cuts.add(slope, float(offset))
    cuts.factor = float(rng.choice([1.0, 0.3, 1e4]))
    return cuts, weights


def flatten_exactly(slopes: np.ndarray, weights: np.ndarray, moved: np.ndarray) -> list[Fraction]:
    """The weights, of which those that may move are such that the mean is flat and all sum to one."""
    columns = write_fractions(np.column_stack([slopes, np.ones(len(slopes))]))
    kept, shares = np.flatnonzero(moved), [Fraction(float(weight)) for weight in weights]
    aim = [Fraction(0)] * slopes.shape[1] + [Fraction(1)]
    fixed = [k for k in range(len(shares)) if k not in kept]
    left = [goal - sum(shares[k] * columns[k][j] for k in fixed) for j, goal in enumerate(aim)]
    for k, share in zip(
        kept, solve_exactly([[columns[k][j] for k in kept] for j in range(len(aim))], left), strict=True
    ):
        shares[k] = share
    return shares


@pytest.mark.parametrize("flat", [1, 2, 3])
def test_weights_near_those_found_make_the_mean_flat(flat):
    rng, found = np.random.default_rng(20 + flat), 0
    for _ in range(40):
        cuts, weights = draw_cuts(rng, int(rng.integers(flat + 1, flat + 6)), flat + 1, flat)
        slopes = cuts.slopes[:, 1:]
        answer = flatten_mean(slopes, weights)
        if answer is not None:
            found += 1
            near, extra = answer
            assert np.count_nonzero(extra) == flat + 1
            for share, weight, width in zip(flatten_exactly(slopes, near, extra), near, extra, strict=True):
                assert share >= 0
                assert abs(share - Fraction(float(weight))) <= Fraction(float(width))
            assert extra.max() <= 1e-6
    assert found > 25


def test_no_weights_make_a_mean_flat_that_only_rises():
    slopes = np.array([[1.0], [2.0], [0.5]])
    assert flatten_mean(slopes, np.full(3, 1.0 / 3.0)) is None
    assert flatten_mean(slopes, np.array([1.0, 0.0, 0.0])) is None


BOXES = {
    "ridge": ((0.7, 1e-3), False),
    "box": ((0.0, 0.0), True),
    "ridge and box": ((0.7, 0.0), True),
    "flat": ((0.7, 0.0), False),
}


def minimise_exactly(cuts: Cuts, shares: list[Fraction], ridges: list[Fraction], lo, hi) -> Fraction:
    """min over the box of the mean of the cuts plus ridge/2 |x|^2, coordinate by coordinate."""
    factor = Fraction(cuts.factor)
    least = factor * sum(share * Fraction(float(offset)) for share, offset in zip(shares, cuts.offsets, strict=True))
    for column, ridge, low, high in zip(write_fractions(cuts.slopes.T), ridges, lo, hi, strict=True):
        slope = factor * sum(share * value for share, value in zip(shares, column, strict=True))
        ends = [Fraction(float(end)) for end in (low, high) if np.isfinite(end)]
        if ridge:
            place = -slope / ridge
            ends = [min(max(place, *ends[:1]), *ends[1:])] if ends else [place]
        least += min((slope * x + ridge * x * x / 2 for x in ends), default=Fraction(0))
        assert ends or slope == 0
    return least


@pytest.mark.parametrize("kind", BOXES)
def test_the_mean_of_cuts_bounds_the_model_from_below(kind):
    """The bound is near the exact minimum of a mean, and no value of the model is below it."""
    (ridges, boxed), rng, found = BOXES[kind], np.random.default_rng(30), 0
    for _ in range(40):
        cuts, weights = draw_cuts(rng, 6, 3, 1)
        lo, hi = (-rng.random(3), rng.random(3)) if boxed else (np.full(3, -np.inf), np.full(3, np.inf))
        model = Model(cuts, ridges, lo if boxed else None, hi if boxed else None)
        bound = model.bound(Step(np.zeros(3), weights, cuts.combine(weights), 0.0))
        if not np.isfinite(bound.value):
            continue
        found += 1
        shares = [Fraction(float(weight)) for weight in weights]
        shares = [share / sum(shares) for share in shares]
        if kind == "flat":
            shares = flatten_exactly(cuts.slopes[:, 2:], *flatten_mean(cuts.slopes[:, 2:], weights))
        each = [Fraction(ridges[0])] * 2 + [Fraction(ridges[1])]
        least = minimise_exactly(cuts, shares, each, lo, hi)
        assert abs(least - Fraction(bound.value)) <= Fraction(bound.error)
        assert Fraction(float(bound.low)) <= least
        for _ in range(5):
            x = [Fraction(float(value)) for value in np.clip(rng.normal(size=3), lo, hi)]
            heights = [
                Fraction(float(offset)) + sum(slope * value for slope, value in zip(row, x, strict=True))
                for row, offset in zip(write_fractions(cuts.slopes), cuts.offsets, strict=True)
            ]
            curved = sum(ridge * value * value / 2 for ridge, value in zip(each, x, strict=True))
            assert Fraction(float(bound.low)) <= Fraction(cuts.factor) * max(heights) + curved
    assert found > 25


# ---- factors of matrices that should be definite ---------------------------------------------------------------------


def test_factors_of_a_definite_matrix_are_its_own():
    X = np.random.default_rng(40).normal(size=(30, 6))
    M = X.T @ X
    kept = M.copy()
    np.testing.assert_array_equal(factor_semidefinite(M)[0], cho_factor(kept)[0])
    np.testing.assert_array_equal(M, kept)
    below = np.triu(M) + np.tril(np.full_like(M, np.nan), -1)  # only the upper half is formed
    np.testing.assert_array_equal(np.triu(factor_semidefinite(below)[0]), np.triu(cho_factor(kept)[0]))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("gap", [0.0, 2.0**-52, 2.0**-40])
@pytest.mark.cover("all")
def test_factors_of_a_matrix_that_rounding_leaves_indefinite_solve_the_lifted_system(scale, gap):
    M = scale * np.array([[1.0, 1.0 + gap, 0.5], [1.0 + gap, 1.0, 0.5], [0.5, 0.5, 3.0]])
    kept, right = M.copy(), np.array([1.0, -2.0, 0.3])
    with pytest.raises(LinAlgError):
        cho_factor(M)
    x = cho_solve(factor_semidefinite(M), right)
    np.testing.assert_array_equal(M, kept)
    lifted = [
        [
            Fraction(float(M[i, j])) + (i == j) * Fraction(RIDGE_SHARE_OF_TRACE) * Fraction(float(np.trace(M)))
            for j in range(3)
        ]
        for i in range(3)
    ]
    for row, aim in zip(lifted, right, strict=True):
        sizes = sum(abs(value * Fraction(float(each))) for value, each in zip(row, x, strict=True))
        missed = sum(value * Fraction(float(each)) for value, each in zip(row, x, strict=True)) - Fraction(float(aim))
        assert abs(missed) <= Fraction(64 * UNIT) * (sizes + abs(Fraction(float(aim))))


def test_a_matrix_that_is_truly_indefinite_has_no_factors():
    with pytest.raises(LinAlgError):
        factor_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
