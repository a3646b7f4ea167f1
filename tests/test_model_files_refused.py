"""What a model file cannot hold is refused, and so are paths that cannot be written."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from fitted_models import TARGET, TWO, X, fit
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import SVC, SVR, StructuredModel, StructuredSVM, load, save
from maxmargin.model.kernels import RBF, Kernel

# ---- what cannot be kept ----------------------------------------------------------------------------------------


class Cauchy(Kernel):
    """A kernel of the user's."""

    name = "cauchy"

    def evaluate(self, A, B):
        """1 / (1 + |a - b|^2)."""
        return 1.0 / (1.0 + np.maximum(A.norms[:, None] + B.norms - 2.0 * A.dots(B), 0.0))

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


class OwnModel(StructuredModel):
    """A structured model of the user's: two classes."""

    def joint_feature(self, x, y):
        """x or -x."""
        return np.asarray(x) * (1.0 if y else -1.0)

    def loss(self, y, z):
        """0 or 1."""
        return float(y != z)

    def argmax(self, x, w, y=None):
        """The better one."""
        return max((0, 1), key=lambda z: w @ self.joint_feature(x, z) + (0.0 if y is None else self.loss(y, z)))


class OwnSVC(SVC):
    """A class of the user's."""


class OwnRBF(RBF):
    """A class of the user's with a name that is not ours."""


def dot(A, B):
    """A kernel of the user's that is a function."""
    return A @ B.T


def add_note():
    """A model with an attribute that was added by hand."""
    model = SVC().fit(X, TWO)
    model.note = "mine"
    return model


UNKEEPABLE = {
    "kernel of this SVC cannot be kept in a model file: it is the function dot": lambda: SVC(kernel=dot).fit(X, TWO),
    "kernel of this SVC .* it is the function <lambda>": lambda: SVC(kernel=lambda A, B: A @ B.T).fit(X, TWO),
    "kernel of this SVC .* it is an object of the class Cauchy": lambda: SVC(kernel=Cauchy()).fit(X, TWO),
    "kernel of this SVC .* it is an object of the class OwnRBF": lambda: SVC(kernel=OwnRBF(gamma=0.1)).fit(X, TWO),
    "model of this StructuredSVM .* OwnModel": lambda: StructuredSVM(OwnModel()).fit(list(X), TWO.astype(int).tolist()),
    "SVC has the attribute 'note', which a model file cannot hold": add_note,
    "M of this RiskRegressor .* DataFrame": lambda: maxmargin.RiskRegressor(
        "multivariate", M=pd.DataFrame(np.eye(2))
    ).fit(X, np.column_stack([TARGET, TARGET])),
}


@pytest.mark.parametrize("message", UNKEEPABLE)
def test_what_a_file_cannot_hold_is_refused(message, tmp_path):
    """One sentence that names the parameter; and no file is left behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = UNKEEPABLE[message]()
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "model.mm")
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_estimators_of_this_library_are_taken(tmp_path):
    """Not those of others, not classes derived from ours, not those without a fit."""
    from sklearn.svm import SVC as TheirSVC

    for stranger in (TheirSVC().fit(X, TWO), OwnSVC().fit(X, TWO), "model", None):
        with pytest.raises(TypeError, match=r"model must be a fitted estimator of maxmargin \(SVC, .*got"):
            save(stranger, tmp_path / "model.mm")
    with pytest.raises(NotFittedError, match="SVC instance is not fitted yet"):
        save(SVC(), tmp_path / "model.mm")


# ---- paths ------------------------------------------------------------------------------------------------------


def test_bad_paths_are_refused(tmp_path):
    """Before anything is written or read."""
    model = fit("svc")
    with pytest.raises(ValueError, match=r"path must be in a folder that exists, and there is no .*missing"):
        save(model, tmp_path / "missing" / "model.mm")
    with pytest.raises(ValueError, match=r"path must be a file, and .* is a folder"):
        save(model, tmp_path)
    with pytest.raises(ValueError, match="path must be a plain file, and '/dev/null' is a device"):
        save(model, "/dev/null")
    with pytest.raises(TypeError, match="path must be the path of a file, got 3"):
        save(model, 3)
    with pytest.raises(FileNotFoundError, match=r"path='.*nothing\.mm' does not exist"):
        load(tmp_path / "nothing.mm")
    with pytest.raises(ValueError, match=r"path must be a file, and .* is a folder"):
        load(tmp_path)
    with pytest.raises(TypeError, match="path must be the path of a file, got 3"):
        load(3)


def test_permissions_are_those_of_any_new_file_and_links_are_followed(tmp_path):
    """A file that was written in private would be of no use to others."""
    before = os.umask(0o027)
    try:
        save(fit("svc"), tmp_path / "model.mm")
    finally:
        os.umask(before)
    assert (tmp_path / "model.mm").stat().st_mode & 0o777 == 0o640
    (tmp_path / "model.mm").chmod(0o604)
    (tmp_path / "link.mm").symlink_to(tmp_path / "model.mm")
    save(fit("svr"), tmp_path / "link.mm")
    assert (tmp_path / "link.mm").is_symlink()
    assert (tmp_path / "model.mm").stat().st_mode & 0o777 == 0o604
    assert isinstance(load(tmp_path / "model.mm"), SVR)


def test_n_features_must_be_that_of_the_file(tmp_path):
    """The parameter is for files that do not say it."""
    save(fit("svc"), tmp_path / "model.mm")
    assert load(tmp_path / "model.mm", n_features=5).n_features_in_ == 5
    with pytest.raises(ValueError, match="n_features must be 5, that of the model file, got 6"):
        load(tmp_path / "model.mm", n_features=6)
