"""Programs that are not edited: our classes in `sklearn.svm`, and a program run with them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from types import ModuleType

import numpy as np
import pytest
import sklearn.svm
from machine_data import make_classes
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import patch_sklearn, unpatch_sklearn
from maxmargin.patching import PATCHED_NAMES

THEIRS = {name: getattr(sklearn.svm, name) for name in PATCHED_NAMES}
X, Y = make_classes(80, 3)


@pytest.fixture(autouse=True)
def bring_back():
    """scikit-learn's classes after every test."""
    yield
    unpatch_sklearn(verbose=False)
    assert {name: getattr(sklearn.svm, name) for name in PATCHED_NAMES} == THEIRS


def test_names_in_scikit_learn_are_ours_until_they_are_brought_back():
    """All seven, however often it is called."""
    assert patch_sklearn(verbose=False) == patch_sklearn(verbose=False) == list(PATCHED_NAMES)
    for name in PATCHED_NAMES:
        assert getattr(sklearn.svm, name) is getattr(maxmargin, name)
    assert unpatch_sklearn(verbose=False) == list(PATCHED_NAMES)
    for name in PATCHED_NAMES:
        assert getattr(sklearn.svm, name) is THEIRS[name]
    assert unpatch_sklearn(verbose=False) == []


def test_one_line_says_what_was_replaced(capsys, monkeypatch):
    """On stderr; and it names what was imported before, which stays as it was."""
    for name, module in list(sys.modules.items()):  # tests and tools that have imported the classes
        if isinstance(module, ModuleType) and not name.startswith(("sklearn", "maxmargin")):
            for key, value in list(vars(module).items()):
                if any(value is theirs for theirs in THEIRS.values()):
                    monkeypatch.delattr(module, key)
    patch_sklearn(["SVC", "SVR"])
    told = f"maxmargin: sklearn.svm has SVC and SVR of maxmargin {maxmargin.__version__} now.\n"
    assert capsys.readouterr() == ("", told)
    unpatch_sklearn()
    assert capsys.readouterr().err == "maxmargin: sklearn.svm has scikit-learn's SVC and SVR again.\n"
    unpatch_sklearn()
    assert capsys.readouterr().err == "maxmargin: sklearn.svm was not patched.\n"
    earlier = ModuleType("earlier")
    earlier.Machine = THEIRS["SVC"]
    monkeypatch.setitem(sys.modules, "earlier", earlier)
    monkeypatch.setitem(sys.modules, "another_name_of_earlier", earlier)  # as multiprocessing does with __main__
    patch_sklearn(["SVC"])
    assert capsys.readouterr().err.endswith("now, but not earlier.Machine, imported before.\n")


@pytest.mark.parametrize(("names", "got"), [(["SVC", "SVM"], "SVM"), ("SVC", "SVC"), ([3], "3")])
def test_wrong_names(names, got):
    """One sentence, and nothing is replaced."""
    with pytest.raises(ValueError, match=rf"names must be a list of some of SVC, .*LinearSVR, got '?{got}"):
        patch_sklearn(names)
    assert sklearn.svm.SVC is THEIRS["SVC"]


def test_models_of_scikit_learn_are_still_loaded():
    """A pickle of its class gives its class."""
    model = THEIRS["SVC"]().fit(X, Y)
    patch_sklearn(verbose=False)
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is THEIRS["SVC"]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_within_scikit_learn():
    """Searches and ensembles of what `sklearn.svm` gives."""
    patch_sklearn(verbose=False)
    from sklearn.svm import SVC, LinearSVC

    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.certificate_.relative_gap <= 1e-5
    ensemble = BaggingClassifier(LinearSVC(), n_estimators=2, random_state=0).fit(X, Y)
    assert all(each.certificate_.relative_gap <= 1e-4 for each in ensemble.estimators_)


# ---- subclasses of other libraries ----------------------------------------------------------------------------------


def derive(base: type) -> tuple[type, type]:
    """As libraries do: a class with parameters of its own and few of ours, and one that passes n_jobs on."""

    class Metric(base):
        def __init__(self, *, metric="riemann", C=1.0, tol=1e-3, max_iter=-1, random_state=None):
            self.metric = metric
            super().__init__(C=C, tol=tol, max_iter=max_iter, random_state=random_state)

    class Parallel(base):
        def __init__(self, *, C=1.0, tol=1e-3, n_jobs=None):
            super().__init__(C=C, tol=tol)
            self.n_jobs = n_jobs

    return Metric, Parallel


@pytest.mark.parametrize("name", ["SVC", "LinearSVC"])
def test_subclasses_of_what_was_scikit_learns_class(name):
    """They are cloned, fitted, searched and pickled; parameters that they do not take are no attributes of theirs."""
    patch_sklearn(verbose=False)
    metric, parallel = derive(getattr(sklearn.svm, name))
    model = clone(metric(C=2.0, max_iter=1000) if name == "LinearSVC" else metric(C=2.0)).fit(X, Y)
    assert not hasattr(model, "n_jobs")  # code that asks this would make another one with n_jobs
    assert set(model.get_params()) == {"metric", "C", "tol", "max_iter", "random_state"}
    reference = getattr(maxmargin, name)(C=2.0, tol=1e-3, max_iter=model.max_iter).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    both = clone(parallel(n_jobs=2)).fit(X, Y)
    assert both.n_jobs == both.get_params()["n_jobs"] == 2
    assert parallel().n_jobs is None


class OneParameter(maxmargin.SVC):
    """A subclass that sets a parameter of ours, and has one of its own."""

    def __init__(self, C=1.0):
        super().__init__(C=C, n_jobs=2)


class NoParameter(maxmargin.LinearSVC):
    """A subclass without any."""

    def __init__(self):
        super().__init__(C=0.5)


def test_subclasses_with_few_parameters():
    """One, or none; and n_jobs=2 of a subclass without such a parameter counts."""
    assert OneParameter().n_jobs == 2
    for model in (OneParameter(C=2.0), NoParameter()):
        again = pickle.loads(pickle.dumps(clone(model).fit(X, Y)))
        reference = type(model).__base__(C=model.C).fit(X, Y)
        np.testing.assert_array_equal(again.decision_function(X), reference.decision_function(X))


# ---- skl2onnx -------------------------------------------------------------------------------------------------------


CONVERT_BOTH = """
    import sys, warnings
    from importlib.resources import files
    import numpy as np
    from maxmargin import patch_sklearn, unpatch_sklearn

    theirs = __import__("sklearn.svm").svm.SVC
    if "before" in sys.argv:
        import skl2onnx
    patch_sklearn(verbose=False)
    patch_sklearn(verbose=False)
    import skl2onnx
    from sklearn.svm import SVC

    X = np.random.default_rng(0).normal(size=(40, 2))
    for kind in (SVC, theirs):
        graph = skl2onnx.to_onnx(kind().fit(X, X[:, 0] > 0), X[:1].astype(np.float32)).graph
        print(kind.__module__.split(".")[0], *{node.op_type for node in graph.node} & {"SVMClassifier", "MatMul"})
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC
    import onnxruntime

    X = X.astype(np.float32)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for kind in (SVC, LinearSVC):
        rest = OneVsRestClassifier(kind()).fit(X, y)
        session = onnxruntime.InferenceSession(skl2onnx.to_onnx(rest, X[:1]).SerializeToString())
        print((session.run(None, {"X": X})[0] == rest.predict(X)).all())
    print([type(each).__name__ for each in sys.meta_path if "Listener" in type(each).__name__])
    print(files("skl2onnx").is_dir())
"""


@pytest.mark.parametrize("order", ["before", "after"])
def test_skl2onnx_converts_ours_and_scikit_learns(order, tmp_path):
    """Ours by our converters, scikit-learn's by its own, whether skl2onnx is imported before the swap or after it."""
    pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    (tmp_path / "both.py").write_text(textwrap.dedent(CONVERT_BOTH))
    command = [sys.executable, "-W", "ignore", "both.py", order]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "maxmargin MatMul\nsklearn SVMClassifier\nTrue\nTrue\n[]\nTrue\n", done.stderr


def test_nothing_listens_for_skl2onnx_after_the_swap(monkeypatch):
    """One listener while the classes are swapped, none before and after."""
    monkeypatch.delitem(sys.modules, "skl2onnx", raising=False)
    count = len(sys.meta_path)
    patch_sklearn(verbose=False)
    patch_sklearn(["SVC"], verbose=False)
    assert len(sys.meta_path) == count + 1
    unpatch_sklearn(verbose=False)
    assert len(sys.meta_path) == count


# ---- python -m maxmargin script.py ----------------------------------------------------------------------------------


def run(*arguments, folder):
    """A process of its own."""
    command = [sys.executable, "-m", "maxmargin", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


SCRIPT = """
    import sys
    from beside import NAME
    from sklearn.svm import SVC

    print(NAME, __name__, *sys.argv, SVC.__module__.split(".")[0])
    if "fail" in sys.argv:
        raise KeyError("own error")
    sys.exit(7)
"""


@pytest.fixture
def folder(tmp_path):
    """A program and a module beside it."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    return tmp_path


def test_a_program_is_run_with_our_classes(folder):
    """As Python would run it: arguments, modules beside it, its own output and exit code."""
    done = run("script.py", "a", "--flag", folder=folder)
    assert (done.returncode, done.stdout) == (7, "beside __main__ script.py a --flag maxmargin\n")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("maxmargin: sklearn.svm has SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC and")


def test_errors_of_a_program_are_its_own(folder):
    """A traceback, not a sentence of ours; a module by its name; a file that is not there."""
    done = run("-m", "script", "fail", folder=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("beside __main__ ")
    assert done.stderr.rstrip().endswith("KeyError: 'own error'")
    done = run("missing.py", folder=folder)
    assert (done.returncode, done.stderr) == (2, "maxmargin: missing.py: there is no such file.\n")
    for module in ("missing", "missing.part"):
        done = run("-m", module, folder=folder)
        assert (done.returncode, done.stderr) == (2, f"maxmargin: there is no module {module}.\n")


def test_nothing_is_patched_or_loaded_without_being_asked_for():
    """`import maxmargin` costs what it did."""
    code = "import maxmargin, sys; print('sklearn' in sys.modules, 'maxmargin.patching' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False False\n"
