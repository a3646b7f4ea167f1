"""No certificate claims what is false: fits of every model, held against exact arithmetic. See `adversary.py`."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from adversary import main
from claims.claim import Claim
from claims.false_claims import find_false_claims, judge_case
from claims.families import FAMILIES, FORMERLY_FALSE_CASES, name_cases, try_case
from claims.kernel_machines import claim_kernel
from exact_numbers import ONE, TWO, ZERO, Factors, exact, many_digits, total, zeros
from exact_objectives import Objective, SmoothObjective, kernel_matrix
from exact_programs import solve_exactly

import maxmargin as mm

QUICK = 100  # cases of each family
MANY = int(os.environ.get("ADVERSARY_CASES", "9000"))  # of all families together


def assert_honest(names: list[str]) -> None:
    """No case has a false claim; the message has a line for each that has one, which runs it again."""
    found = []
    for name in names:
        with many_digits():
            case = try_case(name)
            found += [f"{false_claim}\n    {case}" for false_claim in judge_case(case)]
    assert not found, "\n".join([f"{len(found)} false claims", *found])


@pytest.mark.parametrize("family", FAMILIES)
def test_certificates_hold_in_exact_arithmetic(family):
    assert_honest(name_cases(QUICK, 0, [family]))


@pytest.mark.parametrize("name", FORMERLY_FALSE_CASES)
def test_cases_with_a_false_claim_once_are_honest_now(name):
    """Both of two fits: one that begins with loading compiled loops, which may take all of its time, and one after."""
    assert_honest([name, name])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_certificates_hold_in_exact_arithmetic(family):
    assert_honest(name_cases(MANY // len(FAMILIES), 1, [family]))


# ---- the adversary itself ----------------------------------------------------------------------------------------


def make_honest_claim() -> Claim:
    """A fit whose certificate holds."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(8, 2)), np.array([0, 1] * 4)
    model = mm.SVC(C=2.0, tol=1e-8).fit(X, y)
    with many_digits():
        K = kernel_matrix("rbf", exact(X), Decimal(float(model._gamma)))
        objective = Objective(K, exact(1.0 - 2.0 * y), np.full(8, TWO), "hinge", ONE, zeros(1))
        claim = claim_kernel(model.result_, 1e-8, objective, np.arange(8))
        assert claim.certificate.convex
        assert not find_false_claims(claim)
    return claim


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("primal below P", lambda claim: {"primal": claim.certificate.primal * (1 - 1e-12)}),
        ("dual above P*", lambda claim: {"dual": float(claim.least()) * (1 + 1e-12)}),
        ("gap below truth", lambda claim: {"dual": claim.certificate.primal * (1 + 1e-9)}),
        ("not a number", lambda claim: {"dual": np.nan}),
    ],
)
def test_the_adversary_sees_a_false_claim(kind, change):
    claim = make_honest_claim()
    with many_digits():
        altered_claim = replace(claim, certificate=replace(claim.certificate, bound=np.inf, **change(claim)))
        assert kind in [false_claim.kind for false_claim in find_false_claims(altered_claim)]


def test_the_adversary_sees_a_fit_that_did_not_converge():
    claim = make_honest_claim()
    with many_digits():
        better = min(claim.values.values()) * (ONE - Decimal("0.1"))
        altered_claim = replace(claim, least=lambda: better, status=mm.Status.CONVERGED, tol=1e-2)
        assert "converged but not" in [false_claim.kind for false_claim in find_false_claims(altered_claim)]


def test_a_system_is_solved_to_seventy_digits():
    rng = np.random.default_rng(0)
    with many_digits():
        A, x = exact(rng.normal(size=(6, 6))), exact(rng.normal(size=6))
        assert max(abs(Factors(A).solve(A @ x) - x)) < Decimal("1e-70")


@pytest.mark.parametrize(
    "loss", ["hinge", "squared_hinge", "epsilon_insensitive", "least_squares", "quantile", "huber"]
)
@pytest.mark.parametrize("free", [True, False])
def test_the_least_value_is_where_the_dual_program_has_its_optimum(loss, free):
    """P at the point that was found equals D there to twenty digits: both are the optimum."""
    rng = np.random.default_rng(3)
    with many_digits():
        X = exact(rng.normal(size=(8, 2)))
        y = exact(np.sign(rng.normal(size=8)) if "hinge" in loss else rng.normal(size=8))
        objective = Objective(X @ X.T, y, exact(np.full(8, 2.0)), loss, Decimal("0.25"), zeros(1 if free else 0))
        best, a, _ = objective.solve()
        assert abs(best - objective.dual(a)) <= Decimal("1e-20") * abs(best)
        assert abs(total(a)) <= Decimal("1e-20") or not free


def test_two_ways_to_the_optimum_agree():
    """The dual program, Newton's method, and a quadratic program in long doubles."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(7, 2)), np.sign(rng.normal(size=7))
    with many_digits():
        Z, c = np.hstack([exact(X), np.full((7, 1), ONE)]), np.full(7, Decimal(3))
        dual = Objective(exact(X) @ exact(X).T, exact(y), c, "squared_hinge", ONE, zeros(1)).least()
        primal = SmoothObjective(Z, exact(y), c, "squared_hinge", True).least(np.full(3, ZERO))
        assert abs(dual - primal) <= Decimal("1e-20") * dual
    H = X @ X.T + np.eye(7) / 6.0
    program = solve_exactly(H, -y, -np.diag(y), np.zeros(7), np.ones((1, 7)), np.zeros(1))
    assert float(dual) == pytest.approx(-program.value, rel=1e-11)


def test_the_command_prints_a_table(capsys):
    main(["--cases", "2", "--only", "judge"])
    assert "dual above P*" in capsys.readouterr().out
    main(["--case", "judge:0"])
    assert "python tests/adversary.py --case judge:0" in capsys.readouterr().out
