"""scikit-learn's check_estimator: all five classes, every check, no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

# Some checks compare two fits to seven digits, so both must be that close to the optimum.
ESTIMATORS = [estimator(tol=1e-8) for estimator in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)]


@pytest.mark.filterwarnings("ignore")  # as check_estimator does: the checks provoke warnings on purpose
@parametrize_with_checks(ESTIMATORS)
def test_check_estimator(estimator, check):
    """Each check of scikit-learn, sample-weight equivalence included."""
    check(estimator)
