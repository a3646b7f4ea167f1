"""What a fit of a linear estimator reports: certified gaps, early ends, remedies."""

from __future__ import annotations

import re
import signal

import numpy as np
import pytest
from linear_machine_problems import every_case, every_estimator, make_model
from linear_reference import make_data
from machine_data import decide, make_classes
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SMO, LinearSVC, LinearSVR, RiskRegressor, Status


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@every_case
def test_tol_is_the_certified_gap(name, tol):
    """A fit ends at a relative gap of at most tol, never negative, with the duals at hand."""
    model = make_model(name, tol=tol)
    X, y, weight = make_data(model, n=60, seed=4, weighted=True)
    model.fit(X, y, sample_weight=weight)
    assert -1e-12 <= model.certificate_.relative_gap <= tol
    assert model.result_.certificate == model.certificate_
    assert model.result_.point.a.shape == (np.count_nonzero(weight),)


LIMITS = {
    "max_iter": ({"max_iter": 1}, r"The fit reached its limit of iterations \(max_iter\)"),
    "max_seconds": ({"max_seconds": 1e-9}, r"The time budget \(max_seconds\) ran out"),
}


@pytest.mark.parametrize(("limit", "reason"), LIMITS.values(), ids=LIMITS)
@every_estimator
def test_early_ends_are_explained(estimator, limit, reason):
    """One warning names the reason, the gap, tol and a remedy; the machine is there."""
    X, y = make_classes(90, 4)
    loss = {"loss": "absolute"} if estimator is RiskRegressor else {}  # one step is enough for least squares
    with pytest.warns(ConvergenceWarning) as caught:
        model = estimator(**loss, **limit, tol=1e-9).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert re.search(reason, message)
    assert "certified relative gap is" in message
    assert "tol is 1e-09" in message
    assert "Allow more time or iterations, or a larger tol." in message
    assert ("of 4 binary problems" in message) == (len(model.results_) == 4)
    assert model.result_.status is not Status.CONVERGED
    assert np.isfinite(decide(model, X)).all()


@pytest.mark.parametrize("estimator", [LinearSVC, LinearSVR])
def test_liblinear_s_warning(estimator):
    """scikit-learn's users look for its words."""
    with pytest.warns(ConvergenceWarning, match="Liblinear failed to converge, increase the number of iterations"):
        estimator(max_iter=1, tol=1e-9).fit(*make_classes(90, 2))


def test_remedies_name_the_feature():
    """A feature of another scale is the usual reason."""
    X, y = make_classes(90, 2)
    with pytest.warns(ConvergenceWarning, match=r"Feature 1 spans .* times the others; scale it"):
        LinearSVC(max_iter=1, tol=1e-12).fit(np.column_stack([X[:, 0], 1e5 * X[:, 1], X[:, 1]]), y)


@every_estimator
def test_verbose_prints_the_certificate(estimator, capsys):
    """verbose=1 says how it went; otherwise nothing is printed."""
    X, y = make_classes(60, 2)
    estimator(verbose=1).fit(X, y)
    assert "relative gap" in capsys.readouterr().out
    estimator().fit(X, y)
    assert capsys.readouterr() == ("", "")


class Interrupting(SMO):
    """A solver during which Ctrl-C is pressed."""

    def start(self, problem, tol, warm=None):
        """Begin, and be interrupted, once: a second Ctrl-C would end everything at once."""
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            signal.raise_signal(signal.SIGINT)
        return super().start(problem, tol, warm)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_ctrl_c_leaves_a_machine(n_classes):
    """The first Ctrl-C ends every solve of the fit; the model is fitted, and the interrupt goes on."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("This process was started with Ctrl-C switched off.")
    X, y = make_classes(90, n_classes)
    model = LinearSVC(solver=Interrupting(), n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert {result.status for result in model.results_} == {Status.INTERRUPTED}
    assert np.isfinite(model.decision_function(X)).all()
