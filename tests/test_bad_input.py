"""Bad input gets one clear sentence that names the parameter and the value."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin
from maxmargin import SMO, SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.kernels import RBF, Precomputed

MODELS = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
every_model = pytest.mark.parametrize("Model", MODELS, ids=lambda Model: Model.__name__)


@pytest.fixture
def data():
    """Thirty samples of two classes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), np.arange(30) % 2


@every_model
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(Model, value, data):
    """NaN and infinity in X."""
    X, y = data
    X[4, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        Model().fit(X, y)


@pytest.mark.parametrize("Model", [SVR, NuSVR])
def test_targets_that_are_no_numbers(Model, data):
    """NaN and values that overflow in y."""
    X, y = data
    with pytest.raises(ValueError, match="Input y contains NaN"):
        Model().fit(X, np.where(y > 0, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"y reaches 1e\+300"):
        Model().fit(X, np.full(30, 1e300))


@every_model
@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.empty((0, 3)), "0 sample"),
        (np.empty((30, 0)), "0 feature"),
        (np.zeros(30), "Expected 2D array, got 1D array"),
        (np.zeros((30, 3, 2)), "Found array with dim 3"),
        ([[1.0, 2.0], [3.0]], "inhomogeneous"),
        ([["a", "b"]] * 30, "could not convert string to float"),
        (np.zeros((30, 3), complex), "Complex data not supported"),
    ],
)
def test_matrices_that_are_none(Model, X, words):
    """Empty, flat, deep, ragged, strings, complex."""
    with pytest.raises(ValueError, match=words):
        Model().fit(X, np.arange(max(len(X), 1)) % 2)


@pytest.mark.parametrize("Model", [SVC, NuSVC, SVR, NuSVR])
def test_lengths_that_differ(Model, data):
    """X and y, and the weights."""
    X, y = data
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[30, 29\]"):
        Model().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight and X have incompatible shapes: \(29,\) vs 30"):
        Model().fit(X, y, sample_weight=np.ones(29))


@every_model
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.full(30, np.nan), r"sample_weight must be finite, but sample_weight\[0\] is nan"),
        (np.full(30, np.inf), r"sample_weight must be finite, but sample_weight\[0\] is inf"),
        (np.zeros(30), "all samples have zero or negative weights"),
        (-np.ones(30), "all samples have zero or negative weights"),
        (np.ones((30, 2)), r"sample_weight must be one number for each sample, got an array of shape \(30, 2\)"),
        (3.0, r"sample_weight must be one number for each sample, got an array of shape \(\)"),
        (["heavy"] * 30, "sample_weight must be an array of numbers"),
        (np.full(30, 1e300), r"C times sample_weight reaches 1e\+300"),
    ],
)
def test_weights_that_are_none(Model, weight, words, data):
    """Not finite, all zero, all negative, of the wrong shape, no numbers, beyond all bounds."""
    X, y = data
    with pytest.raises(ValueError, match=words):
        Model().fit(X, y, sample_weight=weight)


@every_model
def test_negative_weights_are_left_out_with_a_word(Model, data):
    """A negative weight is no error, as in scikit-learn, but it is said aloud."""
    X, y = data
    weight = np.ones(30)
    weight[7] = -0.5
    with pytest.warns(UserWarning, match=r"sample_weight\[7\] is -0.5; samples with a negative weight are left out"):
        model = Model(tol=1e-8).fit(X, y, sample_weight=weight)
    assert 7 not in model.support_


@pytest.mark.parametrize("Model", [SVC, NuSVC])
def test_one_class_is_no_task(Model, data):
    """All labels equal, or all but those without weight; continuous labels."""
    X, y = data
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1 class"):
        Model().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match=r"same class|nu is infeasible"):
        Model().fit(X, y, sample_weight=np.where(y > 0, 0.0, 1.0))
    with pytest.raises(ValueError, match="Unknown label type"):
        Model().fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("Model", "parameters", "words"),
    [
        (SVC, {"C": -1.0}, r"'C' parameter of SVC must be a float .* Got -1.0"),
        (SVC, {"C": 0}, r"'C' parameter of SVC .* Got 0"),
        (SVR, {"epsilon": -0.1}, r"'epsilon' parameter of SVR .* Got -0.1"),
        (NuSVC, {"nu": 0.0}, r"'nu' parameter of NuSVC .* Got 0.0"),
        (OneClassSVM, {"nu": 1.5}, r"'nu' parameter of OneClassSVM .* Got 1.5"),
        (SVC, {"kernel": "gauss"}, r"'kernel' parameter of SVC .* Got 'gauss'"),
        (SVC, {"loss": "log"}, r"'loss' parameter of SVC .* Got 'log'"),
        (SVR, {"loss": "hinge"}, r"'loss' parameter of SVR .* Got 'hinge'"),
        (SVR, {"loss": "quantile", "quantile": 1.0}, r"'quantile' parameter of SVR .* Got 1.0"),
        (SVC, {"intercept": "yes"}, r"'intercept' parameter of SVC .* Got 'yes'"),
        (SVC, {"solver": "simplex"}, r"'solver' parameter of SVC .* Got 'simplex'"),
        (SVC, {"solver": SMO}, "solver must be a name or an object, got the class SMO"),
        (SVC, {"kernel": RBF}, "kernel must be a name or an object, got the class RBF"),
        (SVC, {"gamma": -1.0}, r"'gamma' parameter of SVC .* Got -1.0"),
        (SVC, {"tol": 0.0}, r"'tol' parameter of SVC .* Got 0.0"),
        (SVC, {"cache_size": 0}, r"'cache_size' parameter of SVC .* Got 0"),
        (SVC, {"max_seconds": -1}, r"'max_seconds' parameter of SVC .* Got -1"),
        (
            SVC,
            {"class_weight": {0: np.nan}},
            "class_weight must be finite and not negative, but that of class 0 is nan",
        ),
        (SVC, {"class_weight": {0: -1.0}}, r"class_weight must be finite and not negative, but .* class 0 is -1.0"),
    ],
)
def test_parameters_that_are_wrong(Model, parameters, words, data):
    """The sentence names the parameter and the value."""
    with pytest.raises(ValueError, match=words):
        Model(**parameters).fit(*data)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("selection", "best", r"SMO's selection must be one of .*, got 'best'"),
        ("stop", "never", r"SMO's stop must be one of .*, got 'never'"),
        ("cache_size", -1.0, "SMO's cache_size must be a positive number of megabytes, got -1.0"),
        ("working_set", 1, "SMO's working_set must be at least 2 or None, got 1"),
    ],
)
def test_knobs_of_the_solver(field, value, words):
    """SMO checks its own."""
    with pytest.raises(ValueError, match=words):
        SMO(**{field: value})


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=["name", "object"])
def test_gram_matrices_that_are_none(kernel, data):
    """Not square, not symmetric, sparse."""
    X, y = data
    with pytest.raises(ValueError, match=r"must be a square matrix. Input is a 30x3 matrix"):
        SVC(kernel=kernel).fit(X, y)
    K = X @ X.T
    K[3, 8] += 5.0
    with pytest.raises(ValueError, match=r"must be symmetric, but X\[3, 8\]"):
        SVC(kernel=kernel).fit(K, y)
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        SVC(kernel=kernel).fit(sp.csr_array(X @ X.T), y)


def test_callables_that_are_no_kernels(data):
    """Wrong shape, NaN, not symmetric."""
    X, y = data
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(30, 30\), but returned \(30, 3\)"):
        SVC(kernel=lambda A, B: A).fit(X, y)
    with pytest.raises(ValueError, match=r"must return finite values, but returned nan at \[0, 1\]"):
        SVC(kernel=lambda A, B: np.where(np.eye(len(A), len(B)) > 0, 1.0, np.nan)).fit(X, y)
    with pytest.raises(ValueError, match=r"must be symmetric, but kernel\(X, X\)"):
        SVC(kernel=lambda A, B: A[:, :1] + 2.0 * B[:, 0]).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*certified relative gap")
def test_indefinite_kernels_are_reported(data):
    """A matrix with negative eigenvalues is fitted, and the certificate says that it proves nothing."""
    X, y = data
    K = X @ X.T - 3.0 * np.eye(30)
    model = SVC(kernel="precomputed", max_seconds=2.0, max_iter=5000).fit(K, y)
    assert model.certificate_.convex is False
    assert "not positive semidefinite" in str(model.certificate_)
    assert np.isfinite(model.dual_coef_).all()


@every_model
def test_predictions_of_other_data(Model, data):
    """Another number of features; sparse after dense; before the fit."""
    X, y = data
    with pytest.raises(ValueError, match=r"not fitted"):
        Model().predict(X)
    model = Model().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"cannot use sparse input in .* trained on dense data"):
        model.predict(sp.csr_array(X))


def test_kernels_that_overflow(data):
    """Values whose kernel is not finite."""
    X, y = data
    with pytest.raises(ValueError, match=r"the kernel overflows on X; the values of X reach .*, so scale them"):
        SVC(kernel="poly", degree=9, gamma=1.0).fit(1e30 * X, y)


def test_nu_beyond_what_the_classes_allow(data):
    """The largest feasible nu is taken, and both numbers are named."""
    X, y = data
    y = (np.arange(30) < 6).astype(int)
    with pytest.warns(UserWarning, match=r"nu is infeasible: nu=0.9, but these classes allow at most 0.4"):
        model = NuSVC(nu=0.9).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol


GARBAGE = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=3), st.lists(st.floats(), max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["C", "kernel", "gamma", "degree", "coef0", "tol", "class_weight", "loss", "intercept",
                             "cache_size", "max_iter", "max_seconds"]), value=GARBAGE)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_garbage_is_refused_or_fitted(name, value):
    """Whatever a parameter is set to: a ValueError or a TypeError, or a fit with finite attributes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    model = SVC(max_seconds=1.0).set_params(**{name: value})
    with contextlib.suppress(ValueError, TypeError):
        model.fit(X, y)
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.intercept_).all()


def test_every_public_name_is_documented():
    """What the package exports has a docstring."""
    assert all(getattr(maxmargin, name).__doc__ for name in maxmargin.__all__)
