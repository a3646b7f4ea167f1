"""The compiled loops of linear solvers against slow twins in NumPy that anyone can read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import make_class_problem
from linear_problems import EXAMPLES, FORMS, INTERCEPTS, SMOOTH, make_data, make_linear_problem

from maxmargin.compiled.class_coordinate import project_on_simplex
from maxmargin.compiled.coordinate import SEEN_GAP, minimise_coordinate
from maxmargin.compiled.l1_descent import descend_l1_quadratic
from maxmargin.compiled.responses import directional_derivative, respond, respond_curved
from maxmargin.compiled.sparse_products import add_squares, combine, project
from maxmargin.model.features import Design
from maxmargin.model.losses import LOSSES, soft_threshold
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.runtime.interruptible import Interrupted, interruptible
from maxmargin.solvers import SOLVERS, Coordinate
from maxmargin.solvers.result import Outcome

ROWS = [name for name in EXAMPLES if name not in SMOOTH]
every_loss = pytest.mark.parametrize("name", ROWS)
every_form = pytest.mark.parametrize("form", FORMS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)


# ---- rows that answer to scores -------------------------------------------------------------------------------


def make_rows(name: str, n: int = 700):
    """Five numbers of many rows, some of them without weight, scores on both sides of every kink, and duals."""
    loss, rng = EXAMPLES[name], np.random.default_rng(3)
    _, y, c = make_data(loss, n=n, weighted=True)
    row = loss.row(y, c)
    f = y + rng.normal(size=n) if loss.target == "real" else 2.0 * rng.normal(size=n)
    a0 = np.clip(c * rng.uniform(-1.5, 1.5, n), row.lo, row.hi)
    return row, f, a0


def respond_slowly(row, f, a0, width):
    """argmax over [lo, hi] of -a f - p a - d a^2/2 - e |a| - (width / span) (a - a0)^2 / 2, by its formula."""
    span = row.hi - row.lo
    sigma = np.divide(width, span, out=np.zeros_like(span), where=span > 0)
    curve = sigma + row.d
    alive = (span > 0) & (curve > 0)
    inner = soft_threshold(sigma * a0 - f - row.p, row.e) / np.where(alive, curve, 1.0)
    a = np.where(alive, np.clip(inner, row.lo, row.hi), row.lo)
    bends = alive & (inner > row.lo) & (inner < row.hi) & ((inner != 0.0) | (row.e == 0.0))
    return a, np.where(bends, 1.0 / np.where(alive, curve, 1.0), 0.0), sigma


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.5, 10.0])
@every_loss
def test_respond(name, width):
    """Duals, bends and all five sums."""
    row, f, a0 = make_rows(name)
    if width == 0.0 and not row.d.any():
        pytest.skip("a row with a kink needs a width")
    a, second_derivative, slack = (np.empty_like(f) for _ in range(3))
    smooth, losses, conjugates, total, curved = respond(f, a0, width, *row, a, second_derivative, slack)
    expected, curve, sigma = respond_slowly(row, f, a0, width)
    np.testing.assert_allclose(a, expected, atol=1e-14)
    np.testing.assert_allclose(second_derivative, curve, rtol=1e-14)
    assert curved == np.count_nonzero(curve)
    value = -a * f - row.conjugate(a) - 0.5 * sigma * (a - a0) ** 2
    assert smooth == pytest.approx(value.sum(), rel=1e-12, abs=1e-12)
    assert losses == pytest.approx(row.value(f).sum(), rel=1e-12)
    assert conjugates == pytest.approx(row.conjugate(a).sum(), rel=1e-12, abs=1e-12)
    assert total == pytest.approx(a.sum(), rel=1e-12, abs=1e-12)


@every_loss
def test_curved_rows_respond_in_the_same_way(name):
    """Duals, second derivatives, slacks and sums as with branches, for rows with a curvature and some bounds."""
    row, f, a0 = make_rows(name)
    if not row.d.any():
        pytest.skip("a row with a kink needs a width")
    alive = np.flatnonzero(row.d > 0)
    row, f, a0 = type(row)(*(np.ascontiguousarray(part[alive]) for part in row)), f[alive], a0[alive]
    plain, quick = ([np.empty_like(f) for _ in range(3)] for _ in range(2))
    smooth, losses, conjugates, total, curved = respond(f, a0, 0.0, *row, *plain)
    np.testing.assert_allclose(respond_curved(f, *row, *quick)[:3], (losses, conjugates, total), rtol=1e-12, atol=1e-12)
    assert respond_curved(f, *row, *quick)[3] == curved
    assert smooth == pytest.approx(losses, rel=1e-12)
    for found, expected in zip(quick, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("width", [1e-3, 0.5])
@every_loss
def test_slack_is_how_far_a_score_may_move(name, width):
    """Within its slack a row keeps its dual and does not bend; a little beyond, on one side, it bends."""
    row, f, a0 = make_rows(name, n=200)
    a, second_derivative, slack = (np.empty_like(f) for _ in range(3))
    respond(f, a0, width, *row, a, second_derivative, slack)
    assert (slack >= 0).all()
    assert (slack[second_derivative > 0] == 0).all()
    still = (second_derivative == 0) & (row.hi > row.lo)
    for side in (-1.0, 1.0):
        moved = respond_slowly(row, f + side * 0.999 * np.minimum(slack, 1e6), a0, width)[0]
        np.testing.assert_allclose(moved[still], a[still], atol=1e-12)
    beyond = [respond_slowly(row, f + side * (slack + 0.01 * width), a0, width)[1] for side in (-1.0, 1.0)]
    far = still & (slack > 1e-9)
    assert (np.maximum(*beyond)[far] > 0).all()


@pytest.mark.parametrize("t", [0.0, 0.3, 2.0])
@every_loss
def test_lean(name, t):
    """sum a step and sum bend step^2 further along a step."""
    row, f, a0 = make_rows(name)
    step = np.random.default_rng(4).normal(size=len(f))
    first, second = directional_derivative(f, step, t, a0, 0.2, *row)
    a, second_derivative, _ = respond_slowly(row, f + t * step, a0, 0.2)
    assert first == pytest.approx(a @ step, rel=1e-11, abs=1e-11)
    assert second == pytest.approx(second_derivative @ step**2, rel=1e-11)


# ---- products of sparse rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_products(dtype, index):
    """X w, X'a and X' diag(weight) X, over all rows and over a slice whose indptr does not begin at zero."""
    rng = np.random.default_rng(0)
    X = sp.random_array((40, 9), density=0.3, random_state=rng, dtype=dtype).tocsr()
    X.sort_indices()
    data, indices, indptr = X.data, X.indices.astype(index), X.indptr.astype(index)
    w, a = rng.normal(size=9), rng.normal(size=40)
    a[::5] = 0.0
    for part in (slice(0, 40), slice(7, 25)):
        rows, starts = X.toarray()[part].astype(float), indptr[part.start : part.stop + 1]
        scores, total, square = np.empty(len(rows)), np.ones(9), np.ones((9, 9))
        project(data, indices, starts, w, scores)
        combine(data, indices, starts, a[part], total)
        add_squares(data, indices, starts, a[part] ** 2, square)
        np.testing.assert_allclose(scores, rows @ w, atol=1e-13)
        np.testing.assert_allclose(total, 1.0 + rows.T @ a[part], atol=1e-13)
        expected = 1.0 + np.triu((rows.T * a[part] ** 2) @ rows)
        np.testing.assert_allclose(square, expected, atol=1e-13)


# ---- coordinate descent ---------------------------------------------------------------------------------------


@every_loss
def test_improve_finds_the_best_dual(name):
    """One dual by itself: no other value in its box gives a larger D, on a fine grid."""
    row, f, a0 = make_rows(name, n=120)
    for i in range(120):
        p, d, e, lo, hi = (float(part[i]) for part in row)
        a, q = float(a0[i]), 1.7
        best, violation = minimise_coordinate(float(f[i]), p, d, e, lo, hi, q, a)
        assert lo <= best <= hi
        assert (best == a) if violation <= 0 else (best != a or violation < 1e-9)
        grid = np.linspace(max(lo, best - 3.0), min(hi, best + 3.0), 400)

        def gain(x, f=float(f[i]), a=a, p=p, d=d, e=e, q=q):
            """What D changes by where the dual a becomes x."""
            return -(f * (x - a) + 0.5 * q * (x - a) ** 2 + p * x + 0.5 * d * x**2 + e * np.abs(x))

        assert gain(best) >= gain(grid).max() - 1e-12


@every_form
@every_intercept
@every_loss
def test_passes_raise_the_dual(name, intercept, form):
    """D never falls from pass to pass, w = X'a is kept, and duals stay in their boxes.

    With a free intercept D has its proximal term, b0 (sum a - balance) + tau (sum a - balance)^2 / 2, whose centre
    moves between passes: there D of the pass itself must not fall.
    """
    problem = make_linear_problem(name, intercept, form, True)
    run = Coordinate(shrinking=False).start(problem, 1e-12)
    X, balance = make_data(EXAMPLES[name], weighted=True)[0], problem.balance or 0.0

    def measure(b0: float) -> float:
        missing = run.a.sum() - balance
        proximal = b0 * missing + 0.5 * run.tau * missing**2 if run.free else 0.5 * run.tau * run.a.sum() ** 2
        return -0.5 * float(np.sum((X.T @ run.a) ** 2)) - float(problem.row.conjugate(run.a).sum()) - proximal

    for _ in range(25):
        centre, before = run.b0, measure(run.b0)
        run.take_pass()
        assert measure(centre) >= before - 1e-11 * (1.0 + abs(before))
        np.testing.assert_allclose(run.w, X.T @ run.a, atol=1e-10)
        assert (run.a >= problem.row.lo).all()
        assert (run.a <= problem.row.hi).all()
        assert run.active == problem.n


@every_loss
def test_shrinking_leaves_out_rows_that_stay(name):
    """The same optimum with and without; with shrinking some passes are shorter."""
    problem = make_linear_problem(name, "regularised", "dense", True, n=300)
    runs = [Coordinate(shrinking=shrinking).start(problem, 1e-5) for shrinking in (True, False)]
    for run in runs:
        assert run.advance(100_000, 20.0) is Outcome.DONE
    assert runs[0].primal == pytest.approx(runs[1].primal, rel=2e-5)
    assert runs[1].counters["updates"] == runs[1].n_iter * problem.n
    assert runs[0].counters["updates"] <= runs[0].n_iter * problem.n


def test_dense_and_sparse_passes_are_the_same():
    """The same rows in the same order: the same duals."""
    runs = [Coordinate().start(make_linear_problem("hinge", "none", form), 1e-9) for form in FORMS]
    for _ in range(10):
        for run in runs:
            run.take_pass()
        np.testing.assert_allclose(runs[0].a, runs[1].a, atol=1e-12)
        np.testing.assert_array_equal(runs[0].order, runs[1].order)


@every_form
def test_a_pass_in_parts_is_the_same(form, monkeypatch):
    """To the bit, and with the same rows left out; and where it is left between two parts, w = X'a still."""
    runs = [Coordinate().start(make_linear_problem("hinge", "free", form), 1e-9) for _ in range(2)]
    for _ in range(10):
        runs[0].take_pass()
    monkeypatch.setattr("maxmargin.solvers.coordinate.ENTRIES_PER_PART", 20)
    for _ in range(10):
        runs[1].take_pass()
    np.testing.assert_array_equal(runs[0].a, runs[1].a)
    np.testing.assert_array_equal(runs[0].order, runs[1].order)
    assert runs[0].active == runs[1].active
    before = runs[1].n_iter
    with pytest.raises(Interrupted), interruptible(lambda: True, always=False):
        runs[1].take_pass()
    assert runs[1].n_iter == before
    np.testing.assert_allclose(runs[1].w, runs[1].samples.combine(runs[1].a), atol=1e-12)


@every_form
@every_intercept
def test_several_passes_in_one_call_are_the_same(intercept, form):
    """The same rows in the same order, left out by the same rule; and b0 follows a free intercept."""
    problem = make_linear_problem("hinge", intercept, form)
    one, many = (Coordinate().start(problem, 1e-9) for _ in range(2))
    many.take_passes(10)
    for _ in range(10):
        one.take_pass()
    assert many.n_iter == 10
    assert many.active == one.active
    assert many.counters["updates"] == one.counters["updates"]
    np.testing.assert_array_equal(many.a, one.a)
    assert many.b0 == one.b0
    before = many.numbers.copy()
    many.place_intercept()
    np.testing.assert_allclose(many.numbers, before, rtol=1e-12, atol=1e-12)


@every_form
@every_intercept
@every_loss
def test_the_gap_that_a_pass_sees(name, intercept, form):
    """A pass at the optimum sees the gap that is left, as it changes nothing; one before it sees at least as much."""
    problem = make_linear_problem(name, intercept, form, True)
    run = Coordinate(shrinking=False).start(problem, 1e-8)
    assert run.advance(200_000, 30.0) is not Outcome.GOING
    run.take_pass()
    run.measure()
    assert run.numbers[SEEN_GAP] == pytest.approx(run.gap, abs=1e-6 * abs(run.dual))


def test_passes_go_on_where_newton_steps_would_take_longer():
    """To `onward_tol`, on many free duals of short rows; where more passes were made, no further than asked."""
    X = sp.random_array((300, 4000), density=0.003, format="csr", rng=np.random.default_rng(0))
    y = np.where(np.random.default_rng(1).random(300) < 0.5, 1.0, -1.0)
    problem = Problem(Design(wrap(X), 1.0), y, np.full(300, 10.0), LOSSES["hinge"]())
    runs = [Coordinate(onward_tol=tol).start(problem, 1e-2) for tol in (np.inf, 1e-4)]
    for run in runs:
        assert run.advance(100_000, 20.0) is Outcome.DONE
    assert runs[1].counters["updates"] > runs[0].counters["updates"]
    assert runs[1].gap <= 1e-4 * abs(runs[1].dual) < runs[0].gap
    busy = Coordinate(onward_tol=1e-4).start(problem, 1e-2)
    busy.counters["updates"] = 10**9
    assert busy.advance(100_000, 20.0) is Outcome.DONE
    assert busy.n_iter == runs[0].n_iter


# ---- all classes at once --------------------------------------------------------------------------------------


def project_slowly(t: np.ndarray, total: float) -> np.ndarray:
    """The nearest point of the simplex, by bisection for the threshold."""
    low, high = t.min() - total - 1.0, t.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(t - middle, 0.0).sum() > total else (low, middle)
    return np.maximum(t - 0.5 * (low + high), 0.0)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("total", [1e-6, 1.0, 50.0])
def test_projection_on_the_simplex(k, total):
    """The sum is right, nothing is negative, and it is the nearest point; ties and points inside too."""
    rng = np.random.default_rng(k)
    points = [rng.normal(size=k) * size for size in (0.01, 1.0, 100.0)]
    points += [np.zeros(k), np.full(k, total / k), np.round(rng.normal(size=k)), total * np.eye(k)[0]]
    for point in points:
        t = point.copy()
        project_on_simplex(t, total, np.empty(k))
        assert (t >= 0).all()
        assert t.sum() == pytest.approx(total, rel=1e-9)
        np.testing.assert_allclose(t, project_slowly(point, total), atol=1e-9 * max(total, np.abs(point).max()))


@every_form
@every_intercept
def test_class_passes_raise_the_dual(intercept, form):
    """D with its proximal terms never falls within a pass, W = X'a is kept, and shares stay in the simplex."""
    problem = make_class_problem("multiclass_hinge", intercept, form, True)
    run = SOLVERS["class_coordinate"]().start(problem, 1e-12)
    X = problem.features.samples.X
    X = X.toarray() if sp.issparse(X) else X

    def measure(b0: np.ndarray) -> float:
        missing = run.duals.sum(axis=0)
        proximal = float(b0 @ missing if run.free else 0.0) + 0.5 * run.tau * float(missing @ missing)
        own = run.duals[np.arange(problem.n), run.y]
        return -0.5 * float(np.sum((X.T @ run.duals) ** 2)) + float(own.sum()) - proximal

    for _ in range(25):
        centre, before = run.b0.copy(), measure(run.b0)
        run.take_pass()
        assert measure(centre) >= before - 1e-11 * (1.0 + abs(before))
        np.testing.assert_allclose(run.W, X.T @ run.duals, atol=1e-10)
        share = problem.c[:, None] * np.eye(3)[run.y] - run.duals
        assert share.min() >= -1e-12
        np.testing.assert_allclose(run.duals.sum(axis=1), 0.0, atol=1e-12)


# ---- |w|_1 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_soft_descent(seed):
    """The minimum of a quadratic with kinks: its subgradient holds zero, and slope = H delta is kept."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(12, 6))
    H, g, u = A.T @ A + 0.01 * np.eye(6), 3.0 * rng.normal(size=6), rng.normal(size=6)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 4.0, 0.0])
    delta, slope = np.zeros(6), np.zeros(6)
    assert descend_l1_quadratic(H, g, u, weight, delta, slope, 100_000, 1e-12) <= 1e-12
    np.testing.assert_allclose(slope, H @ delta, atol=1e-9)
    gradient, at = g + H @ delta, u + delta
    moving = np.abs(at) > 1e-9
    np.testing.assert_allclose(gradient[moving], -weight[moving] * np.sign(at[moving]), atol=1e-8)
    assert (np.abs(gradient[~moving]) <= weight[~moving] + 1e-8).all()


def test_soft_descent_falls_with_every_pass():
    """The function never rises, and a variable without curvature stays where it is."""
    rng = np.random.default_rng(9)
    A = rng.normal(size=(5, 8))
    A[:, 3] = 0.0
    H, g, u, weight = A.T @ A, rng.normal(size=8), rng.normal(size=8), np.ones(8)
    delta, slope, last = np.zeros(8), np.zeros(8), np.inf
    for _ in range(20):
        descend_l1_quadratic(H, g, u, weight, delta, slope, 1, 0.0)
        value = g @ delta + 0.5 * delta @ H @ delta + np.abs(u + delta).sum()
        assert value <= last + 1e-12
        last = value
    assert delta[3] == 0.0
