"""Fit a few problems with maxmargin and with scikit-learn, certify both with one judge, and draw a picture.

make demo
"""

import tempfile
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
    """Ours and scikit-learn's, both judged by `certify`."""
    print(f"{'problem':21s} {'model':12s} {'n':>6s}  {'library':13s} {'seconds':>9s} {'SVs':>8s} {'relative gap':>13s}")
    for title, name, parameters, X, y in list_problems():
        for library, module in (("maxmargin", maxmargin), ("scikit-learn", svm)):
            model, seconds = time_fit(getattr(module, name)(**parameters), X, y)
            certificate = maxmargin.certify(model, X, y)
            print_row(title, X, model, seconds, certificate.relative_gap, library)


def count_on():
    """Handwritten digits that mostly count up, 7 after 6: a chain compared with digits read one by one."""
    X, y = load_digits(return_X_y=True)
    X, rng = X / 16.0, np.random.default_rng(0)
    places = [np.flatnonzero(y == digit) for digit in range(10)]

    def write(halves):
        """Sequences of eight digits, drawn from one half of the images."""
        digits = np.cumsum(np.where(rng.random((150, 8)) < 0.8, 1, rng.integers(0, 10, (150, 8))), axis=1) % 10
        rows = np.array([[rng.choice(places[digit][halves::2]) for digit in row] for row in digits])
        return list(X[rows] + 0.4 * rng.normal(size=(*rows.shape, X.shape[1]))), list(digits)

    (train, right), (test, truth) = write(0), write(1)
    alone = maxmargin.LinearSVC(multi_class="crammer_singer", C=0.1).fit(np.concatenate(train), np.concatenate(right))
    chain = maxmargin.StructuredSVM(maxmargin.ChainModel(), C=0.1).fit(train, right)
    one_by_one, together = alone.score(np.concatenate(test), np.concatenate(truth)), chain.score(test, truth)
    print(f"\nNoisy digits that count on: {one_by_one:.0%} right one by one, {together:.0%} as a chain "
          f"(relative gap {chain.certificate_.relative_gap:.0e}).")  # fmt: skip


def read_in_blocks():
    """A million rows in a file, read block by block, never all at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        X = np.lib.format.open_memmap(path, "w+", np.float32, (1_000_000, 20))
        y, rng = np.empty(len(X), np.int8), np.random.default_rng(0)
        for start in range(0, len(X), 100_000):
            rows = rng.normal(size=(100_000, 20))
            X[start : start + 100_000] = rows
            y[start : start + 100_000] = rows[:, 0] - rows[:, 1] + rng.normal(size=100_000) > 0
        del X
        began = time.perf_counter()
        model = maxmargin.LinearSVC(loss="hinge", tol=1e-3).fit(maxmargin.open_blocks(path, y))
        seconds, passes = time.perf_counter() - began, model.result_.counters["passes"]
        print(f"A million rows from a file: {passes} passes in {seconds:.1f} s, "
              f"relative gap {model.certificate_.relative_gap:.0e}.")  # fmt: skip


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
    """Table, structures, blocks and picture."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message="Liblinear failed to converge")  # its gap shows by how much
    began = time.perf_counter()
    maxmargin.SVC().fit(np.eye(4), [0, 1, 0, 1])
    print(f"First fit in this process, loading or compiling included: {time.perf_counter() - began:.1f} s\n")
    print_table()
    count_on()
    read_in_blocks()
    draw_picture()


if __name__ == "__main__":
    main()
