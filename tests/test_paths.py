"""path(X, y, Cs=...): at every C the machine that a fit by itself would give, certified."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from linear_problems import EXAMPLES, make_data
from sklearn.exceptions import ConvergenceWarning

from maxmargin import RiskClassifier, RiskRegressor, path
from maxmargin.estimators.risk_classifier import CLASSIFICATION_LOSSES
from maxmargin.estimators.risk_regressor import REGRESSION_LOSSES
from maxmargin.plots import plot_path
from maxmargin.solvers.paths import extrapolate
from maxmargin.solvers.result import Status

mpl.use("Agg")
LOSSES = (*CLASSIFICATION_LOSSES, *REGRESSION_LOSSES)
CS = np.array([0.01, 0.1, 0.5, 1.0, 10.0])
every_loss = pytest.mark.parametrize("loss", LOSSES)


def make(loss: str, n: int = 60, weighted: bool = False):
    """X, y and weights for a loss."""
    X, y, c = make_data(EXAMPLES[loss], n=n, weighted=weighted)
    return X, y, c / 0.7 if weighted else None


def fit(loss: str, X, y, C: float, weight=None, tol: float = 1e-6, **settings):
    """A machine fitted by itself."""
    machine = RiskClassifier if loss in CLASSIFICATION_LOSSES else RiskRegressor
    return machine(loss, C=C, tol=tol, **settings).fit(X, y, weight)


def check_path(found, loss, X, y, weight=None, tol: float = 1e-6, **settings) -> None:
    """P at every C is that of a cold fit, within both tolerances; coefs and intercepts are those of the results."""
    assert found.converged.all()
    assert found.coefs.shape == (len(found.Cs), X.shape[1])
    assert found.intercepts.shape == (len(found.Cs),)
    for place, C in enumerate(found.Cs):
        alone = fit(loss, X, y, C, weight, tol, **settings)
        expected = alone.certificate_.primal
        assert found.certificates[place].primal == pytest.approx(expected, rel=2.0 * tol, abs=1e-12)
        assert found.certificates[place].relative_gap <= tol
        scale = 1.0 + np.abs(alone.coef_).max()
        np.testing.assert_allclose(found.coefs[place], np.ravel(alone.coef_), atol=0.02 * scale)
    assert found.certificate.relative_gap == max(each.relative_gap for each in found.certificates)
    assert found.seconds == pytest.approx(sum(result.seconds for result in found.results))
    assert found.loss == loss


# ---- the same as fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
@every_loss
def test_path_equals_fits(loss, intercept):
    """Every loss, every intercept."""
    X, y, _ = make(loss)
    check_path(path(X, y, Cs=CS, loss=loss, tol=1e-6, intercept=intercept), loss, X, y, intercept=intercept)


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32], ids=["dense", "sparse", "float32"])
@every_loss
def test_path_with_weights(loss, form):
    """Sample weights, zero among them, on data of every form."""
    X, y, weight = make(loss, weighted=True)
    X = X.astype(np.float32).astype(float)
    check_path(path(form(X), y, Cs=CS, loss=loss, sample_weight=weight, tol=1e-6), loss, X, y, weight)


@pytest.mark.parametrize("solver", ["multipliers", "interior_point", "coordinate", "smo"])
def test_path_with_a_solver_of_ones_own(solver):
    """Any solver can follow a path."""
    X, y, _ = make("hinge")
    check_path(path(X, y, Cs=CS, tol=1e-6, solver=solver), "hinge", X, y)


def test_default_values():
    """Thirty values of C from 1e-3 to 1e2, to 1e-4."""
    X, y, _ = make("hinge")
    found = path(X, y)
    np.testing.assert_allclose(found.Cs, np.logspace(-3, 2, 30))
    assert (found.loss, found.converged.all()) == ("hinge", True)
    assert found.certificate.relative_gap <= 1e-4


def test_intercept_scaling():
    """The constant column of a regularised intercept."""
    X, y, _ = make("hinge")
    settings = {"intercept": "regularised", "intercept_scaling": 3.0}
    found = path(X, y, Cs=CS, tol=1e-7, **settings)
    check_path(found, "hinge", X, y, tol=1e-7, **settings)
    alone = fit("hinge", X, y, CS[2], tol=1e-7, **settings)
    assert found.intercepts[2] == pytest.approx(float(alone.intercept_[0]), abs=1e-2)


# ---- the order of Cs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Cs", [[1.0, 0.01, 10.0, 0.1], [10.0, 1.0, 0.1], [1.0, 1.0, 0.1, 1.0, 0.1], [2.0]], ids=str)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute"])
def test_order_is_kept(loss, Cs):
    """Unsorted, falling and repeated values come back in the order in which they were given."""
    X, y, _ = make(loss)
    found = path(X, y, Cs=Cs, loss=loss, tol=1e-6)
    np.testing.assert_array_equal(found.Cs, Cs)
    check_path(found, loss, X, y)
    primals = np.array([certificate.primal for certificate in found.certificates])[np.argsort(Cs, kind="stable")]
    assert (np.diff(primals) >= -1e-6 * primals[1:]).all()  # losses that are not negative weigh more and more


@pytest.mark.parametrize("Cs", [(0.1, 1.0), [1], 3.0, np.float32(0.5), range(1, 4), np.array([1, 2])], ids=repr)
def test_forms_of_costs(Cs):
    """Tuples, integers, one number, a range."""
    X, y, _ = make("hinge")
    found = path(X, y, Cs=Cs)
    np.testing.assert_allclose(found.Cs, np.atleast_1d(np.asarray(Cs, float)))


def test_values_far_apart_and_close():
    """A prediction from the two before is of no use here, and does no harm."""
    X, y, _ = make("hinge")
    Cs = [1e-6, 1e-3, 1e-3 * (1.0 + 1e-12), 1.0, 1.0 + 1e-9, 1e4]
    check_path(path(X, y, Cs=Cs, tol=1e-5), "hinge", X, y, tol=1e-5)


def test_extrapolation():
    """Lagrange's weights: exact for a line; the last place alone where two coincide or the next is far."""
    np.testing.assert_allclose(extrapolate(np.array([1.0, 2.0]), 3.0) @ np.array([5.0, 7.0]), 9.0)
    np.testing.assert_array_equal(extrapolate(np.array([1.0, 1.0]), 2.0), [0.0, 1.0])
    np.testing.assert_array_equal(extrapolate(np.array([1.0, 1.1]), 9.0), [0.0, 1.0])
    np.testing.assert_array_equal(extrapolate(np.array([1.0]), 2.0), [1.0])


# ---- weights of classes, parameters of losses -----------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [{"no": 3.0, "yes": 0.2}, "balanced"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_class_weight(loss, class_weight):
    """By the names of the classes, or balanced."""
    X, y, _ = make(loss)
    labels = np.where(y > 0, "yes", "no")
    labels[:9] = "yes"
    found = path(X, labels, Cs=CS, loss=loss, tol=1e-6, class_weight=class_weight)
    check_path(found, loss, X, labels, class_weight=class_weight)


@pytest.mark.parametrize(
    ("loss", "settings"),
    [
        ("quantile", {"quantile": 0.9}),
        ("epsilon_insensitive", {"epsilon": 0.4}),
        ("squared_epsilon_insensitive", {"epsilon": 0.0}),
        ("huber", {"threshold": 0.2}),
    ],
)
def test_parameters_of_losses(loss, settings):
    """quantile, epsilon and threshold reach the loss."""
    X, y, _ = make(loss)
    check_path(path(X, y, Cs=CS, loss=loss, tol=1e-6, **settings), loss, X, y, **settings)


def test_quantiles_are_quantiles():
    """At a large C, nine tenths of the targets are below the line of quantile=0.9."""
    X, y, _ = make("quantile", n=400)
    found = path(X, y, Cs=[100.0], loss="quantile", quantile=0.9)
    below = np.mean(y <= X @ found.coefs[0] + found.intercepts[0])
    assert 0.88 <= below <= 0.92


# ---- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("Cs", "sentence"),
    [
        ([1.0, -2.0], "Cs must be positive and finite, got -2."),
        ([0.0], "Cs must be positive and finite, got 0."),
        ([1.0, np.nan], "Cs must be positive and finite, got nan."),
        ([np.inf], "Cs must be positive and finite, got inf."),
        ([], r"Cs must be a list of numbers, got an array of shape \(0,\)."),
        ([[1.0, 2.0]], r"Cs must be a list of numbers, got an array of shape \(1, 2\)."),
        (["one"], "Cs must be"),
        ("many", "Cs must be"),
        ([1.0, None], "Cs must be"),
        ([1.0 + 1.0j], "Cs must be"),
    ],
)
def test_bad_costs(Cs, sentence):
    """One sentence says what is wrong with them."""
    X, y, _ = make("hinge")
    with pytest.raises((ValueError, TypeError), match=sentence):
        path(X, y, Cs=Cs)


def test_other_bad_input():
    """Three classes, one class, unknown losses, parameters that a loss does not have."""
    X, y, _ = make("hinge")
    three = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match="path takes two classes, and y has 3; call it for each class"):
        path(X, three)
    with pytest.raises(ValueError, match="at least 2 classes"):
        path(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="loss"):
        path(X, y, loss="perceptron")
    with pytest.raises(TypeError, match="loss='hinge' has no parameter 'epsilon'"):
        path(X, y, epsilon=0.1)
    with pytest.raises(ValueError, match="class_weight needs a loss for labels"):
        path(X, y, loss="absolute", class_weight="balanced")
    with pytest.raises(ValueError, match="quantile"):
        path(X, y, loss="quantile", quantile=1.5)
    with pytest.raises(ValueError, match="intercept"):
        path(X, y, intercept="maybe")
    with pytest.raises(ValueError, match="tol"):
        path(X, y, tol=0.0)
    with pytest.raises(ValueError, match="NaN"):
        path(np.where(X > 2.0, np.nan, X), y)
    with pytest.raises(ValueError, match="not negative"):
        path(X, -np.ones(len(y)), loss="poisson")
    with pytest.raises(ValueError, match="smooth loss, and 'hinge' has a kink"):
        path(X, y, solver="newton")


@pytest.mark.parametrize("settings", [{"alpha": 1.0}, {"C": 1.0}, {"loss": "absolute", "width": 1.0}], ids=str)
def test_unknown_parameters(settings):
    """An unknown parameter is named."""
    X, y, _ = make("hinge")
    unknown = next(key for key in settings if key != "loss")
    with pytest.raises(TypeError, match=unknown):
        path(X, y, **settings)


# ---- limits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute"])
def test_budget(loss, monkeypatch):
    """A budget that is over before it began: one warning with gap, reason and remedy, and a machine at every C."""
    monkeypatch.setattr("maxmargin.runtime.deadline.GRACE_SECONDS", 60.0)
    X, y, _ = make(loss, n=400)
    with pytest.warns(ConvergenceWarning) as caught:
        found = path(X, y, Cs=CS, loss=loss, tol=1e-10, max_seconds=1e-6)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "max_seconds" in message
    assert "the certified relative gap is above tol=1e-10" in message
    assert "Allow more time or iterations, or a larger tol." in message
    assert caught[0].filename == __file__
    assert found.coefs.shape == (len(CS), X.shape[1])
    assert np.isfinite(found.coefs).all()
    assert not found.converged.any()
    assert all(np.isfinite(each.primal) for each in found.certificates)


def test_costs_without_time_are_left_out(monkeypatch):
    """Where there is no time to certify them either, the larger values of C are not there, and the warning says so."""
    monkeypatch.setattr("maxmargin.runtime.deadline.GRACE_SECONDS", 0.0)
    X, y, _ = make("hinge", n=400)
    with pytest.warns(ConvergenceWarning, match=rf"{len(CS) - 1} larger values of C were left out for lack of time\."):
        found = path(X, y, Cs=CS[::-1], tol=1e-10, max_seconds=1e-9)
    assert found.Cs.tolist() == [min(CS)]
    assert len(found.results) == len(found.coefs) == 1


def test_max_iter():
    """Of every solve by itself."""
    X, y, _ = make("hinge", n=200)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        found = path(X, y, Cs=CS, tol=1e-12, max_iter=1)
    assert all(result.n_iter <= 1 for result in found.results)


def test_callback_ends_the_path():
    """The values of C that were solved before, and the one at which the callback stopped, in the order asked for."""
    X, y, _ = make("hinge", n=200)
    asked, calls = [10.0, 0.01, 1.0, 0.001, 0.1], []

    def stop_at_the_third(progress):
        calls.append(progress)
        return len(calls) == 3

    with pytest.warns(ConvergenceWarning, match="callback"):
        found = path(X, y, Cs=asked, tol=1e-6, callback=stop_at_the_third)
    count = len(found.results)  # three, unless a solve was long enough to report twice
    assert len(calls) == 3
    assert 1 <= count <= 3
    np.testing.assert_array_equal(found.Cs, [C for C in asked if C in sorted(asked)[:count]])
    assert len(found.coefs) == len(found.intercepts) == count
    for C, result in zip(found.Cs, found.results, strict=True):
        assert result.status is (Status.STOPPED if found.Cs.max() == C else Status.CONVERGED)
        if result.converged:
            assert result.certificate.primal == pytest.approx(fit("hinge", X, y, C).certificate_.primal, rel=2e-6)


def test_warm_starts_save_iterations():
    """Along a path most of the work is done: fewer iterations than cold fits need."""
    X, y, _ = make("logistic", n=300)
    Cs = np.logspace(-2, 2, 15)
    found = path(X, y, Cs=Cs, loss="logistic", tol=1e-8)
    cold = sum(fit("logistic", X, y, C, tol=1e-8).n_iter_ for C in Cs)
    assert sum(result.n_iter for result in found.results) < cold


def test_a_path_repeated_is_the_same_to_the_bit():
    """No clock has a say."""
    X, y, _ = make("hinge")
    first, second = (path(X, y, Cs=CS, tol=1e-7) for _ in range(2))
    np.testing.assert_array_equal(first.coefs, second.coefs)
    np.testing.assert_array_equal(first.intercepts, second.intercepts)


def test_the_data_stay_as_they_are():
    """X, y, Cs and weights are read only."""
    X, y, weight = make("hinge", weighted=True)
    Cs = CS[::-1].copy()
    before = [part.copy() for part in (X, y, weight, Cs)]
    path(X, y, Cs=Cs, sample_weight=weight)
    for part, kept in zip((X, y, weight, Cs), before, strict=True):
        np.testing.assert_array_equal(part, kept)


# ---- pictures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [True, False], ids=["given axes", "own axes"])
def test_plot(axes):
    """A line for every coefficient over a logarithmic axis, and the gaps on an axis of their own."""
    import matplotlib.pyplot as plt

    X, y, _ = make("hinge")
    found = path(X, y, Cs=CS[::-1])
    figure, given = plt.subplots()
    drawn = found.plot(ax=given) if axes else found.plot()
    assert drawn is given
    assert drawn.get_xscale() == "log"
    lines = [line for line in drawn.get_lines() if len(line.get_xdata()) == len(CS)]
    assert len(lines) == X.shape[1]
    for line in lines:
        np.testing.assert_array_equal(line.get_xdata(), CS)
    assert "hinge" in drawn.get_title()
    assert len(figure.axes) == 2
    figure.canvas.draw()
    plt.close(figure)


def test_plot_of_many_features():
    """The largest are named, the others drawn in grey."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40))
    figure = plt.figure()
    drawn = plot_path(path(X, np.where(X[:, 0] > 0, 1, -1), Cs=[0.1, 1.0]), most=7)
    assert len(drawn.get_legend().get_texts()) == 7
    assert len([line for line in drawn.get_lines() if len(line.get_xdata()) == 2]) >= 40
    figure.canvas.draw()
    plt.close(figure)
