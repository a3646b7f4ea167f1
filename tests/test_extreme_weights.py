"""C and sample weights at the ends of what float64 holds: a fit with a true certificate, or one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from every_estimator import ESTIMATORS, every_estimator
from sklearn.base import clone

from maxmargin import LinearSVC, MetricSVC, MulticlassModel, RiskClassifier, RiskRegressor, StructuredSVM, path
from maxmargin.blocks import ArrayBlocks

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=24) > 0).astype(int)
LOSSES = [RiskClassifier(loss) for loss in ("squared_hinge", "logistic", "exponential")]
LOSSES += [RiskRegressor(loss) for loss in ("squared_epsilon_insensitive", "huber", "least_squares", "poisson")]
STRUCTURED = StructuredSVM(MulticlassModel())
WITH_C = [model for model in (*ESTIMATORS, *LOSSES, STRUCTURED) if "C" in model.get_params()]
UNDERFLOW = r"values below 1e-300 underflow, so scale them"


def name(model) -> str:
    """The class, and the loss if it has one."""
    return "-".join([type(model).__name__, *filter(None, [model.get_params().get("loss")])])


@pytest.mark.parametrize("C", [5e-324, 1e-320, 1e-301])
@pytest.mark.parametrize("model", WITH_C, ids=name)
def test_costs_without_an_inverse(model, C):
    """The sentence names C and the value."""
    with pytest.raises(ValueError, match=rf"C times sample_weight falls to {C}; {UNDERFLOW}"):
        clone(model).set_params(C=C).fit(X, y)


@pytest.mark.parametrize("C", [1e-290, 1e-150, 1e308, np.inf])
@pytest.mark.parametrize("model", WITH_C, ids=name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_costs_at_the_ends(model, C):
    """Nothing overflows aloud, and the certificate is made of numbers: P is above D."""
    certificate = clone(model).set_params(C=C, max_iter=200).fit(X, y).certificate_
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    assert certificate.dual <= certificate.primal


@pytest.mark.parametrize("weight", [5e-324, 1e-320])
@pytest.mark.parametrize("model", [*ESTIMATORS, *LOSSES, STRUCTURED], ids=name)
def test_weights_without_an_inverse(model, weight):
    """Where all of them are, one sentence; where some are, these count as zero."""
    with pytest.raises(ValueError, match=rf"sample_weight is at most {weight}; {UNDERFLOW}"):
        clone(model).fit(X, y, sample_weight=np.full(24, weight))
    some = np.arange(24) % 5 > 0
    faint, zero = (
        clone(model).fit(X, y, sample_weight=np.where(some, 1.0, each)).certificate_.primal for each in (weight, 0.0)
    )
    assert faint == zero
    assert np.isfinite(faint)


@every_estimator
@pytest.mark.parametrize("weight", [1e160, 1e308])
def test_weights_that_overflow(model, weight):
    """One sample is enough, where it may differ from the others."""
    for weights in (np.full(24, weight), np.where(np.arange(24) == 3, weight, 1.0))[
        : 1 + (type(model) is not MetricSVC)
    ]:
        with pytest.raises(ValueError, match=r"C times sample_weight reaches 1e\+\d+; values beyond 1e\+100 overflow"):
            clone(model).fit(X, y, sample_weight=weights)


def test_products_without_an_inverse():
    """C and the weights may be large enough each for itself; so may class weights."""
    for weights in (np.full(24, 1e-200), np.where(np.arange(24) == 3, 1e-200, 1.0)):
        with pytest.raises(ValueError, match=rf"C times sample_weight falls to 1e-30.*; {UNDERFLOW}"):
            RiskRegressor(C=1e-105).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=rf"C times sample_weight falls to 1e-310; {UNDERFLOW}"):
        LinearSVC(class_weight={0: 1e-310}).fit(X, y)


def test_paths():
    """The smallest C counts."""
    with pytest.raises(ValueError, match=rf"C times sample_weight falls to 1e-310; {UNDERFLOW}"):
        path(X, y, Cs=[1e-310, 1.0])


def test_blocks():
    """The same sentences, and the same rows left out."""
    with pytest.raises(ValueError, match=rf"C times sample_weight falls to 1e-320; {UNDERFLOW}"):
        LinearSVC(C=1e-320).fit(ArrayBlocks(X, y, rows=10))
    some = np.arange(24) % 5 > 0
    faint, zero = (
        LinearSVC().fit(ArrayBlocks(X, y, np.where(some, 1.0, each), rows=10)).certificate_.primal
        for each in (1e-320, 0.0)
    )
    assert faint == zero
    assert np.isfinite(faint)


@pytest.mark.parametrize("intercept", ["free", "none", "regularised"])
@pytest.mark.parametrize("size", [1e2, 1e4, 1e9])
def test_counts_of_any_size(intercept, size):
    """Newton's first step towards large counts leads up the wall of an exponential, and is shortened."""
    counts = np.floor(size * np.abs(X[:, 1])) + 1.0
    newton = RiskRegressor("poisson", intercept=intercept, tol=1e-6).fit(X, counts)
    bundle = RiskRegressor("poisson", intercept=intercept, tol=1e-4, solver="bundle").fit(X, counts)
    assert newton.result_.converged
    assert newton.certificate_.primal == pytest.approx(bundle.certificate_.primal, rel=2e-4)
    assert newton.certificate_.dual <= bundle.certificate_.primal
