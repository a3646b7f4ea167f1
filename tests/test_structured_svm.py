"""StructuredSVM: both solvers against an independent program, against each other, and at their limits."""

from __future__ import annotations

import pickle
import re
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from keyboard import press_ctrl_c
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from structured_problems import (
    GreedyChain,
    Matching,
    PlainChain,
    UnboundedChain,
    hamming,
    make_chains,
    make_matchings,
    pose,
    solve_chains,
)
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import LinearSVC, Status, solve
from maxmargin.certificates.certificate import judge
from maxmargin.estimators.structured import StructuredSVM
from maxmargin.solvers.bundle.structured import METHODS, StructuredBundle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.result import Outcome
from maxmargin.structures import ChainModel, MulticlassModel

SOLVERS = [FrankWolfe(), FrankWolfe(cached_passes=0), StructuredBundle(), StructuredBundle("one-slack")]
BOTH = [FrankWolfe(), StructuredBundle()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=repr)
both_solvers = pytest.mark.parametrize("solver", BOTH, ids=lambda solver: solver.name)
every_model = pytest.mark.parametrize("make", [ChainModel, lambda: PlainChain(3)], ids=["packed", "listed"])
COSTS = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
DOCS = Path(__file__).parent.parent / "docs" / "structured.md"


def run_to_the_end(run, slices: int = 100_000) -> None:
    """Advance with no time at all, so that every pass is cut into as many pieces as it can be."""
    for _ in range(slices):
        if run.advance(1 << 30, 0.0) is not Outcome.GOING:
            return
    raise AssertionError("it did not end")


# ---- the optimum ------------------------------------------------------------------------------------------------


@every_solver
@every_model
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_reaches_the_optimum_of_an_independent_program(solver, make, C):
    """To 1e-6, with all labellings listed for cvxopt."""
    X, y = make_chains(7, 2, 3, 3)
    weight = np.array([1.0, 0.3, 2.0, 1.0, 1.5, 0.7, 1.0])
    problem = pose(make(), X, y, C, weight)
    optimum = solve_chains(X, y, problem.c, 3, hamming(3))
    result = solve(problem, solver, tol=1e-6)
    assert result.status is Status.CONVERGED
    assert result.certificate.dual <= optimum + 1e-7 * optimum
    assert result.certificate.primal >= optimum - 1e-7 * optimum
    assert result.certificate.primal == pytest.approx(optimum, rel=1e-6)


@both_solvers
def test_costs_of_labels(solver):
    """A table of costs in place of 0 and 1."""
    X, y = make_chains(7, 2, 3, 3)
    problem = pose(ChainModel(COSTS), X, y, 0.5)
    optimum = solve_chains(X, y, problem.c, 3, COSTS)
    assert solve(problem, solver, tol=1e-6).certificate.primal == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_solvers_agree_on_longer_chains(method):
    """200 sequences, dense and sparse, to 1e-3."""
    X, y = make_chains(200, 8, 5, 12, noise=0.3)
    first = solve(pose(ChainModel(), X, y, 0.1), FrankWolfe())
    second = solve(pose(ChainModel(), [sp.csr_matrix(x) for x in X], y, 0.1), StructuredBundle(method))
    assert first.converged
    assert second.converged
    assert first.certificate.primal == pytest.approx(second.certificate.primal, rel=2e-3)
    assert max(first.certificate.dual, second.certificate.dual) <= min(
        first.certificate.primal, second.certificate.primal
    )


@both_solvers
@pytest.mark.parametrize("sparse", [False, True])
def test_classes_are_those_of_crammer_and_singer(solver, sparse):
    """The same objective as LinearSVC without an intercept."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 5)), np.array(["a", "b", "c", "d"])[rng.integers(0, 4, 120)]
    X[np.arange(120), np.searchsorted(["a", "b", "c", "d"], y)] += 1.5
    weight = rng.uniform(0.5, 2.0, 120)
    X = sp.csr_array(X) if sparse else X
    reference = LinearSVC(multi_class="crammer_singer", intercept="none", C=0.3, tol=1e-7).fit(X, y, weight)
    model = StructuredSVM(MulticlassModel(), C=0.3, tol=1e-6, solver=solver).fit(X, y, weight)
    assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, rel=2e-6)
    assert np.allclose(model.model_.split(model.coef_), reference.coef_, atol=1e-2)
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.98
    assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == y))


@both_solvers
@every_model
def test_weight_two_is_the_sample_twice(solver, make):
    """And weight zero is the sample left out."""
    X, y = make_chains(6, 2, 3, 3)
    weighted = StructuredSVM(make(), C=0.3, tol=1e-7, solver=solver).fit(X, y, [1, 2, 1, 0, 1, 1])
    twice = [0, 1, 1, 2, 4, 5]
    repeated = StructuredSVM(make(), C=0.3, tol=1e-7, solver=solver).fit([X[i] for i in twice], [y[i] for i in twice])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-6)
    assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-3)


@both_solvers
def test_a_matching_is_learned(solver):
    """A model of twenty lines, from the documentation."""
    X, y = make_matchings(60)
    model = StructuredSVM(Matching(), C=0.1, solver=solver).fit(X[:40], y[:40])
    assert model.result_.converged
    assert model.certificate_.relative_gap <= 1e-3
    right = np.mean([np.mean(z == labels) for z, labels in zip(model.predict(X[40:]), y[40:], strict=True)])
    assert right > 0.7
    assert np.mean(np.concatenate(y) == np.tile(np.arange(4), 60)) < 0.4


def test_labels_of_all_kinds():
    """Text labels come back as text."""
    X, y = make_chains(20, 3, 3, 4)
    names = np.array(["adjective", "noun", "verb"])
    one = StructuredSVM(ChainModel(), C=0.5).fit(X, y)
    other = StructuredSVM(ChainModel(), C=0.5).fit(X, [names[labels].tolist() for labels in y])
    for numbers, words in zip(one.predict(X), other.predict(X), strict=True):
        assert np.array_equal(names[numbers], words)
    assert one.score(X, y) == other.score(X, [names[labels] for labels in y])
    wrong = sum(np.sum(z != labels) for z, labels in zip(one.predict(X), y, strict=True))
    assert one.score(X, y) == pytest.approx(1 - wrong / sum(map(len, y)))


# ---- what the certificate says of approximate oracles -----------------------------------------------------------


@both_solvers
def test_an_approximate_oracle_is_honest(solver):
    """Its D is below the optimum, its P above, and the warning says why it stopped."""
    X, y = make_chains(8, 2, 3, 4, seed=3)
    optimum = solve_chains(X, y, np.full(8, 0.5), 3, hamming(3))
    with pytest.warns(ConvergenceWarning, match="approximate argmax, and its upper_bound leaves a gap"):
        model = StructuredSVM(GreedyChain(3), C=0.5, solver=solver).fit(X, y)
    assert model.certificate_.dual <= optimum * (1 + 1e-9)
    assert optimum * (1 - 1e-9) <= model.certificate_.primal < np.inf
    assert model.result_.status is Status.STALLED
    problem = pose(PlainChain(3), X, y, 0.5)
    assert judge(problem, model.result_.point).primal <= model.certificate_.primal


@both_solvers
def test_without_a_bound_the_gap_is_infinite(solver):
    """And one sentence says so."""
    X, y = make_chains(8, 2, 3, 4)
    with pytest.warns(ConvergenceWarning, match="the certified gap is infinite; the lower bound") as caught:
        model = StructuredSVM(UnboundedChain(3), C=0.5, solver=solver).fit(X, y)
    assert len(caught) == 1
    assert model.certificate_.relative_gap == np.inf
    assert 0 < model.certificate_.dual <= solve_chains(X, y, np.full(8, 0.5), 3, hamming(3)) * (1 + 1e-9)


# ---- the same every time, in pieces, and from a file ------------------------------------------------------------


@both_solvers
@every_model
def test_pieces_do_not_change_the_answer(solver, make):
    """A run that is interrupted after every few samples ends at the same point, bit by bit."""
    X, y = make_chains(16, 3, 3, 3)
    problem = pose(make(), X, y, 0.5)
    points = []
    for cut_up in (False, True):
        run = solver.start(pose(make(), X, y, 0.5), 1e-4)
        if cut_up:
            run_to_the_end(run)
        else:
            assert run.advance(1 << 30, 60.0) is Outcome.DONE
        points.append(run.point())
    assert np.array_equal(points[0].w, points[1].w)
    assert np.array_equal(points[0].a, points[1].a)
    assert judge(problem, points[0]).relative_gap <= 1e-4


@both_solvers
@every_model
@pytest.mark.parametrize("steps", [1, 3, 60])
def test_goes_on_from_a_file(solver, make, steps, tmp_path):
    """A run that is packed, written, read and resumed ends where one that was left alone does."""
    X, y = make_chains(16, 3, 3, 3)
    whole = solver.start(pose(make(), X, y, 0.5), 1e-5)
    run_to_the_end(whole)
    part = solver.start(pose(make(), X, y, 0.5), 1e-5)
    for _ in range(steps):
        part.advance(1 << 30, 0.0)
    np.savez(tmp_path / "state.npz", **part.pack())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as arrays:
        state = {key: arrays[key] for key in arrays.files}
    again = solver.resume(pose(make(), X, y, 0.5), 1e-5, state)
    assert again.n_iter == part.n_iter
    run_to_the_end(again)
    assert np.allclose(again.point().w, whole.point().w, atol=1e-8)
    assert again.n_iter == whole.n_iter


@both_solvers
@every_model
def test_checkpoint_of_a_fit(solver, make, tmp_path):
    """A fit that was stopped goes on from its checkpoint; another problem is refused."""
    X, y = make_chains(16, 3, 3, 3)
    path = tmp_path / "fit.npz"
    whole = StructuredSVM(make(), C=0.5, tol=1e-6, solver=solver).fit(X, y)
    arguments = {"C": 0.5, "tol": 1e-6, "solver": solver, "checkpoint": path}
    with pytest.warns(ConvergenceWarning, match="limit of iterations"):
        StructuredSVM(make(), max_iter=3, **arguments).fit(X, y)
    resumed = StructuredSVM(make(), **arguments).fit(X, y)
    assert resumed.result_.converged
    assert resumed.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-6)
    assert resumed.n_iter_ == whole.n_iter_
    assert resumed.result_.counters["oracle_passes"] > 3
    with pytest.raises(ValueError, match="belongs to another problem"):
        StructuredSVM(make(), **{**arguments, "C": 0.6}).fit(X, y)
    with pytest.raises(ValueError, match="belongs to another problem"):
        StructuredSVM(make(), **arguments).fit(X[1:], y[1:])


@both_solvers
def test_the_same_every_time(solver):
    """Two fits are equal bit by bit."""
    X, y = make_chains(100, 4, 3, 5)
    fits = [StructuredSVM(ChainModel(), C=0.5, solver=solver).fit(X, y) for _ in range(2)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].certificate_ == fits[1].certificate_


@both_solvers
def test_bounded_memory_loses_nothing_but_time(solver, monkeypatch):
    """Few cuts, or few labellings of each sample, still lead to the optimum."""
    from maxmargin.solvers.frank_wolfe import chain_labellings

    X, y = make_chains(20, 3, 3, 4)
    problem = pose(ChainModel(), X, y, 2.0)
    reference = solve(problem, FrankWolfe(), tol=1e-6).certificate.primal
    monkeypatch.setattr(chain_labellings, "LABELLING_MEMORY_BYTES", 1)
    result = solve(problem, StructuredBundle(max_cuts=8) if solver is BOTH[1] else solver, tol=1e-3)
    assert result.converged
    assert result.certificate.primal == pytest.approx(reference, rel=2e-3)


# ---- limits -----------------------------------------------------------------------------------------------------


class Slow(PlainChain):
    """An oracle that takes its time."""

    def argmax(self, x, w, y=None):
        """After 2 ms."""
        time.sleep(0.002)
        return super().argmax(x, w, y)


@pytest.mark.slow
@both_solvers
@pytest.mark.usefixtures("own_clock")
def test_max_seconds_is_kept(solver):
    """A slow oracle is stopped between two samples, with time left for the certificate."""
    X, y = make_chains(60, 2, 3, 2)
    watch = OwnTimer()
    with pytest.warns(ConvergenceWarning, match="time budget"):
        model = StructuredSVM(Slow(3), C=1.0, tol=1e-9, max_seconds=1.0, solver=solver).fit(X, y)
    assert watch.seconds < 1.5 + SLACK_SECONDS
    assert model.result_.status is Status.MAX_SECONDS
    assert np.isfinite(model.certificate_.gap)
    longest = np.diff([each.seconds for each in model.result_.history]).max(initial=0.0)
    assert longest < 0.5 + SLACK_SECONDS


@both_solvers
def test_interrupt_keeps_what_was_found(solver):
    """Ctrl-C ends the fit in good order: the state is kept, and KeyboardInterrupt passed on."""
    X, y = make_chains(60, 2, 3, 2)
    model = StructuredSVM(Slow(3), C=1.0, tol=1e-9, solver=solver)
    with press_ctrl_c(), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.result_.status is Status.INTERRUPTED
    assert len(model.predict(X)) == 60


@both_solvers
def test_callback_sees_progress(solver):
    """D rises, and a true answer stops the run."""
    X, y = make_chains(60, 3, 3, 3)
    seen = []
    result = solve(
        pose(ChainModel(), X, y), solver, tol=1e-8, callback=lambda line: seen.append(line) or line.n_iter > 3
    )
    duals = [line.dual for line in seen]
    assert result.status in (Status.STOPPED, Status.CONVERGED)
    assert all(one <= other + 1e-9 * abs(other) for one, other in pairwise(duals))


@pytest.mark.slow
def test_several_processes_find_the_same():
    """n_jobs is for the oracle of a model of one's own."""
    X, y = make_matchings(24)
    alone = StructuredSVM(Matching(), C=0.1, solver=StructuredBundle()).fit(X, y)
    with parallel_config(backend="threading"):  # processes would take seconds to start
        together = StructuredSVM(Matching(), C=0.1, solver=StructuredBundle(), n_jobs=2).fit(X, y)
    assert np.array_equal(alone.coef_, together.coef_)


def test_the_cache_saves_oracle_calls():
    """Cuts of remembered labellings take the place of passes of the oracle, and lead to the same optimum."""
    X, y = make_matchings(40)
    counts, values = [], []
    for cache in (0, 10):
        result = solve(pose(Matching(), X, y, 1.0), StructuredBundle(cache=cache), tol=1e-5)
        counts.append(result.counters["oracle_passes"])
        values.append(result.certificate.primal)
    assert counts[1] < counts[0]
    assert values[0] == pytest.approx(values[1], rel=2e-5)


# ---- scikit-learn -----------------------------------------------------------------------------------------------


def test_clone_params_and_pickle():
    """The estimator is one of scikit-learn's kind."""
    X, y = make_chains(20, 3, 3, 4)
    model = StructuredSVM(ChainModel(COSTS), C=0.5).fit(X, y)
    other = clone(model)
    assert not hasattr(other, "coef_")
    assert other.get_params()["C"] == 0.5
    assert not hasattr(other.model, "labels_")  # the model that was given is never touched
    assert not hasattr(model.model, "labels_")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(np.concatenate(again.predict(X)), np.concatenate(model.predict(X)))
    assert np.array_equal(other.set_params(C=0.5).fit(X, y).coef_, model.coef_)
    assert "StructuredSVM(C=0.5, model=ChainModel" in repr(model)


@both_solvers
@every_model
def test_warm_start(solver, make):
    """A fit that starts at the solution of the last one has little to do; one on other samples starts afresh."""
    X, y = make_chains(20, 3, 3, 3)
    model = StructuredSVM(make(), C=0.5, tol=1e-4, solver=solver, warm_start=True).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= max(2, cold // 2) or model.result_.counters["oracle_passes"] < cold
    model.fit(X[:10], y[:10])
    assert model.result_.converged


def test_verbose_prints_one_line(capsys):
    X, y = make_chains(10, 3, 3, 3)
    StructuredSVM(ChainModel(), verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("StructuredSVM: converged, primal ")


# ---- the documentation ------------------------------------------------------------------------------------------


def test_the_model_of_the_documentation_has_twenty_lines():
    """The class of docs/structured.md, whose program tests/test_pages.py runs."""
    first = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.S)[1].split("\n\n\n")
    model = next(part for part in first if part.startswith("class "))
    assert len(model.strip().splitlines()) <= 22
