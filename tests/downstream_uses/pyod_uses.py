"""PyOD's OCSVM, which is scikit-learn's OneClassSVM behind PyOD's interface."""

import numpy as np
import pytest
from pyod.models.ocsvm import OCSVM
from sklearn.metrics import roc_auc_score


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_outliers_of_ocsvm(kernel):
    """Scores, labels and thresholds as PyOD defines them; the Gaussian kernel finds the outliers.

    The threshold lies among the outliers of the machine: with nu = contamination it would lie among its free support
    vectors, whose scores are all the same.
    """
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(180, 2)), rng.uniform(-6, 6, size=(20, 2))])
    model = OCSVM(kernel=kernel, nu=0.5, contamination=0.1).fit(X)
    assert model.decision_scores_.shape == (200,)
    np.testing.assert_allclose(model.decision_function(X), model.decision_scores_, rtol=1e-6, atol=1e-9)
    assert model.labels_.sum() == pytest.approx(20, abs=1)
    assert set(model.predict(X)) <= {0, 1}
    if kernel == "rbf":
        assert roc_auc_score(np.arange(200) >= 180, model.decision_scores_) > 0.85


def test_fitted_attributes_of_ocsvm():
    """The properties that OCSVM hands on from the detector below it."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = OCSVM(kernel="linear").fit(X)
    assert model.support_vectors_.shape == (len(model.support_), 3)
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.coef_.shape == (1, 3)
    assert np.ndim(model.intercept_) == 1
