"""A fit of the page as messages: what they hold, what they leave out, and how they end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from maxmargin import SMO, SVC
from maxmargin.play.fits import list_messages, stream_fit
from maxmargin.play.requests import read_request
from maxmargin.play.screens import Screen, Window
from maxmargin.runtime.interrupt import Interrupt


def make_points(classes: int, n: int = 45) -> list[list[float]]:
    """Clouds around the corners of a triangle, one for each class."""
    rng = np.random.default_rng(0)
    centres = np.array([[-1.5, -1.0], [1.5, -1.0], [0.0, 1.4]])
    labels = np.arange(n) % classes
    return np.column_stack([centres[labels] + 0.8 * rng.normal(size=(n, 2)), labels]).tolist()


def fit(points: list, model: str, solvers: list[str], **parameters: object) -> list[dict]:
    """All messages of a fit, as a page reads them."""
    request = read_request({"points": points, "model": model, "parameters": parameters, "solvers": solvers})
    return [json.loads(json.dumps(message, allow_nan=False)) for message in list_messages(request)]


def pick(messages: list[dict], kind: str) -> list[dict]:
    """The messages of a kind."""
    return [message for message in messages if message["kind"] == kind]


def test_frames_lead_to_the_machine_that_a_fit_gives():
    points = make_points(2)
    messages = fit(points, "SVC", ["smo"], C=2.0, kernel="rbf", gamma=0.5, tol=1e-6)
    table = np.array(points)
    model = SVC(C=2.0, gamma=0.5, tol=1e-6).fit(table[:, :2], table[:, 2].astype(int))
    begin, frames = pick(messages, "begin")[0], pick(messages, "frame")
    last = frames[-1]
    assert frames[0]["iteration"] == 0
    assert last["gap"] <= 1e-6
    assert last["primal"] == pytest.approx(model.certificate_.primal, rel=1e-5)
    places = Screen.places.func(FakeScreen(begin["screen"]))
    np.testing.assert_allclose(np.abs(last["values"][0]), np.abs(model.decision_function(places)), atol=2e-2)
    assert [each["dual"] for each in frames] == sorted(each["dual"] for each in frames)
    assert messages[-1] == {"kind": "done"}
    assert pick(messages, "end")[0]["status"] == "converged"


class FakeScreen:
    """A window alone, for the places of its grid."""

    def __init__(self, described: dict):
        self.window = Window(*(described[edge] for edge in ("left", "right", "bottom", "top")))
        self.curve = described["curve"]


def test_support_vectors_are_told_apart_by_their_duals():
    messages = fit(make_points(2), "SVC", ["smo"], C=0.5, kernel="rbf", gamma=0.5)
    last = pick(messages, "frame")[-1]
    sizes = np.abs(last["duals"])
    states = np.array(list(map(int, last["support"])))
    np.testing.assert_allclose(sizes[states == 2], 0.5, rtol=1e-4)
    assert (sizes[states == 0] < 1e-6).all()
    assert ((sizes[states == 1] > 0) & (sizes[states == 1] < 0.5)).all()
    assert set(states) == {0, 1, 2}


def test_cuts_lie_below_the_risk_and_touch_it():
    messages = fit(make_points(2), "LinearSVC", ["bundle"], loss="hinge")
    line = pick(messages, "slice")[0]
    t, risk = np.array(line["t"]), np.array(line["risk"])
    assert len(line["steps"]) == len(pick(messages, "frame"))
    for step in line["steps"]:
        assert (step["height"] + step["slope"] * t <= risk + 1e-9 * risk.max()).all()
    first = line["steps"][0]
    assert first["height"] == pytest.approx(np.interp(0.0, t, risk), rel=1e-9)  # the cut at the start touches there


@pytest.mark.parametrize(
    ("model", "parameters", "combine", "tasks"),
    [("SVC", {"multi_class": "ovo"}, "votes", 3), ("SVC", {"multi_class": "ovr"}, "largest", 3),
     ("LinearSVC", {"multi_class": "crammer_singer"}, "largest", 1)],
)  # fmt: skip
def test_three_classes(model, parameters, combine, tasks):
    messages = fit(make_points(3), model, ["auto"], **parameters)
    begin = pick(messages, "begin")[0]
    assert (begin["combine"], len(begin["tasks"]), begin["labels"]) == (combine, tasks, [0, 1, 2])
    assert {frame["task"] for frame in pick(messages, "frame")} == set(range(tasks))
    assert pick(messages, "end")[0]["status"] == "converged"


def test_a_solver_that_refuses_leaves_the_other_one_alone():
    messages = fit(make_points(2), "SVC", ["newton", "smo"], kernel="rbf")
    refused = pick(messages, "refused")
    assert [message["panel"] for message in refused] == [0]
    assert "Newton's method works on linear machines" in refused[0]["sentence"]
    assert "\n" not in refused[0]["sentence"]
    assert {message["panel"] for message in pick(messages, "frame")} == {1}
    assert messages[-1] == {"kind": "done"}


@pytest.mark.parametrize(
    ("points", "model", "parameters", "word"),
    [([[0.0, 0.0, 1], [1.0, 1.0, 1]], "SVC", {}, "class"), (make_points(2), "SVC", {"C": -1.0}, "C"),
     (make_points(2), "NuSVC", {"nu": 2.0}, "nu"),
     ([[0.0, 0.0], [1.0, -1.0]], "RiskRegressor", {"loss": "poisson"}, "y"),
     (make_points(2), "LinearSVC", {"loss": "cubic"}, "loss")],
)  # fmt: skip
def test_what_an_estimator_refuses_is_one_sentence(points, model, parameters, word):
    refused = pick(fit(points, model, ["auto"], **parameters), "refused")
    assert len(refused) == 1
    assert word in refused[0]["sentence"]
    assert "\n" not in refused[0]["sentence"]


def test_the_code_of_a_fit_repeats_it(capsys):
    messages = fit(make_points(2), "SVC", ["smo, maximal violating pair"], C=2.0, kernel="rbf", gamma=0.5)
    names: dict = {}
    exec(pick(messages, "begin")[0]["code"], names)
    assert "relative gap" in capsys.readouterr().out
    last = pick(messages, "frame")[-1]
    certificate = names["model"].certificate_  # the page judges more often, and stops at another step
    assert max(certificate.dual, last["dual"]) <= min(certificate.primal, last["primal"])
    assert (names["model"].C, names["model"].gamma, names["model"].solver) == (2.0, 0.5, SMO(selection="mvp"))


def test_an_interrupt_ends_the_stream_without_a_word():
    request = read_request({"points": make_points(2), "model": "SVC", "solvers": ["smo", "smo"]})
    interrupt, messages = Interrupt(), []

    def send(message: dict) -> None:
        messages.append(message)
        if message["kind"] == "frame":
            interrupt.raised = True

    stream_fit(request, send, interrupt)
    assert [message["kind"] for message in messages] == ["begin", "frame"]


def test_what_takes_too_long_says_so():
    request = {"points": make_points(2), "model": "LinearSVC", "parameters": {"loss": "hinge", "tol": 1e-15},
               "solvers": ["gradient_descent"], "max_seconds": 0.05}  # fmt: skip
    messages = list(list_messages(read_request(request)))
    assert pick(messages, "end")[0]["status"] == "max_seconds"
