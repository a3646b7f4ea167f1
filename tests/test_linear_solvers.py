"""Every solver for linear machines, on every loss it takes: the optimum is that of a solver that is not ours."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import CLASS_LOSSES, make_class_problem
from linear_problems import (
    EXAMPLES,
    FORMS,
    INTERCEPTS,
    KINKED,
    LOSSES_BY_SOLVER,
    PAIRS,
    PIECEWISE_LOSSES,
    SMOOTH,
    find_optimum,
    list_losses,
    make_data,
    make_linear_problem,
    pose,
)
from reference_problems import make_nu_classification, make_problem
from time_allowances import HANG_SECONDS

from maxmargin.certificates.certificate import judge
from maxmargin.model.features import Design
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import LOSSES, Hinge
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.loop import solve

every_pair = pytest.mark.parametrize(("solver", "name"), PAIRS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
both_weights = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])


def check_optimum(problem: Problem, solver, optimum: float, tol: float = 1e-9) -> None:
    """Converged; P is the optimum, D is below it; and the certificate is the judge's own."""
    result = solve(problem, solver, tol=tol, max_seconds=HANG_SECONDS)
    certificate, slack = result.certificate, 1e-9 * abs(optimum)
    assert result.converged, f"{result.status}, relative gap {certificate.relative_gap:.2g}"
    assert certificate.relative_gap <= tol
    assert certificate.primal == pytest.approx(optimum, rel=1e-7)
    assert certificate.dual <= optimum + slack
    assert optimum <= certificate.primal + slack
    assert judge(problem, result.point) == certificate


# ---- the optimum --------------------------------------------------------------------------------------------


TAKEN_LOSSES = {  # what is written in the books of these solvers; of others only their own `takes` is known
    "smo": PIECEWISE_LOSSES,
    "newton": [name for name in EXAMPLES if name not in KINKED],
    "multipliers": PIECEWISE_LOSSES,
    "interior_point": PIECEWISE_LOSSES,
    "coordinate": PIECEWISE_LOSSES,
    "bundle": list(EXAMPLES),
    "gradient_descent": list(EXAMPLES),
    "adagrad": list(EXAMPLES),
    "lagrangian_dual": PIECEWISE_LOSSES,
    "qp": PIECEWISE_LOSSES,
    "proximal_newton": [],
    "class_newton": [],
    "class_coordinate": [],
    "vector_ridge": [],
    "one_slack": [],  # which has no free intercept
    "frank_wolfe": [],
    "structured_bundle": [],
}


def test_every_loss_has_an_example():
    """The walk leaves no loss out, no solver that takes one, and the kinds of losses are those of the books."""
    assert set(EXAMPLES) == set(LOSSES)
    assert set(LOSSES_BY_SOLVER) == {*SOLVERS, "auto"}
    assert {solver: LOSSES_BY_SOLVER[solver] for solver in TAKEN_LOSSES} == TAKEN_LOSSES
    assert {"hinge", "novelty", "absolute", "quantile", "epsilon_insensitive"} <= {*KINKED} <= {*PIECEWISE_LOSSES}
    assert {"exponential", "logistic", "poisson"} <= {*SMOOTH}
    assert {"least_squares", "huber", "squared_hinge", "squared_epsilon_insensitive"}.isdisjoint((*KINKED, *SMOOTH))


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_solvers_take(solver):
    """A solver takes the losses of its kind, whatever the intercept, the form of the data and the weights."""
    for intercept in INTERCEPTS:
        for form in FORMS:
            taken = [
                name for name in EXAMPLES
                if SOLVERS[solver]().accepts(make_linear_problem(name, intercept, form, True)) is None
            ]  # fmt: skip
            assert taken == list_losses(SOLVERS[solver], intercept)
            if solver == "one_slack":
                assert taken == ([] if intercept == "free" else ["hinge"])


@both_weights
@every_intercept
@every_pair
def test_optimum(solver, name, intercept, weighted):
    """P and D meet at the optimum of a general solver, for dense and for sparse data."""
    for form in FORMS:
        problem = make_linear_problem(name, intercept, form, weighted)
        check_optimum(problem, solver, find_optimum(name, intercept, weighted))


@pytest.mark.cover("values")
@every_intercept
@every_pair
def test_optimum_with_more_features_than_samples(solver, name, intercept):
    """The same where the equations of the rows are the smaller ones."""
    for form in FORMS:
        problem = make_linear_problem(name, intercept, form, n=14, d=30)
        check_optimum(problem, solver, find_optimum(name, intercept, n=14, d=30))


@both_weights
@every_intercept
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in KINKED])
@pytest.mark.parametrize("shape", [{}, {"n": 14, "d": 18}], ids=["long", "wide"])
def test_optimum_with_the_absolute_penalty(shape, name, intercept, weighted):
    """|w|_1, for every smooth loss."""
    if name == "poisson" and shape:
        pytest.xfail("Where no curvature holds w, the pull of a feature is exact to 1e-8 only, and so is the bound.")
    for form in FORMS:
        problem = make_linear_problem(name, intercept, form, weighted, "l1", **shape)
        check_optimum(problem, "proximal_newton", find_optimum(name, intercept, weighted, "l1", **shape))


@pytest.mark.cover("values")
@every_intercept
@every_pair
def test_optimum_at_other_costs(solver, name, intercept):
    """From fits that hardly move from w = 0 to those that hardly know the penalty."""
    X, y, c = make_data(EXAMPLES[name])
    for cost in (1e-2, 30.0):
        problem = pose(EXAMPLES[name], X, y, cost * c, intercept)
        check_optimum(problem, solver, find_optimum(name, intercept, cost=cost), tol=1e-7)


@both_weights
@every_intercept
@pytest.mark.parametrize(("solver", "name"), [pair for pair in PAIRS if pair[0] in ("smo", "newton", "multipliers")])
def test_violation_vanishes_at_the_optimum(solver, name, intercept, weighted):
    """The third number of a certificate, for rows without weight too; at 1e-10, since a gap is a square."""
    result = solve(make_linear_problem(name, intercept, weighted=weighted), solver, tol=1e-10, max_seconds=HANG_SECONDS)
    assert result.certificate.kkt <= 1e-4


# ---- weights ------------------------------------------------------------------------------------------------


@pytest.mark.cover("values")
@pytest.mark.parametrize("form", FORMS)
@every_pair
def test_weights_are_repetitions(solver, name, form):
    """A weight of k is the same as the row k times; a weight of zero the same as no row."""
    loss = EXAMPLES[name]
    X, y, c = make_data(loss, n=24)
    times = np.arange(24) % 4
    again = np.repeat(np.arange(24), times)
    weighted = pose(loss, FORMS[form](X), y, times * c)
    repeated = pose(loss, FORMS[form](X[again]), y[again], c[again])
    first, second = (solve(problem, solver, tol=1e-9, max_seconds=HANG_SECONDS) for problem in (weighted, repeated))
    assert first.converged
    assert first.certificate.primal == pytest.approx(second.certificate.primal, rel=1e-8)
    assert not first.point.a[times == 0].any()


@pytest.mark.cover("values")
@every_pair
def test_rows_without_weight_have_no_say(solver, name):
    """Whatever they hold."""
    loss = EXAMPLES[name]
    X, y, c = make_data(loss, n=30)
    c[20:] = 0.0
    wild = X.copy()
    wild[20:] = 1e3 * X[20:] + 7.0
    results = [solve(pose(loss, data, y, c), solver, tol=1e-9, max_seconds=HANG_SECONDS) for data in (X, wild)]
    assert all(result.converged for result in results)
    assert results[0].certificate.primal == pytest.approx(results[1].certificate.primal, rel=1e-8)


# ---- what is refused ----------------------------------------------------------------------------------------


def make_kinds() -> dict[str, Problem]:
    """Problems of every kind, by what they are."""
    X, y, c = make_data(EXAMPLES["hinge"], n=12)
    many = sp.csr_array(([1.0, -1.0], ([0, 1], [0, 5000])), shape=(2, 5001))
    kinds = {f"linear {name}": make_linear_problem(name) for name in EXAMPLES}
    kinds |= {f"absolute {name}": make_linear_problem(name, penalty="l1") for name in EXAMPLES}
    kinds |= {f"classes {name}": make_class_problem(name) for name in CLASS_LOSSES}
    kinds |= {f"kernel {name}": make_problem(EXAMPLES[name], RBF(gamma=0.5), n=12) for name in ("hinge", "logistic")}
    kinds["layers hinge"] = make_nu_classification(Design(wrap(X)), y, c, 0.4)
    kinds["features hinge"] = Problem(Design(wrap(many)), np.array([1.0, -1.0]), np.ones(2), Hinge(), 0.0)
    return kinds


KINDS = make_kinds()
CLAIMS = {  # what a refusal may say of a problem, and of which kinds and losses it is true
    "have a kernel": lambda kind, name: kind == "kernel",
    "are too many": lambda kind, name: kind == "features",
    "have another": lambda kind, name: kind != "absolute",
    "is smooth": lambda kind, name: name in (*SMOOTH, "softmax"),
    "has a kink": lambda kind, name: name in (*KINKED, "multiclass_hinge"),
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_refusals_are_true_sentences(solver):
    """What a solver does not take it refuses in one sentence, and what that says of the problem is so."""
    refused = {kind: SOLVERS[solver]().accepts(problem) for kind, problem in KINDS.items()}
    for kind, reason in refused.items():
        if reason is not None:
            assert reason[0].isupper()
            assert reason.endswith(".")
            assert "\n" not in reason
            for words, holds in CLAIMS.items():
                assert words not in reason or holds(*kind.split()), f"{kind}: {reason}"
            with pytest.raises(ValueError) as raised:
                solve(KINDS[kind], solver)
            assert str(raised.value) == reason


@pytest.mark.parametrize("solver", SOLVERS)
def test_remedies_are_remedies(solver):
    """A solver that is named in a refusal takes the problem, if any solver does."""
    for kind, problem in KINDS.items():
        reason = SOLVERS[solver]().accepts(problem)
        takers = [name for name in SOLVERS if SOLVERS[name]().accepts(problem) is None]
        if reason is not None and "; " in reason and takers:
            (named,) = (name for name in SOLVERS if f"'{name}'" in reason.split("; ")[1])
            assert named in takers, f"{kind}: {reason}"


@pytest.mark.parametrize("kind", ["absolute hinge", "absolute quantile"])
def test_no_solver_at_all(kind):
    """Where no solver takes a problem, "auto" says so in a sentence that is true."""
    assert all(SOLVERS[name]().accepts(KINDS[kind]) is not None for name in SOLVERS)
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$") as raised:
        solve(KINDS[kind])
    assert "there is 'proximal_newton'" not in str(raised.value)
