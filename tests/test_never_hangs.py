"""Fits that hang elsewhere end here, in time, with a status and a sentence that helps; and Ctrl-C ends any of them."""

from __future__ import annotations

import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from keyboard import press_ctrl_c
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, certify

pytestmark = pytest.mark.usefixtures("own_clock")

BUDGET = 0.5


pytestmark = pytest.mark.usefixtures("compiled")


STUBBORN_KERNEL = {"kernel": "poly", "degree": 2, "coef0": 1.0}


def clouds(n=600, d=5, seed=0):
    """Two overlapping classes."""
    return make_classification(n, d, n_informative=3, n_redundant=0, flip_y=0.2, random_state=seed)


def wide_feature():
    """Feature 3 spans 1e7 times the others."""
    X, y = clouds()
    X[:, 3] *= 1e7
    return SVC(kernel="linear", C=10.0), X, y


def steep_polynomial():
    """Degree 5 on values of 1e5."""
    X, y = clouds()
    return SVC(kernel="poly", degree=5, gamma=1.0), 1e5 * X, y


def hard_margin():
    """C = 1e6 on overlapping classes."""
    X, y = clouds()
    return SVC(C=1e6), X, y


def infinite_margin():
    """C = inf on classes that cannot be separated."""
    X, y = make_blobs(200, centers=2, cluster_std=5.0, random_state=0)
    return SVC(C=np.inf, kernel="poly"), X, y


def contradictions():
    """Every row twice, with both labels."""
    X, _ = clouds(200)
    return SVC(C=100.0), np.vstack([X, X]), np.repeat([0, 1], 200)


def equal_rows():
    """All rows are the same."""
    return SVC(), np.ones((50, 3)), np.arange(50) % 2


def constant_kernel():
    """k(x, z) = 1."""
    X, y = clouds(60)
    return SVC(kernel=lambda A, B: np.ones((len(A), len(B)))), X, y


def two_samples():
    """One sample of each class."""
    return SVC(), np.array([[0.0], [1.0]]), np.array([0, 1])


def far_from_zero():
    """A polynomial of values around 100."""
    rng = np.random.default_rng(0)
    return SVC(kernel="poly"), rng.normal(100.0, 1.0, (100, 2)), rng.integers(0, 2, 100)


HARD = (
    wide_feature, steep_polynomial, hard_margin, infinite_margin, contradictions, equal_rows, constant_kernel,
    two_samples, far_from_zero,
)  # fmt: skip


def fit_within(model, X, y, seconds=BUDGET):
    """The seconds a fit took with this budget, and the messages it warned with."""
    model.set_params(max_seconds=seconds)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = OwnTimer()
        model.fit(X, y)
    return watch.seconds, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("make", HARD, ids=lambda make: make.__name__)
def test_hard_fits_end_in_time(make):
    """Within max_seconds, fitted, with finite attributes; and if the tolerance was not reached, one warning says so."""
    model, X, y = make()
    seconds, messages = fit_within(model, X, y)
    assert seconds < BUDGET + 0.5 + SLACK_SECONDS
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.predict(X).shape == y.shape
    assert model.result_.status in (
        Status.CONVERGED, Status.MAX_SECONDS, Status.STALLED, Status.ROUNDING_LIMIT,
    )  # fmt: skip
    assert len(messages) == (0 if model.result_.converged else 1)
    assert all("certified relative gap" in message for message in messages)


@pytest.mark.parametrize("make", [equal_rows, constant_kernel, two_samples], ids=lambda make: make.__name__)
def test_degenerate_fits_are_solved(make):
    """Problems with nothing in them are solved to the tolerance."""
    model, X, y = make()
    fit_within(model, X, y, 20.0)
    assert model.result_.converged
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (wide_feature, r"Feature 3 spans .* times the others; scale it"),
        (steep_polynomial, r"The values of X reach .*; scale them"),
        (infinite_margin, r"C=inf asks for an almost hard margin"),
        (far_from_zero, r"has mean 1e\+02 and spread [\d.]+; centre it"),
    ],
)
def test_warnings_say_what_to_do(make, advice):
    """The warning names the feature, the values or the parameter that make the fit slow."""
    model, X, y = make()
    model.set_params(max_seconds=0.3, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=advice):
        model.fit(X, y)


@pytest.fixture
def endless():
    """A fit that would run for minutes."""
    X, y = clouds(3000, 10)
    return SVC(kernel="poly", C=1e4, tol=1e-10), X, y


def test_ctrl_c_leaves_a_fitted_model(endless):
    """KeyboardInterrupt goes on within 0.2 s, and the model has the best point so far with its certificate."""
    model, X, y = endless
    with press_ctrl_c() as sent, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert sent[0].seconds < 0.2 + SLACK_SECONDS
    assert model.result_.status is Status.INTERRUPTED
    assert 0 < model.certificate_.relative_gap < np.inf
    assert model.predict(X[:5]).shape == (5,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert SVC().fit(X[:100, :3], y[:100]).result_.converged


def test_ctrl_c_stops_all_pairs():
    """The remaining pairs of a multiclass fit end at once, with honest certificates."""
    X, y = make_endless_noise(1500, n_classes=4)
    model = SVC(**STUBBORN_KERNEL, C=1e4, tol=1e-12)
    with press_ctrl_c(), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.certificates_) == 6
    assert any(result.status is Status.INTERRUPTED for result in model.results_)
    assert model.decision_function(X[:3]).shape == (3, 4)


def test_ctrl_c_stops_a_grid_search(endless):
    """A surrounding grid search does not go on with the next candidate."""
    model, X, y = endless
    search = GridSearchCV(model, {"C": [1e4, 2e4, 3e4]}, cv=3)
    with press_ctrl_c() as sent, pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert sent[0].seconds < 0.2 + SLACK_SECONDS


def test_a_budget_is_for_the_whole_fit():
    """Many pairs share one budget."""
    X, y = make_blobs(2000, centers=5, n_features=6, cluster_std=8.0, random_state=0)
    X[:, 2] *= 1e6
    seconds, messages = fit_within(SVC(kernel="linear", C=1e4, tol=1e-12), X, y)
    assert seconds < BUDGET + 0.5 + SLACK_SECONDS
    assert len(messages) == 1


def test_regression_ends_in_time():
    """An SVR with a budget keeps what it has."""
    X, y = clouds(1500)
    model = SVR(C=1e5, kernel="poly", degree=5, tol=1e-12)
    seconds, _ = fit_within(model, X, y.astype(float), 0.5)
    assert seconds < 1.0 + SLACK_SECONDS
    assert np.isfinite(model.predict(X)).all()


# ---- every model --------------------------------------------------------------------------------------------


def widen(X):
    """Feature 3 spans 1e7 times the others."""
    X = X.copy()
    X[:, 3] *= 1e7
    return X


WIDE = {
    "SVC": SVC(kernel="linear", C=10.0),
    "SVC poly": SVC(kernel="poly", C=1e4),
    "SVC squared_hinge": SVC(kernel="linear", loss="squared_hinge", C=10.0, tol=1e-12),
    "SVC no intercept": SVC(kernel="linear", intercept="none", C=100.0),
    "SVR": SVR(kernel="linear", C=100.0),
    "NuSVR": NuSVR(kernel="linear", C=100.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array], ids=["float64", "float32", "sparse"])
@pytest.mark.parametrize("name", WIDE)
def test_the_wide_feature_is_named(name, form):
    """Whatever the model and the kind of data: the fit ends in time, and if it is not optimal it says which feature."""
    X, y = clouds()
    model = WIDE[name]
    seconds, messages = fit_within(model, form(widen(X)), y, 0.4)
    assert seconds < 0.9 + SLACK_SECONDS
    assert model.result_.converged or "Feature 3 spans" in messages[0]
    assert len(messages) == (0 if model.result_.converged else 1)
    assert np.isfinite(model.predict(form(widen(X)))).all()


EQUAL, ZERO, PAIR = np.ones((40, 3)), np.zeros((40, 3)), np.array([[0.0], [1.0]])
SPLIT = np.arange(40) % 2
AT_ONCE = 200  # iterations
# model, X, y, min P known by hand (None: the optimum only has to be certified)
DEGENERATE = {
    "equal rows": (SVC(C=2.0), EQUAL, SPLIT, 80.0),
    "equal rows, one class rare": (SVC(C=1e6), EQUAL, np.arange(40) < 3, 6e6),
    "equal rows, no intercept": (SVC(intercept="none"), EQUAL, SPLIT, 40.0),
    "equal rows, squared": (SVC(kernel="linear", loss="squared_hinge"), EQUAL, SPLIT, 40.0),
    "equal rows, nu": (NuSVC(), EQUAL, SPLIT, 0.0),
    "equal rows, nu, no intercept": (NuSVC(intercept="none"), EQUAL, SPLIT, 0.0),
    "equal rows, regression": (SVR(epsilon=0.1), EQUAL, SPLIT, 40 * 0.4),
    "equal rows, nu regression": (NuSVR(nu=0.5), EQUAL, SPLIT, 40 * 0.25),
    "equal rows, nu regression, no intercept": (NuSVR(intercept="none"), EQUAL, SPLIT, None),
    "equal rows, one class": (OneClassSVM(nu=0.5), EQUAL, None, -200.0),
    "zero rows": (SVC(kernel="linear"), ZERO, SPLIT, 40.0),
    "zero rows, regression": (SVR(kernel="poly"), ZERO, SPLIT, 16.0),
    "zero rows, one class": (OneClassSVM(kernel="linear"), ZERO, None, 0.0),
    "two samples": (SVC(C=1e3, kernel="linear"), PAIR, [0, 1], 2.0),
    "two samples, hard margin": (SVC(C=np.inf, kernel="linear"), PAIR, [0, 1], 2.0),
    "two samples, nu": (NuSVC(nu=1.0, kernel="linear"), PAIR, [0, 1], -0.5),
    "two samples, regression": (SVR(C=1e3, kernel="linear", epsilon=0.1), PAIR, [0.0, 1.0], 0.32),
    "two samples, nu regression": (NuSVR(), PAIR, [0.0, 1.0], None),
    "two samples, one class": (OneClassSVM(nu=1.0, kernel="linear"), PAIR, None, -0.5),
    "one sample, regression": (SVR(), PAIR[:1], [5.0], 0.0),
    "one sample, one class": (OneClassSVM(nu=1.0), PAIR[:1], None, -0.5),
    "constant targets": (SVR(), np.arange(40.0)[:, None], np.full(40, 3.0), 0.0),
    "constant targets, nu": (NuSVR(), np.arange(40.0)[:, None], np.full(40, 3.0), 0.0),
    "constant kernel": (SVC(kernel="poly", degree=0), np.arange(40.0)[:, None], SPLIT, 40.0),
    "kernel of zeros": (SVC(kernel="precomputed"), np.zeros((40, 40)), SPLIT, 40.0),
    "contradictions": (SVC(C=1e6), np.repeat(np.arange(20.0), 2)[:, None], SPLIT, 4e7),
    "contradictions, nu": (NuSVC(nu=0.5), np.repeat(np.arange(20.0), 2)[:, None], SPLIT, 0.0),
}


@pytest.mark.parametrize(("model", "X", "y", "optimum"), DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_problems_have_their_optimum(model, X, y, optimum):
    """Solved at once to the optimum known by hand, finite, and with a prediction for every row."""
    _, messages = fit_within(model, X, y, 20.0)
    assert messages == []
    assert model.result_.n_iter <= AT_ONCE
    assert model.certificate_.relative_gap <= model.tol
    if optimum is not None:
        assert model.certificate_.primal == pytest.approx(optimum, rel=1e-4, abs=1e-4)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.intercept_).all()


# ---- without any limit --------------------------------------------------------------------------------------


def noise_below_nu():
    """Labels of pure noise, and a nu that asks for fewer errors than they allow: the margin is zero."""
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(40, 3))
    X[X < 0.6] = 0.0
    return NuSVC(nu=0.3, multi_class="ovr"), X, rng.randint(0, 3, 40)


def classes_below_nu():
    """Five overlapping classes, nu below their errors, a sharp tolerance."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 5, 300)
    X = np.column_stack([np.cos(1.2566 * y), np.sin(1.2566 * y)]) + 0.6 * rng.normal(size=(300, 2))
    return NuSVC(nu=0.2, tol=1e-8), X, y


def cubes_around_a_hundred():
    """A polynomial kernel on data far from zero: rank 4 with a condition of 1e13."""
    rng = np.random.RandomState(0)
    return SVC(kernel="poly"), rng.normal(loc=100.0, size=(100, 2)), rng.randint(0, 2, 100)


def tolerance_below_rounding():
    """No float64 gap is that small."""
    X, y = clouds(200)
    return SVC(tol=1e-300), X, y


def tolerance_below_rounding_at_zero():
    """Likewise where the optimum itself is zero."""
    X = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    return OneClassSVM(kernel="poly", gamma=1.0, tol=1e-14), X, None


ENDLESS = (
    noise_below_nu,
    classes_below_nu,
    cubes_around_a_hundred,
    tolerance_below_rounding,
    tolerance_below_rounding_at_zero,
)


@pytest.mark.slow
@pytest.mark.parametrize("make", ENDLESS, ids=lambda make: make.__name__)
def test_small_fits_end_by_themselves(make):
    """A few hundred rows: converged or stalled within seconds, without max_seconds or max_iter in the user's code."""
    model, X, y = make()
    seconds, _ = fit_within(model, X, y, 20.0)
    assert {result.status for result in model.results_} <= {
        Status.CONVERGED, Status.STALLED, Status.ROUNDING_LIMIT,
    }  # fmt: skip
    assert seconds < 15.0 + SLACK_SECONDS


# ---- Ctrl-C -------------------------------------------------------------------------------------------------


def make_endless_noise(n=1500, n_classes=2, seed=0):
    """Noise: with STUBBORN_KERNEL and a large C this takes seconds at least."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 20)), rng.integers(0, n_classes, n)


def interrupt_fit(model, X, y, seconds=0.2):
    """Fit and press Ctrl-C in a while; the seconds from the signal to the end of the fit."""
    with press_ctrl_c(seconds) as sent, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    return sent[0].seconds


STUBBORN = {
    "SVC": SVC(**STUBBORN_KERNEL, C=1e6, tol=1e-13),
    "SVC no intercept": SVC(**STUBBORN_KERNEL, intercept="none", C=1e6, tol=1e-13),
    "SVR": SVR(**STUBBORN_KERNEL, C=1e6, tol=1e-13),
    "NuSVR": NuSVR(**STUBBORN_KERNEL, C=1e6, tol=1e-13),
    "NuSVR no intercept": NuSVR(**STUBBORN_KERNEL, C=1e6, intercept="none", tol=1e-13),
}


@pytest.mark.parametrize("n", [1500, 4000])
@pytest.mark.parametrize("name", STUBBORN)
def test_ctrl_c_stops_every_model(name, n):
    """Within 0.2 s on an idle machine; fitted, judged, and fit for another fit."""
    X, y = make_endless_noise(n)
    model = STUBBORN[name]
    assert interrupt_fit(model, X, y, 0.05) < 0.2 + SLACK_SECONDS  # some end by themselves after 0.4 s
    again = certify(model, X, y)
    assert model.result_.status is Status.INTERRUPTED
    if isinstance(model, NuSVR):  # certify finds the best tube for (w, b), the fit has not yet
        assert again.primal <= model.certificate_.primal * (1 + 1e-9)
    else:
        assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert 1e-13 < model.certificate_.relative_gap < np.inf
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()
    assert SVC().fit(X[:60], y[:60]).result_.converged


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_stops_all_machines(multi_class, n_jobs):
    """Pairs and classes, one after the other or side by side: all end, all are judged."""
    X, y = make_endless_noise(1200, n_classes=4)
    model = SVC(**STUBBORN_KERNEL, C=1e6, tol=1e-13, multi_class=multi_class, n_jobs=n_jobs)
    assert interrupt_fit(model, X, y) < 0.2 + SLACK_SECONDS
    assert len(model.certificates_) == (6 if multi_class == "ovo" else 4)
    assert all(result.status is Status.INTERRUPTED for result in model.results_)
    assert model.predict(X).shape == y.shape


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_ctrl_c_stops_calibration():
    """Also while the folds of probability=True are fitted: the signal is not lost, the machine is there."""
    X, y = make_endless_noise(600)
    model = SVC(**STUBBORN_KERNEL, C=1e5, tol=1e-13, probability=True, max_seconds=8.0)
    assert interrupt_fit(model, X, y, 0.8) < 0.2 + SLACK_SECONDS
    assert model.predict(X).shape == y.shape
    assert hasattr(model, "certificate_")


def test_a_second_ctrl_c_is_not_needed_nor_kept():
    """After an interrupted fit Ctrl-C means what it meant before."""
    X, y = make_endless_noise()
    interrupt_fit(SVC(**STUBBORN_KERNEL, C=1e6, tol=1e-13), X, y, 0.3)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupted_fit_can_go_on():
    """With warm_start the next fit begins where Ctrl-C stopped the last one."""
    X, y = make_endless_noise()
    model = SVC(**STUBBORN_KERNEL, C=1e6, tol=1e-13, warm_start=True)
    interrupt_fit(model, X, y)
    reached = model.certificate_.dual
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_seconds=0.2).fit(X, y)
    assert model.certificate_.dual >= reached * (1 - 1e-9)


def test_fits_in_threads_leave_ctrl_c_alone():
    """Only the main thread watches the keyboard; elsewhere a fit simply runs."""
    X, y = make_endless_noise(200)
    done = []
    thread = threading.Thread(target=lambda: done.append(SVC().fit(X, y).result_.status))
    thread.start()
    thread.join(20.0)
    assert done == [Status.CONVERGED]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_one_class_of_many_samples_listens_from_the_start(kernel):
    """The start point of one class has nu n duals: its scores take seconds, and Ctrl-C must not wait for them."""
    X = np.random.default_rng(0).normal(size=(20000, 100))
    model = OneClassSVM(nu=0.3, kernel=kernel, tol=1e-12)
    assert interrupt_fit(model, X, None, 0.3) < 0.2 + SLACK_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [SVC(C=100.0), SVR(C=100.0), OneClassSVM(nu=0.3)], ids=lambda model: type(model).__name__
)
def test_large_fits_end_in_time(model):
    """20,000 rows and a budget of two seconds: half a second late at most, the certificate included."""
    X, y = make_endless_noise(20000)
    seconds, _ = fit_within(model, X, y, 2.0)
    assert seconds < 2.5 + SLACK_SECONDS


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("limit", [{"max_seconds": 0.5}, {"max_iter": 2000, "max_seconds": 60.0}], ids=str)
def test_limits_hold_for_calibration_too(limit):
    """max_seconds is for the fit and its folds together, max_iter for each of them."""
    X, y = make_endless_noise(400)
    model = SVC(C=1e6, kernel="poly", degree=5, tol=1e-13, probability=True, **limit)
    watch = OwnTimer()
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert watch.seconds < 1.0 + SLACK_SECONDS
    assert model.predict_proba(X).shape == (400, 2)
