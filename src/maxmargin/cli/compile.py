"""maxmargin compile: compile ahead what fits and predictions call, for images and for places that are read-only."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from .exit_codes import Exit
from .parser import Parser
from .report import print_json

DESCRIPTION = """Compile for this processor what fits and predictions of every estimator call, so that no fit has to,
and say where the code is stored: next to the package if that is writable, otherwise in the user's cache folder;
NUMBA_CACHE_DIR names another folder. Later processes find the code there even if the folder is read-only for
them."""
FEW_ROWS, MANY_ROWS = 60, 2500  # that are solved together in one call, and block by block
FIT_SECONDS = 5.0  # for a long fit that is not there for its result; a limit keeps few rows from their one call
# What has code of its own beside the defaults: an interior point where a loss has kinks, scores through w, and folds
# over one matrix, which searches call too.
VARIANTS = {
    "SVC": [{"kernel": "linear"}, {"probability": True}],
    "SVR": [{"kernel": "linear"}],
    "LinearSVC": [{"loss": "hinge"}],
    "RiskClassifier": [{"loss": "logistic"}, {"loss": "squared_hinge"}],
    "RiskRegressor": [{"loss": "quantile"}, {"loss": "poisson"}],
}  # fmt: skip


def run(argv: list[str], program: str) -> int:
    """Compile, and say where the code is."""
    parser = Parser(program, description=DESCRIPTION)
    parser.add_argument("--json", action="store_true", help="one line of JSON on stdout")
    arguments = parser.parse_args(argv)
    from ..files.compiled_code import find_compiled_code

    folder, began = find_compiled_code(), time.perf_counter()
    if folder is None:
        raise ValueError("Compiled code cannot be stored. Set NUMBA_CACHE_DIR to a folder that this user can write to.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these fits are not there for their results
        names = [fit_and_predict(machine, X, y) for machine, X, y in list_fits()]
        search_few_and_many()
        read_and_write_text()
    seconds = time.perf_counter() - began
    if arguments.json:
        print_json({"command": "compile", "folder": folder, "fits": len(names), "seconds": seconds})
    else:
        print(f"compiled {len(names)} kinds of fits in {seconds:.3g} s; the code is kept in {folder}")
    return Exit.SUCCESS


def list_fits() -> Iterator[tuple]:
    """A machine of each kind with data of each form: few rows and many, dense and sparse."""
    from ..estimators.registry import ESTIMATORS

    rng = np.random.default_rng(0)
    for n in (FEW_ROWS, MANY_ROWS):
        X, labels = rng.normal(size=(n, 3)), np.arange(n) % 2
        for name, kind in ESTIMATORS.items():
            if kind.family == "structured" or kind.takes_queries:
                continue
            classes = [labels, np.arange(n) % 3] if kind.task == "classification" else [X[:, 0] + labels]
            classes = classes[:1] if name == "MetricSVC" else classes  # which has two classes
            for y in classes:
                for form in (np.asarray, sp.csr_array) if n == FEW_ROWS and kind.takes_sparse else (np.asarray,):
                    yield kind(**choose_parameters(name, n)), form(X), y
            for variant in VARIANTS.get(name, []) if n == FEW_ROWS else []:
                yield kind(**variant), X, np.abs(classes[0])


def choose_parameters(name: str, n: int) -> dict:
    """Parameters for a fit of a moment."""
    limit = {"max_seconds": FIT_SECONDS} if n == MANY_ROWS else {}
    return limit | ({"nu": 0.3} if name == "NuSVC" else {})


def fit_and_predict(machine, X, y: np.ndarray) -> str:
    """Fit, and predict the rows of the fit."""
    machine.fit(X, y).predict(X)
    return type(machine).__name__


def search_few_and_many() -> None:
    """Searches whose cells share one kernel matrix, and are judged together."""
    from ..estimators import SVC
    from ..model_selection import GridSearchCV

    rng = np.random.default_rng(0)
    for n in (FEW_ROWS, MANY_ROWS):
        X = rng.normal(size=(n, 20))
        GridSearchCV(SVC(), {"C": [1.0, 2.0], "gamma": [0.01]}, cv=2).fit(X, np.where(X[:, 0] > 0, 1, 0))


def read_and_write_text() -> None:
    """LIBSVM text to a file and back."""
    from tempfile import TemporaryDirectory

    from ..files import read_libsvm, write_libsvm

    with TemporaryDirectory() as folder:
        path = f"{folder}/rows"
        write_libsvm(path, np.array([[0.5, 1e-300], [-1.25, 3.0]]), np.array([1.0, -1.0]))
        read_libsvm(path)
