"""Models of one version load in the next: files and pickles that were written once, read by what is here now."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kept_models import FOLDER, KEPT_EXAMPLES, list_answers

from maxmargin import load

VERSIONS = sorted(folder.name.removeprefix("models-") for folder in FOLDER.glob("models-*"))


def test_there_are_models():
    """Those of 0.1.0 and of every later version."""
    assert "0.1.0" in VERSIONS


@pytest.mark.parametrize("form", ["mm", "pickle"])
@pytest.mark.parametrize("name", KEPT_EXAMPLES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_of_an_earlier_version_answers_as_it_did(version, name, form):
    """The same labels, scores up to rounding on another processor, and the certificate it came with."""
    path = FOLDER / f"models-{version}" / f"{name}.{form}"
    model = load(path) if form == "mm" else pickle.loads(path.read_bytes())
    found = list_answers(name, model)
    with np.load(path.with_suffix(".npz")) as kept:
        assert set(kept) <= set(found)
        for method, expected in kept.items():
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(found[method], expected, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(found[method], expected)
    model.get_params()
    assert "relative gap" in str(model.certificate_)
