"""The hash of the training data in a model file, and the warning when other data are certified."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from fitted_models import CHAINS, CLASS, NAMES, WORDS, X, fit
from kept_models import keep

from maxmargin import LinearSVC, certify, save
from maxmargin.blocks import ArrayBlocks
from maxmargin.certificates.data_hash import hash_data


def test_the_hash_does_not_depend_on_the_form_of_the_data():
    """Neither on types, nor on sparse or dense, nor on weights that are all one."""
    narrow = X.astype(np.float32)
    same = [
        (X.tolist(), CLASS.tolist(), None), (sp.csr_matrix(X), CLASS, None), (pd.DataFrame(X), pd.Series(CLASS), None),
        (np.asfortranarray(X), CLASS, np.ones(60)), (sp.csc_array(X), CLASS.astype(float), None),
    ]  # fmt: skip
    assert {hash_data(*data) for data in same} == {hash_data(X, CLASS)}
    assert hash_data(narrow, NAMES) == hash_data(narrow.astype(np.float64), NAMES.astype(object))


def test_the_hash_tells_data_apart():
    """Another value, order, shape, label or weight."""
    weight = np.ones(60)
    weight[3] = 2.0
    moved = X.copy()
    moved[7, 2] += 1e-12
    others = [
        (moved, CLASS, None), (X[::-1], CLASS, None), (X[:-1], CLASS[:-1], None), (X, CLASS[::-1], None),
        (X, CLASS, weight), (X.reshape(30, 10), CLASS, None), (X, NAMES, None), (X, None, None), (CHAINS, WORDS, None),
    ]  # fmt: skip
    assert len({hash_data(*data) for data in [(X, CLASS), *others]}) == len(others) + 1


def test_the_strips_of_a_large_matrix_are_those_of_its_sparse_form(monkeypatch):
    """Strips depend on the shape only."""
    monkeypatch.setattr("maxmargin.certificates.data_hash.STRIP_ENTRIES", 64)
    assert hash_data(X, CLASS) == hash_data(sp.csr_array(X), CLASS)
    assert hash_data(X, CLASS) != hash_data(X[:, ::-1], CLASS)


def test_certify_warns_of_other_data(tmp_path):
    """If the hash was kept, with save(X=..., y=...)."""
    model, weight = LinearSVC().fit(X, CLASS), np.linspace(1.0, 2.0, 60)
    loaded = keep(model, tmp_path, X=X, y=CLASS)
    assert loaded.data_hash_ == hash_data(X, CLASS)
    certify(loaded, X, CLASS)
    with pytest.warns(UserWarning, match="are not the data that the model was fitted on"):
        certify(loaded, X, CLASS, weight)
    with pytest.warns(UserWarning, match="are not the data that the model was fitted on"):
        certify(loaded, X[::-1], CLASS)
    assert keep(loaded, tmp_path).data_hash_ == loaded.data_hash_  # once known, it stays
    assert not hasattr(loaded.fit(X[::-1], CLASS), "data_hash_")  # until the next fit


def test_the_hash_of_one_class_has_no_labels(tmp_path):
    """y is not looked at by the fit."""
    loaded = keep(fit("one_class"), tmp_path, X=X, y=CLASS)
    assert loaded.data_hash_ == hash_data(X)
    assert certify(loaded, X) == certify(loaded, X, CLASS)  # neither warns


def test_a_structured_fit_forgets_the_hash_too(tmp_path):
    """As the others do."""
    loaded = keep(fit("structured_chains"), tmp_path, X=CHAINS, y=WORDS)
    assert loaded.data_hash_ == hash_data(CHAINS, WORDS)
    assert not hasattr(loaded.fit(CHAINS, WORDS), "data_hash_")


def test_data_in_blocks_have_no_hash(tmp_path):
    """They are not read once more for that."""
    blocks = ArrayBlocks(X, CLASS, rows=25)
    with pytest.raises(ValueError, match="X must be in memory to be hashed"):
        save(LinearSVC().fit(blocks), tmp_path / "model.mm", X=blocks)
