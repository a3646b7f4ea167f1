"""max q'a - 1/2 a'G a over the simplex, against cvxopt and against the optimality conditions themselves."""

from __future__ import annotations

import cvxopt
import numpy as np
import pytest
from scipy.optimize import linprog
from textbook_functions import wolfe

from maxmargin.solvers.bundle import master
from maxmargin.solvers.bundle.master import maximise_on_simplex

SIZES = (1, 2, 3, 5, 8, 13, 21, 34, 60)


def make_full(m, rng):
    """More dimensions than cuts."""
    return rng.normal(size=(m, 2 * m)), rng.normal(size=m)


def make_deficient(m, rng):
    """A quarter as many dimensions as cuts."""
    return rng.normal(size=(m, max(1, m // 4))), rng.normal(size=m)


def make_duplicates(m, rng):
    """Every cut twice, one of them a little lower."""
    slopes, q = make_full(m, rng)
    slopes[m // 2 :], q[m // 2 :] = slopes[: m - m // 2], q[: m - m // 2]
    q[-1] -= 0.1
    return slopes, q


def make_scaled(m, rng):
    """Slopes of norms from 1e-8 to 1e8."""
    slopes, q = make_full(m, rng)
    return slopes * 10.0 ** rng.uniform(-8.0, 8.0, (m, 1)), q


def make_scaled_deficient(m, rng):
    """The same in few dimensions."""
    slopes, q = make_deficient(m, rng)
    return slopes * 10.0 ** rng.uniform(-8.0, 8.0, (m, 1)), q


def make_flat(m, rng):
    """G = 0: a linear program."""
    return np.zeros((m, 1)), rng.normal(size=m)


def make_shared(m, rng):
    """What the cuts have in common is ten thousand times their differences."""
    slopes, q = make_deficient(m, rng)
    shared = 1e4 * rng.normal(size=slopes.shape[1])
    return slopes + shared, q + slopes @ shared


def make_tangents(m, rng):
    """The cuts of |x|^2 / 2 in five dimensions, most of them near its minimum."""
    slopes = rng.normal(size=(m, 5)) * 10.0 ** rng.uniform(-3.0, 0.0, (m, 1))
    return slopes, -0.5 * (slopes**2).sum(axis=1)


def make_steep(m, rng):
    """The cuts of Wolfe's function, with slopes up to 1e10, seen from a centre beside its minimum."""
    points = [-1.0, 0.0] + 10.0 ** rng.uniform(-7.0, 1.0, (m, 1)) * rng.normal(size=(m, 2))
    values, slopes = (np.array(part) for part in zip(*map(wolfe, points), strict=True))
    return 1e7 * slopes, values + (slopes * ([-1.0, 1e-6] - points)).sum(axis=1)


MAKERS = (
    make_full, make_deficient, make_duplicates, make_scaled,
    make_scaled_deficient, make_flat, make_shared, make_tangents, make_steep,
)  # fmt: skip
every_kind = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__.removeprefix("make_"))


def draw(make, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """G and q of m random cuts."""
    slopes, q = make(m, np.random.default_rng(1000 * seed + m))
    return slopes @ slopes.T, q


def evaluate(G: np.ndarray, q: np.ndarray, a: np.ndarray) -> float:
    """q'a - 1/2 a'G a."""
    return float(q @ a - 0.5 * a @ G @ a)


def measure_gap(G: np.ndarray, q: np.ndarray, a: np.ndarray) -> float:
    """By concavity no weights are better by more than max_k p_k - a'p, p = q - G a; as a part of |q| + |G| a."""
    promise = q - G @ a
    return float(promise.max() - a @ promise) / float((np.abs(q) + np.abs(G) @ a).max())


def solve_with_cvxopt(G: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The same program by an interior point method, put back on the simplex."""
    m, size = len(q), max(np.abs(G).max(), np.abs(q).max())
    parts = G / size, -q / size, -np.eye(m), np.zeros(m), np.ones((1, m)), np.ones(1)
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-13}
    solution = cvxopt.solvers.qp(*(cvxopt.matrix(part) for part in parts), options=options)
    a = np.maximum(np.array(solution["x"]).ravel(), 0.0)
    return a / a.sum()


def assert_on_simplex(a: np.ndarray) -> None:
    """No negative weight, and their sum is one to the last digits."""
    assert a.min() >= 0.0
    assert abs(a.sum() - 1.0) <= 1e-14


@every_kind
def test_it_ends_at_the_maximum(make):
    """For m from 1 to 60 nothing is left to gain, and cvxopt has found nothing better."""
    for m in SIZES:
        for seed in range(3):
            G, q = draw(make, m, seed)
            a = maximise_on_simplex(G, q)
            assert_on_simplex(a)
            assert measure_gap(G, q, a) <= 1e-12, (m, seed)
            reference = evaluate(G, q, solve_with_cvxopt(G, q))
            assert evaluate(G, q, a) >= reference - 1e-11 * (np.abs(q) + np.abs(G) @ a).max(), (m, seed)


@pytest.mark.parametrize("make", [make_full, make_deficient, make_duplicates, make_tangents, make_flat])
def test_cvxopt_agrees(make):
    """Where the data are well scaled the two values are equal: neither is above the true maximum."""
    for m in SIZES:
        G, q = draw(make, m)
        value = evaluate(G, q, maximise_on_simplex(G, q))
        assert value == pytest.approx(evaluate(G, q, solve_with_cvxopt(G, q)), rel=1e-8, abs=1e-9), m


def test_a_linear_program_ends_at_a_vertex():
    """Without G all weight is on the largest q, as linprog says."""
    for m in SIZES:
        G, q = draw(make_flat, m)
        found = linprog(-q, A_eq=np.ones((1, m)), b_eq=[1.0])
        np.testing.assert_allclose(maximise_on_simplex(G, q), found.x, atol=1e-12)


@every_kind
def test_stopped_early_it_is_feasible_and_climbs(make):
    """After any number of faces the weights are on the simplex, and more faces never lower the value."""
    for m in (5, 34):
        G, q = draw(make, m, seed=4)
        size, values = 0.0, []
        for max_steps in range(12):
            a = maximise_on_simplex(G, q, max_steps=max_steps)
            assert_on_simplex(a)
            values.append(evaluate(G, q, a))
            size = max(size, float((np.abs(q) + np.abs(G) @ a).max()))
        assert min(np.diff(values)) >= -1e-13 * size, m


@every_kind
def test_it_does_not_idle(make, monkeypatch):
    """A cut that is let in and leaves at once, again and again, is the end: about as many faces as cuts are enough."""
    climb, faces = master.climb, []
    monkeypatch.setattr(master, "climb", lambda *parts: faces.append(1) or climb(*parts))
    for m in SIZES:
        for seed in range(10):
            faces.clear()
            maximise_on_simplex(*draw(make, m, seed))
            assert len(faces) <= 2 * m + 5, (m, seed)


def count_faces(G: np.ndarray, q: np.ndarray, start: np.ndarray | None = None) -> int:
    """The least max_steps after which nothing is left to gain."""
    for max_steps in range(1, 1000):
        if measure_gap(G, q, maximise_on_simplex(G, q, start, max_steps)) <= 1e-12:
            return max_steps
    raise AssertionError("It does not end.")


@pytest.mark.parametrize("make", [make_full, make_deficient])
def test_a_warm_start_is_shorter_and_ends_the_same(make):
    """From the solution without the last cut the way is a few faces, and the value the same."""
    cold_faces, warm_faces = 0, 0
    for seed in range(6):
        G, q = draw(make, 40, seed)
        start = np.append(maximise_on_simplex(G[:-1, :-1], q[:-1]), 0.0)
        cold, warm = maximise_on_simplex(G, q), maximise_on_simplex(G, q, start)
        assert_on_simplex(warm)
        assert evaluate(G, q, warm) == pytest.approx(evaluate(G, q, cold), rel=1e-12, abs=1e-13)
        cold_faces, warm_faces = cold_faces + count_faces(G, q), warm_faces + count_faces(G, q, start)
    assert 2 * warm_faces <= cold_faces


@pytest.mark.parametrize(
    "start",
    [np.full(13, 1 / 13), 5.0 * np.eye(13)[3], np.zeros(13), -np.ones(13), np.full(13, 1e-200), np.ones(4)],
    ids=["uniform", "a vertex times five", "zero", "negative", "tiny", "of another length"],
)
def test_any_start_will_do(start):
    """A start off the simplex is put on it or left out; the start itself stays as it was."""
    for make in MAKERS:
        G, q = draw(make, 13, seed=1)
        before = start.copy()
        a = maximise_on_simplex(G, q, start)
        assert_on_simplex(a)
        assert measure_gap(G, q, a) <= 1e-12, make.__name__
        np.testing.assert_array_equal(start, before)


def test_it_leaves_its_data_alone():
    """G and q are as they were."""
    G, q = draw(make_deficient, 21)
    kept = G.copy(), q.copy()
    maximise_on_simplex(G, q)
    np.testing.assert_array_equal(G, kept[0])
    np.testing.assert_array_equal(q, kept[1])


def test_a_constant_in_q_changes_nothing():
    """On the simplex q + 1e6 is q."""
    G, q = draw(make_deficient, 21)
    a = maximise_on_simplex(G, q + 1e6)
    assert evaluate(G, q, a) == pytest.approx(evaluate(G, q, maximise_on_simplex(G, q)), abs=1e-8)


def test_the_scale_of_the_program_changes_nothing():
    """s G and s q have the same solution, for s from 1e-100 to 1e100."""
    G, q = draw(make_full, 21)
    a = maximise_on_simplex(G, q)
    for size in (1e-100, 1e-8, 1e8, 1e100):
        np.testing.assert_allclose(maximise_on_simplex(size * G, size * q), a, atol=1e-9)
