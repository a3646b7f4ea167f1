"""scikit-learn's check_estimator: all classes at their default tolerance, and what they have beyond scikit-learn's.

The only expected failures are those of a fault of scikit-learn 1.6 with two classes, and those that scikit-learn's own
HalvingGridSearchCV has.
"""

from __future__ import annotations

import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    BlockwiseTransformer,
    Bundle,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    MetricSVC,
    MulticlassModel,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskClassifierCV,
    RiskRegressor,
    RiskRegressorCV,
    StructuredSVM,
)
from maxmargin.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from maxmargin.runtime.scikit_learn import VERSION

# Some checks compare two fits to seven digits. At the default tolerance small machines have them; with other losses and
# penalties both fits must be that close to the optimum.
TIGHT = {"tol": 1e-8}
KERNEL_MACHINES = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
LINEAR_MACHINES = (LinearSVC, LinearSVR, RiskClassifier, RiskRegressor)
ESTIMATORS = [estimator() for estimator in KERNEL_MACHINES + LINEAR_MACHINES]
OTHERS = [RankSVM(), SVC(kernel="precomputed"), BlockwiseTransformer(StandardScaler())]
TUNED = [SVCCV(), SVRCV(), LinearSVCCV(), LinearSVRCV(), RiskClassifierCV(), RiskRegressorCV()]
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
    LinearSVC(loss="hinge", intercept="regularised", class_weight="balanced", **TIGHT),
    LinearSVC(penalty="l1", tol=1e-13),  # |w|_1 has no curvature: a gap of 1e-8 leaves four digits of w
    LinearSVC(multi_class="crammer_singer", **TIGHT),
    LinearSVR(
        loss="squared_epsilon_insensitive", intercept="regularised", intercept_scaling=3.0, warm_start=True, **TIGHT
    ),
    RiskClassifier("logistic", class_weight="balanced", **TIGHT),
    RiskClassifier("logistic", multi_class="softmax", intercept="regularised", **TIGHT),
    RiskClassifier("hinge", multi_class="crammer_singer", intercept="regularised", **TIGHT),
    RiskClassifier("exponential", C=0.1, n_jobs=2, **TIGHT),
    RiskRegressor("huber", intercept="none", warm_start=True, **TIGHT),
    RiskRegressor("quantile", quantile=0.4, tol=1e-11),  # kinks on both sides: w moves with the root of the gap
    RiskRegressor("poisson", **TIGHT),
    RiskRegressor("multivariate", tol=1e-10),  # w moves with the root of the gap
    # A bundle finds w to the root of its gap only; with free intercepts of classes see test_class_solvers.
    RiskClassifier(
        "hinge", multi_class="crammer_singer", intercept="regularised", solver=Bundle("proximal-bundle"), tol=3e-14
    ),
]
# scikit-learn 1.6 makes two classes of three by whichever label comes first, and compares fits of different labels.
RELABELLED = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "scikit-learn 1.6 gives the fit with weights other labels than the fit with repeated rows",
)
SEARCHES = [
    GridSearchCV(SVC(), {"C": [0.1, 1.0]}),
    RandomizedSearchCV(SVC(), {"C": [0.1, 1.0]}, n_iter=2),
    HalvingGridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2, min_resources="smallest", error_score="raise"),
]
TOO_FEW_ROWS = dict.fromkeys(
    ("check_classifiers_one_label_sample_weights", "check_fit2d_1sample"),
    "the rounds of scikit-learn's HalvingGridSearchCV need more rows, and it says so in its own words",
)
LISTED = [RankSVM(**TIGHT), MetricSVC("roc_auc", **TIGHT), MetricSVC("error", **TIGHT), MetricSVC("prbep", **TIGHT)]


def expect_failures(estimator) -> dict[str, str]:
    """The fault of scikit-learn 1.6, for metrics."""
    return RELABELLED if "metric" in estimator.get_params() and VERSION < (1, 7) else {}


def expect_halving(estimator) -> dict[str, str]:
    """What fails with scikit-learn's own search, too."""
    return TOO_FEW_ROWS if isinstance(estimator, HalvingGridSearchCV) else {}


def every_check(estimators: list, expected_failed_checks=None) -> pytest.MarkDecorator:
    """parametrize_with_checks, with a list where scikit-learn before 1.9 has a generator, of which pytest warns."""
    decorator = parametrize_with_checks(estimators, expected_failed_checks=expected_failed_checks)
    names, checks = decorator.args
    return pytest.mark.parametrize(names, list(checks), **decorator.kwargs)


@pytest.mark.filterwarnings("ignore")  # as check_estimator does: the checks provoke warnings on purpose
@every_check(ESTIMATORS)
def test_check_estimator(estimator, check):
    """Each check of scikit-learn, sample-weight equivalence included."""
    check(estimator)


@pytest.mark.cover("values")
@pytest.mark.filterwarnings("ignore")
@every_check(OTHERS)
def test_check_other_estimators(estimator, check):
    """The same checks for rankings, matrices of kernel values and transformers."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@every_check([StructuredSVM(MulticlassModel())])
def test_check_structures(estimator, check):
    """The same checks for structured outputs, of which classes are the smallest."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@every_check(TUNED)
def test_check_tuned_estimators(estimator, check):
    """The same checks for machines that tune themselves."""
    check(estimator)


@pytest.mark.cover("values")
@pytest.mark.filterwarnings("ignore")
@every_check(SEARCHES, expect_halving)
def test_check_searches(estimator, check):
    """The same checks for searches over our machines."""
    check(estimator)


@pytest.mark.cover("values")
@pytest.mark.filterwarnings("ignore")
@every_check(VARIANTS)
def test_check_variants(estimator, check):
    """The same checks for other losses, penalties, intercepts and kernels, and for every way with many classes."""
    check(estimator)


@pytest.mark.cover("values")
@pytest.mark.filterwarnings("ignore")
@every_check(LISTED, expect_failures)
def test_check_losses_of_lists(estimator, check):
    """The same checks for metrics and rankings."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@every_check([MetricSVC(), MetricSVC(**TIGHT)], expect_failures)
def test_check_f1(estimator, check):
    """F1 with a free intercept, which takes its time."""
    check(estimator)
