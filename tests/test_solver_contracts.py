"""The contracts of solvers and runs: every one of the package derives from them, and a few lines are a solver."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from class_problems import make_class_problem
from linear_problems import make_linear_problem
from reference_problems import make_problem
from time_allowances import HANG_SECONDS

import maxmargin
from maxmargin.contracts.solvers import Outcome, Progress, Run, Solver
from maxmargin.contracts.traits import STRUCTURE_PHRASES, Takes, Traits, suggest_solver
from maxmargin.insight.overview import make_probes
from maxmargin.insight.traces import record
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge, LeastSquares
from maxmargin.model.problem import Point
from maxmargin.runtime.checkpoints import CheckpointFile
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.automatic import apply_smo_settings, has_own_stopping_rule
from maxmargin.solvers.choice import explain, plan
from maxmargin.solvers.loop import solve
from maxmargin.solvers.names import SOLVER_NAMES
from maxmargin.solvers.result import Status
from maxmargin.solvers.sequence import NotStarted

SOURCES = Path(maxmargin.__file__).parent / "solvers"
PROBES = list(make_probes())


@dataclass(frozen=True)
class Ridge(Solver):
    """(I + X'cX) w = X'cy, X with the constant column of a regularised intercept: least squares, in one step."""

    takes = Takes("Ridge regression", features="linear", structure="least_squares", free_intercept=False)

    def start(self, problem, tol, warm=None):
        """A run at zero."""
        return RidgeRun(problem)


class RidgeRun(Run):
    """One solve; before it the duals are zero."""

    def __init__(self, problem):
        self.problem, self.solution = problem, problem.origin(None)

    def advance(self, max_steps, seconds):
        """The whole way."""
        features, y, c = self.problem.features, self.problem.y, self.problem.c
        rows = features.samples.project(np.eye(features.samples.d))  # dense, of sparse samples too
        X = np.column_stack([rows, np.full(len(y), features.scaling)])
        w = np.linalg.solve(np.eye(X.shape[1]) + X.T @ (c[:, None] * X), X.T @ (c * y))
        self.solution = Point(c * (y - X @ w), 0.0, w)
        self.n_iter += 1
        return Outcome.DONE

    def progress(self, seconds):
        """P and D, by the problem."""
        P, D = self.problem.primal(self.solution), self.problem.dual(self.solution.a)
        return Progress(self.n_iter, seconds, P, D, self.problem.n)

    def point(self):
        """Duals and w."""
        return self.solution


def make_ridge_problem():
    """Least squares without an intercept."""
    return make_linear_problem("least_squares", "none")


# ---- the package keeps to them ------------------------------------------------------------------------------------


def test_names_are_those_of_the_solvers():
    """They can be checked without loading a solver."""
    assert tuple(SOLVERS) == SOLVER_NAMES


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_derives_from_the_base(name):
    """It has the name of the registry, says what it takes, and does not write its own refusals."""
    make = SOLVERS[name]
    assert issubclass(make, Solver)
    assert make.name == name
    assert isinstance(make.takes, Takes)
    assert set(make.forms) <= {"memory", "blocks", "structures"}
    assert make.formulation
    assert "accepts" not in vars(make) or name == "qp"  # whose backend may not be installed


def test_every_run_derives_from_the_base():
    """All classes of solvers/ that advance are runs, and none is without a part that the loop asks for."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Run"):
                found[node.name] = [ast.unparse(base) for base in node.bases]
    assert len(found) > 15
    for name, bases in found.items():
        while bases and bases != ["Run"]:
            bases = found.get(bases[0], [])
        assert bases == ["Run"], name


@pytest.mark.parametrize("problem", [make_ridge_problem(), make_class_problem("softmax")], ids=["one", "many"])
def test_runs_of_the_plan(problem):
    """Every run that "auto" may start has all members of the contract, of the right kind."""
    for stage in plan(problem, tol=1e-4):
        run = stage.solver.start(problem, stage.tol)
        assert isinstance(run, Run)
        assert isinstance(run.advance(1, 1.0), Outcome)
        assert isinstance(run.progress(0.0), Progress)
        assert isinstance(run.support, int)
        assert run.reserve >= 0.0
        assert not run.has_diverged()
        assert run.here().a.shape == problem.shape


def test_a_run_that_was_not_started():
    """It stands where it was to start."""
    run = NotStarted(make_ridge_problem(), None)
    assert isinstance(run, Run)
    assert run.n_iter == run.support == 0
    assert run.advance(1, 1.0) is not Outcome.DONE
    assert not run.point().a.any()


# ---- a solver of one's own ----------------------------------------------------------------------------------------


def test_a_few_lines_are_a_solver():
    """Required members only: it is certified, and has the name of its class."""
    result = solve(make_ridge_problem(), Ridge(), tol=1e-9)
    assert result.converged
    assert result.solver.name == "ridge"
    assert result.n_iter == 1
    assert result.history[-1].solver == "ridge"
    assert explain(make_ridge_problem(), Ridge()) == "ridge, because it was asked for."


@pytest.mark.parametrize("intercept", ["none", "regularised"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_it_solves_all_that_it_takes(intercept, form):
    """With a regularised intercept and without one, dense and sparse, with weights of zero."""
    problem = make_linear_problem("least_squares", intercept, form, weighted=True)
    assert Ridge().accepts(problem) is None
    assert solve(problem, Ridge(), tol=1e-9).converged


def test_a_solver_of_one_loss_refuses_the_others():
    """In a sentence: another loss, a kernel, a free intercept; and a structure of one's own goes by its name."""
    refused = {
        "Ridge regression is for least squares, not for 'hinge'; use 'bundle'.": make_linear_problem("hinge", "none"),
        "Ridge regression is for least squares, not for 'huber'; use 'bundle'.": make_linear_problem("huber", "none"),
        "Ridge regression works on linear machines, and these features have a kernel; use 'smo'.": make_problem(
            LeastSquares(), RBF(gamma=0.5), "none"
        ),
        "Ridge regression has no free intercept; make it regularised or none, or use 'bundle'.": make_linear_problem(
            "least_squares", "free"
        ),
    }
    for sentence, problem in refused.items():
        assert Ridge().accepts(problem) == sentence
        with pytest.raises(ValueError, match=re.escape(sentence)):
            solve(problem, Ridge())
    assert Takes(structure="odd").refuse(make_ridge_problem().traits) == (
        "is for 'odd', not for 'least_squares'; use 'bundle'"
    )
    kernel = make_problem(Hinge(), RBF(gamma=0.5)).traits
    assert Takes(structure="odd").refuse(kernel) == "is for 'odd', not for 'hinge'; use 'smo'"


def test_it_has_a_trajectory():
    """From the start, where P is that of w = 0, to the optimum."""
    seen = record(make_ridge_problem(), Ridge(), tol=1e-9)
    assert seen.solver == "ridge"
    assert list(seen.n_iter) == [0, 1]
    assert seen.primal[1] - seen.dual[1] <= 1e-9 * seen.primal[1] < seen.primal[0] - seen.dual[0]


def test_it_is_kept_in_a_checkpoint(tmp_path):
    """As a point, since it cannot be packed; the next solve starts there."""
    problem, path = make_ridge_problem(), tmp_path / "ridge.npz"
    first = solve(problem, Ridge(), checkpoint=CheckpointFile(path))
    assert path.exists()
    again = solve(problem, Ridge(), checkpoint=CheckpointFile(path))
    np.testing.assert_array_equal(first.point.a, again.point.a)


def test_limits_and_callbacks():
    """Those of the loop, which a run knows nothing of."""
    problem = make_ridge_problem()
    seen = []
    assert solve(problem, Ridge(), callback=seen.append, max_seconds=HANG_SECONDS).converged
    assert [progress.n_iter for progress in seen] == [1]
    assert solve(problem, Ridge(), callback=lambda progress: True).status is Status.STOPPED
    assert solve(problem, Ridge(), max_iter=0).status is Status.MAX_ITER


def test_a_run_that_does_nothing_ends():
    """The judge does not agree, and a `refresh` that does nothing cannot help."""

    class Idle(Ridge):
        """Done at once, it thinks."""

        def start(self, problem, tol, warm=None):
            """A run that stays at zero."""
            run = RidgeRun(problem)
            run.advance = lambda steps, seconds: Outcome.DONE
            return run

    result = solve(make_ridge_problem(), Idle(), max_seconds=HANG_SECONDS)
    assert result.status is Status.STALLED


def test_what_is_required():
    """A solver without `start`, or a run without its three methods, cannot be made."""

    class Nothing(Solver):
        """No start."""

    class Standing(Run):
        """No steps."""

    with pytest.raises(TypeError, match="start"):
        Nothing()
    with pytest.raises(TypeError, match="advance"):
        Standing()


@pytest.mark.parametrize("solver", [3, None, Ridge, object()], ids=["number", "None", "class", "object"])
def test_what_is_no_solver(solver):
    """Only a name or an object of a class that derives from `Solver`."""
    with pytest.raises(ValueError, match=r"solver must be 'auto', one of .* or a solver object, got"):
        solve(make_ridge_problem(), solver)


def test_it_takes_what_it_declares():
    """By default one score, the penalty 1/2 |w|^2 and any loss; a declaration narrows that, with a sentence."""

    class Narrow(Ridge):
        """For smooth losses of linear machines without a free intercept."""

        takes = Takes("The narrow one", features="linear", loss="smooth", free_intercept=False)

        def refuse(self, problem):
            """More than 30 samples."""
            return f"takes 30 samples at most, and {problem.n} are too many" if problem.n > 30 else None

    class Unnamed(Ridge):
        """Says nothing of itself."""

        takes = Takes()

    assert Narrow().accepts(make_linear_problem("least_squares", "none", n=20)) is None
    reasons = {
        "The narrow one needs a smooth loss, and 'hinge' has a kink; use 'multipliers'.": make_linear_problem("hinge"),
        "The narrow one takes 30 samples at most, and 40 are too many.": make_linear_problem(
            "least_squares", "none", n=40
        ),
        "The narrow one takes one score per sample, and this problem has 3; use 'class_newton'.": make_class_problem(
            "softmax"
        ),
    }
    for sentence, problem in reasons.items():
        assert Narrow().accepts(problem) == sentence
    assert Ridge().accepts(make_class_problem("softmax")).startswith("Ridge regression takes one score per sample")
    assert Unnamed().accepts(make_class_problem("softmax")).startswith("Unnamed takes one score per sample")


def test_what_cannot_be_resumed_or_continued():
    """A solver that packs nothing says so; one that takes nothing over from its last run starts afresh."""
    run = Ridge().start_after(RidgeRun(make_ridge_problem()), make_ridge_problem(), 1e-3)
    assert isinstance(run, RidgeRun)
    assert run.n_iter == 0
    assert RidgeRun(make_ridge_problem()).pack() is None
    with pytest.raises(NotImplementedError, match="'ridge' cannot be resumed"):
        Ridge().resume(make_ridge_problem(), 1e-3, {})


def test_rules_of_their_own():
    """By name every solver stops by the gap."""
    assert has_own_stopping_rule(SOLVERS["smo"](stop="kkt"))
    assert not any(has_own_stopping_rule(name) or has_own_stopping_rule(SOLVERS[name]()) for name in SOLVERS)
    assert not has_own_stopping_rule("auto")


# ---- what kind of problem it is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
def test_refusals_follow_from_the_declaration(name):
    """Where the kind is taken, only the size or the margin of this very problem can stand in the way."""
    solver = SOLVERS[name]()
    for probe in PROBES:
        reason, traits = solver.accepts(probe.problem), probe.problem.traits
        if traits.form not in solver.forms or solver.takes.refuse(traits) is not None:
            assert reason is not None
        elif reason is not None:
            assert solver.refuse(probe.problem) is not None


def test_suggested_solvers_take_the_problem():
    """The solver that a refusal names takes every problem of that kind; where there is none, no solver does."""
    for probe in PROBES:
        named = suggest_solver(probe.problem.traits)
        takers = [name for name, make in SOLVERS.items() if make().accepts(probe.problem) is None]
        assert named in takers if named is not None else not takers, probe


def test_suggested_solvers_take_such_problems():
    """Odd kinds too, which no estimator poses: a solver is not suggested that refuses them, least of all by itself."""
    kinds = product(["l2", "l1"], [1, 2], [False, True], [False, True], [False, True], [False, True], [False, True])
    for penalty, layers, signed, linear, piecewise, kinked, free in kinds:
        if (linear and signed) or (penalty == "l1" and not linear):
            continue
        traits = Traits(
            linear=linear, kernel_rows=True, layers=layers, signed=signed, piecewise=piecewise, kinked=kinked,
            penalty=penalty, free_intercept=free, loss="odd",
        )  # fmt: skip
        named = suggest_solver(traits)
        assert named is None or SOLVERS[named].takes.refuse(traits) is None, traits


def test_traits_of_probes():
    """What a reader would say of them."""
    for probe in PROBES:
        traits = probe.problem.traits
        assert traits.linear == (probe.kind != "kernel")
        assert (traits.penalty == "l1") == (probe.kind == "absolute")
        assert (traits.n_scores > 1) == (probe.kind == "classes")
        assert traits.free_intercept == (probe.intercept == "free")
        assert (traits.layers == 2) == (probe.loss == "nu machines")
        assert traits.joint == (probe.loss in ("f1", "roc_auc"))
        assert traits.structure in ("", *STRUCTURE_PHRASES)
        assert traits.d == (0 if probe.kind == "kernel" else 2)
        assert traits is probe.problem.traits


def test_traits_and_declarations_do_not_change():
    """Both are frozen; all fields of traits have a default, so that a form of data says only what it is."""
    assert Traits() == replace(Traits(), form="memory")
    with pytest.raises(AttributeError):
        Traits().form = "blocks"
    assert len(fields(Traits)) == len(vars(Traits()))


def test_settings_of_smo():
    """They go with "auto" and "smo", and are not even looked at with others."""
    assert apply_smo_settings("smo", cache_size=7.0).cache_size == 7.0
    assert apply_smo_settings("auto", cache_size=7.0).smo.cache_size == 7.0
    assert apply_smo_settings("qp", cache_size=-1.0) == "qp"
