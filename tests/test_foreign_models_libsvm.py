"""Model files of LIBSVM: written, read back and certified."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from fitted_models import CLASS, NEW, NEW_K, TARGET, TWO, K, X, fit
from foreign_model_reference import KERNELS, MACHINES, ORDER, compare_pairs, decide_libsvm

from maxmargin import SVC, certify, load, save
from maxmargin.files import read_libsvm_model, write_libsvm_model
from maxmargin.guarantees.row_search import find_rows

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
    """The file does not say how many there are; the caller may."""
    wide = np.column_stack([X, np.zeros((60, 2))])
    write_libsvm_model(SVC().fit(wide, TWO), tmp_path / "model")
    assert load(tmp_path / "model").n_features_in_ == 5
    model = load(tmp_path / "model", n_features=7)
    assert model.predict(wide).shape == (60,)
    with pytest.raises(ValueError, match="n_features must be a whole number of at least 5, got 4"):
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
