"""What StructuredSVM says to input that it cannot take: one sentence that names the parameter and the value."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from structured_problems import Matching, PlainChain, make_chains, make_matchings

from maxmargin import LinearSVC
from maxmargin.estimators.structured import StructuredSVM
from maxmargin.solvers.bundle.structured import StructuredBundle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.structures import ChainModel, MulticlassModel, StructuredModel

X, Y = make_chains(6, 3, 3, 3)


def with_entry(value) -> list:
    """The sequences with one entry replaced."""
    changed = [x.copy() for x in X]
    changed[2][1, 1] = value
    return changed


FITS = {
    "X must hold at least one sample, got none": ([], [], {}),
    "X has 6 samples and y has 5": (X, Y[:5], {}),
    r"X\[2\] has 3 rows and y\[2\] has 2 labels": (X, [*Y[:2], Y[2][:2], *Y[3:]], {}),
    r"X\[2\] must be finite, and holds NaN or infinity": (with_entry(np.nan), Y, {}),
    r"X\[4\] has 2 features, and X\[0\] has 3": ([*X[:4], X[4][:, :2], X[5]], Y, {}),
    r"X\[1\] must have the shape \(length, n_features\), both at least 1, got \(0, 3\)": (
        [X[0], np.zeros((0, 3)), *X[2:]], [Y[0], np.zeros(0, int), *Y[2:]], {},
    ),
    r"X\[0\] must have the shape \(length, n_features\), both at least 1, got \(3,\)": ([x[0] for x in X], Y, {}),
    r"X\[0\] must be an array of numbers": ([[[1.0, 2.0], [3.0]]] * 6, Y, {}),
    r"X must be a list of sequences, each an array of shape \(length, n_features\), got one array of shape \(6, 3\)": (
        np.ones((6, 3)), Y, {},
    ),
    r"y\[0\] must be an array of labels, one for each row of X\[0\], got shape \(\)": (X, [0] * 6, {}),
    r"y\[1\] must be finite": (X, [Y[0], np.full(2, np.nan), *Y[2:]], {}),
    "y has labels of one class only": (X, [np.zeros(len(labels), int) for labels in Y], {}),
    r"sample_weight and X have incompatible shapes: \(5,\) vs 6 samples": (X, Y, {"sample_weight": np.ones(5)}),
    r"sample_weight must be finite, but sample_weight\[3\] is nan": (
        X, Y, {"sample_weight": [1, 1, 1, np.nan, 1, 1]},
    ),
    "all samples have zero or negative weights": (X, Y, {"sample_weight": np.zeros(6)}),
    "sample_weight must be an array of numbers": (X, Y, {"sample_weight": "heavy"}),
    "X and y must be lists or arrays of samples, got int": (3, Y, {}),
}  # fmt: skip


@pytest.mark.parametrize("sentence", FITS)
def test_data_of_a_fit(sentence):
    data, labels, arguments = FITS[sentence]
    with pytest.raises(ValueError, match=sentence):
        StructuredSVM(ChainModel()).fit(data, labels, **arguments)


def test_negative_weights_are_left_out_with_a_warning():
    """As in every other estimator: the sample is left out, and the warning is at the line of the user."""
    with pytest.warns(UserWarning, match=r"sample_weight\[3\] is -1; samples with a negative weight") as told:
        model = StructuredSVM(ChainModel()).fit(X, Y, sample_weight=[1, 1, 1, -1, 1, 1])
    assert told[0].filename == __file__
    without = StructuredSVM(ChainModel()).fit(X, Y, sample_weight=[1, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(model.coef_, without.coef_)


def test_infinity_in_a_sparse_sequence():
    data = [sp.csr_array(x) for x in with_entry(np.inf)]
    with pytest.raises(ValueError, match=r"X\[2\] must be finite"):
        StructuredSVM(ChainModel()).fit(data, Y)


PARAMETERS = {
    "The 'C' parameter": {"C": 0.0},
    "The 'tol' parameter": {"tol": 0.0},
    "The 'max_seconds' parameter": {"max_seconds": -1.0},
    "The 'solver' parameter": {"solver": "smo"},
    "The 'n_jobs' parameter": {"n_jobs": 1.5},
    "solver must be a name or an object, got the class FrankWolfe": {"solver": FrankWolfe},
    "checkpoint must be in a folder that exists": {"checkpoint": "/nowhere/at/all/fit.npz"},
    "model must be an object, got the class ChainModel; add parentheses": {"model": ChainModel},
    "model must have the methods joint_feature, loss and argmax, but dict has no joint_feature": {"model": {}},
    r"label_costs must have the shape \(3, 3\), one row for each label, got \(2, 2\)": {
        "model": ChainModel(np.zeros((2, 2)))
    },
    "label_costs must be 0 on the diagonal": {"model": ChainModel(np.ones((3, 3)))},
    "label_costs must be finite and not negative": {"model": ChainModel(np.eye(3) - 1.0)},
}


@pytest.mark.parametrize("sentence", PARAMETERS)
def test_parameters(sentence):
    arguments = {"model": ChainModel(), **PARAMETERS[sentence]}
    with pytest.raises(ValueError, match=sentence):
        StructuredSVM(**arguments).fit(X, Y)


def test_parameters_of_the_solvers():
    with pytest.raises(ValueError, match="kept must be a whole number, 0 or more, got -1"):
        FrankWolfe(kept=-1)
    with pytest.raises(ValueError, match=r"method must be 'auto' or one of .* got 'newton'"):
        StructuredBundle("newton")
    with pytest.raises(ValueError, match="max_cuts must be 4 or more, got 2"):
        StructuredBundle(max_cuts=2)
    with pytest.raises(ValueError, match="cache must be 0 or more, got -1"):
        StructuredBundle(cache=-1)


@pytest.mark.parametrize("solver", [FrankWolfe(), StructuredBundle()], ids=lambda solver: solver.name)
def test_the_solvers_refuse_other_problems(solver):
    with pytest.raises(ValueError, match="for structured outputs"):
        LinearSVC(solver=solver).fit(np.eye(4), [0, 1, 0, 1])


def test_data_of_a_prediction():
    model = StructuredSVM(ChainModel(), C=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"X\[0\] has 2 features, and the model was fitted on 3"):
        model.predict([X[0][:, :2]])
    with pytest.raises(ValueError, match="X must hold at least one sample, got none"):
        model.predict([])
    with pytest.raises(ValueError, match=r"y\[0\] holds .*7.*, which is not among the labels of the fit"):
        model.score(X, [np.full(len(labels), 7) for labels in Y])
    with pytest.raises(ValueError, match="X has 6 samples and y has 4"):
        model.score(X, Y[:4])
    with pytest.raises(Exception, match="not fitted"):
        StructuredSVM(ChainModel()).predict(X)
    classes = StructuredSVM(MulticlassModel(), C=0.1).fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="X has 2 features, but MulticlassModel is expecting 3"):
        classes.predict(np.eye(2))


# ---- models that answer wrongly ---------------------------------------------------------------------------------

ANSWERS = {
    "Wrong.joint_feature must return 18 numbers, or a pair .*, and for sample 0 returned an array": {
        "joint_feature": lambda self, x, y: np.zeros(5)
    },
    "Wrong.joint_feature must be finite, and is not for sample 0": {
        "joint_feature": lambda self, x, y: np.full(18, np.nan)
    },
    "Wrong.joint_feature must return 18 numbers.* indices that are not whole numbers from 0": {
        "joint_feature": lambda self, x, y: ([40], [1.0])
    },
    "Wrong.joint_feature must return 18 numbers.* indices of shape": {
        "joint_feature": lambda self, x, y: ([1, 2], [1.0])
    },
    r"Wrong.loss\(y, y\) must be 0, got 1 for sample 0": {"loss": lambda self, y, z: 1.0},
    "Wrong.loss must not be negative": {
        "loss": lambda self, y, z: -float(np.sum(y != z)),
        "argmax": lambda self, x, w, y=None: 2 - np.asarray(y),
    },
    "Wrong.loss must return a finite number, got nan": {"loss": lambda self, y, z: np.nan},
    "Wrong.loss must return a finite number, got None": {"loss": lambda self, y, z: None},
    "Wrong.argmax must return the best labelling, but for sample . it returned one that is worse": {
        "argmax": lambda self, x, w, y=None: PlainChain.argmax(self, x, -w, None)
    },
    "Wrong.prepare must return the number of weights, 1 or more, got 0": {"prepare": lambda self, X, y: 0},
    "Wrong.prepare must return the number of weights, 1 or more, got None": {"prepare": lambda self, X, y: None},
}


@pytest.mark.parametrize("solver", [FrankWolfe(), StructuredBundle()], ids=lambda solver: solver.name)
@pytest.mark.parametrize("sentence", ANSWERS)
def test_answers_of_a_model(sentence, solver):
    wrong = type("Wrong", (PlainChain,), {**ANSWERS[sentence]})
    data, labels = make_chains(6, 1, 3, 3, seed=1)
    with pytest.raises(ValueError, match=sentence):
        StructuredSVM(wrong(3), solver=solver, C=3.0).fit(data, labels)


def test_a_model_that_writes_to_w_is_stopped():
    """w is the solver's: a model sees it and cannot change it."""

    class Writer(Matching):
        def argmax(self, x, w, y=None):
            w[0] = 1.0
            return super().argmax(x, w, y)

    with pytest.raises(ValueError, match="read-only"):
        StructuredSVM(Writer()).fit(*make_matchings(4))


def test_a_bound_that_is_no_number():
    class Bounded(Matching):
        exact = False

        def upper_bound(self, x, y, w):
            return np.nan

    with pytest.raises(ValueError, match=r"Bounded.upper_bound must return a number, got nan for sample 0"):
        StructuredSVM(Bounded()).fit(*make_matchings(4))


def test_pairs_need_a_size():
    class Sparse(Matching):
        def joint_feature(self, x, y):
            return np.array([0]), np.array([1.0])

    with pytest.raises(ValueError, match=r"Sparse.prepare must return the number of weights, since joint_feature"):
        StructuredSVM(Sparse()).fit(*make_matchings(4))


def test_a_model_lacks_a_method():
    class Half(StructuredModel):
        def joint_feature(self, x, y):
            return np.zeros(1)

        def loss(self, y, z):
            return 0.0

    with pytest.raises(ValueError, match="but Half has no argmax"):
        StructuredSVM(Half()).fit([0], [0])


def test_any_object_with_the_three_methods_will_do():
    """No base class is needed."""

    class Duck:
        joint_feature, loss, argmax = Matching.joint_feature, Matching.loss, Matching.argmax

    data, labels = make_matchings(10)
    one, other = StructuredSVM(Duck(), C=0.1).fit(data, labels), StructuredSVM(Matching(), C=0.1).fit(data, labels)
    assert np.array_equal(one.coef_, other.coef_)
    assert one.score(data, labels) == other.score(data, labels)


def test_a_loss_of_zero_everywhere_is_solved_at_once():
    """Nothing can be wrong: w = 0, and both P and D are zero."""
    free = type("Free", (Matching,), {"loss": lambda self, y, z: 0.0})
    model = StructuredSVM(free()).fit(*make_matchings(5))
    assert model.certificate_.primal == 0.0
    assert not model.coef_.any()
