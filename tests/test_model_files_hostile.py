"""Model files made to deceive, with a digest that is right: each is refused or makes a model."""

from __future__ import annotations

import io
import itertools
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from fitted_models import EXAMPLES, X, answers, fit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_models import seal
from selection import leave_long

from maxmargin import load, save
from maxmargin.files.archive import DIGEST_DIGITS, DIGEST_MARK, Archive, write_archive


def open_file(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The document and the arrays of a file."""
    with open(path, "rb") as file:
        archive = Archive(file)
        names = [name[len("arrays/") : -len(".npy")] for name in archive.members if name.startswith("arrays/")]
        return archive.read_document(), {name: archive.read_array(name) for name in names}


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
    "it holds '../evil.npy', which does not belong": make_zip({"document.json": b"{}", "../evil.npy": b""}),
    "it holds 'evil.py', which does not belong": make_zip({"document.json": b"{}", "evil.py": b""}),
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
    "its shape .*999999999999.* does not match its 0 bytes": make_zip(
        {
            "document.json": DOCUMENT.replace(b'"fitted": {}', ARRAY),
            "arrays/coef_.npy": make_array("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }"),
        }
    ),
    r"its shape \(-1, -8\) does not match": make_zip(
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
    with pytest.raises(ValueError, match=f"can be read: {what} is invalid"):
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
    with pytest.raises(ValueError, match=f"{name} of the kernel is invalid"):
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
    with pytest.raises(ValueError, match="parts of the sparse matrix 'support_vectors_' do not fit together"):
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
