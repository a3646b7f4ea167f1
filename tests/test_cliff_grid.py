"""Default fits over a grid of C, kernels and tolerances: all converge, with the labels of an exact fit.

The reduced form of `python -m benchmarks cliffs`, which has real data, more sizes, and times.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from long_fits import make_clouds
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status

KERNELS = {
    "wide": {"gamma": 0.03},
    "narrow": {"gamma": 30.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.5, "coef0": 1.0},
    "laplacian": {"kernel": "laplacian", "gamma": 0.3},
}
COSTS = (1e-3, 1.0, 1e2, 1e5)
TOLS = (1e-2, 1e-5, 1e-8)
EXACT = 1e-10
AGREEING = 0.999


def make_raw(n: int = 200):
    """Two classes that overlap, in six features of scales from 0.01 to 100 that are far from the origin."""
    rng = np.random.default_rng(3)
    scale = np.geomspace(0.01, 100.0, 6)
    Z = rng.normal(size=(n, 6))
    return scale * (Z + 3.0), np.where(Z @ rng.normal(size=6) + 0.5 * rng.normal(size=n) > 0, 1, 0)


SETS = {"clouds": make_clouds(250, 3, 2), "classes": make_clouds(240, 3, 4), "raw": make_raw()}


def list_tols(data: str, kernel: str, C: float) -> list[float]:
    """The tolerances that float64 allows: on raw data, scores are sums of C times kernel values of 1e5, or 1e13."""
    if data == "raw" and kernel == "poly":
        return []
    return [tol for tol in TOLS if not (data == "raw" and kernel == "linear" and tol < 1e-12 * C)]


@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", SETS)
def test_classes(data, kernel, C):
    """Every tolerance is reached; from the default one on, labels are those of the exact fit."""
    X, y = SETS[data]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1e-10 may be more than float64 allows
        exact = SVC(C=C, tol=EXACT, **KERNELS[kernel]).fit(X, y)
    assert exact.certificate_.relative_gap <= 1e-6 or kernel == "poly"
    labels = exact.predict(X)
    for tol in list_tols(data, kernel, C):
        model = SVC(C=C, tol=tol, **KERNELS[kernel]).fit(X, y)
        assert all(result.converged for result in model.results_)
        if tol <= 1e-5:
            assert np.mean(model.predict(X) == labels) >= AGREEING


@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression(kernel, C):
    """Every tolerance is reached; where C times the rounding of kernel values is more than that, nearly."""
    X, y = SETS["clouds"]
    rng = np.random.default_rng(0)
    target = np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(y))
    for tol in TOLS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = SVR(C=C, tol=tol, **KERNELS[kernel]).fit(X, target).result_
        limited = C >= 1e5 and result.status is Status.ROUNDING_LIMIT and result.certificate.relative_gap <= 2.0 * tol
        assert result.converged or limited, result.message


@pytest.mark.parametrize(("kernel", "nu"), list(product(KERNELS, (0.1, 0.5))))
def test_nu_and_one_class(kernel, nu):
    """At the default tolerance."""
    X, y = SETS["clouds"]
    for model in (NuSVC(nu=nu, **KERNELS[kernel]), OneClassSVM(nu=nu, **KERNELS[kernel])):
        model.fit(X, y)
        assert all(result.converged for result in model.results_)
    assert NuSVR(nu=nu, **KERNELS[kernel]).fit(X, np.sin(X[:, 0])).result_.converged
