"""What the page offers: models, kernels and losses as the estimators declare them, and the solvers with variants."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..contracts.solvers import Solver
from ..estimators.registry import ESTIMATORS
from ..solvers.registry import SMO, SOLVERS, Bundle, LagrangianDual

MODELS = ("SVC", "LinearSVC", "NuSVC", "RiskClassifier", "OneClassSVM", "SVR", "LinearSVR", "NuSVR", "RiskRegressor")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian")
INTERCEPTS = ("free", "regularised", "none")
MULTI_CLASS = {
    "SVC": ("ovo", "ovr"),
    "NuSVC": ("ovo", "ovr"),
    "LinearSVC": ("ovr", "crammer_singer"),
    "RiskClassifier": ("ovr", "crammer_singer", "softmax"),
}
# The numbers of a model: name, value at first, least and largest value of the slider, which is logarithmic.
NUMBERS = {
    "C": (1.0, 1e-3, 1e4),
    "nu": (0.3, 0.01, 1.0),
    "gamma": (0.5, 1e-3, 1e2),
    "degree": (3.0, 1.0, 8.0),
    "coef0": (1.0, 1e-2, 1e2),
    "epsilon": (0.2, 1e-3, 2.0),
    "quantile": (0.5, 0.01, 0.99),
    "threshold": (0.5, 1e-2, 10.0),
}
KERNEL_NUMBERS = {"linear": (), "poly": ("gamma", "degree", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0"),
                  "laplacian": ("gamma",)}  # fmt: skip
LOSS_NUMBERS = {"epsilon": ("epsilon_insensitive", "squared_epsilon_insensitive"), "quantile": ("quantile",),
                "threshold": ("huber",)}  # fmt: skip
VARIANTS: dict[str, Solver] = {
    "smo, maximal violating pair": SMO(selection="mvp"),
    "smo, Keerthi's two thresholds": SMO(selection="keerthi"),
    "bundle, BMRM": Bundle(method="bmrm"),
    "bundle, line search": Bundle(method="line-search"),
    "bundle, proximal": Bundle(method="proximal-bundle"),
    "bundle, trust region": Bundle(method="trust-region-bundle"),
    "bundle, level": Bundle(method="level-bundle"),
    "lagrangian_dual, plain": LagrangianDual("plain"),
}


def list_solvers() -> list[str]:
    """ "auto", the solvers of the registry whose data are in memory, and behind each of them its variants."""
    plain = [name for name, make in SOLVERS.items() if "memory" in make.forms]
    with_variants = [[name, *(each for each in VARIANTS if each.startswith(f"{name},"))] for name in plain]
    return ["auto", *(name for names in with_variants for name in names)]


def find_solver(name: str) -> str | Solver:
    """The solver of a name on the page: the name itself, or the object of a variant."""
    if name in VARIANTS:
        return VARIANTS[name]
    if name not in list_solvers():
        raise ValueError(f"solver must be one of {list_solvers()}, got {name!r}.")
    return name


def spell_solver(name: str) -> str:
    """The solver as Python code: its name in quotes, or a call with what differs from the defaults."""
    if name not in VARIANTS:
        return repr(name)
    solver = VARIANTS[name]
    chosen = {each.name: (getattr(solver, each.name), each.default) for each in fields(solver)}  # type: ignore[arg-type]
    changed = [f"{key}={value!r}" for key, (value, default) in chosen.items() if value != default]
    return f"{type(solver).__name__}({', '.join(changed)})"


def describe_model(name: str) -> dict[str, Any]:
    """Which controls the page shows for a model."""
    kind = ESTIMATORS[name]
    parameters = kind().get_params()
    return {
        "task": kind.task,
        "losses": list(kind.losses),
        "kernels": list(KERNELS) if "kernel" in parameters else [],
        "intercepts": list(INTERCEPTS) if "intercept" in parameters else [],
        "multi_class": list(MULTI_CLASS.get(name, ())),
        "penalties": ["l2", "l1"] if "penalty" in parameters else [],
        "numbers": [each for each in NUMBERS if each in parameters],
    }


def describe_choices() -> dict[str, Any]:
    """All that the page can ask for, for its controls."""
    return {
        "models": {name: describe_model(name) for name in MODELS},
        "numbers": {name: dict(zip(("value", "min", "max"), three, strict=True)) for name, three in NUMBERS.items()},
        "kernel_numbers": KERNEL_NUMBERS,
        "loss_numbers": LOSS_NUMBERS,
        "solvers": list_solvers(),
    }
