"""Steps of the trust-region and level bundles: within the radius, at the level, and by few master programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
from generated_functions import GENERATED
from linear_problems import make_linear_problem
from textbook_functions import CATALOGUE

from maxmargin import Bundle, Status, minimize, solve
from maxmargin.solvers.bundle import proximal
from maxmargin.solvers.bundle.cuts import Cuts
from maxmargin.solvers.bundle.descent import Descent
from maxmargin.solvers.bundle.model import EPSILON, Model, Step
from maxmargin.solvers.bundle.proximal import Level, TrustRegion

FUNCTIONS = {**CATALOGUE, **GENERATED}
NAMES = ("QL", "Mifflin 1", "Wolfe", "Shor", "Rosen-Suzuki", "Goffin", "distances")
RIDGES = (0.1, 10.0)
# Cuts that nearly depend on one another: x is rounding from some proximity on, and no proximity need meet the radius.
ILL_CONDITIONED = ("L1HILB", "MXHILB", "scales")


def make_hinges(n: int = 200, d: int = 5):
    """A sum of hinges and its subgradient."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n))

    def fun(w):
        margins = 1.0 - y * (X @ w)
        wrong = margins > 0
        return margins[wrong].sum(), -(X[wrong] * y[wrong, None]).sum(axis=0)

    return fun, d


class Found(NamedTuple):
    """A step, and what it was to meet."""

    descent: Descent
    radius: float
    centre: np.ndarray
    least: float
    bound: float
    step: Step
    proximity: float

    @property
    def value(self) -> float:
        """The model at x."""
        return float(self.descent.cuts.heights(self.step.x).max()) + self.descent.model.quadratic(self.step.x)

    @property
    def rounding(self) -> float:
        """What rounding may do to heights of cuts, generously: to their sums, and to x = centre - slope / proximity."""
        model = self.descent.model
        curvature = self.proximity + min(model.ridges)
        return 100.0 * (model.measure_rounding(self.step.x) + EPSILON * self.steepest**2 / curvature)

    @property
    def steepest(self) -> float:
        """The length of the steepest cut."""
        return self.descent.cuts.factor * float(np.linalg.norm(self.descent.cuts.slopes, axis=1).max())

    @property
    def length(self) -> float:
        """The way from the centre."""
        return float(np.linalg.norm(self.step.x - self.centre))


def record_steps(monkeypatch, rule, check) -> list[int]:
    """Check each step of a rule as it is found; the master programs of each are counted."""
    programs, find, minimise = [], rule.find, Model.minimise

    def count(model, *args):
        if programs:
            programs[-1] += 1
        return minimise(model, *args)

    def record(rule, descent, lowest):
        programs.append(0)
        before = descent, rule.radius, descent.best.x, descent.least, descent.bound
        found = Found(*before, find(rule, descent, lowest), rule.proximity)
        counts.append(programs[-1])
        check(found)
        return found.step

    counts: list[int] = []
    monkeypatch.setattr(Model, "minimise", count)
    monkeypatch.setattr(rule, "find", record)
    return counts


def check_minimum(found: Found) -> None:
    """Weights on the simplex, and all cuts that have one as high as the highest: x is a minimum of the model."""
    step, heights = found.step, found.descent.cuts.heights(found.step.x)
    slack = 1e-6 * max(found.least - found.value, 0.0) + found.rounding
    assert step.weights.min() >= 0.0
    assert step.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert heights.max() - step.weights @ heights <= slack
    assert step.height == pytest.approx(heights.max(), abs=slack)


def is_lowest(found: Found) -> bool:
    """Whether the mean of the cuts has next to no slope at x."""
    model, x = found.descent.model, found.step.x
    slope = found.step.mean.slope + model.spread(model.ridges) * x
    if model.boxed:
        slope = np.where(((x <= model.lo) & (slope > 0)) | ((x >= model.hi) & (slope < 0)), 0.0, slope)
    return float(np.linalg.norm(slope)) <= 1e-7 * found.steepest


def check_radius(found: Found) -> None:
    """On the border of the ball, or in it at the minimum of the model."""
    check_minimum(found)
    rounding = 1e-15 * (1.0 + np.linalg.norm(found.centre))
    assert found.length <= found.radius * (1.0 + 1e-9) + rounding
    assert found.length >= found.radius * (1.0 - 1e-9) - rounding or is_lowest(found)


def check_level(found: Found) -> None:
    """The model at x is 0.7 of the way from F down to the bound."""
    check_minimum(found)
    gap = found.least - found.bound
    assert found.value == pytest.approx(found.least - 0.7 * gap, abs=1e-9 * gap + found.rounding)


@pytest.mark.parametrize(("rule", "check"), [(TrustRegion, check_radius), (Level, check_level)])
@pytest.mark.parametrize("ridge", RIDGES)
def test_steps_with_a_ridge(monkeypatch, rule, check, ridge):
    """Within the radius, on its border unless the minimum of the model lies inside; at the level."""
    counts = record_steps(monkeypatch, rule, check)
    fun, d = make_hinges()
    assert minimize(fun, np.zeros(d), rule.name, ridge=ridge).converged
    assert sum(counts) > 0


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_trust_region_steps_without_a_ridge(monkeypatch, name, boxed):
    """The same where the model may fall without end, or ends at a bound."""
    counts, function = record_steps(monkeypatch, TrustRegion, check_radius), FUNCTIONS[name]
    minimize(function.fun, function.x0, "trust-region-bundle", bounds=function.box if boxed else None, max_iter=60)
    assert sum(counts) > 0


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_level_steps_without_a_ridge(monkeypatch, name, boxed):
    """The model at x is the level of the step, unless x is as far off as levels are looked for."""
    missed, function, meet = [], FUNCTIONS[name], Level.meet

    def record(rule, descent, aim, lowest):
        step = meet(rule, descent, aim, lowest)
        found = Found(descent, rule.radius, descent.best.x, descent.least, descent.bound, step, rule.proximity)
        off = max(abs(found.value - aim.level) - found.rounding, 0.0) / aim.target
        missed.append(min(off, abs(aim.radius.excess(step))))
        return step

    monkeypatch.setattr(Level, "meet", record)
    minimize(function.fun, function.x0, "level-bundle", bounds=function.box if boxed else None, max_iter=60)
    assert len(missed) > 5
    assert max(missed) <= 1e-9


@pytest.mark.parametrize("name", ILL_CONDITIONED)
def test_no_step_is_longer_than_the_radius(monkeypatch, name):
    """Where rounding moves x by more than the proximity does, the step keeps to the radius all the same."""

    def check(found: Found) -> None:
        assert found.length <= found.radius * (1.0 + 1e-8) + 1e-15 * (1.0 + np.linalg.norm(found.centre))

    record_steps(monkeypatch, TrustRegion, check)
    function = FUNCTIONS[name]
    found = minimize(function.fun, function.x0, "trust-region-bundle", max_iter=200)
    assert found.fun - function.minimum <= 2e-6 * max(1.0, abs(found.fun))


@pytest.mark.parametrize("rule", [TrustRegion, Level])
def test_few_master_programs(monkeypatch, rule):
    """Beside the one of the bound: hardly more than one for a radius, and two for a level."""
    counts = record_steps(monkeypatch, rule, check_minimum)
    fun, d = make_hinges(500, 30)
    assert minimize(fun, np.zeros(d), rule.name, ridge=0.1).converged
    assert np.mean(counts) <= 2.5
    assert max(counts) <= 12


@pytest.mark.parametrize(("rule", "check"), [(TrustRegion, check_radius), (Level, check_level)])
def test_risks_take_the_same_search(monkeypatch, rule, check):
    """A machine, its free intercept minimised out."""
    record_steps(monkeypatch, rule, check)
    assert solve(make_linear_problem("hinge", "free"), Bundle(rule.name), tol=1e-6).status is Status.CONVERGED


def make_model(ridge: float, boxed: bool) -> Model:
    """Twelve cuts of four coordinates."""
    rng, cuts = np.random.default_rng(3), Cuts(4)
    for slope, offset in zip(rng.normal(size=(12, 4)), rng.normal(size=12), strict=True):
        cuts.add(slope, offset)
    bounds = (np.full(4, -0.6), np.full(4, 0.5)) if boxed else (None, None)
    return Model(cuts, (ridge,), *bounds)


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_motion_against_differences(ridge, boxed):
    """dx / d log h and da / d log h, and x affine in 1/h: three steps of one piece lie on a line."""
    model, centre, checked = make_model(ridge, boxed), np.array([0.3, -0.4, 0.2, 0.1]), 0
    for proximity in np.geomspace(0.2, 50.0, 9):
        h = proximity + ridge
        near, step, far = (
            model.minimise((share * h - ridge,), centre, None) for share in (1.0 + 1e-5, 1.0, 1.0 - 1e-5)
        )
        if len({tuple(np.flatnonzero(each.weights)) for each in (near, step, far)}) > 1:
            continue  # a kink lies between
        motion, checked = model.differentiate(step, proximity, centre), checked + 1
        np.testing.assert_allclose(motion.x, (near.x - far.x) / 2e-5, atol=1e-6)
        np.testing.assert_allclose(motion.weights, (near.weights - far.weights) / 2e-5, atol=1e-6)
        assert motion.weights.sum() == pytest.approx(0.0, abs=1e-10)
    assert checked >= 5


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("radius", [0.05, 0.3, 0.6])
def test_the_step_is_the_minimum_within_the_radius(ridge, boxed, radius):
    """Against a general solver: no x in the ball has a lower model."""
    model, centre = make_model(ridge, boxed), np.array([0.3, -0.4, 0.2, 0.1])
    search = proximal.ProximitySearch(model, centre, proximal.Radius(centre, radius))
    step = search.run(1.0, None).step
    slopes, offsets = model.cuts.slopes, model.cuts.offsets
    bounds = None if not boxed else [*zip(model.lo, model.hi, strict=True), (None, None)]
    other = scipy.optimize.minimize(
        lambda z: z[-1] + 0.5 * ridge * z[:-1] @ z[:-1], np.append(centre, offsets.max() + 5.0), bounds=bounds,
        constraints=[
            {"type": "ineq", "fun": lambda z: z[-1] - offsets - slopes @ z[:-1]},
            {"type": "ineq", "fun": lambda z: radius**2 - (z[:-1] - centre) @ (z[:-1] - centre)},
        ],
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    assert np.linalg.norm(step.x - centre) <= radius * (1.0 + 1e-9)
    assert step.height + model.quadratic(step.x) == pytest.approx(other.fun, abs=1e-7)
