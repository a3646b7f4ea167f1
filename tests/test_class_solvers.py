"""All classes as one problem: softmax and the hinge of Crammer and Singer, against solvers that are not ours."""

from __future__ import annotations

import numpy as np
import pytest
from class_problems import (
    CLASS_LOSSES,
    CLASS_SOLVERS,
    find_class_optimum,
    make_class_problem,
    make_classes,
    pose_classes,
    solve_classes_elsewhere,
)
from linear_problems import EXAMPLES, FORMS, INTERCEPTS, pose
from time_allowances import HANG_SECONDS

from maxmargin.certificates.certificate import judge
from maxmargin.model.problem import Point
from maxmargin.solvers import Bundle
from maxmargin.solvers.loop import solve
from maxmargin.solvers.newton import classes as class_newton

every_loss = pytest.mark.parametrize("name", CLASS_LOSSES)
every_form = pytest.mark.parametrize("form", FORMS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("shape", [{}, {"n": 14, "d": 18}], ids=["long", "wide"])
@pytest.mark.parametrize("k", [2, 3, 4])
@every_intercept
@every_loss
def test_optimum(name, intercept, k, shape, weighted):
    """P and D meet at the optimum of a general solver, and the certificate is the judge's own."""
    optimum = find_class_optimum(name, intercept, weighted, k=k, **shape)
    for form in FORMS:
        problem = make_class_problem(name, intercept, form, weighted, k=k, **shape)
        result = solve(problem, CLASS_SOLVERS[name], tol=1e-9, max_seconds=HANG_SECONDS)
        assert result.converged
        assert result.certificate.primal == pytest.approx(optimum, rel=1e-7)
        assert result.certificate.dual <= optimum * (1.0 + 1e-9)
        assert optimum <= result.certificate.primal * (1.0 + 1e-9)
        assert judge(problem, result.point) == result.certificate
        chosen = solve(problem, tol=1e-9, max_seconds=HANG_SECONDS)  # by "auto", which may hand over
        assert chosen.history[0].solver == CLASS_SOLVERS[name]
        assert chosen.certificate.primal == pytest.approx(optimum, rel=1e-7)


@pytest.mark.parametrize("strength", [1e-2, 1e2], ids=["weak", "strong"])
@every_intercept
@every_loss
def test_optimum_at_other_costs(name, intercept, strength):
    """From fits that hardly move from w = 0 to those that hardly know the penalty."""
    X, y, c = make_classes()
    problem = pose_classes(CLASS_LOSSES[name], X, y, strength * c, intercept)
    result = solve(problem, tol=1e-7, max_seconds=HANG_SECONDS)
    assert result.converged
    optimum = solve_classes_elsewhere(name, X, y, strength * c, intercept, 3)
    assert result.certificate.primal == pytest.approx(optimum, rel=2e-7)


@every_intercept
@every_loss
def test_two_classes_are_one_machine(name, intercept):
    """w_1 = -w_2: with twice the margin and C, softmax is the logistic loss, and the hinge is the hinge."""
    X, y, c = make_classes(k=2)
    both = solve(pose_classes(CLASS_LOSSES[name], X, y, c, intercept), tol=1e-10, max_seconds=HANG_SECONDS)
    # With w = w_2 - w_1 the penalty is |w|^2 / 4, so that P is half of that of one machine with twice the weights.
    one = solve(pose(EXAMPLES["logistic" if name == "softmax" else "hinge"], X, 2.0 * y - 1.0, 2.0 * c, intercept),
                tol=1e-10, max_seconds=HANG_SECONDS)  # fmt: skip
    assert both.certificate.primal == pytest.approx(0.5 * one.certificate.primal, rel=1e-8)
    coef = both.point.coef if both.point.coef is not None else problem_coef(both, X)
    np.testing.assert_allclose(coef[0, :4], -coef[1, :4], atol=1e-5)


def problem_coef(result, X) -> np.ndarray:
    """w of the duals."""
    return result.point.a @ X


@every_form
@every_loss
def test_weights_are_repetitions(name, form):
    """A weight of k is the same as the row k times; a weight of zero the same as no row."""
    X, y, c = make_classes(n=30)
    times = np.arange(30) % 4
    again = np.repeat(np.arange(30), times)
    weighted = pose_classes(CLASS_LOSSES[name], FORMS[form](X), y, times * c)
    repeated = pose_classes(CLASS_LOSSES[name], FORMS[form](X[again]), y[again], c[again])
    first, second = (solve(problem, tol=1e-9, max_seconds=HANG_SECONDS) for problem in (weighted, repeated))
    assert first.certificate.primal == pytest.approx(second.certificate.primal, rel=3e-9)
    assert not first.point.a[:, times == 0].any()


@pytest.mark.parametrize("method", ["ocas", "bmrm", "proximal-bundle", "trust-region-bundle", "level-bundle"])
@pytest.mark.parametrize("tol", [1e-8, 1e-12])
def test_bundles_with_free_intercepts_of_classes(method, tol):
    """A weight of k is the same as the row k times, and a tolerance out of reach is no worse than one within."""
    X, y, c = make_classes(n=30)
    times = np.arange(30) % 4
    again = np.repeat(np.arange(30), times)
    weighted = pose_classes(CLASS_LOSSES["multiclass_hinge"], X, y, times * c)
    repeated = pose_classes(CLASS_LOSSES["multiclass_hinge"], X[again], y[again], c[again])
    first, second = (
        solve(problem, Bundle(method), tol=tol, max_seconds=HANG_SECONDS).certificate
        for problem in (weighted, repeated)
    )
    assert max(first.relative_gap, second.relative_gap) <= 1e-8
    assert first.primal == pytest.approx(second.primal, rel=1e-8)


@every_intercept
@every_loss
def test_the_order_of_classes_does_not_matter(name, intercept):
    """Classes by another name: the same P."""
    X, y, c = make_classes()
    plain, turned = (
        solve(pose_classes(CLASS_LOSSES[name], X, labels, c, intercept), tol=1e-9, max_seconds=HANG_SECONDS)
        for labels in (y, (y + 1.0) % 3.0)
    )
    assert plain.certificate.primal == pytest.approx(turned.certificate.primal, rel=3e-9)


@pytest.mark.parametrize("formed", [0, 400], ids=["diagonal", "Hessian"])
@every_intercept
def test_preconditioners(formed, intercept, monkeypatch):
    """Conjugate gradients with the Hessian of each class, or with its diagonal."""
    monkeypatch.setattr(class_newton, "PRECONDITIONER_MAX_FEATURES", formed)
    result = solve(make_class_problem("softmax", intercept, weighted=True), tol=1e-9, max_seconds=HANG_SECONDS)
    assert result.converged
    assert result.certificate.primal == pytest.approx(find_class_optimum("softmax", intercept, True), rel=1e-8)


@every_loss
def test_duals_are_repaired(name):
    """Whatever duals are given, those of the certificate are in the simplex and balance: D is a lower bound."""
    problem, rng = make_class_problem(name, weighted=True), np.random.default_rng(7)
    optimum = find_class_optimum(name, "free", True)
    for size in (0.0, 0.1, 10.0):
        a = problem.feasible(size * rng.normal(size=problem.shape))
        assert np.isfinite(problem.dual(a))
        np.testing.assert_allclose(a.sum(axis=1), 0.0, atol=1e-9)
        np.testing.assert_allclose(a.sum(axis=0), 0.0, atol=1e-12)
        certificate = judge(problem, Point(size * rng.normal(size=problem.shape), np.zeros(3)))
        assert certificate.dual <= optimum * (1.0 + 1e-9) <= certificate.primal * (1.0 + 2e-9)
