"""The parts of Newton's method and of interior point: systems, coarse starts, near rows, random rows, sifting."""

from __future__ import annotations

import numpy as np
import pytest
from linear_problems import EXAMPLES, FORMS, KINKED, SMOOTH, make_data, make_linear_problem, pose
from time_allowances import HANG_SECONDS

from maxmargin.model.normal_equations import form_normal_matrix
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers import Multipliers, Newton
from maxmargin.solvers.loop import solve
from maxmargin.solvers.newton import oracle, run, sifting, system

SHAPES = {"long": {"n": 40, "d": 5}, "wide": {"n": 8, "d": 20}}
every_form = pytest.mark.parametrize("form", FORMS)
every_intercept = pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
ROWS = [name for name in EXAMPLES if name not in (*SMOOTH, "novelty")]
MANY = [name for name in EXAMPLES if name != "novelty"]


def make_many(name: str, n: int = 600, form: str = "dense", intercept: str = "free", weighted: bool = True) -> Problem:
    """Rows enough for several rounds."""
    return make_linear_problem(name, intercept, form, weighted, n=n, d=3)


def solve_both(problem: Problem, solver, tol: float = 1e-8) -> tuple:
    """The solve in question, and that of SMO or Newton's method as they are."""
    ours = solve(problem, solver, tol=tol, max_seconds=HANG_SECONDS)
    assert ours.converged, ours.message
    assert judge_between(ours.certificate)
    return ours, ours.certificate.primal


def judge_between(certificate) -> bool:
    """D <= P."""
    return certificate.dual <= certificate.primal * (1.0 + 1e-12)


# ---- the three systems ----------------------------------------------------------------------------------------


def move_some(problem: Problem):
    """The block of a Newton run at a place where some rows bend and others do not."""
    block = (Newton() if problem.loss.name not in KINKED else Multipliers()).start(problem, 1e-9).whole
    u = 0.3 * np.random.default_rng(1).normal(size=problem.features.samples.d + 1)
    block.place(u, block.project(u))
    return block


@every_form
@every_intercept
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MANY)
def test_three_systems_give_one_step(name, shape, intercept, form):
    """Newton's equation by features, by rows and by conjugate gradients: the same step, and a solution."""
    problem = make_linear_problem(name, intercept, form, True, **SHAPES[shape])
    block, damping = move_some(problem), 0.01 if intercept == "free" else 0.0
    curved = np.flatnonzero(block.response.second_derivative)
    steps = [
        system.solve_features(block, block.gradient, damping),
        system.solve_rows(block, curved, block.gradient, damping),
        system.solve_by_conjugate_gradients(block, curved, block.gradient, damping, 1e-13),
    ]
    if intercept == "none":  # no constant feature: what the last place holds is never used
        steps, size = [step[:-1] for step in steps], -1
    else:
        size = None
    Z = np.column_stack([wrap_dense(block.samples), np.full(problem.n, block.constant)])
    R = np.diag(np.append(np.ones(Z.shape[1] - 1), block.ridge + damping))
    matrix = (R + (Z.T * block.response.second_derivative) @ Z)[:size, :size]
    scale = np.abs(steps[0]).max()
    for step in steps:
        np.testing.assert_allclose(step, steps[0], atol=1e-8 * scale)
        np.testing.assert_allclose(matrix @ step, -block.gradient[:size], atol=1e-8 * np.abs(block.gradient).max())


def wrap_dense(samples) -> np.ndarray:
    """The rows as an ordinary matrix."""
    return samples.X.toarray() if hasattr(samples.X, "toarray") else samples.X


@pytest.mark.parametrize(("formed", "rows"), [(2500, 0), (0, 3000), (0, 0)], ids=["features", "rows", "neither"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MANY)
def test_the_choice_of_system_does_not_matter(name, shape, formed, rows, monkeypatch):
    """The same optimum, whichever system is chosen."""
    problem = make_linear_problem(name, "free", "dense", True, **SHAPES[shape])
    solver = "multipliers" if name in KINKED else "newton"
    _, expected = solve_both(problem, solver)
    monkeypatch.setattr(system, "NORMAL_MATRIX_MAX_FEATURES", formed)
    monkeypatch.setattr(system, "ROW_SYSTEM_MAX_ROWS", rows)
    _, found = solve_both(problem, solver)
    assert found == pytest.approx(expected, rel=3e-8)


@every_form
@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_normal_matrix(share, constant, form):
    """sum_i weight_i z_i z_i', its upper half, when none, few, most or all of the weights are positive."""
    X, _, _ = make_data(EXAMPLES["hinge"], n=50, d=6)
    weight = np.where(np.arange(50) < 50 * share, np.linspace(0.5, 2.0, 50), 0.0)
    Z = np.column_stack([X, np.full(50, constant)])
    found = form_normal_matrix(wrap(FORMS[form](X)), weight, constant)
    np.testing.assert_allclose(np.triu(found), np.triu((Z.T * weight) @ Z), atol=1e-13)


@every_form
def test_normal_matrix_of_many_features(form):
    """Beyond the size at which strips have no matrix of their own."""
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(30, 600)) < 0.9, 0.0, rng.normal(size=(30, 600)))
    found = form_normal_matrix(wrap(FORMS[form](X)), np.ones(30), 1.0)
    Z = np.column_stack([X, np.ones(30)])
    np.testing.assert_allclose(np.triu(found), np.triu(Z.T @ Z), atol=1e-12)


# ---- fewer rows, to begin with --------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("share", [8, 2])
@pytest.mark.parametrize("name", MANY)
def test_coarse_start(name, share, form, monkeypatch):
    """An eighth of the rows first; or a half, and a half of these before that: the same optimum."""
    problem = make_many(name, 2000, form)
    solver = Multipliers() if name in KINKED else Newton()
    _, expected = solve_both(problem, solver)
    monkeypatch.setattr(run, "COARSE_START_MIN_ROWS", 400)
    monkeypatch.setattr(run, "COARSE_ROW_RATIO", share)
    coarse = solver.start(problem, 1e-8).coarse
    assert coarse is not None
    assert (coarse.coarse is not None) == (share == 2)
    _, found = solve_both(problem, solver)
    assert found == pytest.approx(expected, rel=3e-8)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("max_iter", [0, 1, 2, 5])
def test_limits_within_a_coarse_start(name, max_iter, monkeypatch):
    """A solve that ends while it looks at few rows stands where these led it."""
    problem = make_many(name, 2000)
    monkeypatch.setattr(run, "COARSE_START_MIN_ROWS", 1900)
    result = solve(problem, "multipliers" if name in KINKED else "newton", tol=1e-10, max_iter=max_iter)
    assert result.n_iter <= max_iter
    assert np.isfinite(result.certificate.primal)
    assert judge_between(result.certificate)
    assert result.history or max_iter == 0


@every_form
@pytest.mark.parametrize("near", [0.0, 0.05, 1.1])
@pytest.mark.parametrize("name", ROWS)
def test_gathering_of_near_rows(name, near, form, monkeypatch):
    """Steps on the rows near their kinks, on none or on all of them: the same optimum."""
    problem = make_many(name, 600, form)
    _, expected = solve_both(problem, "smo")
    monkeypatch.setattr(run, "NEAR_ROWS_MAX_SHARE", near)
    ours, found = solve_both(problem, "multipliers")
    assert found == pytest.approx(expected, rel=3e-8)
    assert ours.counters["rounds"] > 0


@pytest.mark.parametrize("name", [name for name in MANY if name not in KINKED])
def test_rows_drawn_by_lot_for_the_matrix(name, monkeypatch):
    """A matrix of one row in eight is no exact one: more steps, the same optimum, the same in every fit."""
    problem = make_many(name, 2000)
    _, expected = solve_both(problem, "newton")
    monkeypatch.setattr(system, "DRAWN_ROWS_PER_FEATURE", 10)
    first, found = solve_both(problem, "newton")
    again, _ = solve_both(problem, "newton")
    assert found == pytest.approx(expected, rel=3e-8)
    np.testing.assert_array_equal(first.point.coef, again.point.coef)


@pytest.mark.parametrize("shared", [100, 10**9], ids=["strips", "one strip"])
@pytest.mark.parametrize("name", MANY)
def test_strips_give_the_same_answer(name, shared, monkeypatch):
    """Rows answered in strips by all cores, or in one piece."""
    problem = make_many(name, 900)
    solver = "multipliers" if name in KINKED else "newton"
    _, expected = solve_both(problem, solver)
    monkeypatch.setattr(oracle, "PARALLEL_MIN_ROWS", shared)
    _, found = solve_both(problem, solver)
    assert found == pytest.approx(expected, rel=3e-8)


# ---- sifting --------------------------------------------------------------------------------------------------


@every_form
@every_intercept
@pytest.mark.parametrize("name", ROWS)
def test_sifting(name, intercept, form, monkeypatch):
    """Interior point on the rows that matter: a random eighth first, then those near their kinks."""
    problem = make_many(name, 600, form, intercept)
    _, expected = solve_both(problem, "interior_point")
    monkeypatch.setattr(sifting, "SIFTING_MIN_ROWS", 100)
    monkeypatch.setattr(sifting, "SIFTING_MIN_ROWS_PER_FEATURE", 1)
    ours, found = solve_both(problem, "interior_point")
    assert found == pytest.approx(expected, rel=3e-8)
    assert ours.counters["rounds"] >= 1


@pytest.mark.parametrize("nearest", [0.01, 0.5])
@pytest.mark.parametrize("name", ["hinge", "absolute", "quantile", "epsilon_insensitive"])
def test_sifting_brings_rows_back(name, nearest, monkeypatch):
    """Rows that were left out in error come back: with too few at first there are more rounds."""
    problem = make_many(name, 600)
    _, expected = solve_both(problem, "interior_point")
    monkeypatch.setattr(sifting, "SIFTING_MIN_ROWS", 100)
    monkeypatch.setattr(sifting, "SIFTING_MIN_ROWS_PER_FEATURE", 1)
    monkeypatch.setattr(sifting, "KEPT_ROW_SHARE", nearest)
    ours, found = solve_both(problem, "interior_point")
    assert found == pytest.approx(expected, rel=3e-8)
    if nearest == 0.01:
        assert ours.counters["rounds"] > 1


@pytest.mark.parametrize("max_iter", [0, 1, 3, 10])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_limits_within_sifting(name, max_iter, monkeypatch):
    """A solve that ends on rows sampled at random has a point and a bound for all rows."""
    problem = make_many(name, 600)
    monkeypatch.setattr(sifting, "SIFTING_MIN_ROWS", 100)
    monkeypatch.setattr(sifting, "SIFTING_MIN_ROWS_PER_FEATURE", 1)
    result = solve(problem, "interior_point", tol=1e-10, max_iter=max_iter)
    assert result.n_iter <= max_iter
    assert np.isfinite(result.certificate.primal)
    assert judge_between(result.certificate)


@every_form
def test_systems_of_a_block_without_bending_rows(form):
    """Where no row bends the matrix is that of the penalty alone."""
    X, y, c = make_data(EXAMPLES["hinge"], n=20)
    block = Multipliers().start(pose(EXAMPLES["hinge"], FORMS[form](X), y, c, "regularised"), 1e-9).whole
    u = np.zeros(5)
    u[-1] = 1e6
    block.place(u, block.project(u))
    assert not block.response.second_derivative.any()
    none = np.zeros(0, int)
    np.testing.assert_allclose(system.solve_rows(block, none, block.gradient, 0.0), -block.gradient)
    np.testing.assert_allclose(system.solve_features(block, block.gradient, 0.0), -block.gradient)
    np.testing.assert_allclose(
        system.solve_by_conjugate_gradients(block, none, block.gradient, 0.0, 1e-12), -block.gradient, rtol=1e-9
    )


def test_rows_that_rounding_leaves_indefinite():
    """Gram values of 1e18 drown the 1 on the diagonal: a larger one takes its place."""
    from types import SimpleNamespace

    B = np.random.default_rng(0).normal(size=(12, 3)) * 1e9
    block = SimpleNamespace(gram=lambda rows: (B @ B.T)[np.ix_(rows, rows)])
    factor, _ = system.factor_rows(block, np.arange(12), np.ones(12))
    assert np.isfinite(np.triu(factor)).all()


# ---- the matrix of the last step ------------------------------------------------------------------------------


@every_form
def test_last_step_keeps_the_matrix_where_that_suffices(form, monkeypatch):
    """A gap that is nearly closed is closed by the factors of the last matrix, and no matrix is formed for it."""
    near_end = Newton().start(make_many("logistic", form=form), 1e-9)
    while near_end.gap > 1e-6 * abs(near_end.primal):
        near_end.take_round(1)
    near_end.tol = 0.5 * near_end.gap / abs(near_end.primal)
    near_end.next_share = 0.05  # as it was found on the way here
    assert near_end.can_keep_matrix()
    monkeypatch.setattr(system, "form_normal_matrix", None)
    before = near_end.gap
    near_end.take_round(1)
    assert near_end.gap < 0.1 * before
    assert near_end.next_share < 0.1


def test_matrix_is_not_kept_where_steps_fall_slowly():
    """Nor where one step is not expected to suffice, nor where rows have kinks."""
    start = Newton().start(make_many("logistic"), 1e-9)
    assert not start.can_keep_matrix()
    start.take_round(1)
    assert start.whole.factors is not None
    start.next_share = 0.2
    assert not start.can_keep_matrix()
    start.next_share = 0.01
    assert start.gap * 0.01 > 1e-9 * abs(start.primal)
    assert not start.can_keep_matrix()
    bent = Newton().start(make_many("squared_hinge"), 1e-9)
    bent.take_round(1)
    bent.next_share = 1e-12
    assert not bent.can_keep_matrix()
