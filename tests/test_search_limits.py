"""A search that ends early: Ctrl-C, max_seconds, and a checkpoint from which another one goes on."""

from __future__ import annotations

import random
import signal
import threading

import numpy as np
import pytest
from keyboard import press_ctrl_c
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, LinearSVC
from maxmargin.model_selection import GridSearchCV, HalvingGridSearchCV
from maxmargin.tuning import plain_cells, search_store, search_table, shared_cells

X, Y = make_classification(700, 20, n_informative=8, flip_y=0.1, random_state=0)
GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.001, 0.01, 0.1, 1.0]}
PIPELINE_GRID = {f"svc__{name}": values for name, values in GRID.items()}
SEARCHES = {
    "machine": lambda: GridSearchCV(SVC(), GRID, cv=4),
    "one thread": lambda: GridSearchCV(SVC(), GRID, cv=4, n_jobs=1),
    "pipeline": lambda: GridSearchCV(make_pipeline(StandardScaler(), SVC()), PIPELINE_GRID, cv=4),
    "halving": lambda: HalvingGridSearchCV(SVC(), GRID, cv=4, random_state=0),
    "one by one": lambda: GridSearchCV(SVC(solver="smo"), GRID, cv=4),
}


@pytest.fixture(autouse=True)
def _default_handler():
    """Python's own handler for Ctrl-C before and after, and no thread that goes on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def whole():
    """The searches without an interruption."""
    return {name: make().fit(X, Y) for name, make in SEARCHES.items()}


def check_part(part, all_of_it):
    """What is in the table is what the whole search says of the same candidates, and the best of it can predict."""
    known = [repr(candidate) for candidate in all_of_it.cv_results_["params"]]
    for place, candidate in enumerate(part.cv_results_["params"]):
        there = known.index(repr(candidate))
        for fold in range(part.n_splits_):
            name = f"split{fold}_test_score"
            assert part.cv_results_[name][place] == all_of_it.cv_results_[name][there]
    assert part.best_params_ == part.cv_results_["params"][part.best_index_]
    assert part.best_score_ == part.cv_results_["mean_test_score"][part.best_index_]
    assert part.predict(X[:5]).shape == (5,)
    assert (part.cv_results_["worst_relative_gap"] <= 1e-5).all()


def interrupt_search(search, after, *, listened=True):
    """Fit, with Ctrl-C so many seconds after it listens, or after it began; whether that came in time."""
    try:
        with press_ctrl_c(after, listened=listened):
            search.fit(X, Y)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 13), marks=pytest.mark.slow)])
def test_ctrl_c_keeps_what_is_done(name, seed, whole):
    """At random moments: the table of what is done, a usable best estimator, and nothing else lost."""
    for each in [seed] if isinstance(seed, int) else seed:
        search = SEARCHES[name]()
        pressed = interrupt_search(search, random.Random(each).uniform(0.0, 0.5))
        outcome = vars(search).get("search_outcome_")
        if outcome is None:
            assert pressed
            assert not hasattr(search, "cv_results_")
            continue
        if name != "halving" and search.n_splits_ == 4:
            check_part(search, whole[name])
        assert search.best_estimator_.predict(X[:5]).shape == (5,)
        assert len(outcome.cells) >= len(search.cv_results_["params"]) * search.n_splits_
        assert len(search.fit(X, Y).cv_results_["params"]) == len(whole[name].cv_results_["params"])


def count_kept(path):
    """Cells in a checkpoint."""
    return len(np.load(path)["keys"]) if path.exists() else 0


def check_interrupted(name, search, whole, path):
    """A table of what is done and a best estimator, or nothing where nothing was done; every cell is in the file."""
    outcome = vars(search).get("search_outcome_")
    if outcome is None:
        assert not hasattr(search, "cv_results_")
        assert count_kept(path) == 0
        return
    if name != "halving" and search.n_splits_ == 4:
        check_part(search, whole)
    assert search.best_estimator_.predict(X[:5]).shape == (5,)
    assert len(outcome.cells) >= len(search.cv_results_["params"]) * search.n_splits_ > 0
    assert count_kept(path) == len(outcome.cells)


@pytest.mark.slow
def test_fifty_moments(tmp_path, whole):
    """Anywhere in a search, sampled at random, before and after it listens too: nothing is lost, and it goes on."""
    draw, interrupted = random.Random(0), 0
    for moment in range(50):
        name = list(SEARCHES)[moment % len(SEARCHES)]
        path = tmp_path / f"{moment}.npz"
        search = SEARCHES[name]().set_params(checkpoint=path)
        pressed = interrupt_search(search, draw.uniform(0.0, seconds_of(whole[name])), listened=False)
        interrupted += pressed
        check_interrupted(name, search, whole[name], path)
        kept = count_kept(path)
        search.fit(X, Y)
        check_whole(search, whole[name])
        assert count_kept(path) >= kept
    assert interrupted >= 25


def seconds_of(search):
    """What the cells and the refit of a search took, on one core."""
    cells = search.search_outcome_.cells.values()
    return search.refit_time_ + sum(cell.fit_seconds + cell.score_seconds for cell in cells)


def check_whole(search, expected):
    """The same table, and the same winner."""
    assert search.cv_results_["params"] == expected.cv_results_["params"]
    for fold in range(4):
        name = f"split{fold}_test_score"
        np.testing.assert_array_equal(search.cv_results_[name], expected.cv_results_[name])
    assert search.best_params_ == expected.best_params_


@pytest.mark.parametrize("place", ["cells", "save"])
def test_ctrl_c_where_the_search_does_not_listen(place, tmp_path, monkeypatch, whole):
    """Between the cells and the table, or while the file is written: the cells are in both."""
    owner, name = {
        "cells": (search_table, "evaluate_cells"),
        "save": (search_store.CellFile, "save"),
    }[place]
    original, pressed = getattr(owner, name), []

    def press(*arguments):
        found = original(*arguments)
        if not pressed:
            pressed.append(1)
            signal.raise_signal(signal.SIGINT)
        return found

    path = tmp_path / "cells.npz"
    search = GridSearchCV(SVC(), GRID, cv=4, checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, press)
        with pytest.raises(KeyboardInterrupt):
            search.fit(X, Y)
    assert pressed
    check_interrupted("machine", search, whole["machine"], path)
    assert count_kept(path) == 64


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_after_some_cells(jobs, whole):
    """Pressed by a scorer: the cells before it are there."""
    calls = []

    def score(machine, X, y):
        calls.append(1)
        if len(calls) == 23:
            signal.raise_signal(signal.SIGINT)
        return machine.score(X, y)

    search = GridSearchCV(SVC(), GRID, cv=4, scoring=score, n_jobs=jobs)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.search_outcome_.interrupted
    assert 22 <= len(search.search_outcome_.cells) <= 26
    assert 1 <= len(search.cv_results_["params"]) <= 6
    check_part(search, whole["machine"])


def test_ctrl_c_before_a_candidate_is_complete():
    """The folds of the candidate that came furthest make the table."""
    calls = []

    def score(machine, X, y):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return machine.score(X, y)

    search = GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=4, scoring=score, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.n_splits_ == 2
    assert "split2_test_score" not in search.cv_results_
    assert search.predict(X[:5]).shape == (5,)


@pytest.mark.parametrize("jobs", [1, 2])
def test_max_seconds_leaves_candidates_out(jobs, monkeypatch, whole):
    """A clock that is late after some cells: a warning says how many candidates there are."""
    cells = []

    class CountedClock(plain_cells.Clock):
        @property
        def is_late(self):
            return len(cells) >= 14

    def score(machine, X, y):
        cells.append(1)
        return machine.score(X, y)

    monkeypatch.setattr(plain_cells, "Clock", CountedClock)
    search = GridSearchCV(SVC(), GRID, cv=4, scoring=score, max_seconds=50.0, n_jobs=jobs)
    with pytest.warns(UserWarning, match=r"max_seconds=50 sufficed for \d of 16 candidates"):
        search.fit(X, Y)
    assert search.search_outcome_.out_of_time
    assert 1 <= len(search.cv_results_["params"]) <= 5
    check_part(search, whole["machine"])


def test_no_time_at_all():
    """One sentence."""
    with pytest.raises(ValueError, match="max_seconds=1e-09 ended before any candidate was scored"):
        GridSearchCV(SVC(), GRID, max_seconds=1e-9).fit(X, Y)


def test_threads_end_with_an_error():
    """The first error is raised, and no thread goes on."""

    def score(machine, X, y):
        raise ZeroDivisionError("no score")

    with pytest.raises(ZeroDivisionError, match="no score"):
        GridSearchCV(SVC(), GRID, cv=4, scoring=score, error_score="raise", n_jobs=2).fit(X, Y)
    for thread in threading.enumerate():
        if thread.name.startswith("maxmargin-cell"):
            thread.join(20.0)
            assert not thread.is_alive()


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def count_fits(monkeypatch):
    """A list that has an entry for every cell that is fitted."""
    fits, evaluate, finish = [], plain_cells.ChainWalk.evaluate, shared_cells.CellScoring.finish
    monkeypatch.setattr(
        plain_cells.ChainWalk, "evaluate", lambda self, number: fits.append(number) or evaluate(self, number)
    )
    monkeypatch.setattr(
        shared_cells.CellScoring, "finish", lambda self, number, fold: fits.append(number) or finish(self, number, fold)
    )
    return fits


def test_checkpoint_goes_on_from_what_is_done(tmp_path, monkeypatch, whole):
    """An interrupted search, then the rest of it, then a larger one: no cell is fitted twice."""
    path, fits = tmp_path / "cells.npz", count_fits(monkeypatch)
    search = GridSearchCV(SVC(), GRID, cv=4, checkpoint=path, return_train_score=True)
    with press_ctrl_c(0.1):
        try:
            search.fit(X, Y)
        except KeyboardInterrupt:
            assert path.exists()
    done = len(fits)
    fits.clear()
    search.fit(X, Y)
    assert len(fits) == 64 - done
    for name in ("mean_test_score", "split2_test_score", "rank_test_score"):
        np.testing.assert_array_equal(search.cv_results_[name], whole["machine"].cv_results_[name])
    assert (search.cv_results_["worst_relative_gap"] <= 1e-5).all()
    fits.clear()
    larger = GridSearchCV(SVC(), {**GRID, "C": [*GRID["C"], 1000.0]}, cv=4, checkpoint=path, return_train_score=True)
    assert larger.fit(X, Y).best_score_ >= search.best_score_
    assert len(fits) == 16


def test_checkpoint_of_several_scores(tmp_path, monkeypatch):
    """Scores by name come back as they were."""
    options = {"cv": 3, "scoring": ["accuracy", "roc_auc"], "refit": "accuracy", "checkpoint": tmp_path / "cells"}
    first = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, **options).fit(X, Y)
    fits = count_fits(monkeypatch)
    again = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, **options).fit(X, Y)
    assert not fits
    for name in ("split0_test_roc_auc", "mean_test_accuracy", "worst_relative_gap", "mean_fit_time"):
        np.testing.assert_array_equal(first.cv_results_[name], again.cv_results_[name])


def test_checkpoint_of_other_data_is_refused(tmp_path):
    """Another X, another estimator, another scorer."""
    path = tmp_path / "cells.npz"
    grid = {"C": [0.1, 1.0]}
    GridSearchCV(SVC(), grid, cv=3, checkpoint=path).fit(X, Y)
    for estimator, rows, scoring in ((SVC(), X + 1.0, None), (SVC(tol=1e-4), X, None), (SVC(), X, "f1")):
        with pytest.raises(ValueError, match=r"belongs to another problem: its (data|estimator|scoring) is"):
            GridSearchCV(estimator, grid, cv=3, scoring=scoring, checkpoint=path).fit(rows, Y)
    with pytest.raises(ValueError, match="checkpoint must be in a folder that exists"):
        GridSearchCV(SVC(), grid, checkpoint=tmp_path / "nowhere" / "cells").fit(X, Y)


def test_ctrl_c_while_scores_become_results(monkeypatch):
    """It waits until candidates, scores and results are all there: the search ends with its whole table."""
    search = GridSearchCV(SVC(), GRID, cv=4)
    format_results = GridSearchCV._format_results

    def interrupt(self, *given):
        signal.raise_signal(signal.SIGINT)
        return format_results(self, *given)

    monkeypatch.setattr(GridSearchCV, "_format_results", interrupt)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == Y.shape
