"""Pictures of arguments: what they draw is what the formulas say, by brute force where that is possible."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import make_moons

from maxmargin import SMO, SVC, SVR, plots, trace
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import EpsilonInsensitive, Hinge
from maxmargin.model.problem import Problem
from maxmargin.plots.cuts import Lines, find_bundle_steps, read_cuts
from maxmargin.plots.subgradients import bend, cliff, find_subdifferential, ridge
from maxmargin.plots.violations import compare_gains, find_best_gain, find_rates

mpl.use("Agg")
from matplotlib import pyplot as plt

GRID = np.linspace(-3.0, 3.0, 6001)


@pytest.fixture(autouse=True)
def close_figures():
    """No figure outlives its test."""
    yield
    plt.close("all")


def kinked(x):
    """max(|x|, 2 x - 1) and a subgradient: kinks at 0 and at 1."""
    u = float(x[0])
    return max(abs(u), 2.0 * u - 1.0), np.array([2.0 if u > 1.0 else 1.0 if u > 0 else -1.0])


def bowl(x):
    """|x - 1| / 2 + x^2 / 4 and a subgradient."""
    u = float(x[0])
    return 0.5 * abs(u - 1.0) + 0.25 * u * u, np.array([0.5 * (1.0 if u > 1.0 else -1.0) + 0.5 * u])


def read_texts(ax) -> list[str]:
    """The entries of a legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- subgradients and cuts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "ends"), [(-2.0, (-1.0, -1.0)), (0.0, (-1.0, 1.0)), (1.0, (1.0, 2.0))])
def test_subdifferentials(at, ends):
    """Both one-sided slopes."""
    assert find_subdifferential(kinked, at) == ends


def test_lines_lie_below():
    """A fan of five at a kink, one line elsewhere, and none above f."""
    ax = plots.plot_subgradients(kinked, [-2.0, 0.0], limits=(-3.0, 3.0))
    curve, *lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    assert len(lines) == 1 + 5
    for line in lines:
        assert np.nanmax(line.get_ydata() - curve.get_ydata()) < 1e-6
    assert read_texts(ax)[1:] == ["at -2: slope -1", "at 0: slopes from -1 to 1"]


@cache
def trace_bowl():
    """Cutting planes from 3, within a box."""
    return trace(bowl, "cutting-plane", x0=[3.0], bounds=(-3.0, 4.0), tol=1e-6)


def test_the_model_rises_under_the_function():
    """Step by step: never above f, never below what it was; at the end it touches f at the minimum."""
    steps = trace_bowl()
    f, before = np.array([bowl([x])[0] for x in GRID]), np.full(len(GRID), -np.inf)
    for step in range(len(steps)):
        model = read_cuts(steps, step).model(GRID)
        assert (model <= f + 1e-12).all()
        assert (model >= before).all()
        before = model
    assert before.min() == pytest.approx(f.min(), abs=1e-5)


def test_cuts_are_drawn_as_they_are():
    """The model after two cuts, and a legend that counts them."""
    steps = trace_bowl()
    ax = plots.plot_cuts(steps, bowl, 1, limits=(-3.0, 3.0))
    model = next(line for line in ax.lines if line.get_label() == "model of 2 cuts")
    np.testing.assert_allclose(model.get_ydata(), read_cuts(steps, 1).model(model.get_xdata()), atol=1e-12)
    assert "model of 1 cut" in read_texts(plots.plot_cuts(steps, bowl, 0, ax=plt.figure().gca()))
    with pytest.raises(ValueError, match=r"step must be that of one of the \d+ rows of the trace, got 999"):
        plots.plot_cuts(steps, bowl, 999)


def test_bundle_steps_are_the_minima():
    """Proximal, trust-region and level steps against the best of a fine grid."""
    cuts, centre = Lines(np.array([-2.0, 0.3, 1.5]), np.array([-1.0, -0.5, -2.0])), 2.0
    steps = find_bundle_steps(cuts, centre, proximity=0.8, radius=0.9, level=0.2)
    model = cuts.model(GRID)
    assert steps.proximal == pytest.approx(GRID[np.argmin(model + 0.4 * (GRID - centre) ** 2)], abs=2e-3)
    within = np.abs(GRID - centre) <= 0.9
    assert steps.trust_region == pytest.approx(GRID[within][np.argmin(model[within])], abs=2e-3)
    low = GRID[model <= 0.2]
    assert steps.level == pytest.approx(low[np.argmin(np.abs(low - centre))], abs=2e-3)
    with pytest.raises(ValueError, match=r"level must be at least the minimum of the model, got -9"):
        find_bundle_steps(cuts, centre, 1.0, 1.0, -9.0)


def test_three_panels_of_bundle_steps():
    """One for each way to hold the step, named by its number."""
    axes = plots.plot_bundle_steps(bowl, [-2.0, 3.0], proximity=1.5, radius=1.0, level=1.2, limits=(-2.5, 3.5))
    assert [ax.get_title() for ax in axes] == ["proximity 1.5", "trust region of radius 1", "level 1.2"]


def test_examples_of_derivatives():
    """df(0; d) of the first is not linear; the second is 1/2 along y = x^3; f(h)/|h| of the third is 1/2 along x^2."""
    t = np.logspace(-6.0, 0.0, 30)
    assert bend(1.0, 1.0) == 0.5 != bend(1.0, 0.0) + bend(0.0, 1.0)
    np.testing.assert_allclose(cliff(t, t**3), 0.5)
    np.testing.assert_allclose(ridge(t, t**2) / np.hypot(t, t**2), 0.5)
    assert bend(0.0, 0.0) == cliff(0.0, 0.0) == ridge(0.0, 0.0) == 0.0
    axes = plots.plot_derivatives()
    assert axes.shape == (2, 3)
    flat = next(line for line in axes[1, 2].lines if line.get_label() == "along y = x²")
    np.testing.assert_allclose(flat.get_ydata(), 0.5)


# ---- SMO --------------------------------------------------------------------------------------------------------


@cache
def pose_moons(n: int = 20) -> Problem:
    """The hinge over two moons."""
    X, y = make_moons(n, noise=0.2, random_state=0)
    return Problem(Gram.from_data(RBF(gamma=1.0), X), 2.0 * y - 1.0, np.full(n, 3.0), Hinge(), 0.0)


@cache
def trace_moons(selection: str):
    """SMO by pairs."""
    return trace(pose_moons(), SMO(selection=selection, stop="kkt"), tol=1e-4)


def test_rates_are_those_of_the_run():
    """m and M before every step are what the run recorded; the pair of "mvp" attains both."""
    problem, steps = pose_moons(), trace_moons("mvp")
    for k in range(1, len(steps)):
        rates, row = find_rates(problem, steps.states[k - 1].a), steps.steps[k]
        if "i" in row:
            assert (row["m"], row["M"]) == pytest.approx((rates.m, rates.M), abs=1e-9)
            assert (rates.up[row["i"]], rates.low[row["j"]]) == pytest.approx((rates.m, rates.M), abs=1e-9)


def test_m_and_m_close():
    """The two lines end together, and began apart."""
    ax = plots.plot_violation(trace_moons("mvp"))
    upper, lower = (line.get_ydata() for line in ax.lines[:2])
    assert upper[0] - lower[0] == pytest.approx(2.0)
    assert upper[-1] - lower[-1] < 1e-2


def test_titles_count_pair_steps():
    """One step, two steps."""
    titles = [plots.plot_rates(pose_moons(), trace_moons("mvp"), k, ax=plt.figure().gca()).get_title() for k in (1, 2)]
    assert titles == ["after 1 pair step", "after 2 pair steps"]


def test_the_best_pair_by_brute_force():
    """The largest rise of D over all pairs, each along a fine grid of steps within the box."""
    problem, a = pose_moons(), trace_moons("mvp").states[5].a
    K = problem.features.block(np.arange(problem.n))

    def dual(duals: np.ndarray) -> float:
        return problem.dual_value(duals, 0.5 * float(duals @ K @ duals))

    best, row = 0.0, problem.row
    for i, j in permutations(range(problem.n), 2):
        room = min(row.hi[i] - a[i], a[j] - row.lo[j])
        for t in np.linspace(0.0, room, 41) if room > 0 else ():
            best = max(best, dual(a + t * (np.eye(problem.n)[i] - np.eye(problem.n)[j])) - dual(a))
    found = find_best_gain(K, problem, a)
    assert best <= found * (1.0 + 1e-9)
    assert best >= 0.99 * found


@pytest.mark.parametrize("selection", ["mvp", "second-order", "keerthi"])
def test_no_rule_gains_more_than_the_best_pair(selection):
    """Shares are between 0 and 1, and the labels have their means."""
    gains = compare_gains(pose_moons(), trace_moons(selection))
    assert (gains.taken <= gains.best * (1.0 + 1e-6) + 1e-12).all()
    assert (gains.taken >= -1e-12).all()
    ax = plots.plot_working_sets(pose_moons(), {selection: trace_moons(selection)})
    assert read_texts(ax)[0].endswith(f"mean share {np.mean(gains.taken / gains.best):.2f}")


def test_gains_need_a_loss_without_a_kink():
    """The formula of the step is another one there."""
    X, y = make_moons(12, noise=0.2, random_state=0)
    problem = Problem(Gram.from_data(RBF(gamma=1.0), X), y.astype(float), np.ones(12), EpsilonInsensitive(0.1), 0.0)
    with pytest.raises(ValueError, match="problem must have a loss without a kink at zero duals"):
        compare_gains(problem, trace(problem, SMO(), tol=1e-3))


# ---- arguments --------------------------------------------------------------------------------------------------


def test_counts_are_those_of_the_machines():
    """Free and bounded vectors over C, sorted by C."""
    X, y = make_moons(60, noise=0.25, random_state=3)
    models = [SVC(C=C, gamma=1.0).fit(X, y) for C in (10.0, 0.1, 1.0)]
    free, bounded = plots.plot_support_counts(models).lines
    assert free.get_xdata().tolist() == bounded.get_xdata().tolist() == [0.1, 1.0, 10.0]
    assert bounded.get_ydata().tolist() == [len(models[k].bounded_support_) for k in (1, 2, 0)]
    assert free.get_ydata().tolist() == [len(models[k].free_support_) for k in (1, 2, 0)]
    with pytest.raises(ValueError, match="models must hold at least one fitted model, got none"):
        plots.plot_support_counts([])


def test_shares_of_kernel_time():
    """Bars of 25 and 80 per cent; more kernel time than time is refused."""
    ax = plots.plot_kernel_time({"with": (1.0, 4.0), "without": (8.0, 10.0)})
    assert [bar.get_width() for bar in ax.containers[0]] == pytest.approx([25.0, 80.0])
    assert [text.get_text() for text in ax.texts] == ["1.00 s of 4.00 s", "8.00 s of 10.00 s"]
    with pytest.raises(ValueError, match=r"seconds\['x'\] must be \(kernel, all\)"):
        plots.plot_kernel_time({"x": (2.0, 1.0)})


def test_labels_in_a_tube_are_dense():
    """Nearly all samples are support vectors of the tube, few of the margin; free ones are drawn above the others."""
    x = np.linspace(-4.0, 4.0, 41)
    x, y = x[x != 0], np.sign(x[x != 0])
    tube, margin = SVR(kernel="linear", epsilon=0.1).fit(x[:, None], y), SVC(kernel="linear").fit(x[:, None], y)
    axes = plots.plot_dense_labels(tube, margin, x, y)
    assert len(tube.support_) > 30 > 10 > len(margin.support_)
    assert axes[0].get_title() == f"epsilon-insensitive: {len(tube.support_)} of 40 are support vectors"
    assert axes[1].get_title() == f"hinge: {len(margin.support_)} of 40 are support vectors"
    order = {line.get_label().split(" ", 1)[-1]: line.get_zorder() for line in axes[1].lines}
    assert order["free support vectors"] > order["at the bound"]


def test_the_perceptron_collapses_and_the_margin_mends_it():
    """Minima of both objectives along s: at 0, and away from it where the derivative of the hinge's vanishes."""
    x = np.array([-2.0, -1.0, 1.0, 2.0])
    axes = plots.plot_perceptron_collapse(x[:, None], np.sign(x), [1.0], penalty=1.0)
    texts = read_texts(axes[0])
    assert "minimum at s = 0.00" in texts
    scale = np.linspace(0.0, 2.0, 400)
    hinge = [np.maximum(0.0, 1.0 - s * np.abs(x)).sum() + s * s for s in scale]
    assert f"minimum at s = {scale[np.argmin(hinge)]:.2f}" in texts
    with pytest.raises(ValueError, match="X must have one feature and w one number"):
        plots.plot_perceptron_collapse(np.ones((4, 2)), np.sign(x), [1.0, 1.0])


# ---- traces and moving pictures ---------------------------------------------------------------------------------


def test_a_trace_has_the_picture_of_its_solver():
    """m and M of pair steps; cuts of a function of one variable; P and D of all else."""
    assert plots.plot_trace(trace_moons("mvp")).get_xlabel() == "pair steps"
    assert plots.plot_trace(trace_bowl(), ax=plt.figure().gca()).get_ylabel() == "f and its model"
    other = trace(pose_moons(), "lagrangian_dual", tol=1e-4)
    assert plots.plot_trace(other, ax=plt.figure().gca()).get_ylabel() == "P and D"


def test_frames_of_an_animation(tmp_path):
    """A GIF of as many frames, which differ; and a page that needs no other file."""
    steps = trace_bowl()

    def draw(ax, step):
        plots.plot_cuts(steps, bowl, step, limits=(-3.0, 4.0), ax=ax)

    path = plots.write_animation(tmp_path / "cuts.gif", draw, [0, 1, 2], dpi=40)
    with Image.open(path) as moving:
        assert moving.n_frames == 3
        frames = [moving.seek(k) or np.asarray(moving.convert("RGB")) for k in range(3)]
    assert (frames[0] != frames[1]).any()
    page = plots.write_animation(tmp_path / "cuts.html", draw, [0, 1], dpi=40).read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") >= 2
    assert "http" not in page
    assert "fa-" not in page
    assert page.count("<button") == 9


@pytest.mark.parametrize(("name", "frames", "sentence"), [
    ("cuts.avi", [0], r"path must end in one of \['.gif', '.html'\], got "),
    ("cuts.gif", [], "frames must hold at least one frame, got none"),
])  # fmt: skip
def test_animations_that_cannot_be(tmp_path, name, frames, sentence):
    """One sentence each."""
    with pytest.raises(ValueError, match=sentence):
        plots.write_animation(tmp_path / name, lambda ax, frame: None, frames)
