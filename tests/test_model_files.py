"""Model files of our own: nothing is lost, nothing is believed, and an old file is whole until the new one is."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import time
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from fitted_models import CHAINS, CLASS, EXAMPLES, NAMES, NEW, TARGET, TWO, WORDS, K, X, answers, fit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import leave_long
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import (
    SMO,
    SVC,
    SVR,
    Bundle,
    LinearSVC,
    LinearSVR,
    OneClassSVM,
    StructuredModel,
    StructuredSVM,
    certify,
    load,
    save,
)
from maxmargin.blocks import ArrayBlocks
from maxmargin.certificates.data_hash import hash_data
from maxmargin.files.archive import DIGEST_DIGITS, DIGEST_MARK, Archive, DamagedFileError, compute_digest, write_archive
from maxmargin.files.models import MODELS
from maxmargin.files.states import DERIVED_ATTRIBUTES, list_state_names
from maxmargin.files.values import Unpacker
from maxmargin.model.kernels import RBF, Kernel

every_example = pytest.mark.parametrize("name", EXAMPLES)


def keep(model, folder: Path, **options):
    """The model as it comes back from a file."""
    save(model, folder / "model.mm", **options)
    return load(folder / "model.mm")


def equal(one, other) -> bool:
    """Whether two values are the same to the last bit, arrays and matrices within them too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if sp.issparse(one):
        return one.shape == other.shape and all(
            equal(getattr(one, part), getattr(other, part)) for part in ("data", "indices", "indptr")
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(equal, one.values(), other.values()))
    if hasattr(one, "get_state"):
        return equal(one.get_state(legacy=True), other.get_state(legacy=True))
    if hasattr(one, "__dict__"):
        return equal(sorted(vars(one)), sorted(vars(other))) and all(
            equal(value, vars(other)[name]) for name, value in vars(one).items()
        )
    return one == other


# ---- nothing is lost --------------------------------------------------------------------------------------------


def test_there_is_an_example_of_every_estimator():
    """What the tests walk is all there is."""
    assert {type(fit(name)).__name__ for name in EXAMPLES} == set(MODELS)
    assert set(MODELS) == set(maxmargin.estimators.__all__) - {"BlockwiseTransformer", "path"}


@every_example
def test_answers_are_the_same_to_the_last_bit(name, tmp_path):
    """predict, decision_function, predict_proba and score_samples."""
    model, new = fit(name), EXAMPLES[name].new
    assert equal(answers(keep(model, tmp_path), new), answers(model, new))


@every_example
def test_attributes_and_parameters_are_the_same(name, tmp_path):
    """Every attribute of the fit, its results and certificates among them, and every parameter."""
    model = fit(name)
    loaded = keep(model, tmp_path)
    skipped = {"_support", "_order", "results_", "result_"}  # made again, of use to a fit only, or compared below
    assert set(vars(loaded)) == set(vars(model))
    for attribute in set(vars(model)) - skipped:
        assert equal(getattr(loaded, attribute), getattr(model, attribute)), attribute
    assert equal(loaded.get_params(deep=False), model.get_params(deep=False))
    assert equal(clone(loaded).get_params(deep=False), clone(model).get_params(deep=False))
    assert loaded.result_.history == model.result_.history
    assert loaded.result_.counters == model.result_.counters
    assert (loaded.result_.status, loaded.result_.message) == (model.result_.status, model.result_.message)
    assert loaded.result_.solver == model.result_.solver


@every_example
def test_a_second_file_has_the_bytes_of_the_first(name, tmp_path):
    """Nothing is lost on the way, and a file depends on the model alone."""
    save(fit(name), tmp_path / "one.mm")
    save(load(tmp_path / "one.mm"), tmp_path / "two.mm")
    assert (tmp_path / "one.mm").read_bytes() == (tmp_path / "two.mm").read_bytes()


@every_example
def test_private_attributes_of_a_fit_are_known(name):
    """An attribute that somebody adds to a fit must be kept, or be one that can be rebuilt."""
    model = fit(name)
    assert set(vars(model)) <= {*model.get_params(deep=False), *list_state_names(model), *DERIVED_ATTRIBUTES}


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"rank", "structured_classes", "structured_chains"}))
def test_loaded_models_can_be_certified(name, tmp_path):
    """The same judge, the same numbers."""
    model, example = fit(name), EXAMPLES[name]
    before, after = (certify(each, example.X, example.y) for each in (model, keep(model, tmp_path)))
    assert (after.primal, after.dual) == pytest.approx((before.primal, before.dual), rel=1e-12)


@every_example
def test_a_warm_fit_goes_on_where_the_file_ends(name, tmp_path):
    """No more iterations than the fit of the model itself that starts warm."""
    model, example = fit(name), EXAMPLES[name]
    fits = []
    for each in (keep(model, tmp_path), keep(model, tmp_path, compact=True)):
        data = (example.X,) if example.y is None else (example.X, example.y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", UserWarning)
            fits.append(each.set_params(warm_start=True).fit(*data))
    warm, cold = (sum(result.n_iter for result in getattr(each, "results_", [each.result_])) for each in fits)
    assert warm <= cold
    assert fits[0].certificate_.relative_gap <= max(fits[0].tol, model.certificate_.relative_gap)


@every_example
def test_a_compact_file_predicts_the_same_and_is_smaller(name, tmp_path):
    """Without duals, scores and histories; the numbers of the certificates stay."""
    model, new = fit(name), EXAMPLES[name].new
    save(model, tmp_path / "whole.mm")
    compact = keep(model, tmp_path, compact=True)
    assert equal(answers(compact, new), answers(model, new))
    assert (tmp_path / "model.mm").stat().st_size < 0.8 * (tmp_path / "whole.mm").stat().st_size
    assert compact.certificate_.relative_gap == model.certificate_.relative_gap
    assert not hasattr(compact, "result_")


@pytest.mark.parametrize("solver", ["newton", "bundle"])
@pytest.mark.parametrize("joint", [False, True], ids=["rest", "joint"])
def test_a_fit_on_blocks_travels_too(solver, joint, tmp_path):
    """The recipe of its duals is kept, and a warm fit uses it."""
    blocks = ArrayBlocks(X, CLASS, rows=25)
    make = {"multi_class": "crammer_singer", "solver": "bundle"} if joint else {"solver": solver}
    model = LinearSVC(warm_start=True, **make).fit(blocks)
    loaded = keep(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    assert loaded.fit(blocks).certificate_.relative_gap <= loaded.tol


def test_feature_names_are_kept(tmp_path):
    """And are compared at prediction, as scikit-learn does."""
    frame = pd.DataFrame(X, columns=list("abcde"))
    loaded = keep(SVC().fit(frame, CLASS), tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("edcba")])


@pytest.mark.parametrize(
    "labels",
    [NAMES.astype(object), CLASS.astype(np.int8), CLASS.astype(np.uint64), TWO],
    ids=["object", "int8", "uint64", "bool"],
)
def test_labels_of_every_type_are_kept(labels, tmp_path):
    """The type of classes_ is that of the fit."""
    model = LinearSVC().fit(X, labels)
    loaded = keep(model, tmp_path)
    assert equal(loaded.classes_, model.classes_)
    assert equal(loaded.predict(X), model.predict(X))


def test_a_sparse_coef_stays_sparse(tmp_path):
    """sparsify() before save."""
    model = LinearSVC(penalty="l1", dual=False, C=0.05).fit(X, CLASS).sparsify()
    loaded = keep(model, tmp_path)
    assert equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


def test_parameters_that_were_changed_after_the_fit_stay_changed(tmp_path):
    """A warm fit of another problem must not start from these points."""
    model = SVC().fit(X, TWO).set_params(intercept="none", C=7.0, warm_start=True)
    loaded = keep(model, tmp_path)
    assert (loaded.intercept, loaded.C) == ("none", 7.0)
    assert loaded.fit(X, TWO).certificate_.primal == pytest.approx(
        SVC(intercept="none", C=7.0).fit(X, TWO).certificate_.primal, rel=1e-4
    )


@pytest.mark.parametrize("limit", [{"max_seconds": 1e-9}, {"max_iter": 1}], ids=["seconds", "iterations"])
@pytest.mark.parametrize("name", ["svc", "svr", "linear_svc", "metric", "structured_chains"])
@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_was_stopped_at_once_is_kept_too(name, limit, tmp_path):
    """Gaps may be infinite there, and norms may be none."""
    example = EXAMPLES[name]
    model = example.make().set_params(**limit).fit(example.X, example.y)
    loaded = keep(model, tmp_path)
    assert equal(answers(loaded, example.new), answers(model, example.new))
    assert loaded.result_.status is model.result_.status


def test_the_checkpoint_is_not_kept(tmp_path):
    """A file from elsewhere must not say where a fit writes."""
    model = LinearSVC(checkpoint=tmp_path / "fit.npz").fit(X, TWO)
    assert keep(model, tmp_path).checkpoint is None


def test_the_file_can_be_looked_into(tmp_path):
    """It is a zip archive of JSON and arrays of NumPy, which name what they are."""
    save(fit("svc"), tmp_path / "model.mm")
    with zipfile.ZipFile(tmp_path / "model.mm") as archive:
        document = json.loads(archive.read("document.json"))
        vectors = np.lib.format.read_array(io.BytesIO(archive.read("arrays/support_vectors_.npy")))
    assert (document["format"], document["class"]) == ("maxmargin model", "SVC")
    assert document["library"] == maxmargin.__version__
    np.testing.assert_array_equal(vectors, fit("svc").support_vectors_)


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
    """A model with an attribute that somebody added."""
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


# ---- damage -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A small file."""
    path = tmp_path_factory.mktemp("small") / "model.mm"
    save(LinearSVR().fit(X[:4, :2], TARGET[:4]), path, compact=True)
    return path


def refusal(path: Path, content: bytes) -> str:
    """The sentence with which a file is refused; empty if it is not."""
    path.write_bytes(content)
    try:
        load(path)
    except ValueError as error:
        return str(error)
    return ""


def test_a_file_that_was_cut_anywhere_is_refused(small, tmp_path):
    """At every byte; so is one to which something was added."""
    content, path = small.read_bytes(), tmp_path / "cut.mm"
    refusals = [refusal(path, content[:length]) for length in range(len(content))]
    assert all("cut.mm' is not a model file that can be read" in each for each in refusals[4:])
    assert all("cut.mm' is no model file" in each for each in refusals[:4])
    assert "its end is missing, so it was cut off or written to" in refusal(path, content + b"\0")


def test_a_file_with_a_flipped_bit_is_refused(small, tmp_path):
    """In every byte, the digest itself and what zip says of the members included."""
    content, path = bytearray(small.read_bytes()), tmp_path / "flipped.mm"
    for place in range(len(content)):
        content[place] ^= 1 << (place % 8)
        assert "flipped.mm' is no" in refusal(path, content), place
        content[place] ^= 1 << (place % 8)
    assert refusal(path, content) == ""


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04", b"\x80\x04K\x01.", b"svm_typo", bytes(10_000)])
def test_what_is_no_model_file_is_refused(content, tmp_path):
    """A sentence, whatever it is."""
    path = tmp_path / "other.mm"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.mm"):
        load(path)


# ---- files from strangers: the digest is right, and nothing else ------------------------------------------------


def open_file(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The document and the arrays of a file."""
    with open(path, "rb") as file:
        archive = Archive(file)
        names = [name[len("arrays/") : -len(".npy")] for name in archive.members if name.startswith("arrays/")]
        return archive.read_document(), {name: archive.read_array(name) for name in names}


def seal(content: bytes) -> bytes:
    """An archive with the digest that suits it."""
    body = content + DIGEST_MARK[:0]
    return body[:-DIGEST_DIGITS] + compute_digest(io.BytesIO(body), len(body) - DIGEST_DIGITS)


def make_zip(members: dict[str, bytes], **options) -> bytes:
    """A zip archive that ends as ours do."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", **options) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members.items():
            archive.writestr(name.rstrip("!"), content)
        archive.comment = DIGEST_MARK + b"0" * DIGEST_DIGITS
    return seal(buffer.getvalue())


def make_array(header: str, content: bytes = b"") -> bytes:
    """An array in NumPy's format with any header."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


DOCUMENT = b'{"format": "maxmargin model", "version": 1, "class": "LinearSVR", "parameters": {}, "fitted": {}}'
ARRAY = b'"fitted": {"coef_": {"array": "coef_"}}'
HOSTILE = {
    "it lacks document.json": make_zip({"arrays/a.npy": b""}),
    "it holds '../evil.npy', which has no place": make_zip({"document.json": b"{}", "../evil.npy": b""}),
    "it holds 'evil.py', which has no place": make_zip({"document.json": b"{}", "evil.py": b""}),
    "it holds 'document.json' twice": make_zip({"document.json": b"{}", "document.json!": b"{}"}),
    "'document.json' is compressed or encrypted": make_zip(
        {"document.json": b" " * 10_000_000}, compression=zipfile.ZIP_DEFLATED
    ),
    "document.json is broken": make_zip({"document.json": b"{"}),
    "document.json is broken: maximum recursion": make_zip({"document.json": b"[" * 100_000}),
    "document.json is broken: NaN is not a number of JSON": make_zip({"document.json": b'{"a": NaN}'}),
    "document.json must hold an object, got list": make_zip({"document.json": b"[]"}),
    "it is an archive of something else": make_zip({"document.json": b"{}"}),
    "it has version 2 of the format, written by maxmargin 9.9, and 1 can be read here": make_zip(
        {"document.json": b'{"format": "maxmargin model", "version": 2, "library": "9.9"}'}
    ),
    "it names the unknown class 'Popen'": make_zip({"document.json": DOCUMENT.replace(b"LinearSVR", b"Popen")}),
    "LinearSVR has no parameter 'shell'": make_zip(
        {"document.json": DOCUMENT.replace(b'"parameters": {}', b'"parameters": {"shell": true}')}
    ),
    "LinearSVR has no parameter 'checkpoint'": make_zip(
        {"document.json": DOCUMENT.replace(b'"parameters": {}', b'"parameters": {"checkpoint": "/etc/passwd"}')}
    ),
    "it names the unknown class 'Custom'": make_zip(
        {
            "document.json": DOCUMENT.replace(
                b'"parameters": {}', b'"parameters": {"solver": {"record": "Custom", "fields": {}}}'
            )
        }
    ),
    "a scalar has the type <c16": make_zip(
        {
            "document.json": DOCUMENT.replace(
                b'"parameters": {}', b'"parameters": {"C": {"scalar": 1, "dtype": "<c16"}}'
            )
        }
    ),
    "SMO has no 'evil'": make_zip(
        {
            "document.json": DOCUMENT.replace(
                b'"parameters": {}', b'"parameters": {"solver": {"record": "SMO", "fields": {"evil": 1}}}'
            )
        }
    ),
    "it lacks the array 'coef_'": make_zip({"document.json": DOCUMENT.replace(b'"fitted": {}', ARRAY)}),
    "its shape .*999999999999.* does not suit its 0 bytes": make_zip(
        {
            "document.json": DOCUMENT.replace(b'"fitted": {}', ARRAY),
            "arrays/coef_.npy": make_array("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }"),
        }
    ),
    r"its shape \(-1, -8\) does not suit": make_zip(
        {
            "document.json": DOCUMENT.replace(b'"fitted": {}', ARRAY),
            "arrays/coef_.npy": make_array(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8), }", bytes(64)
            ),
        }
    ),
    r"it has the type \|O": make_zip(
        {
            "document.json": DOCUMENT.replace(b'"fitted": {}', ARRAY),
            "arrays/coef_.npy": make_array("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"cos\n"),
        }
    ),
    "the array 'coef_' is broken": make_zip(
        {"document.json": DOCUMENT.replace(b'"fitted": {}', ARRAY), "arrays/coef_.npy": b"\x80\x04K\x01."}
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", HOSTILE)
def test_hostile_files_are_refused(message, tmp_path):
    """Compressed or strange members, unknown names, giant shapes, pickles: one sentence each."""
    path = tmp_path / "hostile.mm"
    path.write_bytes(HOSTILE[message])
    with pytest.raises(ValueError, match=rf"hostile\.mm' is not a model file that can be read: .*{message}"):
        load(path)


def test_a_text_that_claims_to_be_long_takes_no_memory(tmp_path):
    """The type of a scalar is not believed."""
    document = DOCUMENT.replace(b'"parameters": {}', b'"parameters": {"loss": {"scalar": "x", "dtype": "<U500000000"}}')
    (tmp_path / "model.mm").write_bytes(make_zip({"document.json": document}))
    tracemalloc.start()
    with pytest.raises(ValueError, match="is not a model file that can be read"):
        load(tmp_path / "model.mm")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_members_that_claim_more_than_there_is_are_refused(small, tmp_path):
    """A size in the directory that the file does not have; nothing is allocated for it."""
    content = bytearray(small.read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 20 : place + 28] = (2_000_000_000).to_bytes(4, "little") * 2
    path = tmp_path / "giant.mm"
    path.write_bytes(seal(bytes(content)))
    with pytest.raises(ValueError, match="its members claim more bytes than it has"):
        load(path)


ALTERED = {
    "coef_": ("linear_svc", lambda a: a.update({"coef_": a["coef_"][:, :3].copy()})),
    "classes_": ("linear_svc", lambda a: a.update({"classes_": a["classes_"][:1].copy()})),
    "intercept_": ("linear_svc", lambda a: a.update({"intercept_": np.full(3, np.nan)})),
    "support_vectors_": ("svc", lambda a: a.update({"support_vectors_": a["support_vectors_"][1:].copy()})),
    "support_": ("svc_precomputed", lambda a: a.update({"support_": a["support_"] + np.int32(60)})),
    "n_support_": ("svc", lambda a: a.update({"_n_support": a["_n_support"] + np.int32(1)})),
    "_dual_coef_": ("svc", lambda a: a.update({"_dual_coef_": a["_dual_coef_"][:1].copy()})),
    "_norms": ("svc", lambda a: a.update({"_norms": np.full_like(a["_norms"], np.nan)})),
    "_probA": ("svc_probability", lambda a: a.update({"_probA": a["_probA"][:2].copy()})),
    "shift of the kernel": ("svc_far", lambda a: a.update({"_kernel.shift": np.zeros(2)})),
    "costs_": ("structured_chains", lambda a: a.update({"model_.2": np.eye(2)})),
    "a point of the fit": ("svc_two", lambda a: a.update({"results.0.1.a": np.zeros(3)})),
    "the coefficients of a point": ("linear_svc_two", lambda a: a.update({"results.0.1.coef": np.zeros(3)})),
    "the mixture of a point": ("metric", lambda a: a.update({"results.0.1.mixture.scores": np.zeros((2, 2))})),
}


@pytest.mark.parametrize("what", ALTERED)
def test_arrays_that_do_not_suit_each_other_are_refused(what, tmp_path):
    """Compiled loops would read beyond their ends."""
    name, alter = ALTERED[what]
    save(fit(name), tmp_path / "model.mm")
    document, arrays = open_file(tmp_path / "model.mm")
    before = set(arrays)
    alter(arrays)
    assert set(arrays) == before  # the array that was altered is one of the file
    write_archive(tmp_path / "model.mm", document, arrays)
    with pytest.raises(ValueError, match=f"can be read: {what} is not as it must be"):
        load(tmp_path / "model.mm")


@pytest.mark.parametrize(("name", "value"), [("gamma", 10**400), ("gamma", "scale"), ("gamma", None), ("gamma", [1.0])])
def test_parameters_of_kernels_are_numbers(name, value, tmp_path):
    """What compiled loops cannot take is refused, and not met when something is predicted."""
    save(fit("svc"), tmp_path / "model.mm")
    document, arrays = open_file(tmp_path / "model.mm")
    places = [place for place in list_leaves(document) if place[-1:] == (name,) and "_kernel" in place]
    assert places
    for place in places:
        replace(document, place, value)
    write_archive(tmp_path / "model.mm", document, arrays)
    with pytest.raises(ValueError, match=f"{name} of the kernel is not as it must be"):
        load(tmp_path / "model.mm")


def test_whole_numbers_as_parameters_of_kernels(tmp_path):
    """Of any length, as long as there is a float near them."""
    save(fit("svc"), tmp_path / "model.mm")
    document, arrays = open_file(tmp_path / "model.mm")
    for place in list_leaves(document):
        if place[-1:] == ("gamma",) and "_kernel" in place:
            replace(document, place, 10**30)
    write_archive(tmp_path / "model.mm", document, arrays)
    model = load(tmp_path / "model.mm")
    assert np.isfinite(model.decision_function(X[:5])).all()


@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_sparse_matrices_with_wild_indices_are_refused(part, tmp_path):
    """They would be read from anywhere in memory."""
    save(fit("svc_sparse"), tmp_path / "model.mm")
    document, arrays = open_file(tmp_path / "model.mm")
    arrays[f"support_vectors_.{part}"][1] = 1_000_000
    write_archive(tmp_path / "model.mm", document, arrays)
    with pytest.raises(ValueError, match="parts of the sparse matrix 'support_vectors_' do not suit each other"):
        load(tmp_path / "model.mm")


def list_leaves(value, place=()) -> list[tuple]:
    """The places of everything in a JSON document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *itertools.chain.from_iterable(list_leaves(child, (*place, key)) for key, child in children)]


def replace(value, place: tuple, new) -> None:
    """Put something else there."""
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = new


STRANGE = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70), st.just(10**18), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "scale", "SVC", "inf"]), st.just([]), st.just({}), st.just({"tuple": []}), st.just([1, 2]),
    st.sampled_from(["a", "_intercept_", "support_", "_dual_coef_"]).map(lambda name: {"array": name}),
    st.just({"record": "Linear", "fields": {}}), st.just({"record": "RBF", "fields": {"gamma": 0.1}}),
)  # fmt: skip


FUZZED = ["svc", "svc_sparse", "svc_precomputed", "linear_svc", "structured_chains", "metric"]
FUZZING = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@pytest.mark.parametrize("name", leave_long(FUZZED, *FUZZED[1:-1]))
@settings(max_examples=15, **FUZZING)
@given(data=st.data())
def test_documents_with_anything_in_them_are_refused_or_make_a_model(name, data, tmp_path):
    """Never a crash: an error of one sentence, or a model that answers or refuses to."""
    assert try_altered_document(name, data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZED)
@settings(max_examples=400, **FUZZING)
@given(data=st.data())
def test_a_great_many_documents_with_anything_in_them(name, data, tmp_path):
    """The same for longer."""
    assert try_altered_document(name, data, tmp_path)


def try_altered_document(name: str, data, tmp_path: Path) -> bool:
    """Put anything anywhere into a document, read it, and ask the model if there is one."""
    path, example = tmp_path / "model.mm", EXAMPLES[name]
    save(fit(name), path)
    document, arrays = open_file(path)
    places = [place for place in list_leaves(document) if place]
    for _ in range(data.draw(st.integers(1, 2))):
        replace_any(document, data.draw(st.sampled_from(places)), deepcopy(data.draw(STRANGE)))
    write_archive(path, document, arrays)
    try:
        model = load(path)
    except ValueError as error:
        message = str(error)
    else:
        message = ask_everything(model, example)
    return message == "answered" or "is not a model file that can be read" in message


def ask_everything(model, example) -> str:
    """Predict, and fit from the points of the file; either may be refused, and must end."""
    data = (example.X,) if example.y is None else (example.X, example.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(ValueError, TypeError, AttributeError, KeyError, OverflowError):
            answers(model, example.new)
        with suppress(ValueError, TypeError, AttributeError, KeyError, OverflowError):
            model.set_params(warm_start=True, max_seconds=0.2, n_jobs=None).fit(*data)
    return "answered"


def replace_any(document: dict, place: tuple, new) -> None:
    """Replace, unless an earlier change took the place away."""
    with suppress(TypeError, IndexError, KeyError):
        replace(document, place, new)


# ---- written whole or not at all --------------------------------------------------------------------------------


def save_in_turn(models: list, path: Path) -> int:
    """The number of a process that does nothing but save one model after the other."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            for model in itertools.cycle(models):
                save(model, path)
        os._exit(1)
    return child


def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path):
    """kill -9 at any moment: the file is the old or the new one."""
    models, path, rng = [fit("svc"), fit("svr")], tmp_path / "model.mm", np.random.default_rng(0)
    whole = set()
    for model in models:
        save(model, path)
        whole.add(path.read_bytes())
    for _ in range(12):
        child = save_in_turn(models, path)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL  # it was still saving
        assert path.read_bytes() in whole


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_whole(moment, tmp_path, monkeypatch):
    """One sentence says so, and nothing lies about."""
    save(fit("svc"), tmp_path / "model.mm")
    before = (tmp_path / "model.mm").read_bytes()

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    owner, name = {"write": (np.lib.format, "write_array"), "fsync": (os, "fsync"), "replace": (os, "replace")}[moment]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *arguments, **_: fail(*arguments))
        with pytest.raises(OSError, match=r"model\.mm' could not be written: No space left.*unchanged") as caught:
            save(fit("svr"), tmp_path / "model.mm")
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "model.mm").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.mm"]


def test_a_limit_on_the_size_of_files_is_met_like_a_full_disk(tmp_path):
    """What the system itself refuses to write, in the middle of the file."""
    save(fit("linear_svc"), tmp_path / "model.mm", compact=True)
    before = (tmp_path / "model.mm").read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
        with pytest.raises(OSError, match=r"could not be written: File too large; .* unchanged"):
            save(fit("svc"), tmp_path / "model.mm")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "model.mm").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.mm"]


@pytest.mark.slow
def test_a_disk_that_is_full_indeed(tmp_path):
    """A disk of 64 kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        save(fit("svc"), disk / "model.mm", compact=True)
        before = (disk / "model.mm").read_bytes()
        with pytest.raises(OSError, match=r"could not be written: No space left on device; .* unchanged"):
            save(SVC(kernel="precomputed").fit(np.kron(K, np.ones((30, 30))), np.repeat(CLASS, 30)), disk / "model.mm")
        assert (disk / "model.mm").read_bytes() == before
        assert isinstance(load(disk / "model.mm"), SVC)
    finally:
        subprocess.run(["umount", disk], check=True)


# ---- the hash of the data ---------------------------------------------------------------------------------------


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
    """Nobody reads them once more for that."""
    blocks = ArrayBlocks(X, CLASS, rows=25)
    with pytest.raises(ValueError, match="X must be in memory to be hashed"):
        save(LinearSVC().fit(blocks), tmp_path / "model.mm", X=blocks)


def test_the_examples_of_the_documentation_run(tmp_path, monkeypatch, capsys):
    """Every block of code of docs/files.md about models, one after the other."""
    pytest.importorskip("onnxruntime", reason="onnxruntime not installed")
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parent.parent / "docs" / "files.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text().split("## Models\n", 1)[1], re.S)
    assert len(blocks) == 3
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
    assert capsys.readouterr().out.count("relative gap") == 3


def test_solvers_that_share_cuts_are_kept_without_them(tmp_path):
    """The memory of a bundle belongs to a run."""
    solver = Bundle("ocas", max_cuts=50)
    loaded = keep(OneClassSVM(solver=SMO(working_set=8)).fit(X), tmp_path)
    assert loaded.solver == SMO(working_set=8)
    assert keep(LinearSVC(solver=solver).fit(X, TWO), tmp_path).solver == solver


def test_certificates_of_earlier_versions_are_read():
    """They had a `resolution`, which nobody asks for any more, and knew nothing of `rounding` and `bound`."""
    fields = {"primal": 2.0, "dual": 1.5, "kkt": 0.1, "convex": True, "floor": 1e-300, "resolution": 1e-12}
    found = Unpacker(lambda name: np.zeros(0)).unpack({"record": "Certificate", "fields": fields})
    assert (found.gap, found.relative_gap, found.rounding) == (0.5, 0.25, 0.0)
    with pytest.raises(DamagedFileError, match="Certificate has no 'evil'"):
        Unpacker(lambda name: np.zeros(0)).unpack({"record": "Certificate", "fields": {**fields, "evil": 1.0}})
