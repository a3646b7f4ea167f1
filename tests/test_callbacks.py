"""scikit-learn's callbacks: tasks and their order, fitted estimators on the way, stops, errors, and its own ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from every_estimator import every_estimator
from long_fits import make_clouds, make_sequences
from selection import leave_long
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    BlockwiseTransformer,
    ChainModel,
    LinearSVC,
    RiskClassifier,
    Status,
    StructuredSVM,
    certify,
)  # fmt: skip
from maxmargin.blocks import ArrayBlocks
from maxmargin.solvers.result import Progress

CALLBACKS = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
X, Y = make_clouds(300, 5)
LONG = SVC(C=1e4, tol=1e-12), *make_clouds(3000, 10)


class Spy:
    """A callback that writes everything down, and asks to stop where `stop` says so."""

    def __init__(self, stop=lambda event: False):
        self.events, self.stop = [], stop

    def setup(self, estimator, context):
        self.events.append({"what": "setup"})

    def teardown(self, estimator, context):
        self.events.append({"what": "teardown"})

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(
            {"what": "begin", "task": context.task_name, "id": context.task_id, "X": X, "y": y, "metadata": metadata}
        )

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        progress = getattr(context, "progress", None)
        event = {"what": "end", "task": context.task_name, "id": context.task_id, "X": X, "y": y}
        self.events.append({**event, "metadata": metadata, "fitted": fitted_estimator, "progress": progress})
        return self.stop(self.events[-1])

    def tasks(self, what: str, task: str) -> list[dict]:
        """The events of a kind of task."""
        return [event for event in self.events if event["what"] == what and event.get("task") == task]


class Travelling(Spy):
    """One that is handed on to the estimators within."""

    max_propagation_depth = None


# ---- tasks ----------------------------------------------------------------------------------------------------------


@every_estimator
def test_every_estimator_calls(model):
    """Set up, one task for the fit, stretches of steps within it, torn down; every begin has its end."""
    spy = Spy()
    fitted = clone(model).set_callbacks(spy).fit(X, Y)
    assert spy.events[0] == {"what": "setup"}
    assert spy.events[-1] == {"what": "teardown"}
    assert (spy.events[1]["what"], spy.events[1]["task"]) == ("begin", "fit")
    assert (spy.events[-2]["what"], spy.events[-2]["task"]) == ("end", "fit")
    counts = Counter((event["what"], event["task"]) for event in spy.events[1:-1])
    assert counts["begin", "fit"] == counts["end", "fit"] == 1
    assert counts["begin", "steps"] == counts["end", "steps"] >= 2
    assert not hasattr(fitted, "_callback_fit_ctx")


@every_estimator
def test_stretches_know_their_progress(model):
    """Every stretch but the last, which is empty, has a Progress; iterations never fall."""
    spy = Spy()
    fitted = clone(model).set_callbacks(spy).fit(X, Y)
    *seen, empty = [event["progress"] for event in spy.tasks("end", "steps")]
    assert empty is None
    assert all(isinstance(progress, Progress) for progress in seen)
    assert seen == fitted.result_.history
    assert [event["id"] for event in spy.tasks("end", "steps")] == list(range(len(seen) + 1))


@every_estimator
def test_what_is_fitted_on_the_way_predicts(model):
    """`fitted_estimator` is a copy that is ready, with a judged certificate; the estimator itself is not touched."""
    spy = Spy()
    fitted = clone(model).set_callbacks(spy).fit(X, Y)
    for event in [event for event in spy.tasks("end", "steps") if event["progress"] is not None]:
        other = event["fitted"]
        assert other is not fitted
        assert other.predict(X).shape == Y.shape
        assert other.certificate_.dual <= fitted.certificate_.primal + 1e-9 * max(1.0, abs(fitted.certificate_.primal))
    last = spy.tasks("end", "fit")[0]["fitted"]
    np.testing.assert_array_equal(last.predict(X), fitted.predict(X))


def test_what_is_fitted_on_the_way_gets_better():
    """Early machines are judged to be worse than late ones, and certify says the same."""
    spy, (model, many, labels) = Spy(), LONG
    clone(model).set_params(tol=1e-4, C=100.0).set_callbacks(spy).fit(many, labels)
    machines = [event["fitted"] for event in spy.tasks("end", "steps") if event["fitted"] is not None]
    assert len(machines) >= 2
    assert machines[-1].certificate_.primal < machines[0].certificate_.primal
    assert certify(machines[0], many, labels).primal == pytest.approx(machines[0].certificate_.primal, rel=1e-9)
    assert np.abs(machines[0].decision_function(many) - machines[-1].decision_function(many)).max() > 1e-6


@pytest.mark.parametrize("solver", ["multipliers", "interior_point", "newton", "coordinate", "bundle"])
def test_looking_does_not_change_the_way(solver):
    """A fit that is looked at ends where one ends that is not, to the bit."""
    loss = "logistic" if solver == "newton" else "hinge"
    model = RiskClassifier(loss, solver=solver, tol=1e-8)
    alone, watched = clone(model).fit(X, Y), clone(model).set_callbacks(Spy()).fit(X, Y)
    np.testing.assert_array_equal(alone.coef_, watched.coef_)
    assert alone.n_iter_ == watched.n_iter_


@pytest.mark.parametrize("model", [SVC(), LinearSVC()], ids=["SVC", "LinearSVC"])
def test_every_solve_is_a_task(model):
    """Of four classes: six pairs, or four against the rest; each a task with stretches of its own."""
    spy = Spy()
    fitted = clone(model).set_callbacks(spy).fit(*make_clouds(400, 5, 4))
    solves = len(fitted.results_)
    assert sorted(event["id"] for event in spy.tasks("end", "solve")) == list(range(solves))
    assert len(spy.tasks("begin", "solve")) == solves == {"SVC": 6, "LinearSVC": 4}[type(model).__name__]
    assert all(event["fitted"] is None for event in spy.tasks("end", "steps"))
    assert spy.tasks("end", "fit")[0]["fitted"].predict(X).shape == (300,)


def test_data_and_weights_are_handed_on():
    """X, the labels as they were given, and the weights as metadata."""
    spy, labels = Spy(), np.array(["no", "yes"])[Y]
    weight = np.linspace(1.0, 2.0, 300)
    SVC().set_callbacks(spy).fit(X, labels, sample_weight=weight)
    for event in spy.events[1:-1]:
        assert event["X"] is X
        assert event["y"] is labels
        assert set(event["metadata"]) == {"sample_weight"}
    spy = Spy()
    SVC().set_callbacks(spy).fit(X, labels)
    assert spy.events[1]["metadata"] is None


def test_structures_call():
    """StructuredSVM too, with a model that predicts on the way."""
    spy, (sequences, labels) = Spy(), make_sequences(20)
    StructuredSVM(ChainModel()).set_callbacks(spy).fit(sequences, labels)
    first = spy.tasks("end", "steps")[0]
    assert len(first["fitted"].predict(sequences)) == 20
    assert first["fitted"].certificate_.relative_gap < np.inf


def test_blocks_call():
    """Data in blocks: tasks and progress, without data in memory."""
    spy = Spy()
    LinearSVC().set_callbacks(spy).fit(ArrayBlocks(X, Y, rows=100))
    assert spy.tasks("end", "steps")[0]["progress"].solver == "newton"
    assert spy.tasks("end", "steps")[0]["X"] is None


def test_blockwise_transformers_call():
    """One task, handed on to the transformer within."""
    spy = Travelling()
    BlockwiseTransformer(StandardScaler()).set_callbacks(spy).fit(X)
    assert [event.get("task") for event in spy.events] == [None, "fit", "fit", "fit", "fit", None]
    with pytest.warns(UserWarning, match="Nystroem does not support callbacks"):
        BlockwiseTransformer(Nystroem(n_components=5)).set_callbacks(Travelling()).fit(X)


# ---- stops and errors -----------------------------------------------------------------------------------------------


@every_estimator
def test_a_callback_stops(model):
    """True after the first stretch: the best point so far, STOPPED, no warning, and ready to predict."""
    spy = Spy(lambda event: event["task"] == "steps")
    fitted = clone(model).set_params(tol=1e-13).set_callbacks(spy).fit(X, Y)
    assert fitted.result_.status is Status.STOPPED
    assert len(fitted.result_.history) == 1
    assert fitted.predict(X).shape == Y.shape
    assert fitted.certificate_.relative_gap < np.inf


def test_a_stop_of_one_solve_leaves_the_others():
    """Stretches of one pair asked to stop: that pair alone."""
    stopped = []

    def stop(event):
        if event["task"] == "steps" and not stopped:
            stopped.append(event)
            return True
        return False

    fitted = SVC(tol=1e-10).set_callbacks(Spy(stop)).fit(*make_clouds(400, 5, 4))
    assert [result.status for result in fitted.results_].count(Status.STOPPED) == 1


def test_a_stop_after_a_solve_ends_those_to_come():
    """The level of solves is asked to stop: the rest end at their first look."""
    spy = Spy(lambda event: event["task"] == "solve")
    fitted = SVC(n_jobs=1, tol=1e-10).set_callbacks(spy).fit(*make_clouds(400, 5, 4))
    assert [result.status for result in fitted.results_] == [Status.CONVERGED] + [Status.STOPPED] * 5
    assert fitted.predict(X).shape == (300,)


class Bad(Spy):
    """A callback that fails in one of its hooks."""

    def __init__(self, where: str):
        super().__init__()
        self.where = where

    def setup(self, estimator, context):
        super().setup(estimator, context)
        self.fail("setup")

    def on_fit_task_begin(self, estimator, context):
        self.fail(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.fail(f"end {context.task_name}")

    def fail(self, here: str) -> None:
        if here == self.where:
            raise ZeroDivisionError(here)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("where", ["setup", "begin fit", "begin steps", "end steps", "end solve", "end fit"])
@pytest.mark.parametrize("model", [SVC(), LinearSVC()], ids=["SVC", "LinearSVC"])
def test_errors_end_the_fit(model, where, n_classes):
    """The callback's own exception, its teardown, and an estimator that can be fitted again."""
    if where == "end solve" and n_classes == 2:
        pytest.skip("one problem has no tasks for solves")
    data, bad = make_clouds(400, 5, n_classes), Bad(where)
    model = clone(model).set_callbacks(bad)
    with pytest.raises(ZeroDivisionError, match=where):
        model.fit(*data)
    assert bad.events[-1] == {"what": "teardown"}
    assert model.set_callbacks().fit(*data).result_.converged


def test_an_error_does_not_wait_for_other_solves():
    """Pairs that would take minutes end with the first that fails."""
    many, labels = make_clouds(4000, 10, 5)
    model = SVC(C=1e4, tol=1e-12).set_callbacks(Bad("end steps"))
    with pytest.raises(ZeroDivisionError):
        model.fit(many, labels)
    assert not hasattr(model, "certificate_")


def test_what_is_no_callback_is_refused():
    """A function is none."""
    with pytest.raises(TypeError, match="FitCallback protocol"):
        SVC().set_callbacks(print)


# ---- scikit-learn's own, and estimators within others ---------------------------------------------------------------


def test_scores_are_monitored():
    """ScoringMonitor: a row for each stretch of one problem, with weights, and one for the fit."""
    monitor = CALLBACKS.ScoringMonitor(scoring="accuracy")
    model = RiskClassifier("logistic").set_callbacks(monitor).fit(X, Y, sample_weight=np.linspace(1.0, 2.0, 300))
    rows = monitor.get_logs().data
    assert len(rows) == 1 + len(model.result_.history)
    assert rows[0]["accuracy"] == pytest.approx(model.score(X, Y, np.linspace(1.0, 2.0, 300)))


def test_bars_are_shown(capsys):
    """ProgressBar, on one problem and on several."""
    SVC().set_callbacks(CALLBACKS.ProgressBar()).fit(X, Y)
    LinearSVC().set_callbacks(CALLBACKS.ProgressBar()).fit(*make_clouds(400, 5, 4))
    out = capsys.readouterr().out
    assert "SVC - fit" in out
    assert "LinearSVC - solve #3" in out


def test_callbacks_travel_into_pipelines_and_searches():
    """A callback of the search sees the fits of every candidate, down to the stretches of the solver."""
    spy = Travelling()
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1.0]}, cv=2).set_callbacks(spy)
    search.fit(X, Y)
    assert spy.events.count({"what": "setup"}) == spy.events.count({"what": "teardown"}) == 1
    assert len([event for event in spy.tasks("end", "fit") if hasattr(event["fitted"], "certificate_")]) == 5
    assert spy.tasks("end", "steps")[0]["progress"].solver == "smo"
    assert not hasattr(search.best_estimator_[-1], "_parent_callback_ctx")


@pytest.mark.parametrize("n_jobs", leave_long([1, 2], 2))
def test_bars_and_monitors_within_searches(n_jobs, capsys):
    """scikit-learn's own callbacks, also where candidates are fitted by other processes."""
    monitor = CALLBACKS.ScoringMonitor(scoring="accuracy")
    model = LinearSVC().set_callbacks(monitor)
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=2, n_jobs=n_jobs).set_callbacks(CALLBACKS.ProgressBar())
    search.fit(X, Y)
    logs = monitor.get_logs(select="most_recent")
    assert sum("accuracy" in row for row in logs.data) >= 10
    assert "LinearSVC - fit" in capsys.readouterr().out


def test_clones_keep_their_callbacks():
    """As scikit-learn's estimators do."""
    spy = Spy()
    clone(SVC().set_callbacks(spy)).fit(X, Y)
    assert spy.events[0] == {"what": "setup"}
