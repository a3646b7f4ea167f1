"""Pictures: what is drawn is what was computed, nothing is hidden, and bad input gets one sentence."""

from __future__ import annotations

from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import svm
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from test_losses import FORMULAS

import maxmargin
from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, RiskClassifier, solve
from maxmargin.insight.traces import record
from maxmargin.model.features import Design, Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import LOSSES, EpsilonInsensitive, Hinge, Huber, Quantile, Softmax, SquaredHinge
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots import (
    plot_convergence,
    plot_decision_boundary,
    plot_loss_surface,
    plot_losses,
    plot_path,
    plot_regression_tube,
)
from maxmargin.plots.canvas import find_palette
from maxmargin.plots.regions import find_lead
from maxmargin.plots.surfaces import evaluate, find_optimum
from maxmargin.solvers.trajectory import Trajectory

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    """Every test starts without a figure and leaves none."""
    plt.close("all")
    yield
    plt.close("all")


@cache
def moons():
    """Two classes that overlap."""
    return make_moons(120, noise=0.25, random_state=0)


@cache
def sine():
    """One feature and a curve with noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 6.0, 80)
    return x[:, None], np.sin(x) + rng.uniform(-0.2, 0.2, 80)


def rings(ax, word: str) -> np.ndarray:
    """Where the marks with a word in their label are."""
    found = [each for each in ax.collections if word in str(each.get_label())]
    assert len(found) == 1
    return np.asarray(found[0].get_offsets())


def texts(ax) -> list[str]:
    """What the legend says."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, name: str):
    """The line of a name."""
    return next(each for each in ax.get_lines() if each.get_label() == name)


def rows_of(points: np.ndarray) -> set[tuple]:
    """Points as a set."""
    return {tuple(point) for point in np.asarray(points)}


def covers_no_data(ax, points: np.ndarray) -> bool:
    """Whether no point lies below the legend."""
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    x, y = ax.transData.transform(points).T
    return not ((x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)).any()


# ---- decision boundaries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SVC, svm.SVC], ids=["ours", "scikit-learn"])
def test_support_vectors(kind):
    """Rings are around the free and the bounded support vectors, told apart by the duals of a tight fit."""
    X, y = moons()
    ax = plot_decision_boundary(kind(C=2.0, gamma=1.0, tol=1e-6).fit(X, y), X, y, resolution=30)
    exact = svm.SVC(C=2.0, gamma=1.0, tol=1e-9).fit(X, y)
    bounded = np.abs(exact.dual_coef_[0]) > 2.0 - 1e-6
    assert rows_of(rings(ax, "free support")) == rows_of(X[exact.support_[~bounded]])
    assert rows_of(rings(ax, "at the bound")) == rows_of(X[exact.support_[bounded]])


def test_class_weights_move_the_bound():
    """The bound of a sample is C times the weight of its class, for scikit-learn's machines too."""
    X, y = moons()
    weights = {0: 1.0, 1: 3.0}
    ours = plot_decision_boundary(SVC(class_weight=weights, tol=1e-8).fit(X, y), X, y, ax=plt.figure().gca())
    theirs = plot_decision_boundary(svm.SVC(class_weight=weights, tol=1e-8).fit(X, y), X, y, ax=plt.figure().gca())
    assert rows_of(rings(ours, "at the bound")) == rows_of(rings(theirs, "at the bound"))
    assert len(rings(ours, "at the bound")) > 10


def test_lines_are_where_scores_are():
    """The solid line is f = 0 and the dashed ones are f = +-1."""
    X, y = moons()
    model = SVC(C=2.0, gamma=1.0).fit(X, y)
    ax = plot_decision_boundary(model, X, y, resolution=400)
    levels = {
        float(level): np.concatenate([path.vertices for path in [each]])
        for contour in ax.collections
        if hasattr(contour, "levels")
        for level, each in zip(contour.levels, contour.get_paths(), strict=True)
    }
    assert set(levels) == {-1.0, 0.0, 1.0}
    for level, points in levels.items():
        np.testing.assert_allclose(model.decision_function(points), level, atol=0.01)


@pytest.mark.parametrize("kind", [LinearSVC, svm.LinearSVC], ids=["ours", "scikit-learn"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_machines(kind, loss):
    """Without duals, what is marked are the samples on and within the margin."""
    X, y = moons()
    model = kind(loss=loss, C=1.0, max_iter=100_000).fit(X, y)
    ax = plot_decision_boundary(model, X, y, resolution=30)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert rows_of(rings(ax, "within the margin")) == rows_of(X[margins < 0.99])
    if loss == "hinge":
        assert rows_of(rings(ax, "on the margin")) == rows_of(X[np.abs(margins - 1) <= 0.01])


def test_squared_hinge_has_no_bound():
    """All support vectors of a squared loss are of one kind."""
    X, y = moons()
    model = SVC(loss="squared_hinge").fit(X, y)
    ax = plot_decision_boundary(model, X, y, resolution=30)
    assert len(rings(ax, "support vectors")) == len(model.support_)
    assert not any("bound" in text for text in texts(ax))


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), svm.SVC(), DecisionTreeClassifier()], ids=repr)
def test_many_classes(model):
    """Regions of predict, one legend entry a class, and no margins."""
    X, y = make_blobs(150, centers=3, random_state=1)
    ax = plot_decision_boundary(model.fit(X, y), X, y, resolution=60)
    assert [text for text in texts(ax) if text.startswith("class")] == ["class 0", "class 1", "class 2"]
    lines = [each for each in ax.collections if hasattr(each, "levels") and not each.filled]
    assert lines
    assert all(list(each.levels) == [0.0] for each in lines)  # of the lead of a class, and not of f


def test_twelve_classes_can_be_told_apart():
    """Where colours come again, marks do not."""
    X, y = make_blobs(120, centers=12, random_state=0)
    ax = plot_decision_boundary(LinearSVC().fit(X, y), X, y, resolution=10)
    samples = [each for each in ax.collections if str(each.get_label()).startswith("class")]
    kinds = {(*each.get_facecolor()[0], each.get_paths()[0].vertices.tobytes()) for each in samples}
    assert len(kinds) == 12


def test_regions_are_those_of_predict():
    """The colour at a place is that of the class that is predicted there."""
    X, y = make_blobs(150, centers=3, random_state=1)
    model = SVC().fit(X, y)
    ax = plot_decision_boundary(model, X, y, resolution=200)
    filled = [each for each in ax.collections if getattr(each, "filled", False)]
    assert len(filled) == 3
    for label, regions in enumerate(filled):
        inside = [point for point in X if any(region.contains_point(point) for region in regions.get_paths())]
        assert len(inside) > 20
        assert (model.predict(np.array(inside)) == label).all()


def test_borders_are_finer_than_their_grid():
    """They run where the two best scores are equal, within a tenth of the distance between points of the grid."""
    X, y = make_blobs(150, centers=3, random_state=1)
    model = LinearSVC().fit(X, y)
    ax = plot_decision_boundary(model, X, y, resolution=40)
    cell = max(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())) / 39
    lines = [each for each in ax.collections if hasattr(each, "levels") and not each.filled]
    aside = []
    for point in np.concatenate([path.vertices for each in lines for path in each.get_paths()]):
        third, second, first = np.argsort(model.decision_function(point[None])[0])
        scores, slopes = model.decision_function(point[None])[0], model.coef_
        if scores[second] - scores[third] > 4.0 * cell * np.linalg.norm(slopes[second] - slopes[third]):
            aside.append((scores[first] - scores[second]) / np.linalg.norm(slopes[first] - slopes[second]))
    assert len(aside) > 40
    assert max(aside) < 0.1 * cell


def test_shares_of_classes_near_a_border():
    """Of a border through a third of a cell, the lead passes zero there, and is one or minus one elsewhere."""
    x = np.linspace(0.0, 9.0, 10)
    lead = find_lead(lambda points: (points[:, 0] > 4.0 + 1.0 / 3.0).astype(int), x, x)
    np.testing.assert_allclose(lead[0], -lead[1])
    np.testing.assert_allclose(lead[0, :, [0, 3, 6, 9]], np.array([1.0, 1.0, -1.0, -1.0])[:, None] * np.ones(10))
    np.testing.assert_allclose(np.interp(0.0, lead[1, 0], x), 4.0 + 1.0 / 3.0, atol=0.02)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_ink_stands_out(style):
    """On a light and on a dark ground: lines, the colours of classes and those of support vectors (W3C: 3 to 1)."""
    with plt.style.context(style):
        palette = find_palette(plt.figure().gca())
    shown = [palette.ink, *palette.colours[:3], palette.free, palette.bound]
    ground = relative_luminance(palette.ground)
    for colour in shown:
        pair = sorted([relative_luminance(colour) + 0.05, ground + 0.05])
        assert pair[1] / pair[0] >= 2.9, colour
    lightness = sorted(relative_luminance(colour) ** (1 / 3) for colour in palette.colours[:3])
    assert min(np.diff(lightness)) > 0.07  # told apart on grey paper


def relative_luminance(colour: str) -> float:
    """Of the W3C's guidelines on contrast: a weighted mean of the linear parts."""
    parts = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_one_class():
    """The line alone, without labels or margins."""
    X, _ = moons()
    model = OneClassSVM(nu=0.2).fit(X)
    ax = plot_decision_boundary(model, X, resolution=60)
    assert len(rings(ax, "free")) + len(rings(ax, "bound")) == len(model.support_)
    assert sum(hasattr(each, "levels") for each in ax.collections) == 1


def test_models_without_margins():
    """Of a logistic machine there are no support vectors and no margins to draw."""
    X, y = moons()
    for model in (LogisticRegression(), RiskClassifier("logistic")):
        ax = plot_decision_boundary(model.fit(X, y), X, y, ax=plt.figure().gca(), resolution=30)
        assert texts(ax) == ["class 0", "class 1"]
        assert sum(hasattr(each, "levels") for each in ax.collections) == 1


def test_pipelines_frames_and_sparse_data():
    """What fits can be drawn: a pipeline, a data frame with names, a sparse matrix; the same support vectors."""
    X, y = moons()
    plain = rings(plot_decision_boundary(SVC().fit(X, y), X, y, resolution=20), "free")
    frame = pd.DataFrame(X, columns=["width", "height"])
    drawn = plot_decision_boundary(SVC().fit(frame, y), frame, y, ax=plt.figure().gca(), resolution=20)
    assert rows_of(rings(drawn, "free")) == rows_of(plain)
    sparse = sp.csr_array(X)
    drawn = plot_decision_boundary(SVC().fit(sparse, y), sparse, y, ax=plt.figure().gca(), resolution=20)
    np.testing.assert_allclose(np.sort(rings(drawn, "free"), axis=0), np.sort(plain, axis=0))
    chain = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    drawn = plot_decision_boundary(chain, X, y, ax=plt.figure().gca(), resolution=20)
    assert rows_of(rings(drawn, "free")) == rows_of(X[chain[-1].free_support_])


def test_given_and_current_axes():
    """It draws where it is told to, else on the current axes, and returns them."""
    X, y = moons()
    model = SVC().fit(X, y)
    given = plt.figure().gca()
    current = plt.figure().gca()
    assert plot_decision_boundary(model, X, y, ax=given, resolution=10) is given
    assert plot_decision_boundary(model, X, y, resolution=10) is current


@pytest.mark.parametrize("size", [(4, 3), (8, 5.5)], ids=["small", "large"])
@pytest.mark.parametrize("layout", [None, "constrained"], ids=["no layout", "constrained"])
def test_legend_hides_no_data(size, layout):
    """Legends stand above the data, whatever the size of the figure."""
    X, y = moons()
    x, t = sine()
    ax = plot_decision_boundary(SVC().fit(X, y), X, y, ax=plt.figure(figsize=size, layout=layout).gca(), resolution=10)
    assert covers_no_data(ax, X)
    ax = plot_regression_tube(SVR().fit(x, t), x, t, ax=plt.figure(figsize=size, layout=layout).gca())
    assert covers_no_data(ax, np.column_stack([x, t]))


# ---- regression -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SVR, svm.SVR], ids=["ours", "scikit-learn"])
def test_tube(kind):
    """The curve is predict, the walls are epsilon away, and the marks are those of the duals."""
    x, y = sine()
    model = kind(C=1.0, epsilon=0.12, tol=1e-7).fit(x, y)
    ax = plot_regression_tube(model, x, y)
    places, curve = line(ax, "f(x)").get_data()
    np.testing.assert_allclose(curve, model.predict(places[:, None]))
    walls = [each.get_ydata() for each in ax.get_lines() if each.get_linestyle() == "--"]
    np.testing.assert_allclose(sorted((wall - curve).mean() for wall in walls), [-0.12, 0.12])
    exact = svm.SVR(C=1.0, epsilon=0.12, tol=1e-9).fit(x, y)
    bounded = np.abs(exact.dual_coef_[0]) > 1.0 - 1e-6
    free, outside = rings(ax, "free"), rings(ax, "bound")
    assert rows_of(free[:, :1]) == rows_of(x[exact.support_[~bounded]])
    assert rows_of(outside[:, :1]) == rows_of(x[exact.support_[bounded]])
    residuals = np.abs(free[:, 1] - exact.predict(free[:, :1]))
    np.testing.assert_allclose(residuals, 0.12, atol=1e-4)
    assert len(rings(ax, "inside")) == len(x) - len(free) - len(outside)


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_width_of_nu(intercept):
    """The width of a NuSVR is the one that its fit found: the free support vectors are on its walls."""
    x, y = sine()
    model = NuSVR(nu=0.4, intercept=intercept, tol=1e-8).fit(x, y)
    ax = plot_regression_tube(model, x, y)
    width = float(next(text for text in texts(ax) if text.startswith("tube")).split("±")[1])
    free = np.abs(y - model.predict(x))[model.free_support_]
    np.testing.assert_allclose(free, width, rtol=0.01)


def test_width_of_nu_from_residuals():
    """scikit-learn's NuSVR does not tell its width; its support vectors do, and agree with ours."""
    x, y = sine()
    both = [
        plot_regression_tube(kind(nu=0.4, tol=1e-8).fit(x, y), x, y, ax=plt.figure().gca())
        for kind in (NuSVR, svm.NuSVR)
    ]
    ours, theirs = (next(text for text in texts(ax) if text.startswith("tube")) for ax in both)
    assert ours == theirs


@pytest.mark.parametrize("kind", [LinearSVR, svm.LinearSVR], ids=["ours", "scikit-learn"])
def test_linear_tube(kind):
    """Without duals, what is marked lies outside of the tube."""
    x, y = sine()
    model = kind(epsilon=0.3, max_iter=100_000).fit(x, y)
    ax = plot_regression_tube(model, x.ravel(), y)
    outside = np.abs(y - model.predict(x)) > 0.3 + 1e-3 * np.std(y)
    assert rows_of(rings(ax, "outside")[:, :1]) == rows_of(x[outside])


@pytest.mark.parametrize("loss", ["huber", "absolute", "quantile"])
def test_losses_without_a_tube(loss):
    """The curve alone."""
    x, y = sine()
    ax = plot_regression_tube(SVR(loss=loss).fit(x, y), x, y)
    assert texts(ax) == ["f(x)"]


def test_squared_tube_and_other_regressors():
    """Support vectors of a squared loss have no bound; other regressors are curves."""
    x, y = sine()
    model = SVR(loss="squared_epsilon_insensitive", epsilon=0.1, tol=1e-8).fit(x, y)
    ax = plot_regression_tube(model, x, y, ax=plt.figure().gca())
    assert len(rings(ax, "support vectors")) == len(model.support_)
    assert texts(plot_regression_tube(Ridge().fit(x, y), x, y, ax=plt.figure().gca())) == ["f(x)"]


# ---- surfaces -------------------------------------------------------------------------------------------------


def pose(loss=None, scaling: float = 0.0, balance=None) -> Problem:
    """Two features and labels."""
    X, label = moons()
    return Problem(Design(wrap(X), scaling), 2.0 * label - 1.0, np.ones(len(X)), loss or SquaredHinge(), balance)


def squared_hinge_by_hand(w: np.ndarray, b: float) -> float:
    """1/2 |w|^2 + sum_i max(0, 1 - y_i (<w, x_i> + b))^2."""
    X, label = moons()
    return 0.5 * w @ w + np.sum(np.maximum(0.0, 1.0 - (2.0 * label - 1.0) * (X @ w + b)) ** 2)


def test_surface_is_the_objective():
    """Values are P by its formula; the star is at the minimum that scipy finds."""
    problem = pose()
    best = minimize(lambda w: squared_hinge_by_hand(w, 0.0), np.zeros(2), tol=1e-12).x
    ax = plot_loss_surface(problem, {"newton": record(problem, "newton")}, resolution=20)
    np.testing.assert_allclose(rings(ax, "optimum")[0], best, atol=1e-5)
    places = np.random.default_rng(0).normal(size=(5, 2))
    found = evaluate(problem, find_optimum(problem), (0, 1), places)
    np.testing.assert_allclose(found, [squared_hinge_by_hand(w, 0.0) for w in places])


@pytest.mark.parametrize("kind", ["free", "regularised"])
def test_intercept_is_a_coordinate(kind):
    """The number of features stands for b, or for the coefficient of the constant feature; the rest is optimal."""
    problem = pose(balance=0.0) if kind == "free" else pose(scaling=2.0)
    ax = plot_loss_surface(problem, {"newton": record(problem, "newton")}, axes=(1, 2), resolution=10)
    assert ax.get_ylabel() == ("$b$" if kind == "free" else "$w_0$ (intercept)")

    def by_hand(u: np.ndarray) -> float:
        if kind == "free":
            return squared_hinge_by_hand(u[:2], u[2])
        return squared_hinge_by_hand(u[:2], 2.0 * u[2]) + 0.5 * u[2] ** 2

    best = minimize(by_hand, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(rings(ax, "optimum")[0], best[1:], atol=1e-5)
    places = np.random.default_rng(0).normal(size=(5, 2))
    expected = [by_hand(np.array([best[0], *place])) for place in places]
    np.testing.assert_allclose(evaluate(problem, find_optimum(problem), (1, 2), places), expected, rtol=1e-5)


def test_paths_are_those_of_the_points():
    """Lines go through the coordinates of every step, of trajectories and of arrays."""
    problem = pose(Hinge())
    seen = record(problem, "coordinate", max_iter=30)
    steps = np.array([[0.0, 0.0], [1.0, -1.0]])
    ax = plot_loss_surface(problem, {"coordinate": seen, "by hand": steps}, resolution=10)
    coordinates = [problem.features.combine(point.a)[:2] for point in seen.points]
    np.testing.assert_allclose(np.column_stack(line(ax, "coordinate").get_data()), coordinates)
    np.testing.assert_allclose(np.column_stack(line(ax, "by hand").get_data()), steps)
    assert covers_no_data(ax, np.concatenate([coordinates, steps]))


@pytest.mark.slow
def test_levels_reach_into_the_valley():
    """Contours are spaced geometrically above the optimum, over at least two powers of ten."""
    problem = pose()
    ax = plot_loss_surface(problem, {"newton": record(problem, "newton")}, resolution=60)
    levels = next(each.levels for each in ax.collections if hasattr(each, "levels"))
    np.testing.assert_allclose(np.diff(np.log(levels)), np.log(levels[1] / levels[0]))
    assert levels[-1] > 100.0 * levels[0] > 0.0


def test_surface_in_space():
    """A second panel in space, with as many paths."""
    problem = pose()
    ax = plot_loss_surface(problem, {"newton": record(problem, "newton")}, surface3d=True, resolution=20)
    (space,) = [each for each in ax.figure.axes if each.name == "3d"]
    assert len(space.get_lines()) == 1
    x, y, height = space.get_lines()[0].get_data_3d()
    expected = [squared_hinge_by_hand(np.array(w), 0.0) for w in zip(x, y, strict=True)]
    np.testing.assert_allclose(np.diff(height), np.diff(expected), atol=1e-9)
    ax.figure.canvas.draw()


# ---- convergence ----------------------------------------------------------------------------------------------


def test_convergence_of_trajectories():
    """Lines are P - P*, P* the largest dual value of all runs; they start after the start."""
    problem = pose(Hinge())
    runs = {"bundle": record(problem, "bundle", tol=1e-9), "pairs": record(problem, "smo", tol=1e-9)}
    best = max(run.dual.max() for run in runs.values())
    ax = plot_convergence(runs)
    assert ax.get_yscale() == ax.get_xscale() == "log"
    for name, run in runs.items():
        x, excess = line(ax, name).get_data()
        np.testing.assert_array_equal(x, run.n_iter[1 : len(x) + 1])
        np.testing.assert_allclose(excess, np.maximum(run.primal[1 : len(x) + 1] - best, 4e-15 * best), rtol=1e-9)


def make_run(primal, dual=None) -> Trajectory:
    """A run made up for a test: one iteration a millisecond."""
    primal = np.array(primal, float)
    steps = np.arange(len(primal))
    dual = np.full(len(primal), 1.0) if dual is None else np.array(dual, float)
    return Trajectory("made_up", steps, 1e-3 * (steps + 1), primal, dual, [])


def test_rounding_ends_a_line():
    """What comes after P* is reached to rounding is not drawn."""
    ax = plot_convergence(make_run([9.0, 3.0, 2.0, 1.0 + 1e-16, 1.0, 1.0]))
    x, excess = ax.get_lines()[0].get_data()
    np.testing.assert_array_equal(x, [1, 2, 3])
    np.testing.assert_allclose(excess, [2.0, 1.0, 4e-15])


def test_optimum_seconds_relative_and_best_so_far():
    """The knobs do what they say."""
    run = make_run([10.0, 6.0, 8.0, 5.0], [0.0, 0.0, 3.0, 2.0])
    ax = plot_convergence([run], optimum=4.0, against="seconds", relative=True, ax=plt.figure().gca())
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), [1e-3, 2e-3, 3e-3, 4e-3])
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [1.5, 0.5, 1.0, 0.25])
    ax = plot_convergence([run], best_so_far=True, ax=plt.figure().gca())
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [3.0, 3.0, 2.0])


def test_convergence_of_results():
    """Histories of results can be drawn, against the certified bound; two of one solver are numbered."""
    problem = pose(Hinge())
    result = solve(problem, "coordinate", tol=1e-8)
    ax = plot_convergence([result, result], relative=True)
    assert texts(ax) == ["coordinate 1", "coordinate 2"]
    steps = [step for step in result.history if np.isfinite(step.primal)]
    expected = max(steps[-1].primal / result.certificate.dual - 1.0, 4e-15)
    assert ax.get_lines()[0].get_ydata()[-1] == pytest.approx(expected, rel=1e-6)


# ---- losses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_curves_of_the_table(name):
    """Every loss of the table is drawn as its formula in the tests says, its name and its formula in the legend."""
    loss = LOSSES[name]()
    ax = plot_losses([name], reach=2.0)
    x, curve = ax.get_lines()[0].get_data()
    shown = np.isfinite(curve)
    y = np.zeros(shown.sum()) if loss.target == "real" else np.ones(shown.sum())
    np.testing.assert_allclose(curve[shown], FORMULAS[name](loss, x[shown], y), atol=1e-12)
    assert shown.mean() > 0.5
    assert texts(ax)[0].startswith(name)
    assert ":" in texts(ax)[0]


def test_kinds_of_losses():
    """None and two words stand for all losses of a kind."""
    classification = plot_losses(ax=plt.figure().gca())
    assert len(classification.get_legend().get_texts()) == sum(loss.target == "label" for loss in LOSSES.values())
    regression = plot_losses("regression", ax=plt.figure().gca())
    assert len(regression.get_legend().get_texts()) == sum(loss.target == "real" for loss in LOSSES.values())
    assert regression.get_xlabel() == "residual r = f - y"


def test_formulas_in_the_legend():
    """Parameters and formulas are those of the loss."""
    ax = plot_losses([Quantile(0.8), Huber(0.5), EpsilonInsensitive(0.3)])
    assert texts(ax) == [
        "quantile(quantile=0.8): max(q (y - f), (1 - q) (f - y))",
        "huber(threshold=0.5): r^2/(2h) if |r| <= h else |r| - h/2",
        "epsilon_insensitive(epsilon=0.3): max(0, |f - y| - epsilon)",
    ]


# ---- bad input ------------------------------------------------------------------------------------------------


def assert_refused(call, message: str, error=ValueError) -> None:
    """One sentence, and this one."""
    with pytest.raises(error) as caught:
        call()
    said = str(caught.value)
    assert message in said
    assert "\n" not in said


@cache
def fitted(kind=SVC, n: int = 2):
    """A model on n features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, n))
    y = X[:, 0] > 0 if kind in (SVC, NuSVC) else X[:, 0]
    return kind().fit(X, y), X, y


BOUNDARIES = {
    "three features": (lambda: plot_decision_boundary(*fitted(SVC, 3)), "X must have exactly 2 features"),
    "one row": (lambda: plot_decision_boundary(fitted()[0], [1.0, 2.0]), "X must have exactly 2 features"),
    "no labels": (lambda: plot_decision_boundary(*fitted()[:2]), "y must be given for a classifier, got None."),
    "strange labels": (
        lambda: plot_decision_boundary(*fitted()[:2], np.full(30, 7)), "y must hold labels of the fit, [False, True]",
    ),
    "short y": (lambda: plot_decision_boundary(*fitted()[:2], [True]), "y must have one entry for each of the 30 rows"),
    "other data": (
        lambda: plot_decision_boundary(fitted()[0], np.zeros((5, 2)), np.ones(5, bool)), "X must be the data of the",
    ),
    "resolution": (lambda: plot_decision_boundary(*fitted(), resolution=1), "resolution must be a whole number"),
    "no model": (lambda: plot_decision_boundary("SVC", *fitted()[1:]), "model must have predict, but str has none."),
    "regressor": (lambda: plot_decision_boundary(*fitted(SVR)), "must be a classifier or a OneClassSVM, got SVR."),
}  # fmt: skip
TUBES = {
    "two features": (lambda: plot_regression_tube(*fitted(SVR, 2)), "x must have exactly one feature"),
    "short y": (lambda: plot_regression_tube(*fitted(SVR, 1)[:2], [1.0]), "y must have one entry for each of the 30"),
    "no model": (lambda: plot_regression_tube(None, [1.0], [1.0]), "model must have predict, but NoneType has none."),
    "classifier": (lambda: plot_regression_tube(*fitted(SVC, 1)), "model must be a regressor, got SVC."),
}
SURFACES = {
    "no paths": (lambda: plot_loss_surface(pose(), {}), "paths must be a dict with at least one path, got {}."),
    "list of paths": (lambda: plot_loss_surface(pose(), [[0, 0]]), "paths must be a dict with at least one path"),
    "shape": (
        lambda: plot_loss_surface(pose(), {"way": [1, 2]}), "paths['way'] must be a Trajectory or have shape (m, 2)",
    ),
    "astray": (lambda: plot_loss_surface(pose(), {"way": [[0, np.inf]]}), "paths['way'] must be finite"),
    "same axis": (lambda: plot_loss_surface(pose(), {"way": [[0, 0]]}, axes=(1, 1)), "axes must be two different"),
    "no such axis": (lambda: plot_loss_surface(pose(), {"way": [[0, 0]]}, axes=(0, 2)), "from 0 to 1, got (0, 2)."),
    "kernel": (
        lambda: plot_loss_surface(Problem(Gram.from_data(RBF(), moons()[0]), *[np.ones(120)] * 2, Hinge()), {"w": 0}),
        "problem must have linear features",
    ),
    "loose axes": (
        lambda: plot_loss_surface(pose(), {"w": [[0, 0]]}, ax=plt.figure().add_axes((0, 0, 1, 1)), surface3d=True),
        "ax must be one of a grid",
    ),
}  # fmt: skip
OTHERS = {
    "no runs": (lambda: plot_convergence([]), "trajectories must hold at least one run, got none."),
    "empty dict": (lambda: plot_convergence({}), "trajectories must hold at least one run, got none."),
    "against": (
        lambda: plot_convergence(make_run([1.0]), against="epochs"),
        "against must be one of ['iterations', 'seconds'], got 'epochs'.",
    ),
    "optimum": (lambda: plot_convergence(make_run([1.0]), optimum=np.nan), "optimum must be a finite number, got nan."),
    "unknown loss": (lambda: plot_losses(["hinges"]), "losses must be names of ["),
    "loss of classes": (lambda: plot_losses([Softmax()]), "losses must be names of ["),
    "two kinds": (lambda: plot_losses(["hinge", "huber"]), "losses must be of one kind"),
    "no losses": (lambda: plot_losses([]), "losses must name at least one loss"),
    "reach": (lambda: plot_losses(reach=-1.0), "reach must be a positive number, got -1.0."),
}
CASES = [
    pytest.param(*case, id=f"{group}, {name}")
    for group, cases in (("boundary", BOUNDARIES), ("tube", TUBES), ("surface", SURFACES), ("other", OTHERS))
    for name, case in cases.items()
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_bad_input(call, message):
    """One sentence that names what is wrong."""
    assert_refused(call, message)


@pytest.mark.parametrize("plot", [plot_decision_boundary, plot_regression_tube])
@pytest.mark.parametrize("model", [SVR(), svm.SVR(), make_pipeline(SVR())], ids=["ours", "scikit-learn", "pipeline"])
def test_not_fitted(plot, model):
    """A model that was not fitted is refused by name."""
    assert_refused(lambda: plot(model, [[1.0, 2.0]], [1.0]), "SVR instance is not fitted yet", NotFittedError)


def test_the_room_is_reached_by_name():
    """`maxmargin.plots` has all of them."""
    from maxmargin import plots

    assert plots is maxmargin.plots
    assert set(plots.__all__) <= set(dir(plots))
    assert plots.plot_path is plot_path
