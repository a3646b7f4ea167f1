"""What the judges of blocks and structures, and `minimize`, say of their own rounding, against eighty digits."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from block_problems import pose_in_blocks
from exact_numbers import cut_planes, exact, many_digits, zeros
from exact_objectives import ClassObjective, Objective, SmoothObjective, StructuredObjective, kernel_matrix
from minimisation_methods import every_method
from structured_problems import PlainChain, build_feature, list_labellings, make_chains, pose

from maxmargin import minimize, solve
from maxmargin.blocks import ArrayBlocks
from maxmargin.blocks.problem import BlockFormulation, BlockPoint, BlockProblem, Targets, ZeroDuals
from maxmargin.blocks.survey import survey_block
from maxmargin.certificates.certificate import judge
from maxmargin.model.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LeastSquares,
    Logistic,
    MulticlassHinge,
    Poisson,
    Quantile,
    Softmax,
    SquaredHinge,
)
from maxmargin.solvers.result import Status
from maxmargin.structures import ChainModel, StructuredPoint
from maxmargin.structures.labellings import WeightedLabelling

NOISE = Decimal("1e-25")  # of the value: what the exact optimum may be off by
SCALES = [(1.0, 0.0, 1.0), (1e8, 0.0, 1e-8), (1e-8, 0.0, 1e8), (1.0, 1e8, 1.0), (1.0, 0.0, 1e-8), (1.0, 0.0, 1e8)]
ROWS = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.25), Huber(0.5), Quantile(0.3)]
PARAMETERS = {"epsilon_insensitive": 0.25, "huber": 0.5, "quantile": 0.3}


class Known:
    """A recipe that knows the dual of every row."""

    def __init__(self, X: np.ndarray, a: np.ndarray):
        self.known = {row.tobytes(): dual for row, dual in zip(X, np.atleast_2d(a).T, strict=True)}

    def duals(self, problem) -> np.ndarray:
        """The duals of the rows of a block."""
        samples = problem.features.samples if problem.features.n_classes is None else problem.features.design.samples
        found = np.array([self.known[row.tobytes()] for row in samples.X]).T
        return np.ascontiguousarray(found.reshape(problem.shape))


def make_rows(loss, scale: float, offset: float, n: int = 12, d: int = 3, seed: int = 0):
    """A few rows of the size `scale`, moved by `offset`, and targets."""
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d)) + offset
    z = rng.normal(size=n)
    if loss.target == "label":
        return X, np.where(z + X[:, 0] / scale > offset / scale, 1.0, -1.0)
    return X, np.abs(np.round(z * 3)) if loss.target == "count" else 3.0 * z + offset


def check(certificate, value: Decimal, least: Decimal) -> None:
    """P from above, D from below, the gap from above."""
    noise = NOISE * (abs(value) + abs(least))
    assert Decimal(certificate.primal) >= value
    assert Decimal(certificate.dual) <= least + noise
    assert Decimal(certificate.gap) >= value - least - noise
    assert certificate.rounding >= 0.0


@pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
@pytest.mark.parametrize(("scale", "offset", "C"), SCALES)
@pytest.mark.parametrize("loss", ROWS, ids=lambda loss: loss.name)
def test_blocks_at_the_optimum(loss, scale, offset, C, intercept):
    X, y = make_rows(loss, scale, offset)
    problem = pose_in_blocks(X, y, loss, intercept, n_blocks=5, C=C)
    with many_digits():
        constant = exact(problem.pose.scaling) ** 2
        K = kernel_matrix("linear", exact(X)) + constant
        c, balance = exact(np.full(len(y), C)), zeros(1 if intercept == "free" else 0)
        parameter = exact(PARAMETERS.get(loss.name, 1.0))
        objective = Objective(K, exact(y), c, loss.name, parameter, balance)
        least, duals, b = objective.solve()
        a = duals.astype(float)
        coef = np.append(exact(X).T @ exact(a), exact(problem.pose.scaling) * exact(a).sum()).astype(float)
        b = float(b[0]) if intercept == "free" else 0.0
        Z = np.hstack([exact(X), np.full((len(y), 1), exact(problem.pose.scaling))])
        w = exact(coef)
        value = objective.value(Z @ w, w @ w / 2, exact([b]) if intercept == "free" else zeros(0))
        for closely in (False, True):
            certificate = judge(problem, BlockPoint(Known(X, a), b, coef), closely)
            check(certificate, value, least)
            if (scale, offset, C) == (1.0, 0.0, 1.0):
                assert certificate.rounding <= 1e-10 * certificate.primal
                assert certificate.relative_gap <= 1e-10
        check(judge(problem, BlockPoint(Known(X, np.round(a, 1)), b, coef)), value, least)


@pytest.mark.parametrize("intercept", ["free", "regularised"])
@pytest.mark.parametrize(("scale", "C"), [(1.0, 1.0), (1e-4, 1e4), (10.0, 1e-6)])
@pytest.mark.parametrize("loss", [Logistic(), Poisson(), LeastSquares()], ids=lambda loss: loss.name)
def test_blocks_of_smooth_losses(loss, scale, C, intercept):
    X, y = make_rows(loss, scale, 0.0)
    problem = pose_in_blocks(X, y, loss, intercept, n_blocks=4, C=C)
    with many_digits():
        Z = np.hstack([exact(X), np.full((len(y), 1), exact(1.0))])
        objective = SmoothObjective(Z, exact(y), exact(np.full(len(y), C)), loss.name, free=intercept == "free")
        least = objective.least(zeros(Z.shape[1]))
        for seed in range(3):
            v = np.random.default_rng(seed).normal(size=Z.shape[1])
            free = intercept == "free"
            coef, b = (np.append(v[:-1], 0.0), float(v[-1])) if free else (v, 0.0)
            for recipe in (ZeroDuals(), Answers(coef, b)):
                check(judge(problem, BlockPoint(recipe, b, coef)), objective.value(exact(v)), least)


class Answers:
    """The duals that rows answer with at a point: feasible, and out of balance."""

    def __init__(self, coef: np.ndarray, b):
        self.coef, self.b = coef, b

    def duals(self, problem) -> np.ndarray:
        """Minus the subgradient of the loss."""
        return problem.terms.response(problem.shift(problem.features.scores(self.coef), self.b))[0]


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(("scale", "C"), [(1.0, 1.0), (1e-6, 1e6), (1e4, 1e-4)])
@pytest.mark.parametrize("loss", [Softmax(), MulticlassHinge()], ids=lambda loss: loss.name)
def test_blocks_of_many_classes(loss, scale, C, free):
    rng = np.random.default_rng(1)
    X, y = scale * rng.normal(size=(15, 2)), np.arange(15) % 3
    blocks = ArrayBlocks(X, y, rows=4)
    survey = blocks.run(survey_block, "class")
    pose = BlockFormulation(Targets(C, np.arange(3), None), loss, free, 0.0 if free else 1.0, 3)
    problem = BlockProblem(blocks, pose, survey, C * 15)
    with many_digits():
        Z = np.hstack([exact(X), np.full((15, 1), exact(1.0))])
        ones = exact(np.ones((3, 3)))
        name = "softmax" if loss.name == "softmax" else "hinge"
        objective = ClassObjective(Z, y, exact(np.full(15, C)), name, 3, free, ones, ones)
        least = objective.least(zeros(9))
        for seed in range(3):
            v = rng.normal(size=(3, 3)) * 10.0**-seed / np.array([scale, scale, 1.0])
            coef, b = (np.hstack([v[:, :-1], np.zeros((3, 1))]), v[:, -1].copy()) if free else (v, 0.0)
            for recipe in (ZeroDuals(), Answers(coef, b)):
                certificate = judge(problem, BlockPoint(recipe, b, coef))
                check(certificate, objective.value(exact(v.ravel())), least)
                assert np.isfinite(certificate.dual)


def test_blocks_balance_sums_that_are_zero_to_rounding():
    """No dual is between its bounds, and they sum to zero exactly: intercepts elsewhere say what rounding may cost."""
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    problem = pose_in_blocks(X, y, Hinge(), "free", n_blocks=2, C=0.01)
    certificate = judge(problem, BlockPoint(Known(X, 0.01 * y), 0.0, np.array([0.06, 0.0])))
    assert 0.0 <= certificate.gap <= 1e-15


# ---- structures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "C"), [(1.0, 1.0), (1e8, 1e-8), (1e-8, 1e8), (1.0, 1e-8), (1.0, 1e8), (1e3, 0.1)])
@pytest.mark.parametrize("listed", [False, True])
def test_structures(scale, C, listed):
    X, y = make_chains(n=4, d=2, k=2, longest=3)
    X = [scale * x for x in X]
    problem = pose(PlainChain(2) if listed else ChainModel(), X, y, C)
    with many_digits():
        tables = []
        for x, right in zip(X, y, strict=True):
            labellings = list_labellings(x, 2)
            truth = exact(build_feature(x, right, 2, 2))
            features = np.array([exact(build_feature(x, z, 2, 2)) - truth for z in labellings], object)
            tables.append((exact([np.sum(right != z) for z in labellings]), features))
        objective = StructuredObjective(tables, exact(problem.c))
        least, w = cut_planes(objective.risk, [zeros(problem.size)], np.zeros(problem.size, bool))
        best, rng = w.astype(float), np.random.default_rng(3)
        for w in (np.zeros(problem.size), best, best * (1.0 + 1e-3 * rng.normal(size=problem.size))):
            sheets = draw_labellings(problem, w, rng)
            check(judge(problem, StructuredPoint(w, sheets)), objective.value(exact(w)), least)


def draw_labellings(problem, w: np.ndarray, rng) -> tuple[WeightedLabelling, ...]:
    """What the oracle answers near w, with weights that sum to anything."""
    sheets = []
    for _ in range(5):
        joint_labelling, values, bounds = problem.examples.blank(), np.empty(problem.n), np.empty(problem.n)
        there = w + 0.1 * np.abs(w).max() * rng.normal(size=len(w))
        problem.examples.maximise(there, 0, problem.n, joint_labelling, values, bounds)
        sheets.append(
            WeightedLabelling(problem.examples.to_labelling(joint_labelling), problem.c * rng.random(problem.n))
        )
    return tuple(sheets)


@pytest.mark.parametrize("make", [lambda: ChainModel(), lambda: PlainChain(3)], ids=["packed", "listed"])
def test_rounding_of_structures_is_small(make):
    X, y = make_chains()
    result = solve(pose(make(), X, y), tol=1e-6)
    assert result.converged
    assert result.certificate.rounding <= 1e-10 * result.certificate.primal


# ---- minimize -------------------------------------------------------------------------------------------------------


def make_polyhedron(offset: float, scale: float, seed: int, d: int = 3):
    """max_k offset + scale <g_k, x - x*> with whole g_k that have zero in their hull: the minimum is `offset`, exactly.

    x* is whole too, and so are all products: values and slopes carry no rounding of their own.
    """
    rng = np.random.default_rng(seed)
    slopes = rng.integers(-8, 9, (12, d)).astype(float)
    slopes = np.vstack([slopes, -slopes.sum(axis=0)])
    place = rng.integers(-4, 5, d).astype(float)

    def fun(x):
        heights = [
            sum(Fraction(g) * (Fraction(v) - Fraction(p)) for g, v, p in zip(row, x, place, strict=True))
            for row in slopes
        ]
        best = max(range(len(heights)), key=lambda k: heights[k])
        value = Fraction(offset) + Fraction(scale) * heights[best]
        rounded = float(value)
        while Fraction(rounded) > value:  # a cut below the function stays one if its value is rounded downwards
            rounded = np.nextafter(rounded, -np.inf)
        return rounded, scale * slopes[best]

    return fun, place


@every_method
@pytest.mark.parametrize(
    ("offset", "scale"), [(0.0, 1.0), (1e8, 1.0), (-1e8, 2.0**-20), (1e8, 2.0**20), (1.0, 2.0**-30)]
)
@pytest.mark.parametrize("box", [None, (-16.0, 16.0), (-(2.0**40), 2.0**40)])
def test_lower_bound_is_below_the_minimum(method, offset, scale, box):
    for seed in range(3):
        fun, _ = make_polyhedron(offset, scale, seed)
        found = minimize(fun, np.zeros(3) + 7.0, method, bounds=box, tol=1e-12, max_iter=60)
        assert all(each.lower_bound <= offset for each in found.history)
        assert found.lower_bound <= offset
        assert found.rounding >= 0.0


@every_method
def test_lower_bound_with_a_ridge(method):
    """ridge/2 |x|^2 + 1e8 + max(|x_1|, 2 |x_2|) has its minimum 1e8 at zero."""

    def fun(x):
        k = int(np.argmax([abs(x[0]), 2.0 * abs(x[1])]))
        slope = np.zeros(2)
        slope[k] = (1.0 + k) * np.sign(x[k])
        return 1e8 + (1.0 + k) * abs(x[k]), slope

    for ridge in (1e-6, 1.0, 1e6):
        found = minimize(fun, [3.0, -5.0], method, ridge=ridge, tol=1e-14, max_iter=80)
        assert found.lower_bound <= 1e8 <= found.fun
        assert all(each.lower_bound <= 1e8 for each in found.history)


def test_rounding_limit_is_said():
    fun, _ = make_polyhedron(1e8, 1.0, 0)
    found = minimize(fun, np.zeros(3) + 7.0, "level-bundle", bounds=(-16.0, 16.0), tol=0.0)
    assert found.status is Status.ROUNDING_LIMIT
    assert "rounding" in found.message
    assert 0.0 < found.gap <= 2.0 * found.rounding
