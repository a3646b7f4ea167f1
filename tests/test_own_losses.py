"""A loss of one's own, and one of the table, as the parameter `loss`: compared with scipy.optimize on the primal."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from own_losses import (
    LABEL_LOSSES,
    REAL_LOSSES,
    LogCosh,
    LogCoshTerms,
    PinballHinge,
    SoftHinge,
    UnevenTube,
    evaluate,
    find_least_primal,
)
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV

from maxmargin import (
    SVC,
    SVR,
    SVRCV,
    LinearSVC,
    LinearSVR,
    RiskClassifier,
    RiskRegressor,
    certify,
    load,
    path,
    risk_bounds,
    save,
)
from maxmargin.blocks import ArrayBlocks
from maxmargin.contracts import Estimator, Loss, PiecewiseLoss
from maxmargin.estimators import small_designs, small_problems
from maxmargin.files.liblinear_model import write_liblinear_model
from maxmargin.files.libsvm_model import write_libsvm_model
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import (
    F1,
    LOSSES,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multivariate,
    Novelty,
    Poisson,
    Quantile,
    SquaredHinge,
    make_piecewise,
)
from maxmargin.model.losses.weighted import infinite_bound, invert_weights
from maxmargin.model_selection import GridSearchCV
from maxmargin.plots.support import has_margin
from maxmargin.plots.tubes import find_width

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
SIGN = np.where(X[:, 0] - 0.5 * X[:, 1] + 0.7 * RNG.normal(size=40) > 0, 1.0, -1.0)
LABEL = np.where(SIGN > 0, "yes", "no")
TARGET = 4.0 + X[:, 0] + 0.5 * X[:, 2] + 0.5 * RNG.standard_t(2, size=40)
CLASSES = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=40), [-0.5, 0.5])
WEIGHT = RNG.integers(1, 4, size=40).astype(float)
CLASSIFIERS = [LinearSVC, RiskClassifier]
REGRESSORS = [LinearSVR, RiskRegressor]
names = {"ids": lambda value: value.name if isinstance(value, Loss) else getattr(value, "__name__", str(value))}


def name_model(value):
    """The class and the loss of a model, for the names of tests."""
    return f"{type(value).__name__}-{value.loss.name}" if isinstance(value, Estimator) else ""


def check_against_scipy(model, loss, Z, y, c, f, tol, free=True):
    """P and D enclose the least P that scipy finds, as far as scipy is at the optimum, and the scores are the same."""
    least, scores = find_least_primal(loss, Z, y, c, free)
    certificate = model.certificate_
    assert certificate.relative_gap <= tol
    assert certificate.dual <= least * (1.0 + 1e-9)
    assert certificate.primal == pytest.approx(least, rel=2.0 * tol + 1e-6)
    np.testing.assert_allclose(f, scores, atol=2e-3 * np.ptp(scores))


# ---- the optimum -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS, **names)
@pytest.mark.parametrize("loss", LABEL_LOSSES, **names)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_linear_classifiers(kind, loss, form):
    """Weighted rows, dense and sparse; labels that are texts."""
    model = kind(loss=loss, C=0.5, intercept="free", tol=1e-8).fit(form(X), LABEL, sample_weight=WEIGHT)
    f = model.decision_function(form(X))
    check_against_scipy(model, loss, X, SIGN, 0.5 * WEIGHT, f, 1e-8)
    np.testing.assert_array_equal(model.predict(form(X)), np.where(f > 0, "yes", "no"))
    primal = 0.5 * float(np.sum(model.coef_**2)) + 0.5 * WEIGHT @ evaluate(loss, f, SIGN)
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("kind", REGRESSORS, **names)
@pytest.mark.parametrize("loss", REAL_LOSSES, **names)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_linear_regressors(kind, loss, form):
    """The parameters of the estimator for named losses are not those of an object."""
    model = kind(loss=loss, C=0.5, intercept="free", tol=1e-8, epsilon=3.0)
    model.fit(form(X), TARGET, sample_weight=WEIGHT)
    check_against_scipy(model, loss, X, TARGET, 0.5 * WEIGHT, model.predict(form(X)), 1e-8)


@pytest.mark.parametrize("loss", [*LABEL_LOSSES, *REAL_LOSSES], **names)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_kernel_machines(loss, form):
    """With a kernel, min 1/2 |w|^2 over w in the span of phi(x_i): the rows of a root of K stand for phi."""
    labels = loss.target == "label"
    kind, y, kernel = (SVC, SIGN, RBF(0.3)) if labels else (SVR, TARGET, RBF(0.3))
    model = kind(kernel=kernel, loss=loss, C=0.8, tol=1e-7).fit(form(X), y, sample_weight=WEIGHT)
    values, V = np.linalg.eigh(kernel(X))
    Z = V * np.sqrt(np.maximum(values, 0.0))
    f = model.decision_function(form(X)) if labels else model.predict(form(X))
    check_against_scipy(model, loss, Z, y, 0.8 * WEIGHT, f, 1e-7)


@pytest.mark.parametrize("intercept", ["regularised", "none"])
@pytest.mark.parametrize("loss", LABEL_LOSSES, **names)
def test_other_intercepts(loss, intercept):
    """A constant column within |w|, or no intercept: linear machines and kernel machines alike."""
    Z = np.hstack([X, np.full((40, 1), float(intercept == "regularised"))])
    for model in (
        SVC(kernel="linear", loss=loss, intercept=intercept, tol=1e-7),
        RiskClassifier(loss, intercept=intercept, tol=1e-7),
    ):
        f = model.fit(X, SIGN).decision_function(X)
        check_against_scipy(model, loss, Z, SIGN, np.ones(40), f, 1e-7, free=False)


@pytest.mark.parametrize("loss", LABEL_LOSSES, **names)
def test_many_classes(loss):
    """Each class against the rest, and each pair: the machines of the binary problems."""
    linear = RiskClassifier(loss, tol=1e-8).fit(X, CLASSES)
    machine = SVC(kernel="linear", loss=loss, multi_class="ovr", tol=1e-8).fit(X, CLASSES)
    rest = np.column_stack([RiskClassifier(loss, tol=1e-8).fit(X, k == CLASSES).decision_function(X) for k in range(3)])
    np.testing.assert_allclose(linear.decision_function(X), rest, atol=1e-3)
    np.testing.assert_allclose(machine.decision_function(X), rest, atol=1e-3)
    assert len(linear.certificates_) == len(machine.certificates_) == 3
    pairs = SVC(kernel="linear", loss=loss, decision_function_shape="ovo", tol=1e-8).fit(X, CLASSES)
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(CLASSES, (i, j))
        alone = SVC(kernel="linear", loss=loss, tol=1e-8).fit(X[rows], CLASSES[rows])
        np.testing.assert_allclose(pairs.decision_function(X)[:, column], -alone.decision_function(X), atol=1e-3)
    assert (pairs.predict(X) == CLASSES).mean() > 0.6


@pytest.mark.parametrize(
    ("kind", "loss", "y"),
    [(kind, loss, SIGN) for kind in (SVC, RiskClassifier) for loss in LABEL_LOSSES]
    + [(kind, loss, TARGET) for kind in (SVR, RiskRegressor) for loss in REAL_LOSSES],
    ids=lambda value: "" if isinstance(value, np.ndarray) else names["ids"](value),
)
def test_weight_two_is_the_row_twice(kind, loss, y):
    """The weights are in c, which the terms see."""
    kernel = {"gamma": 0.3} if kind in (SVC, SVR) else {}
    weighed = kind(loss=loss, tol=1e-8, **kernel).fit(X, y, sample_weight=WEIGHT)
    times = WEIGHT.astype(int)
    repeated = kind(loss=loss, tol=1e-8, **kernel).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    f, g = (model.predict(X) if y is TARGET else model.decision_function(X) for model in (weighed, repeated))
    np.testing.assert_allclose(f, g, atol=1e-3)
    assert weighed.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-7)


# ---- losses of the table as objects ------------------------------------------------------------------------------


def list_named_losses():
    """Every name of every estimator, with parameters that are not the defaults, and the object that it stands for."""
    parameters = {"epsilon": 0.3, "quantile": 0.8, "threshold": 0.4}
    for kind in (SVC, SVR, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor):
        for name in kind.losses:
            if name == "multivariate":
                continue
            own = {key: value for key, value in parameters.items() if key in LOSSES[name].__dataclass_fields__}
            yield pytest.param(kind, name, own, id=f"{kind.__name__}-{name}")


@pytest.mark.parametrize(("kind", "name", "own"), [*list_named_losses()])
def test_objects_of_the_table_give_the_fit_of_their_names(kind, name, own):
    """To the last bit: the same problem is posed, and solved by the same solver."""
    y = SIGN if kind.task == "classification" else np.round(np.abs(TARGET)) if name == "poisson" else TARGET
    named, given = kind(loss=name, **own).fit(X, y), kind(loss=LOSSES[name](**own)).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert named.certificate_.primal == given.certificate_.primal
    assert named.result_.solver == given.result_.solver
    if kind is RiskClassifier and name in ("logistic", "exponential"):
        np.testing.assert_array_equal(named.predict_proba(X), given.predict_proba(X))
    elif kind.task == "classification":
        assert not hasattr(given, "predict_proba")


def test_multivariate_as_an_object():
    """Its metric is its own, and is looked at."""
    Y, M = np.column_stack([TARGET, X[:, 1]]), np.array([[2.0, 0.5], [0.5, 1.0]])
    named, given = RiskRegressor("multivariate", M=M).fit(X, Y), RiskRegressor(Multivariate(M)).fit(X, Y)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert given.is_vector_valued
    with pytest.raises(ValueError, match="M must have a row and a column for each of 2 targets"):
        RiskRegressor(Multivariate(np.eye(3))).fit(X, Y)


def test_classes_at_once_take_the_objects_of_their_losses():
    """Softmax needs the logistic loss, the hinge of Crammer and Singer the hinge of margin 1."""
    for multi_class, name, loss in (("softmax", "logistic", Logistic()), ("crammer_singer", "hinge", Hinge())):
        named = RiskClassifier(name, multi_class=multi_class).fit(X, CLASSES)
        given = RiskClassifier(loss, multi_class=multi_class).fit(X, CLASSES)
        np.testing.assert_array_equal(named.coef_, given.coef_)
    for loss in (Hinge(2.0), PinballHinge()):
        with pytest.raises(ValueError, match=re.escape(f"needs loss='hinge', got loss={loss!r}")):
            RiskClassifier(loss, multi_class="crammer_singer").fit(X, CLASSES)


# ---- what a fitted estimator offers ------------------------------------------------------------------------------


class Deviance(Logistic):
    """A class of the user's with a minimiser that is a function of P(y = 1)."""

    name = "deviance"


def test_probabilities_where_the_loss_has_them():
    """By `logit_scale`, of a loss of one's own as of those of the table."""
    model = RiskClassifier(Deviance()).fit(X, CLASSES)
    np.testing.assert_allclose(model.predict_proba(X), RiskClassifier("logistic").fit(X, CLASSES).predict_proba(X))
    assert model.has_probabilities
    for loss in (SoftHinge(), SquaredHinge()):
        assert not hasattr(RiskClassifier(loss).fit(X, SIGN), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = RiskClassifier(SoftHinge()).predict_proba
    assert "not with SoftHinge(width=0.5)" in str(caught.value.__cause__)


@pytest.mark.parametrize("loss", [*LABEL_LOSSES, *REAL_LOSSES], **names)
def test_path(loss):
    """At each C, certified, and the machine of a single fit."""
    labels = loss.target == "label"
    y, kind = (SIGN, RiskClassifier) if labels else (TARGET, RiskRegressor)
    found = path(X, y, loss=loss, Cs=[0.1, 1.0, 10.0], tol=1e-8)
    assert found.loss == loss.name
    assert found.converged.all()
    for C, w, b in zip(found.Cs, found.coefs, found.intercepts, strict=True):
        model = kind(loss, C=C, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(X @ w + b, X @ model.coef_.ravel() + model.intercept_[0], atol=2e-3)
    with pytest.raises(TypeError, match="has no parameter 'epsilon'"):
        path(X, y, loss=loss, epsilon=0.1)


@pytest.mark.parametrize(("kind", "loss", "y"), [(RiskRegressor, LogCosh(), TARGET), (LinearSVC, PinballHinge(), SIGN)])
def test_blocks(kind, loss, y):
    """Rows in blocks have the same optimum."""
    memory = kind(loss=loss, tol=1e-8).fit(X, y)
    blocks = kind(loss=loss, tol=1e-8).fit(ArrayBlocks(X, y, rows=16))
    assert blocks.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(blocks.coef_, memory.coef_, atol=1e-3)


@pytest.mark.parametrize("loss", LABEL_LOSSES, **names)
def test_certify_and_warm_start(loss):
    """The judge poses the problem again; a second fit starts where the first one ended."""
    for model in (SVC(loss=loss, warm_start=True), RiskClassifier(loss, warm_start=True)):
        model.fit(X, SIGN)
        assert certify(model, X, SIGN).relative_gap <= model.tol
        first, primal = model.n_iter_, model.certificate_.primal
        model.fit(X, SIGN)
        assert np.max(model.n_iter_) <= np.max(first)
        assert model.certificate_.primal == pytest.approx(primal, rel=2 * model.tol)


def test_risk_bounds_promise_only_what_is_proven():
    """Radius and margin are about the two hinges; xi-alpha holds for any piecewise loss."""
    model = SVC(loss=PinballHinge(), tol=1e-8).fit(X, SIGN)
    bounds = risk_bounds(model, X, SIGN, exact=True)
    assert bounds.radius_margin is None
    assert bounds.leave_one_out.error <= bounds.xi_alpha
    assert not bounds.proven
    assert risk_bounds(SVC(loss=Hinge(), tol=1e-8).fit(X, SIGN), X, SIGN).radius_margin > 0
    with pytest.raises(ValueError, match="needs a piecewise loss of one score, and 'soft_hinge' is not one"):
        risk_bounds(RiskClassifier(SoftHinge()).fit(X, SIGN), X, SIGN)


@dataclass(frozen=True)
class HalfHuber(PiecewiseLoss):
    """r^2 / 2 for r = f - y, but 1/2 - r below r = -1: a is bounded on one side only."""

    name = "half_huber"
    target = "real"

    def row(self, y, c):
        """p = -y, d = 1/c, a up to c."""
        return make_piecewise(-y, invert_weights(c), 0.0, -infinite_bound(c), c, c)


def test_bounds_on_one_side_prove_nothing_with_a_free_intercept():
    """The theorem is about duals with equal bounds, or with none."""
    assert not risk_bounds(SVR(loss=HalfHuber(), tol=1e-8).fit(X, TARGET), X, TARGET, exact=False).proven
    assert risk_bounds(SVR(loss=HalfHuber(), intercept="none", tol=1e-8).fit(X, TARGET), X, TARGET, exact=False).proven


def test_pictures_know_the_tube_and_the_margin_of_an_object():
    """Its own epsilon, not that of the estimator; f = 1 where the loss becomes flat there."""
    for kind in (SVR, RiskRegressor):
        tube = kind(loss=EpsilonInsensitive(0.7), epsilon=0.2).fit(X[:, :1], TARGET)
        assert find_width(tube, TARGET - tube.predict(X[:, :1])) == 0.7
        smooth = kind(loss=LogCosh()).fit(X[:, :1], TARGET)
        assert find_width(smooth, TARGET - smooth.predict(X[:, :1])) is None
    shown = [loss for loss in (Hinge(), SquaredHinge(), Hinge(2.0), PinballHinge(), SoftHinge()) if has_margin(loss)]
    assert shown == [Hinge(), SquaredHinge()]


# ---- scikit-learn ------------------------------------------------------------------------------------------------


def test_clone_parameters_and_pickles():
    """The object is a parameter like any other."""
    model = SVC(loss=PinballHinge(0.7), C=2.0)
    assert model.get_params()["loss"] == clone(model).loss == PinballHinge(0.7)
    assert "PinballHinge(tau=0.7)" in repr(model)
    fitted = model.set_params(loss=SoftHinge()).fit(X, SIGN)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(clone(fitted).fit(X, SIGN).decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize("kind", [SVC, RiskClassifier], **names)
def test_grid_search_over_losses(kind):
    """The cells are those of scikit-learn's search."""
    grid = {"loss": ["hinge", PinballHinge(0.1), PinballHinge(0.9), SoftHinge()], "C": [0.1, 1.0]}
    ours = GridSearchCV(kind(tol=1e-6), grid, cv=3).fit(X, CLASSES)
    plain = PlainGridSearchCV(kind(tol=1e-6), grid, cv=3).fit(X, CLASSES)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    assert len(set(ours.cv_results_["mean_test_score"].round(6))) > 1
    assert ours.best_params_ == plain.best_params_


def test_a_machine_that_tunes_itself():
    """With its loss, which is checked first."""
    model = SVRCV(loss=LogCosh(), Cs=[0.1, 1.0, 30.0, 1000.0], gammas=[0.1], cv=3).fit(X, TARGET)
    assert model.best_estimator_.loss == LogCosh()
    assert model.C_ in (1.0, 30.0)
    with pytest.raises(ValueError, match=r"loss must be for targets of the kind 'real' in SVR, and Poisson\(\) is for"):
        SVRCV(loss=Poisson(), Cs=[1.0], gammas=[0.1], cv=3).fit(X, TARGET)


# ---- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SVC(loss=SquaredHinge()), LABEL),
        (SVR(loss=Huber(0.3)), TARGET),
        (LinearSVR(loss=EpsilonInsensitive(0.4)), TARGET),
        (RiskClassifier(Exponential()), CLASSES),
        (RiskRegressor(Quantile(0.9)), TARGET),
        (RiskRegressor(Poisson()), np.round(np.abs(TARGET))),
        (RiskRegressor(Multivariate(np.eye(2))), np.column_stack([TARGET, X[:, 1]])),
    ],
    ids=name_model,
)
def test_files_hold_losses_of_the_table(model, y, tmp_path):
    """The object with its parameters; predictions and probabilities to the last bit, and a warm start."""
    fitted = clone(model).fit(X, y)
    save(fitted, tmp_path / "model.mm")
    kept = load(tmp_path / "model.mm")
    assert kept.loss == model.loss
    np.testing.assert_array_equal(kept.predict(X), fitted.predict(X))
    if model.task == "classification" and type(model) is RiskClassifier:
        np.testing.assert_array_equal(kept.predict_proba(X), fitted.predict_proba(X))
    again = kept.set_params(warm_start=True).fit(X, y)
    np.testing.assert_allclose(again.certificate_.primal, fitted.certificate_.primal, rtol=2 * model.tol)


@pytest.mark.parametrize("loss", [PinballHinge(), SoftHinge(), Deviance()], **names)
def test_files_refuse_losses_of_ones_own(loss, tmp_path):
    """As kernels of one's own: a file holds no code."""
    sentence = f"cannot be kept in a model file: it is an object of the class {type(loss).__name__}."
    for model in (SVC(loss=loss), RiskClassifier(loss)):
        with pytest.raises(ValueError, match=rf"^loss of this {type(model).__name__} {re.escape(sentence)}$"):
            save(model.fit(X, SIGN), tmp_path / "model.mm")
    assert not list(tmp_path.iterdir())


def test_files_of_other_libraries(tmp_path):
    """They have names for some losses of the table, and none for others."""
    write_libsvm_model(SVC(loss=Hinge()).fit(X, SIGN), tmp_path / "given")
    write_libsvm_model(SVC(loss="hinge").fit(X, SIGN), tmp_path / "named")
    assert (tmp_path / "given").read_bytes() == (tmp_path / "named").read_bytes()
    write_liblinear_model(LinearSVC(loss=SquaredHinge(), intercept="regularised").fit(X, SIGN), tmp_path / "linear")
    assert b"L2R_L2LOSS_SVC" in (tmp_path / "linear").read_bytes()
    with pytest.raises(ValueError, match=r"LIBSVM has no SVC with loss=PinballHinge\(tau=0.3\)"):
        write_libsvm_model(SVC(loss=PinballHinge()).fit(X, SIGN), tmp_path / "own")
    with pytest.raises(ValueError, match=r"LIBLINEAR has no LinearSVC with loss=Hinge\(margin=2.0\)"):
        write_liblinear_model(LinearSVC(loss=Hinge(2.0), intercept="regularised").fit(X, SIGN), tmp_path / "own")


# ---- compiled loops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y", "compiled"),
    [
        (SVC(loss=PinballHinge()), SIGN, True),
        (SVC(loss=SoftHinge()), SIGN, False),
        (SVR(loss=LogCosh()), TARGET, False),
        (RiskClassifier(PinballHinge()), SIGN, True),
        (RiskClassifier(SoftHinge()), SIGN, False),
        (RiskRegressor(LogCosh()), TARGET, False),
        (RiskClassifier(Logistic()), SIGN, True),
    ],
    ids=name_model,
)  # fmt: skip
def test_small_routes_take_rows_and_formulas_that_they_know(model, y, compiled, monkeypatch):
    """A smooth loss of one's own is solved by the loop; rows are five numbers, no matter where they come from."""
    calls = []
    for module in (small_problems, small_designs):
        route = module.solve_together
        monkeypatch.setattr(module, "solve_together", lambda *args, _route=route: calls.append(1) or _route(*args))
    assert model.fit(X, y).result_.converged
    assert bool(calls) == compiled


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SVC, SVR, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor], **names)
@pytest.mark.parametrize(
    "value", [3, None, "nonsense", PinballHinge, lambda f, y: f], ids=["number", "None", "name", "class", "function"]
)
def test_anything_else_is_refused(kind, value):
    """With the parameter, what it may be, and what it was."""
    y = SIGN if kind.task == "classification" else TARGET
    sentence = rf"The 'loss' parameter of {kind.__name__} must be .*instance of .*Loss.*Got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=sentence):
        kind(loss=value).fit(X, y)


@dataclass(frozen=True)
class Nameless(PiecewiseLoss):
    """Without the attributes of the contract."""

    def row(self, y, c):
        """|f - y|."""
        return make_piecewise(-y, 0.0, 0.0, -c, c, c)


def test_tags_of_a_loss_without_a_target():
    """They depend on the target, so that they say what is missing, before any fit."""
    with pytest.raises(ValueError, match=r"loss=Nameless\(\) lacks what maxmargin.contracts.Loss requires"):
        RiskRegressor(Nameless()).__sklearn_tags__()


class Unweighted(Nameless):
    """A squared loss whose d is not divided by c."""

    name, target = "unweighted", "real"

    def row(self, y, c):
        """r^2 / 2 up to |a| = c."""
        return make_piecewise(-y, 1.0, 0.0, -c, c, c)


class Inverted(Nameless):
    """With lo above zero."""

    name, target = "inverted", "real"

    def row(self, y, c):
        """a in [c, 2 c]."""
        return make_piecewise(-y, 0.0, 0.0, c, 2.0 * c, c)


class Broken(Nameless):
    """A formula that fails."""

    name, target = "broken", "real"

    def row(self, y, c):
        """No such number."""
        return make_piecewise(-y, 0.0, 0.0, -c, c[: len(c) // 2], c)


class Unknown(LogCosh):
    """Terms of another kind."""

    def terms(self, y, c):
        """A function."""
        return np.abs


class Kinked(LogCosh):
    """Without its curvature."""

    curvature = np.inf


class WrongConjugateTerms(LogCoshTerms):
    """Without -a y."""

    def conjugate(self, a):
        """c ((1+t) log(1+t) + (1-t) log(1-t)) / 2."""
        return super().conjugate(a) + a * self.y


class WrongConjugate(LogCosh):
    """A conjugate whose certificate would be wrong."""

    def terms(self, y, c):
        """Of LogCosh but for the conjugate."""
        return WrongConjugateTerms(y, c)


class DroppingTerms(LogCoshTerms):
    """log(1 + r^2), which is not convex."""

    def value(self, f):
        """c log(1 + r^2)."""
        return self.c * np.log1p((f - self.y) ** 2)

    def response(self, f):
        """-2 c r / (1 + r^2)."""
        r = f - self.y
        a = -2.0 * self.c * r / (1.0 + r * r)
        return a, a


class Dropping(LogCosh):
    """Not convex."""

    def terms(self, y, c):
        """log(1 + r^2)."""
        return DroppingTerms(y, c)


REFUSED = {
    r"loss must be for targets of the kind 'real' in SVR, and Hinge\(margin=1.0\) is for 'label'": (SVR, Hinge()),
    r"loss must be for targets of the kind 'real' in LinearSVR, and Poisson\(\) is for 'count'": (LinearSVR, Poisson()),
    r"the kind 'label' in SVC, and Huber\(threshold=1.0\) is for 'real'": (SVC, Huber()),
    r"the kind 'real' or 'count' or 'vector' in RiskRegressor, and Novelty": (RiskRegressor, Novelty()),
    r"loss=F1\(.*\) does not split over samples; MetricSVC and RankSVM": (RiskClassifier, F1()),
    r"loss=Nameless\(\) lacks what maxmargin.contracts.Loss requires: .*'name'": (SVR, Nameless()),
    r"loss=Unweighted\(\) contradicts itself: terms of weight c=2.5 are not c times": (SVR, Unweighted()),
    r"loss=Inverted\(\) must have d >= 0, e >= 0 and lo <= 0 <= hi in its row": (RiskRegressor, Inverted()),
    r"loss=Broken\(\) failed its check, with ValueError": (SVR, Broken()),
    r"loss=Quantile\(.*\) failed its check, with ValueError": (SVR, Quantile(np.full(7, 0.5))),
    r"loss=Unknown\(\) must have as its terms a row of make_piecewise or SmoothTerms, got ufunc": (SVR, Unknown()),
    r"loss=Kinked\(\) has SmoothTerms, so its curvature must be": (SVR, Kinked()),
    r"loss=WrongConjugate\(\) contradicts itself: value \+ conjugate\(a\) = -a f does not hold at y=0.5": (
        RiskRegressor,
        WrongConjugate(),
    ),
    r"loss=Dropping\(\) contradicts itself: it is not convex between f=-2 and f=-0.75": (SVR, Dropping()),
}


@pytest.mark.parametrize(
    ("sentence", "case"), REFUSED.items(), ids=[type(loss).__name__ for _, loss in REFUSED.values()]
)
def test_losses_that_are_refused(sentence, case):
    """In one sentence that names the parameter and the object, before anything is solved."""
    kind, loss = case
    with pytest.raises(ValueError, match=sentence):
        kind(loss=loss).fit(X, SIGN if kind.task == "classification" else TARGET)


def test_absolute_penalty_needs_a_smooth_loss():
    """The sentence of `RiskClassifier` has the object too."""
    for kind in (LinearSVC, RiskClassifier):
        with pytest.raises(ValueError, match=r"penalty='l1' needs a smooth loss.*loss=PinballHinge\(tau=0.3\)"):
            kind(loss=PinballHinge(), penalty="l1").fit(X, SIGN)
        model = kind(loss=SoftHinge(), penalty="l1", C=0.05, tol=1e-6).fit(X, SIGN)
        assert model.certificate_.relative_gap <= 1e-6
        assert (model.coef_ == 0).any()


def test_negative_counts_are_refused():
    """In the words of the object that was given."""
    with pytest.raises(ValueError, match=r"loss=Poisson\(\) needs targets that are not negative, but y\[0\] is -1"):
        RiskRegressor(Poisson()).fit(X, np.full(40, -1.0))
    with pytest.raises(ValueError, match=r"loss=Poisson\(\) with a free intercept needs a target above zero"):
        RiskRegressor(Poisson()).fit(X, np.zeros(40))


def test_uneven_tube_is_the_formula():
    """The reference of these tests agrees with the row."""
    f = np.linspace(-2, 2, 41)
    np.testing.assert_allclose(UnevenTube().value(f, np.zeros(41)), evaluate(UnevenTube(), f, np.zeros(41)), atol=1e-15)
