"""The compiled functions of SMO agree with a few lines of NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference_problems import make_problem, random_duals
from smo_problems import LAYERED, every_row_loss, make_layered

from maxmargin.certificates.certificate import judge
from maxmargin.compiled import smo as compiled
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import EpsilonInsensitive, Hinge
from maxmargin.model.problem import Point
from maxmargin.solvers.smo import SMO


def random_rates(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """up, low and f at random, some of them blocked, some free."""
    rng = np.random.default_rng(seed)
    middle, width = rng.normal(size=n), np.where(rng.uniform(size=n) < 0.3, 0.0, rng.uniform(size=n))
    up = np.where(rng.uniform(size=n) < 0.3, -compiled.BLOCKED, middle - width)
    low = np.where(rng.uniform(size=n) < 0.3, compiled.BLOCKED, middle + width)
    return up, low, rng.normal(size=n)


every_size = pytest.mark.parametrize("n", [1, 2, 7, 512, 513, 1500])


@every_size
def test_maximum_and_its_last_place(n):
    """The maximum, and the last of the places that hold it."""
    for seed in range(5):
        values = np.random.default_rng(seed).integers(-5, 5, n).astype(float)
        assert compiled.maximum(values) == values.max()
        assert compiled.last_place(values, values.max()) == np.flatnonzero(values == values.max())[-1]


@every_size
def test_largest_and_smallest(n):
    """The extremes of up - f and low - f, and where they are."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        m, i = compiled.largest(up, f, np.empty(n))
        M, j = compiled.smallest(low, f, np.empty(n))
        assert m == (up - f).max() == up[i] - f[i]
        assert M == (low - f).min() == low[j] - f[j]


@every_size
def test_best_partner(n):
    """The j of largest slope^2 / curvature, and that gain."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        rng = np.random.default_rng(100 + seed)
        row, curvature, bend, m = rng.uniform(-1.0, 1.0, n), rng.uniform(0.5, 2.0, n), 1.5, (up - f).max()
        place, gain = compiled.best_partner(m, bend, low, f, row, curvature, np.empty(n))
        slopes = np.maximum(m - (low - f), 0.0)
        gains = slopes**2 / np.maximum(bend + curvature - 2.0 * row, compiled.MIN_CURVATURE)
        assert gains[place] == pytest.approx(gains.max(), rel=1e-13)
        assert gain == pytest.approx(gains.max(), rel=1e-13)


@every_size
def test_best_single(n):
    """The i of largest gain when one dual moves alone, and the largest violation."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        curvature = np.random.default_rng(200 + seed).uniform(0.5, 2.0, n)
        place = compiled.best_single(up, low, f, curvature, np.empty(n))
        slopes = np.maximum(up - f, f - low)
        gains = np.maximum(slopes, 0.0) ** 2 / curvature
        assert gains[place] == pytest.approx(gains.max(), rel=1e-13)
        assert compiled.slope_of(place, up, low, f) == slopes[place]
        assert compiled.widest_slope(up, low, f, np.empty(n)) == slopes.max()


@every_size
def test_extremes_of_free(n):
    """The maximal violating pair among the samples that can move both ways."""
    up, low, f = random_rates(n, 3)
    free = (up > -compiled.BLOCKED) & (low < compiled.BLOCKED)
    m, i, M, j = compiled.extremes_of_free(up, low, f)
    if not free.any():
        assert (i, j) == (-1, -1)
        return
    assert m == (up - f)[free].max() == up[i] - f[i]
    assert M == (low - f)[free].min() == low[j] - f[j]


def test_keerthis_sweep_stays_among_the_active_samples():
    """When samples are set aside the place of the sweep is one of those that are left."""
    problem = make_problem(Hinge(), Linear(), n=200, seed=3)
    state = SMO(selection="keerthi", shrinking=False).start(problem, 1e-6)
    state.advance(20000, 60.0)  # seconds: it may have to be compiled
    state.counts[compiled.POSITION] = len(state.f) - 1
    state.shrink()
    assert len(state.f) < 200
    assert state.counts[compiled.POSITION] < len(state.f)


def test_keerthi_finds_every_violating_pair():
    """A pair that violates by more than the threshold is returned if and only if there is one."""
    for seed in range(200):
        up, low, f = random_rates(6, seed)
        counts = np.zeros(6, np.int64)
        counts[compiled.POSITION] = seed % 6
        widest = (up - f).max() - (low - f).min()
        i, j = compiled.select_keerthi(up, low, f, 0.5, counts, np.empty(6))
        if widest <= 0.5:
            assert (i, j) == (-1, -1)
        else:
            assert (up[i] - f[i]) - (low[j] - f[j]) > 0.5


def value_along(t, slope, bend, first_kink, first_drop, second_kink, second_drop):
    """slope t - bend t^2/2 - sum of drop max(0, t - kink)."""
    lost = first_drop * np.maximum(0.0, t - first_kink) + second_drop * np.maximum(0.0, t - second_kink)
    return slope * t - 0.5 * bend * t * t - lost


@pytest.mark.parametrize("kinks", [0, 1, 2])
@pytest.mark.parametrize("bend", [0.0, 0.3, 2.0, 50.0])
def test_step_length_is_the_best_of_a_grid(kinks, bend):
    """No point of a fine grid beats the direction search."""
    rng = np.random.default_rng(14)
    for _ in range(100):
        slope, room = rng.uniform(0.01, 3.0), rng.uniform(0.01, 3.0)
        places = np.where(np.arange(2) < kinks, rng.uniform(0.0, 2.0, 2), compiled.BLOCKED)
        drops = rng.uniform(0.0, 2.0, 2)
        shape = (slope, bend, places[0], drops[0], places[1], drops[1])
        t = compiled.step_length(*shape, room)
        assert 0.0 <= t <= room
        best = value_along(np.linspace(0.0, room, 4001), *shape).max()
        assert value_along(t, *shape) >= best - 1e-9


@pytest.mark.parametrize("kinks", [0, 1, 2])
def test_step_length_without_curvature_ends_somewhere(kinks):
    """On a direction of negative curvature the step ends at a kink or a bound, and D has risen."""
    rng = np.random.default_rng(15)
    for _ in range(100):
        slope, room = rng.uniform(0.01, 3.0), rng.uniform(0.01, 3.0)
        places = np.where(np.arange(2) < kinks, rng.uniform(0.0, 2.0, 2), compiled.BLOCKED)
        shape = (slope, -rng.uniform(0.1, 5.0), places[0], rng.uniform(0.0, 2.0), places[1], rng.uniform(0.0, 2.0))
        t = compiled.step_length(*shape, room)
        assert t in (room, *places)
        assert t <= room
        assert value_along(t, *shape) > 0.0


def test_step_length_without_bounds_is_finite():
    """Neither curvature nor a bound: a finite step all the same."""
    t = compiled.step_length(1.0, -3.0, compiled.BLOCKED, 0.0, compiled.BLOCKED, 0.0, compiled.BLOCKED)
    assert 0.0 < t < 1e13


def test_moves_land_on_bounds():
    """A step meant to end at a bound ends there exactly, and no step goes beyond."""
    rng = np.random.default_rng(16)
    for _ in range(500):
        lo, hi = -rng.uniform(0.0, 2.0, 1), rng.uniform(0.0, 2.0, 1)
        a = lo + rng.uniform(size=1) * (hi - lo)
        assert compiled.move(0, hi[0] - a[0], a, lo, hi) == hi[0]
        assert compiled.move(0, lo[0] - a[0], a, lo, hi) == lo[0]
        assert lo[0] <= compiled.move(0, rng.normal(), a, lo, hi) <= hi[0]
        assert compiled.move(0, 0.0, a, lo, hi) == a[0]


@every_row_loss
def test_marks_are_the_slopes_of_the_conjugate(loss):
    """up is minus the right slope of conj, low minus the left one, blocked where infinite."""
    problem = make_problem(loss, intercept="none", weighted=True)
    a = random_duals(problem, np.random.default_rng(17))[None]
    a[0, :3] = 0.0
    row = [np.ascontiguousarray(np.clip(part, -1e300, 1e300))[None] for part in problem.row]
    up, low = np.empty_like(a), np.empty_like(a)
    compiled.update_all_rates(a, *row, up, low)
    left, right = problem.row.slopes(a[0])
    np.testing.assert_allclose(up[0], np.where(np.isinf(right), -compiled.BLOCKED, -right), rtol=1e-13)
    np.testing.assert_allclose(low[0], np.where(np.isinf(left), compiled.BLOCKED, -left), rtol=1e-13)


@every_row_loss
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_fenchel_gap_is_the_duality_gap(loss, intercept):
    """sum of c l(f) + conj(a) + a f is P - D, wherever the duals balance."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True)
    rng = np.random.default_rng(18)
    row = [np.clip(part, -1e300, 1e300) for part in problem.row]
    for scale in (0.0, 0.5, 2.0):
        a, b = random_duals(problem, rng, scale), 0.0 if problem.balance is None else rng.normal()
        gap = problem.primal(Point(a, b)) - problem.dual(a)
        got = compiled.fenchel_gap(problem.features.scores(a), b, a, *row)
        assert got == pytest.approx(gap, rel=1e-10, abs=1e-10)


def intercept_twin(up: np.ndarray, low: np.ndarray, f: np.ndarray, distance: np.ndarray) -> float:
    """The mean over the free by their distance from a bound, else the middle of what is left, else its only end."""
    free = up == low
    if distance[free].sum() > 0:
        return np.average((up - f)[free], weights=distance[free])
    can_rise, can_fall = up > -compiled.BLOCKED, low < compiled.BLOCKED
    m = (up - f)[can_rise].max() if can_rise.any() else None
    M = (low - f)[can_fall].min() if can_fall.any() else None
    return M if m is None else m if M is None else 0.5 * (m + M)


@every_size
def test_find_intercept(n):
    """b against its twin: with free samples, without, and with one side blocked altogether."""
    for seed in range(5):
        up, low, f = random_rates(n, seed)
        lo, a, hi = np.sort(np.random.default_rng(300 + seed).normal(size=(3, n)), axis=0)
        distance = np.minimum(a - lo, hi - a)
        low = np.where((up == -compiled.BLOCKED) & (low == compiled.BLOCKED), f, low)
        rise_only = np.where(up == -compiled.BLOCKED, f - 1.0, up)
        for first, second in (
            (up, low),
            (up, np.where(up == low, low + 1.0, low)),
            (rise_only, np.full(n, compiled.BLOCKED)),
            (np.full(n, -compiled.BLOCKED), np.where(low == compiled.BLOCKED, f, low)),
        ):
            expected = intercept_twin(first, second, f, distance)
            assert compiled.find_intercept(first, second, f, a, lo, hi) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_find_intercept_where_rounding_moved_a_dual():
    """A dual at 1e-17 of a bound of 1 does not fix b: b is what two samples at their bounds leave, as without it."""
    f = np.array([0.0, 0.0, 0.0])
    up, low = np.array([1.0, -compiled.BLOCKED, 5.0]), np.array([compiled.BLOCKED, 3.0, 5.0])
    a, lo, hi = np.array([0.0, 1.0, 1e-17]), np.zeros(3), np.ones(3)
    assert compiled.find_intercept(up[:2], low[:2], f[:2], a[:2], lo[:2], hi[:2]) == 2.0
    assert compiled.find_intercept(up, low, f, a, lo, hi) == 4.0  # [3, 5]: it may still rise
    assert compiled.find_intercept(up, low, f, np.array([0.0, 1.0, 1e-6]), lo, hi) == 5.0  # free: it fixes b


def test_add_rows():
    """f += t K_i + s K_j."""
    rng = np.random.default_rng(19)
    f, row_i, row_j, up = rng.normal(size=(4, 701))
    expected, scratch = f + 0.3 * row_i - 1.7 * row_j, np.empty(701)
    top = compiled.add_rows(f, 0.3, row_i, -1.7, row_j, up, scratch)
    np.testing.assert_allclose(f, expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(scratch, up - f)
    assert top == scratch.max()


@pytest.mark.parametrize("kind", [*LAYERED, "plain"])
def test_the_solvers_own_view_is_the_judges(kind):
    """At any moment of a run its P, D and f are those of the judge."""
    problem = make_layered(kind) if kind != "plain" else make_problem(EpsilonInsensitive(0.2), RBF(gamma=0.5), n=60)
    state = SMO(shrinking=False).start(problem, 1e-12)
    for _ in range(6):
        state.advance(7, 10.0)
        progress, certificate = state.progress(0.0), judge(problem, state.point())
        assert progress.dual == pytest.approx(certificate.dual, rel=1e-10, abs=1e-12)
        assert progress.primal == pytest.approx(certificate.primal, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(state.f, certificate.scores, atol=1e-11)


BOUNDS_CHECK = """
from reference_problems import ROW_LOSSES, make_problem
from maxmargin.model.kernels import Linear
from maxmargin.solvers.loop import solve
from maxmargin.solvers.smo import SELECTIONS, SMO, pairs
pairs.SHRINKING_MIN_SAMPLES = 0
for loss in ROW_LOSSES:
    for selection in SELECTIONS:
        for intercept in ("free", "none"):
            for seed in range(6):
                problem = make_problem(loss, Linear(), intercept, True, 100, seed)
                working_set = 20 if seed == 5 else 2
                solve(problem, SMO(selection=selection, working_set=working_set), tol=1e-6, max_seconds=5.0)
"""


@pytest.mark.slow
def test_no_index_is_out_of_bounds(tmp_path):
    """The compiled loops under Numba's bounds checks, in a process and a cache of their own."""
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    here = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", BOUNDS_CHECK], cwd=here, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
