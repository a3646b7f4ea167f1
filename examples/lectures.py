"""Draw the pictures of arguments in docs/plots.md: those of lectures on bundle methods and on SMO, still and moving.

python examples/lectures.py [folder]
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from gallery import FOLDER, open_figure, save_still
from sklearn.datasets import make_moons

from maxmargin import SMO, SVC, SVR, plots, solve, trace
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.plots.canvas import COLOURS
from maxmargin.plots.lessons import evaluate_shrinking

mpl.use("Agg")
from matplotlib import pyplot as plt

C_RANGE = np.logspace(-2.0, 2.0, 13)


def kinked(x):
    """max(|x|, (x - 1)^2 / 2 - 1/2, 2 x - 3): two kinks and a curved part; and a subgradient."""
    u = float(x[0])
    pieces = ((abs(u), np.sign(u)), (0.5 * (u - 1.0) ** 2 - 0.5, u - 1.0), (2.0 * u - 3.0, 2.0))
    value, slope = max(pieces)
    return value, np.array([slope])


def curved(x):
    """|x - 1| / 2 + x^2 / 4 + exp(-x) / 4, convex with a kink at 1; and a subgradient."""
    u = float(x[0])
    value = 0.5 * abs(u - 1.0) + 0.25 * u * u + 0.25 * np.exp(-u)
    return value, np.array([0.5 * (1.0 if u > 1.0 else -1.0) + 0.5 * u - 0.25 * np.exp(-u)])


def pose_moons(n=40, C=3.0):
    """The hinge over two moons with a Gaussian kernel and a free intercept."""
    X, y = make_moons(n, noise=0.2, random_state=0)
    return Problem(Gram.from_data(RBF(gamma=1.0), X), 2.0 * y - 1.0, np.full(n, C), Hinge(), 0.0)


def draw_subgradients():
    """A fan at a kink, one line elsewhere."""
    figure, ax = open_figure()
    plots.plot_subgradients(kinked, [-2.0, 0.0, 3.0], limits=(-3.0, 4.0), ax=ax)
    return figure


def trace_cuts():
    """Cutting planes on a function of one variable, from 3, within a box."""
    return trace(curved, "cutting-plane", x0=[3.0], bounds=(-3.0, 4.0), tol=1e-4)


def draw_cuts():
    """The model after one, two, four and six rounds."""
    steps = trace_cuts()
    figure, panels = plt.subplots(2, 2, figsize=(12.8, 8.8), layout="constrained")
    for panel, step in zip(panels.ravel(), (1, 2, 4, 6), strict=True):
        plots.plot_cuts(steps, curved, step, limits=(-3.2, 4.2), ax=panel)
        panel.set_title(f"round {step}: {steps.steps[step]['step']} step")
    return figure


def draw_bundle_steps():
    """Proximity, radius and level on the same cuts."""
    figure, axes = plt.subplots(1, 3, figsize=(14.4, 5.2), layout="constrained")
    plots.plot_bundle_steps(curved, [-2.0, 3.0], proximity=1.5, radius=1.0, level=1.2, limits=(-2.5, 3.5), axes=axes)
    return figure


def draw_violation():
    """Rates at the start, in the middle and near the end; m and M on the way."""
    problem = pose_moons()
    steps = trace(problem, SMO(selection="mvp", stop="kkt"), tol=1e-3)
    figure, panels = plt.subplots(2, 2, figsize=(13.6, 9.0), layout="constrained")
    for panel, step in zip(panels.ravel(), (0, 10, len(steps) - 1), strict=False):
        plots.plot_rates(problem, steps, step, ax=panel)
    plots.plot_violation(steps, ax=panels[1, 1])
    panels[1, 1].set_title("m and M close")
    return figure


def draw_working_sets():
    """Three selections beside the best of all pairs."""
    problem = pose_moons()
    traces = {name: trace(problem, SMO(selection=name), tol=1e-5) for name in ("second-order", "mvp", "keerthi")}
    figure, ax = open_figure()
    plots.plot_working_sets(problem, traces, ax=ax)
    return figure


def draw_margin_sweep():
    """Free and bounded vectors at three C, and how many there are over C."""
    X, y = make_moons(100, noise=0.25, random_state=3)
    figure, panels = plt.subplots(2, 2, figsize=(13.2, 10.0), layout="constrained")
    for panel, C in zip(panels.ravel(), (0.05, 1.0, 50.0), strict=False):
        plots.plot_decision_boundary(SVC(C=C, gamma=1.0).fit(X, y), X, y, ax=panel)
        panel.set_title(f"C = {C:g}")
    plots.plot_support_counts([SVC(C=C, gamma=1.0).fit(X, y) for C in C_RANGE], ax=panels[1, 1])
    return figure


@dataclass(frozen=True)
class TimedRBF(RBF):
    """The Gaussian kernel, with a watch on the time that its values take."""

    seconds = [0.0]  # noqa: RUF012 (one watch for all)

    def evaluate(self, A, B, out=None):
        """As always, timed."""
        began = time.thread_time()
        K = super().evaluate(A, B, out)
        self.seconds[0] += time.thread_time() - began
        return K


def measure_kernel_time(n=2500):
    """CPU seconds of kernel values and of the whole, by SMO's pair steps with a large cache and with next to none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 200))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
    measured = {}
    for name, megabytes in (("room for all kernel rows", 60.0), ("room for ten kernel rows", 0.2)):
        problem = Problem(Gram.from_data(TimedRBF(gamma=1e-4), X), y, np.full(n, 100.0), Hinge(), 0.0)
        TimedRBF.seconds[0], began = 0.0, time.process_time()
        solve(problem, SMO(working_set=2, cache_size=megabytes, batch=1, shrinking=False), tol=1e-2)
        measured[name] = (TimedRBF.seconds[0], time.process_time() - began)
    return measured


def draw_kernel_time():
    """The same fit with and without room for kernel rows."""
    measure_kernel_time()  # compiles
    figure, ax = plt.subplots(figsize=(9.0, 3.4), layout="constrained")
    plots.plot_kernel_time(measure_kernel_time(), ax=ax)
    return figure


def draw_dense_labels():
    """The tube around labels, and the margin."""
    rng = np.random.default_rng(0)
    x = np.sort(np.concatenate([rng.uniform(-4.0, -0.2, 30), rng.uniform(0.2, 4.0, 30)]))
    y = np.where(x > 0, 1.0, -1.0)
    tube = SVR(kernel="linear", epsilon=0.1).fit(x[:, None], y)
    figure, axes = open_figure(2)
    plots.plot_dense_labels(tube, SVC(kernel="linear").fit(x[:, None], y), x, y, axes=axes)
    return figure


def draw_perceptron():
    """Both objectives along s (w, b), and what happens to f."""
    rng = np.random.default_rng(1)
    x = np.sort(np.concatenate([rng.uniform(-3.0, -0.8, 12), rng.uniform(0.8, 3.0, 12)]))
    figure, axes = open_figure(2)
    plots.plot_perceptron_collapse(x[:, None], np.sign(x), [1.0], penalty=2.0, axes=axes)
    return figure


def draw_derivatives():
    """Three functions at the origin."""
    return plots.plot_derivatives()[0, 0].figure


def move_cuts(folder):
    """The model rising under a function."""
    steps = trace_cuts()
    return plots.write_animation(
        folder / "cuts.gif",
        lambda ax, step: plots.plot_cuts(steps, curved, step, limits=(-3.2, 4.2), ax=ax),
        range(len(steps)),
        seconds_per_frame=0.9,
    )


def move_rates(folder):
    """Rates of all samples, step by step."""
    problem = pose_moons()
    steps = trace(problem, SMO(selection="mvp", stop="kkt"), tol=1e-2)
    shown = [*range(min(20, len(steps))), *range(20, len(steps), 5)]

    def draw(ax, step):
        plots.plot_rates(problem, steps, step, ax=ax)
        ax.set_ylim(-3.2, 4.2)

    return plots.write_animation(folder / "rates.gif", draw, shown, seconds_per_frame=0.4)


def move_margin(folder):
    """The boundary, its margin and its support vectors as C grows."""
    X, y = make_moons(100, noise=0.25, random_state=3)

    def draw(ax, C):
        plots.plot_decision_boundary(SVC(C=C, gamma=1.0).fit(X, y), X, y, ax=ax, resolution=150)
        ax.set_title(f"C = {C:.3g}")

    return plots.write_animation(folder / "margin.gif", draw, C_RANGE, dpi=60)


def move_perceptron(folder):
    """Both objectives while f = s (w x + b) is made flatter: one falls to 0, the other rises from its minimum."""
    rng = np.random.default_rng(1)
    x = np.sort(np.concatenate([rng.uniform(-3.0, -0.8, 12), rng.uniform(0.8, 3.0, 12)]))
    at = (x[:, None], np.sign(x), np.ones(1), 0.0, 2.0)
    grid = np.linspace(0.0, 2.0, 400)

    def draw(ax, s):
        for values, here, colour, name in zip(
            evaluate_shrinking(*at, grid), evaluate_shrinking(*at, s), COLOURS, ("perceptron", "hinge"), strict=False
        ):
            ax.plot(grid, values, color=colour, linewidth=2.2)
            ax.plot(s, here, "o", color=colour, markersize=9, label=f"{name}: {here[0]:.2f}")
        ax.set(xlabel="s, where f = s (w x + b)", ylabel="objective", xlim=(-0.04, 2.04), ylim=(-0.8, 27.0))
        ax.set_title(f"f at s = {s:.2f}: margins of {s * np.abs(x).min():.2f} and more")
        ax.legend(loc="upper right")

    return plots.write_animation(folder / "perceptron.gif", draw, np.linspace(2.0, 0.0, 21), seconds_per_frame=0.3)


DRAWINGS = {
    "subgradients": draw_subgradients, "cuts": draw_cuts, "bundle_steps": draw_bundle_steps,
    "violation": draw_violation, "working_sets": draw_working_sets, "margin_sweep": draw_margin_sweep,
    "kernel_time": draw_kernel_time, "dense_labels": draw_dense_labels, "perceptron": draw_perceptron,
    "derivatives": draw_derivatives,
}  # fmt: skip
ANIMATIONS = (move_cuts, move_rates, move_margin, move_perceptron)


def main():
    """All of them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        save_still(draw(), folder / f"{name}.png")
    for move in ANIMATIONS:
        path = move(folder)
        print(f"{path}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
