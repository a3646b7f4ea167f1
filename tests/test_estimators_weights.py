"""Sample weights of kernel machines count as repetitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_machine_problems import every_model, make_model
from machine_data import decide, make_classes
from textbook import make_data

from maxmargin import SVC


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.4])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@every_model
def test_weights_are_repetitions(name, form, gamma):
    """Weight 2 equals the row twice, weight 0 the row left out: the same decisions, gamma="scale" included."""
    X, y, _ = make_data(name, n=40, seed=7)
    times = np.random.default_rng(8).integers(0, 4, len(y))
    again, data = np.repeat(X, times, axis=0), X
    if form == "sparse":
        again, data = sp.csr_array(again), sp.csr_array(X)
    weighted = make_model(name, gamma=gamma, tol=1e-10).fit(data, y, sample_weight=times)
    repeated = make_model(name, gamma=gamma, tol=1e-10).fit(again, np.repeat(y, times))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(decide(weighted, data), decide(repeated, data), rtol=1e-6, atol=1e-6)
    assert not set(np.flatnonzero(times == 0)) & set(weighted.support_)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 1: 0.5, 2: 1.0}, "balanced"])
def test_weights_are_repetitions_for_many_classes(multi_class, class_weight):
    """Also for pairs, for one against the rest, and with class weights on top."""
    X, y = make_classes(60, 3)
    times = np.random.default_rng(9).integers(0, 4, len(y))
    settings = {"multi_class": multi_class, "class_weight": class_weight, "gamma": 0.6, "tol": 1e-10}
    weighted = SVC(**settings).fit(X, y, sample_weight=times)
    repeated = SVC(**settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-6)


@every_model
def test_unit_weights_change_nothing(name):
    """All weights one is no weights; weights multiply C."""
    X, y, _ = make_data(name, n=40)
    plain, unit = make_model(name, tol=1e-9).fit(X, y), make_model(name, tol=1e-9).fit(X, y, sample_weight=np.ones(40))
    np.testing.assert_array_equal(plain.dual_coef_, unit.dual_coef_)
    if hasattr(plain, "C"):
        double = make_model(name, tol=1e-9, C=2.0 * plain.C).fit(X, y)
        weighted = make_model(name, tol=1e-9).fit(X, y, sample_weight=np.full(40, 2.0))
        np.testing.assert_allclose(decide(double, X), decide(weighted, X), atol=1e-6)


@pytest.mark.parametrize("module_name", [3, "maxmarginal", "__main__"])
def test_the_warning_of_negative_weights_in_code_without_a_module(module_name):
    """Code that is run by `exec` may have any value as its name, and is where the warning points to."""
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    names = {
        "__name__": module_name,
        "fit": SVC().fit,
        "X": X,
        "y": y,
        "weight": np.where(np.arange(20) == 3, -1.0, 1.0),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile("fit(X, y, weight)", "<cell 1>", "exec"), names)
    assert [each.filename for each in caught] == ["<cell 1>"]
