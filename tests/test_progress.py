"""The live line: what it says, where it is written and where not, and what it costs when it is off."""

from __future__ import annotations

import io
import re
import sys
import threading
import types

import numpy as np
import pytest
from every_estimator import every_estimator
from long_fits import fit_quietly, make_clouds, make_sequences
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin.estimators.observers as observers
import maxmargin.insight.progress
from maxmargin import (
    SVC,
    ChainModel,
    LinearSVC,
    StructuredSVM,
    path,
)  # fmt: skip
from maxmargin.blocks import ArrayBlocks
from maxmargin.insight.progress import Forecast, ProgressLine, say_duration
from maxmargin.solvers import SMO
from maxmargin.solvers.result import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """Everything that was ever to be read."""
        return [line.strip() for line in re.split("[\r\n]", self.getvalue()) if line.strip()]


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    """stderr is a terminal, and its line changes at every report."""
    stream = Terminal()
    put_stderr(monkeypatch, stream)
    monkeypatch.setattr(maxmargin.insight.progress, "REFRESH_SECONDS", 0.0)
    return stream


def put_stderr(monkeypatch, stream) -> None:
    """stderr as the line sees it; pytest has its own plans for the real one."""
    monkeypatch.setattr(maxmargin.insight.progress, "sys", types.SimpleNamespace(stderr=stream, modules=sys.modules))


def report(n_iter: int = 12_345, seconds: float = 1.0, gap: float = 1e-2, hits: float | None = None) -> Progress:
    """What a solver believes: P = 1."""
    return Progress(n_iter, seconds, 1.0, 1.0 - gap, 100, "smo", hits)


# ---- the line -------------------------------------------------------------------------------------------------------


def test_the_line_says_all(terminal):
    """Title, solver, iteration, gap, tolerance, cache hits, seconds and what is left."""
    line = ProgressLine(title="SVC", tol=1e-5)
    line.show(report(hits=0.97))
    assert re.fullmatch(
        r"SVC: gap 1.0e-02 of 1e-05, \d\.\d s, \? left, smo, iteration 12,345, 97% cache hits", terminal.lines[0]
    )


def test_the_line_leaves_out_what_is_not_known(terminal):
    """No title, no tolerance, no cache, no gap yet."""
    ProgressLine().show(Progress(3, 0.1, np.inf, -np.inf, 5, "bundle"))
    assert re.fullmatch(r"gap not known yet, \d\.\d s, \? left, bundle, iteration 3", terminal.lines[0])


def test_a_budget_bounds_what_is_left(terminal):
    """Where the time left is unknown, max_seconds is shown."""
    ProgressLine(tol=1e-5, max_seconds=7.0).show(report())
    assert ", at most 7 s left, " in terminal.lines[0]


def test_several_problems_share_a_line(terminal):
    """How many are solved, and what is left by their pace."""
    line = ProgressLine(tol=1e-5, solves=4)
    line.show(report())
    line.finish()
    line.show(report())
    assert "0 of 4 problems solved" in terminal.lines[0]
    assert "1 of 4 problems solved" in terminal.lines[1]
    assert ", ? left, " in terminal.lines[0]
    assert re.search(r"about [\d.]+ s left", terminal.lines[1])


def test_ten_times_a_second_at_most(monkeypatch):
    """A hundred reports at once are one line."""
    stream = Terminal()
    monkeypatch.setattr(maxmargin.insight.progress, "REFRESH_SECONDS", 1000.0)
    line = ProgressLine(stream)
    for k in range(100):
        line.show(report(k))
    assert stream.lines == ["gap 1.0e-02, 0.0 s, ? left, smo, iteration 0"]


def test_the_line_is_cut_where_it_would_wrap(monkeypatch):
    """Shorter texts cover longer ones, and none is longer than the terminal."""
    stream = Terminal()
    monkeypatch.setattr(maxmargin.insight.progress, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(maxmargin.insight.progress.Terminal, "count_columns", lambda self: 40)
    line = ProgressLine(stream, title="a long title")
    line.show(report())
    line.show(report(1))
    line.close()
    parts = stream.getvalue().split("\r")
    assert all(len(part) <= 39 for part in parts)
    assert parts[-2] == " " * 39
    assert parts[-1] == ""


def test_the_last_line_stays():
    """close(text) leaves the text; a second close does nothing."""
    stream = Terminal()
    line = ProgressLine(stream)
    line.show(report())
    line.close("done")
    line.close("again")
    line.show(report())
    assert stream.lines[1:] == ["done"]
    assert stream.getvalue().endswith("\n")


class Gone(Terminal):
    """A terminal that was closed."""

    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [io.StringIO(), None, object(), Gone()], ids=["file", "none", "no stream", "gone"])
def test_other_streams_see_nothing(stream, monkeypatch):
    """A file, no stream at all, a terminal that is gone: nothing is written and nothing fails."""
    put_stderr(monkeypatch, stream)
    line = ProgressLine(title="SVC")
    line.announce("a fit")
    line.show(report())
    line.close("done")
    assert not isinstance(stream, io.StringIO) or stream.getvalue() == ""


def test_closed_streams_see_nothing():
    """A stream that was closed before."""
    stream = Terminal()
    stream.close()
    line = ProgressLine(stream)
    assert line.show(report()) is None  # and raises nothing
    assert stream.closed


def test_threads_share_a_line():
    """Eight threads at once write whole lines only."""
    stream = Terminal()
    line = ProgressLine(stream, solves=8)

    def work() -> None:
        for k in range(200):
            line.show(report(k))
        line.finish()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert line.solved == 8
    assert all(re.match(r"\d of 8 problems solved, gap 1.0e-02, ", each) for each in stream.lines)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0.2 s"), (4.4, "4 s"), (99, "99 s"), (100, "2 min"), (7000, "2 h"), (200_000, "2 days")],
)
def test_durations(seconds, words):
    """In the unit that suits."""
    assert say_duration(seconds) == words


def test_workers_show_nothing(monkeypatch):
    """A process of a pool has no line, though its stderr be the terminal."""
    monkeypatch.setattr(maxmargin.insight.progress, "parent_process", object)
    assert not ProgressLine(Terminal()).live


# ---- notebooks ------------------------------------------------------------------------------------------------------


class Display:
    """IPython's display, as far as it is needed."""

    def __init__(self):
        self.shown: list[str] = []

    def __call__(self, data, raw, display_id=False):
        self.shown.append(data["text/plain"])
        return self if display_id else None

    def update(self, data, raw):
        self.shown[-1] = data["text/plain"]


def test_notebooks_have_one_output(monkeypatch):
    """One output, which changes; the last line stays in it."""
    shell, display = types.SimpleNamespace(kernel=object()), Display()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    monkeypatch.setattr(maxmargin.insight.progress, "REFRESH_SECONDS", 0.0)
    line = ProgressLine(io.StringIO(), title="SVC")
    line.announce("about 20 s")
    line.show(report(1))
    line.show(report(2))
    assert display.shown[0] == "about 20 s"
    assert "iteration 2" in display.shown[1]
    line.close("done")
    assert display.shown == ["about 20 s", "done"]


def test_ipython_in_a_terminal_is_a_terminal(monkeypatch):
    """A shell without a kernel."""
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace()))
    assert ProgressLine(Terminal()).live
    assert not ProgressLine(io.StringIO()).live


# ---- what is left ---------------------------------------------------------------------------------------------------


def follow(gap, until: float) -> Forecast:
    """A forecast that has seen gap(t) twenty times a second."""
    forecast = Forecast()
    for t in np.arange(0.05, until, 0.05):
        forecast.note(report(1, float(t), gap(t)))
    return forecast


@pytest.mark.parametrize("until", [1.0, 3.0, 6.0])
def test_linear_convergence_is_predicted(until):
    """A digit a second: tol = 1e-8 after eight seconds."""
    left = follow(lambda t: 10.0**-t, until).seconds_left(1e-8)
    assert until + left == pytest.approx(8.0, rel=0.05)


def test_long_fits_are_remembered_in_part():
    """An hour of looks, of which a thousand are kept, and the guess is as good."""
    forecast = follow(lambda t: 10.0 ** (-t / 600.0), 3600.0)
    assert len(forecast.gaps) <= 1000
    assert forecast.seconds_left(1e-8) == pytest.approx(1200.0, rel=0.05)


@pytest.mark.parametrize("until", [2.0, 5.0])
def test_sublinear_convergence_is_predicted(until):
    """gap = 1 / t^2: tol = 1e-2 after ten seconds."""
    left = follow(lambda t: 1.0 / t**2, until).seconds_left(1e-2)
    assert until + left == pytest.approx(10.0, rel=0.1)


@pytest.mark.parametrize(
    ("gap", "until", "tol"),
    [
        (lambda t: 10.0**-t, 0.2, 1e-8),
        (lambda t: 0.5, 3.0, 1e-8),
        (lambda t: np.inf, 3.0, 1e-8),
        (lambda t: 10.0**-t, 3.0, None),
        (lambda t: 10.0**-t if t < 2.9 else 1.0, 3.0, 1e-8),
    ],
    ids=["too early", "no fall", "no gap", "no tolerance", "a gap that rose"],
)
def test_what_cannot_be_predicted(gap, until, tol):
    """None, which the line shows as a question mark."""
    assert follow(gap, until).seconds_left(tol) is None


def test_a_gap_within_tol_is_to_be_certified(terminal):
    """The solver is done, the judge is not."""
    line = ProgressLine(tol=1e-3)
    for k in range(1, 11):
        line.show(report(k, 0.1 * k, 10.0 ** (-0.4 * k)))
    assert ", to be certified, " in terminal.lines[-1]


# ---- estimators -----------------------------------------------------------------------------------------------------


@every_estimator
def test_every_estimator_shows_it(model, terminal, capsys):
    """In a terminal: the line while it fits, and the summary in its place at the end; nothing on stdout."""
    X, y = make_clouds(200, 5)
    fitted = clone(model).set_params(verbose=1).fit(X, y)
    name = type(model).__name__
    assert all(each.startswith(f"{name}: ") for each in terminal.lines)
    assert len(terminal.lines) >= 2
    assert terminal.lines[-1] == f"{name}: converged, {fitted.certificate_}"
    assert capsys.readouterr().out == ""


@every_estimator
def test_elsewhere_only_the_summary(model, capsys):
    """stderr is not a terminal: the summary on stdout, and nothing else anywhere."""
    X, y = make_clouds(200, 5)
    fitted = clone(model).set_params(verbose=1).fit(X, y)
    seen = capsys.readouterr()
    assert seen.out == f"{type(model).__name__}: converged, {fitted.certificate_}\n"
    assert seen.err == ""


@every_estimator
def test_nothing_is_shown_unless_asked_for(model, terminal, capsys, monkeypatch):
    """verbose=0: no line, no output, and solves without a callback."""
    callbacks = []
    solve = observers.solve

    def spy(*arguments, **options):
        callbacks.append(options.get("callback"))
        return solve(*arguments, **options)

    monkeypatch.setattr(observers, "solve", spy)
    X, y = make_clouds(200, 5)
    clone(model).set_params(max_iter=100_000).fit(X, y)  # a limit leaves small problems to the loop
    assert set(callbacks) == {None}
    assert terminal.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_structures_show_it(terminal):
    """StructuredSVM too."""
    X, y = make_sequences(20)
    StructuredSVM(ChainModel(), verbose=1).fit(X, y)
    assert "frank_wolfe, iteration" in terminal.lines[0]
    assert terminal.lines[-1].startswith("StructuredSVM: converged")


def test_blocks_show_it(terminal):
    """And fits of data in blocks."""
    X, y = make_clouds(500, 5)
    LinearSVC(verbose=1).fit(ArrayBlocks(X, y, rows=100))
    assert "newton, iteration" in terminal.lines[0]


def test_paths_show_it(terminal):
    """How many values of C are solved; the line is gone at the end."""
    X, y = make_clouds(500, 5)
    path(X, y, Cs=[0.1, 1.0, 10.0], verbose=1)
    assert "path: 0 of 3 problems solved" in terminal.lines[0]
    assert "path: 2 of 3 problems solved" in terminal.lines[-1]
    assert terminal.getvalue().endswith("\r")


def test_pairs_are_counted(terminal):
    """Six pairs of four classes, on all cores."""
    X, y = make_clouds(400, 5, 4)
    SVC(verbose=1).fit(X, y)
    assert all(re.match(r"SVC: \d of 6 problems solved", each) for each in terminal.lines[:-1])


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities_are_counted(terminal):
    """Five more solves for each pair."""
    X, y = make_clouds(200, 5)
    SVC(verbose=1, probability=True).fit(X, y)
    assert "SVC: 5 of 6 problems solved" in terminal.lines[-2]


def test_a_rule_of_its_own_has_no_forecast(terminal):
    """m - M < tol says nothing of gaps."""
    X, y = make_clouds(2500, 5)
    SVC(verbose=1, C=100.0, solver=SMO(stop="kkt"), tol=1e-6).fit(X, y)
    assert all(", ? left, " in each for each in terminal.lines[:-1])


def test_a_fit_that_fails_leaves_no_line(terminal, monkeypatch):
    """The line is taken away before the error is seen."""

    def fail(*arguments, **options):
        options["callback"](report())
        raise ZeroDivisionError

    monkeypatch.setattr(observers, "solve", fail)
    X, y = make_clouds(200, 5)
    model = SVC(verbose=1)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y)
    assert terminal.getvalue().endswith("\r")


def test_a_fit_that_stops_early_says_so(terminal):
    """The summary, then the warning."""
    X, y = make_clouds(2500, 5)
    with pytest.warns(ConvergenceWarning):
        SVC(verbose=1, C=1e4, tol=1e-12, max_iter=10).fit(X, y)
    assert terminal.lines[-1].startswith("SVC: max_iter, primal")


def test_long_fits_are_announced(terminal, monkeypatch):
    """One line before a fit that will take long, with what is odd about the data."""
    monkeypatch.setattr(maxmargin.insight.diagnosis, "ANNOUNCED_SECONDS", 0.0)
    monkeypatch.setattr(maxmargin.insight.diagnosis, "MIN_ANNOUNCED_ENTRIES", 0)
    X, y = make_clouds(1200, 5)
    X = X * np.array([1.0, 1.0, 1.0, 1e4, 1.0])
    fit_quietly(SVC(verbose=1, gamma=0.1), X, y)
    assert terminal.lines[0].startswith("SVC on 1,200 samples of 5 features: about")
    assert "Feature 3 spans" in terminal.lines[0]
    assert "smo, iteration" in terminal.lines[1]


@pytest.mark.parametrize(
    "change", [{"max_seconds": 5.0}, {"kernel": "precomputed"}, {}], ids=["budget", "Gram", "small"]
)
def test_other_fits_are_not_announced(change, terminal, monkeypatch):
    """Where a budget says how long it takes, where parts cannot be drawn, and where the data are few."""
    monkeypatch.setattr(maxmargin.insight.diagnosis, "ANNOUNCED_SECONDS", 0.0)
    if change:
        monkeypatch.setattr(maxmargin.insight.diagnosis, "MIN_ANNOUNCED_ENTRIES", 0)
    X, y = make_clouds(300, 5)
    fit_quietly(SVC(verbose=1, **change), X @ X.T if "kernel" in change else X, y)
    assert "samples of" not in terminal.getvalue()
