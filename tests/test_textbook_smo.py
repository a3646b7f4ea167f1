"""Algorithm 6.2 of Wu (2014) in exact rationals: its conditions, its steps, and the same steps by the library."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
import pytest
from exact_programs import solve_exactly

from maxmargin import SMO, SVC
from maxmargin.insight.traces import record
from maxmargin.model.features import Gram
from maxmargin.model.kernels import Linear
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem

C = Fraction(3, 4)
N_STEPS = 12  # after which the fractions have a few hundred digits
TEXTBOOK = SMO(selection="mvp", stop="kkt", shrinking=False, working_set=2)


class Step(NamedTuple):
    """A state of the algorithm before a step: alpha, the gradient, the pair, lambda, and m - M."""

    alpha: list[Fraction]
    g: list[Fraction]
    i: int
    j: int
    length: Fraction
    violation: Fraction


def draw_integers(seed: int, n: int = 14) -> tuple[list[list[Fraction]], list[int]]:
    """Samples with small integer coordinates, and labels."""
    rng = np.random.default_rng(seed)
    y = [1 if i % 2 else -1 for i in range(n)]
    X = [[Fraction(int(v)) / 4 + Fraction(label, 2) for v in rng.integers(-8, 9, 3)] for label in y]
    return X, y


def form_kernel(X: list[list[Fraction]]) -> list[list[Fraction]]:
    """K_ij = <x_i, x_j>."""
    return [[sum(u * v for u, v in zip(one, other, strict=True)) for other in X] for one in X]


def dual(alpha, y, K) -> Fraction:
    """sum alpha_t - 1/2 sum_ij y_i alpha_i y_j alpha_j K_ij."""
    n = range(len(y))
    return sum(alpha) - Fraction(1, 2) * sum(y[i] * alpha[i] * y[j] * alpha[j] * K[i][j] for i in n for j in n)


def bounds(y: int) -> tuple[Fraction, Fraction]:
    """A and B: the box of y alpha."""
    return (Fraction(0), C) if y > 0 else (-C, Fraction(0))


def run_textbook(y, K, n_steps: int) -> list[Step]:
    """Lines 1 to 10, with ties broken by the last index as in LIBSVM."""
    n, alpha, g, steps = len(y), [Fraction(0)] * len(y), [Fraction(1)] * len(y), []
    for _ in range(n_steps):
        up = [k for k in range(n) if y[k] * alpha[k] < bounds(y[k])[1]]
        down = [k for k in range(n) if bounds(y[k])[0] < y[k] * alpha[k]]
        i = max(up, key=lambda k: (y[k] * g[k], k))
        j = min(down, key=lambda k: (y[k] * g[k], -k))
        violation = y[i] * g[i] - y[j] * g[j]
        if violation <= 0:
            break
        rooms = bounds(y[i])[1] - y[i] * alpha[i], y[j] * alpha[j] - bounds(y[j])[0]
        length = min(*rooms, violation / (K[i][i] + K[j][j] - 2 * K[i][j]))
        steps.append(Step(list(alpha), list(g), i, j, length, violation))
        g = [g[k] - length * y[k] * (K[i][k] - K[j][k]) for k in range(n)]
        alpha[i] += y[i] * length
        alpha[j] -= y[j] * length
    steps.append(Step(list(alpha), list(g), -1, -1, Fraction(0), Fraction(0)))
    return steps


def pose(X, y) -> Problem:
    """The same machine in the library."""
    X, y = np.array(X, float), np.array(y, float)
    return Problem(Gram.from_data(Linear(), X), y, np.full(len(y), float(C)), Hinge(), 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_library_takes_the_same_steps(seed):
    """After k steps, the duals of the library are the fractions of the textbook, for k up to 12."""
    X, y = draw_integers(seed)
    steps = run_textbook(y, form_kernel(X), N_STEPS)
    assert len(steps) > N_STEPS // 2
    path = record(pose(X, y), TEXTBOOK, tol=1e-12, max_iter=len(steps) - 1)
    for k, point in zip(path.n_iter, path.points, strict=True):
        exact = np.array([label * float(value) for label, value in zip(y, steps[k].alpha, strict=True)])
        np.testing.assert_allclose(point.a, exact, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_the_change_of_the_dual(seed):
    """g_t = 1 - y_t sum_i y_i alpha_i K_ti: D(alpha + h e_t) = D(alpha) + h g_t - h^2 K_tt / 2, without rounding."""
    X, y = draw_integers(seed)
    K, h = form_kernel(X), Fraction(1, 7)
    for step in run_textbook(y, K, 6):
        before = dual(step.alpha, y, K)
        for t in range(len(y)):
            moved = [value + h * (k == t) for k, value in enumerate(step.alpha)]
            assert dual(moved, y, K) == before + h * step.g[t] - h * h * K[t][t] / 2


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_feasible_and_the_best_on_their_line(seed):
    """lambda = g'd / d'Kd clipped by the box: D is lower a little before it, and a little beyond it or infeasible."""
    X, y = draw_integers(seed)
    K, little = form_kernel(X), Fraction(1, 10**6)
    for step in run_textbook(y, K, N_STEPS)[:-1]:
        i, j = step.i, step.j
        slope = y[i] * step.g[i] - y[j] * step.g[j]
        curvature = K[i][i] + K[j][j] - 2 * K[i][j]
        assert slope > 0

        def move(length, i=i, j=j, step=step):
            shifts = {i: y[i] * length, j: -y[j] * length}
            return [value + shifts.get(k, 0) for k, value in enumerate(step.alpha)]

        for length in (step.length, step.length - little, step.length + little):
            gain = dual(move(length), y, K) - dual(step.alpha, y, K)
            assert gain == length * slope - length * length * curvature / 2  # the expansion of Wu (2014), no remainder
        reached = move(step.length)
        assert sum(label * value for label, value in zip(y, reached, strict=True)) == 0
        assert all(0 <= value <= C for value in reached)
        assert dual(move(step.length - little), y, K) < dual(reached, y, K)
        beyond = move(step.length + little)
        assert dual(beyond, y, K) < dual(reached, y, K) or not all(0 <= value <= C for value in beyond)


@pytest.mark.parametrize("seed", range(4))
def test_platts_two_multipliers_are_the_direction_search(seed):
    """Meoli (2021), eqs. 83 to 88: L, H, eta, the clipped alpha_2 and alpha_1 are those of lambda."""
    X, y = draw_integers(seed)
    K = form_kernel(X)
    steps = run_textbook(y, K, N_STEPS)
    for step, after in pairwise(steps):
        one, two, (a1, a2) = step.i, step.j, (step.alpha[step.i], step.alpha[step.j])
        if y[one] != y[two]:
            low, high = max(Fraction(0), a2 - a1), min(C, C + a2 - a1)
        else:
            low, high = max(Fraction(0), a2 + a1 - C), min(C, a2 + a1)
        eta = K[one][one] + K[two][two] - 2 * K[one][two]
        error = {t: -y[t] * step.g[t] for t in (one, two)}  # E_t = u_t - y_t, up to the intercept, which cancels
        moved = min(max(a2 + y[two] * (error[one] - error[two]) / eta, low), high)
        assert moved == after.alpha[two]
        assert a1 + y[one] * y[two] * (a2 - moved) == after.alpha[one]


@pytest.mark.parametrize("seed", range(4))
def test_the_maximal_violating_pair_has_the_steepest_direction(seed):
    """No other pair has a larger g'd, but another may have a larger gain: what an exhaustive search would take."""
    X, y = draw_integers(seed)
    K = form_kernel(X)
    shares = []
    for step in run_textbook(y, K, N_STEPS)[:-1]:
        gains = []
        for i, j in permutations(range(len(y)), 2):
            rooms = bounds(y[i])[1] - y[i] * step.alpha[i], y[j] * step.alpha[j] - bounds(y[j])[0]
            slope = y[i] * step.g[i] - y[j] * step.g[j]
            if min(rooms) <= 0 or slope <= 0:
                continue
            assert slope <= step.violation
            curvature = K[i][i] + K[j][j] - 2 * K[i][j]
            length = min(rooms) if curvature == 0 else min(*rooms, slope / curvature)
            gains.append(length * slope - length * length * curvature / 2)
        curvature = K[step.i][step.i] + K[step.j][step.j] - 2 * K[step.i][step.j]
        gain = step.length * step.violation - step.length**2 * curvature / 2
        assert 0 < gain <= max(gains)
        shares.append(gain / max(gains))
    assert min(shares) < 1


def test_the_rule_is_sufficient():
    """Wu (2014): with w = sum alpha_i y_i x_i, b = rho and xi = max(0, g - y rho), primal and dual are one number."""
    X, y = draw_integers(5)
    machine = SVC(kernel="linear", C=float(C), tol=1e-13).fit(np.array(X, float), y)
    K, labels = np.array(form_kernel(X), float), np.array(y, float)
    a = np.zeros(len(y))
    a[machine.support_] = machine.dual_coef_[0]
    alpha, g = labels * a, 1.0 - labels * (K @ a)
    up, down = labels * alpha < np.where(labels > 0, float(C), 0), np.where(labels > 0, 0, -float(C)) < labels * alpha
    m, M = (labels * g)[up].max(), (labels * g)[down].min()
    assert m <= M + 1e-9
    rho = 0.5 * (m + M)
    assert machine.intercept_[0] == pytest.approx(rho, abs=1e-9)
    slack = np.maximum(0.0, g - labels * rho)
    assert (labels * (K @ a + rho) >= 1.0 - slack - 1e-9).all()
    primal = 0.5 * a @ K @ a + float(C) * slack.sum()
    assert primal == pytest.approx(alpha.sum() - 0.5 * a @ K @ a, rel=1e-9)
    box = np.vstack([np.eye(len(y)), -np.eye(len(y))])
    limits = np.repeat([float(C), 0.0], len(y))
    found = solve_exactly(K * np.outer(labels, labels), -np.ones(len(y)), box, limits, labels[None, :], np.zeros(1))
    assert primal == pytest.approx(-found.value, rel=1e-9)


def test_the_rule_is_necessary():
    """Away from the optimum some pair violates the order, and moving along it raises the dual."""
    X, y = draw_integers(6)
    K = form_kernel(X)
    values = [dual(step.alpha, y, K) for step in run_textbook(y, K, N_STEPS)]
    assert all(later > earlier for earlier, later in pairwise(values))
