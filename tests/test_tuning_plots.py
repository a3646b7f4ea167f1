"""The picture of a search."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.model_selection as theirs
from matplotlib.figure import Figure as Drawing
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVCCV, LinearSVC
from maxmargin.model_selection import GridSearchCV
from maxmargin.plots import plot_tuning

X, Y = load_iris(return_X_y=True)


def find_star(ax):
    """Where the chosen candidate is drawn."""
    (star,) = [line for line in ax.get_lines() if line.get_marker() == "*"]
    return star.get_xydata()[0]


def test_surface_has_every_candidate_and_the_chosen_one():
    """Dots at the candidates, a star at the best, both axes logarithmic; names without those of steps."""
    grid = {"svc__gamma": [0.01, 0.1, 1.0], "svc__C": [0.1, 1.0, 10.0, 100.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3).fit(X, Y)
    ax = plot_tuning(search, ax=Drawing().subplots())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("C", "gamma")
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert len(ax.collections[-1].get_offsets()) == 12
    np.testing.assert_allclose(find_star(ax), [search.best_params_["svc__C"], search.best_params_["svc__gamma"]])


def test_a_search_from_coarse_to_fine():
    """Candidates that lie on no grid."""
    tuned = SVCCV().fit(X, Y)
    ax = plot_tuning(tuned, ax=Drawing().subplots())
    np.testing.assert_allclose(find_star(ax), [tuned.C_, tuned.gamma_])
    assert len(ax.collections[-1].get_offsets()) == len(tuned.scores_)


def test_curve_has_error_bars_over_folds():
    """One parameter: the mean, and one standard deviation up and down; of other parameters the best."""
    search = GridSearchCV(LinearSVC(), {"C": [1.0, 0.01, 0.1], "loss": ["hinge", "squared_hinge"]}, cv=3).fit(X, Y)
    ax = plot_tuning(search, ax=Drawing().subplots())
    mean = np.asarray(search.cv_results_["mean_test_score"]).reshape(3, 2).max(axis=1)
    (container,) = ax.containers
    np.testing.assert_allclose(container[0].get_xydata(), np.column_stack([[0.01, 0.1, 1.0], mean[[1, 2, 0]]]))
    np.testing.assert_allclose(find_star(ax), [search.best_params_["C"], search.best_score_])


def test_searches_of_scikit_learn_and_several_metrics():
    """Whatever has cv_results_."""
    search = theirs.GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}, scoring=["accuracy", "f1_macro"], refit="accuracy"
    ).fit(X, Y)
    ax = plot_tuning(search, metric="f1_macro", ax=Drawing().subplots())
    assert ax.get_ylabel() == "mean f1_macro"
    with pytest.raises(ValueError, match="metric must be one of accuracy, f1_macro, got 'score'"):
        plot_tuning(search, ax=Drawing().subplots())


def test_what_cannot_be_drawn_is_refused():
    """One sentence each."""
    with pytest.raises(ValueError, match="search must be fitted"):
        plot_tuning(GridSearchCV(SVC(), {"C": [1.0]}))
    with pytest.raises(ValueError, match="a parameter that is a number and has several values"):
        plot_tuning(GridSearchCV(SVC(), {"kernel": ["rbf", "linear"]}, cv=3).fit(X, Y))
    column = np.ma.MaskedArray([1.0, 2.0], mask=False)
    failed = {"param_C": column, "mean_test_score": [np.nan] * 2, "std_test_score": [np.nan] * 2}
    with pytest.raises(ValueError, match="no candidate with a finite score"):
        plot_tuning(SimpleNamespace(cv_results_=failed, best_index_=0))


def test_scores_that_are_all_the_same():
    """No surface, but the candidates."""
    tuned = GridSearchCV(SVC(), {"C": [1e-9, 1e-8], "gamma": [1e-9, 1e-8]}, cv=3).fit(X, Y)
    ax = plot_tuning(tuned, ax=Drawing().subplots())
    assert len(ax.collections[-1].get_offsets()) == 4
