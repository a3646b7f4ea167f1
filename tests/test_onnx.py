"""ONNX files: onnxruntime says what the model says, of every estimator."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from fitted_models import CLASS, EXAMPLES, NEW, TWO, X, fit
from sklearn.exceptions import NotFittedError

from maxmargin import SVC, LinearSVC, RiskClassifier, StructuredModel, StructuredSVM, export_onnx, load
from maxmargin.files import write_libsvm_model

onnx = pytest.importorskip("onnx", reason="onnx not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime not installed")

CHAINS = "structured_chains"


def run(path, rows) -> dict[str, np.ndarray]:
    """All outputs of a file."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rows = rows.toarray() if sp.issparse(rows) else rows
    return dict(zip(names, session.run(names, {"X": np.asarray(rows, np.float64)}), strict=True))


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {CHAINS}))
def test_onnxruntime_says_what_the_model_says(name, tmp_path):
    """Decisions to 1e-10 of their size; labels, predictions and probabilities."""
    model, new = fit(name), EXAMPLES[name].new
    difference = export_onnx(model, tmp_path / "model.onnx", new)
    found = run(tmp_path / "model.onnx", new)
    decide = getattr(model, "decision_function", model.predict)
    if name == "structured_classes":
        assert found.keys() == {"decision", "label"}
    else:
        size = max(np.abs(decide(new)).max(), 1.0)
        answer = found["decision" if "decision" in found else "prediction"]
        assert difference == pytest.approx(np.abs(answer - decide(new)).max(), abs=1e-15)
        assert difference < 1e-10 * size
    if "label" in found:
        np.testing.assert_array_equal(found["label"], model.predict(new))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probability"], model.predict_proba(new), atol=1e-10)
    else:
        assert "probability" not in found


@pytest.mark.parametrize(
    "model", [RiskClassifier("logistic", probability="sigmoid"), SVC(probability="isotonic")], ids=str
)
def test_maps_of_probabilities_are_not_exported(model, tmp_path):
    """Nor are the probabilities of the loss, which they have replaced."""
    model.fit(NEW, NEW[:, 0] > np.median(NEW[:, 0]))
    export_onnx(model, tmp_path / "model.onnx", NEW)
    assert run(tmp_path / "model.onnx", NEW).keys() == {"decision", "label"}


def test_chains_are_decoded(tmp_path):
    """Viterbi's algorithm in operators: one token and many, labels and the score of the best path."""
    model = fit(CHAINS)
    assert export_onnx(model, tmp_path / "model.onnx", EXAMPLES[CHAINS].new) < 1e-10
    for rows in (NEW[:1], NEW[:2], NEW):
        found = run(tmp_path / "model.onnx", rows)
        np.testing.assert_array_equal(found["label"], model.predict([rows])[0])
        indices, values = model.model_.joint_feature(rows, found["label"])
        assert found["decision"] == pytest.approx(values @ model.coef_[indices], rel=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_rows_are_made_up_where_none_are_given(name, tmp_path):
    """The difference is that of rows like the support vectors."""
    assert export_onnx(fit(name), tmp_path / "model.onnx") < 1e-9


def test_the_file_says_what_it_is(tmp_path):
    """Input, outputs, where it comes from, and how good it is; and the checker of ONNX has nothing to say."""
    model = fit("svc_probability")
    export_onnx(model, tmp_path / "model.onnx")
    file = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(file, full_check=True)
    assert (file.producer_name, file.graph.name) == ("maxmargin", "SVC")
    assert {prop.key: prop.value for prop in file.metadata_props} == {
        "class": "SVC",
        "certified_relative_gap": f"{model.certificate_.relative_gap:.3g}",
    }
    assert {node.domain for node in file.graph.node} == {""}  # plain operators only
    shapes = {each.name: list(each.type.tensor_type.shape.dim) for each in file.graph.output}
    shapes = {name: [length.dim_value or length.dim_param for length in shape] for name, shape in shapes.items()}
    assert shapes == {"decision": ["n", 3], "label": ["n"], "probability": ["n", 3]}


def test_a_model_of_libsvm_is_exported_with_its_ties(tmp_path):
    """Classes that win as many pairs are decided in the order of its file."""
    model = SVC(C=3.0).fit(X, CLASS)
    model._preference = np.array([2, 0, 1])
    write_libsvm_model(model, tmp_path / "model")
    assert "label 2 0 1\n" in (tmp_path / "model").read_text()
    loaded = load(tmp_path / "model")
    assert export_onnx(loaded, tmp_path / "model.onnx", NEW) < 1e-12
    rows = np.random.default_rng(0).normal(size=(2000, 5))
    np.testing.assert_array_equal(run(tmp_path / "model.onnx", rows)["label"], loaded.predict(rows))
    assert (loaded.predict(rows) != SVC(C=3.0).fit(X, CLASS).predict(rows)).any()  # there are such ties


def test_a_machine_without_support_vectors_is_exported(tmp_path):
    """Nothing but an intercept."""
    model = SVC(kernel="rbf").fit(X, TWO)
    empty = slice(0, 0)
    model.support_, model.support_vectors_ = model.support_[empty], model.support_vectors_[empty]
    model._dual_coef_, model._n_support = model._dual_coef_[:, empty], np.zeros(2, np.int32)
    assert export_onnx(model, tmp_path / "model.onnx", NEW) == 0.0


# ---- refusals ---------------------------------------------------------------------------------------------------


class Parity(StructuredModel):
    """A structured model of the user's."""

    def joint_feature(self, x, y):
        """x or -x."""
        return np.asarray(x) * (1.0 if y else -1.0)

    def loss(self, y, z):
        """0 or 1."""
        return float(y != z)

    def argmax(self, x, w, y=None):
        """The better one."""
        return max((0, 1), key=lambda z: w @ self.joint_feature(x, z) + (0.0 if y is None else self.loss(y, z)))


def test_what_onnx_cannot_express_is_refused(tmp_path):
    """Functions of the user's, and what is no fitted estimator of ours; no file is left."""
    path = tmp_path / "model.onnx"
    with pytest.raises(ValueError, match="kernel must be one of this library to be exported, got 'callable'"):
        export_onnx(SVC(kernel=lambda A, B: A @ B.T).fit(X, TWO), path)
    with pytest.raises(ValueError, match=r"model\.model must be a ChainModel or a MulticlassModel .* Parity"):
        export_onnx(StructuredSVM(Parity()).fit(list(X), TWO.astype(int).tolist()), path)
    mixed = LinearSVC().fit(X, TWO)
    mixed.classes_ = np.array([None, "a"], object)
    with pytest.raises(ValueError, match="classes_ must be numbers or texts to be exported, got"):
        export_onnx(mixed, path)
    with pytest.raises(TypeError, match=r"model must be a fitted estimator of maxmargin \(SVC, .* got str"):
        export_onnx("model", path)
    with pytest.raises(NotFittedError):
        export_onnx(SVC(), path)
    with pytest.raises(ValueError, match="path must be in a folder that exists"):
        export_onnx(fit("svc"), tmp_path / "missing" / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_machines_beyond_two_gigabytes_are_refused(tmp_path):
    """ONNX cannot hold them; and nothing is made dense first."""
    wide = sp.csr_array((np.ones(60), (np.arange(60), np.arange(60) * 100_000)), shape=(60, 6_000_000))
    model = SVC(kernel="rbf", gamma=0.1).fit(wide, TWO)
    with pytest.raises(ValueError, match=r"model needs more than 2\.0 GB as dense arrays, which ONNX cannot hold"):
        export_onnx(model, tmp_path / "model.onnx", wide[:2])


def test_a_file_that_disagrees_is_not_written(tmp_path, monkeypatch):
    """Whatever the reason."""
    monkeypatch.setattr("maxmargin.files.onnx_export.evaluate_model", lambda model, X: model.decision_function(X) + 0.1)
    with pytest.raises(ValueError, match=r"model cannot be exported: decisions of onnxruntime are off by 0\.1 of"):
        export_onnx(fit("linear_svc_two"), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_how_to_get_the_packages(package, tmp_path, monkeypatch):
    """One sentence with the command."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"export_onnx needs onnx and onnxruntime; .*pip install 'maxmargin\[onnx\]'"):
        export_onnx(fit("svc"), tmp_path / "model.onnx")
