"""Kernel machines take data of every form, and neither copy nor widen large ones."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from kernel_machine_problems import every_estimator, make_targets
from machine_data import decide, equal, freeze, make_classes, widen_indices

from maxmargin import SVC


def shuffle_indices(X: np.ndarray) -> sp.csr_array:
    """CSR with the entries of each row in reverse order."""
    X = sp.csr_array(X)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:stop], X.data[start:stop] = X.indices[start:stop][::-1].copy(), X.data[start:stop][::-1].copy()
    X.has_sorted_indices = False
    return X


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only": freeze,
    "read-only float32": lambda X: freeze(X.astype(np.float32)),
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=["left", "right"]),
    "pandas float32": lambda X: pd.DataFrame(X.astype(np.float32)),
    "pandas mixed": lambda X: pd.DataFrame({"left": X[:, 0], "right": X[:, 1].astype(np.float32)}),
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr 64-bit indices": widen_indices,
    "csr unsorted": shuffle_indices,
    "csc 64-bit indices": lambda X: widen_indices(X).tocsc(),
}


def copy_of(data):
    """A deep copy of data in any form, to compare with later."""
    return pickle.loads(pickle.dumps(data))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.parametrize("form", FORMS)
@every_estimator
def test_every_form_of_data_gives_the_same_answer(estimator, form, kernel):
    """Dense, sparse, framed, read-only, of any order and width: same machine, and X is left alone."""
    X, y = make_targets(estimator, n=60)
    X = np.round(8.0 * X) / 8.0  # exact in float16
    X[np.abs(X) < 0.4] = 0.0
    settings = {"kernel": kernel, "gamma": 0.5, "tol": 1e-9, "coef0": 0.5 if kernel == "poly" else 0.0, "degree": 2}
    plain = estimator(**settings).fit(X, y)
    data = FORMS[form](X)
    before = copy_of(data)
    model = estimator(**settings).fit(data, y)
    np.testing.assert_allclose(decide(model, data), decide(plain, X), rtol=1e-5, atol=1e-5)
    assert equal(data, before)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-7)


def test_frames_give_feature_names():
    """Column names are kept and held against those of prediction; weights and targets may be series."""
    X, y = make_classes(60, 2)
    frame = pd.DataFrame(X, columns=["left", "right"], index=np.arange(60) + 7)
    weight = pd.Series(np.linspace(0.5, 2.0, 60), index=frame.index[::-1])
    model = SVC(tol=1e-8).fit(frame, pd.Series(y, index=frame.index), sample_weight=weight)
    plain = SVC(tol=1e-8).fit(X, y, sample_weight=weight.to_numpy())
    np.testing.assert_array_equal(model.feature_names_in_, ["left", "right"])
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["right", "left"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_maps(tmp_path, dtype):
    """A file opened read-only is fitted and predicted, and the machine does not need the file any more."""
    X, y = make_classes(100, 2)
    path = tmp_path / "X.npy"
    np.save(path, X.astype(dtype))
    mapped = np.load(path, mmap_mode="r")
    model = SVC(tol=1e-8).fit(mapped, y)
    plain = SVC(tol=1e-8).fit(X.astype(dtype), y)
    np.testing.assert_array_equal(model.decision_function(mapped), plain.decision_function(X.astype(dtype)))
    assert not isinstance(model.support_vectors_, np.memmap)
    del mapped
    path.unlink()
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(600, 25000), (5000, 3000)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_large_data_are_neither_copied_nor_widened(dtype, shape, kernel):
    """A fit and a prediction need a few tiles of memory, not a copy of X: half of it in float64 is too much."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape, dtype=np.float32).astype(dtype)
    y = np.arange(len(X)) % 2
    X[:, 0] += 400.0 * y  # far apart, so that support vectors are few
    model = SVC(kernel=kernel, gamma=1e-5, cache_size=1, tol=0.5)
    tracemalloc.start()
    try:
        model.fit(X, y)
        fitting = tracemalloc.get_traced_memory()[1] - model.support_vectors_.nbytes
        tracemalloc.reset_peak()
        started = tracemalloc.get_traced_memory()[0]
        model.predict(X)
        predicting = tracemalloc.get_traced_memory()[1] - started
    finally:
        tracemalloc.stop()
    half = 4 * X.size
    assert fitting < half + 8 * min(len(X), 2000) ** 2
    assert predicting < half


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_prediction_is_bounded_in_memory(kernel, form):
    """Predictions of many rows need far less than the kernel matrix, and equal those of single pieces."""
    X, y = make_classes(1200, 2)
    X = X.astype(np.float64)
    model = SVC(kernel=kernel, C=0.01, tol=1e-2, gamma=0.5).fit(form(X), y)
    new = form(np.random.default_rng(1).normal(size=(40000, 2)))
    whole = 8 * new.shape[0] * len(model.support_)
    assert whole > 2e8
    tracemalloc.start()
    try:
        f = model.decision_function(new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * whole
    pieces = [model.decision_function(new[start : start + 777]) for start in range(0, 40000, 777)]
    np.testing.assert_allclose(f, np.concatenate(pieces), rtol=1e-10, atol=1e-10)
