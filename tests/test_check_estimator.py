"""scikit-learn's check_estimator: all five classes and what they have beyond scikit-learn's, no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

# Some checks compare two fits to seven digits, so both must be that close to the optimum.
TIGHT = {"tol": 1e-8}
ESTIMATORS = [estimator(**TIGHT) for estimator in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)]
VARIANTS = [
    SVC(loss="squared_hinge", intercept="regularised", kernel="linear", **TIGHT),
    SVC(multi_class="ovr", intercept="none", **TIGHT),
    SVC(class_weight="balanced", kernel="laplacian", n_jobs=2, warm_start=True, **TIGHT),
    NuSVC(intercept="none", **TIGHT),
    NuSVC(nu=0.3, multi_class="ovr", intercept="regularised", **TIGHT),
    SVR(loss="huber", intercept="none", **TIGHT),
    SVR(loss="quantile", quantile=0.2, **TIGHT),
    SVR(loss="squared_epsilon_insensitive", kernel="linear", **TIGHT),
    SVR(loss="absolute", intercept="regularised", kernel="laplacian", **TIGHT),
    NuSVR(intercept="none", **TIGHT),
    NuSVR(intercept="regularised", kernel="linear", warm_start=True, **TIGHT),
    OneClassSVM(kernel="laplacian", nu=0.1, **TIGHT),
]


@pytest.mark.filterwarnings("ignore")  # as check_estimator does: the checks provoke warnings on purpose
@parametrize_with_checks(ESTIMATORS)
def test_check_estimator(estimator, check):
    """Each check of scikit-learn, sample-weight equivalence included."""
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(VARIANTS)
def test_check_variants(estimator, check):
    """The same checks for other losses, intercepts and kernels, and for one against the rest."""
    check(estimator)
