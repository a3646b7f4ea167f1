"""Checks at a glance: what they let through is what scikit-learn's checks let through, and nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from maxmargin import SVC, SVR, LinearSVC
from maxmargin.estimators.plain_arrays import encode_classes, is_known_matrix, is_plain_matrix, is_plain_vector

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 2


@pytest.mark.parametrize(
    ("other", "plain"),
    [
        (X, True), (X.astype(np.float32), True), (X[:, ::2].copy(), True), (X[:0], False), (X[:, :0], False),
        (X[0], False), (np.asfortranarray(X), False), (X.astype(int), False), (X.astype(object), False),
        (X.tolist(), False), (np.where(X > 2, np.nan, X), bool((X <= 2).all())), (np.ma.masked_array(X), False),
        (np.full((3, 2), 1e308), True), (np.array([[np.inf, -np.inf]]), False), (X.astype(np.float16), False),
    ],
)  # fmt: skip
def test_what_is_plain(other, plain):
    """C-ordered arrays of finite float64 or float32; also where their sum overflows."""
    assert is_plain_matrix(other) is plain


def test_targets_that_are_plain():
    """As many numbers as rows, and finite."""
    assert is_plain_vector(Y, 30)
    assert is_plain_vector(Y.astype(float), 30)
    assert not is_plain_vector(Y, 29)
    assert not is_plain_vector(Y.astype(str), 30)
    assert not is_plain_vector(Y[:, None], 30)
    assert not is_plain_vector(np.where(Y > 0, np.nan, 1.0), 30)


@pytest.mark.parametrize("kind", [int, float, np.int8, np.uint16, np.float32, str, bool])
def test_classes(kind):
    """The same classes whatever the type of the labels."""
    labels = Y.astype(kind)
    classes, places = encode_classes(labels)
    expected = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(places, expected[1])


def test_labels_that_are_no_classes():
    """Fractions are refused, and so many classes that they look like targets are warned of, as in scikit-learn."""
    with pytest.raises(ValueError, match="continuous"):
        SVC().fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        encode_classes(np.arange(30))


@pytest.mark.parametrize("model", [SVC(), SVR(), LinearSVC()], ids=lambda model: type(model).__name__)
def test_names_of_features(model):
    """A fit on an array forgets the names of the fit before; one with names wants them again."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model.fit(frame, Y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert not is_known_matrix(model, X)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    assert is_known_matrix(model, X)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2].copy())
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((2, 3), np.nan))


def test_parameters_are_checked_once(monkeypatch):
    """The same values are not checked again, other ones are: 1, 1.0 and True are not the same."""
    seen = []

    check = BaseEstimator._validate_params
    monkeypatch.setattr(BaseEstimator, "_validate_params", lambda self: (seen.append(self.C), check(self)))
    model = SVC(C=0.73)
    for _ in range(3):
        model.fit(X, Y)
    assert seen == [0.73]
    model.set_params(C=np.float64(0.73)).fit(X, Y)
    assert len(seen) == 2
    with pytest.raises(ValueError, match="'C'"):
        model.set_params(C=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="'C'"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="'shrinking'"):
        SVC(shrinking=2).fit(X, Y)
    assert len(seen) == 5


def test_weights_without_a_class(monkeypatch):
    """One class that counts is refused in the fast way too."""
    with pytest.raises(ValueError, match="same class"):
        SVC().fit(X, Y, sample_weight=np.where(Y > 0, 1.0, 0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X, Y, sample_weight=np.ones(30))
