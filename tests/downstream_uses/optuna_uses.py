"""Optuna: a study that fits SVMs, and its search with the interface of scikit-learn's."""

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna_integration import OptunaSearchCV
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, LinearSVC

X, y = load_iris(return_X_y=True)


def test_study_of_svc():
    """The objective of Optuna's own first example."""

    def objective(trial):
        C, gamma = trial.suggest_float("C", 1e-3, 1e3, log=True), trial.suggest_float("gamma", 1e-3, 1e1, log=True)
        return cross_val_score(SVC(C=C, gamma=gamma), X, y, cv=3).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=15)
    assert study.best_value > 0.95


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [SVC(), LinearSVC(random_state=0)], ids=["SVC", "LinearSVC"])
def test_optuna_search_cv(estimator):
    """Searches over C, refits, and predicts."""
    space = {"C": FloatDistribution(1e-2, 1e2, log=True), "class_weight": CategoricalDistribution([None, "balanced"])}
    search = OptunaSearchCV(estimator, space, cv=3, n_trials=8, random_state=0).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.predict(X).shape == y.shape
    assert search.best_params_["C"] == search.best_estimator_.C
