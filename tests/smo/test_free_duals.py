"""Newton's method over the free duals of small problems, beside the equations that it solves."""

import numpy as np
import pytest

from maxmargin import SVC
from maxmargin.compiled.free_duals import maximise_over_free
from maxmargin.compiled.smo import DUAL, update_all_rates

PLENTY = 1e12  # multiplications


def make_problem(n: int, kink: float, reach: float, seed: int):
    """K, targets and duals of a problem whose duals lie between -reach and reach, and sum to zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    p, d = rng.normal(size=(1, n)), rng.uniform(0.0, 0.2, size=(1, n))
    e, lo, hi = np.full((1, n), kink), np.full((1, n), -reach), np.full((1, n), reach)
    a = rng.uniform(-0.5, 0.5, size=n) * min(reach, 1.0)
    a = np.clip(a - a.mean(), -reach, reach)
    return K, p, d, e, lo, hi, a[None]


def evaluate(K, p, d, e, a) -> float:
    """D(a)."""
    return float(-0.5 * a @ K @ a - (p[0] * a + 0.5 * d[0] * a * a + e[0] * np.abs(a)).sum())


def run(problem, credit: float = PLENTY, at_hand: bool = True):
    """The duals, scores and value of D after the steps, and what is left of the credit."""
    K, p, d, e, lo, hi, a = problem
    n = len(K)
    a, up, low, f = a.copy(), np.empty((1, n)), np.empty((1, n)), K @ a[0]
    update_all_rates(a, p, d, e, lo, hi, up, low)
    slot, numbers = np.arange(n), np.zeros(5)
    numbers[DUAL] = evaluate(K, p, d, e, a[0])
    slot[0] = 0 if at_hand else -1
    left = maximise_over_free(
        credit, K, slot, f, a[0], p[0], d[0], e[0], lo[0], hi[0], up[0], low[0], np.diag(K) + d[0], numbers
    )
    return a[0], f, numbers[DUAL], left


@pytest.mark.parametrize("seed", range(5))
def test_without_bounds_one_step_is_the_maximum(seed):
    """-K a - p - d a is the same number for all duals there: the intercept."""
    problem = make_problem(12, 0.0, 1e6, seed)
    K, p, d, *_ = problem
    a, f, value, _ = run(problem)
    np.testing.assert_allclose(f, K @ a, atol=1e-12)
    slopes = -f - p[0] - d[0] * a
    np.testing.assert_allclose(slopes, slopes.mean(), atol=1e-7)
    assert abs(a.sum()) < 1e-12
    np.testing.assert_allclose(value, evaluate(*problem[:4], a), rtol=1e-8)


@pytest.mark.parametrize("kink", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(10))
def test_within_bounds_the_value_rises(seed, kink):
    """Duals stay within their bounds and on their side of a kink, and D is what it is said to be."""
    problem = make_problem(20, kink, 0.6, seed)
    before = problem[-1][0]
    a, f, value, _ = run(problem)
    assert (np.abs(a) <= 0.6).all()
    assert (a * before >= 0.0).all() or kink == 0.0
    assert abs(a.sum() - before.sum()) < 1e-12
    np.testing.assert_allclose(f, problem[0] @ a, atol=1e-12)
    np.testing.assert_allclose(value, evaluate(*problem[:4], a), rtol=1e-8)
    assert value > evaluate(*problem[:4], before)


@pytest.mark.parametrize("limit", [{"credit": 100.0}, {"at_hand": False}], ids=["credit", "rows"])
def test_what_is_too_dear_or_not_at_hand_is_left_undone(limit):
    """The credit is kept for later."""
    problem = make_problem(20, 0.0, 1e6, 0)
    a, *_, left = run(problem, **limit)
    np.testing.assert_array_equal(a, problem[-1][0])
    assert left == limit.get("credit", PLENTY)


def test_the_same_sample_twice():
    """M is singular: the ridge divides a dual among the copies."""
    K, p, d, e, lo, hi, a = make_problem(10, 0.0, 1e6, 1)
    twice = np.repeat(np.arange(10), 2)
    problem = (
        K[np.ix_(twice, twice)],
        p[:, twice],
        0.0 * d[:, twice],
        e[:, twice],
        lo[:, twice],
        hi[:, twice],
        a[:, twice],
    )
    a, _, value, _ = run(problem)
    assert np.isfinite(a).all()
    np.testing.assert_allclose(value, evaluate(*problem[:4], a), rtol=1e-5)


def test_classes_with_a_margin_take_few_steps():
    """Pair steps alone take 14,000 for these."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = X @ rng.normal(size=30) > 0
    model = SVC(kernel="linear", C=100.0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.n_iter_.sum() < 5000
