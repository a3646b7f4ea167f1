"""A fit as a stream of messages: `begin` for each solver, a `frame` for each step that was judged, `end`.

The solvers, the loop and the judge are those of every fit; the problems are those that the estimator poses. A message
is a dict that JSON can hold, so that a page can be sent it, and a file can keep it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from ..certificates.certificate import Certificate
from ..contracts.solvers import Outcome, Solver
from ..estimators.fit_problems import FitProblems
from ..insight.traces import Recording
from ..runtime.blas import single_threaded_blas
from ..runtime.deadline import Stopwatch
from ..runtime.interrupt import Interrupt, obey_interrupt
from ..solvers.choice import plan
from ..solvers.loop import advance_to_end
from ..solvers.result import SENTENCES, Status
from .choices import find_solver
from .duals import read_duals
from .reproduction import write_code
from .requests import FitRequest
from .screens import Screen, Window
from .slices import has_slice, make_slice

Send = Callable[[dict[str, Any]], None]
DENSE_FRAMES = 40  # steps that are all shown
FRAME_GROWTH = 1.07  # times the last step comes the next one that is shown
MAX_ITERATIONS = 1_000_000
MAX_LISTED = 6  # numbers of a list that stands in the table of a step
CLASS_NAMES = ("circles", "squares", "triangles")


class Panel(NamedTuple):
    """One solver on the page: its number there, and how its messages are sent."""

    number: int
    send: Send

    def tell(self, kind: str, **content: Any) -> None:
        """Send a message of this panel."""
        self.send({"kind": kind, "panel": self.number, **content})


def stream_fit(request: FitRequest, send: Send, interrupt: Interrupt) -> None:
    """Solve the problems of a fit with each solver of a request, and send what happens.

    What a solver or an estimator refuses becomes a message `refused` with its sentence; the other solver still runs.
    The last message is `done`.

    Parameters
    ----------
    request : FitRequest
    send : callable
        Given each message, a dict.
    interrupt : Interrupt
        Ends the stream soon after it is raised, without a word.
    """
    for number, name in enumerate(request.solvers):
        panel = Panel(number, send)
        try:
            with obey_interrupt(interrupt), single_threaded_blas():
                stream_solver(request, name, panel, interrupt)
        except (ValueError, ImportError, MemoryError, ArithmeticError, np.linalg.LinAlgError) as error:
            if not interrupt:
                panel.tell("refused", solver=name, sentence=" ".join(str(error).split()))
        if interrupt:
            return
    send({"kind": "done"})


def stream_solver(request: FitRequest, name: str, panel: Panel, interrupt: Interrupt) -> None:
    """All problems of a fit, one after the other, with one solver; they share its seconds."""
    estimator, solver = request.estimator, find_solver(name)
    problems = estimator.pose_problems(request.X, shape_targets(request))
    curve = estimator.task == "regression"
    drawn = np.column_stack([request.X[:, 0], request.y]) if curve else request.X
    screen = Screen(Window.around(drawn), curve, problems)
    tol = float(estimator.get_params()["tol"])
    planned = [plan(problems.problem(k), solver, tol)[0].solver for k in range(len(problems))]
    panel.tell(
        "begin", solver=name, method=planned[0].name, screen=screen.describe(), code=write_code(request, name),
        tasks=[describe_task(request, screen, problems, k) for k in range(len(problems))], tol=tol,
        model=type(estimator).__name__, combine=choose_combination(request, problems),
        tube=find_tube(request), labels=sorted(set(request.y.tolist())) if estimator.task == "classification" else [],
        size=len(request.y),
    )  # fmt: skip
    outcomes = []
    for k, each in enumerate(planned):
        left = request.max_seconds / len(planned)
        outcomes.append(TaskStream(problems, k, each, tol, left, screen, panel).run_to_end(interrupt))
        if interrupt:
            return
    panel.tell("end", **summarise(outcomes))


class TaskStream:
    """One problem of a fit and the frames of its run."""

    def __init__(
        self, problems: FitProblems, k: int, solver: Solver, tol: float, seconds: float, screen: Screen, panel: Panel
    ):
        self.k, self.problem, self.solver, self.tol = k, problems.problem(k), solver, tol
        self.clock, self.screen, self.panel = Stopwatch(seconds), screen, panel
        self.scores: list[np.ndarray] = []
        self.penalties: list[float] = []

    def run_to_end(self, interrupt: Interrupt) -> tuple[Status, Certificate]:
        """Advance the run to its end; the slice follows when all steps are known."""
        recording = ShownRecording(self)
        status, _ = advance_to_end(recording, self.clock, interrupt, MAX_ITERATIONS)
        if not interrupt and self.scores and (line := make_slice(self.problem, self.scores, self.penalties)):
            self.panel.tell("slice", task=self.k, **to_json(line))
        return status, recording.rows[-1][2]

    def show(self, recording: ShownRecording) -> None:
        """Send the frame of the point that was judged last."""
        problem, point = self.problem, recording.points[-1]
        n_iter, seconds, certificate = recording.rows[-1]
        duals = read_duals(problem, point.a)
        if certificate.scores is not None and has_slice(problem):
            f = problem.shift(certificate.scores, point.b)
            self.scores.append(f)
            self.penalties.append(max(certificate.primal - float(np.sum(problem.terms.value(f))), 0.0))
        self.panel.tell(
            "frame", task=self.k, iteration=n_iter, seconds=seconds,
            **to_json({"primal": certificate.primal, "dual": certificate.dual, "gap": certificate.relative_gap}),
            values=self.screen.values(self.k, problem, point), duals=shorten(duals.value),
            support="".join(map(str, duals.state.tolist())), record=to_json(shorten_step(recording.description)),
        )  # fmt: skip


class ShownRecording(Recording):
    """A recorded run whose judged points are shown as they come, all at first and then ever fewer."""

    def __init__(self, stream: TaskStream):
        self.stream = stream
        self.description: dict[str, Any] = {"step": "start"}
        super().__init__(stream.problem, stream.solver, stream.tol, MAX_ITERATIONS, stream.clock)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps up to the next one that is shown, and that one alone, as the run describes it."""
        missing = self.next_iter - self.n_iter
        if missing > 1:
            return super().advance(min(max_steps, missing - 1), seconds)
        before, iterations = self.run.mark_step(), self.n_iter
        with self.clock.running():
            outcome = self.run.advance_once()
        if self.n_iter > iterations:
            self.description = self.run.describe_step(before)
        return outcome

    def certify_current(self) -> Certificate:
        """Judge the point and show it, once for each iteration."""
        again = bool(self.rows) and self.rows[-1][0] == self.n_iter
        certificate = super().certify_current()
        self.next_iter = next_shown_iteration(self.n_iter)
        if not again:
            self.stream.show(self)
        return certificate


def next_shown_iteration(n_iter: int) -> int:
    """The iteration that is shown after this one."""
    return n_iter + 1 if n_iter < DENSE_FRAMES else ceil(FRAME_GROWTH * n_iter)


def shape_targets(request: FitRequest) -> np.ndarray:
    """y, as a column where the loss is that of several targets."""
    several = request.estimator.get_params().get("loss") == "multivariate"
    return request.y[:, None] if several else request.y


def describe_task(request: FitRequest, screen: Screen, problems: FitProblems, k: int) -> dict[str, Any]:
    """The rows of a problem and the classes on its two sides."""
    problem, rows = problems.problem(k), screen.rows(k)
    if request.estimator.task != "classification" or problem.traits.vector:
        return {"title": "", "rows": rows.tolist(), "positive": [], "negative": []}
    label = screen.problems.tasks[k].y
    positive, negative = (sorted(set(request.y[rows][side].tolist())) for side in (label > 0, label <= 0))
    title = f"{name_classes(positive)} against {name_classes(negative)}"
    return {"title": title, "rows": rows.tolist(), "positive": positive, "negative": negative}


def name_classes(classes: list[int]) -> str:
    """Circles and squares."""
    return " and ".join(CLASS_NAMES[each] for each in classes)


def choose_combination(request: FitRequest, problems: FitProblems) -> str:
    """How f of all problems make a class: by "sign", by "votes" of pairs, or by the "largest"; "curve" for a number."""
    if request.estimator.task != "classification":
        return "curve" if request.estimator.task == "regression" else "sign"
    if len(problems) == 1:
        return "largest" if problems.problem(0).traits.vector else "sign"
    return "votes" if request.estimator.get_params().get("multi_class") == "ovo" else "largest"


def find_tube(request: FitRequest) -> float | None:
    """epsilon, of a loss with a tube."""
    parameters = request.estimator.get_params()
    return parameters.get("epsilon") if parameters.get("loss") in request.estimator.tube_losses else None


def summarise(outcomes: list[tuple[Status, Certificate]]) -> dict[str, Any]:
    """The worst status, and its sentence."""
    status = next((status for status, _ in outcomes if status is not Status.CONVERGED), Status.CONVERGED)
    return {"status": status.value, "sentence": SENTENCES[status]}


def shorten(numbers: np.ndarray) -> list[float]:
    """Numbers with as many digits as a picture needs."""
    return [float(f"{number:.5g}") for number in np.nan_to_num(numbers).tolist()]


def shorten_step(description: dict[str, Any]) -> dict[str, Any]:
    """What a run says of a step, with arrays of a few numbers only: longer ones are those of all samples or cuts."""
    short = {}
    for name, value in description.items():
        each = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if not isinstance(each, list) or (len(each) <= MAX_LISTED and not any(isinstance(part, list) for part in each)):
            short[name] = each
    return short


def to_json(value: Any) -> Any:
    """The value with null in place of infinity and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [to_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def list_messages(request: FitRequest) -> Iterator[dict[str, Any]]:
    """All messages of a fit, for a page without a server."""
    messages: list[dict[str, Any]] = []
    stream_fit(request, messages.append, Interrupt())
    yield from messages
