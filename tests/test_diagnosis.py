"""What a fit will cost and what is odd about its data, before it begins."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from every_estimator import every_estimator
from long_fits import make_clouds, make_sequences
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as TheirSVC
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import (
    SVC,
    SVR,
    ChainModel,
    LinearSVC,
    MetricSVC,
    Status,
    StructuredSVM,
    diagnose,
)  # fmt: skip
from maxmargin.insight import cost as cost_module
from maxmargin.insight import diagnosis as diagnosis_module
from maxmargin.insight.cost import (
    KERNEL_GROWTH,
    LINEAR_GROWTH,
    MAX_PILOT_CLASSES,
    Pilot,
    choose_growth,
    draw_rows,
    fit_part,
    keep_few_classes,
    predict_seconds,
    run_pilots,
)  # fmt: skip
from maxmargin.insight.diagnosis import announce, describe_scale


@every_estimator
def test_every_estimator_is_diagnosed(model):
    """Seconds, bytes, a solver and a headline; the model is as it was."""
    X, y = make_clouds(1100, 5)
    found = diagnose(model, X, y)
    assert 0 < found.seconds < np.inf
    assert found.bytes > 0
    extent = "more than" if found.at_least else "about"  # where a pilot had no time to end
    assert found.headline.startswith(f"{type(model).__name__} on 1,100 samples of 5 features: {extent} ")
    assert f"Solver: {found.solver}" in str(found)
    assert not hasattr(model, "certificate_")


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
        assert diagnose(SVC(C=1e6, kernel="linear", max_iter=10), X, y).seconds > 0


@pytest.mark.parametrize(
    ("model", "got"),
    [
        (TheirSVC(), r"SVC\(\)"),
        ("SVC", "'SVC'"),
        (StructuredSVM(ChainModel()), "StructuredSVM"),
        (np.eye(3), "ndarray"),
    ],
    ids=["theirs", "text", "structures", "data"],
)
def test_other_models_are_refused(model, got):
    """One sentence that names the parameter, and not all the data where they were given first."""
    with pytest.raises(ValueError, match=f"model must be an estimator of maxmargin for rows of features, got {got}"):
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
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        diagnose(SVC(), X, np.zeros(300))


# ---- where it cannot be predicted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [700, 1500, 4500])
def test_parts_that_cannot_be_fitted_are_passed_over(k):
    """A part has fewer rows than a metric looks at; larger ones, or the whole, have enough."""
    X, y = make_clouds(6000, 5)
    found = diagnose(MetricSVC("precision_at_k", k=k), X, y)
    assert found.seconds > 0
    assert "bundle" in found.solver


def test_errors_of_a_kernel_in_parts_are_passed_over():
    """Whatever a function of the user's says to fewer rows than it expects."""
    X, y = make_clouds(1100, 3)

    def kernel(A, B):
        if len(A) < 1100:
            raise KeyError("not all of them")
        return A @ B.T

    assert diagnose(SVC(kernel=kernel), X, y).seconds > 0


@pytest.mark.parametrize("error", [ValueError, MemoryError])
def test_a_fit_is_announced_or_not(error, monkeypatch):
    """Before a fit nothing is said where the diagnosis fails: the fit goes on, and says itself what is wrong."""
    X, y = make_clouds(1100, 5)
    monkeypatch.setattr(diagnosis_module, "MIN_ANNOUNCED_ENTRIES", 1)
    monkeypatch.setattr(diagnosis_module, "ANNOUNCED_SECONDS", 0.0)
    assert announce(SVC(), X, y, None).startswith("SVC on 1,100 samples of 5 features: ")

    def fail(*given):
        raise error("no")

    monkeypatch.setattr(diagnosis_module, "foresee", fail)
    assert announce(SVC(), X, y, None) is None


# ---- many classes ---------------------------------------------------------------------------------------------------


def make_noise(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that have nothing to do with the features; every class is there."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 5)), np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [SVC(), LinearSVC(loss="hinge"), SVC(multi_class="ovr")], ids=["pairs", "rest", "kernel"]
)
@pytest.mark.usefixtures("own_clock")
def test_many_classes_are_diagnosed_soon(model):
    """About a second, for fits of up to 320,000 pairs of classes."""
    X, y = make_noise(8000, 800)
    diagnose(model, *make_clouds(300, 5, 3))  # compiles
    watch = OwnTimer()
    found = diagnose(model, X, y)
    assert watch.seconds < 1.0 + SLACK_SECONDS
    assert found.seconds > watch.seconds  # else a fit would say more


def test_a_few_classes_stand_for_all():
    """Pairs of some, so many times fewer than all; not where weights name classes, nor for each class and the rest."""
    X, y = make_noise(1000, 100)
    few = keep_few_classes(SVC(), X, y, np.arange(1000.0))
    assert len(np.unique(few.y)) == MAX_PILOT_CLASSES
    np.testing.assert_array_equal(few.X, X[np.isin(y, few.y)])
    np.testing.assert_array_equal(few.weight, np.flatnonzero(np.isin(y, few.y)))
    assert few.n_classes == 100
    assert few.times == pytest.approx(100 * 99 / (MAX_PILOT_CLASSES * (MAX_PILOT_CLASSES - 1)))
    for model in (SVC(class_weight={0: 2.0}), SVC(multi_class="ovr"), LinearSVC()):
        assert keep_few_classes(model, X, y, None).times == 1.0
        assert keep_few_classes(model, X, y, None).X is X
    assert keep_few_classes(SVR(), X, y, None).n_classes == 1
    gram = keep_few_classes(SVC(kernel="precomputed"), X @ X.T, y, None)
    np.testing.assert_allclose(gram.X, few.X @ few.X.T)


class Unfinished(SVC):
    """A fit of 3 seconds, of whose problems only the first `n_ended` end in time."""

    n_ended = 0

    def fit(self, X, y, sample_weight=None):
        """As `SVC`, but for the status of the other problems."""
        super().fit(X, y, sample_weight)
        late = [replace(result, status=Status.MAX_SECONDS) for result in self.results_[self.n_ended :]]
        self.results_ = [*self.results_[: self.n_ended], *late]
        return self


@pytest.mark.parametrize(("n_ended", "known", "seconds"), [(9, True, 15.0), (45, True, 3.0), (7, False, 3.0)])
def test_problems_without_time_are_predicted_from_the_others(monkeypatch, n_ended, known, seconds):
    """Of 45 pairs 9 end in 3 s: all take five times as long. Where too few end, the 3 s are a lower bound."""
    X, y = make_noise(200, 10)
    monkeypatch.setattr(Unfinished, "n_ended", n_ended)
    monkeypatch.setattr(cost_module, "time", SimpleNamespace(perf_counter=iter([10.0, 13.0]).__next__))
    pilot = fit_part(Unfinished(), X, y, None, 200, 3.0)
    assert len(pilot.model.results_) == 45
    assert (pilot.ended, pilot.seconds) == (known, seconds)


# ---- the scale of the features --------------------------------------------------------------------------------------


def test_scales_are_described():
    """One feature that drowns the others, constant ones, and spreads that differ."""
    X, _ = make_clouds(300, 5)
    assert describe_scale(X) == []
    wide, flat, uneven = X.copy(), X.copy(), X * np.array([1.0, 5.0, 25.0, 1.0, 1.0])
    wide[:, 3] *= 1e6
    flat[:, 1] = 7.0
    assert describe_scale(wide)[0].startswith("Feature 3 spans 1e+06 times the others")
    assert describe_scale(flat) == ["Feature 1 is constant and carries no information; leave it out."]
    flat[:, 2] = 0.0
    assert describe_scale(flat)[0] == "2 features are constant and carry no information, such as 1; leave them out."
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
    for model, growth in ((SVC(), KERNEL_GROWTH), (LinearSVC(), LINEAR_GROWTH)):
        fitted = model.fit(X, y)
        pilots = [Pilot(1000, 1000.0**growth, True, fitted), Pilot(4000, 4000.0**growth, True, fitted)]
        assert choose_growth(fitted, 64_000) == growth
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


def test_a_linear_kernel_has_quicker_machines():
    """Said of kernel machines that stop early, and not of linear ones."""
    X, y = make_clouds(200, 10)
    with pytest.warns(ConvergenceWarning, match=r"LinearSVC\(loss='hinge'\) and LinearSVR are faster"):
        SVC(kernel="linear", C=100.0, max_iter=5).fit(X, y)
    with pytest.warns(ConvergenceWarning) as caught:
        LinearSVC(loss="hinge", C=100.0, tol=1e-12, max_iter=1).fit(X, y)
    assert "are faster" not in str(caught[0].message)
