"""skops: what it wrote it reads, for every public estimator, with the same answers and certificate."""

from __future__ import annotations

import re

import numpy as np
import pytest
import skops.io
from fitted_models import EXAMPLES, answers, fit
from machine_data import make_classes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    BlockwiseTransformer,
    ConformalClassifier,
    ConformalQuantileRegressor,
    ConformalRegressor,
    LinearSVCCV,
    Status,
    VennAbersClassifier,
    certify,
)
from maxmargin.model_selection import GridSearchCV

X, Y = make_classes(80, 3)
COMPOSED = {
    "tuned_kernel": SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 0.5], cv=2),
    "tuned_linear": LinearSVCCV(Cs=[0.1, 1.0], cv=2),
    "search": GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2),
    "pipeline": make_pipeline(StandardScaler(), SVC()),
    "sets": ConformalClassifier(SVC(), cv=3, random_state=0),
    "intervals": ConformalRegressor(SVR(), cv=3, random_state=0),
    "quantiles": ConformalQuantileRegressor(SVR(), cv=3, random_state=0),
    "venn_abers": VennAbersClassifier(SVC(), cv=3, random_state=0),
    "blockwise": make_pipeline(BlockwiseTransformer(StandardScaler()), SVC()),
}
# Beside those of this library: what docs/saving.md names, and what scikit-learn's searches bring with them.
OTHER_TYPES = re.compile(
    r"maxmargin\.|scipy\.sparse\._cs|numpy\.dtype$|sklearn\.(metrics\._scorer|model_selection)\.?_"
)


def keep(model):
    """The model as skops reads it back; it is asked to trust types of this library and of its dependencies only."""
    written = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=written)
    assert all(OTHER_TYPES.match(name) for name in trusted), trusted
    return skops.io.loads(written, trusted=trusted)


def fit_composed(name):
    """One of COMPOSED, fitted; Venn-Abers predictors are for two classes."""
    return COMPOSED[name].fit(X, np.minimum(Y, 1) if name == "venn_abers" else Y)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_skops_reads_what_it_wrote(name):
    """The same answers to the last bit, the same certificate and the same status."""
    model, new = fit(name), EXAMPLES[name].new
    again = keep(model)
    for method, expected in answers(model, new).items():
        for mine, theirs in zip(answers(again, new)[method], expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    if hasattr(model, "certificate_"):
        assert again.certificate_ == model.certificate_
        assert again.result_.status is model.result_.status


@pytest.mark.filterwarnings("ignore:The best candidate has")
@pytest.mark.parametrize("name", COMPOSED)
def test_searches_and_pipelines(name):
    """Machines within others, and machines that tuned themselves."""
    model = fit_composed(name)
    again = keep(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if name == "tuned_kernel":
        assert again.certificate_ == model.certificate_
        assert again.cell_certificates_ == model.cell_certificates_


def test_every_public_estimator_is_tried():
    """Those of the registry, and those that tune themselves by their common base."""
    tried = {type(fit(name)) for name in EXAMPLES} | {type(model) for model in COMPOSED.values()}
    public = [getattr(maxmargin, name) for name in maxmargin.__all__]
    estimators = {each for each in public if isinstance(each, type) and hasattr(each, "get_params")}
    bases = {base for each in tried for base in each.__mro__}
    missing = {each.__name__ for each in estimators if each not in tried and not each.__name__.endswith("CV")}
    assert missing <= {"BlockwiseTransformer"}
    assert all(any(base in bases for base in each.__mro__[1:4]) for each in estimators)


def test_a_model_that_was_read_can_be_judged_and_fitted():
    """`certify` finds the machine that was fitted; a fit starts anew."""
    model = SVC(tol=1e-8).fit(X, Y)
    again = keep(model)
    assert certify(again, X, Y).relative_gap <= 1e-8
    np.testing.assert_array_equal(again.fit(X, Y).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("status", list(Status))
def test_a_status_is_itself_again(status):
    """An enumeration is made of its value."""
    assert keep(status) is status
