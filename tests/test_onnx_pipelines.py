"""Pipelines and other models of scikit-learn that contain our estimators, as ONNX files."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import skl2onnx
import sklearn.svm
from machine_data import make_classes
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    LinearSVC,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    export_onnx,
    register_onnx_converters,
)

X, Y = make_classes(90, 3)
X = 5.0 + 3.0 * X
TARGET = X[:, 0] + np.sin(X[:, 1])
NAMES = np.array(["ape", "bee", "cat"])[Y.astype(int) % 3]
SPLIT = make_column_transformer((StandardScaler(), [0]), ("passthrough", [1]))
PIPELINES = {
    "kernel": (make_pipeline(StandardScaler(), SVC(C=3.0)), NAMES),
    "linear": (make_pipeline(MinMaxScaler(), PCA(2), LinearSVC()), Y),
    "laplacian": (make_pipeline(SPLIT, SVC(kernel="laplacian")), Y),
    "probabilities": (make_pipeline(StandardScaler(), RiskClassifier("logistic")), Y > 0),
    "regression": (make_pipeline(StandardScaler(), SVR()), TARGET),
    "novelty": (make_pipeline(StandardScaler(), OneClassSVM(nu=0.2)), None),
    "ranking": (make_pipeline(StandardScaler(), RankSVM()), Y),
    "passthrough": (make_pipeline("passthrough", SVC()), Y),
    "search": (GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0, 10.0]}, cv=2), Y),
}


def run(file: bytes, rows: np.ndarray) -> dict[str, np.ndarray]:
    """All outputs of a file."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_exported(name, tmp_path):
    """Transformers and machine in float64: the same labels, predictions and probabilities."""
    model, y = PIPELINES[name]
    model.fit(X, y)
    path = tmp_path / "model.onnx"
    assert export_onnx(model, path, X) < 1e-10
    onnx.checker.check_model(path, full_check=True)
    found = run(path.read_bytes(), X)
    np.testing.assert_array_equal(found.get("label", model.predict(X)), model.predict(X))
    if "prediction" in found:
        np.testing.assert_allclose(found["prediction"], model.predict(X), atol=1e-10)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probability"], model.predict_proba(X), atol=1e-10)


@pytest.mark.filterwarnings("ignore:The best candidate has")
def test_a_machine_that_tuned_itself_is_exported(tmp_path):
    """The best machine, and in the file its certificate."""
    model = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 0.3], cv=2).fit(X, Y)
    assert export_onnx(model, tmp_path / "model.onnx", X) < 1e-10
    told = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert told == {"class": "SVC", "certified_relative_gap": f"{model.certificate_.relative_gap:.3g}"}


def test_what_is_refused(tmp_path, monkeypatch):
    """Models of others, machines that are not fitted, rows that cannot be generated, and a package that is missing."""
    path = tmp_path / "model.onnx"
    theirs = make_pipeline(StandardScaler(), sklearn.svm.SVC()).fit(X, Y)
    with pytest.raises(TypeError, match=r"model must be a fitted estimator of maxmargin \(SVC, .* pipeline .* got SVC"):
        export_onnx(theirs, path, X)
    with pytest.raises(NotFittedError):
        export_onnx(make_pipeline(StandardScaler(), SVC()), path, X)
    ours = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    with pytest.raises(ValueError, match="X must be given where model is a pipeline"):
        export_onnx(ours, path)
    with pytest.raises(ValueError, match="X must be a matrix of rows, got 1 dimensions"):
        export_onnx(ours, path, X[0])
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"Pipelines need skl2onnx; .*pip install 'maxmargin\[onnx\]'"):
        export_onnx(ours, path, X)
    assert list(tmp_path.iterdir()) == []


# ---- converters of skl2onnx -----------------------------------------------------------------------------------------


CLASSIFIERS = {
    "pipeline": make_pipeline(StandardScaler(), SVC()),
    "bagging": BaggingClassifier(RiskClassifier("logistic"), n_estimators=2, random_state=0),
    "stacking": StackingClassifier([("a", RiskClassifier("logistic")), ("b", LinearSVC())], LogisticRegression(), cv=2),
    "calibrated": CalibratedClassifierCV(SVC(), cv=2),
    "search": GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2),
    "tuned": SVCCV(Cs=[1.0], gammas=[0.1], cv=2),
}


@pytest.mark.filterwarnings("ignore:The best candidate has")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_skl2onnx_converts_what_contains_our_classifiers(name, classes):
    """To the last digits in float64; probabilities, or one score for each class."""
    register_onnx_converters()
    if name == "stacking" and classes == 2:
        pytest.skip("skl2onnx cannot stack the scores of two classes, scikit-learn's either")
    y = Y if classes == 3 else Y > 0
    model = CLASSIFIERS[name].fit(X, y)
    found = run(skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}).SerializeToString(), X)
    np.testing.assert_array_equal(found["label"].astype(np.asarray(y).dtype), model.predict(X))
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(X)
    else:
        f = model.decision_function(X)
        expected = f if classes == 3 else np.column_stack([-f, f])
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-6 if name == "stacking" else 1e-10)


@pytest.mark.parametrize(
    ("model", "target"), [(SVR(), TARGET), (RiskRegressor("poisson"), np.abs(TARGET)), (OneClassSVM(), None)], ids=str
)
def test_skl2onnx_converts_regressions_and_novelty(model, target):
    """One column of numbers, in the type of the input; +1 and -1 of what is inside and outside."""
    register_onnx_converters()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, target)
    for kind, accuracy in ((np.float64, 1e-10), (np.float32, 1e-4)):
        found = run(skl2onnx.to_onnx(pipeline, X[:1].astype(kind)).SerializeToString(), X.astype(kind))
        *labels, numbers = found.values()
        assert numbers.dtype == kind
        expected = pipeline.predict(X) if not labels else pipeline.decision_function(X)
        np.testing.assert_allclose(numbers.ravel(), expected, rtol=accuracy, atol=accuracy)
        if labels and kind is np.float64:
            np.testing.assert_array_equal(labels[0], pipeline.predict(X))


def test_raw_scores_and_dictionaries():
    """The options that scikit-learn's classifiers have in skl2onnx."""
    register_onnx_converters()
    model = RiskClassifier("logistic").fit(X, NAMES)
    raw = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False, "raw_scores": True})
    np.testing.assert_allclose(run(raw.SerializeToString(), X)["probabilities"], model.decision_function(X), atol=1e-10)
    rows = run(skl2onnx.to_onnx(model, X[:1].astype(np.float32)).SerializeToString(), X.astype(np.float32))
    first = rows["output_probability"][0]
    assert first == pytest.approx(dict(zip(model.classes_, model.predict_proba(X[:1])[0], strict=True)), abs=1e-5)


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning", "ignore:Attribute `prob:FutureWarning")
@pytest.mark.parametrize("kind", ["SVC", "NuSVC", "LinearSVC"])
@pytest.mark.parametrize(("raw", "classes"), [(True, 2), (True, 3), (False, 3)])
def test_outputs_have_the_form_of_scikit_learns(kind, raw, classes):
    """Names, types, shapes and the order of scores are those of skl2onnx's files for scikit-learn's class."""
    register_onnx_converters()
    y = Y if classes == 3 else Y > 0
    arguments = {"dual": False} if kind == "LinearSVC" else {"probability": False}
    rows, files = X.astype(np.float32), []
    for module in (maxmargin, sklearn.svm):
        model = getattr(module, kind)(**arguments).fit(X, y)
        options = {"raw_scores": raw} if kind == "LinearSVC" else {"raw_scores": raw, "zipmap": False}
        files.append(skl2onnx.to_onnx(model, rows[:1], options={id(model): options}))
    ours, theirs = (run(file.SerializeToString(), rows) for file in files)
    assert [(name, values.dtype, values.shape) for name, values in ours.items()] == [
        (name, values.dtype, values.shape) for name, values in theirs.items()
    ]
    np.testing.assert_array_equal(ours["label"], theirs["label"])
    np.testing.assert_allclose(ours["probabilities"], theirs["probabilities"], atol=0.05)  # liblinear stops at 1e-4


@pytest.mark.parametrize("model", [SVC(), LinearSVC()], ids=str)
def test_classes_against_the_rest(model):
    """skl2onnx takes the score of the second class of each machine; of scikit-learn's SVC it takes the first."""
    register_onnx_converters()
    rest = OneVsRestClassifier(model).fit(X, Y)
    found = run(skl2onnx.to_onnx(rest, X[:1].astype(np.float32)).SerializeToString(), X.astype(np.float32))
    np.testing.assert_array_equal(found["output_label"], rest.predict(X))


@pytest.mark.parametrize("make", [LinearSVC, sklearn.svm.LinearSVC], ids=["ours", "theirs"])
def test_what_skl2onnx_does_with_scores(make):
    """docs/saving.md tells: it compares those of two classes with 0.5, and mixes up the rows of a bag."""
    register_onnx_converters()
    rows = X.astype(np.float32)
    rest = OneVsRestClassifier(make()).fit(rows, Y > 0)
    label = run(skl2onnx.to_onnx(rest, rows[:1]).SerializeToString(), rows)["output_label"]
    np.testing.assert_array_equal(label, rest.decision_function(rows) > 0.5)
    bag = BaggingClassifier(make(), n_estimators=2, random_state=0).fit(rows, Y)
    found = run(skl2onnx.to_onnx(bag, rows[:1], options={"zipmap": False}).SerializeToString(), rows)
    assert len(found["label"]) == 2
    rest = OneVsRestClassifier(RiskClassifier("logistic")).fit(X, Y > 0)
    found = run(skl2onnx.to_onnx(rest, X[:1], options={"zipmap": False}).SerializeToString(), X)
    np.testing.assert_array_equal(found["label"], rest.predict(X))


def test_decisions_of_pairs():
    """A column for each pair; a dictionary with a key for each class cannot hold them."""
    register_onnx_converters()
    model = SVC(decision_function_shape="ovo").fit(X, NAMES)
    found = run(skl2onnx.to_onnx(model, X[:1]).SerializeToString(), X)
    np.testing.assert_allclose(found["probabilities"], model.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(found["label"], model.predict(X))


def describe(file) -> list[bytes]:
    """All operators and arrays of a file; its graph has a name that is drawn at random."""
    return [part.SerializeToString() for part in (*file.graph.node, *file.graph.initializer)]


def test_scikit_learn_is_converted_as_before():
    """The registration is of our classes alone: its own converters give the same operators."""
    theirs = make_pipeline(StandardScaler(), sklearn.svm.SVR()).fit(X, TARGET)
    before = describe(skl2onnx.to_onnx(theirs, X[:1]))
    names = register_onnx_converters()
    assert {"SVC", "LinearSVR", "SVCCV", "RankSVM"} <= set(names)
    assert describe(skl2onnx.to_onnx(theirs, X[:1])) == before
    assert names == register_onnx_converters()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVC(probability="sigmoid"), r"SVC\(probability='sigmoid'\) has no probabilities in ONNX; .*raw_scores"),
        (RiskClassifier("logistic", probability="isotonic"), r"RiskClassifier\(probability='isotonic'\) has no prob"),
        (SVC(kernel=lambda A, B: A @ B.T), "kernel must be one of this library to be exported, got 'callable'"),
    ],
    ids=["sigmoid", "isotonic", "callable"],
)
def test_what_skl2onnx_cannot_take(model, words):
    """One sentence."""
    register_onnx_converters()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        skl2onnx.to_onnx(pipeline, X[:1])


def test_pairs_in_a_dictionary():
    """What is asked for in so many words and cannot be is refused when the file is made, not when it is run."""
    register_onnx_converters()
    model = SVC(decision_function_shape="ovo").fit(X, Y)
    with pytest.raises(
        ValueError, match=r"SVC\(decision_function_shape='ovo'\) has no score for each class; use 'ovr'"
    ):
        skl2onnx.to_onnx(model, X[:1], options={"zipmap": "columns"})
