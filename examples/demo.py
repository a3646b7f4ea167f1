"""Fit a few problems with maxmargin and with scikit-learn, let one judge look at both, and draw a picture.

make demo
"""

import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn import svm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_friedman1,
    make_moons,
)  # fmt: skip
from sklearn.preprocessing import StandardScaler

import maxmargin

PICTURE = Path("demo.png")


def standardise(X):
    """Columns of mean 0 and variance 1."""
    return StandardScaler().fit_transform(X)


def list_problems():
    """(title, class name, parameters, X, y): real data from scikit-learn and generated data."""
    cancer, wine, digits, diabetes = (
        load(return_X_y=True) for load in (load_breast_cancer, load_wine, load_digits, load_diabetes)
    )
    clouds = make_classification(10000, 20, n_informative=10, flip_y=0.05, random_state=0)
    friedman = make_friedman1(4000, n_features=10, noise=1.0, random_state=0)
    return [
        ("breast cancer", "SVC", {"C": 10.0}, standardise(cancer[0]), cancer[1]),
        ("breast cancer, poly", "SVC", {"kernel": "poly", "coef0": 1.0}, standardise(cancer[0]), cancer[1]),
        ("wine, 3 classes", "NuSVC", {"nu": 0.2}, standardise(wine[0]), wine[1]),
        ("digits, 10 classes", "SVC", {"C": 10.0}, digits[0] / 16.0, digits[1]),
        ("digits", "OneClassSVM", {"nu": 0.1}, digits[0] / 16.0, None),
        ("diabetes", "NuSVR", {"C": 100.0}, standardise(diabetes[0]), diabetes[1]),
        ("friedman, generated", "SVR", {"C": 10.0}, standardise(friedman[0]), friedman[1]),
        ("clouds, generated", "SVC", {}, *clouds),
        ("clouds, linear", "LinearSVC", {"loss": "hinge", "C": 10.0}, *clouds),
        ("diabetes, linear", "LinearSVR", {"epsilon": 5.0}, standardise(diabetes[0]), diabetes[1]),
    ]


def time_fit(model, X, y):
    """The fitted model, and the seconds of the better of two fits."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - began)
    return model, min(seconds)


def print_row(title, X, model, seconds, gap, library):
    """One line of the table."""
    name = f"{type(model).__name__:12s}"
    support = str(len(model.support_)) if hasattr(model, "support_") else "-"
    print(f"{title:21s} {name} {X.shape[0]:6d}  {library:13s} {seconds:9.4f} {support:>8s} {gap:13.1e}")


def print_table():
    """Ours beside scikit-learn's, both judged by `certify`."""
    print(f"{'problem':21s} {'model':12s} {'n':>6s}  {'library':13s} {'seconds':>9s} {'SVs':>8s} {'relative gap':>13s}")
    for title, name, parameters, X, y in list_problems():
        for library, module in (("maxmargin", maxmargin), ("scikit-learn", svm)):
            model, seconds = time_fit(getattr(module, name)(**parameters), X, y)
            certificate = maxmargin.certify(model, X, y)
            print_row(title, X, model, seconds, certificate.relative_gap, library)


def draw_picture():
    """A decision boundary with its margins and support vectors."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from maxmargin.plots import plot_decision_boundary

    X, y = make_moons(300, noise=0.22, random_state=3)
    model = maxmargin.SVC(C=3.0, gamma=1.0).fit(X, y)
    figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
    plot_decision_boundary(model, X, y, ax=ax)
    gap = model.certificate_.relative_gap
    ax.set_title(f"SVC on two moons: margin {model.margin_width_[0]:.2f}, certified relative gap {gap:.0e}")
    figure.savefig(PICTURE, dpi=130)
    print(f"\nThe picture is in {PICTURE}.")


def main():
    """Table and picture."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message="Liblinear failed to converge")  # its gap says by how much
    began = time.perf_counter()
    maxmargin.SVC().fit(np.eye(4), [0, 1, 0, 1])
    print(f"First fit in this process, loading or compiling included: {time.perf_counter() - began:.1f} s\n")
    print_table()
    draw_picture()


if __name__ == "__main__":
    main()
