"""The first second: what a start imports, what it leaves out, and compiled code that is found again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from numbers import Integral, Real
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.base
from sklearn.svm._base import _get_liblinear_solver_type
from sklearn.utils import _param_validation as theirs

import maxmargin
from maxmargin import SVC, load
from maxmargin.cli import main
from maxmargin.compiled import compiler, stored_code
from maxmargin.compiled.stored_code import StoredCode
from maxmargin.runtime import stand_ins
from maxmargin.runtime.installed_version import read_version
from maxmargin.runtime.scikit_learn import check_liblinear_arguments

HEAVY = {"sklearn", "pandas", "joblib", "scipy.stats", "scipy.optimize", "scipy.linalg"}
COMMAND = """
import sys
from maxmargin.cli import main
code = main()
print(code, *sys.modules)
"""


def run_command(*arguments: str) -> tuple[int, set[str], str]:
    """The exit code of a command in a process of its own, the modules it has loaded, and what it said on stderr."""
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, timeout=120)
    code, *modules = done.stdout.splitlines()[-1].split()
    return int(code), set(modules), done.stderr


@pytest.fixture
def data(tmp_path) -> str:
    """Two classes as LIBSVM text."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    path = tmp_path / "data"
    maxmargin.write_libsvm(path, X, np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0))
    return str(path)


@pytest.mark.parametrize(
    ("name", "zeros"), [("SVC", 0), ("NuSVC", 0), ("LinearSVC", 0), ("SVC", 29), ("LinearSVC", 29)]
)
def test_commands_do_without_scikit_learn(name, zeros, data, tmp_path):
    """train and predict load none of it, and the model is that of any other process."""
    model, out = str(tmp_path / "model.maxmargin"), str(tmp_path / "out")
    if zeros:  # wide rows of few entries stay sparse
        X, y, *_ = maxmargin.read_libsvm(data)
        maxmargin.write_libsvm(data, sp.hstack([X, sp.csr_array((40, zeros)), X], format="csr"), y)
    nu = ("--nu", "0.3") if name == "NuSVC" else ()
    code, modules, _ = run_command("train", "--estimator", name, *nu, data, model)
    assert code == 0
    assert not HEAVY & modules
    code, modules, _ = run_command("predict", data, model, out)
    assert code == 0
    assert not HEAVY & modules
    again = str(tmp_path / "again.maxmargin")
    assert main(["train", "--estimator", name, *nu, data, again]) == 0
    ours, theirs = load(model), load(again)
    assert isinstance(ours, sklearn.base.BaseEstimator)
    assert ours.get_params() == theirs.get_params()
    assert ours.certificate_ == theirs.certificate_
    X = maxmargin.read_libsvm(data).X
    X = X if zeros and name == "SVC" else X.toarray()
    np.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))
    np.testing.assert_array_equal(np.loadtxt(out), ours.predict(X))


@pytest.mark.slow
def test_what_needs_scikit_learn_has_it(data):
    """Folds are scikit-learn's."""
    code, modules, _ = run_command("train", "--folds", "3", data)
    assert code == 0
    assert "sklearn" in modules


def test_wrong_parameters_are_refused_in_the_same_words(data, tmp_path, capsys):
    """By scikit-learn, which is imported for its sentence."""
    wrong, model = ("--C", "-1"), str(tmp_path / "model")
    code, _, said = run_command("train", *wrong, data, model)
    assert main(["train", *wrong, data, model]) == code == 1
    assert capsys.readouterr().err == said != ""


@pytest.mark.slow
def test_a_library_stands_on_scikit_learn():
    """Outside commands nothing changes, even if a command was run before."""
    command = (
        "import sys; from maxmargin.cli import main; main(['--version']); from maxmargin import SVC; "
        "import sklearn.base; sys.exit(not issubclass(SVC, sklearn.base.BaseEstimator))"
    )
    assert subprocess.run([sys.executable, "-c", command], timeout=60, check=False).returncode == 0


# ---- stand-ins ------------------------------------------------------------------------------------------------------

VALUES = [
    None, True, False, 0, 1, 2, -1, -5, 0.0, 0.5, 1.0, -0.5, 3.7, np.inf, -np.inf, np.nan, np.float64(0.5), np.int64(3),
    np.bool_(True), "auto", "scale", "no", "", {}, {1: 2.0}, [], print, SimpleNamespace(accepts=print, start=print),
    SVC, np.random.RandomState(0), "deprecated",
]  # fmt: skip
INTERVALS = [
    (kind, low, high, closed)
    for kind in (Integral, Real)
    for low, high in ((0, 1), (-1, 1), (-5, 0))
    for closed in ("left", "right", "both", "neither")
] + [(Integral, 0, None, "left"), (Integral, None, -1, "right"), (Real, None, None, "neither")]


def list_constraints() -> list[tuple]:
    """Constraints of ours, each with that of scikit-learn."""
    pairs = [(name, name) for name in ("boolean", "verbose", "random_state")]
    pairs += [(kind, kind) for kind in (None, dict, str, callable)]
    for *ends, closed in INTERVALS:
        pairs.append((stand_ins.Interval(*ends, closed=closed), theirs.Interval(*ends, closed=closed)))
    words = {"auto", "scale"}
    pairs.append((stand_ins.StrOptions(words), theirs.StrOptions(words)))
    pairs.append((stand_ins.Hidden(stand_ins.StrOptions(words)), theirs.Hidden(theirs.StrOptions(words))))
    pairs.append((stand_ins.HasMethods(["accepts", "start"]), theirs.HasMethods(["accepts", "start"])))
    return pairs


@pytest.mark.parametrize("constraint", list_constraints())
def test_what_is_surely_met_is_met(constraint):
    """A value that passes here passes in scikit-learn; what does not is left to it."""
    ours, full = constraint[0], theirs.make_constraint(constraint[1])
    for value in VALUES:
        assert full.is_satisfied_by(value) or not stand_ins.is_surely_met(ours, value), value


def test_estimators_of_stand_ins():
    """Parameters and fitted attributes, as scikit-learn has them."""

    class Machine(stand_ins.ClassifierMixin, stand_ins.BaseEstimator):
        def __init__(self, b=2, a=1):
            self.b, self.a = b, a

        def fit(self, X, y):
            """Nothing to do."""

    machine = Machine()
    assert machine.get_params() == {"a": 1, "b": 2}
    assert list(machine.get_params()) == ["a", "b"]
    assert machine.set_params(a=5).a == 5
    with pytest.raises(ValueError, match="Invalid parameter 'c' for estimator Machine"):
        machine.set_params(c=1)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        stand_ins.check_is_fitted(machine)
    machine.classes_ = 1
    stand_ins.check_is_fitted(machine)
    assert sklearn.base.is_classifier(machine)
    assert sklearn.base.clone(machine).a == 5
    assert repr(machine) == "Machine(a=5)"


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_liblinear_arguments_as_scikit_learn_takes_them(multi_class, loss, penalty):
    """What is accepted at a glance is accepted there, and all else is refused in its words."""
    for dual in (True, False):
        refused = []
        for check in (_get_liblinear_solver_type, lambda *given: check_liblinear_arguments(*given, (3, 2))):
            try:
                check(multi_class, penalty, loss, dual)
            except ValueError as error:
                refused.append(str(error))
        assert len(refused) != 1
        assert len(set(refused)) <= 1


# ---- compiled code --------------------------------------------------------------------------------------------------

PROGRAM = """
import numpy as np
from maxmargin.compiled.compiler import njit

@njit(cache=True)
def double(x):
    return 2.0 * x

@njit(cache=True)
def add_doubles(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += double(x[i])
    return total
"""


def load_program(path):
    """The functions of a program, as those of a new process."""
    names = {"__name__": "program", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return SimpleNamespace(**names)


@pytest.fixture
def program(tmp_path):
    """A file with two compiled functions."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    sys.modules["program"] = SimpleNamespace(__dict__={}, __name__="program")
    yield path
    del sys.modules["program"]


def test_a_function_within_another_has_no_machine_code_of_its_own(program):
    """It is a part of its caller, until Python calls it."""
    functions = load_program(program)
    assert functions.add_doubles(np.arange(4.0)) == 12.0
    assert functions.double.signatures == []
    assert functions.add_doubles.signatures
    assert functions.double(3.0) == 6.0
    assert functions.double.signatures


def test_numbers_are_not_types(program):
    """A literal makes no version of a function for itself."""
    double = load_program(program).double
    caller = compiler.njit()(lambda: double(1) + double(2))
    assert caller() == 6.0
    assert len(double.part.overloads) == 1


@pytest.mark.slow
def test_code_is_loaded_without_preparing_to_compile():
    """The first fit of a process that finds its code imports nothing that is for compiling."""
    command = (
        "import sys; import numpy as np; from maxmargin import SVC; "
        "SVC().fit(np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 2); print(*sys.modules)"
    )
    for _ in range(2):  # the first may have to compile
        done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=300, check=True)
    assert not {"numba.np.linalg", "numba.np.arraymath", "numba.typed.typeddict"} & set(done.stdout.split())


def test_stored_code_is_machine_code_alone(program):
    """The form for callers that are to be compiled is not stored; such callers get it all the same."""
    assert load_program(program).add_doubles(np.arange(4.0)) == 12.0
    (path,) = program.parent.rglob("*add_doubles*.nbc")
    with open(path, "rb") as file:
        names, _, ((_, kind, (machine_code, bitcode)), *_) = stored_code.CodeUnpickler(file).load()
    assert kind == "object"
    assert len(bitcode) < len(machine_code)
    functions = load_program(program)
    assert functions.add_doubles(np.arange(4.0)) == 12.0
    assert functions.add_doubles.stats.cache_hits
    assert functions.add_doubles.overloads[functions.add_doubles.signatures[0]].fndesc.llvm_func_name in names
    add_doubles = functions.add_doubles
    assert compiler.njit()(lambda x: add_doubles(x) + 1.0)(np.arange(4.0)) == 13.0


OTHER_PROCESS = """
import sys
import numpy as np
import maxmargin
X = np.random.default_rng(0).normal(size=(60, 3))
name, loss = sys.argv[1:]
model = getattr(maxmargin, name)(**({"loss": loss} if loss else {}))
print(repr(model.fit(X, (X[:, 0] > 0) + 0).certificate_.primal))
"""


@pytest.mark.parametrize(
    ("name", "loss"),
    [("SVC", ""), ("NuSVC", ""), ("SVR", ""), ("OneClassSVM", ""), ("LinearSVC", "hinge"), ("LinearSVC", ""),
     ("LinearSVR", ""), ("RiskClassifier", "logistic"), ("RiskRegressor", "quantile")],
)  # fmt: skip
def test_another_process_finds_all_that_the_code_calls(name, loss):
    """Machine code that calls a function which is not there ends the process, without a word of Python."""
    command = [sys.executable, "-c", OTHER_PROCESS, name, loss]  # twice: the first process may have to compile
    primal = [subprocess.run(command, capture_output=True, text=True, check=True, timeout=200).stdout for _ in range(2)]
    assert primal[0] == primal[1] != ""


def test_what_code_calls_of_the_runtime_is_stored(program, monkeypatch):
    """What is not among the functions that Numba holds ready has to be compiled before the code is loaded."""
    double = load_program(program).double
    assert double(2.0) == 4.0
    (path,) = program.parent.rglob("*double*.nbc")
    with open(path, "rb") as file:
        names, called, stored = stored_code.CodeUnpickler(file).load()
    assert called <= stored_code.find_runtime()
    begun = []
    monkeypatch.setattr(stored_code.rtsys, "initialize", begun.append)
    double._cache._impl.rebuild(double.targetctx, (names, {"NRT_of_another_version"}, stored))
    assert begun == [double.targetctx]


def test_an_estimator_loads_no_solver_that_a_small_fit_does_without():
    """Solvers come with the first fit that goes through the loop."""
    code = """if True:
        import sys
        import numpy as np
        from maxmargin import SVC
        X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 2
        SVC().fit(X, y)
        print("maxmargin.solvers.registry" in sys.modules)
        SVC(solver="smo", max_iter=10_000).fit(X, y)
        print("maxmargin.solvers.registry" in sys.modules)
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("spelling", ["scikit-learn", "scikit_learn"])
def test_the_version_of_a_package_that_is_not_imported(spelling, monkeypatch):
    """By the folder beside it, and where there is none, by Python's own list of what is installed."""
    assert read_version("sklearn", spelling) == sklearn.__version__
    monkeypatch.setattr("os.listdir", lambda folder: [])
    assert read_version("sklearn", spelling) == sklearn.__version__


@pytest.mark.parametrize("given", [True, False])
def test_code_is_found_where_nothing_can_be_written(given, program, tmp_path, monkeypatch):
    """In a folder that `maxmargin compile` has filled, by a process for which it is read-only."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache") if given else "")
    monkeypatch.setattr(stored_code, "GIVEN_FOLDER", numba.config.CACHE_DIR)
    assert load_program(program).add_doubles(np.arange(4.0)) == 12.0
    (folder,) = {file.parent for file in program.parent.rglob("*.nbi")}
    stored_code.list_ready_made_folders.cache_clear()
    monkeypatch.setattr(stored_code.StoredResults, "_locator_classes", (stored_code.ReadyMadeFolder,))
    functions = load_program(program)
    assert functions.add_doubles(np.arange(4.0)) == 12.0
    assert functions.add_doubles.stats.cache_hits
    assert functions.add_doubles.stats.cache_path == str(folder)
    kept = set(folder.iterdir())
    assert functions.add_doubles(np.arange(4.0, dtype=np.float32)) == 12.0  # compiled, and not kept
    assert set(folder.iterdir()) == kept


def test_the_stamp_of_a_source_is_its_content(program):
    """Times of files do not survive the making of an image."""
    assert load_program(program).add_doubles(np.arange(4.0)) == 12.0
    os.utime(program, (1, 1))
    stored_code.digest_folder.cache_clear()
    functions = load_program(program)
    functions.add_doubles(np.arange(4.0))
    assert functions.add_doubles.stats.cache_hits


def test_another_source_beside_it_makes_code_stale(program):
    """Its functions may be parts of those that were compiled: an upgrade changes some files and not others."""
    load_program(program).add_doubles(np.arange(4.0))
    (program.parent / "other.py").write_text("FACTOR = 2.0")
    stored_code.digest_folder.cache_clear()
    functions = load_program(program)
    functions.add_doubles(np.arange(4.0))
    assert not functions.add_doubles.stats.cache_hits


def test_code_that_is_damaged_is_compiled_again(program):
    """Cut off by a full disk, say."""
    load_program(program).add_doubles(np.arange(4.0))
    files = list((program.parent / "__pycache__").glob("*.nb*"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:20])
    assert load_program(program).add_doubles(np.arange(4.0)) == 12.0


@pytest.mark.parametrize("terminal", [True, False])
def test_a_fit_that_compiles_says_so_once(terminal, program, monkeypatch, capsys, caplog):
    """In one line, on stderr if that is a terminal, and to the log."""
    stored_code.announce_compiling.cache_clear()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    with caplog.at_level("INFO", "maxmargin"):
        functions = load_program(program)
        functions.add_doubles(np.arange(4.0))
        functions.double(1.0)
    assert [record.message for record in caplog.records] == [stored_code.ANNOUNCEMENT]
    assert capsys.readouterr().err == (stored_code.ANNOUNCEMENT + "\n" if terminal else "")


def test_compile_says_where_the_code_is(monkeypatch, capsys):
    """And fits every kind of machine that a file can train."""
    from maxmargin.cli import compile as command

    fits = []
    monkeypatch.setattr(command, "fit_and_predict", lambda machine, X, y: fits.append(type(machine).__name__))
    assert main(["compile", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["folder"] == compiler.find_folder() == StoredCode(compiler.probe).cache_path
    assert {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"} <= set(fits)
    assert {"RiskClassifier", "RiskRegressor"} <= set(fits)


def test_compile_without_a_place(monkeypatch, capsys):
    """One sentence says what to set."""
    monkeypatch.setattr(compiler, "find_cache", lambda: False)
    assert main(["compile"]) == 1
    assert "Set NUMBA_CACHE_DIR to a folder" in capsys.readouterr().err
