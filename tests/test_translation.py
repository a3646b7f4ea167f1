"""Data far from the origin: machines with a free intercept are those of the data moved back, and others are not moved.

The samples are multiples of 2^-20, so that adding an offset is exact, and the fit on the samples themselves is the
reference: P and D are the same numbers, and f is the same function of the samples.
"""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    MetricSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    Status,
    certify,
    export_onnx,
    load,
    path,
    risk_bounds,
    save,
)
from maxmargin.files import read_libsvm_model, write_libsvm_model
from maxmargin.model.kernels import Linear, add_shift_product, find_shift, translate

TOL = 1e-6  # intercept_ = b - <w, m> is rounded, and at an offset of 1e8 that leaves a gap of some 1e-7
rng = np.random.default_rng(0)
Z = np.rint(rng.normal(size=(60, 2)) * 2**20) / 2**20
TWO = np.where(Z[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1)
THREE = np.digitize(Z[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
TARGET = Z @ [1.0, -0.5] + 0.2 * rng.normal(size=60)
FORMS = {"dense": np.asarray, "csr": sp.csr_array}

KERNEL_MACHINES = {
    "SVC": (SVC(kernel="linear", tol=TOL), TWO),
    "SVC three": (SVC(kernel="linear", tol=TOL, decision_function_shape="ovo"), THREE),
    "SVC rest": (SVC(kernel="linear", tol=TOL, multi_class="ovr"), THREE),
    "SVC squared": (SVC(kernel="linear", tol=TOL, loss="squared_hinge"), TWO),
    "NuSVC": (NuSVC(kernel="linear", tol=TOL, nu=0.4), TWO),
    "SVR": (SVR(kernel="linear", tol=TOL), TARGET),
    "NuSVR": (NuSVR(kernel="linear", tol=TOL, nu=0.4), TARGET),
}
LINEAR_MACHINES = {
    "LinearSVC": (LinearSVC(loss="hinge", intercept="free", tol=TOL), TWO),
    "LinearSVC three": (LinearSVC(intercept="free", tol=TOL), THREE),
    "LinearSVC l1": (LinearSVC(penalty="l1", dual=False, intercept="free", tol=1e-6), TWO),
    "LinearSVC joint": (LinearSVC(multi_class="crammer_singer", intercept="free", tol=1e-6), THREE),
    "LinearSVR": (LinearSVR(intercept="free", tol=TOL), TARGET),
    "RiskClassifier": (RiskClassifier("logistic", tol=TOL), TWO),
    "RiskClassifier softmax": (RiskClassifier("logistic", multi_class="softmax", tol=TOL), THREE),
    "RiskRegressor": (RiskRegressor("huber", tol=TOL), TARGET),
    "RiskRegressor vectors": (RiskRegressor("multivariate", tol=TOL), np.column_stack([TARGET, Z[:, 0]])),
    "MetricSVC": (MetricSVC("f1", tol=1e-5), TWO),
    "RankSVM": (RankSVM(tol=1e-5), np.rint(TARGET)),
}
MACHINES = {**KERNEL_MACHINES, **LINEAR_MACHINES}


def fit(name: str, X):
    """A fresh machine of the table, fitted."""
    machine, y = MACHINES[name]
    return clone(machine).fit(X, y)


def decide(model, X) -> np.ndarray:
    """f(x), for labels and for real targets."""
    f = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    return np.asarray(f)


def assert_same_machine(far, near, X, origin, offset: float) -> None:
    """P, D and f of the two fits are the same, as far as their tolerance says and numbers of that size can be added."""
    assert far.result_.status is near.result_.status is Status.CONVERGED
    for mine, its in zip(far.certificates_, near.certificates_, strict=True):
        size = abs(its.primal)
        assert mine.primal == pytest.approx(its.primal, abs=2.0 * far.tol * size)
        assert mine.dual == pytest.approx(its.dual, abs=2.0 * far.tol * size)
        away = np.sqrt(8.0 * far.tol * size)  # |w - w'|, by strong convexity; b follows it
    f, reference = decide(far, X), decide(near, origin)
    slack = 20.0 * away + 1e-14 * offset
    if not isinstance(far, RankSVM):  # which knows f up to a constant
        np.testing.assert_allclose(f, reference, atol=slack)
    if hasattr(far, "classes_") and f.ndim == 1:
        clear = np.abs(reference) > slack
        np.testing.assert_array_equal(far.predict(X)[clear], near.predict(origin)[clear])


@pytest.mark.cover("pairs")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", [1e3, 1e5, 1e8])
@pytest.mark.parametrize("name", MACHINES)
def test_translated_data_have_the_same_machine(name, offset, form):
    """Adding a constant to every feature changes the intercept alone."""
    X = FORMS[form](Z + offset)
    assert_same_machine(fit(name, X), fit(name, FORMS[form](Z)), X, FORMS[form](Z), offset)


@pytest.mark.parametrize("name", MACHINES)
def test_single_precision_data(name):
    """Data in float32 are moved in float64."""
    coarse = np.rint(Z * 2**10) / 2**10
    X = (coarse + 1e3).astype(np.float32)
    np.testing.assert_array_equal(X, coarse + 1e3)
    assert_same_machine(fit(name, X), fit(name, coarse), X, coarse, 1e3)


@pytest.mark.parametrize("name", [*KERNEL_MACHINES, "LinearSVC", "RiskClassifier"])
def test_sparse_features_of_which_some_are_full(name):
    """Only features of which every row has an entry are moved, and zeros stay zeros; new rows may lack the entry."""
    noise = np.where(rng.random((60, 3)) < 0.3, 0.5, 0.0)
    X, origin = np.column_stack([Z[:, 0] + 1e5, noise, Z[:, 1]]), np.column_stack([Z[:, 0], noise, Z[:, 1]])
    X, origin = sp.csr_array(X), sp.csr_array(origin)
    far = fit(name, X)
    assert_same_machine(far, fit(name, origin), X, origin, 1e5)
    shift = far._kernel.shift
    assert shift is not None
    assert not shift[1:4].any()
    assert far._kernel.samples(X).X.nnz == X.nnz
    lacking = sp.csr_array(np.array([[0.0, 0.5, 0.0, 0.0, 1.0]]))
    full = sp.csr_array(np.array([[1e-300, 0.5, 0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(decide(far, lacking), decide(far, full), rtol=1e-12)


@pytest.mark.parametrize("offset", [1e5, 1e8])
@pytest.mark.parametrize("name", [*KERNEL_MACHINES, "LinearSVC", "LinearSVC three", "LinearSVR"])
def test_coefficients_and_intercept_are_those_of_the_data(name, offset):
    """<coef_, x> + intercept_ is f(x), to the rounding of its own terms."""
    X = Z + offset
    model = fit(name, X)
    coef, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    f = decide(model, X).reshape(60, -1)
    rows = [[sum(Fraction(v) * Fraction(u) for v, u in zip(w, x, strict=True)) for w in coef] for x in X]
    exact = np.array([[float(value + Fraction(shift)) for value, shift in zip(row, b, strict=True)] for row in rows])
    np.testing.assert_allclose(exact, f, atol=4e-16 * offset * max(np.abs(coef).max(), 1.0) * 4)


@pytest.mark.parametrize("offset", [1e5, 1e8])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_large_costs_far_from_the_origin(C, offset):
    """SVC reaches the default tolerance, and the optimum, where products of the samples have no digits left."""
    near = SVC(kernel="linear", C=C).fit(Z, TWO)
    far = SVC(kernel="linear", C=C).fit(Z + offset, TWO)
    assert far.result_.status is Status.CONVERGED
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=2e-5)
    assert far.certificate_.dual == pytest.approx(near.certificate_.dual, rel=2e-5)


def test_a_date_as_a_feature():
    """Days since 1970 beside a feature of unit size, C = 10,000."""
    days = np.rint(19_700 + 30 * rng.normal(size=60))
    y = np.where((days - 19_700) / 30 + Z[:, 1] + 0.3 * rng.normal(size=60) > 0, 1, -1)
    far = SVC(kernel="linear", C=1e4).fit(np.column_stack([days, Z[:, 1]]), y)
    near = SVC(kernel="linear", C=1e4).fit(np.column_stack([days - 19_700, Z[:, 1]]), y)
    assert far.result_.status is Status.CONVERGED
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=2e-5)
    assert far.certificate_.dual == pytest.approx(near.certificate_.dual, rel=2e-5)


@pytest.mark.parametrize("name", MACHINES)
def test_files_and_pickles_predict_the_same(tmp_path, name):
    """A model that was saved and loaded, or pickled, is the same machine."""
    X = Z + 1e8
    model = fit(name, X)
    save(model, tmp_path / "model")
    for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(decide(other, X), decide(model, X))
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.intercept_, model.intercept_)


@pytest.mark.parametrize("name", [name for name in KERNEL_MACHINES if name not in ("SVC rest", "SVC squared")])
def test_files_of_libsvm_hold_the_public_intercept(tmp_path, name):
    """rho belongs to the support vectors as they are, and a machine that is read sees them from their mean again."""
    model = fit(name, Z + 1e8)
    write_libsvm_model(model, tmp_path / "model")
    text = (tmp_path / "model").read_text().splitlines()
    rho = np.array([float(word) for line in text if line.startswith("rho ") for word in line.split()[1:]])
    np.testing.assert_allclose(np.abs(rho), np.abs(model.intercept_), rtol=1e-15)
    other = read_libsvm_model(tmp_path / "model")
    if name == "SVC three":
        other.set_params(decision_function_shape="ovo")
    np.testing.assert_allclose(decide(other, Z + 1e8), decide(model, Z + 1e8), atol=1e-6)


@pytest.mark.parametrize("name", ["SVC", "SVC three", "SVR"])
def test_onnx_decides_the_same(tmp_path, name):
    """The exported graph moves the samples as well."""
    pytest.importorskip("onnxruntime")
    model = fit(name, Z + 1e8)
    assert export_onnx(model, tmp_path / "model.onnx", Z + 1e8) <= 1e-9


@pytest.mark.parametrize("offset", [1e5, 1e8])
@pytest.mark.parametrize("name", [name for name in MACHINES if name not in ("MetricSVC", "RankSVM")])
def test_certify_agrees(name, offset):
    """The judge called again on the model says the same, from its public numbers if they were all there is."""
    X, y = Z + offset, MACHINES[name][1]
    model = fit(name, X)
    certificate = certify(model, X, y)
    for mine, its in zip(certificate.parts or (certificate,), model.certificates_, strict=True):
        assert mine.primal == pytest.approx(its.primal, rel=1e-6)
        assert mine.dual == pytest.approx(its.dual, rel=1e-6)


def test_certify_of_other_libraries():
    """A machine of scikit-learn on data far out: P as of exact arithmetic, the same as of the data moved back."""
    from sklearn.svm import SVC as Foreign

    X = Z + 1e5
    near = Foreign(kernel="linear", tol=1e-6).fit(Z, TWO)
    far = Foreign(kernel="linear", tol=1e-6).fit(X, TWO)
    far.__dict__ |= {name: vars(near)[name] for name in ("support_", "dual_coef_", "_dual_coef_", "_n_support")}
    far.intercept_ = near.intercept_ - float(near.coef_[0] @ np.full(2, 1e5))
    far.support_vectors_ = X[near.support_]
    mine, its = certify(far, X, TWO), certify(near, Z, TWO)
    assert mine.primal == pytest.approx(its.primal, rel=1e-7)
    assert mine.dual == pytest.approx(its.dual, rel=1e-7)


def test_certify_sees_a_changed_intercept():
    """An intercept_ that someone has moved by 1 costs as much far out as at the origin."""
    changed = []
    for X in (Z, Z + 1e5):
        model = SVC(kernel="linear", tol=TOL).fit(X, TWO)
        model.intercept_ = model.intercept_ + 1.0
        changed.append(certify(model, X, TWO).primal)
    assert changed[1] == pytest.approx(changed[0], rel=1e-5)


def test_warm_starts_go_on_from_the_optimum():
    """The same data are moved by the same shift, so that the last point is a solution at once."""
    for machine, y in (MACHINES["SVC"], MACHINES["LinearSVC"]):
        model = clone(machine).set_params(warm_start=True).fit(Z + 1e6, y)
        first = np.max(model.n_iter_)
        assert np.max(model.fit(Z + 1e6, y).n_iter_) <= max(first // 2, 3)


def test_paths_and_risk_bounds():
    """A path has the intercepts of the data; bounds on the risk do not see a translation."""
    near, far = (path(X, TWO, loss="squared_hinge", Cs=[0.1, 1.0], tol=TOL) for X in (Z, Z + 1e5))
    np.testing.assert_allclose(far.coefs, near.coefs, atol=1e-3)
    np.testing.assert_allclose(far.intercepts + far.coefs @ np.full(2, 1e5), near.intercepts, atol=1e-3)
    bounds = [risk_bounds(SVC(kernel="linear", tol=TOL).fit(X, TWO), X, TWO) for X in (Z, Z + 1e5)]
    assert bounds[1].xi_alpha == pytest.approx(bounds[0].xi_alpha)


@pytest.mark.parametrize("intercept", ["none", "regularised"])
@pytest.mark.parametrize("machine", [SVC(kernel="linear"), LinearSVC(loss="hinge"), SVR(kernel="linear"), LinearSVR()])
def test_other_intercepts_are_not_translated(machine, intercept):
    """Without a free intercept the origin has a meaning."""
    y = TARGET if "SVR" in type(machine).__name__ else TWO
    model = clone(machine).set_params(intercept=intercept, tol=1e-2).fit(Z + 1e3, y)
    assert model._kernel.shift is None


def test_one_class_is_not_translated():
    """rho weighs the distance from the origin."""
    assert OneClassSVM(kernel="linear", tol=1e-3).fit(Z + 1e3)._kernel.shift is None


def test_data_near_the_origin_are_left_alone():
    """Well scaled data take the path they have always taken: no shift, and no copy."""
    X, y = load_iris(return_X_y=True)
    for model in (SVC(kernel="linear"), LinearSVC(intercept="free")):
        assert model.fit(X - X.mean(axis=0), y)._kernel.shift is None
    assert translate(X, None) is X
    assert find_shift(Z) is None
    assert find_shift(sp.csr_array(Z)) is None


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["none", "regularised", "free"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fit_ends(intercept, loss):
    """Where the data cannot be moved, or lie around two far places, a fit ends with a status by itself."""
    sides = np.where(rng.random(60) < 0.5, 1e6, -1e6)[:, None]
    for X in (Z + 1e8, Z + sides):
        model = LinearSVC(loss=loss, intercept=intercept).fit(X, TWO)
        assert model.result_.status in (Status.CONVERGED, Status.STALLED, Status.ROUNDING_LIMIT)


def test_shift_of_sparse_features():
    """The mean of full features, if it is nearly all there is of |x|^2; a feature that one row lacks is left alone."""
    X = np.column_stack([Z[:, 0] + 100.0, np.zeros(60), Z[:, 1]])
    shift = find_shift(sp.csr_array(X))
    np.testing.assert_allclose(shift, [X[:, 0].mean(), 0.0, X[:, 2].mean()], rtol=1e-12)
    moved = translate(sp.csr_array(X), shift)
    np.testing.assert_array_equal(moved.toarray(), X - shift)
    X[30, 0] = 0.0
    assert find_shift(sp.csr_array(X)) is None
    np.testing.assert_array_equal(translate(sp.csr_array(X), shift).toarray(), X - shift)
    assert find_shift(sp.csr_array((3, 4))) is None


def test_products_are_rounded_once():
    """b + <w, shift> is the float64 next to the exact number."""
    w, shift, b = rng.normal(size=(5, 40)), 1e8 * rng.normal(size=40), 1e8 * rng.normal(size=5)
    exact = [
        float(Fraction(b[k]) + sum(Fraction(v) * Fraction(u) for v, u in zip(w[k], shift, strict=True)))
        for k in range(5)
    ]
    np.testing.assert_array_equal(add_shift_product(b, w, shift), exact)
    np.testing.assert_array_equal(add_shift_product(b, sp.csr_array(w), shift), exact)
    np.testing.assert_array_equal(Linear(shift).move_to_shift(w, b), exact)
    assert np.isinf(add_shift_product(np.array([0.0]), np.full((1, 2), 1e200), np.full(2, 1e200))).all()
