"""No cliffs: a looser tolerance is no worse than a tighter one, and unequal scales of features do not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from long_fits import make_clouds

from maxmargin import SVC, SVR, LinearSVC, Multipliers, Status, certify, explain, solve
from maxmargin.certificates.certificate import judge
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import EpsilonInsensitive, Hinge, SquaredHinge
from maxmargin.model.problem import Problem
from maxmargin.solvers import SMO, InteriorPoint, Newton
from maxmargin.solvers.choice import plan
from maxmargin.solvers.newton.feature_space import FeatureSpace
from maxmargin.solvers.result import Outcome

LOOSE, TIGHT = 1e-3, 2e-6  # rows in float32 at first, and in float64 from the beginning


def make_rough_clouds(n: int = 2600, classes: int = 4):
    """Classes that overlap, in a few features: with a large C the duals are many and large."""
    X, y = make_clouds(n, 4, classes)
    return X / np.abs(X).max(axis=0), y


def make_uneven(n: int = 500, seed: int = 0):
    """Six features, the first counted in thousandths and the last in thousands."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * 10.0 ** np.arange(-2, 4) + 50.0
    score = ((X - 50.0) / 10.0 ** np.arange(-2, 4)) @ rng.normal(size=6)
    return X, np.where(score + rng.normal(size=n) > 0, 1.0, -1.0)


# ---- float32 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [30.0, 100.0])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_a_looser_tolerance_takes_no_more_steps(C, gamma):
    """Pairs whose rows are in float32 at first, and large duals, for which its error is large."""
    X, y = make_rough_clouds()
    loose, tight = (SVC(C=C, gamma=gamma, tol=tol).fit(X, y) for tol in (LOOSE, TIGHT))
    assert all(result.converged for result in loose.results_)
    assert sum(loose.n_iter_) <= 1.2 * sum(tight.n_iter_)
    assert np.mean(loose.predict(X) == tight.predict(X)) >= 0.99


def test_blocks_leave_float32_too():
    """One problem of many samples."""
    X, y = make_rough_clouds(3000, 2)
    model = SVC(C=1e4, gamma=100.0).fit(X, y)
    assert model.result_.converged
    assert model.certificate_.relative_gap <= LOOSE


def pose(loss, X, y, C=1.0, kernel=None, free=True) -> Problem:
    """A kernel problem over all samples."""
    return Problem(Gram.from_data(kernel or Linear(), X), y, np.full(len(y), C), loss, 0.0 if free else None)


@pytest.mark.slow
@pytest.mark.parametrize("working_set", [2, 256])
def test_the_error_of_scores_is_bounded(working_set):
    """Scores followed in float32 are no further from the exact ones than the run believes, when it looks closely."""
    X, y = make_rough_clouds(3000, 2)
    problem = pose(Hinge(), X, np.where(y > 0, 1.0, -1.0), 100.0, RBF(gamma=3.0))
    problem = replace(problem, features=problem.features.pack(np.array([0, 1500]), exact=False))
    run = SMO(working_set=working_set, shrinking=False).start(problem, LOOSE)
    assert run.single_precision
    for _ in range(5):
        run.advance(1500, 10.0)
        a = run.store()
        off = np.abs(run.f - problem.features.scores(a)).max()
        assert off <= 4.0 * run.rounding * np.linalg.norm(a) + run.accumulated_rounding()


# ---- linear kernels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_linear_kernel_needs_no_scaled_features(C):
    """The optimum of LinearSVC, certified by the duals of the kernel machine."""
    X, y = make_uneven()
    model = SVC(kernel="linear", C=C, tol=1e-5).fit(X, y)
    assert model.result_.converged
    expected = LinearSVC(loss="hinge", intercept="free", C=C, tol=1e-9).fit(X, y)
    assert model.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=2e-5)
    exactly = model.dual_coef_.astype(np.longdouble) @ model.support_vectors_.astype(np.longdouble)
    np.testing.assert_allclose(model.coef_, exactly.astype(float), rtol=1e-9)
    assert certify(model, X, y).relative_gap <= 1e-5


def test_a_linear_kernel_for_regression():
    """SVR on the same features."""
    X, _ = make_uneven()
    y = X @ (0.5 ** np.arange(6)) + np.random.default_rng(1).normal(size=len(X))
    model = SVR(kernel="linear", C=10.0).fit(X, y)
    assert model.result_.converged


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(
    ("loss", "inner"),
    [
        (Hinge(), Multipliers()), (Hinge(), InteriorPoint()), (SquaredHinge(), Newton()),
        (EpsilonInsensitive(0.1), Multipliers()),
    ],
    ids=lambda value: getattr(value, "name", None),
)  # fmt: skip
def test_duals_reproduce_w(loss, inner, free):
    """The judge of the kernel problem, who knows nothing of w, finds the gap that was asked for."""
    X, y = make_uneven(300)
    problem = pose(loss, X, y, 2.0, free=free)
    result = solve(problem, FeatureSpace(inner), tol=1e-6)
    assert result.status is Status.CONVERGED, result.message
    assert result.certificate.relative_gap <= 1e-6
    smo = solve(problem, SMO(), max_iter=3000)
    assert smo.certificate.dual <= result.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("inner", [Multipliers(), InteriorPoint()], ids=lambda solver: solver.name)
def test_a_run_that_is_stopped_early_leaves_the_w_it_has_found(inner, free):
    """Duals at their bounds cannot reproduce w before the optimum: then the machine has other coefficients."""
    rng = np.random.default_rng(0)
    problem = pose(Hinge(), rng.normal(size=(1000, 20)), np.where(rng.random(1000) < 0.5, -1.0, 1.0), 1e6, free=free)
    run = FeatureSpace(inner).start(problem, 1e-13)
    for _ in range(12):
        run.advance(1, 60.0)
        point = run.point()
        own = judge(run.posed, run.inner.point())
        certificate = judge(problem, point)
        assert certificate.primal == pytest.approx(own.primal, rel=1e-6)
        assert certificate.dual <= certificate.primal


def test_which_solver_is_asked_first():
    """SMO for a while where it is quick, then the space of the features; the other way round where samples are many."""
    X, y = make_uneven(300)
    few, many = (pose(Hinge(), *make_uneven(n)) for n in (300, 3000))
    names = [[stage.solver.name for stage in plan(problem)] for problem in (few, many)]
    spaces = ["feature_space", "feature_space"]
    assert names == [["smo", *spaces, "kernel_interior_point", "smo"], [*spaces, "smo"]]
    assert "feature_space" in explain(few)
    curved = plan(pose(Hinge(), X, y, kernel=RBF(gamma=0.1)))
    assert [stage.solver.name for stage in curved] == ["smo", "kernel_interior_point", "smo"]
    assert [stage.solver.name for stage in plan(few, "smo")] == ["smo"]


def test_what_the_space_of_the_features_refuses():
    """Other kernels, and more features than half the samples."""
    X, y = make_uneven(10)
    solver = FeatureSpace(Multipliers())
    assert "linear kernel" in solver.accepts(pose(Hinge(), X, y, kernel=RBF(gamma=0.1)))
    assert "few of them" in solver.accepts(pose(Hinge(), X, y))


def test_effort_ends_smo():
    """After so many steps, wherever it is."""
    X, y = make_uneven()
    result = solve(pose(Hinge(), X, y, 10.0), SMO(effort=1000), tol=1e-9)
    assert result.status is Status.STALLED
    assert result.n_iter <= 10 * 1000


def test_a_run_in_float32_that_stands_still_goes_on_in_float64(monkeypatch):
    """A look back that finds no progress ends float32, not the fit."""
    monkeypatch.setattr("maxmargin.solvers.smo.active.FLOAT32_STEPS_WITHOUT_PROGRESS_LIMIT", -1)
    monkeypatch.setattr("maxmargin.solvers.smo.pairs.PROGRESS_CHECK_STEPS", 100)
    X, y = make_rough_clouds(3000, 2)
    problem = pose(Hinge(), X, np.where(y > 0, 1.0, -1.0), 1.0, RBF(gamma=3.0))
    problem = replace(problem, features=problem.features.pack(np.array([0, 1500]), exact=False))
    run = SMO(working_set=2).start(problem, LOOSE)
    assert run.single_precision
    while (outcome := run.advance(1000, 10.0)) is Outcome.GOING:
        assert run.n_iter < 1000
    assert outcome is Outcome.DONE
    run.refresh(problem.features.scores(run.store()))
    assert not run.single_precision


def test_the_space_of_the_features_asks_its_solver():
    """Newton's method has no kinks, and says so before it begins."""
    with pytest.raises(ValueError, match="needs a smooth loss"):
        solve(pose(Hinge(), *make_uneven(100)), FeatureSpace(Newton()))
