"""shap: explanations of SVC, SVR and LinearSVC."""

import numpy as np
import pytest
import shap
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR, LinearSVC

X, y = load_iris(return_X_y=True)


def test_kernel_explainer_of_svc():
    """Values and the expected score add up to the score."""
    model = SVC(decision_function_shape="ovr").fit(X, y)
    explainer = shap.KernelExplainer(model.decision_function, X[::15], seed=0)
    values = explainer.shap_values(X[:3], silent=True)
    np.testing.assert_allclose(explainer.expected_value + values.sum(axis=1), model.decision_function(X[:3]), atol=1e-8)


def test_permutation_explainer_of_svr():
    """The same of a regression, with the explainer that shap chooses itself."""
    model = SVR().fit(X[:, :3], X[:, 3])
    explanation = shap.Explainer(model.predict, X[::10, :3], seed=0)(X[:4, :3])
    found = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(found, model.predict(X[:4, :3]), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_linear_explainer_of_linear_svc(classes):
    """The explainer of linear models reads coef_ and intercept_."""
    kept = y < classes
    model = LinearSVC(random_state=0).fit(X[kept], y[kept])
    explainer = shap.LinearExplainer(model, X[kept])
    scores = explainer.shap_values(X[:3]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(scores, model.decision_function(X[:3]), atol=1e-8)
