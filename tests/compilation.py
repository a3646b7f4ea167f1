"""Everything compiled that tests call: python tests/compilation.py, by which `make setup` ends.

Numba keeps what it has compiled. On a fresh machine each of the processes that run tests would compile the same loops
side by side, and tests with a clock would wait for it.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, solve
from maxmargin.certificates.certificate import judge
from maxmargin.insight.overview import ask_solvers
from maxmargin.model.features import Design, Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Point, Problem
from maxmargin.model.samples import wrap

FIT_SECONDS = 0.5  # for a fit that is not there for its result


def compile_kernel_machines() -> None:
    """Fits of a moment: few samples and many, dense and sparse, loose and tight, with and without an intercept."""
    rng = np.random.default_rng(0)
    every_form = (np.asarray, np.float32, sp.csr_array)
    for n, tol, forms in ((60, 1e-8, every_form), (2500, 1e-8, (np.asarray,)), (2500, 1e-3, (np.asarray,))):
        X, y = rng.normal(size=(n, 3)), np.arange(n) % 2
        for data in (form(X) for form in forms):
            for intercept in ("free", "none"):
                for model in (SVC(), SVC(kernel="linear"), SVC(kernel="laplacian"), NuSVC(nu=0.9), SVR(), NuSVR()):
                    model.set_params(intercept=intercept, max_iter=200, tol=tol).fit(data, y)
                SVC(intercept=intercept, max_iter=200, tol=tol).fit(data, np.arange(n) % 3)
            OneClassSVM(max_iter=200, tol=tol).fit(data)


def compile_close_judge() -> None:
    """Certificates in twice the precision, dense and sparse."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.where(np.arange(60) % 2, 1.0, -1.0)
    for data in (X, sp.csr_array(X)):
        for kernel in (RBF(gamma=1.0), Linear()):
            features = Gram.from_data(kernel, data)
            judge(Problem(features, y, np.ones(60), Hinge()), Point(0.1 * y), closely=True)
        judge(Problem(Design(wrap(data)), y, np.ones(60), Hinge()), Point(0.1 * y), closely=True)


def compile_solvers() -> None:
    """Every solver on every kind of problem that it takes."""
    for answer in ask_solvers():
        if answer.reason is None:
            solve(answer.probe.problem, answer.solver, tol=0.05, max_seconds=FIT_SECONDS)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile_kernel_machines()
        compile_close_judge()
        compile_solvers()
