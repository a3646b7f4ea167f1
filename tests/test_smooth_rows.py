"""Rows of smooth losses: the compiled formulas beside the functions of the losses, and sums strip by strip."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.certificates import term_sums
from maxmargin.certificates.certificate import judge
from maxmargin.model.features import Design
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Point, Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers.newton import oracle, system
from maxmargin.solvers.newton.block import RowBlock

NAMES = ("logistic", "exponential", "poisson")
every_loss = pytest.mark.parametrize("name", NAMES)


def make_problem(name: str, n: int = 400, balance: float | None = 0.0) -> Problem:
    """Random rows, some without weight."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 3))
    y = random.poisson(2.0, n).astype(float) if name == "poisson" else np.where(random.random(n) < 0.4, 1.0, -1.0)
    c = np.where(random.random(n) < 0.1, 0.0, random.random(n) + 0.1)
    return Problem(Design(wrap(X), 1.0), y, c, LOSSES[name](), balance)


@every_loss
@pytest.mark.parametrize("shared", [100, 10**9], ids=["strips", "one strip"])
def test_compiled_formulas_are_those_of_the_losses(name, shared, monkeypatch):
    """Duals, second derivatives, sums and slopes along a step, also where scores are large."""
    monkeypatch.setattr(oracle, "PARALLEL_MIN_ROWS", shared)
    terms = make_problem(name).terms
    compiled, plain = oracle.make_term_oracle(terms), oracle.TermOracle(terms)
    assert type(compiled) is not type(plain)
    random = np.random.default_rng(1)
    f, step = 3.0 * random.standard_normal(400), random.standard_normal(400)
    f[:4] = (40.0, -40.0, 0.0, 700.0 if name == "logistic" else 30.0)
    found, expected = compiled.respond(f), plain.respond(f)
    np.testing.assert_allclose(found.a, expected.a, rtol=1e-12, atol=1e-290)
    np.testing.assert_allclose(found.second_derivative, expected.second_derivative, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(found[3:7], expected[3:7], rtol=1e-9)
    np.testing.assert_allclose(
        compiled.directional_derivative(f, step, 0.3), plain.directional_derivative(f, step, 0.3), rtol=1e-9
    )
    index = np.arange(5, 50)
    np.testing.assert_allclose(compiled.take(index).respond(f[index]).a, expected.a[index], rtol=1e-12)


@every_loss
@pytest.mark.parametrize("balance", [None, 0.0])
def test_certificates_do_not_depend_on_strips(name, balance, monkeypatch):
    """P and D from strips of few rows or from all at once, up to rounding."""
    problem = make_problem(name, balance=balance)
    coef = np.array([0.1, -0.2, 0.05, 0.0 if balance is not None else 0.3])
    point = Point(problem.terms.response(problem.features.scores(coef))[0], 0.2 if balance is not None else 0.0, coef)
    whole = judge(problem, point)
    monkeypatch.setattr(term_sums, "STRIP_ROWS", 37)
    parts = judge(problem, point)
    assert parts.primal == pytest.approx(whole.primal, rel=1e-13)
    assert parts.dual == pytest.approx(whole.dual, rel=1e-12)
    assert parts.kkt == pytest.approx(whole.kkt, rel=1e-12)


@pytest.mark.parametrize("name", ["logistic", "poisson"])
@pytest.mark.parametrize("kind", ["response", "at the ends", "infeasible"])
def test_compiled_sums_are_those_of_the_judge(name, kind):
    """Sums, sizes, bounds on errors and the violation as the functions of the loss have them, rows of weight 0 too."""
    problem = make_problem(name)
    random = np.random.default_rng(2)
    f = 3.0 * random.standard_normal(400)
    f[:3] = (50.0, -50.0, 0.0)
    a = problem.terms.repair(problem.terms.response(f + 0.1 * random.standard_normal(400))[0], None)
    if kind == "at the ends":  # t = 0 or 1; of counts t = 0 or y
        a = np.where(random.random(400) < 0.5, 0.0, problem.c * problem.y)
    elif kind == "infeasible":
        a[5:8] += 10.0 * problem.y[5:8] + 1.0
        a[np.flatnonzero(problem.c == 0)[0]] = 0.1
    error = 1e-12 * random.random(400)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = term_sums.list_term_sums(problem.terms, a, f, error)
        violation = term_sums.measure_violation(problem, a, f)
    found, compiled = term_sums.add_compiled_terms(problem.terms, a, f, error)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert compiled == pytest.approx(violation, rel=1e-9, abs=1e-12)


def test_drawn_rows_stand_for_all():
    """Rows of large norm count themselves, others eight times where drawn: the diagonal is near that of all rows."""
    random = np.random.default_rng(0)
    X = random.standard_normal((20_000, 3))
    X[::1000] *= 30.0
    samples = wrap(X)
    block = RowBlock(samples, oracle.make_term_oracle(make_problem("logistic", 20_000).terms), 1.0, 1.0, np.zeros(4))
    block.place(np.zeros(4), np.zeros(20_000))
    matrix, curvature = system.form_curvature_matrix(block), block.response.second_derivative
    drawn, far = block.row_sample
    assert set(range(0, 20_000, 1000)) <= set(far.index.tolist())
    assert not set(far.index) & set(drawn.index)
    assert len(drawn.index) == pytest.approx(2500, rel=0.1)
    exact = (X * curvature[:, None]).T @ X
    np.testing.assert_allclose(np.diag(matrix)[:3], np.diag(exact), rtol=0.05)
