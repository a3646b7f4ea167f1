"""Draw the pictures of docs/plots.md.

python examples/gallery.py [folder]
"""

import sys
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from PIL.ImageColor import getrgb
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import SVC, SVR, AdaGrad, GradientDescent, LinearSVC, OneClassSVM, plots
from maxmargin.insight.traces import record
from maxmargin.model.features import Design
from maxmargin.model.losses import EpsilonInsensitive, Hinge, Huber, LeastSquares, Quantile, SquaredEpsilonInsensitive
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots.canvas import COLOURS, INK, STAR

mpl.use("Agg")
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[1] / "docs" / "images"


def open_figure(columns=1):
    """A figure of one panel or more, and its panels."""
    return plt.subplots(1, columns, figsize=(6.4 * columns if columns > 1 else 8.0, 5.2), layout="constrained")


def draw_boundary():
    """A kernel machine with its margins and support vectors."""
    X, y = make_moons(300, noise=0.22, random_state=3)
    model = SVC(C=3.0, gamma=1.0).fit(X, y)
    figure, ax = open_figure()
    plots.plot_decision_boundary(model, X, y, ax=ax)
    gap = model.certificate_.relative_gap
    ax.set_title(f"SVC on two moons: margin {model.margin_width_[0]:.2f}, certified relative gap {gap:.0e}")
    return figure


def draw_boundaries():
    """A linear machine, three classes, one class."""
    X, y = make_moons(200, noise=0.22, random_state=3)
    flowers, kind = load_iris(return_X_y=True)
    flowers = flowers[:, 2:]
    figure, panels = open_figure(3)
    plots.plot_decision_boundary(LinearSVC(loss="hinge").fit(X, y), X, y, ax=panels[0])
    plots.plot_decision_boundary(SVC().fit(flowers, kind), flowers, kind, ax=panels[1])
    plots.plot_decision_boundary(OneClassSVM(nu=0.1).fit(X), X, ax=panels[2])
    for panel, title in zip(panels, ("LinearSVC, hinge", "SVC, three classes", "OneClassSVM"), strict=True):
        panel.set_title(title)
    return figure


def draw_tube():
    """A regression curve, its tube, and its support vectors."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 2.0 * np.pi, 100)
    y = np.sin(x) + rng.uniform(-0.25, 0.25, 100)
    figure, ax = open_figure()
    plots.plot_regression_tube(SVR(epsilon=0.2).fit(x[:, None], y), x, y, ax=ax)
    return figure


def draw_losses():
    """The loss table, for labels and for real targets."""
    figure, (left, right) = open_figure(2)
    plots.plot_losses(ax=left)
    shown = [LeastSquares(), Quantile(0.8), EpsilonInsensitive(0.5), SquaredEpsilonInsensitive(0.5), Huber(1.0)]
    plots.plot_losses(shown, ax=right)
    return figure


def pose_clouds(n=200, scaling=0.0):
    """The hinge over two overlapping clouds."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], n // 2)
    X = rng.multivariate_normal([0.0, 0.0], [[1.5, 1.0], [1.0, 1.5]], n) + np.where(y[:, None] > 0, [0, 2], [2, 0])
    return Problem(Design(wrap(X), scaling), y, np.ones(n), Hinge(), None)


def draw_surface():
    """Three paths down one surface."""
    problem = pose_clouds()
    paths = {
        "gradient descent": record(problem, GradientDescent(step=0.005), max_iter=25),
        "with momentum": record(problem, GradientDescent("polyak", beta=0.4, step=0.005), max_iter=25),
        "AdaGrad": record(problem, AdaGrad(step=0.5), max_iter=25),
    }
    figure, ax = plt.subplots(figsize=(12.8, 5.2), layout="constrained")
    plots.plot_loss_surface(problem, paths, ax=ax, surface3d=True)
    return figure


def draw_convergence():
    """Seven solvers on one problem."""
    problem = pose_clouds(scaling=1.0)
    names = ("smo", "coordinate", "multipliers", "interior_point", "bundle", "one_slack", "gradient_descent")
    figure, (left, right) = open_figure(2)
    for _ in range(2):  # the first round compiles
        runs = {name: record(problem, name, tol=1e-8, max_iter=3000) for name in names}
    plots.plot_convergence(runs, best_so_far=True, ax=left)
    plots.plot_convergence(runs, best_so_far=True, against="seconds", ax=right)
    return figure


def draw_path():
    """Coefficients of an l2 logistic machine over C."""
    X, y = load_breast_cancer(return_X_y=True)
    figure, ax = open_figure()
    plots.plot_path(maxmargin.path(StandardScaler().fit_transform(X), y, loss="logistic"), ax=ax, most=6)
    return figure


DRAWINGS = {
    "boundary": draw_boundary, "boundaries": draw_boundaries, "tube": draw_tube, "losses": draw_losses,
    "surface": draw_surface, "convergence": draw_convergence, "path": draw_path,
}  # fmt: skip


def shrink(picture):
    """The picture reduced to 240 of its colours and those of lines and marks: a third of the bytes."""
    shades = picture.quantize(240).getpalette()[: 3 * 240]
    palette = Image.new("P", (1, 1))
    palette.putpalette([*shades, *(part for colour in (*COLOURS, STAR, INK) for part in getrgb(colour))])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def save_still(figure, path):
    """The figure as a small file."""
    pixels = BytesIO()
    figure.savefig(pixels, dpi=110)
    plt.close("all")
    shrink(Image.open(pixels).convert("RGB")).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def main():
    """All pictures, as small files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        save_still(draw(), folder / f"{name}.png")


if __name__ == "__main__":
    main()
