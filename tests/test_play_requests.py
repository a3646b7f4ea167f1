"""What the page asks for: a request becomes data, an estimator and solvers, or one clear sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maxmargin import SMO, Bundle, LagrangianDual
from maxmargin.play.choices import KERNEL_NUMBERS, MODELS, describe_choices, find_solver, list_solvers, spell_solver
from maxmargin.play.requests import DEFAULT_TOL, MAX_POINTS, read_request

PLANE = [[0.0, 0.0, 0], [1.0, 0.5, 1], [-1.0, 0.25, 0], [2.0, 2.0, 1]]
LINE = [[0.0, 0.5], [1.0, 1.5], [2.0, 2.25]]


def test_labels_come_with_their_plane():
    asked = {"points": PLANE, "model": "SVC", "parameters": {"C": 3, "kernel": "rbf", "gamma": 0.5}, "solvers": ["smo"]}
    request = read_request(asked)
    np.testing.assert_array_equal(request.X, [row[:2] for row in PLANE])
    np.testing.assert_array_equal(request.y, [0, 1, 0, 1])
    parameters = request.estimator.get_params()
    assert (parameters["C"], parameters["gamma"], parameters["tol"]) == (3.0, 0.5, DEFAULT_TOL)
    assert request.solvers == ("smo",)


def test_curves_have_one_feature():
    request = read_request({"points": LINE, "model": "SVR"})
    np.testing.assert_array_equal(request.X, [[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(request.y, [0.5, 1.5, 2.25])


def test_numbers_of_another_kernel_are_left_out():
    parameters = {"kernel": "rbf", "gamma": 2.0, "degree": 7.0, "coef0": 9.0}
    read = read_request({"points": PLANE, "model": "SVC", "parameters": parameters}).estimator.get_params()
    assert read["gamma"] == 2.0
    assert (read["degree"], read["coef0"]) != (7.0, 9.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "Perceptron"}, "model must be one of"),
        ({"model": ["SVC"]}, r"model must be one of .* got \['SVC'\]"),
        ({"parameters": [1]}, "parameters must be an object, got list"),
        ({"parameters": {"C": "much"}}, "C must be a number, got 'much'"),
        ({"parameters": {"C": None}}, "C must be a number, got None"),
        ({"parameters": {"C": True}}, "C must be a number, got True"),
        ({"parameters": {"gamma": math.inf}}, "gamma must be a number, got inf"),
        ({"parameters": {"kernel": "cubic"}}, "kernel must be one of .* got 'cubic'"),
        ({"parameters": {"intercept": 1}}, "intercept must be one of .* got 1"),
        ({"parameters": {"epsilon": 0.1}}, "SVC has no parameter 'epsilon' on this page"),
        ({"parameters": {"callback": "print"}}, "SVC has no parameter 'callback' on this page"),
        ({"parameters": {"tol": 0.0}}, r"tol must be above 0, got 0\.0"),
        ({"points": []}, "There are no points yet"),
        ({"points": "many"}, "There are no points yet"),
        ({"points": [[0.0, 1.0, 0]] * (MAX_POINTS + 1)}, f"At most {MAX_POINTS} points can be fitted here, got 2001"),
        ({"points": [[0.0, 1.0]]}, "Every point must be a row of 3 numbers, got rows of shape"),
        ({"points": [[0.0, 1.0, 0], [1.0]]}, "Every point must be a row of 3 numbers"),
        ({"points": [[0.0, "one", 0]]}, "Every point must be a row of 3 numbers"),
        ({"points": [[0.0, math.nan, 0]]}, "Coordinates must be numbers of at most"),
        ({"points": [[0.0, 2e6, 0]]}, "Coordinates must be numbers of at most"),
        ({"points": [[0.0, 1.0, 3]]}, "The class of a point must be 0 to 2"),
        ({"points": [[0.0, 1.0, 0.5]]}, "The class of a point must be 0 to 2"),
        ({"solvers": []}, "solvers must be a list of one to 2 names"),
        ({"solvers": ["smo"] * 3}, "solvers must be a list of one to 2 names"),
        ({"solvers": [3]}, "A solver is given by its name, got 3"),
        ({"solvers": ["simplex"]}, "solver must be one of .* got 'simplex'"),
        ({"max_seconds": 0}, r"max_seconds must lie between 0 and 60, got 0\.0"),
        ({"max_seconds": 1e9}, "max_seconds must lie between 0 and 60"),
        ({"max_seconds": None}, "max_seconds must be a number, got None"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence) as refused:
        read_request({"points": PLANE, "model": "SVC", **change})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("message", [None, 3, "fit", [], [{}]])
def test_a_request_is_an_object(message):
    with pytest.raises(ValueError, match="A request must be an object"):
        read_request(message)


def test_every_model_offers_controls_that_it_has():
    choices = describe_choices()
    assert set(choices["models"]) == set(MODELS)
    for name, described in choices["models"].items():
        points = LINE if described["task"] == "regression" else PLANE
        numbers = {each: choices["numbers"][each]["value"] for each in described["numbers"]}
        request = read_request({"points": points, "model": name, "parameters": numbers})
        assert type(request.estimator).__name__ == name
    assert {each for names in KERNEL_NUMBERS.values() for each in names} <= set(choices["numbers"])


def test_variants_are_spelt_as_code_that_makes_them():
    public = {"SMO": SMO, "Bundle": Bundle, "LagrangianDual": LagrangianDual}
    for name in list_solvers():
        assert eval(spell_solver(name), public) == find_solver(name)
