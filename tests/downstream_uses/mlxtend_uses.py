"""mlxtend: selection of features, stacking, voting, bias and variance, and regions of decision, each with an SVM."""

import matplotlib
import numpy as np
import pytest
from mlxtend.classifier import EnsembleVoteClassifier, StackingClassifier, StackingCVClassifier
from mlxtend.evaluate import bias_variance_decomp
from mlxtend.feature_selection import SequentialFeatureSelector
from mlxtend.regressor import StackingRegressor
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

matplotlib.use("Agg")
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("estimator", [SVC(), LinearSVC(random_state=0)], ids=["SVC", "LinearSVC"])
def test_sequential_feature_selector(estimator):
    """Two of four features, one of them the width of the petals."""
    selector = SequentialFeatureSelector(estimator, k_features=2, cv=3, n_jobs=1).fit(X, y)
    assert len(selector.k_feature_idx_) == 2
    assert 3 in selector.k_feature_idx_
    assert selector.k_score_ > 0.93


@pytest.mark.parametrize("ensemble", [StackingClassifier, StackingCVClassifier])
def test_stacking_of_svc(ensemble):
    """Machines below a logistic regression."""
    options = {"random_state": 0} if ensemble is StackingCVClassifier else {}
    model = ensemble(
        classifiers=[SVC(), LinearSVC(random_state=0)], meta_classifier=LogisticRegression(max_iter=1000), **options
    )
    assert model.fit(X, y).score(X, y) > 0.9


def test_stacking_regressor_of_svr():
    """An SVR below a ridge regression, with all parameters reachable by their names."""
    model = StackingRegressor(regressors=[SVR(), Ridge()], meta_regressor=SVR(kernel="linear"))
    assert model.fit(X[:, :3], X[:, 3]).score(X[:, :3], X[:, 3]) > 0.85
    assert model.get_params()["svr-1__C" if "svr-1__C" in model.get_params() else "svr__C"] == 1.0


def test_vote_of_fitted_svc():
    """Hard votes of machines that are fitted already."""
    machines = [SVC(C=c).fit(X, y) for c in (0.1, 1.0, 10.0)]
    vote = EnsembleVoteClassifier(clfs=machines, fit_base_estimators=False).fit(X, y)
    assert vote.score(X, y) > 0.95


def test_bias_variance_of_svr():
    """Many fits on bootstrap samples; loss, bias and variance add up."""
    loss, bias, variance = bias_variance_decomp(
        SVR(), X[::2, :3], X[::2, 3], X[1::2, :3], X[1::2, 3], loss="mse", num_rounds=20, random_seed=0
    )
    assert loss == pytest.approx(bias + variance)
    assert bias > variance


def test_plot_decision_regions_of_svc():
    """The regions of three classes."""
    from mlxtend.plotting import plot_decision_regions

    axes = plot_decision_regions(X[:, 2:], y, clf=SVC().fit(X[:, 2:], y))
    assert len(axes.collections) > 3
    assert np.isfinite(axes.get_xlim()).all()
