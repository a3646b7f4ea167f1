"""Data frames, tables, tensors and sparse arrays: everywhere as the same numbers in an array, and features by name."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from data_containers import CONTAINERS, NAMES, every_container, every_frame
from every_estimator import ESTIMATORS, every_estimator
from sklearn import model_selection as theirs
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    BlockwiseTransformer,
    LinearSVC,
    LinearSVR,
    RankSVM,
    RiskClassifier,
    certify,
    certify_tuning,
    diagnose,
    path,
    risk_bounds,
    trace,
)
from maxmargin import model_selection as ours
from maxmargin.tuning.tuned_estimators import LinearSVRCV, RiskClassifierCV

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LABELS = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)
TARGETS = X @ [1.0, -2.0, 0.0, 0.5]
WEIGHTS = RNG.integers(1, 4, size=60).astype(float)
UNEVEN = X * [1.0, 1e7, 1.0, 1.0]
SEARCHES = (ours.GridSearchCV, theirs.GridSearchCV)


def targets_of(model) -> np.ndarray:
    """Labels or real targets."""
    return TARGETS if model.task in ("regression", "ranking") else LABELS


# ---- the same numbers in any container ------------------------------------------------------------------------------


@every_container
def test_every_estimator_takes_it(container):
    """fit, predict, decision_function and score, as on an array."""
    for model in ESTIMATORS:
        y = targets_of(model)
        plain, fitted = clone(model).fit(X, y), clone(model).fit(container.wrap(X), container.wrap_vector(y))
        given, name = container.wrap(X), type(model).__name__
        np.testing.assert_allclose(fitted.predict(given), plain.predict(X), rtol=1e-6, atol=1e-6, err_msg=name)
        if model.task in ("classification", "novelty"):
            scores = fitted.decision_function(given), plain.decision_function(X)
            np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5, err_msg=name)
        if model.task in ("classification", "regression"):
            score = fitted.score(given, container.wrap_vector(y))
            assert score == pytest.approx(plain.score(X, y), abs=1e-6), name
        assert list(vars(fitted).get("feature_names_in_", [])) == (NAMES if container.named else []), name


@every_container
def test_weights_come_in_it(container):
    """sample_weight as a vector of the same library."""
    for model in (SVC(), LinearSVR(), RiskClassifier("logistic")):
        y = targets_of(model)
        plain = clone(model).fit(X, y, sample_weight=WEIGHTS)
        given = container.wrap(X), container.wrap_vector(y), container.wrap_vector(WEIGHTS)
        fitted = clone(model).fit(*given[:2], sample_weight=given[2])
        np.testing.assert_allclose(fitted.predict(given[0]), plain.predict(X), rtol=1e-6, atol=1e-6)
        assert certify(fitted, *given).relative_gap <= 2.0 * model.tol


@every_container
def test_guarantees_and_insight_take_it(container):
    """certify, risk_bounds, diagnose, path, trace and certify_tuning."""
    given, y = container.wrap(X), container.wrap_vector(LABELS)
    model = SVC().fit(X, LABELS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")  # the model was fitted without
        assert certify(model, given, y).primal == pytest.approx(model.certificate_.primal)
        assert risk_bounds(model, given, y).xi_alpha == pytest.approx(risk_bounds(model, X, LABELS).xi_alpha)
    found = diagnose(SVC(), container.wrap(UNEVEN), y)
    assert (found.n_samples, found.n_features) == X.shape
    assert found.scale[0].startswith(f"Feature {repr('income') if container.named else 1} spans ")
    weight = container.wrap_vector(WEIGHTS)
    expected = path(X, LABELS, Cs=[0.1, 1.0], sample_weight=WEIGHTS)
    followed = path(given, y, Cs=[0.1, 1.0], sample_weight=weight)
    np.testing.assert_allclose(followed.coefs, expected.coefs, rtol=1e-3, atol=1e-3)
    assert trace(SVC(kernel="linear"), X=given, y=y).status == "converged"
    tuning = certify_tuning(make_pipeline(MaxAbsScaler(), LinearSVC()), given, y, Cs=(0.5, 1.0), eps=0.2, cv=2)
    assert tuning.error == certify_tuning(
        make_pipeline(MaxAbsScaler(), LinearSVC()), X, LABELS, Cs=(0.5, 1.0), eps=0.2, cv=2
    ).error  # fmt: skip


@every_container
@pytest.mark.parametrize("model", [SVC(), LinearSVC(), SVR()], ids=lambda model: type(model).__name__)
def test_searches_take_it(model, container):
    """Ours, alone and with a pipeline: the scores are those on an array."""
    grid, y = {"C": [0.1, 1.0]}, targets_of(model)
    plain = ours.GridSearchCV(model, grid, cv=2).fit(X, y)
    search = ours.GridSearchCV(model, grid, cv=2).fit(container.wrap(X), container.wrap_vector(y))
    expected = plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-4)
    np.testing.assert_allclose(search.predict(container.wrap(X)), plain.predict(X), rtol=1e-3, atol=1e-3)
    piped = ours.GridSearchCV(make_pipeline(MaxAbsScaler(), model), {f"{type(model).__name__.lower()}__C": [1.0]}, cv=2)
    assert np.isfinite(piped.fit(container.wrap(X), container.wrap_vector(y)).best_score_)


@every_container
@pytest.mark.parametrize(
    "model", [SVCCV(Cs=[1.0], gammas=[0.1], cv=2), LinearSVRCV(cv=2), RiskClassifierCV(cv=2)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_machines_that_tune_themselves_take_it(model, container):
    """The same C, and the same answers."""
    y = TARGETS if isinstance(model, LinearSVRCV) else LABELS
    plain = clone(model).fit(X, y)
    fitted = clone(model).fit(container.wrap(X), container.wrap_vector(y))
    assert fitted.best_params_ == pytest.approx(plain.best_params_)
    np.testing.assert_allclose(fitted.predict(container.wrap(X)), plain.predict(X), rtol=1e-3, atol=1e-3)


@every_frame
def test_pictures_take_it(container):
    """Boundaries and tubes, whose grids have the names of the features of the fit."""
    from matplotlib import pyplot as plt

    from maxmargin.plots import plot_decision_boundary, plot_regression_tube

    frame = container.wrap(X)
    pair, one = (frame[names] if hasattr(frame, "iloc") else frame.select(names) for names in (NAMES[:2], NAMES[:1]))
    boundary = plot_decision_boundary(SVC().fit(pair, LABELS), pair, LABELS, resolution=20)
    tube = plot_regression_tube(SVR().fit(one, TARGETS), one, TARGETS)
    assert boundary.collections
    assert tube.lines
    plt.close("all")


def test_missing_values_are_refused_by_the_fit():
    """A nullable column that misses a value: scikit-learn's sentence, from diagnose as from fit."""
    missing = pd.DataFrame(X, columns=NAMES, dtype="Float64")
    missing.iloc[3, 1] = pd.NA
    for act in (SVC().fit, lambda X, y: diagnose(SVC(), X, y)):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            act(missing, LABELS)


# ---- features by their names ----------------------------------------------------------------------------------------


@every_frame
def test_warnings_call_features_by_their_names(container):
    """A fit that did not come to its end says which feature drowns the others."""
    frame = container.wrap(X * [1.0, 1.0, 1e7, 1.0])
    for model in (SVC(kernel="linear", C=1e3, max_iter=1), LinearSVC(loss="hinge", max_iter=1, tol=1e-12)):
        with pytest.warns(ConvergenceWarning, match="Feature 'height' spans 1e\\+07 times the others"):
            model.fit(frame, LABELS)
    with pytest.warns(ConvergenceWarning, match="Feature 'height' spans"):
        path(frame, LABELS, Cs=[1.0, 1e3], max_iter=1, tol=1e-12)


def test_a_feature_without_a_name_has_its_number():
    """And a fit on an array forgets the names of the one before."""
    model = SVC(kernel="linear", C=1e3, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="Feature 'income' spans"):
        model.fit(pd.DataFrame(UNEVEN, columns=NAMES), LABELS)
    with pytest.warns(ConvergenceWarning, match="Feature 1 spans"):
        model.fit(UNEVEN, LABELS)


def test_constant_features_have_names():
    """One, and several."""
    frame = pd.DataFrame(X * [1.0, 0.0, 1.0, 1.0], columns=NAMES)
    sentences = diagnose(LinearSVC(), frame, LABELS).scale
    assert "Feature 'income' is constant and carries no information; leave it out." in sentences
    frame["weight"] = 1.0
    told = "2 features are constant and carry no information, such as 'income'; leave them out."
    assert told in diagnose(LinearSVC(), frame, LABELS).scale


@every_estimator
def test_other_columns_are_refused(model):
    """By scikit-learn's sentence."""
    fitted = clone(model).fit(pd.DataFrame(X, columns=NAMES), targets_of(model))
    with pytest.raises(ValueError, match="The feature names should match"):
        fitted.predict(pd.DataFrame(X, columns=NAMES[::-1]))


# ---- transformers ---------------------------------------------------------------------------------------------------


@every_frame
def test_blockwise_transformers_keep_names(container):
    """The transformer sees the frame, so that it can choose columns by name; only sampled rows of a large one."""
    chosen = make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["height"]))
    frame = container.wrap(X)
    if hasattr(frame, "column_names"):  # scikit-learn chooses no columns of such tables
        chosen = StandardScaler()
    for n_rows in (20, 1000):
        transformer = BlockwiseTransformer(chosen, n_rows=n_rows).fit(frame)
        assert list(transformer.feature_names_in_) == NAMES
        assert transformer.n_rows_ == min(n_rows, 60)
        assert np.asarray(transformer.transform(frame)).shape[1] == len(transformer.get_feature_names_out())
    model = make_pipeline(BlockwiseTransformer(RBFSampler(random_state=0)), LinearSVC()).fit(frame, LABELS)
    assert model.predict(frame).shape == (60,)
    assert "feature_names_in_" not in vars(BlockwiseTransformer(MaxAbsScaler()).fit(frame).fit(X))


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(output, kind):
    """A transformer that puts out frames, before ours and within it; Pipeline.set_output reaches it."""
    if output not in CONTAINERS:
        pytest.skip("scikit-learn finds no names in frames of polars 2 before 1.9")
    model = make_pipeline(StandardScaler(), SVC()).set_output(transform=output)
    frame = CONTAINERS["pandas"].wrap(X)
    assert list(model.fit(frame, LABELS)[-1].feature_names_in_) == NAMES
    assert isinstance(model[:-1].transform(frame), kind)
    search = ours.GridSearchCV(model, {"svc__C": [0.1, 1.0]}, cv=2).fit(frame, LABELS)
    assert list(search.best_estimator_[-1].feature_names_in_) == NAMES
    blockwise = make_pipeline(BlockwiseTransformer(StandardScaler()), LinearSVC()).set_output(transform=output)
    assert list(blockwise.fit(frame, LABELS)[-1].feature_names_in_) == NAMES
    mapped = blockwise[0].transform(frame)
    assert isinstance(mapped, kind)
    assert isinstance(blockwise[0].set_output(transform="default").transform(frame), np.ndarray)


def test_blocks_are_mapped_to_arrays_whatever_the_output():
    """Rows in blocks have no frames."""
    from maxmargin.blocks import ArrayBlocks

    transformer = BlockwiseTransformer(MaxAbsScaler()).set_output(transform="pandas")
    blocks = ArrayBlocks(X, LABELS, rows=20)
    model = LinearSVC().fit(transformer.fit(blocks).transform(blocks))
    expected = LinearSVC().fit(MaxAbsScaler().fit_transform(X), LABELS)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-2, atol=1e-2)


# ---- metadata routing -----------------------------------------------------------------------------------------------


@pytest.fixture
def routing():
    """Metadata go where they are asked for."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("search", SEARCHES, ids=["ours", "theirs"])
@pytest.mark.parametrize("model", [SVC(), LinearSVC(), SVR(), RiskClassifier("logistic")], ids=str)
def test_weights_are_routed(model, search):
    """Through a pipeline, and through a search over it, to the machine that asked for them."""
    y, name = targets_of(model), type(model).__name__.lower()
    scoring = get_scorer("accuracy" if is_classifier(model) else "r2").set_score_request(sample_weight=True)
    asking = clone(model).set_fit_request(sample_weight=True)
    expected = clone(model).fit(X, y, sample_weight=WEIGHTS).predict(X)
    piped = make_pipeline(MaxAbsScaler(), asking)
    alone = search(asking, {"C": [1.0]}, cv=2, scoring=scoring).fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(alone.predict(X), expected, rtol=1e-3, atol=1e-3)
    scaled = MaxAbsScaler().fit_transform(X)
    expected = clone(model).fit(scaled, y, sample_weight=WEIGHTS).predict(scaled)
    fitted = piped.fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=1e-3, atol=1e-3)
    found = search(piped, {f"{name}__C": [1.0]}, cv=2, scoring=scoring).fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("routing")
def test_queries_are_routed():
    """`group` of a ranking, by the name that its fit has for it."""
    queries = np.repeat(np.arange(6), 10)
    model = RankSVM().set_fit_request(group=True)
    expected = RankSVM().fit(X, TARGETS, group=queries)
    fitted = make_pipeline(MaxAbsScaler().fit(X), model).fit(X, TARGETS, group=queries)
    scaled = MaxAbsScaler().fit_transform(X)
    np.testing.assert_allclose(fitted[-1].coef_, RankSVM().fit(scaled, TARGETS, group=queries).coef_, rtol=1e-6)
    assert not np.allclose(expected.coef_, RankSVM().fit(X, TARGETS).coef_)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("search", SEARCHES, ids=["ours", "theirs"])
def test_weights_that_were_not_asked_for_are_refused(search):
    """scikit-learn's rule: what no step has asked for is an error, not ignored."""
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        search(SVC(), {"C": [1.0]}, cv=2).fit(X, LABELS, sample_weight=WEIGHTS)


@pytest.mark.parametrize("search", SEARCHES, ids=["ours", "theirs"])
def test_weights_without_routing(search):
    """As parameters of fit with the name of the step, or without one where there are no steps."""
    scaled = MaxAbsScaler().fit_transform(X)
    expected = LinearSVC().fit(scaled, LABELS, sample_weight=WEIGHTS).coef_
    piped = make_pipeline(MaxAbsScaler(), LinearSVC())
    found = search(piped, {"linearsvc__C": [1.0]}, cv=2).fit(X, LABELS, linearsvc__sample_weight=WEIGHTS)
    np.testing.assert_allclose(found.best_estimator_[-1].coef_, expected, rtol=1e-3, atol=1e-3)
    alone = search(LinearSVC(), {"C": [1.0]}, cv=2).fit(scaled, LABELS, sample_weight=WEIGHTS)
    np.testing.assert_allclose(alone.best_estimator_.coef_, expected, rtol=1e-3, atol=1e-3)


def test_the_containers_are_what_they_say():
    """Sparse ones are sparse, and one of them is no matrix of the old kind."""
    kinds = {name: type(each.wrap(X)) for name, each in CONTAINERS.items()}
    assert [name for name, kind in kinds.items() if issubclass(kind, sp.sparray)] == [
        "csr_array", "csc_array", "coo_array",
    ]  # fmt: skip
    assert kinds["pandas, nullable"] is pd.DataFrame


def test_the_programs_of_the_page_run():
    """docs/frames.md, one block after the other."""
    page = (Path(__file__).parent.parent / "docs" / "frames.md").read_text()
    blocks, namespace = re.findall(r"```python\n(.*?)```", page, re.S), {}
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "docs/frames.md", "exec"), namespace)
    assert isinstance(namespace["search"], ours.GridSearchCV)
