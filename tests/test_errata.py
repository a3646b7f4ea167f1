"""The errata of Schmidt-Thieme (n.d.) and Wu (2014): what docs/errata.md says holds, and what is printed does not."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations, pairwise, product
from math import exp, log1p

import numpy as np
import pytest
from exact_fractions import dots, quadratic, sign, sign_kernel, slope
from exact_programs import solve_exactly

from maxmargin import SVC
from maxmargin.model.losses import EpsilonInsensitive, Logistic, MulticlassHinge

# ---- Schmidt-Thieme (n.d.) --------------------------------------------------------------------------------------


def test_a_norm_takes_absolute_values():
    """sup |x_i| is a norm of bounded sequences; sup x_i is negative for (-1, -1, ...), and 0 for (0, -1, -1, ...)."""
    assert max(abs(x) for x in (-1, -1)) == 1
    assert max((-1, -1)) < 0
    assert max((0, -1, -1)) == 0


def test_the_operator_leads_out_of_the_bounded_sequences():
    """A x = (i x_i) maps (1, 1, ...) to (1, 2, ...), which has no bound; finitely many terms keep one."""
    for bound in (10, 1000, 10**6):
        assert max(i * 1 for i in range(1, bound + 2)) > bound
    ends = [F(1), F(-3), F(2)]
    assert max(abs(i * x) for i, x in enumerate(ends + [F(0)] * 1000, 1)) == 6


def test_a_quotient_is_divided_by_its_step():
    """f(t d) / t is t d1^3 d2 / (t^4 d1^6 + d2^2) for f = x^3 y / (x^6 + y^2); the printed middle is f(t d) alone."""
    for t, d1, d2 in product((F(1, 2), F(1, 7)), (F(1), F(-3, 2)), (F(2), F(-1, 3))):
        x, y = t * d1, t * d2
        quotient = x**3 * y / (x**6 + y**2) / t
        assert quotient == t * d1**3 * d2 / (t**4 * d1**6 + d2**2)
        assert quotient != (t * d1) ** 3 * t * d2 / (t**6 * d1**6 + t**2 * d2**2)


def minimise_model(cuts: list[tuple[F, F]], low: F, high: F) -> F:
    """argmin of max_k offset_k + slope_k x on [low, high]: at an end or where two cuts cross."""
    places = [low, high]
    for (one, a), (other, b) in combinations(cuts, 2):
        if one != other and low <= (b - a) / (one - other) <= high:
            places.append((b - a) / (one - other))
    return min(places, key=lambda x: (max(offset + g * x for g, offset in cuts), x))


def ask(x: F) -> tuple[F, F]:
    """max(x, -x/2), and a subgradient: at the kink the one of the right-hand piece."""
    return max(x, -x / 2), F(1) if x >= 0 else F(-1, 2)


def add_cut(cuts: list[tuple[F, F]], x: F) -> None:
    """The cut of `ask` at x, as slope and offset."""
    value, g = ask(x)
    cuts.append((g, value - g * x))


def test_cutting_planes_need_not_meet_a_subgradient_of_zero():
    """On max(x, -x/2) the method is at the minimum after two cuts, where the subgradient is 1; the gap is 0 there."""
    cuts: list[tuple[F, F]] = []
    for x in (F(2), F(-2)):
        add_cut(cuts, x)
    for _ in range(20):
        x = minimise_model(cuts, F(-2), F(2))
        value, g = ask(x)
        assert x == 0
        assert value == max(offset + slope * x for slope, offset in cuts)  # the gap that ends it
        assert g != 0  # so line 6 goes on
        add_cut(cuts, x)


def test_the_first_cut_belongs_to_the_model():
    """Without the cut at x_0 the model of one cut at x_1 = -2 falls without end on the right; with it, it is solved."""
    cuts: list[tuple[F, F]] = []
    for x in (F(2), F(-2)):
        add_cut(cuts, x)
    assert minimise_model(cuts, F(-100), F(100)) == 0
    assert minimise_model(cuts[1:], F(-100), F(100)) == 100
    assert cuts[:1][1:] == []  # t = 0: the maximum from 1 to 0 is one over nothing


def test_one_cut_has_no_minimum():
    """The model of the first round is a line: its minimum is the end of the box, however large that is."""
    cuts: list[tuple[F, F]] = []
    add_cut(cuts, F(2))
    for size in (10, 10**3, 10**6):
        assert minimise_model(cuts, F(-size), F(size)) == -size


def test_a_line_search_can_stand_still():
    """From the minimum of max(x, -x/2) the printed variant repeats one cut; a cut at the model's minimum ends it."""
    cuts: list[tuple[F, F]] = []
    add_cut(cuts, F(0))
    for _ in range(10):
        goal = minimise_model(cuts, F(-2), F(2))
        assert goal == -2  # the model stays as it was
        best = min((F(k, 100) for k in range(101)), key=lambda eta, goal=goal: ask(eta * goal)[0])
        assert best == 0
        add_cut(cuts, best * goal)
    add_cut(cuts, F(-2))
    assert minimise_model(cuts, F(-2), F(2)) == 0


def test_the_proximity_is_a_factor_and_no_power():
    """max(x, -x) + zeta/2 (x - 4)^2 has its minimum at 4 - 1/zeta_t; zeta to the power t = 2 gives another point."""
    zeta, centre = F(1, 2), F(4)
    places = [F(k, 8) for k in range(-16, 65)]
    best = min(places, key=lambda x: max(x, -x) + zeta / 2 * (x - centre) ** 2)
    assert best == centre - 1 / zeta == 2
    assert best != centre - 1 / zeta**2


def test_the_derivative_of_the_logistic_loss():
    """-y / (1 + exp(y f)): by differences; the printed sign of the exponent gives -y less that."""
    for y, f in product((1.0, -1.0), (-2.0, -0.3, 0.7, 3.0)):
        step = 1e-6
        measured = (log1p(exp(-y * (f + step))) - log1p(exp(-y * (f - step)))) / (2 * step)
        assert measured == pytest.approx(-y / (1.0 + exp(y * f)), rel=1e-8)
        assert Logistic().subgradient(np.array([f]), np.array([y]))[0][0] == pytest.approx(measured, rel=1e-8)
        assert abs(measured + y / (1.0 + exp(-y * f))) > 0.1


def test_the_tube_has_two_walls():
    """max(0, |f - y| - epsilon) has the derivative -1 below the tube, as printed; max(0, f - y - epsilon) is flat."""
    y, epsilon, below = F(1), F(1, 4), F(-2)
    assert slope(lambda f: max(F(0), abs(f - y) - epsilon), below) == sign(below - y) == -1
    assert slope(lambda f: max(F(0), f - y - epsilon), below) == 0
    value = EpsilonInsensitive(0.25).value(np.array([-2.0]), np.array([1.0]))[0]
    assert value == abs(below - y) - epsilon


def test_tau_of_the_table_is_one_less_tau():
    """sum max(tau (f - y), (1 - tau) (y - f)) over 0, 1, ..., 8 is least at the quantile 1 - tau, by trying all."""
    y, tau = [F(k) for k in range(9)], F(1, 4)
    printed = min(y, key=lambda f: sum(max(tau * (f - t), (1 - tau) * (t - f)) for t in y))
    koenker = min(y, key=lambda f: sum(max(tau * (t - f), (1 - tau) * (f - t)) for t in y))
    assert koenker == 2
    assert printed == 6
    assert F(sum(t < koenker for t in y), len(y)) <= tau <= F(sum(t <= koenker for t in y), len(y))
    assert F(sum(t < printed for t in y), len(y)) <= 1 - tau <= F(sum(t <= printed for t in y), len(y))


def test_the_scale_of_the_derivative_is_that_of_the_worst_label():
    """max_k Gamma(y, k) (f_k - f_y + Delta(y, k)): the slope in f_k* is Gamma(y, k*), that of no other label."""
    scales, costs, f, y = [F(0), F(1), F(3)], [F(0), F(1), F(1)], [F(0), F(1, 2), F(1)], 0

    def loss(f: list[F]) -> F:
        return max(s * (each - f[y] + cost) for s, each, cost in zip(scales, f, costs, strict=True))

    worst = max(range(3), key=lambda k: scales[k] * (f[k] - f[y] + costs[k]))
    slopes = [slope(lambda t, k=k: loss([t if j == k else v for j, v in enumerate(f)]), f[k]) for k in range(3)]
    assert worst == 2
    assert slopes == [-scales[worst], 0, scales[worst]]
    assert slopes != [-scales[1], 0, scales[1]]
    ours = MulticlassHinge(1.0 - np.eye(3), np.array([[1.0, 1.0, 3.0]] * 3))
    low, _ = ours.subgradient(np.array([[float(v)] for v in f]), np.array([0.0]))
    np.testing.assert_array_equal(np.ravel(low), [float(v) for v in slopes])


# ---- Wu (2014) --------------------------------------------------------------------------------------------------


def test_the_tube_does_not_hold_most_samples_of_any_line():
    """With w = 0, b = 10 every sample has a slack: which samples are inside depends on w and b."""
    x, y, epsilon = [F(k) for k in range(5)], [F(k) for k in range(5)], F(1, 2)
    outside = [
        sum(abs(w * t + b - target) > epsilon for t, target in zip(x, y, strict=True)) for w, b in ((1, 0), (0, 10))
    ]
    assert outside == [0, 5]


def test_support_vectors_lie_on_the_tube_too():
    """Two samples, (1, 1) and (-1, -1), epsilon = 1/2: f = x/2 has both on the walls, none outside, and a = +-1/4."""
    a, epsilon, C = (F(1, 4), F(-1, 4)), F(1, 2), 10
    x = y = (F(1), F(-1))
    w = sum(dual * t for dual, t in zip(a, x, strict=True))
    assert w == F(1, 2)
    assert sum(a) == 0
    for dual, t, target in zip(a, x, y, strict=True):
        assert 0 < abs(dual) < C
        assert target - w * t == sign(dual) * epsilon  # on the wall of its side: the conditions of optimality hold


def minimise_with_walls(margin: float, C: float, boundary: float | None = None) -> tuple[float, float]:
    """min 1/2 w^2 + C sum max(0, margin - y (w x + b)), and -b/w there; with f(boundary) = 0 where one is given."""
    x, y = np.array([-3.0, -1.0, 1.0, 0.5, 3.0]), np.array([-1.0, -1.0, 1.0, -1.0, 1.0])
    walls = np.column_stack([-y * x, -y, -np.eye(5)])
    G = np.vstack([walls, np.column_stack([np.zeros((5, 2)), -np.eye(5)])])
    cost, limits = np.array([0.0, 0.0, *[C] * 5]), np.array([-margin] * 5 + [0.0] * 5)
    fixed = () if boundary is None else (np.array([[boundary, 1.0, *[0.0] * 5]]), np.zeros(1))
    found = solve_exactly(np.diag([1.0, *[0.0] * 6]), cost, G, limits, *fixed)
    return found.value, -found.x[1] / found.x[0]


def test_another_level_of_the_walls_needs_another_cost():
    """Walls at +-8 keep the hyperplane of those at +-1 if the cost is 8 C; at the same C it is not optimal any more."""
    C = 0.2
    value, boundary = minimise_with_walls(1.0, C)
    assert minimise_with_walls(8.0, 8.0 * C, boundary)[0] == pytest.approx(64.0 * value, rel=1e-9)
    assert minimise_with_walls(8.0, 8.0 * C)[0] == pytest.approx(64.0 * value, rel=1e-9)
    assert minimise_with_walls(8.0, C, boundary)[0] > minimise_with_walls(8.0, C)[0] * 1.01


TOUCHING = [(1, 1), (1, 0), (-1, 1)]  # labels +, +, -
HALF = [F(1, 2), F(0), F(1, 2)]


def test_a_sample_on_the_margin_may_have_no_dual():
    """(1, 0) touches the wall f = 1 of w = (1, 0), and its dual is 0 in the only solution: on the wall, and no support.

    So y f = 1 does not imply 0 < alpha, and the arrows of eq. 89 of Meoli (2021) go from left to right only.
    """
    y = (1, 1, -1)
    w = [sum(a * s * x[k] for a, s, x in zip(HALF, y, TOUCHING, strict=True)) for k in range(2)]
    assert w == [1, 0]
    assert all(s * (w[0] * x[0] + w[1] * x[1]) == 1 for s, x in zip(y, TOUCHING, strict=True))
    conditions = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, 1.0, -1.0]])  # w_1 = 1, w_2 = 0, y'alpha = 0
    assert np.linalg.matrix_rank(conditions) == 3  # one alpha only
    np.testing.assert_allclose(conditions @ [float(a) for a in HALF], [1.0, 0.0, 0.0])
    assert HALF[1] == 0


def test_the_curvature_of_a_direction_has_the_labels():
    """D(alpha + t d) is best at t = g'd / d'Qd with Q_ij = y_i y_j k_ij; with K in its place it is lower."""
    y, x = (1, -1), [F(2), F(1)]
    K, d = dots(x), (F(1), F(1))  # y_i e_i - y_j e_j
    Q = sign_kernel(K, y)

    def dual(t: F) -> F:
        return 2 * t - quadratic(Q, [t * each for each in d]) / 2

    ours, printed = F(2) / quadratic(Q, d), F(2) / quadratic(K, d)
    assert slope(dual, ours) == 0
    assert dual(printed) < dual(ours)


def test_a_pair_without_curvature_steps_to_its_bound():
    """Equal samples with labels + and -: K_ii + K_jj - 2 K_ij = 0, D rises without end, and the box ends the step."""
    Q, C = sign_kernel(dots([F(1), F(1)]), (1, -1)), F(3, 4)
    assert quadratic(Q, (F(1), F(1))) == 0
    values = [2 * t - quadratic(Q, (t, t)) / 2 for t in (F(0), C / 2, C)]
    assert values == sorted(values) == [0, C, 2 * C]
    found = SVC(kernel="linear", C=float(C)).fit([[1.0], [1.0]], [1, -1])
    np.testing.assert_allclose(np.abs(found.dual_coef_), float(C))


def test_rho_is_an_interval_without_free_vectors():
    """x = +-1 at C = 1/4: both duals are at the bound, m = -1/2, M = 1/2, and every rho between them is optimal."""
    y, C = (1, -1), F(1, 4)
    g = [1 - s * sum(t * C * other * one for t, other in zip(y, y, strict=True)) for s, one in zip(y, y, strict=True)]
    m = max(s * each for s, each in zip(y, g, strict=True) if s < 0)  # I_up: y alpha < B, the negative sample
    M = min(s * each for s, each in zip(y, g, strict=True) if s > 0)
    assert (m, M) == (F(-1, 2), F(1, 2))
    w = sum(C * s * x for s, x in zip(y, y, strict=True))
    primal = {w * w / 2 + C * sum(max(F(0), 1 - s * (w * s + rho)) for s in y) for rho in (m, F(0), F(1, 3), M)}
    assert primal == {2 * C - quadratic(sign_kernel(dots([F(1), F(-1)]), y), (C, C)) / 2}


def test_the_exact_rule_need_not_end():
    """Algorithm 6.2 on three samples, C = 4: m - M falls to 2/3 and to 2/5 of itself in turn, and so is never 0."""
    y, K = (1, -1, 1), [[F(2), F(0), F(0)], [F(0), F(1), F(0)], [F(0), F(0), F(3)]]
    alpha, g, violations = [F(0)] * 3, [F(1)] * 3, []
    for _ in range(40):
        up = [k for k in range(3) if y[k] > 0 or alpha[k] > 0]  # no upper bound is ever reached
        down = [k for k in range(3) if y[k] < 0 or alpha[k] > 0]
        i, j = max(up, key=lambda k: y[k] * g[k]), min(down, key=lambda k: y[k] * g[k])
        violations.append(y[i] * g[i] - y[j] * g[j])
        length = violations[-1] / (K[i][i] + K[j][j] - 2 * K[i][j])
        g = [g[k] - length * y[k] * (K[i][k] - K[j][k]) for k in range(3)]
        alpha[i] += y[i] * length
        alpha[j] -= y[j] * length
    assert min(violations) > 0
    ratios = [later / earlier for earlier, later in pairwise(violations)]
    assert ratios == [F(2, 3), F(2, 5)] * 19 + [F(2, 3)]
    assert violations[-1] < F(1, 10**9)  # any tolerance is reached
    assert max(alpha) < 4
