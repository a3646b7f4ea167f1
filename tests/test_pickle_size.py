"""Pickles: as large as scikit-learn's and a certificate, whatever the size of the training data."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
import sklearn.svm
from fitted_models import EXAMPLES, answers, fit
from machine_data import make_classes
from sklearn.base import clone
from sklearn.datasets import make_classification

import maxmargin
from maxmargin import SVC, SVCCV, LinearSVC, LinearSVCCV, MetricSVC, NuSVR, load, save

CERTIFICATE_BYTES = 1500  # of one problem: certificate, status, history, counters, and the parameters that are ours
FREE_BYTES = 4  # which support vectors are on the margin
SIZES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")


def make_targets(name: str, y: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Classes, or a function of the features."""
    return X[:, 0] + np.sin(X[:, 1]) if name.endswith("SVR") else y


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_pickle_is_as_large_as_that_of_scikit_learn_and_a_certificate(name, classes):
    """No duals, no scores, no second copy of the support vectors, before and after use."""
    n = 3000 if name.startswith("Linear") else 600
    X, y = make_classification(n, 6, n_informative=4, n_classes=classes, flip_y=0.2, random_state=0)
    parameters = {"NuSVC": {"nu": 0.4}, "LinearSVR": {"max_iter": 100_000}}.get(name, {})
    ours = getattr(maxmargin, name)(**parameters).fit(X, make_targets(name, y, X))
    theirs = getattr(sklearn.svm, name)(**parameters).fit(X, make_targets(name, y, X))
    before = len(pickle.dumps(ours))
    problems, support = len(ours.results_), len(getattr(ours, "support_", ()))
    # the two libraries agree on the support vectors up to a few that are at their margin to rounding
    spare = 0 if name.startswith("Linear") else 2 * 8 * (X.shape[1] + 2 * classes)
    assert before <= len(pickle.dumps(theirs)) + problems * CERTIFICATE_BYTES + FREE_BYTES * support + spare
    ours.predict(X)
    assert len(pickle.dumps(ours)) == before


@pytest.mark.parametrize("model", [LinearSVC(loss="hinge"), MetricSVC()], ids=str)
def test_a_linear_machine_does_not_grow_with_the_data(model):
    """Ten times the rows, the same bytes but for a few lines of history."""
    sizes = []
    for n in (200, 2000):
        X, y = make_classes(n, 2)
        sizes.append(len(pickle.dumps(clone(model).fit(X, y))))
    assert abs(sizes[1] - sizes[0]) < 2000
    assert max(sizes) < 4000


def list_arrays(value, found: list[np.ndarray]) -> list[np.ndarray]:
    """All arrays within a value."""
    if isinstance(value, np.ndarray):
        found.append(value)
    elif isinstance(value, dict):
        for each in value.values():
            list_arrays(each, found)
    elif isinstance(value, list | tuple):
        for each in value:
            list_arrays(each, found)
    elif hasattr(value, "__dict__"):
        list_arrays(vars(value), found)
    return found


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_is_pickled(name):
    """Answers, certificates and results but for their points; nothing that is no number of the machine."""
    model, new = fit(name), EXAMPLES[name].new
    again = pickle.loads(pickle.dumps(model))
    for method, expected in answers(model, new).items():
        for mine, theirs in zip(answers(again, new)[method], expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    if not hasattr(model, "certificate_"):
        return
    assert again.certificate_ == model.certificate_
    assert str(again.certificate_) == str(model.certificate_)
    assert again.result_.status is model.result_.status
    assert again.result_.history == model.result_.history
    assert type(again.result_.counters) is Counter
    n = len(EXAMPLES[name].X) if isinstance(EXAMPLES[name].X, list) else EXAMPLES[name].X.shape[0]
    if model.family != "kernel":
        assert all(n not in array.shape for array in list_arrays(model.__getstate__(), []))


def test_a_pickle_can_be_fitted_on_and_saved(tmp_path):
    """A warm fit starts anew, a file has what the pickle had."""
    X, y = make_classes(200, 3)
    for model in (SVC(warm_start=True), LinearSVC(warm_start=True)):
        model.fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        save(again, tmp_path / "model.mm")
        assert load(tmp_path / "model.mm").certificate_ == model.certificate_
        again.fit(X, y)
        np.testing.assert_array_equal(again.decision_function(X), clone(model).fit(X, y).decision_function(X))


def test_a_public_attribute_that_was_changed_stays_changed():
    """`dual_coef_` is kept once only while it is the table that predictions use."""
    X, y = make_classes(100, 3)
    model = SVC().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.dual_coef_ is not again._dual_coef_
    model.dual_coef_[0, 0] += 1.0
    changed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(changed.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(changed.decision_function(X), model.decision_function(X))


def test_the_tube_of_a_pickle_is_drawn():
    """Its width follows from the support vectors on the walls, where the walls themselves were left out."""
    from maxmargin.plots.tubes import find_width

    x = np.linspace(0.0, 6.0, 80)[:, None]
    y = np.sin(x.ravel())
    model = NuSVR(nu=0.3, C=10.0, tol=1e-9).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    residuals = y - model.predict(x)
    assert find_width(again, residuals) == pytest.approx(find_width(model, residuals), rel=1e-3)


@pytest.mark.filterwarnings("ignore:The best candidate has")
@pytest.mark.parametrize("kind", [SVCCV, LinearSVCCV])
def test_a_machine_that_tuned_itself(kind):
    """The certificates of the cells come back by candidate and fold."""
    X, y = make_classes(80, 2)
    model = kind(Cs=[0.1, 1.0], cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.cell_certificates_ == model.cell_certificates_
    assert set(again.cell_certificates_) >= {(0, 0), (0, 1), (1, 0), (1, 1)}
