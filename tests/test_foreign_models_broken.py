"""Broken model files of LIBSVM and LIBLINEAR are refused with their line."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxmargin import SVR, load

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
    "line 4: nr_class must be a whole number of at least 2, got '1'": (SVM, "nr_class 2", "nr_class 1"),
    "line 4: nr_class must be a whole number of at least 2, got '99999999999'": (
        SVM, "nr_class 2", "nr_class 99999999999",
    ),
    "line 6: rho must be 2305843005992468481 numbers, got 1": (SVM, "nr_class 2", "nr_class 2147483647"),
    "must have 2000000000 support vectors, as total_sv says, and has 2": (SVM, "total_sv 2", "total_sv 2000000000"),
    "must have 3 support vectors, as total_sv says, and has 2": (SVM, "total_sv 2", "total_sv 3"),
    "line 7: label must be 2 whole numbers, got '1'": (SVM, "label 1 -1", "label 1"),
    "line 7: label must be 2 different numbers, got one twice": (SVM, "label 1 -1", "label 1 1"),
    "line 8: nr_sv must sum to total_sv, 2, got 3": (SVM, "nr_sv 1 1", "nr_sv 1 2"),
    "line 8: nr_sv must be 2 whole numbers of at least 0, got '3 -1'": (SVM, "nr_sv 1 1", "nr_sv 3 -1"),
    "has no line 'rho' before its numbers": (SVM, "rho 0.25\n", ""),
    "has no line 'gamma' before its numbers": (SVM, "gamma 0.5\n", ""),
    "line 2: svm_type is there twice": (SVM, "svm_type c_svc\n", "svm_type c_svc\nsvm_type c_svc\n"),
    "has no line 'SV', so it was truncated": (SVM, SVM[SVM.index("SV\n1") :], ""),
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
    "line 4: nr_feature must be a whole number of at least 1, got '0'": (LIN, "nr_feature 2", "nr_feature 0"),
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
