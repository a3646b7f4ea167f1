"""The two lemmas of Schmidt-Thieme (n.d.), section 6, with every constraint c in {0, 1}^n written out."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from exact_programs import Optimum, solve_exactly
from linear_problems import pose

from maxmargin.model.losses import Hinge
from maxmargin.solvers.bundle.one_slack import OneSlack

N, D = 7, 2
GAMMA = 0.6


@cache
def draw_data() -> tuple[np.ndarray, np.ndarray]:
    """Seven samples: 128 constraints."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(N, D)) + 0.5 * y[:, None], y


@cache
def list_constraints() -> tuple[np.ndarray, np.ndarray]:
    """q_c = 1/n sum_i c_i y_i x_i and |c|_1 / n for every c."""
    X, y = draw_data()
    c = np.array(list(product([0.0, 1.0], repeat=N)))
    return c @ (y[:, None] * X) / N, c.sum(axis=1) / N


@cache
def solve_one_slack() -> Optimum:
    """min 1/2 |beta|^2 + gamma n xi with <q_c, beta> >= |c|_1/n - xi for all 2^n constraints, and xi >= 0."""
    q, size = list_constraints()
    H = np.diag([*np.ones(D), 0.0])
    cost = np.array([*np.zeros(D), GAMMA * N])
    G = np.vstack([np.column_stack([-q, -np.ones(len(q))]), [*np.zeros(D), -1.0]])
    return solve_exactly(H, cost, G, np.append(-size, 0.0))


@cache
def solve_n_slack() -> Optimum:
    """min 1/2 |beta|^2 + gamma sum_i xi_i with y_i <beta, x_i> >= 1 - xi_i and xi_i >= 0."""
    X, y = draw_data()
    H = np.diag(np.concatenate([np.ones(D), np.zeros(N)]))
    cost = np.concatenate([np.zeros(D), np.full(N, GAMMA)])
    G = np.block([[-y[:, None] * X, -np.eye(N)], [np.zeros((N, D)), -np.eye(N)]])
    return solve_exactly(H, cost, G, np.concatenate([-np.ones(N), np.zeros(N)]))


def test_one_slack_and_n_slacks_are_equivalent():
    """The first lemma: the same value and the same beta, and xi is the mean of the slacks."""
    one, many = solve_one_slack(), solve_n_slack()
    assert one.value == pytest.approx(many.value, rel=1e-10)
    np.testing.assert_allclose(one.x[:D], many.x[:D], atol=1e-6)
    assert one.x[D] == pytest.approx(many.x[D:].mean(), abs=1e-7)


def test_feasible_points_of_one_are_feasible_for_the_other():
    """The proof, at random points: the mean slack satisfies all 2^n constraints, and c = [loss > 0] is the tightest."""
    X, y = draw_data()
    q, size = list_constraints()
    for beta in np.random.default_rng(1).normal(size=(50, D)):
        slack = np.maximum(0.0, 1.0 - y * (X @ beta))
        needed = size - q @ beta
        assert needed.max() <= slack.mean() + 1e-14
        assert needed.max() == pytest.approx(slack.mean(), abs=1e-14)
        worst = (y * (X @ beta) < 1.0).astype(float)
        assert worst.sum() / N - (worst * y) @ X @ beta / N == pytest.approx(needed.max(), abs=1e-14)


def maximise_dual(half: float, total: float) -> Optimum:
    """max -half sum alpha_c alpha_d <q_c, q_d> + sum |c|_1/n alpha_c with alpha >= 0 and sum alpha <= total."""
    q, size = list_constraints()
    G = np.vstack([-np.eye(len(q)), np.ones((1, len(q)))])
    return solve_exactly(2.0 * half * q @ q.T, -size, G, np.append(np.zeros(len(q)), total))


def test_the_dual_with_both_corrections():
    """The second lemma, mended: with the 1/2 and sum alpha <= gamma n there is no gap, and beta = sum alpha_c q_c."""
    found, primal = maximise_dual(0.5, GAMMA * N), solve_one_slack()
    assert -found.value == pytest.approx(primal.value, rel=1e-9)
    np.testing.assert_allclose(found.x @ list_constraints()[0], primal.x[:D], atol=1e-5)


@pytest.mark.parametrize(("half", "total"), [(1.0, GAMMA * N), (0.5, GAMMA), (1.0, GAMMA)])
def test_the_dual_as_printed_is_another_problem(half, total):
    """Without either correction the value is not that of the primal."""
    assert -maximise_dual(half, total).value < solve_one_slack().value * 0.99


def test_the_algorithm_starts_at_all_ones():
    """With no constraint beta = 0 and xi = 0, every sample is violated, and the first c is all ones."""
    X, y = draw_data()
    run = OneSlack().start(pose(Hinge(), X, y, np.full(N, GAMMA), "none"), 1e-9)
    np.testing.assert_allclose(run.constraints.slopes[0][:D], y @ X / N, atol=1e-15)
    assert run.constraints.offsets[0] == pytest.approx(1.0)
    assert (y * (X @ np.zeros(D)) < 1.0).all()
