"""Problems for SMO, and what an optimal result has to fulfil."""

from __future__ import annotations

import numpy as np
import pytest
from reference_problems import ROW_LOSSES, make_nu_classification, make_nu_regression, make_targets, say, solve_qp
from time_allowances import HANG_SECONDS

from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Laplacian, Linear, Polynomial
from maxmargin.model.losses import EpsilonInsensitive, Hinge, Novelty
from maxmargin.model.problem import Problem
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Result, Status
from maxmargin.solvers.smo import SELECTIONS, SMO

KERNELS = (Linear(), Polynomial(degree=3, gamma=0.5, coef0=1.0), RBF(gamma=0.5), Laplacian(gamma=0.5))
LAYERED = ("nu-classification", "nu-regression", "one-class")
every_row_loss = pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
every_selection = pytest.mark.parametrize("selection", SELECTIONS)
either_working_set = pytest.mark.parametrize("working_set", [2, 20], ids=["pairs", "blocks"])


def run(problem: Problem, tol: float = 1e-8, **knobs) -> Result:
    """A solve that cannot go on for ever."""
    return solve(problem, SMO(**knobs), tol=tol, max_seconds=HANG_SECONDS)


def reference_value(problem: Problem) -> float:
    """The optimum by the independent QP solver."""
    K = problem.features.block(np.arange(problem.n))
    return solve_qp(K, problem.row, problem.balance)[1]


def assert_optimal(result: Result, best: float, accuracy: float = 1e-6) -> None:
    """Converged, and P and D both at the optimum."""
    assert result.status is Status.CONVERGED, (result.status, result.certificate)
    assert result.certificate.primal == pytest.approx(best, rel=accuracy, abs=accuracy * 1e-2)
    assert result.certificate.dual == pytest.approx(best, rel=accuracy, abs=accuracy * 1e-2)


def make_layered(kind: str, n: int = 40, nu: float = 0.4, kernel=None) -> Problem:
    """A nu problem over random samples."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, 3))
    features = Gram.from_data(kernel or RBF(gamma=0.5), X)
    if kind == "one-class":
        return Problem(features, np.ones(n), np.ones(n), Novelty(), nu * n)
    make, loss = {
        "nu-classification": (make_nu_classification, Hinge()),
        "nu-regression": (make_nu_regression, EpsilonInsensitive()),
    }[kind]
    return make(features, make_targets(loss, X, rng), np.ones(n), nu)
