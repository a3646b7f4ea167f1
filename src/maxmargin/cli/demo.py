"""maxmargin demo: one small fit next to scikit-learn's, both certified; or --write, which writes files to play with."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from .exit_codes import Exit
from .parser import Parser

HELD_OUT = 3  # every third row is for testing


def run(argv: list[str], program: str) -> int:
    """Fit and compare, or write."""
    parser = Parser(program, description=__doc__.partition(": ")[2])
    parser.add_argument(
        "--write", nargs="?", const=".", metavar="FOLDER",
        help="write cancer and cancer.t (two classes, LIBSVM text), diabetes and diabetes.t (numbers), wine.csv (three "
        "classes by name) into FOLDER",
    )  # fmt: skip
    arguments = parser.parse_args(argv)
    if arguments.write is not None:
        write_sets(Path(arguments.write))
    else:
        compare_fits()
    return Exit.SUCCESS


def write_sets(folder: Path) -> None:
    """Three real sets of scikit-learn's as files."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    folder.mkdir(parents=True, exist_ok=True)
    cancer, diabetes, wine = load_breast_cancer(), load_diabetes(scaled=False), load_wine()
    write_halves(folder / "cancer", cancer.data, np.where(cancer.target == 1, 1.0, -1.0))
    write_halves(folder / "diabetes", diabetes.data, diabetes.target)
    names = [f"cultivar {k + 1}" for k in range(3)]
    rows = [",".join([*(f"{x:g}" for x in row), names[k]]) for row, k in zip(wine.data, wine.target, strict=True)]
    header = ",".join([*(name.replace("/", " ") for name in wine.feature_names), "cultivar"])
    (folder / "wine.csv").write_text("\n".join([header, *rows]) + "\n")
    print(f"{folder / 'wine.csv'}: {len(rows)} rows of {wine.data.shape[1]} features")


def write_halves(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Rows to train on, and every third one, to test on, in a file with .t at its end."""
    from ..files import write_libsvm

    held_out = np.arange(len(y)) % HELD_OUT == HELD_OUT - 1
    for name, rows in ((path, ~held_out), (path.with_name(path.name + ".t"), held_out)):
        write_libsvm(name, X[rows], y[rows])
        print(f"{name}: {rows.sum()} rows of {X.shape[1]} features")


def compare_fits() -> None:
    """SVC on the breast cancer data, beside scikit-learn's, under one judge."""
    from sklearn import svm
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from ..public import SVC, certify

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    print(f"Breast cancer, {X.shape[0]} rows of {X.shape[1]} features, SVC with C = 10 and the Gaussian kernel:\n")
    SVC(C=10.0).fit(X, y)  # loads what was compiled
    for title, model in (("maxmargin", SVC(C=10.0)), ("scikit-learn", svm.SVC(C=10.0))):
        began = time.perf_counter()
        model.fit(X, y)
        milliseconds = 1e3 * (time.perf_counter() - began)
        print(f"{title:12s} {milliseconds:6.1f} ms, {len(model.support_)} support vectors, {certify(model, X, y)}")
    print("\nNo machine has an objective below the dual value: the relative gap says how much better one could be.")
    print("Continue with files: `maxmargin demo --write`, then `maxmargin train cancer`.")
