"""LIBSVM's and LIBLINEAR's programs read our model files, and we read theirs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fitted_models import CLASS, EXAMPLES, NEW, NEW_K, TARGET, K, X, fit
from foreign_model_reference import KERNELS, LINEAR, MACHINES, ORDER, compare_linear, compare_pairs, decide_libsvm

from maxmargin import SVC, certify, load
from maxmargin.files import write_liblinear_model, write_libsvm_model

CODES = {
    "L2R_LR": 0, "L2R_L2LOSS_SVC_DUAL": 1, "L2R_L2LOSS_SVC": 2, "L2R_L1LOSS_SVC_DUAL": 3, "MCSVM_CS": 4,
    "L1R_L2LOSS_SVC": 5, "L1R_LR": 6, "L2R_LR_DUAL": 7, "L2R_L2LOSS_SVR": 11, "L2R_L2LOSS_SVR_DUAL": 12,
    "L2R_L1LOSS_SVR_DUAL": 13,
}  # fmt: skip


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
