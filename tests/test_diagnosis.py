"""What a fit will cost and what is odd about its data, before it begins."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from long_fits import make_clouds, make_sequences
from sklearn.base import clone
from sklearn.svm import SVC as TheirSVC

from maxmargin import (
    SVC,
    SVR,
    ChainModel,
    LinearSVC,
    LinearSVR,
    MetricSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    StructuredSVM,
    diagnose,
)  # fmt: skip
from maxmargin.diagnosis import describe_scale
from maxmargin.expense import KERNEL, LINEAR, Pilot, draw_rows, grow, predict_seconds, run_pilots

ESTIMATORS = (
    SVC(), NuSVC(), SVR(), NuSVR(), OneClassSVM(), LinearSVC(), LinearSVR(), RiskClassifier(), RiskRegressor(),
    MetricSVC(), RankSVM(),
)  # fmt: skip


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_every_estimator_is_diagnosed(model):
    """Seconds, bytes, a solver and a headline; the model is as it was."""
    X, y = make_clouds(1100, 5)
    found = diagnose(model, X, y)
    assert 0 < found.seconds < 60
    assert found.bytes > 0
    assert found.headline.startswith(f"{type(model).__name__} on 1,100 samples of 5 features: about ")
    assert f"Solver: {found.solver}" in str(found)
    assert not hasattr(model, "certificate_")


@pytest.mark.parametrize(
    ("model", "shape"),
    [(SVC(), (8000, 10)), (SVC(C=10.0), (6000, 10, 4)), (LinearSVC(loss="hinge"), (60_000, 20)), (SVR(), (6000, 10))],
    ids=["kernel", "pairs", "linear", "regression"],
)
def test_the_time_is_about_right(model, shape):
    """Within a factor of 3 where nothing else runs; here, with other programs beside it, of 6."""
    X, y = make_clouds(*shape)
    found = diagnose(model, X, y)
    began = time.perf_counter()
    clone(model).fit(X, y)
    seconds = time.perf_counter() - began
    assert seconds / 6 < found.seconds < 6 * seconds + 0.2


@pytest.mark.parametrize("form", [sp.csr_array, np.asarray, np.float32], ids=["sparse", "float64", "float32"])
def test_forms_of_data(form):
    """Sparse and single precision."""
    X, y = make_clouds(1100, 30)
    assert diagnose(SVC(), form(X), y).n_features == 30


def test_weights_frames_and_labels():
    """Data frames with labels of text, weights, and class weights by name."""
    pandas = pytest.importorskip("pandas")
    X, y = make_clouds(1100, 3)
    labels = np.array(["no", "yes"])[y]
    found = diagnose(SVC(class_weight={"no": 2.0}), pandas.DataFrame(X), pandas.Series(labels), np.ones(1100))
    assert found.n_samples == 1100


def test_gram_matrices():
    """Rows and columns of the parts are the same samples."""
    X, y = make_clouds(1100, 3)
    assert diagnose(SVC(kernel="precomputed"), X @ X.T, y).scale == []


def test_warnings_are_not_repeated():
    """Fits of parts do not warn."""
    X, y = make_clouds(1100, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diagnose(SVC(C=1e6, kernel="linear", max_iter=10), X, y)


@pytest.mark.parametrize(
    "model", [TheirSVC(), "SVC", StructuredSVM(ChainModel())], ids=["theirs", "text", "structures"]
)
def test_other_models_are_refused(model):
    """One sentence that names the parameter."""
    with pytest.raises(ValueError, match="model must be an estimator of maxmargin for rows of features, got"):
        diagnose(model, *make_clouds(300, 5))


def test_other_data_are_refused():
    """Data that are not in memory."""
    from maxmargin.blocks import ArrayBlocks

    X, y = make_clouds(300, 5)
    with pytest.raises(ValueError, match="X must be in memory, got ArrayBlocks"):
        diagnose(LinearSVC(), ArrayBlocks(X, y))


def test_wrong_data_are_refused_as_by_fit():
    """The sentences of fit."""
    X, y = make_clouds(300, 5)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        diagnose(SVC(), X, y[:100])
    with pytest.raises(ValueError, match="NaN"):
        diagnose(SVC(), np.full((300, 5), np.nan), y)


# ---- the scale of the features --------------------------------------------------------------------------------------


def test_scales_are_described():
    """One feature that drowns the others, constant ones, and spreads that differ."""
    X, _ = make_clouds(300, 5)
    assert describe_scale(X) == []
    wide, flat, uneven = X.copy(), X.copy(), X * np.array([1.0, 5.0, 25.0, 1.0, 1.0])
    wide[:, 3] *= 1e6
    flat[:, 1] = 7.0
    assert describe_scale(wide)[0].startswith("Feature 3 spans 1e+06 times the others")
    assert describe_scale(flat) == ["Feature 1 is constant and says nothing; leave it out."]
    flat[:, 2] = 0.0
    assert describe_scale(flat)[0] == "2 features are constant and say nothing, such as 1; leave them out."
    assert "spreads from" in describe_scale(uneven)[0]
    assert describe_scale(sp.csr_array(flat)) == []  # empty columns are what sparse data are made of


# ---- fits of parts --------------------------------------------------------------------------------------------------


def test_parts_have_every_class():
    """Two rows of each at least, and the others in proportion."""
    labels = np.repeat([0, 1, 2], [900, 97, 3])
    rows = draw_rows(labels, 1000, 100)
    assert np.bincount(labels[rows]).tolist() == [90, 10, 2]
    assert len(draw_rows(None, 1000, 100)) == 100
    np.testing.assert_array_equal(draw_rows(labels, 1000, 1000), np.arange(1000))


def test_few_rows_are_fitted_whole():
    """Then the time is known, not guessed."""
    X, y = make_clouds(400, 5)
    (pilot,) = run_pilots(SVC(), X, y, None)
    assert pilot.rows == 400
    assert predict_seconds([pilot], 400) == (pilot.seconds, False)


def test_growth_is_by_kind():
    """Through two times, with the growth of the kind of machine."""
    X, y = make_clouds(1100, 5)
    for model, growth in ((SVC(), KERNEL), (LinearSVC(), LINEAR)):
        fitted = model.fit(X, y)
        pilots = [Pilot(1000, 1000.0**growth, True, fitted), Pilot(4000, 4000.0**growth, True, fitted)]
        assert grow(fitted, 64_000) == growth
        assert predict_seconds(pilots, 64_000)[0] == pytest.approx(64_000.0**growth)


def test_a_part_that_does_not_end_is_a_lower_bound():
    """More than so long."""
    X, y = make_clouds(1100, 5)
    fitted = SVC().fit(X, y)
    seconds, at_least = predict_seconds([Pilot(300, 1.0, True, fitted), Pilot(1200, 5.0, False, fitted)], 4800)
    assert at_least
    assert seconds > 20


def test_structures_have_no_rows():
    """Sequences are refused before anything is fitted."""
    with pytest.raises(ValueError, match="rows of features"):
        diagnose(StructuredSVM(ChainModel()), *make_sequences(5))
