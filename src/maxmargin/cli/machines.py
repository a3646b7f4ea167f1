"""From options to an estimator: class, parameters, solver with its own parameters, weights of classes."""

from __future__ import annotations

import ast
import dataclasses
import warnings

import numpy as np

from .exit_codes import UsageError
from .options import Option


def make_machine(name: str, parameters: dict):
    """The estimator of a name with the parameters that were given; one it has not is refused.

    Parameters
    ----------
    name : str
        The class, for instance "SVC".
    parameters : dict
        By their names in Python; `solver` and `class_weight` as texts.
    """
    from ..estimators.registry import ESTIMATORS

    return set_parameters(ESTIMATORS[name](), parameters)


def leave_out_probabilities(machine):
    """The machine without the folds behind its probabilities, where it can have them."""
    parameters = machine.get_params()
    if "probability" in parameters:
        machine.set_params(probability=type(machine)().get_params()["probability"])
    return machine


def set_parameters(machine, parameters: dict):
    """The machine with the parameters that were given."""
    known = machine.get_params()
    for parameter in parameters:
        if parameter not in known:
            raise UsageError(refuse_parameter(parameter, type(machine).__name__))
    if "solver" in parameters:
        parameters = {**parameters, "solver": make_solver(parameters["solver"], parameters)}
    return machine.set_params(**parameters)


def refuse_parameter(parameter: str, name: str) -> str:
    """A sentence that names the machines that have the parameter."""
    from ..estimators.registry import list_names

    owners = [each for each in list_names(lambda kind: kind.family != "structured") if has_parameter(each, parameter)]
    flag = Option(parameter, str, "", "").flag
    return f"{flag} is no parameter of {name}; it is one of {', '.join(owners)} (choose with --estimator)."


def has_parameter(name: str, parameter: str) -> bool:
    """Whether the estimator of a name has a parameter."""
    from ..estimators.registry import ESTIMATORS

    return parameter in ESTIMATORS[name]().get_params()


def make_solver(text: str, parameters: dict):
    """A solver by its name, or with parameters: smo:selection=mvp,stop=kkt.

    A solver with parameters is an object, which the machine does not give `cache_size` and `shrinking`; so this does.
    """
    from ..solvers import SOLVERS

    name, _, settings = text.partition(":")
    if not settings:
        return name
    if name not in SOLVERS:
        raise ValueError(f"--solver must be auto or one of {', '.join(SOLVERS)}, got {name!r}.")
    fields = [field.name for field in dataclasses.fields(SOLVERS[name])]
    values = {key: parameters[key] for key in ("cache_size", "shrinking") if key in fields and key in parameters}
    for setting in settings.split(","):
        key, equals, value = setting.partition("=")
        if key not in fields or not equals:
            has = f"it has {', '.join(fields)}" if fields else "it has none"
            raise ValueError(f"--solver {name} takes parameters as KEY=VALUE, and {has}; got {setting!r}.")
        values[key] = read_literal(value)
    return SOLVERS[name](**values)


def read_literal(text: str):
    """A number, True, False or None; else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def read_class_weight(texts: list[str], y: np.ndarray | None, strict: bool) -> dict | str | None:
    """The weights of classes by their labels in y, from texts LABEL=WEIGHT; or "balanced".

    A label that y has not is refused if `strict`, and else left out with a warning, as svm-train does. Without y, which
    data in blocks do not show, labels that read as numbers are numbers.
    """
    pairs = [pair for text in texts for pair in text.split(",")]
    if pairs == ["balanced"]:
        return "balanced"
    labels = None if y is None else {name_label(label): label for label in np.unique(y).tolist()}
    weights = {}
    for pair in pairs:
        label, equals, weight = pair.rpartition("=")
        try:
            value = float(weight)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--class-weight must be balanced or LABEL=WEIGHT, got {pair!r}.")
        matched_label = read_literal(label) if labels is None else find_label(label, labels)
        if matched_label is None:
            told = f"--class-weight names the label {label!r}, and the data have {', '.join(list(labels)[:10])}"
            if strict:
                raise ValueError(told + ".")
            warnings.warn(f"{told}; it is left out.", UserWarning, stacklevel=2)
            continue
        # svm-train multiplies the weights of a label that is given twice
        weights[matched_label] = value if strict else value * weights.get(matched_label, 1.0)
    return weights or None


def find_label(text: str, labels: dict):
    """The label that a text names: as it is written, or as the same number."""
    if text in labels:
        return labels[text]
    try:
        return labels.get(name_label(float(text)))
    except ValueError:
        return None


def name_label(label) -> str:
    """A label as LIBSVM's programs write it: whole numbers without a point."""
    return f"{label:.17g}" if isinstance(label, int | float) else str(label)
