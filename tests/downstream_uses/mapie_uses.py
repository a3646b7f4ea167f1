"""MAPIE: intervals and sets of predictions around SVR and SVC."""

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
from sklearn.datasets import load_iris, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVR

X, y = make_regression(400, 4, noise=5.0, random_state=0)
y = y / y.std()


@pytest.mark.parametrize("estimator", [SVR(C=10.0), LinearSVR(random_state=0)], ids=["SVR", "LinearSVR"])
@pytest.mark.parametrize("prefit", [False, True])
def test_intervals_of_svr(estimator, prefit):
    """Nine in ten new targets lie within their intervals, or nearly."""
    model = make_pipeline(StandardScaler(), estimator)
    if prefit:
        model.fit(X[:200], y[:200])
    conformal = SplitConformalRegressor(model, confidence_level=0.9, prefit=prefit)
    if not prefit:
        conformal.fit(X[:200], y[:200])
    _, intervals = conformal.conformalize(X[200:300], y[200:300]).predict_interval(X[300:])
    covered = (intervals[:, 0, 0] <= y[300:]) & (y[300:] <= intervals[:, 1, 0])
    assert 0.8 <= covered.mean() <= 1.0


def test_cross_conformal_svr():
    """The jackknife-like intervals of five folds, whose machines are clones."""
    conformal = CrossConformalRegressor(SVR(C=10.0), confidence_level=0.8, cv=5)
    _, intervals = conformal.fit_conformalize(X[:200], y[:200]).predict_interval(X[300:])
    covered = (intervals[:, 0, 0] <= y[300:]) & (y[300:] <= intervals[:, 1, 0])
    assert covered.mean() >= 0.7


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_sets_of_svc():
    """Sets of labels from the probabilities of SVC."""
    features, labels = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    features, labels = features[order], labels[order]
    model = SVC(probability=True, random_state=0).fit(features[:60], labels[:60])
    conformal = SplitConformalClassifier(model, confidence_level=0.9, prefit=True)
    _, sets = conformal.conformalize(features[60:110], labels[60:110]).predict_set(features[110:])
    assert sets[np.arange(40), labels[110:], 0].mean() >= 0.75
