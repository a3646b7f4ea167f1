"""Pictures of fitted machines. The only file that imports matplotlib."""

from __future__ import annotations

import numpy as np


def plot_decision_boundary(model, X, y, *, ax=None, resolution: int = 300):
    """The line f(x) = 0 with the margins f(x) = +-1, the samples, and the support vectors: free and bounded.

    Parameters
    ----------
    model : fitted binary classifier with decision_function and support_
        Ours or scikit-learn's.
    X : array-like of shape (n_samples, 2)
    y : array-like of shape (n_samples,)
    ax : matplotlib Axes, optional
    resolution : int, default=300
        Points on each axis of the grid.

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    X, y = np.asarray(X, float), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have exactly 2 features to be drawn, got shape {X.shape}.")
    ax = plt.gca() if ax is None else ax
    margin = 0.08 * np.ptp(X, axis=0)
    axes = [np.linspace(lo, hi, resolution) for lo, hi in zip(X.min(0) - margin, X.max(0) + margin, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    f = model.decision_function(grid.reshape(-1, 2)).reshape(resolution, resolution)
    reach = max(np.abs(f).max(), 1e-12)
    ax.contourf(*axes, f, levels=np.linspace(-reach, reach, 21), cmap="RdBu_r", alpha=0.35)
    ax.contour(*axes, f, levels=[-1, 0, 1], colors="black", linewidths=[1, 2, 1], linestyles=["--", "-", "--"])
    colours = np.array(["#2166ac", "#b2182b"])
    ax.scatter(*X.T, c=colours[(y == model.classes_[1]).astype(int)], s=14, linewidths=0, zorder=3)
    draw_support(model, X, ax)
    ax.legend(loc="upper right", framealpha=0.9)
    return ax


def draw_support(model, X: np.ndarray, ax) -> None:
    """Rings around the support vectors: full for those on the margin, thin for those beyond it."""
    free, bounded = split_support(model)
    ax.scatter(*X[free].T, s=70, facecolors="none", edgecolors="black", linewidths=1.6, zorder=4,
               label=f"{len(free)} free support vectors")  # fmt: skip
    ax.scatter(*X[bounded].T, s=55, facecolors="none", edgecolors="#555555", linewidths=0.7, zorder=4,
               label=f"{len(bounded)} at the bound C")  # fmt: skip


def split_support(model) -> tuple[np.ndarray, np.ndarray]:
    """Free and bounded support vectors; for scikit-learn's models by comparing the duals with their largest."""
    if hasattr(model, "free_support_"):
        return model.free_support_, model.bounded_support_
    size = np.abs(np.asarray(model.dual_coef_)).max(axis=0)
    bounded = size >= getattr(model, "C", size.max()) * (1 - 1e-9)
    return model.support_[~bounded], model.support_[bounded]


def plot_path(path, *, ax=None, most: int = 10):
    """The coefficients w_j(C) over C on a logarithmic axis; the `most` largest are named.

    Parameters
    ----------
    path : Path
        What `maxmargin.path` returned.
    ax : matplotlib Axes, optional
    most : int, default=10
        How many coefficients are drawn in colour; the others are grey.

    Returns
    -------
    matplotlib Axes
        With a second axis for the certified relative gap at every C.
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    order = np.argsort(path.Cs)
    Cs, coefs = path.Cs[order], path.coefs[order]
    largest = np.argsort(-np.abs(coefs).max(axis=0), kind="stable")
    for place, feature in enumerate(largest[:300]):
        named = place < most
        ax.plot(Cs, coefs[:, feature], color=f"C{place % 10}" if named else "#cccccc", linewidth=1.5 if named else 0.6,
                zorder=2 if named else 1, label=f"feature {feature}" if named else None)  # fmt: skip
    ax.set_xscale("log")
    ax.set(xlabel="C", ylabel="coefficient", title=f"{path.loss}: {len(Cs)} certified fits")
    ax.axhline(0.0, color="black", linewidth=0.6)
    gaps = ax.twinx()
    tiny = 1e-16
    gaps.plot(Cs, [max(path.certificates[k].relative_gap, tiny) for k in order], "k.", markersize=4, alpha=0.6)
    gaps.set_yscale("log")
    gaps.set_ylabel("certified relative gap (dots)")
    ax.legend(loc="upper left", fontsize="small", framealpha=0.9)
    return ax
