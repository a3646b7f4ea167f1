"""Searches of maxmargin.model_selection: the same tables and the same winners as scikit-learn's, cell by cell."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.model_selection as theirs
from scipy.stats import loguniform
from selection import leave_long
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GroupKFold, PredefinedSplit, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM, RankSVM, RiskClassifier, RiskRegressor
from maxmargin.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}


def scale(X):
    """Features of mean 0 and variance 1."""
    return StandardScaler().fit_transform(X)


def assert_same_search(ours, other, rtol=1e-7, atol=1e-7):
    """Two searches have the same candidates, the same scores and the same winner."""
    extra = {"worst_relative_gap"}
    assert set(ours.cv_results_) - extra == set(other.cv_results_)
    assert ours.cv_results_["params"] == other.cv_results_["params"]
    for name, column in other.cv_results_.items():
        if "_test_" in name or "_train_" in name:
            np.testing.assert_allclose(ours.cv_results_[name], column, rtol=rtol, atol=atol, err_msg=name)
    assert ours.best_params_ == other.best_params_
    assert ours.best_index_ == other.best_index_
    assert ours.n_splits_ == other.n_splits_


def assert_searches_agree(estimator, grid, X, y, rtol=1e-7, atol=1e-7, fit_params=None, **options):
    """Our search agrees with scikit-learn's own over the same estimator, one cold fit per cell; returns both."""
    ours = GridSearchCV(estimator, grid, **options).fit(X, y, **(fit_params or {}))
    other = theirs.GridSearchCV(estimator, grid, **options).fit(X, y, **(fit_params or {}))
    assert_same_search(ours, other, rtol, atol)
    return ours, other


MACHINES = {
    "SVC two classes": (SVC(), GRID, (scale(CANCER[0][:200]), CANCER[1][:200])),
    "SVC three classes": (SVC(tol=1e-8), GRID, IRIS),
    "SVC ovr": (SVC(multi_class="ovr"), GRID, IRIS),
    "SVC ovo shape": (SVC(decision_function_shape="ovo", tol=1e-8), GRID, IRIS),
    "SVC break_ties": (SVC(break_ties=True, tol=1e-8), GRID, IRIS),
    "SVC words": (SVC(tol=1e-8), GRID, (IRIS[0], np.array(["a", "b", "c"])[IRIS[1]])),
    "SVC sparse": (SVC(tol=1e-8), GRID, (sp.csr_array(IRIS[0]), IRIS[1])),
    "SVC callable": (SVC(kernel=lambda A, B: A @ B.T), {"C": [0.1, 1.0]}, IRIS),
    "SVC precomputed": (SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, (IRIS[0] @ IRIS[0].T, IRIS[1])),
    "NuSVC": (NuSVC(), {"nu": [0.1, 0.3], "gamma": [0.1, 1.0]}, IRIS),
    "SVR": (SVR(), {**GRID, "epsilon": [0.1, 1.0]}, (scale(DIABETES[0][:150]), DIABETES[1][:150])),
    "LinearSVC": (LinearSVC(), {"C": [0.01, 0.1, 1.0], "loss": ["hinge", "squared_hinge"]}, IRIS),
    "LinearSVR": (LinearSVR(), {"C": [0.1, 1.0]}, (DIABETES[0][:150], DIABETES[1][:150])),
    "RiskClassifier": (RiskClassifier("logistic"), {"C": [0.1, 1.0]}, IRIS),
    "RiskRegressor": (RiskRegressor("huber"), {"C": [0.1, 1.0]}, (DIABETES[0][:150], DIABETES[1][:150])),
    "RankSVM": (RankSVM(), {"C": [0.1, 1.0]}, (DIABETES[0][:80], DIABETES[1][:80])),
}


@pytest.mark.parametrize("name", MACHINES)
def test_table_is_that_of_one_fit_per_cell(name):
    """Scores, ranks and winner; regressions differ by what gaps of 1e-5 leave open."""
    estimator, grid, (X, y) = MACHINES[name]
    exact = estimator.task == "classification"
    scored = hasattr(estimator, "score")
    options = {} if scored else {"scoring": "r2"}
    ours, other = assert_searches_agree(
        estimator, grid, X, y, *((1e-7, 1e-7) if exact else (1e-3, 1e-3)), cv=3, return_train_score=True, **options
    )
    assert (ours.cv_results_["worst_relative_gap"] <= estimator.tol).all()
    if exact:
        np.testing.assert_array_equal(ours.predict(X), other.predict(X))


def test_pipeline_fits_its_first_steps_once_per_fold():
    """Three folds, and a step has two values of its own: six fits of the scaler before the refit, not eighteen."""
    fits = []

    class CountingScaler(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    X, y = CANCER[0][:200], CANCER[1][:200]
    pipeline = make_pipeline(CountingScaler(), SelectKBest(k=5), SVC())
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.01, 0.1], "selectkbest__k": [5, 10]}
    ours = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert len(fits) == 3 * 2 + 1
    assert_same_search(ours, theirs.GridSearchCV(pipeline, grid, cv=3).fit(X, y))


def test_pipeline_whose_steps_are_searched():
    """Whole steps as parameters, also the last one."""
    pipeline = make_pipeline(StandardScaler(), SVC())
    grid = [
        {"standardscaler": [MinMaxScaler(), PCA(2), "passthrough"], "svc__C": [0.1, 1.0]},
        {"svc": [LinearSVC(), KNeighborsClassifier(3), SVC(kernel="linear")]},
    ]
    ours = GridSearchCV(pipeline, grid, cv=3).fit(*IRIS)
    other = theirs.GridSearchCV(pipeline, grid, cv=3).fit(*IRIS)
    for name in ("mean_test_score", "split1_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], other.cv_results_[name])
    assert ours.best_index_ == other.best_index_


def test_nested_pipeline_with_fit_parameters():
    """Weights for the last step, by its name."""
    X, y = CANCER[0][:150], CANCER[1][:150]
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    pipeline = make_pipeline(StandardScaler(), SVC())
    assert_searches_agree(pipeline, {"svc__C": [0.1, 1.0]}, X, y, cv=3, fit_params={"svc__sample_weight": weight})


def test_weights_through_metadata():
    """sample_weight for fits, and where it is asked for, for scores."""
    X, y = scale(CANCER[0][:150]), CANCER[1][:150]
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    assert_searches_agree(SVC(), GRID, X, y, cv=3, fit_params={"sample_weight": weight})
    with sklearn.config_context(enable_metadata_routing=True):
        machine = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed, _ = assert_searches_agree(machine, GRID, X, y, cv=3, fit_params={"sample_weight": weight})
        scorer = make_scorer(f1_score).set_score_request(sample_weight=False)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), machine)
        grid = {f"svc__{name}": values for name, values in GRID.items()}
        assert_searches_agree(pipeline, grid, X, y, cv=3, scoring=scorer, fit_params={"sample_weight": weight})
    assert routed.best_score_ != GridSearchCV(SVC(), GRID, cv=3).fit(X, y).best_score_


@pytest.mark.parametrize(
    "cv", [ShuffleSplit(4, random_state=0), StratifiedKFold(3, shuffle=True, random_state=1),
           PredefinedSplit(np.arange(150) % 5 - 1),
           [(np.arange(100), np.arange(90, 150)), (np.arange(50, 150), [1, 2])]],
    ids=["shuffle", "stratified", "predefined", "list"],
)  # fmt: skip
def test_splitters(cv):
    """Splits of any kind, with rows that are left out or come twice."""
    X, y = IRIS
    order = np.random.default_rng(0).permutation(150)
    assert_searches_agree(SVC(), GRID, X[order], y[order], cv=cv)


def test_groups():
    """Given to the splitter."""
    groups = np.arange(150) % 10
    assert_searches_agree(SVC(), GRID, *IRIS, cv=GroupKFold(5), fit_params={"groups": groups})


def count_support(machine, X, y):
    """A scorer that looks into the machine."""
    return -float(machine.n_support_.sum())


def name_several(machine, X, y):
    """A scorer of several numbers, for other rows than those held out too."""
    assert isinstance(machine, SVC)
    return {"held_out": machine.score(X, y), "few": machine.score(X[:7], y[:7]), "C": clone(machine).C}


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "balanced_accuracy"},
        {"scoring": "roc_auc"},
        {"scoring": ["accuracy", "roc_auc", "f1"], "refit": "f1"},
        {"scoring": {"a": "average_precision", "b": make_scorer(f1_score)}, "refit": False},
        {"scoring": count_support},
        {"scoring": name_several, "refit": "held_out"},
        {"scoring": "accuracy", "refit": lambda results: int(np.argmin(results["mean_test_score"]))},
    ],
    ids=["predict", "decide", "several", "named", "callable", "several of a callable", "refit"],
)
def test_scorers(options):
    """Every scorer of scikit-learn, and callables of users'."""
    X, y = scale(CANCER[0][:150]), CANCER[1][:150]
    ours = GridSearchCV(SVC(), GRID, cv=3, return_train_score=True, **options).fit(X, y)
    other = theirs.GridSearchCV(SVC(), GRID, cv=3, return_train_score=True, **options).fit(X, y)
    if options.get("refit", True) is not False:
        assert_same_search(ours, other)
    for name, column in other.cv_results_.items():
        if name.startswith(("mean_test", "mean_train")):
            np.testing.assert_allclose(ours.cv_results_[name], column, atol=1e-7, err_msg=name)


def test_probabilities_are_asked_of_the_machine():
    """A scorer that needs predict_proba."""
    assert_searches_agree(RiskClassifier("logistic"), {"C": [0.1, 1.0]}, *IRIS, rtol=1e-3, cv=3, scoring="neg_log_loss")


def test_one_class():
    """No targets, and a scorer that is given none."""
    assert_searches_agree(
        OneClassSVM(), {"nu": [0.1, 0.5]}, IRIS[0], None, cv=3, rtol=1e-3,
        scoring=lambda machine, X, y=None: float(np.mean(machine.predict(X) == 1)),
    )  # fmt: skip


def test_errors_of_fits():
    """A number in place of the score and a warning, or the error itself."""
    grid = {"C": [-1.0, 1.0]}
    with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 6"):
        search = GridSearchCV(SVC(), grid, cv=3, error_score=-7.0).fit(*IRIS)
    assert search.cv_results_["mean_test_score"][0] == -7.0
    assert np.isnan(search.cv_results_["worst_relative_gap"][0])
    assert search.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        GridSearchCV(SVC(), grid, cv=3, error_score="raise").fit(*IRIS)
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        GridSearchCV(SVC(), {"C": [-1.0]}, cv=3).fit(*IRIS)


def test_randomized_and_halving():
    """The same candidates are drawn, and the same are kept."""
    X, y = scale(CANCER[0][:300]), CANCER[1][:300]
    draws = {"C": loguniform(0.1, 100), "gamma": loguniform(1e-3, 1)}
    ours = RandomizedSearchCV(SVC(), draws, n_iter=6, random_state=3, cv=3).fit(X, y)
    assert_same_search(ours, theirs.RandomizedSearchCV(SVC(), draws, n_iter=6, random_state=3, cv=3).fit(X, y))
    halving = HalvingGridSearchCV(SVC(), GRID, cv=3, random_state=0, factor=2).fit(X, y)
    other = theirs.HalvingGridSearchCV(SVC(), GRID, cv=3, random_state=0, factor=2).fit(X, y)
    assert_same_search(halving, other)
    assert halving.n_resources_ == other.n_resources_
    assert halving.best_score_ == other.best_score_


def test_other_estimators_are_left_to_scikit_learn():
    """No gap, and no limit."""
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=3).fit(*IRIS)
    assert "worst_relative_gap" not in search.cv_results_
    assert not hasattr(search, "search_outcome_")
    with pytest.raises(ValueError, match=r"max_seconds is for .* over KNeighborsClassifier, got max_seconds=3"):
        search.set_params(max_seconds=3).fit(*IRIS)


@pytest.mark.parametrize("kind", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_parameters_are_those_of_scikit_learn_and_two_more(kind):
    """clone, get_params, pickle, and what is refused."""
    search = kind(SVC(), {"C": [0.1, 1.0]}, **({"n_iter": 2} if kind is RandomizedSearchCV else {}))
    own = set(search.get_params(deep=False))
    their_class = getattr(theirs, kind.__name__)
    assert own - set(their_class(SVC(), {}).get_params(deep=False)) == {"max_seconds", "checkpoint"}
    copy = clone(search.set_params(max_seconds=60.0, cv=3)).fit(*IRIS)
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.predict(IRIS[0]), copy.predict(IRIS[0]))
    assert again.cv_results_["params"] == copy.cv_results_["params"]
    with pytest.raises(ValueError, match="max_seconds"):
        search.set_params(max_seconds=-1.0).fit(*IRIS)


def test_verbose_has_a_line_for_each_cell(capsys):
    """As scikit-learn prints it."""
    GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3, verbose=3).fit(*IRIS)
    printed = capsys.readouterr().out
    assert "Fitting 3 folds for each of 2 candidates, totalling 6 fits" in printed
    assert printed.count("] END ") == 6
    assert "[CV 3/3] END" in printed
    assert "C=0.1; score=0.9" in printed


class NotingSVC(SVC):
    """Notes the cache that its fits are given."""

    noted: list = []  # noqa: RUF012

    def fit(self, X, y=None, sample_weight=None):
        """Note it, and fit."""
        self.noted.append(self.cache_size)
        return super().fit(X, y, sample_weight)


def test_fits_side_by_side_share_the_cache():
    """Two threads have half of it each; scorers and the refit see what the user gave."""

    def score(machine, X, y):
        assert machine.cache_size == machine.get_params()["cache_size"] == 30.0
        return machine.score(X, y)

    NotingSVC.noted.clear()
    grid = {"gamma": [0.1, 1.0], "C": [0.1, 1.0]}
    search = GridSearchCV(NotingSVC(cache_size=30.0), grid, cv=3, n_jobs=2, scoring=score).fit(*IRIS)
    assert NotingSVC.noted == [15.0] * 12 + [30.0]
    assert search.best_estimator_.cache_size == 30.0
    NotingSVC.noted.clear()
    GridSearchCV(NotingSVC(cache_size=30.0), grid, cv=3, n_jobs=1).fit(*IRIS)
    assert set(NotingSVC.noted) == {30.0}


def count_iterations(machine, X, y):
    """A scorer that says how long a fit was."""
    return -float(np.sum(machine.n_iter_))


LONG_ROWS = np.random.default_rng(0).standard_normal((20_000, 60))
LINEAR_MACHINES = {  # and the share of iterations that a start from the last C leaves at most
    "squared hinge": (LinearSVC(), 0.6),
    "logistic": (RiskClassifier("logistic"), 0.6),
    "hinge": (LinearSVC(loss="hinge"), 0.85),
    "epsilon-insensitive": (LinearSVR(), 1.1),  # gains by it on some data only
}


@pytest.mark.parametrize("name", leave_long(LINEAR_MACHINES, "hinge", "epsilon-insensitive"))
def test_linear_machines_go_along_C(name):
    """The smallest C first, whatever the order of the grid; smooth losses and the hinge need fewer iterations so."""
    rng = np.random.default_rng(1)
    f = LONG_ROWS @ rng.standard_normal(60) / np.sqrt(60.0) + 0.4 * rng.standard_normal(20_000)
    (estimator, share), grid = LINEAR_MACHINES[name], {"C": list(np.logspace(1, -3, 9))}
    y = f if estimator.task == "regression" else (f > 0).astype(int)
    options = {"cv": 3, "scoring": count_iterations, "refit": False}
    warm = GridSearchCV(estimator, grid, **options).fit(LONG_ROWS, y)
    cold = theirs.GridSearchCV(estimator, grid, **options).fit(LONG_ROWS, y)
    assert warm.cv_results_["mean_test_score"][-1] == cold.cv_results_["mean_test_score"][-1]
    assert warm.cv_results_["mean_test_score"].sum() > share * cold.cv_results_["mean_test_score"].sum()
    assert (warm.cv_results_["worst_relative_gap"] <= estimator.tol).all()
