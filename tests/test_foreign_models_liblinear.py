"""Model files of LIBLINEAR: written, read back and certified."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import CLASS, NEW, TARGET, TWO, X
from foreign_model_reference import LINEAR, ORDER, compare_linear, read_header

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor, certify, load
from maxmargin.files import write_liblinear_model


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_machines_go_there_and_back(solver, intercept, classes, tmp_path):
    """The decisions of the file are those of the model, whatever the intercept."""
    make, parameters = LINEAR[solver]
    regression = make is LinearSVR
    y = TARGET if regression else ORDER[np.minimum(CLASS, classes - 1)]
    model = make(C=0.7, intercept=intercept, intercept_scaling=2.5, **parameters).fit(X, y)
    path = tmp_path / "model"
    write_liblinear_model(model, path)
    header, _ = read_header(path, "w")
    assert header["solver_type"] == [solver]
    assert header["bias"] == {"free": ["1"], "regularised": ["2.5"], "none": ["-1"]}[intercept]
    assert compare_linear(model, path, NEW) < 1e-12
    back = load(path)
    assert type(back) is make
    assert compare_linear(back, path, NEW) < 1e-12
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW)) if not regression else None
    assert back.coef_.shape == model.coef_.shape
    assert np.shape(back.intercept_) == np.shape(model.intercept_)
    assert {key: getattr(back, key) for key in parameters if key != "epsilon"} == {
        key: value for key, value in parameters.items() if key != "epsilon"
    }
    assert np.isnan(back.C)


def test_the_other_linear_machines_are_written(tmp_path):
    """RiskClassifier and RiskRegressor, with losses that LIBLINEAR has, and a sparse w."""
    losses = {"hinge": "L2R_L1LOSS_SVC_DUAL", "squared_hinge": "L2R_L2LOSS_SVC", "logistic": "L2R_LR"}
    for loss, name in losses.items():
        write_liblinear_model(RiskClassifier(loss).fit(X, CLASS), tmp_path / "model")
        assert read_header(tmp_path / "model", "w")[0]["solver_type"] == [name]
    write_liblinear_model(RiskRegressor("epsilon_insensitive").fit(X, TARGET), tmp_path / "model")
    assert isinstance(load(tmp_path / "model"), LinearSVR)
    model = LinearSVC(penalty="l1", dual=False, C=0.1).fit(X, CLASS)
    dense = model.decision_function(NEW)
    write_liblinear_model(model.sparsify(), tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").decision_function(NEW), dense, atol=1e-12)


def test_probabilities_of_a_logistic_machine(tmp_path):
    """They follow from the scores."""
    model = RiskClassifier("logistic").fit(X, CLASS)
    write_liblinear_model(model, tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict_proba(NEW), model.predict_proba(NEW), atol=1e-12)


@pytest.mark.parametrize("solver", LINEAR)
def test_loaded_linear_machines_are_judged(solver, tmp_path):
    """They have no duals; the judge looks for some."""
    make, parameters = LINEAR[solver]
    y = TARGET if make is LinearSVR else CLASS
    model = make(C=0.7, tol=1e-6, intercept="regularised", **parameters).fit(X, y)
    write_liblinear_model(model, tmp_path / "model")
    back = load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"C is not known, since the model's file does not hold it; set_params\(C="):
        certify(back, X, y)
    back.set_params(C=0.7)
    if make is LinearSVR:
        back.set_params(epsilon=0.1)
    found = certify(back, X, y)
    assert found.relative_gap < 2e-6
    primals = [part.primal for part in found.parts or (found,)]
    assert primals == pytest.approx([each.primal for each in model.certificates_], rel=1e-6)


def test_more_features_than_the_file_has(tmp_path):
    """Their weights are zero, as LIBLINEAR itself ignores them."""
    write_liblinear_model(LinearSVC().fit(X, TWO), tmp_path / "model")
    model = load(tmp_path / "model", n_features=8)
    wide = np.column_stack([NEW, np.ones((25, 3))])
    np.testing.assert_array_equal(model.predict(wide), load(tmp_path / "model").predict(NEW))
