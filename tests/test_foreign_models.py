"""Model files of LIBSVM and LIBLINEAR: read, written, judged; and against the programs themselves."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from fitted_models import CLASS, EXAMPLES, NEW, NEW_K, TARGET, TWO, K, X, fit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    MetricSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RiskClassifier,
    RiskRegressor,
    certify,
    load,
    save,
)
from maxmargin.files import read_libsvm_model, write_liblinear_model, write_libsvm_model
from maxmargin.guarantees.row_search import find_rows

ORDER = np.array([7, -3, 2, 5])  # labels in an order in which LIBSVM and LIBLINEAR keep them, and we do not
KERNELS = {
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "gamma": 0.2, "coef0": 0.5, "degree": 3},
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1},
}
MACHINES = {
    "c_svc": (SVC, {"C": 3.0}),
    "nu_svc": (NuSVC, {"nu": 0.6}),
    "one_class": (OneClassSVM, {"nu": 0.3}),
    "epsilon_svr": (SVR, {"C": 3.0, "epsilon": 0.2}),
    "nu_svr": (NuSVR, {"C": 3.0, "nu": 0.3}),
}
LINEAR = {
    "L2R_LR": (RiskClassifier, {"loss": "logistic"}),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {"dual": True}),
    "L2R_L2LOSS_SVC": (LinearSVC, {"dual": False}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"loss": "hinge"}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {"penalty": "l1", "dual": False}),
    "L1R_LR": (RiskClassifier, {"loss": "logistic", "penalty": "l1"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {"loss": "squared_epsilon_insensitive", "dual": True, "epsilon": 0.1}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {"epsilon": 0.1}),
}
CODES = {
    "L2R_LR": 0, "L2R_L2LOSS_SVC_DUAL": 1, "L2R_L2LOSS_SVC": 2, "L2R_L1LOSS_SVC_DUAL": 3, "MCSVM_CS": 4,
    "L1R_L2LOSS_SVC": 5, "L1R_LR": 6, "L2R_LR_DUAL": 7, "L2R_L2LOSS_SVR": 11, "L2R_L2LOSS_SVR_DUAL": 12,
    "L2R_L1LOSS_SVR_DUAL": 13,
}  # fmt: skip


# ---- a second opinion: the formats in a few lines ---------------------------------------------------------------


def read_header(path: Path, last: str) -> tuple[dict[str, list[str]], list[list[str]]]:
    """The header and the words of the lines after it."""
    lines = path.read_text().splitlines()
    end = lines.index(last)
    words = [line.split() for line in lines]
    return {key: values for key, *values in words[:end]}, [each for each in words[end + 1 :] if each]


def decide_libsvm(path: Path, rows: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """f of each pair of labels (of (0, 0) where there are no labels), by LIBSVM's own formulas."""
    header, body = read_header(path, "SV")
    width = int(header["nr_class"][0]) - 1
    coef = np.array([[float(word) for word in words[:width]] for words in body])
    values = {key: float(header[key][0]) for key in ("degree", "gamma", "coef0") if key in header}
    if header["kernel_type"] == ["precomputed"]:
        kernel = rows[:, [int(words[width].split(":")[1]) - 1 for words in body]]
    else:
        vectors = np.zeros((len(body), rows.shape[1]))
        for i, words in enumerate(body):
            for index, value in (word.split(":") for word in words[width:]):
                vectors[i, int(index) - 1] = float(value)
        dots, distances = rows @ vectors.T, ((rows[:, None] - vectors[None]) ** 2).sum(axis=2)
        kernel = {
            "linear": lambda: dots,
            "polynomial": lambda: (values["gamma"] * dots + values["coef0"]) ** values["degree"],
            "rbf": lambda: np.exp(-values["gamma"] * distances),
            "sigmoid": lambda: np.tanh(values["gamma"] * dots + values["coef0"]),
        }[header["kernel_type"][0]]()
    rho = [float(word) for word in header["rho"]]
    if "label" not in header:
        return {(0, 0): kernel @ coef[:, 0] - rho[0]}
    labels, ends = [int(word) for word in header["label"]], np.cumsum([0, *map(int, header["nr_sv"])])
    found = {}
    for number, (i, j) in enumerate(combinations(range(width + 1), 2)):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        f = kernel[:, first] @ coef[first, j - 1] + kernel[:, second] @ coef[second, i] - rho[number]
        found[labels[i], labels[j]] = f
    return found


def compare_pairs(model, found: dict, rows) -> float:
    """The largest difference between a model's binary decisions and those of a file, in the signs of the model."""
    if (0, 0) in found:
        theirs = found[0, 0][:, None]
    else:
        pairs = combinations(model.classes_.astype(int).tolist(), 2)
        theirs = np.column_stack([found[p, q] if (p, q) in found else -found[q, p] for p, q in pairs])
    return float(np.abs(model._decision_values(rows) - theirs).max())


def decide_liblinear(path: Path, rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """X w with the constant, and the labels."""
    header, body = read_header(path, "w")
    w, bias = np.array(body, float), float(header["bias"][0])
    rows = np.column_stack([rows, np.full(len(rows), bias)]) if bias >= 0 else rows
    return rows @ w, [int(word) for word in header.get("label", [])]


def compare_linear(model, path: Path, rows: np.ndarray) -> float:
    """The largest difference between a model's decisions and those of a file."""
    theirs, labels = decide_liblinear(path, rows)
    if not labels:
        return float(np.abs(model.predict(rows) - theirs[:, 0]).max())
    if theirs.shape[1] == 1:
        theirs = theirs[:, 0] if labels[0] == model.classes_[1] else -theirs[:, 0]
    else:
        theirs = theirs[:, np.argsort(labels)]
        theirs = theirs if len(labels) > 2 else theirs[:, 1] - theirs[:, 0]
    return float(np.abs(model.decision_function(rows) - theirs).max())


# ---- LIBSVM: there and back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_machines_go_there_and_back(machine, kernel, tmp_path):
    """The decisions of the file are those of the model, by a second opinion, and those of the model read back."""
    make, parameters = MACHINES[machine]
    y = TARGET if machine.endswith("svr") else ORDER[CLASS]
    model = make(**parameters, **KERNELS[kernel])
    model = model.fit(X) if machine == "one_class" else model.fit(X, y)
    path = tmp_path / "model"
    write_libsvm_model(model, path)
    size = max(np.abs(model._dual_coef_).sum(), 1.0)  # where coefficients are large, they cancel
    assert compare_pairs(model, decide_libsvm(path, NEW), NEW) < 1e-12 * size
    back = load(path)
    assert type(back) is make
    assert path.read_text().startswith(f"svm_type {machine}\nkernel_type {kernel}\n")
    np.testing.assert_allclose(back._decision_values(NEW), model._decision_values(NEW), rtol=0, atol=1e-12 * size)
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW)) if machine in ("c_svc", "nu_svc") else None
    assert back.certificate_.relative_gap == np.inf


def test_two_classes_precomputed_and_sparse_go_there_and_back(tmp_path):
    """Labels of truth values become 0 and 1."""
    path = tmp_path / "model"
    for model, rows in ((SVC().fit(sp.csr_array(X), TWO), NEW), (SVC(kernel="precomputed").fit(K, TWO), NEW_K)):
        write_libsvm_model(model, path)
        back = load(path, n_features=rows.shape[1])
        assert back.classes_.tolist() == [0, 1]
        np.testing.assert_allclose(back.decision_function(rows), model.decision_function(rows), atol=1e-13)
        assert compare_pairs(back, decide_libsvm(path, rows), rows) < 1e-13


@pytest.mark.parametrize("name", ["svc_probability", "svc_probability_two"])
def test_probabilities_go_there_and_back(name, tmp_path):
    """probA and probB."""
    model = fit(name)
    write_libsvm_model(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.probability is True
    np.testing.assert_allclose(back.predict_proba(NEW), model.predict_proba(NEW), atol=1e-12)


def test_labels_in_another_order_are_sorted_and_ties_are_decided_as_there():
    """Of classes 3, 1, 2, each of which wins a pair: LIBSVM takes the first in its file, which is 3."""
    text = read_libsvm_model(Path(__file__).parent / "data" / "circle.model")
    assert text.classes_.tolist() == [1, 2, 3]
    assert text.predict([[0.0]]).tolist() == [3]
    np.testing.assert_array_equal(text._decision_values([[0.0]]), [[1.0, -1.0, 1.0]])


def test_a_file_read_and_written_is_the_same_file(tmp_path):
    """Labels stay in their order."""
    source = Path(__file__).parent / "data" / "circle.model"
    write_libsvm_model(load(source), tmp_path / "model")
    assert (tmp_path / "model").read_text().split() == source.read_text().split()


def test_packed_files_are_read_and_written(tmp_path):
    """By their suffix."""
    write_libsvm_model(fit("svr"), tmp_path / "model.gz")
    assert gzip.decompress((tmp_path / "model.gz").read_bytes()).startswith(b"svm_type epsilon_svr\n")
    np.testing.assert_allclose(
        read_libsvm_model(tmp_path / "model.gz").predict(NEW), fit("svr").predict(NEW), atol=1e-13
    )


def test_features_beyond_the_support_vectors(tmp_path):
    """The file does not say how many there are; somebody may."""
    wide = np.column_stack([X, np.zeros((60, 2))])
    write_libsvm_model(SVC().fit(wide, TWO), tmp_path / "model")
    assert load(tmp_path / "model").n_features_in_ == 5
    model = load(tmp_path / "model", n_features=7)
    assert model.predict(wide).shape == (60,)
    with pytest.raises(ValueError, match="n_features must be a whole number from 5 on, got 4"):
        load(tmp_path / "model", n_features=4)


def test_loaded_machines_fit_again_and_are_saved(tmp_path):
    """They are ordinary estimators: what is unknown is refused by fit, and survives our own format."""
    write_libsvm_model(fit("nusvr"), tmp_path / "model")
    model = load(tmp_path / "model")
    save(model, tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    assert np.isnan(again.nu)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    with pytest.raises(ValueError, match=r"The 'nu' parameter of NuSVR must be a float .* Got nan instead"):
        again.set_params(C=1.0).fit(X, TARGET)
    again.set_params(nu=0.5, gamma="scale").fit(X, TARGET)
    np.testing.assert_allclose(again.predict(NEW), fit("nusvr").predict(NEW), atol=1e-10)
    assert again.certificate_.relative_gap <= again.tol


# ---- LIBSVM: judged ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_loaded_machines_are_judged(machine, tmp_path):
    """The support vectors are found among the rows; parameters that the file lacks are asked for."""
    make, parameters = MACHINES[machine]
    y = None if machine == "one_class" else TARGET if machine.endswith("svr") else ORDER[CLASS]
    model = make(**parameters, gamma=0.2).fit(X, y)
    write_libsvm_model(model, tmp_path / "model")
    back = load(tmp_path / "model")
    for name in [name for name in ("C", "nu", "epsilon") if name in parameters and np.isnan(getattr(back, name))]:
        with pytest.raises(ValueError, match=rf"{name} is not known, since the model's file .* set_params\({name}="):
            certify(back, X, y)
        back.set_params(**{name: parameters[name]})
    found = certify(back, X, y)
    assert found.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=0.05, abs=1e-7)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-6)


def test_eight_digits_are_enough_to_find_the_rows(tmp_path):
    """LIBSVM writes the support vectors with %.8g."""
    model = SVC(C=3.0, gamma=0.2).fit(X, TWO)
    write_libsvm_model(model, tmp_path / "model")
    header, body = (tmp_path / "model").read_text().split("SV\n", 1)
    lines = [" ".join(shorten(word) for word in line.split()) for line in body.splitlines()]
    (tmp_path / "model").write_text(header + "SV\n" + "\n".join(lines) + "\n")
    found = certify(load(tmp_path / "model"), X, TWO)
    assert found.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=0.2, abs=1e-6)


def shorten(word: str) -> str:
    """index:value with eight digits; coefficients as they are."""
    index, _, value = word.partition(":")
    return f"{index}:{float(value):.8g}" if value else word


def test_rows_that_are_there_twice_are_each_found_once(tmp_path):
    """Two support vectors are never the same row, and equal rows of another class are not theirs."""
    twice, labels = np.vstack([X, X]), np.concatenate([TWO, ~TWO])
    model = SVC(gamma=0.2).fit(np.vstack([twice, twice]), np.concatenate([labels, labels]))
    write_libsvm_model(model, tmp_path / "model")
    back = load(tmp_path / "model")
    found = certify(back, np.vstack([twice, twice]), np.concatenate([labels, labels]))
    assert found.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=0.05, abs=1e-8)


def test_other_data_are_told(tmp_path):
    """A support vector that is no row of X."""
    write_libsvm_model(SVC(gamma=0.2).fit(X, CLASS), tmp_path / "model")
    with pytest.raises(
        ValueError, match=r"X has no row of class \d that equals support vector \d+; the model was fitted"
    ):
        certify(load(tmp_path / "model"), X + 0.5, CLASS)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_rows_are_found(sparse):
    """Each once, in any order, zeros included."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(40, 4)), np.zeros((2, 4)), rng.normal(size=(3, 4)).repeat(2, axis=0)])
    order = rng.permutation(len(rows))
    matrix = sp.csr_array(rows) if sparse else rows
    found = find_rows(matrix[order], matrix)
    assert sorted(found) == list(range(len(rows)))
    np.testing.assert_array_equal(rows[found], rows[order])
    assert find_rows(matrix[order] * 1.001, matrix)[np.abs(rows[order]).sum(axis=1) > 0].max() == -1


# ---- LIBLINEAR: there and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("intercept", ["free", "regularised", "none"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_machines_go_there_and_back(solver, intercept, classes, tmp_path):
    """The decisions of the file are those of the model, whatever the intercept."""
    make, parameters = LINEAR[solver]
    regression = make is LinearSVR
    y = TARGET if regression else ORDER[np.minimum(CLASS, classes - 1)]
    model = make(C=0.7, intercept=intercept, intercept_scaling=2.5, **parameters).fit(X, y)
    path = tmp_path / "model"
    write_liblinear_model(model, path)
    header, _ = read_header(path, "w")
    assert header["solver_type"] == [solver]
    assert header["bias"] == {"free": ["1"], "regularised": ["2.5"], "none": ["-1"]}[intercept]
    assert compare_linear(model, path, NEW) < 1e-12
    back = load(path)
    assert type(back) is make
    assert compare_linear(back, path, NEW) < 1e-12
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW)) if not regression else None
    assert back.coef_.shape == model.coef_.shape
    assert np.shape(back.intercept_) == np.shape(model.intercept_)
    assert {key: getattr(back, key) for key in parameters if key != "epsilon"} == {
        key: value for key, value in parameters.items() if key != "epsilon"
    }
    assert np.isnan(back.C)


def test_the_other_linear_machines_are_written(tmp_path):
    """RiskClassifier and RiskRegressor, with losses that LIBLINEAR has, and a sparse w."""
    losses = {"hinge": "L2R_L1LOSS_SVC_DUAL", "squared_hinge": "L2R_L2LOSS_SVC", "logistic": "L2R_LR"}
    for loss, name in losses.items():
        write_liblinear_model(RiskClassifier(loss).fit(X, CLASS), tmp_path / "model")
        assert read_header(tmp_path / "model", "w")[0]["solver_type"] == [name]
    write_liblinear_model(RiskRegressor("epsilon_insensitive").fit(X, TARGET), tmp_path / "model")
    assert isinstance(load(tmp_path / "model"), LinearSVR)
    model = LinearSVC(penalty="l1", dual=False, C=0.1).fit(X, CLASS)
    dense = model.decision_function(NEW)
    write_liblinear_model(model.sparsify(), tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").decision_function(NEW), dense, atol=1e-12)


def test_probabilities_of_a_logistic_machine(tmp_path):
    """They follow from the scores."""
    model = RiskClassifier("logistic").fit(X, CLASS)
    write_liblinear_model(model, tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict_proba(NEW), model.predict_proba(NEW), atol=1e-12)


@pytest.mark.parametrize("solver", LINEAR)
def test_loaded_linear_machines_are_judged(solver, tmp_path):
    """They have no duals; the judge looks for some."""
    make, parameters = LINEAR[solver]
    y = TARGET if make is LinearSVR else CLASS
    model = make(C=0.7, tol=1e-6, intercept="regularised", **parameters).fit(X, y)
    write_liblinear_model(model, tmp_path / "model")
    back = load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"C is not known, since the model's file does not hold it; set_params\(C="):
        certify(back, X, y)
    back.set_params(C=0.7)
    if make is LinearSVR:
        back.set_params(epsilon=0.1)
    found = certify(back, X, y)
    assert found.relative_gap < 2e-6
    primals = [part.primal for part in found.parts or (found,)]
    assert primals == pytest.approx([each.primal for each in model.certificates_], rel=1e-6)


def test_more_features_than_the_file_has(tmp_path):
    """Their weights are zero, as LIBLINEAR itself ignores them."""
    write_liblinear_model(LinearSVC().fit(X, TWO), tmp_path / "model")
    model = load(tmp_path / "model", n_features=8)
    wide = np.column_stack([NEW, np.ones((25, 3))])
    np.testing.assert_array_equal(model.predict(wide), load(tmp_path / "model").predict(NEW))


# ---- what the formats cannot hold -------------------------------------------------------------------------------


UNWRITABLE = {
    "LIBSVM has no kernel 'laplacian', so its model files cannot hold this SVC": ("svc_laplacian", write_libsvm_model),
    "LIBSVM has no SVC with loss='squared_hinge', so no name for it": ("svc_pairs", write_libsvm_model),
    "LIBSVM has no SVR with loss='huber', so no name for it": ("svr_huber", write_libsvm_model),
    "LIBSVM's model files hold machines for pairs of classes, and not multi_class='ovr'": (
        "svc_rest", write_libsvm_model,
    ),
    "LIBSVM's model files have labels that are whole numbers of 32 bits, and not ape, bee, cat": (
        "svc", write_libsvm_model,
    ),
    "LIBLINEAR's model files have labels that are whole numbers of 32 bits, and not ape, bee, cat": (
        "linear_svc", write_liblinear_model,
    ),
    "LIBLINEAR has no RiskClassifier with loss='exponential', so no name for it": (
        "risk_exponential", write_liblinear_model,
    ),
    "LIBLINEAR has no RiskRegressor with loss='poisson', so no name for it": ("risk_poisson", write_liblinear_model),
    "LIBLINEAR has no label_costs and label_scales": ("risk_costs", write_liblinear_model),
    "LIBLINEAR has no RiskClassifier with multi_class='softmax'": ("risk_softmax", write_liblinear_model),
}  # fmt: skip


@pytest.mark.parametrize("message", UNWRITABLE)
def test_what_the_formats_cannot_hold_is_refused(message, tmp_path):
    """One sentence, and no file."""
    name, write = UNWRITABLE[message]
    with pytest.raises(ValueError, match=message):
        write(fit(name), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_only_their_own_kind_is_written(tmp_path):
    """Kernel machines there, linear machines here, and all of them fitted."""
    with pytest.raises(TypeError, match=r"model must be a fitted SVC, .* of maxmargin, got LinearSVC"):
        write_libsvm_model(fit("linear_svc"), tmp_path / "model")
    with pytest.raises(TypeError, match=r"model must be a fitted LinearSVC, .* of maxmargin, got SVC"):
        write_liblinear_model(fit("svc"), tmp_path / "model")
    with pytest.raises(TypeError, match="got MetricSVC"):
        write_liblinear_model(MetricSVC().fit(X, TWO), tmp_path / "model")
    with pytest.raises(NotFittedError):
        write_libsvm_model(SVC(), tmp_path / "model")
    with pytest.raises(NotFittedError):
        write_liblinear_model(LinearSVC(), tmp_path / "model")


def test_labels_beyond_an_int_are_refused(tmp_path):
    """The programs would read another label."""
    with pytest.raises(ValueError, match="whole numbers of 32 bits, and not 0, 3000000000"):
        write_libsvm_model(SVC().fit(X, TWO * 3_000_000_000), tmp_path / "model")


# ---- broken files -----------------------------------------------------------------------------------------------


SVM = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:1
-1 2:0.5
"""
LIN = """solver_type L2R_L2LOSS_SVC
nr_class 2
label 1 -1
nr_feature 2
bias 1
w
0.5
-0.25
0.125
"""
BROKEN = {
    "line 1: svm_type must be one of c_svc, nu_svc, .* got 'x_svc'": (SVM, "c_svc", "x_svc"),
    "line 2: kernel_type must be one of linear, .* got 'laplacian'": (SVM, "rbf", "laplacian"),
    "line 3: gamma must be finite numbers, got 'x'": (SVM, "gamma 0.5", "gamma x"),
    "line 3: gamma must be 1 number, got 2": (SVM, "gamma 0.5", "gamma 1 2"),
    "line 3: gamma must be finite numbers, got 'nan'": (SVM, "gamma 0.5", "gamma nan"),
    "line 3: gamma must be finite numbers, got '1e999'": (SVM, "gamma 0.5", "gamma 1e999"),
    "line 3: gamma must be finite numbers, got '1_0'": (SVM, "gamma 0.5", "gamma 1_0"),
    "line 3: one of svm_type, .* was expected, got 'gama'": (SVM, "gamma", "gama"),
    "line 4: nr_class must be a whole number from 2 on, got '1'": (SVM, "nr_class 2", "nr_class 1"),
    "line 4: nr_class must be a whole number from 2 on, got '99999999999'": (SVM, "nr_class 2", "nr_class 99999999999"),
    "line 6: rho must be 2305843005992468481 numbers, got 1": (SVM, "nr_class 2", "nr_class 2147483647"),
    "must have 2000000000 support vectors, as total_sv says, and has 2": (SVM, "total_sv 2", "total_sv 2000000000"),
    "must have 3 support vectors, as total_sv says, and has 2": (SVM, "total_sv 2", "total_sv 3"),
    "line 7: label must be 2 whole numbers, got '1'": (SVM, "label 1 -1", "label 1"),
    "line 7: label must be 2 different numbers, got one twice": (SVM, "label 1 -1", "label 1 1"),
    "line 8: nr_sv must sum to total_sv, 2, got 3": (SVM, "nr_sv 1 1", "nr_sv 1 2"),
    "line 8: nr_sv must be 2 whole numbers from 0 on, got '3 -1'": (SVM, "nr_sv 1 1", "nr_sv 3 -1"),
    "has no line 'rho' before its numbers": (SVM, "rho 0.25\n", ""),
    "has no line 'gamma' before its numbers": (SVM, "gamma 0.5\n", ""),
    "line 2: svm_type is there twice": (SVM, "svm_type c_svc\n", "svm_type c_svc\nsvm_type c_svc\n"),
    "has no line 'SV', so it was cut off": (SVM, SVM[SVM.index("SV\n1") :], ""),
    "line 10, column 9: index:value was expected, got 'x'": (SVM, "3:1", "x"),
    "line 10, column 9: the indices of a line must rise": (SVM, "3:1", "1:1"),
    "line 11, column 6: numbers must be finite, got 'inf'": (SVM, "2:0.5", "2:inf"),
    "line 11, column 1: .* got 'y'": (SVM, "-1 2:0.5", "y 2:0.5"),
    "must have 0:number after the coefficients, since its kernel is precomputed": (
        SVM, "kernel_type rbf\ngamma 0.5", "kernel_type precomputed",
    ),
    "line 1: solver_type must be one of L2R_LR, .* got 'SGD'": (LIN, "L2R_L2LOSS_SVC", "SGD"),
    "line 1: ONECLASS_SVM has no estimator here; use OneClassSVM": (LIN, "L2R_L2LOSS_SVC", "ONECLASS_SVM"),
    "must have 2000000001 lines after w, as nr_feature and bias say, and has 3": (
        LIN, "nr_feature 2", "nr_feature 2000000000",
    ),
    "line 4: nr_feature must be a whole number from 1 on, got '0'": (LIN, "nr_feature 2", "nr_feature 0"),
    "line 5: bias must be finite numbers, got 'big'": (LIN, "bias 1", "bias big"),
    "line 8: a feature must have 1 number, got 2": (LIN, "-0.25", "-0.25 3"),
    "line 8: a feature must have finite numbers, got 'inf'": (LIN, "-0.25", "inf"),
    "line 7: a feature must have 3 numbers, got 1": (LIN, "nr_class 2\nlabel 1 -1", "nr_class 3\nlabel 1 -1 4"),
}  # fmt: skip


@pytest.mark.parametrize("message", BROKEN)
def test_broken_files_are_refused_with_their_line(message, tmp_path):
    """And counts that nothing backs up take no memory."""
    text, old, new = BROKEN[message]
    assert old in text
    (tmp_path / "model").write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"model,? {message}"):
        load(tmp_path / "model")


def test_lines_of_many_coefficients_are_told_by_their_column(tmp_path):
    """Of three classes there are two in front of every support vector."""
    text = (Path(__file__).parent / "data" / "circle.model").read_text()
    for old, new, message in (
        ("1 -1 1:2", "1 -1 1:x", r"line 10, column 8: a number was expected, got 'x'"),
        ("1 -1 1:2", "z -1 1:2", r"line 10: a support vector must have 2 coefficients, .* got 'z'"),
        ("1 -1 1:2", "1", r"must have 6 support vectors, as total_sv says, and has 5|line 10"),
    ):
        assert old in text
        (tmp_path / "model").write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "model")


def test_windows_and_empty_lines_are_read(tmp_path):
    """As other programs write them; f = k(x_1, x) - k(x_2, x) - rho, positive for the first label."""
    expected = np.exp(-0.5 * 1.5) - 1.0 - 0.25
    for content in (SVM, (SVM + "\n").replace("\n", "\r\n"), SVM.replace("\n", "  \n"), SVM.rstrip("\n")):
        (tmp_path / "model").write_bytes(content.encode())
        model = load(tmp_path / "model")
        assert model.classes_.tolist() == [-1, 1]
        assert model.decision_function([[0.0, 0.5, 0.0]]) == pytest.approx(expected)
    (tmp_path / "model").write_bytes((LIN + "\n").replace("\n", "\r\n").encode())
    assert load(tmp_path / "model").decision_function([[2.0, 4.0]]) == pytest.approx(0.125)


def test_probabilities_of_regression_are_left_out_with_a_word(tmp_path):
    """svm-train -s 3 -b 1 writes the noise of the targets."""
    text = SVM.replace("c_svc", "epsilon_svr").replace("label 1 -1\nnr_sv 1 1\n", "probA 0.3\n")
    (tmp_path / "model").write_text(text)
    with pytest.warns(UserWarning, match="holds probA, which SVR has no place for; it is left out"):
        assert isinstance(load(tmp_path / "model"), SVR)


@pytest.mark.parametrize("text", [SVM, LIN], ids=["libsvm", "liblinear"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_anything_in_a_file_is_refused_or_makes_a_model(text, data, tmp_path):
    """Bytes changed, words moved, lines doubled: an error of one sentence, or a machine that predicts."""
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        place, how = data.draw(st.integers(0, len(lines) - 1)), data.draw(st.sampled_from("cutwordlinedouble"))
        words = lines[place].split(" ")
        word = data.draw(
            st.sampled_from(["-1", "0", "2", "1e308", "nan", "1:1", "0:1", "9999999999", "", "x", "SV", "w"])
        )
        if how in "cut":
            lines[place] = lines[place][: data.draw(st.integers(0, len(lines[place])))]
        elif how in "word":
            words[data.draw(st.integers(0, len(words) - 1))] = word
            lines[place] = " ".join(words)
        else:
            lines.insert(place, lines[data.draw(st.integers(0, len(lines) - 1))])
    (tmp_path / "model").write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(tmp_path / "model")
        except ValueError as error:
            model, message = None, str(error)
    if model is None:
        assert "model" in message
        assert message.endswith(".")
    else:
        d = min(model.n_features_in_, 10_000)
        new = sp.csr_array((3, model.n_features_in_)) if d == 10_000 else np.ones((3, d))
        with np.errstate(over="ignore", invalid="ignore"):  # 1e308 + 1e308, of which NumPy tells
            assert len(model.predict(new)) == 3


# ---- the programs themselves ------------------------------------------------------------------------------------


def needs(*programs: str):
    """Skip where a program is not installed."""
    absent = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(absent), reason=f"{', '.join(absent)} not installed")


def run(folder: Path, *command: str) -> str:
    """What a program prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def write_rows(path: Path, rows: np.ndarray, y) -> None:
    """LIBSVM text."""
    lines = [
        f"{label:.17g} " + " ".join(f"{j}:{value:.17g}" for j, value in enumerate(row, 1) if value)
        for row, label in zip(rows, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@needs("svm-train", "svm-predict")
@pytest.mark.parametrize(("machine", "classes"), [*((machine, 2) for machine in MACHINES), ("c_svc", 3), ("nu_svc", 3)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_libsvm_reads_ours_and_we_read_theirs(machine, classes, kernel, tmp_path):
    """Labels or values of svm-predict, and decisions by the formulas, on both models; and the gap of theirs."""
    make, parameters = MACHINES[machine]
    regression = machine in ("one_class", "epsilon_svr", "nu_svr")
    y = TARGET if regression else ORDER[np.minimum(CLASS, classes - 1)]
    write_rows(tmp_path / "train", X, y)
    write_rows(tmp_path / "test", NEW, np.zeros(len(NEW)))
    kernel_options = KERNELS[kernel]
    flags = {"-s": list(MACHINES).index(machine), "-t": list(KERNELS).index(kernel), "-c": 3, "-p": 0.2}
    flags |= {
        "-n": parameters.get("nu", 0.5),
        "-g": kernel_options.get("gamma", 0.2),
        "-r": kernel_options.get("coef0", 0),
    }
    words = [str(word) for pair in flags.items() for word in pair]
    run(tmp_path, "svm-train", "-q", *words, "train", "theirs")
    theirs = load(tmp_path / "theirs", n_features=5)
    ours = make(**parameters, **kernel_options)
    ours = ours.fit(X) if machine == "one_class" else ours.fit(X, y)
    write_libsvm_model(ours, tmp_path / "ours")
    for model, name in ((theirs, "theirs"), (ours, "ours")):
        run(tmp_path, "svm-predict", "test", name, "answers")
        answers = np.loadtxt(tmp_path / "answers")
        size = max(np.abs(model._decision_values(NEW)).max(), 1.0)
        if machine.endswith("svr"):
            np.testing.assert_allclose(model.predict(NEW), answers, rtol=1e-5, atol=1e-5 * size)
        else:
            np.testing.assert_array_equal(model.predict(NEW), answers)
        assert compare_pairs(model, decide_libsvm(tmp_path / name, NEW), NEW) < 1e-6 * size
    theirs.set_params(**{key: value for key, value in parameters.items() if key in theirs.get_params()})
    if kernel != "sigmoid":  # of which no gap is a proof
        assert certify(theirs, X, None if machine == "one_class" else y).relative_gap < 0.05


@pytest.mark.slow
@needs("svm-train", "svm-predict")
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_libsvm_agrees_on_probabilities(classes, tmp_path):
    """To the digits printed for two classes; of more, LIBSVM stops its own iteration at about 0.005."""
    y = ORDER[np.minimum(CLASS, classes - 1)]
    write_rows(tmp_path / "train", X, y)
    write_rows(tmp_path / "test", NEW, np.zeros(len(NEW)))
    run(tmp_path, "svm-train", "-q", "-b", "1", "-g", "0.2", "train", "theirs")
    ours = SVC(probability=True, gamma=0.2, random_state=0).fit(X, y)
    write_libsvm_model(ours, tmp_path / "ours")
    for model, name in ((load(tmp_path / "theirs", n_features=5), "theirs"), (ours, "ours")):
        run(tmp_path, "svm-predict", "-b", "1", "test", name, "answers")
        first, *lines = (tmp_path / "answers").read_text().splitlines()
        table = np.array([[float(word) for word in line.split()[1:]] for line in lines])
        order = np.argsort([int(word) for word in first.split()[1:]])
        np.testing.assert_allclose(model.predict_proba(NEW), table[:, order], atol=1e-5 if classes == 2 else 0.02)


@pytest.mark.slow
@needs("svm-train", "svm-predict")
def test_libsvm_agrees_on_precomputed_kernels(tmp_path):
    """Rows `label 0:number 1:k(x, x_1) ...`, as LIBSVM wants them."""
    y = ORDER[CLASS]
    write_rows(tmp_path / "train", K, y)
    write_rows(tmp_path / "test", NEW_K, np.zeros(len(NEW)))
    for name in ("train", "test"):
        lines = (tmp_path / name).read_text().splitlines()
        numbered = [line.replace(" ", f" 0:{i} ", 1) for i, line in enumerate(lines, 1)]
        (tmp_path / name).write_text("\n".join(numbered) + "\n")
    run(tmp_path, "svm-train", "-q", "-t", "4", "-c", "3", "train", "theirs")
    theirs, ours = load(tmp_path / "theirs", n_features=60), SVC(kernel="precomputed", C=3.0).fit(K, y)
    write_libsvm_model(ours, tmp_path / "ours")
    for model, name in ((theirs, "theirs"), (ours, "ours")):
        run(tmp_path, "svm-predict", "test", name, "answers")
        np.testing.assert_array_equal(model.predict(NEW_K), np.loadtxt(tmp_path / "answers"))
        assert compare_pairs(model, decide_libsvm(tmp_path / name, NEW_K), NEW_K) < 1e-9
    assert certify(theirs, K, y).relative_gap < 0.01


@pytest.mark.slow
@needs("liblinear-train", "liblinear-predict")
@pytest.mark.parametrize(
    ("solver", "classes"), [(solver, k) for solver in CODES for k in ((2,) if "SVR" in solver else (2, 3))]
)
@pytest.mark.parametrize("bias", [-1.0, 1.0, 2.5])
def test_liblinear_reads_ours_and_we_read_theirs(solver, classes, bias, tmp_path):
    """Labels, values or probabilities of its predict, and decisions by the formula, on both models."""
    regression = "SVR" in solver
    y = TARGET if regression else ORDER[np.minimum(CLASS, classes - 1)]
    write_rows(tmp_path / "train", X, y)
    write_rows(tmp_path / "test", NEW, np.zeros(len(NEW)))
    flags = {"-s": CODES[solver], "-c": 0.7, "-p": 0.1, "-B": bias, "-e": 1e-6}
    run(tmp_path, "liblinear-train", "-q", *[str(word) for pair in flags.items() for word in pair], "train", "theirs")
    theirs = load(tmp_path / "theirs")
    names = {"theirs": theirs}
    if solver in LINEAR:
        make, parameters = LINEAR[solver]
        names["ours"] = make(C=0.7, intercept="free" if bias > 0 else "none", **parameters).fit(X, y)
        write_liblinear_model(names["ours"], tmp_path / "ours")
    for name, model in names.items():
        logistic = "LR" in solver
        run(tmp_path, "liblinear-predict", *(["-b", "1"] if logistic else []), "test", name, "answers")
        lines = (tmp_path / "answers").read_text().splitlines()
        if logistic:
            order = np.argsort([int(word) for word in lines[0].split()[1:]])
            table = np.array([[float(word) for word in line.split()] for line in lines[1:]])
            np.testing.assert_array_equal(model.predict(NEW), table[:, 0])
            np.testing.assert_allclose(model.predict_proba(NEW), table[:, 1:][:, order], atol=1e-6)
        elif regression:
            np.testing.assert_allclose(model.predict(NEW), np.array(lines, float), rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(model.predict(NEW), np.array(lines, float))
        assert compare_linear(model, tmp_path / name, NEW) < 1e-9
    theirs.set_params(C=0.7, **({"epsilon": 0.1} if regression else {}))
    assert certify(theirs, X, y).relative_gap < 0.01


@pytest.mark.slow
def test_decisions_of_libsvm_itself(tmp_path):
    """Through its package for Python, where it is installed."""
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official not installed")
    for name in ("nusvr", "one_class", "svc_two", "svc_polynomial"):
        model, example = fit(name), EXAMPLES[name]
        write_libsvm_model(model, tmp_path / "model")
        theirs = svmutil.svm_load_model(str(tmp_path / "model"))
        _, _, values = svmutil.svm_predict([0.0] * len(NEW), NEW.tolist(), theirs, "-q")
        np.testing.assert_allclose(model._decision_values(example.new), np.array(values), atol=1e-9)
