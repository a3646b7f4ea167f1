"""The five kernel machines with data for each of them, for the tests of estimators."""

from __future__ import annotations

import numpy as np
import pytest
from machine_data import make_classes
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from textbook import MODELS

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

SETTINGS = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
ESTIMATORS = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
every_model = pytest.mark.parametrize("name", MODELS)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)


def multiply(A, B):
    """A kernel of the user's own, at module level so that it can be pickled."""
    return rbf_kernel(A, B, gamma=0.5)


def make_model(name: str, **settings):
    """A model of the table with other settings; those it does not know are dropped."""
    model = clone(MODELS[name])
    known = model.get_params()
    return model.set_params(**{key: value for key, value in {**SETTINGS, **settings}.items() if key in known})


def make_targets(estimator, n: int = 90, seed: int = 0, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Data for a class of estimators: classes, real targets, or samples away from the origin for one class."""
    X, y = make_classes(n, n_classes, seed, width=1.2 / n_classes)
    if issubclass(estimator, OneClassSVM):
        X = X + 4.0  # around the origin w = 0 is optimal for the linear kernel, and any duals that cancel
    return (X, y) if issubclass(estimator, (SVC, NuSVC)) else (X, X[:, 0] ** 2 + 0.1 * X[:, 1] + 0.1 * y)


def spread_duals(model, n: int) -> np.ndarray:
    """The signed duals of a machine of one problem over all samples."""
    coef = np.zeros(n)
    coef[model.support_] = np.ravel(model.dual_coef_)
    return coef


# nu n is no whole number, so that some duals are free and the machine is unique
TWINS = {
    "SVC": (SVC, {"C": 2.0}),
    "NuSVC": (NuSVC, {"nu": 0.3717}),
    "SVR": (SVR, {"C": 2.0, "epsilon": 0.15}),
    "NuSVR": (NuSVR, {"C": 2.0, "nu": 0.3717}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.2917}),
}
