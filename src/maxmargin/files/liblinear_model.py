"""Model files of LIBLINEAR, both ways.

    solver_type L2R_LR     which problem was solved, see `LOSSES`
    nr_class, label        the classes; for two of them, positive scores mean the first
    nr_feature, bias       f = <w, x> + bias w_last; there is no intercept if bias < 0
    w                      then one line per feature, with one number for each class (one in all for two classes)

A file holds neither C and epsilon nor how good the machine is.
"""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp

from ..estimators import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor
from ..estimators.linear_machine import LinearMachine
from ..estimators.losses import name_loss
from ..model.kernels import Linear
from ..runtime.scikit_learn import check_is_fitted
from ..runtime.streams import write_file
from .fitted_state import check_linear_machine
from .model_text import UNKNOWN_CERTIFICATE, ModelText, check_features, read_labels, read_text, write_labels

SQUARED_HINGE, EPSILON_INSENSITIVE = {"loss": "squared_hinge"}, {"loss": "epsilon_insensitive"}
SQUARED_EPSILON_INSENSITIVE, LOGISTIC = {"loss": "squared_epsilon_insensitive"}, {"loss": "logistic"}
SOLVER_TYPES: dict[str, tuple[type[LinearMachine], dict]] = {
    "L2R_LR": (RiskClassifier, LOGISTIC),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {**SQUARED_HINGE, "dual": True}),
    "L2R_L2LOSS_SVC": (LinearSVC, {**SQUARED_HINGE, "dual": False}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"loss": "hinge", "dual": True}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {**SQUARED_HINGE, "penalty": "l1", "dual": False}),
    "L1R_LR": (RiskClassifier, {**LOGISTIC, "penalty": "l1"}),
    "L2R_LR_DUAL": (RiskClassifier, LOGISTIC),
    "L2R_L2LOSS_SVR": (LinearSVR, {**SQUARED_EPSILON_INSENSITIVE, "dual": False}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {**SQUARED_EPSILON_INSENSITIVE, "dual": True}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {**EPSILON_INSENSITIVE, "dual": True}),
}
MACHINES = (LinearSVC, LinearSVR, RiskClassifier, RiskRegressor)  # the last has losses of LinearSVR too
LIBLINEAR_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")
FEATURES_PER_WRITE = 4096  # features written at a time
ZERO_INDEX_MESSAGE = "LIBLINEAR counts features from 1, and the text on which this model was trained has the index 0."


# ---- writing --------------------------------------------------------------------------------------------------------


def write_liblinear_model(model, path: str | os.PathLike) -> None:
    """A fitted linear machine as a model file of LIBLINEAR, which its predict reads; %.17g, so that no digit is lost.

    The intercept is the weight of a constant feature there, whether it was regularised or not. Read again, it counts
    as regularised: the format has no name for a free one.

    Parameters
    ----------
    model : fitted LinearSVC, LinearSVR, RiskClassifier or RiskRegressor
        With a loss that LIBLINEAR has, and labels that are whole numbers.
    path : path
        Packed if it ends in .gz, .bz2 or .xz.
    """
    if type(model) not in MACHINES:
        known = ", ".join(kind.__name__ for kind in MACHINES)
        raise TypeError(f"model must be a fitted {known} of maxmargin, got {type(model).__name__}.")
    check_is_fitted(model)
    if vars(model).get("first_index_") == 0:
        raise ValueError(ZERO_INDEX_MESSAGE)
    name = name_solver(model)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else np.atleast_2d(model.coef_)
    b = np.broadcast_to(np.ravel(model.intercept_), len(coef))
    lines, class_signs = [f"solver_type {name}"], np.ones(1)
    if model.task == "classification":
        labels = write_labels(model.classes_, "LIBLINEAR")
        if len(labels) == 2:  # positive scores mean the first label in the file, and the second of classes_
            labels = labels[::-1]
            class_signs = (
                np.array([0.5, -0.5]) if name == "MCSVM_CS" else class_signs
            )  # there w of both classes is kept
        lines += [f"nr_class {len(labels)}", f"label {' '.join(map(str, labels))}"]
    else:
        lines += ["nr_class 2"]
    bias = -1.0 if model._intercept_kind == "none" and not b.any() else model._constant_column or 1.0
    lines += [f"nr_feature {coef.shape[1]}", f"bias {bias:.17g}", "w"]
    w = coef.T if bias < 0 else np.vstack([coef.T, b / bias])
    w = w * class_signs if w.shape[1] == 1 else w
    with write_file(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
        for start in range(0, len(w), FEATURES_PER_WRITE):
            file.write(b"".join(format_weights(row) for row in w[start : start + FEATURES_PER_WRITE].tolist()))


def format_weights(row: list[float]) -> bytes:
    """The weights of a feature."""
    return b" ".join(b"%.17g" % (each + 0.0) for each in row) + b" \n"


def name_solver(model: LinearMachine) -> str:
    """What LIBLINEAR calls the problem of a machine."""
    parameters = model.get_params()
    loss, kind, multi_class = model.loss, type(model).__name__, parameters.get("multi_class", "ovr")
    penalty, dual = parameters.get("penalty", "l2"), parameters.get("dual", False) is True
    if multi_class == "crammer_singer":
        if parameters.get("label_costs") is None and parameters.get("label_scales") is None:
            return "MCSVM_CS"
        raise ValueError("LIBLINEAR has no label_costs and label_scales, so its model files cannot store them.")
    if multi_class != "ovr":
        raise ValueError(f"LIBLINEAR has no {kind} with multi_class={multi_class!r}, so its files cannot store it.")
    names = {
        "logistic": "L1R_LR" if penalty == "l1" else "L2R_LR",
        "hinge": "L2R_L1LOSS_SVC_DUAL",
        "squared_hinge": "L1R_L2LOSS_SVC" if penalty == "l1" else f"L2R_L2LOSS_SVC{'_DUAL' if dual else ''}",
        "epsilon_insensitive": "L2R_L1LOSS_SVR_DUAL",
        "squared_epsilon_insensitive": f"L2R_L2LOSS_SVR{'_DUAL' if dual else ''}",
    }
    name = names.get(name_loss(loss) or "")
    if name is None:
        raise ValueError(f"LIBLINEAR has no {kind} with loss={loss!r}, so its model files cannot store it.")
    return name


# ---- reading --------------------------------------------------------------------------------------------------------


def read_liblinear_model(path: str | os.PathLike, *, n_features: int | None = None):
    """The fitted machine of a model file of LIBLINEAR.

    What a file does not hold stays unknown: `certificate_` has a gap that is infinite, C and epsilon are nan, and
    `certify` asks for them. The intercept is regularised, as LIBLINEAR's is, and `intercept_scaling` its bias.

    Parameters
    ----------
    path : path
        Plain, or packed with .gz, .bz2 or .xz.
    n_features : int, optional
        More features than the file has, if data have more; their weights are zero.

    Returns
    -------
    fitted LinearSVC, LinearSVR, or RiskClassifier for the logistic loss
    """
    text = read_text(path, LIBLINEAR_KEYS, "w")
    if b"ONECLASS_SVM" in text.entry("solver_type").words:
        raise text.make_error(text.entry("solver_type").line, "ONECLASS_SVM has no estimator here; use OneClassSVM")
    name = text.word("solver_type", SOLVER_TYPES)
    kind, parameters = SOLVER_TYPES[name]
    model = kind(**parameters)
    k, bias = 2, float(text.numbers("bias", 1)[0])
    if model.task == "classification":
        k = text.whole("nr_class", 2)
        model.classes_, places = read_labels(text, k)
    machines = k if k > 2 or name == "MCSVM_CS" else 1
    w = read_weights(text, machines, bias)
    if model.task == "classification":
        w = arrange_columns(w, places)
    set_coefficients(text, model, w, bias, n_features)
    return model


def read_weights(text: ModelText, machines: int, bias: float) -> np.ndarray:
    """One row per feature, and one for the constant if there is one; one column per machine."""
    d, lines = text.whole("nr_feature", 1), text.body.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    expected = d + (bias >= 0)
    if len(lines) != expected:
        known = f"{expected} lines after w, as nr_feature and bias say"
        raise ValueError(f"{text.path} must have {known}, and has {len(lines)}.")
    rows = [
        text.parse(line, text.before + number, machines, "a feature must have")
        for number, line in enumerate(lines, start=1)
    ]
    return np.array(rows)


def arrange_columns(w: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The machines in the order of the sorted classes; for two classes one, positive for the second."""
    if w.shape[1] == 1:
        return w if places[0] == 1 else -w
    w = w[:, places]
    return w if w.shape[1] > 2 else w[:, 1:] - w[:, :1]


def set_coefficients(text: ModelText, model: LinearMachine, w: np.ndarray, bias: float, n_features: int | None) -> None:
    """coef_ and intercept_, as after a fit."""
    d = text.whole("nr_feature", 1)
    model.n_features_in_ = check_features(n_features, d)
    coef = np.zeros((w.shape[1], model.n_features_in_))
    coef[:, :d] = w[:d].T + 0.0
    model.set_params(C=float("nan"), intercept="regularised" if bias > 0 else "none")
    if bias > 0:
        model.set_params(intercept_scaling=bias)
    model.coef_ = coef if model.task == "classification" else coef[0]
    model.intercept_ = bias * w[d] + 0.0 if bias > 0 else 0.0
    if model.losses == model.tube_losses:
        model.epsilon = float("nan")
    if type(model) is RiskClassifier:
        model._fitted_loss, model._fitted_softmax = model.loss, False
    model._kernel, model.certificate_, model.first_index_ = Linear(), UNKNOWN_CERTIFICATE, 1
    check_linear_machine(model)
