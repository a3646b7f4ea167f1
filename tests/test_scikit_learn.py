"""What differs between versions of scikit-learn: ours do as the installed ones do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.svm
from every_estimator import every_estimator
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import SVC, BlockwiseTransformer, LinearSVC, NuSVC
from maxmargin.estimators.multiclass import weigh_classes
from maxmargin.runtime.scikit_learn import VERSION

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0.2).astype(int)
every_classifier = pytest.mark.parametrize("name", ["SVC", "NuSVC"])


def collect_warnings(work) -> set[tuple]:
    """Kinds of the warnings of a call, with what they are about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return {
        (warning.category, word)
        for warning in caught
        for word in ("probability", "probA_", "probB_")
        if word in str(warning.message)
    }


@every_estimator
@pytest.mark.skipif(VERSION >= (1, 9), reason="this scikit-learn has callbacks")
def test_callbacks_are_not_there(model):
    """Before 1.9: hasattr says so, a sentence says which version has them, and a fit does without."""
    assert not hasattr(model, "set_callbacks")
    with pytest.raises(
        AttributeError, match=r"^set_callbacks needs scikit-learn 1\.9 or newer, and this is 1\.[678]\."
    ):
        model.set_callbacks(print)
    assert clone(model).fit(X, Y).result_.converged


def test_transformers_within_are_fitted():
    """A transformer within another is fitted, with callbacks or without."""
    model = make_pipeline(BlockwiseTransformer(StandardScaler()), LinearSVC()).fit(X, Y)
    np.testing.assert_allclose(model[0].transformer_.mean_, X.mean(axis=0))


@every_classifier
def test_probability_is_as_deprecated_as_theirs(name):
    """The same default, and the same kinds of warnings, at fit and for probA_ and probB_."""
    ours, theirs = (getattr(library, name) for library in (maxmargin, sklearn.svm))
    assert ours().probability == theirs().probability
    for value in (ours().probability, False, True):
        models = [kind(probability=value) for kind in (ours, theirs)]
        first, second = (collect_warnings(lambda model=model: model.fit(X, Y)) for model in models)
        assert first == second
        assert (first == set()) == (VERSION < (1, 9) or value == "deprecated")
        for attribute in ("probA_", "probB_"):
            seen = [collect_warnings(lambda m=model, a=attribute: getattr(m, a)) for model in models]
            assert {word for _, word in seen[0]} == {word for _, word in seen[1]}
            assert bool(seen[0]) == (VERSION >= (1, 9))


@every_classifier
@pytest.mark.parametrize("value", ["deprecated", False])
def test_defaults_of_other_versions_are_taken(name, value):
    """A model that was saved under another scikit-learn is fitted again under this one."""
    model = getattr(maxmargin, name)(probability=value)
    collect_warnings(lambda: model.fit(X, Y))
    assert not hasattr(model, "predict_proba")


def test_warnings_name_the_line_of_the_caller():
    """The warning of probability=True points at the fit, through scikit-learn's wrapper of it."""
    if VERSION < (1, 9):
        pytest.skip("probability= is not deprecated")
    with pytest.warns(FutureWarning, match=r"`CalibratedClassifierCV\(SVC\(\), ensemble=False\)` instead") as caught:
        SVC(probability=True).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("weight", [None, np.linspace(0.0, 3.0, 60)], ids=["plain", "weighted"])
def test_balanced_classes(weight):
    """n / (k n_j), samples counted by their weights under every version."""
    counts = np.bincount(Y, weight)
    expected = counts.sum() / (2 * counts)
    np.testing.assert_array_equal(weigh_classes("balanced", np.array([0, 1]), Y, weight), expected)
    np.testing.assert_array_equal(SVC(class_weight="balanced").fit(X, Y, weight).class_weight_, expected)
    if weight is None:
        theirs = sklearn.svm.SVC(class_weight="balanced").fit(X, Y)
        np.testing.assert_array_equal(theirs.class_weight_, expected)


def test_a_class_of_no_weight_cannot_be_balanced():
    """One sentence, and no warning of a division."""
    y = Y + (Y & (X[:, 1] > 0))
    with pytest.raises(ValueError, match="class_weight must be finite and not negative, but that of class 2 is inf"):
        NuSVC(class_weight="balanced").fit(X, y, sample_weight=(y < 2).astype(float))


@pytest.mark.parametrize(
    "settings",
    [{"loss": "hinge", "dual": False}, {"penalty": "l1", "dual": True}, {"loss": "hinge", "penalty": "l1"}],
)
def test_liblinear_refusals_are_theirs(settings):
    """The same words for arguments that do not go together."""
    said = []
    for kind in (LinearSVC, sklearn.svm.LinearSVC):
        with pytest.raises(ValueError) as caught:
            kind(**settings).fit(X, Y)
        said.append(str(caught.value))
    assert said[0] == said[1]
