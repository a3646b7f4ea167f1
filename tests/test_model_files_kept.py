"""Model files lose nothing: answers, attributes, parameters and certificates are the same to the last bit."""

from __future__ import annotations

import io
import json
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from fitted_models import CLASS, EXAMPLES, NAMES, NEW, TWO, X, answers, fit
from kept_models import keep
from sklearn.base import clone

import maxmargin
from maxmargin import SMO, SVC, Bundle, LinearSVC, OneClassSVM, certify, load, save
from maxmargin.blocks import ArrayBlocks
from maxmargin.estimators.registry import ESTIMATORS
from maxmargin.files.archive import DamagedFileError
from maxmargin.files.fitted_state import DERIVED_ATTRIBUTES, list_state_names
from maxmargin.files.values import Unpacker

every_example = pytest.mark.parametrize("name", EXAMPLES)


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
    assert {type(fit(name)).__name__ for name in EXAMPLES} == set(ESTIMATORS)
    assert set(ESTIMATORS) == set(maxmargin.estimators.__all__) - {"BlockwiseTransformer", "ESTIMATORS", "path"}


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
    # made again, of use to a fit only, of the size of its data, or compared below
    skipped = {"_support", "_order", "_solves", "_posed_tasks", "result_"}
    found = {each for each in ("certificate_", "certificates_", "_points") if hasattr(model, each)}
    assert set(vars(loaded)) - skipped == set(vars(model)) - skipped
    for attribute in (set(vars(model)) | found) - skipped:
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
    """An attribute that is added to a fit must be kept, or be one that can be rebuilt."""
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


# ---- the hash of the data ---------------------------------------------------------------------------------------


def test_solvers_that_share_cuts_are_kept_without_them(tmp_path):
    """The memory of a bundle belongs to a run."""
    solver = Bundle("ocas", max_cuts=50)
    loaded = keep(OneClassSVM(solver=SMO(working_set=8)).fit(X), tmp_path)
    assert loaded.solver == SMO(working_set=8)
    assert keep(LinearSVC(solver=solver).fit(X, TWO), tmp_path).solver == solver


def test_certificates_of_earlier_versions_are_read():
    """They had a `resolution`, which is not needed any more, and knew nothing of `rounding` and `bound`."""
    fields = {"primal": 2.0, "dual": 1.5, "kkt": 0.1, "convex": True, "floor": 1e-300, "resolution": 1e-12}
    found = Unpacker(lambda name: np.zeros(0)).unpack({"record": "Certificate", "fields": fields})
    assert (found.gap, found.relative_gap, found.rounding) == (0.5, 0.25, 0.0)
    with pytest.raises(DamagedFileError, match="Certificate has no 'evil'"):
        Unpacker(lambda name: np.zeros(0)).unpack({"record": "Certificate", "fields": {**fields, "evil": 1.0}})
