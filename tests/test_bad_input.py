"""Bad input gets one clear sentence that names the parameter and the value."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import DataConversionWarning, NotFittedError
from time_allowances import SLACK_SECONDS, OwnTimer

import maxmargin
from maxmargin import SMO, SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from maxmargin.model.kernels import RBF, Precomputed

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


# ---- what newcomers do -------------------------------------------------------------------------------------


def frame(**columns):
    """A data frame of thirty rows."""
    return pd.DataFrame({"age": np.arange(30.0), **columns})


def fit_gram(X, y):
    """A machine over a kernel matrix."""
    return SVC(kernel="precomputed").fit(X @ X.T, y)


def break_ties_of_pairs(X):
    """Two parameters that contradict each other."""
    return SVC(break_ties=True, decision_function_shape="ovo").fit(X, np.arange(30) % 3).predict(X)


MISTAKES = {
    "X and y swapped": (ValueError, "Expected 2D array, got 1D array", lambda X, y: SVC().fit(y, X)),
    "one-hot labels": (ValueError, r"y should be a 1d array, .* \(30, 2\)", lambda X, y: SVC().fit(X, np.eye(2)[y])),
    "two targets": (ValueError, r"y should be a 1d array, got .* \(30, 2\)", lambda X, y: SVR().fit(X, X[:, :2])),
    "no labels": (ValueError, "requires y to be passed", lambda X, y: SVC().fit(X, None)),
    "no targets": (ValueError, "requires y to be passed", lambda X, y: NuSVR().fit(X, None)),
    "labels with NaN": (ValueError, "Input y contains NaN", lambda X, y: SVC().fit(X, np.where(y > 0, np.nan, 1.0))),
    "words as targets": (ValueError, "could not convert string to float", lambda X, y: SVR().fit(X, ["low"] * 30)),
    "complex targets": (ValueError, "Complex data not supported", lambda X, y: SVR().fit(X, y + 1j)),
    "a column of words": (ValueError, "string to float: 'f'", lambda X, y: SVC().fit(frame(sex=["f", "m"] * 15), y)),
    "a column with gaps": (ValueError, "contains NaN", lambda X, y: SVC().fit(frame(pay=[None, 1.0] * 15), y)),
    "a series": (ValueError, "2-dimensional container", lambda X, y: SVC().fit(frame()["age"], y)),
    "a dictionary": (TypeError, "not 'dict'", lambda X, y: SVC().fit({"age": X}, y)),
    "nothing": (ValueError, "Expected 2D array", lambda X, y: SVC().fit(None, y)),
    "sparse with NaN": (ValueError, "contains NaN", lambda X, y: SVC().fit(sp.csr_array(X * np.nan), y)),
    "kernel by position": (TypeError, "positional argument", lambda X, y: SVC("linear").fit(X, y)),
    "small letter c": (TypeError, "unexpected keyword argument 'c'", lambda X, y: SVC(c=1.0).fit(X, y)),
    "gamma as text": (ValueError, "'gamma' parameter of SVC .* Got '0.1'", lambda X, y: SVC(gamma="0.1").fit(X, y)),
    "C as text": (ValueError, "'C' parameter of SVC .* Got '10'", lambda X, y: SVC(C="10").fit(X, y)),
    "C not a number": (ValueError, "'C' parameter of SVR .* Got nan", lambda X, y: SVR(C=np.nan).fit(X, y)),
    "kernel in capitals": (ValueError, "'kernel' parameter .* Got 'RBF'", lambda X, y: SVC(kernel="RBF").fit(X, y)),
    "fractional degree": (ValueError, "'degree' parameter .* Got 2.5", lambda X, y: SVC(degree=2.5).fit(X, y)),
    "no iterations at all": (ValueError, "'max_iter' parameter .* Got None", lambda X, y: SVC(max_iter=None).fit(X, y)),
    "zero jobs": (ValueError, "'n_jobs' parameter of SVC .* Got 0", lambda X, y: SVC(n_jobs=0).fit(X, y)),
    "nu above one": (ValueError, "'nu' parameter of NuSVR .* Got 2", lambda X, y: NuSVR(nu=2).fit(X, y)),
    "nu not a number": (ValueError, "'nu' parameter of NuSVC .* Got nan", lambda X, y: NuSVC(nu=np.nan).fit(X, y)),
    "weights of no class": (ValueError, r"classes, \[1\]", lambda X, y: SVC(class_weight={0: 1, 5: 1}).fit(X, y)),
    "infinite class weight": (ValueError, "class 0 is inf", lambda X, y: SVC(class_weight={0: np.inf}).fit(X, y)),
    "weights by name": (ValueError, "sample_weight must be", lambda X, y: SVC().fit(X, y, sample_weight="balanced")),
    "weights as a column": (ValueError, r"sample_weight .* \(30, 1\)", lambda X, y: SVC().fit(X, y, np.ones((30, 1)))),
    "complex weights": (ValueError, "sample_weight must be", lambda X, y: SVC().fit(X, y, np.ones(30) + 1j)),
    "data for a matrix": (ValueError, "square matrix", lambda X, y: SVC(kernel="precomputed").fit(X, y)),
    "ties of pairs": (ValueError, "break_ties must be False", lambda X, y: break_ties_of_pairs(X)),
    "one row to predict": (ValueError, "got 1D array", lambda X, y: SVC().fit(X, y).predict(X[0])),
    "NaN to predict": (ValueError, "contains NaN", lambda X, y: SVR().fit(X, y).predict(X * np.nan)),
    "infinity to predict": (ValueError, "infinity", lambda X, y: SVR().fit(X, y).predict(np.full((3, 3), np.inf))),
    "no rows to predict": (ValueError, "0 sample", lambda X, y: SVC().fit(X, y).predict(X[:0])),
    "words to predict": (ValueError, "string to float", lambda X, y: SVC().fit(X, y).predict([["a", "b", "c"]])),
    "margin before the fit": (NotFittedError, "not fitted", lambda X, y: SVC().margin_width_),
    "support before the fit": (NotFittedError, "not fitted", lambda X, y: SVR().free_support_),
    "scores before the fit": (NotFittedError, "not fitted", lambda X, y: OneClassSVM().score_samples(X)),
    "another length to score": (ValueError, r"\[3, 30\]", lambda X, y: SVC().fit(X, y).score(X, y[:3])),
    "a narrow matrix to predict": (ValueError, "3 features.*30", lambda X, y: fit_gram(X, y).predict(X)),
    "a sparse matrix to predict": (ValueError, "sparse", lambda X, y: fit_gram(X, y).predict(sp.eye_array(30))),
}  # fmt: skip


@pytest.mark.parametrize(("error", "words", "act"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_newcomers(error, words, act, data):
    """Each is answered in words that lead to it."""
    with pytest.raises(error, match=words):
        act(*data)


CALLABLES = {
    "a number": (lambda A, B: 1.0, r"kernel\(X, Y\) must return a matrix of shape \(30, 30\), but returned \(\)"),
    "a vector": (lambda A, B: np.ones(len(A)), r"shape \(30, 30\), but returned \(30,\)"),
    "a row too few": (lambda A, B: (A @ B.T)[1:], r"shape \(30, 30\), but returned \(29, 30\)"),
    "nothing": (lambda A, B: None, r"kernel\(X, Y\) must return"),
    "infinity": (lambda A, B: A @ B.T + np.inf, r"kernel\(X, Y\) must return finite values, but returned inf"),
    "text": (lambda A, B: "k", r"kernel\(X, Y\) must return"),
    "complex numbers": (lambda A, B: A @ B.T + 1j, r"kernel\(X, Y\) must return"),
    "ragged lists": (lambda A, B: [[1.0], [1.0, 2.0]], r"kernel\(X, Y\) must return"),
}


@pytest.mark.parametrize(("kernel", "words"), CALLABLES.values(), ids=CALLABLES)
def test_callables_that_return(kernel, words, data):
    """The sentence is about the kernel, whatever it returned."""
    with pytest.raises(ValueError, match=words):
        SVC(kernel=kernel).fit(*data)


def test_callables_are_checked_at_prediction_too(data):
    """A kernel that goes wrong on new data is not turned into labels."""
    X, y = data
    spoil = {"now": False}

    def kernel(A, B):
        return A @ B.T * (np.nan if spoil["now"] else 1.0)

    model = SVC(kernel=kernel).fit(X, y)
    spoil["now"] = True
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must return finite values, but returned nan"):
        model.predict(X[:5])
    shorter = SVC(kernel=lambda A, B: (A @ B.T)[: 30 if len(A) == 30 else 1]).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(5, 30\), but returned \(1, 30\)"):
        shorter.predict(X[:5])


def test_errors_of_a_callable_are_its_own(data):
    """What the user's kernel raises arrives as it is."""
    with pytest.raises(ZeroDivisionError):
        SVC(kernel=lambda A, B: 1 / 0).fit(*data)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_every_kernel_that_overflows(kernel, form, data):
    """Squares beyond 1e308: refused with the size of the values, not fitted as nonsense."""
    X, y = data
    with pytest.raises(ValueError, match=r"values of X reach [\d.]+e\+200, so scale them"):
        SVC(kernel=kernel).fit(form(X * 1e200), y)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda model: setattr(model, "_n_support", model._n_support + 1),
        lambda model: setattr(model, "support_vectors_", model.support_vectors_[:-1]),
        lambda model: setattr(model, "_dual_coef_", model._dual_coef_[:, :-1]),
    ],
    ids=["counts", "vectors", "duals"],
)
@every_model
def test_tampered_machines(Model, tamper, data):
    """A machine whose parts do not fit together any more says so."""
    X, y = data
    model = Model().fit(X, y)
    tamper(model)
    with pytest.raises(ValueError, match=f"internal representation of {Model.__name__} was altered"):
        model.predict(X)


def test_column_vectors_are_taken_with_a_word(data):
    """y of shape (30, 1) is meant well."""
    X, y = data
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = SVC().fit(X, y[:, None])
    np.testing.assert_array_equal(model.dual_coef_, SVC().fit(X, y).dual_coef_)


def warn_negative_weight(X, y):
    """A negative weight."""
    SVC().fit(X, y, sample_weight=np.where(np.arange(30) == 3, -1.0, 1.0))


def warn_early_end(X, y):
    """A fit that stops early."""
    SVC(max_iter=1).fit(X, y)


def warn_infeasible_nu(X, y):
    """nu too large for the classes."""
    NuSVC(nu=0.9).fit(X, np.arange(30) < 6)


def warn_early_regression(X, y):
    """A regression that stops early."""
    SVR(max_iter=1).fit(X, y)


def warn_early_novelty(X, y):
    """One class that stops early."""
    OneClassSVM(max_iter=1, nu=0.07, tol=1e-12).fit(X)


@pytest.mark.parametrize(
    "act",
    [
        warn_negative_weight,
        warn_early_end,
        warn_infeasible_nu,
        warn_early_regression,
        warn_early_novelty,
    ],
)
def test_warnings_point_to_the_caller(act, data):
    """The line shown with a warning is the user's own call of fit, once."""
    with pytest.warns(Warning) as caught:  # noqa: PT030
        act(*data)
    assert len(caught) == 1
    assert Path(caught[0].filename).name == Path(__file__).name


def test_nothing_is_left_of_a_refused_fit(data):
    """A machine that was fitted stays what it was when the next fit is refused."""
    X, y = data
    model = SVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError):
        model.fit(X * np.nan, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


# ---- garbage ------------------------------------------------------------------------------------------------

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


CALM = st.floats(-10.0, 10.0).map(lambda value: round(value, 6))


def draw_numbers(largest: float):
    """Small numbers, and some that are hard to square, up to `largest`; NaN and infinity among them."""
    hard = [0.0, 1.0, -1.0, 1.0 / largest, 1e-8, 1e8, largest, -largest, np.nan, np.inf]
    return st.one_of(CALM, st.sampled_from(hard), st.floats(-largest, largest).map(np.rint))


@st.composite
def draw_fit(draw, largest: float):
    """A model and data for it, both of any kind."""
    Model = draw(st.sampled_from(MODELS))
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    X = draw(arrays(float, (n, d), elements=draw(st.sampled_from([CALM, draw_numbers(largest)]))))
    targets = arrays(int, n, elements=st.integers(0, 2)) if Model in (SVC, NuSVC) else arrays(float, n, elements=CALM)
    weights = st.one_of(st.sampled_from([0.0, 1.0, 2.0, -1.0, 1.0 / largest, largest, np.nan]), st.floats(0.01, 3.0))
    choices = {
        "kernel": ["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"],
        "intercept": ["free", "regularised", "none"],
        "C": [1e-8, 1.0, 1e4, np.inf],
        "nu": [1e-6, 0.3, 1.0],
        "gamma": ["scale", "auto", 0.0, 1.0, 1e6],
        "multi_class": ["ovo", "ovr"],
    }
    known = Model().get_params()
    settings = {name: draw(st.sampled_from(values)) for name, values in choices.items() if name in known}
    weight = draw(st.one_of(st.none(), arrays(float, n, elements=weights)))
    return Model(max_seconds=0.2, **settings), X, draw(targets), weight


def assert_refused_or_fitted(model, X, y, weight) -> None:
    """A ValueError or TypeError with a sentence, or a fit in time with finite attributes that predicts."""
    watch = OwnTimer()
    try:
        model.fit(X, y, sample_weight=weight)
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 10  # noqa: PT017
        return
    assert watch.seconds < 0.5 + SLACK_SECONDS
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.predict(X).shape == (len(X),)
    assert model.result_.status in set(Status)
    certificate = model.certificate_
    if certificate.convex and np.isfinite(certificate.gap):
        assert certificate.gap >= -1e-9 * max(abs(certificate.primal), abs(certificate.dual))


@pytest.mark.usefixtures("compiled")
@settings(max_examples=150, deadline=None)
@given(fit=draw_fit(1e20))
@pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")
def test_any_data_are_refused_or_fitted(fit):
    """Random small data, weights and settings: nothing but a clear refusal or a finite fit, and no NumPy warnings."""
    assert_refused_or_fitted(*fit)


@pytest.mark.usefixtures("compiled")
@settings(max_examples=100, deadline=None)
@given(fit=draw_fit(1e300))
@pytest.mark.filterwarnings("ignore")
def test_data_without_measure_are_refused_or_fitted(fit):
    """Likewise with numbers whose squares overflow."""
    assert_refused_or_fitted(*fit)


def test_every_public_name_is_documented():
    """What the package exports has a docstring."""
    assert all(getattr(maxmargin, name).__doc__ for name in maxmargin.__all__)
