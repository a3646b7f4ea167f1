"""Linear estimators take data of every form, and copy nothing that is large."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from linear_machine_problems import every_estimator, make_model
from linear_reference import make_data
from machine_data import decide, equal, freeze, make_classes, widen_indices
from sklearn.base import clone

from maxmargin import LinearSVC
from maxmargin.estimators.validation import check_design

FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": freeze,
    "integers": lambda X: (8.0 * X).astype(np.int64),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=["left", "middle", "right"]),
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr 64-bit indices": widen_indices,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["LinearSVC hinge", "LinearSVR epsilon_insensitive", "logistic", "huber"])
def test_every_form_of_data_gives_the_same_answer(name, form):
    """Dense, sparse, framed, read-only, of any order and width: the same machine, and X is left alone."""
    model = make_model(name, tol=1e-9)
    X, y, _ = make_data(model, n=60)
    X = np.round(8.0 * X) / 8.0  # exact in every form
    X[np.abs(X) < 0.4] = 0.0
    if form == "integers":
        X *= 8.0
    data = FORMS[form](X if form != "integers" else X / 8.0)
    before = copy.deepcopy(data)
    plain, model = clone(model).fit(X, y), clone(model).fit(data, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(decide(model, data), decide(plain, X), rtol=1e-3, atol=1e-3)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-7)
    assert equal(data, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_estimator
def test_memory_maps_are_not_copied(tmp_path, estimator, dtype):
    """A file opened read-only is what the solver sees; the machine does not need it any more."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.normal(size=(3000, 800)).astype(dtype))
    mapped, y = np.load(tmp_path / "X.npy", mmap_mode="r"), np.arange(3000) % 2
    model = estimator()
    tracemalloc.start()
    try:
        data, _ = check_design(model, mapped, y)
        samples = model._features(data, model._make_kernel(data)).samples
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.shares_memory(samples.X, mapped)
    assert peak < 0.1 * mapped.nbytes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_prediction_copies_nothing(dtype, n_classes):
    """Predictions of large data need a few tiles of memory, and equal those of single pieces."""
    X, y = make_classes(90, n_classes)
    wide = np.zeros((90, 500))
    wide[:, :2] = X
    model = LinearSVC().fit(wide, y)
    new = np.random.default_rng(0).normal(size=(30000, 500)).astype(dtype)
    tracemalloc.start()
    try:
        f = model.decision_function(new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5e7 < new.nbytes
    pieces = [model.decision_function(new[start : start + 7777]) for start in range(0, 30000, 7777)]
    np.testing.assert_allclose(f, np.concatenate(pieces), rtol=1e-10, atol=1e-10)
    sparse = sp.csr_array(new[:2000])
    np.testing.assert_allclose(model.decision_function(sparse), f[:2000], rtol=1e-6, atol=1e-6)


def test_frames_give_feature_names():
    """Column names are kept and held against those of prediction; weights and targets may be series."""
    X, y = make_classes(60, 2)
    frame = pd.DataFrame(X, columns=["left", "right"], index=np.arange(60) + 7)
    weight = pd.Series(np.linspace(0.5, 2.0, 60), index=frame.index[::-1])
    model = LinearSVC(tol=1e-8).fit(frame, pd.Series(y, index=frame.index), sample_weight=weight)
    plain = LinearSVC(tol=1e-8).fit(X, y, sample_weight=weight.to_numpy())
    np.testing.assert_array_equal(model.feature_names_in_, ["left", "right"])
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["right", "left"]])
