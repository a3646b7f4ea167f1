"""Linear kernels over features of 1e7: the machine is w itself, and its certificate is that of w.

A timestamp in seconds spans 1e7, so w is about 1e-7 there, and duals of 1 in float64 reproduce it to a few per cent.
"""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import joblib
import numpy as np
import pytest

from maxmargin import SVC, SVR, LinearSVC, OneClassSVM, Status, certify, export_onnx, load, save
from maxmargin.certificates.certificate import judge
from maxmargin.files.libsvm_model import write_libsvm_model
from maxmargin.model.features import Gram
from maxmargin.model.kernels import Linear
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Point, Problem
from maxmargin.solvers.choice import plan
from maxmargin.solvers.neighbours import find_neighbours

rng = np.random.default_rng(0)
Z = rng.normal(size=(60, 3))
LABELS = np.where(Z[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1)
MIDNIGHTS = 86_400 * np.round(100 * Z[:, 0])  # about 1e7 on either side
TIMES = np.column_stack([1.7e9 + MIDNIGHTS, Z[:, 1:]])


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_timestamps_need_no_scaling(C):
    """The optimum of LinearSVC, and of the same data moved to the origin, which changes b alone."""
    model = SVC(kernel="linear", C=C, tol=1e-5).fit(TIMES, LABELS)
    assert model.result_.status is Status.CONVERGED
    assert model._held_weights()[0] is not None
    by_weights = LinearSVC(loss="hinge", intercept="free", C=C, tol=1e-6).fit(TIMES, LABELS).certificate_
    near = SVC(kernel="linear", C=C, tol=1e-7).fit(np.column_stack([MIDNIGHTS, Z[:, 1:]]), LABELS).certificate_
    for known in (by_weights, near):
        assert model.certificate_.dual <= known.primal
        assert model.certificate_.primal >= known.dual
        assert model.certificate_.primal == pytest.approx(known.primal, rel=2e-5)


def test_regression_on_timestamps():
    y = 1e-7 * MIDNIGHTS + Z[:, 1] + 0.1 * rng.normal(size=60)
    model = SVR(kernel="linear", C=10.0, tol=1e-5).fit(TIMES, y)
    assert model.result_.status is Status.CONVERGED
    assert model.coef_[0, 0] == pytest.approx(1e-7, rel=0.1)
    assert model.score(TIMES, y) > 0.95


@pytest.fixture(scope="module")
def model():
    return SVC(kernel="linear", C=100.0, tol=1e-5).fit(TIMES, LABELS)


def test_decisions_are_those_of_the_public_machine(model):
    """<coef_, x> + intercept_ in exact arithmetic, beside which the sum over support vectors is off by a tenth."""
    exact = [
        float(sum((Fraction(w) * Fraction(x) for w, x in zip(model.coef_[0], row, strict=True)), Fraction(0))
              + Fraction(model.intercept_[0]))
        for row in TIMES
    ]  # fmt: skip
    np.testing.assert_allclose(model.decision_function(TIMES), exact, atol=1e-6)


@pytest.mark.parametrize("keep", ["pickle", "joblib", "file"])
def test_a_kept_machine_is_the_same(model, keep, tmp_path):
    if keep == "pickle":
        again = pickle.loads(pickle.dumps(model))
    elif keep == "joblib":
        joblib.dump(model, tmp_path / "model")
        again = joblib.load(tmp_path / "model")
    else:
        save(model, tmp_path / "model.mm")
        again = load(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.decision_function(TIMES), model.decision_function(TIMES))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert certify(again, TIMES, LABELS).relative_gap <= 1e-5


def test_a_damaged_file_is_refused(model, tmp_path):
    broken = pickle.loads(pickle.dumps(model))
    broken._weights = broken._weights[:, :2]
    save(broken, tmp_path / "model.mm")
    with pytest.raises(ValueError, match="_weights"):
        load(tmp_path / "model.mm")


def test_replaced_coefficients_are_what_counts(model):
    changed = pickle.loads(pickle.dumps(model))
    changed._dual_coef_ = np.zeros_like(changed._dual_coef_)
    np.testing.assert_array_equal(changed.decision_function(TIMES), np.full(60, -changed._intercept_[0]))


def test_several_classes():
    """Pairs of classes with and without w of their own, each column from its own machine."""
    y = np.searchsorted([-0.5, 0.5], Z[:, 0] + 0.2 * Z[:, 1])
    model = SVC(kernel="linear", C=10.0, tol=1e-4, decision_function_shape="ovo").fit(TIMES, y)
    assert all(result.converged for result in model.results_)
    by_hand = (TIMES - model._kernel.shift) @ model.coef_.T + model._intercept_
    np.testing.assert_allclose(model.decision_function(TIMES), by_hand, atol=1e-3)
    assert model.score(TIMES, y) > 0.9


def test_w_is_kept_only_where_duals_do_not_reproduce_it():
    scaled = SVC(kernel="linear", C=100.0, tol=1e-3).fit(Z, LABELS)
    assert scaled._held_weights() == [None]


def test_one_class_is_not_centred():
    """The duals of one class do not sum to zero, so a shift of the samples is another problem."""
    X = rng.normal(size=(3000, 4)) * 10.0 ** np.arange(-2, 2) + 5.0
    model = OneClassSVM(kernel="linear", nu=0.3, tol=1e-6)
    problem = model.pose_first_problem(X, np.ones(3000))
    assert plan(problem, model._solver())[0].solver.name == "feature_space"
    model.fit(X)
    assert model.result_.status is Status.CONVERGED
    assert "handed over" not in model.result_.message


def test_neighbours_of_a_machine_that_is_w():
    """Stretching a separating w leaves no loss, whatever its duals are."""
    X = np.vstack([Z[:20] + 6.0, Z[20:40] - 6.0])
    y = np.repeat([1.0, -1.0], 20)
    problem = Problem(Gram.from_data(Linear(), X), y, np.full(40, 1e10), Hinge())
    found = SVC(kernel="linear", C=1e10, tol=1e-8).fit(X, -y).result_.point
    w = X.T @ (found.a if found.coef is None else found.coef)
    start = Point(found.a, float(found.b) * (1 - 1e-12), w=w * (1 - 1e-12))
    best = min((judge(problem, each) for each in find_neighbours(problem, start)), key=lambda each: each.primal)
    assert best.primal < 0.5 * judge(problem, start).primal
    assert best.primal == pytest.approx(0.5 * float(w @ w), rel=1e-9)
    assert problem.primal(start) == pytest.approx(judge(problem, start).primal, rel=1e-2)


def test_libsvm_s_format_says_what_it_loses(model, tmp_path):
    """A file of LIBSVM has dual coefficients only: a word where they do not reproduce the machine."""
    with pytest.warns(UserWarning, match="reproduce the decisions of this SVC only to within"):
        write_libsvm_model(model, tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_libsvm_model(SVC(kernel="linear").fit(Z, LABELS), tmp_path / "other")


def test_onnx_has_w(model, tmp_path):
    """The export compares its decisions with the model's, and would refuse the sum over support vectors."""
    pytest.importorskip("onnxruntime")
    difference = export_onnx(model, tmp_path / "model.onnx", TIMES)
    assert difference <= 1e-6 * np.abs(model.decision_function(TIMES)).max()
