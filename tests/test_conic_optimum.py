"""P* by Clarabel, beside what fits claim and beside the optimum that the adversary finds in eighty digits."""

from __future__ import annotations

import numpy as np
import pytest
from conic_programs import LOSSES as CONIC
from conic_programs import find_optimum
from exact_numbers import exact, many_digits, zeros
from exact_objectives import Objective

from maxmargin import solve
from maxmargin.model.features import AbsoluteDesign, Design
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Problem
from maxmargin.model.samples import Dense

CONIC_PRECISION = 1e-6  # relative, of what Clarabel finds
PARAMETERS = {
    "hinge": 1.0, "squared_hinge": 1.0, "epsilon_insensitive": 0.2, "squared_epsilon_insensitive": 0.2, "quantile": 0.3,
    "huber": 0.5,
}  # fmt: skip
GIVEN = {"epsilon_insensitive", "squared_epsilon_insensitive", "quantile", "huber"}  # losses that take their parameter
SMOOTH = {"squared_hinge", "squared_epsilon_insensitive", "logistic", "exponential", "poisson"}  # |w|_1 is for these


def draw_problem(loss: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples, labels or targets, and weights from 0.1 to 10."""
    rng = np.random.default_rng([seed, list(CONIC).index(loss)])
    X = rng.normal(size=(25, 3)) + rng.normal(size=3)
    if loss in ("hinge", "squared_hinge", "logistic", "exponential"):
        y = np.where(X[:, 0] + rng.normal(size=25) > 0, 1.0, -1.0)
    else:
        y = rng.poisson(2.0, 25).astype(float) if loss == "poisson" else X[:, 0] + rng.normal(size=25)
    return X, y, 10.0 ** rng.uniform(-1, 1, 25)


CASES = [(loss, penalty) for loss in CONIC for penalty in (("l2", "l1") if loss in SMOOTH else ("l2",))]


@pytest.mark.parametrize(("loss", "penalty"), CASES)
@pytest.mark.parametrize("free", [True, False], ids=["free", "none"])
@pytest.mark.cover("all")
def test_certificates_enclose_the_optimum_of_a_conic_solver(loss, free, penalty):
    """dual <= P* <= primal."""
    parameter = PARAMETERS.get(loss, 0.0)
    for seed in range(3):
        X, y, c = draw_problem(loss, seed)
        design = (Design if penalty == "l2" else AbsoluteDesign)(Dense(X))
        made = LOSSES[loss](parameter) if loss in GIVEN else LOSSES[loss]()
        result = solve(Problem(design, y, c, made, 0.0 if free else None), tol=1e-7)
        optimum = find_optimum(X, y, c, loss, parameter, free, penalty)
        assert result.converged, result.message
        certificate, slack = result.certificate, CONIC_PRECISION * abs(optimum)
        assert certificate.dual - slack <= optimum <= certificate.primal + slack
        assert certificate.primal == pytest.approx(optimum, rel=2 * CONIC_PRECISION)


@pytest.mark.parametrize("free", [True, False], ids=["free", "none"])
@pytest.mark.parametrize("loss", PARAMETERS)
def test_the_enemy_and_the_conic_solver_agree(loss, free):
    """The optimum in eighty digits is that of Clarabel to the digits that it has."""
    X, y, c = (part[:9] for part in draw_problem(loss, 7))
    optimum = find_optimum(X, y, c, loss, PARAMETERS[loss], free)
    with many_digits():
        Z = exact(X)
        least = Objective(
            Z @ Z.T, exact(y), exact(c), loss, exact(PARAMETERS[loss]), zeros(1 if free else 0)
        ).least()  # fmt: skip
    assert float(least) == pytest.approx(optimum, rel=CONIC_PRECISION)
