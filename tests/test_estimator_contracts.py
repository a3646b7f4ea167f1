"""What an estimator is, said by its class; and an estimator of one's own, built on the base."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, get_args

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import SVC, ChainModel, MulticlassModel, RiskClassifier, certify
from maxmargin.blocks import ArrayBlocks
from maxmargin.cli import main, options
from maxmargin.cli.exit_codes import Exit
from maxmargin.contracts.estimators import Estimator, EstimatorFamily, EstimatorTask
from maxmargin.contracts.losses import PiecewiseLoss
from maxmargin.estimators import ESTIMATORS
from maxmargin.estimators.certified import ABSENT_PARAMETERS, CertifiedMachine
from maxmargin.estimators.linear_classifier import LinearClassifier
from maxmargin.estimators.registry import find_estimator, list_names
from maxmargin.files import load, save, write_libsvm
from maxmargin.model.losses import LOSSES, Hinge, make_piecewise
from maxmargin.runtime.scikit_learn import StrOptions

every_estimator = pytest.mark.parametrize("kind", ESTIMATORS.values(), ids=ESTIMATORS)


def make(kind: type[Estimator]) -> Estimator:
    """An estimator with the parameters that it has by itself."""
    return kind(ChainModel()) if kind.family == "structured" else kind()


def make_data(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds that overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, 0)


# ---- the public estimators ------------------------------------------------------------------------------------------


def test_the_registry_has_every_public_estimator():
    public = {name: getattr(maxmargin, name) for name in maxmargin.__all__}
    found = {name: kind for name, kind in public.items() if inspect.isclass(kind) and issubclass(kind, Estimator)}
    assert found == dict(ESTIMATORS)


def test_the_command_line_has_every_estimator_whose_data_fit_into_a_table():
    assert list_names(lambda kind: kind.family != "structured") == list(options.ESTIMATOR_NAMES)
    assert {*options.ESTIMATOR_NAMES} <= {*maxmargin.__all__}


@every_estimator
def test_every_class_says_what_it_is(kind):
    assert kind.task in get_args(EstimatorTask)
    assert kind.family in get_args(EstimatorFamily)
    assert issubclass(kind, CertifiedMachine)
    flags = ("takes_targets", "takes_weights", "takes_queries", "takes_blocks", "takes_sparse", "takes_kernel_matrix")
    assert all(type(getattr(kind, flag)) is bool for flag in (*flags, "is_drop_in", "has_risk_bounds"))


@every_estimator
def test_the_task_is_that_of_scikit_learn(kind):
    model = make(kind)
    asked = {"classification": is_classifier, "regression": is_regressor, "novelty": is_outlier_detector}
    assert [name for name, ask in asked.items() if ask(model)] == [
        "regression" if kind.task == "ranking" else kind.task for _ in range(kind.task != "structured")
    ]


@every_estimator
def test_what_fit_takes_is_what_the_class_says(kind):
    names = inspect.signature(kind.fit).parameters
    assert ("sample_weight" in names) == kind.takes_weights
    assert ("group" in names) == kind.takes_queries


@every_estimator
def test_losses_and_local_parameters_are_parameters(kind):
    names = kind._get_param_names()
    assert ("loss" in names) == bool(kind.losses)
    assert set(kind.tube_losses) <= set(kind.losses)
    assert all("epsilon" in LOSSES[loss].__dataclass_fields__ for loss in kind.tube_losses)
    assert set(kind.local_parameters) <= set(names)
    assert ("checkpoint" in names) == ("checkpoint" in kind.local_parameters)
    assert all(set(kind._parameter_constraints["loss"][0].options) == set(kind.losses) for _ in kind.losses[:1])


@every_estimator
def test_kernel_matrices(kind):
    assert not make(kind).is_kernel_matrix
    if kind.takes_kernel_matrix:
        assert kind(kernel="precomputed").is_kernel_matrix


@every_estimator
def test_blocks(kind):
    """Those that take blocks fit them; the others refuse them in a sentence, before any look at the data."""
    X, y = make_data()
    model = make(kind)
    if kind.family == "structured":
        return
    blocks = ArrayBlocks(X, y.astype(float))
    if kind.takes_blocks:
        assert model.fit(blocks).certificate_.relative_gap <= model.tol
    else:
        with pytest.raises(ValueError, match="needs data in memory"):
            model.fit(blocks, y)


def test_a_model_of_another_library_is_known_by_its_name():
    import sklearn.svm

    assert find_estimator(sklearn.svm.SVC(), lambda kind: kind.is_drop_in) is SVC
    assert find_estimator(sklearn.svm.SVC(), lambda kind: kind.family == "linear") is None
    assert find_estimator(object(), lambda kind: True) is None


@every_estimator
def test_a_fit_and_its_file_leave_results(kind, tmp_path):
    """A compact file has certificates alone; a clone has nothing."""
    X, y = make_data()
    y = y.astype(float) if kind.task in ("regression", "ranking") else y
    model = kind(MulticlassModel()) if kind.family == "structured" else kind()
    assert not model.has_results
    assert model.fit(X, y).has_results
    assert not clone(model).has_results
    for compact in (False, True):
        save(model, tmp_path / "model.maxmargin", compact=compact)
        loaded = load(tmp_path / "model.maxmargin")
        assert loaded.has_results == hasattr(loaded, "result_") == (not compact)
        assert loaded.certificate_.primal == model.certificate_.primal


# ---- weights --------------------------------------------------------------------------------------------------------


@every_estimator
def test_negative_weights_mean_the_same_everywhere(kind):
    """Rows of negative weight are left out, with one sentence at the line of the user."""
    X, y = make_data()
    y = y.astype(float) if kind.task in ("regression", "ranking") else y
    weight = np.ones(len(y))
    weight[[4, 7]] = -1.0
    model = kind(MulticlassModel()) if kind.family == "structured" else kind()
    with pytest.warns(
        UserWarning, match=r"sample_weight\[4\] is -1; samples with a negative weight are left out"
    ) as told:
        model.fit(X, y, sample_weight=weight)
    assert [each.filename for each in told] == [__file__]
    without = clone(model).fit(X, y, sample_weight=np.maximum(weight, 0.0))
    assert model.certificate_.primal == without.certificate_.primal


def test_negative_weights_in_blocks():
    X, y = make_data()
    weight = np.where(np.arange(len(y)) < 2, -1.0, 1.0)
    with pytest.warns(UserWarning, match="negative for 2 samples; samples with a negative weight are left out") as told:
        maxmargin.LinearSVC().fit(ArrayBlocks(X, y, weight))
    assert told[0].filename == __file__


# ---- an estimator of one's own --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SmoothHinge(PiecewiseLoss):
    """max_{0 <= t <= 1} t (1 - y f) - width t^2 / 2: the hinge with its kink rounded off."""

    width: float = 0.5
    name = "smooth_hinge"
    target = "label"

    def row(self, y, c):
        """p = -y, d = width / c, a between 0 and y c."""
        return make_piecewise(-y, self.width / c, 0.0, np.minimum(0.0, y * c), np.maximum(0.0, y * c), c)


class SmoothHingeSVC(LinearClassifier):
    """min 1/2 |w|^2 + C sum_i s_i l(y_i (<w, x_i> + b)), l the smooth hinge."""

    tol, solver, max_iter, max_seconds, warm_start, verbose = 1e-8, "auto", -1, None, False, 0

    def __init__(self, width=0.5, *, C=1.0):
        self.width = width
        self.C = C

    def _loss(self):
        return SmoothHinge(self.width)


def test_an_estimator_of_ones_own_fits_predicts_and_is_certified():
    X, y = make_data()
    model = SmoothHingeSVC(C=2.0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    assert (model.task, model.family, model.takes_blocks) == ("classification", "linear", True)
    assert model.score(X, y) > 0.8
    assert certify(model, X, y).relative_gap <= 1e-6
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    t = np.clip((1.0 - margins) / 0.5, 0.0, 1.0)
    losses = t * (1.0 - margins) - 0.25 * t**2
    assert model.certificate_.primal == pytest.approx(0.5 * np.sum(model.coef_**2) + 2.0 * losses.sum(), rel=1e-7)


class RoundedRiskClassifier(RiskClassifier):
    """`RiskClassifier` with one more loss, and its parameter."""

    losses = (*RiskClassifier.losses, "smooth_hinge")
    _parameter_constraints: ClassVar[dict] = {
        **RiskClassifier._parameter_constraints,
        "loss": [StrOptions(set(losses))],
        "width": [Real],
    }

    def __init__(self, loss="smooth_hinge", *, width=0.5, C=1.0, penalty="l2", tol=1e-8):
        super().__init__(loss, C=C, penalty=penalty, tol=tol)
        self.width = width


def test_a_loss_of_ones_own_in_the_table(monkeypatch):
    """By its name, with its parameter; with |w|_1 since it has no kink, which the loss itself says."""
    monkeypatch.setitem(LOSSES, "smooth_hinge", SmoothHinge)
    X, y = make_data()
    model = RoundedRiskClassifier(width=0.1, C=2.0).fit(X, y)
    assert model.pose_first_problem(X, y).loss == SmoothHinge(0.1)
    np.testing.assert_allclose(model.coef_, SmoothHingeSVC(0.1, C=2.0).fit(X, y).coef_, rtol=1e-4)
    assert RoundedRiskClassifier("hinge").fit(X, y).pose_first_problem(X, y).loss == Hinge()
    assert RoundedRiskClassifier(penalty="l1").fit(X, y).certificate_.relative_gap <= 1e-8
    with pytest.raises(ValueError, match="penalty='l1' needs a smooth loss"):
        RoundedRiskClassifier("hinge", penalty="l1").fit(X, y)


def test_it_is_an_estimator_of_scikit_learn_and_takes_blocks():
    X, y = make_data()
    model = clone(SmoothHingeSVC(width=0.1)).set_params(C=0.5)
    memory = model.fit(X, y).coef_
    np.testing.assert_allclose(clone(model).fit(ArrayBlocks(X, y)).coef_, memory, atol=1e-3)
    assert model.pose_first_problem(X, y).loss == SmoothHinge(0.1)


def test_it_is_interrupted_by_its_budget_like_every_other():
    X, y = make_data(2000)
    model = SmoothHingeSVC()
    model.max_seconds = 1e-9
    with pytest.warns(ConvergenceWarning) as told:
        model.fit(X, y)
    assert told[0].filename == __file__


def test_it_is_an_estimator_of_the_command_line(tmp_path, monkeypatch, capsys):
    """Trained, resumed, cross-validated and searched for C, though it has no parameter verbose, warm_start or other."""
    monkeypatch.setitem(ESTIMATORS, "SmoothHingeSVC", SmoothHingeSVC)
    monkeypatch.setattr(options, "ESTIMATOR_NAMES", (*options.ESTIMATOR_NAMES, "SmoothHingeSVC"))
    monkeypatch.chdir(tmp_path)
    X, y = make_data()
    write_libsvm("rows", X, y)
    asked = ["--estimator", "SmoothHingeSVC"]
    assert main(["train", "rows", "m", "--C", "2", *asked]) == Exit.SUCCESS
    model = load("m")
    assert vars(model).keys().isdisjoint(("verbose", "warm_start", "max_seconds"))
    np.testing.assert_allclose(model.coef_, SmoothHingeSVC(C=2.0).fit(X, y).coef_, rtol=1e-6)
    assert main(["predict", "rows", "m", "out", "--quiet"]) == Exit.SUCCESS
    assert np.array_equal(np.loadtxt("out"), model.predict(X))
    assert main(["train", "rows", "--resume", "m", "--quiet"]) == Exit.SUCCESS
    assert load("m").n_iter_ < model.n_iter_
    capsys.readouterr()
    assert main(["train", "rows", "--folds", "3", *asked]) == Exit.SUCCESS
    assert "Cross Validation Accuracy" in capsys.readouterr().out
    assert main(["train", "rows", "--find-C", "--quiet", *asked]) == Exit.SUCCESS
    assert "Best C" in capsys.readouterr().out
    assert main(["train", "rows", "--max-seconds", "9", *asked]) == Exit.USAGE
    assert "--max-seconds is no parameter of SmoothHingeSVC" in capsys.readouterr().err


def test_a_class_without_its_hooks_is_not_made():
    with pytest.raises(TypeError, match="abstract"):
        CertifiedMachine()
    assert "penalty" in ABSENT_PARAMETERS
