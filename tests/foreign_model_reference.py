"""The model files of LIBSVM and LIBLINEAR read in a few lines of Python, as a second opinion."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, RiskClassifier

ORDER = np.array([7, -3, 2, 5])  # labels in an order in which LIBSVM and LIBLINEAR keep them, and we do not
KERNELS = {
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "gamma": 0.2, "coef0": 0.5, "degree": 3},
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1},
}
MACHINES = {
    "c_svc": (SVC, {"C": 3.0}),
    "nu_svc": (NuSVC, {"nu": 0.6}),
    "one_class": (OneClassSVM, {"nu": 0.3}),
    "epsilon_svr": (SVR, {"C": 3.0, "epsilon": 0.2}),
    "nu_svr": (NuSVR, {"C": 3.0, "nu": 0.3}),
}
LINEAR = {
    "L2R_LR": (RiskClassifier, {"loss": "logistic"}),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {"dual": True}),
    "L2R_L2LOSS_SVC": (LinearSVC, {"dual": False}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"loss": "hinge"}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {"penalty": "l1", "dual": False}),
    "L1R_LR": (RiskClassifier, {"loss": "logistic", "penalty": "l1"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {"loss": "squared_epsilon_insensitive", "dual": True, "epsilon": 0.1}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {"epsilon": 0.1}),
}


def read_header(path: Path, last: str) -> tuple[dict[str, list[str]], list[list[str]]]:
    """The header and the words of the lines after it."""
    lines = path.read_text().splitlines()
    end = lines.index(last)
    words = [line.split() for line in lines]
    return {key: values for key, *values in words[:end]}, [each for each in words[end + 1 :] if each]


def decide_libsvm(path: Path, rows: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """f of each pair of labels (of (0, 0) where there are no labels), by LIBSVM's own formulas."""
    header, body = read_header(path, "SV")
    width = int(header["nr_class"][0]) - 1
    coef = np.array([[float(word) for word in words[:width]] for words in body])
    values = {key: float(header[key][0]) for key in ("degree", "gamma", "coef0") if key in header}
    if header["kernel_type"] == ["precomputed"]:
        kernel = rows[:, [int(words[width].split(":")[1]) - 1 for words in body]]
    else:
        vectors = np.zeros((len(body), rows.shape[1]))
        for i, words in enumerate(body):
            for index, value in (word.split(":") for word in words[width:]):
                vectors[i, int(index) - 1] = float(value)
        dots, distances = rows @ vectors.T, ((rows[:, None] - vectors[None]) ** 2).sum(axis=2)
        kernel = {
            "linear": lambda: dots,
            "polynomial": lambda: (values["gamma"] * dots + values["coef0"]) ** values["degree"],
            "rbf": lambda: np.exp(-values["gamma"] * distances),
            "sigmoid": lambda: np.tanh(values["gamma"] * dots + values["coef0"]),
        }[header["kernel_type"][0]]()
    rho = [float(word) for word in header["rho"]]
    if "label" not in header:
        return {(0, 0): kernel @ coef[:, 0] - rho[0]}
    labels, ends = [int(word) for word in header["label"]], np.cumsum([0, *map(int, header["nr_sv"])])
    found = {}
    for number, (i, j) in enumerate(combinations(range(width + 1), 2)):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        f = kernel[:, first] @ coef[first, j - 1] + kernel[:, second] @ coef[second, i] - rho[number]
        found[labels[i], labels[j]] = f
    return found


def compare_pairs(model, found: dict, rows) -> float:
    """The largest difference between a model's binary decisions and those of a file, in the signs of the model."""
    if (0, 0) in found:
        theirs = found[0, 0][:, None]
    else:
        pairs = combinations(model.classes_.astype(int).tolist(), 2)
        theirs = np.column_stack([found[p, q] if (p, q) in found else -found[q, p] for p, q in pairs])
    return float(np.abs(model._decision_values(rows) - theirs).max())


def decide_liblinear(path: Path, rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """X w with the constant, and the labels."""
    header, body = read_header(path, "w")
    w, bias = np.array(body, float), float(header["bias"][0])
    rows = np.column_stack([rows, np.full(len(rows), bias)]) if bias >= 0 else rows
    return rows @ w, [int(word) for word in header.get("label", [])]


def compare_linear(model, path: Path, rows: np.ndarray) -> float:
    """The largest difference between a model's decisions and those of a file."""
    theirs, labels = decide_liblinear(path, rows)
    if not labels:
        return float(np.abs(model.predict(rows) - theirs[:, 0]).max())
    if theirs.shape[1] == 1:
        theirs = theirs[:, 0] if labels[0] == model.classes_[1] else -theirs[:, 0]
    else:
        theirs = theirs[:, np.argsort(labels)]
        theirs = theirs if len(labels) > 2 else theirs[:, 1] - theirs[:, 0]
    return float(np.abs(model.decision_function(rows) - theirs).max())
