"""The enemy of the judge: random fits of every model, and what their certificates claim, checked in eighty digits.

    python tests/adversary.py --cases 2000 --seed 5             a table of lies, model by model
    python tests/adversary.py --cases 500 --only SVC NuSVC      for these models only
    python tests/adversary.py --case SVC:123                    one case again, with everything it claims

A certificate claims four things: primal >= P at the point, dual <= P*, gap >= P - P*, and, where the fit says that it
converged, P - P* <= tol max(|primal|, |dual|, floor). A false claim is called a lie. P* is not known, but P at any
point is at least P*. So every lie found here is real, whichever point was used. The better the point, the smaller the
lies that are found (`exact_objectives.py` finds good points).
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from exact_numbers import HALF, INFINITY, ONE, ZERO, cut_planes, exact, many_digits, total, zeros
from exact_objectives import (
    ClassObjective,
    ListObjective,
    Objective,
    SmoothObjective,
    StructuredObjective,
    kernel_matrix,
    label_metric,
    pair_metric,
    pairs_of,
)

import maxmargin as mm
from maxmargin.blocks import Block, Blocks
from maxmargin.model.features import Design, Gram
from maxmargin.model.kernels import RBF, Laplacian, Linear, Polynomial
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Point, Problem

FIT_SECONDS = 0.2  # time limit of a fit
ROUNDING_SHARE = Decimal("1e-55")  # of the size of P: the error of sums in eighty digits is below this
VISIBLE_SHARE = 1e-9  # of the size of P: a larger lie shows in the digits that are printed
MAX_FIRST_ORDER_ITERATIONS = 1000  # of a first-order method, which would otherwise use all of its time
FALSE_CLAIM_KINDS = (
    "primal below P", "dual above P*", "gap below truth", "relative gap", "converged but not", "not a number",
    "crashed",
)  # fmt: skip


@dataclass
class Claim:
    """What a certificate says, P at the points it is about, and how to find a P close to the optimum."""

    certificate: mm.Certificate
    values: dict[str, Decimal]
    least: Callable[[], Decimal]
    part: str = ""
    tol: float = 0.0
    status: mm.Status | None = None
    slack: Decimal = ZERO
    blunt: bool = False

    @classmethod
    def of(cls, result, tol: float, values: dict[str, Decimal], least: Callable[[], Decimal], part: str = "") -> Claim:
        """The claim that a result makes."""
        return cls(result.certificate, values, least, part, tol, result.status)

    @property
    def converged(self) -> bool:
        """Whether the fit says that it reached its tolerance."""
        return self.status is mm.Status.CONVERGED


@dataclass
class Case:
    """A case: the name that reproduces it, what was sampled for it, and what was claimed."""

    name: str
    drawn: dict = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    refused: str = ""
    crashed: str = ""

    def __str__(self) -> str:
        drawn = ", ".join(f"{key}={value}" for key, value in self.drawn.items())
        return f"python tests/adversary.py --case {self.name}  # {drawn}"


# ---- data -------------------------------------------------------------------------------------------------------


def draw_power(rng: np.random.Generator, low: float, high: float) -> float:
    """10^u for u uniform between `low` and `high`; half of the time u is rounded to an integer."""
    u = rng.uniform(low, high)
    return float(10.0 ** (np.round(u) if rng.random() < 0.5 else u))


def draw_samples(rng: np.random.Generator, drawn: dict, largest: int = 12, dense: bool = False):
    """Random X of one of many kinds: far away, tiny, huge, with duplicates, dates, pixels, constant columns."""
    n, d = int(rng.integers(2, largest + 1)), int(rng.integers(1, 5))
    n = 30 if largest >= 10 and rng.random() < 0.01 else n
    kind = str(rng.choice(["normal", "normal", "far", "date", "bimodal", "pixels", "duplicates", "constant", "grid"]))
    X = rng.normal(size=(n, d))
    if kind == "far":
        X = X + draw_power(rng, 0, 8) * rng.choice([-1.0, 1.0], d)
    elif kind == "date":
        X[:, 0] = 1.7e9 + 86400.0 * rng.integers(0, 400, n)
    elif kind == "bimodal":
        X = X + rng.choice([-1e6, 1e6], (n, 1))
    elif kind == "pixels":
        X = 16.0 * rng.integers(0, 17, (n, d))
    elif kind == "duplicates":
        X = X[rng.integers(0, max(n // 2, 1), n)]
    elif kind == "constant":
        X[:, rng.integers(d)] = draw_power(rng, -8, 8)
    elif kind == "grid":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    scale = draw_power(rng, -8, 8) if rng.random() < 0.3 else 1.0
    X = X * scale
    form = "dense" if dense else str(rng.choice(["dense", "dense", "dense", "float32", "csr"]))
    drawn.update(n=n, d=d, kind=kind, scale=scale, form=form)
    return X.astype(np.float32) if form == "float32" else sp.csr_array(X) if form == "csr" else X


def to_exact(X) -> np.ndarray:
    """The entries of X as exact numbers."""
    return exact(X.toarray() if sp.issparse(X) else X)


def draw_labels(rng: np.random.Generator, X, n_classes: int = 2) -> np.ndarray:
    """Labels in the order of the first feature, or at random; each class occurs if there are enough samples."""
    first = np.asarray(X.toarray() if sp.issparse(X) else X, float)[:, 0]
    order = np.argsort(first, kind="stable") if rng.random() < 0.4 else rng.permutation(len(first))
    y = np.empty(len(first), int)
    y[order] = np.arange(len(first)) * n_classes // len(first)
    return y


def draw_targets(rng: np.random.Generator, n: int, drawn: dict) -> np.ndarray:
    """Real targets of any size, sometimes far from zero."""
    size = draw_power(rng, -6, 6) if rng.random() < 0.4 else 1.0
    y = size * rng.normal(size=n) + (draw_power(rng, 0, 7) if rng.random() < 0.2 else 0.0)
    drawn["target"] = size
    return y


def draw_weights(rng: np.random.Generator, n: int, drawn: dict) -> np.ndarray | None:
    """None, or weights from 1e-3 to 1e3, some of them zero."""
    if rng.random() < 0.65:
        return None
    weight = 10.0 ** rng.uniform(-3, 3, n)
    if rng.random() < 0.3 and n > 4:
        weight[rng.integers(0, n)] = 0.0
    drawn["weighted"] = True
    return weight


def draw_common(rng: np.random.Generator, drawn: dict, solvers: tuple[str, ...], hardest: float = 8.0) -> dict:
    """C, tol, the solver and the limits, which every model has."""
    C = draw_power(rng, -hardest, hardest) if rng.random() < 0.6 else 1.0
    solver = str(rng.choice(["auto", "auto", *solvers]))
    limit = MAX_FIRST_ORDER_ITERATIONS if solver in ("gradient_descent", "adagrad", "lagrangian_dual") else -1
    common = {"C": C, "tol": draw_power(rng, -12, -2), "solver": solver, "max_iter": limit, "max_seconds": FIT_SECONDS}
    drawn.update(C=C, tol=common["tol"], solver=solver)
    return common


def weigh(C: float, weight: np.ndarray | None, n: int) -> np.ndarray:
    """c = C times the weight, in exact arithmetic."""
    return Decimal(float(C)) * (np.full(n, ONE) if weight is None else exact(weight))


# ---- kernel machines --------------------------------------------------------------------------------------------

KERNEL_SOLVERS = ("smo", "smo", "gradient_descent", "adagrad", "lagrangian_dual", "qp")


def draw_kernel(rng: np.random.Generator, drawn: dict) -> dict:
    """A random kernel, mostly positive semidefinite, sometimes one that need not be."""
    kernel = str(
        rng.choice(["linear", "linear", "rbf", "rbf", "poly", "laplacian", "precomputed", "callable", "sigmoid"])
    )
    gamma = "scale" if rng.random() < 0.6 else draw_power(rng, -4, 3)
    drawn.update(kernel=kernel, gamma=gamma)
    degree, coef0 = int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0, 0.5]))
    return {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}


def multiply_out(X, Z) -> np.ndarray:
    """A callable kernel: <x, z>."""
    X, Z = (part.toarray() if sp.issparse(part) else np.asarray(part, float) for part in (X, Z))
    return X @ Z.T


def prepare_kernel(given: dict, X, regularised: bool):
    """The kernel parameters and the X to fit, and a function for the exact kernel matrix of the fitted model."""
    parameters, fitted = dict(given), X
    if given["kernel"] == "precomputed":
        fitted = multiply_out(X, X)
    elif given["kernel"] == "callable":
        parameters["kernel"] = multiply_out
    offset = ONE if regularised else ZERO

    def matrix(model, shift=None) -> np.ndarray | None:
        if given["kernel"] == "sigmoid":
            return None
        if given["kernel"] in ("precomputed", "callable"):
            return exact(multiply_out(X, X)) + offset
        gamma, rows = Decimal(float(getattr(model, "_gamma", 0.0))), to_exact(X)
        if shift is not None and given["kernel"] == "linear":
            rows = rows - exact(shift)
        return kernel_matrix(given["kernel"], rows, gamma, exact(given["coef0"]), given["degree"]) + offset

    return parameters, fitted, matrix


def translate_rows(model, X) -> np.ndarray:
    """The samples as a linear kernel sees them, from where the model has moved the origin to."""
    shift = find_shift(model)
    return to_exact(X) if shift is None else to_exact(X) - exact(shift)


def find_shift(model) -> np.ndarray | None:
    """Where the model has moved the origin: with a free intercept this changes b but not w."""
    return getattr(getattr(model, "_kernel", None), "shift", None)


def claim_kernel(
    result, tol: float, objective: Objective, index: np.ndarray, part: str = "", rows: np.ndarray | None = None
) -> Claim:
    """The claim of a kernel machine's result, with P at its point; `rows` are samples as a linear kernel sees them."""
    point, coef = result.point, zeros(len(objective.K))
    if point.coef is not None:
        coef[index] = exact(point.coef)
    elif point.a.ndim == 2:
        coef[index] = exact(point.a.sum(axis=0))  # rounded as in the machine that is read from the layers
    else:
        coef[index] = exact(point.a)
    b = exact(np.atleast_1d(point.b)) if len(objective.balance) else zeros(0)
    if point.w is None:
        values = {"point": objective.value_of_kernel(coef, b)}
    else:
        w = exact(point.w)
        values = {"point": objective.value(rows @ w, HALF * (w @ w), b)}
    return Claim.of(result, tol, values, objective.least, part)


def add_dual_machine(claim: Claim, objective: Objective, K: np.ndarray, model, intercept: str, sign: int = 1) -> Claim:
    """The claim with P at the dual coefficients and the intercept that the user sees; K is that of X as given."""
    if model._held_weights()[0] is not None:  # the machine is coef_ and intercept_, see `add_linear_machine`
        return claim
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    coef, b = zeros(len(objective.K)), sign * exact(np.ravel(model.intercept_))
    coef[model.support_] = sign * exact(table[0])
    if intercept == "regularised":
        scores = (K - ONE) @ coef
        claim.values["machine"] = objective.value(scores + b[0], HALF * (coef @ scores + b[0] * b[0]), zeros(0))
    else:
        scores = K @ coef
        claim.values["machine"] = objective.value(
            scores, HALF * (coef @ scores), b if intercept == "free" else zeros(0)
        )
    return claim


def add_linear_machine(claim: Claim, objective: Objective, X, model, sign: int = 1) -> Claim:
    """The claim with P at coef_ and intercept_, where the kernel is linear and the intercept free."""
    if model.kernel == "linear" and getattr(model, "intercept", "free") == "free":
        w = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        w, b = sign * exact(w[0]), sign * exact(np.ravel(model.intercept_))
        claim.values["coef_"] = objective.value(to_exact(X) @ w, HALF * (w @ w), b)
    return claim


def try_svc(rng: np.random.Generator, case: Case) -> None:
    """SVC with two or three classes."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn)
    k = 3 if X.shape[0] >= 5 and rng.random() < 0.2 else 2
    y, weight = draw_labels(rng, X, k), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, KERNEL_SOLVERS)
    loss = str(rng.choice(["hinge", "hinge", "squared_hinge"]))
    shape = str(rng.choice(["ovo", "ovr"]))
    class_weight_by_label = {0: 1.0, 1: draw_power(rng, -2, 2), 2: 3.0} if rng.random() < 0.2 else None
    drawn.update(loss=loss, intercept=intercept, classes=k, multi_class=shape)
    model = mm.SVC(
        loss=loss, intercept=intercept, multi_class=shape, class_weight=class_weight_by_label, **kernel, **common
    )
    model.fit(fitted, y, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(common["C"], weight, len(y))
    if class_weight_by_label is not None:
        c = c * exact([class_weight_by_label[label] for label in y])
    order, weighed = np.argsort(y, kind="stable") if k > 2 else np.arange(len(y)), c > 0
    rest = shape == "ovr" and k > 2
    for place, result in enumerate(model.results_):
        first, second = (place, None) if rest else pairs_of(k)[place]
        inside = np.isin(y, (first, second)) if not rest else np.full(len(y), True)
        index = order[(inside & weighed)[order]]
        signs = exact(np.where(y == first, 1.0, -1.0))
        if K is None:
            case.claims.append(Claim.of(result, common["tol"], {}, lambda: INFINITY))
            continue
        balance = zeros(1) if intercept == "free" else zeros(0)
        objective = Objective(K, signs, np.where(inside, c, ZERO), loss, ONE, balance)
        claim = claim_kernel(result, common["tol"], objective, index, f"{first}/{second}", translate_rows(model, X))
        if k == 2:
            add_dual_machine(claim, objective, matrix(model), model, intercept, -1)
            add_linear_machine(claim, objective, X, model, -1)
        case.claims.append(claim)


def draw_loss(rng: np.random.Generator, names: list[str], size: float = 1.0) -> tuple[str, dict, object]:
    """A random loss, its parameter as a keyword of the model, and as an exact number."""
    loss = str(rng.choice(names))
    value = float(rng.choice([0.0, 0.1, 1.0])) * size if "epsilon" in loss else float(rng.choice([0.1, 0.5, 0.9]))
    name = "epsilon" if "epsilon" in loss else {"quantile": "quantile", "huber": "threshold"}.get(loss)
    return loss, {} if name is None else {name: value}, Decimal(value) if name else ONE


KERNEL_REGRESSION = ["epsilon_insensitive", "epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber",
                     "quantile"]  # fmt: skip


def try_svr(rng: np.random.Generator, case: Case) -> None:
    """SVR with all of its losses."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn, 10)
    y, weight = draw_targets(rng, X.shape[0], drawn), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, KERNEL_SOLVERS)
    loss, parameters, parameter = draw_loss(rng, KERNEL_REGRESSION, drawn["target"])
    drawn.update(loss=loss, intercept=intercept)
    model = mm.SVR(loss=loss, intercept=intercept, **parameters, **kernel, **common)
    model.fit(fitted, y, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(common["C"], weight, len(y))
    if K is None:
        return
    balance = zeros(1) if intercept == "free" else zeros(0)
    objective = Objective(K, exact(y), c, loss, parameter, balance)
    claim = claim_kernel(model.result_, common["tol"], objective, np.flatnonzero(c > 0), rows=translate_rows(model, X))
    add_dual_machine(claim, objective, matrix(model), model, intercept)
    case.claims.append(add_linear_machine(claim, objective, X, model))


def try_one_class(rng: np.random.Generator, case: Case) -> None:
    """OneClassSVM: max(0, -f), balance nu sum(c)."""
    drawn = case.drawn
    X = draw_samples(rng, drawn)
    n, weight = X.shape[0], draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, False)
    common = draw_common(rng, drawn, KERNEL_SOLVERS)
    common.pop("C")
    nu = float(rng.choice([0.05, 0.3, 0.5, 1.0]))
    drawn.update(nu=nu)
    model = mm.OneClassSVM(nu=nu, **kernel, **common).fit(fitted, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(1.0, weight, n)
    if K is None:
        return
    balance = np.array([Decimal(nu) * total(c)], object)
    objective = Objective(K, np.full(n, ONE), c, "novelty", ONE, balance)
    claim = claim_kernel(model.result_, common["tol"], objective, np.flatnonzero(c > 0), rows=translate_rows(model, X))
    add_dual_machine(claim, objective, K, model, "free")
    case.claims.append(add_linear_machine(claim, objective, X, model))


def try_nu_svc(rng: np.random.Generator, case: Case) -> None:
    """NuSVC: with a free intercept two layers of hinges at margin 0, otherwise one class of signed samples."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn)
    n, y, weight = X.shape[0], draw_labels(rng, X), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, ("smo",))
    common.pop("C")
    nu = float(rng.choice([0.1, 0.3, 0.5, 0.8]))
    drawn.update(nu=nu, intercept=intercept)
    model = mm.NuSVC(nu=nu, intercept=intercept, **kernel, **common).fit(fitted, y, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(1.0, weight, n)
    if K is None:
        return
    signs, index = exact(np.where(y == 0, 1.0, -1.0)), np.flatnonzero(c > 0)
    if intercept == "free":
        lighter = min(total(c[y == 0]), total(c[y == 1]))
        half = min(HALF * Decimal(nu) * total(c), lighter)
        layer = np.where(y == 0, 0, 1)
        objective = Objective(K, signs, c, "hinge", ZERO, np.array([half, -half], object), layer=layer)
        claim = claim_kernel(model.result_, common["tol"], objective, index)
    else:
        balance = np.array([Decimal(nu) * total(c)], object)
        objective = Objective(K, np.full(n, ONE), c, "novelty", ONE, balance, sign=signs)
        claim = claim_signed(model.result_, common["tol"], objective, index, signs[index])
    case.claims.append(claim)


def claim_signed(result, tol: float, objective: Objective, index: np.ndarray, signs: np.ndarray) -> Claim:
    """The claim of duals over signed samples; a sample may have two duals."""
    weights = signs.astype(float) * np.ravel(result.point.a)
    coef = exact(np.bincount(index, weights, len(objective.K)))  # rounded as in the machine that is read from them
    value = objective.value_of_kernel(coef, exact(np.atleast_1d(result.point.b)))
    return Claim.of(result, tol, {"point": value}, objective.least)


def try_nu_svr(rng: np.random.Generator, case: Case) -> None:
    """NuSVR: with a free intercept a layer for each wall of the tube, otherwise samples with both signs."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn, 7)
    n, y, weight = X.shape[0], draw_targets(rng, X.shape[0], drawn), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, ("smo",))
    nu = float(rng.choice([0.1, 0.3, 0.5, 1.0]))
    drawn.update(nu=nu, intercept=intercept)
    model = mm.NuSVR(nu=nu, intercept=intercept, **kernel, **common).fit(fitted, y, sample_weight=weight)
    K, c, targets = matrix(model, find_shift(model)), weigh(common["C"], weight, n), exact(y)
    if K is None:
        return
    twice, whole = np.tile(np.arange(n), 2), Decimal(nu) * total(c)
    both, index = np.repeat([ONE, -ONE], n), np.flatnonzero(c > 0)
    if intercept == "free":
        balance = np.array([HALF * whole, -HALF * whole], object)
        quantiles = np.repeat([ONE, ZERO], n)
        layer = np.repeat([0, 1], n)
        objective = Objective(K, targets[twice], c[twice], "quantile", quantiles, balance, index=twice, layer=layer)
        claim = claim_kernel(model.result_, common["tol"], objective, index)
    else:
        balance = np.array([whole], object)
        objective = Objective(
            K, both * targets[twice], c[twice], "quantile", ONE, balance, index=twice, sign=both
        )  # fmt: skip
        claim = claim_signed(
            model.result_, common["tol"], objective, np.tile(index, 2), np.repeat([ONE, -ONE], len(index))
        )
    case.claims.append(claim)


# ---- linear machines --------------------------------------------------------------------------------------------

LINEAR_SOLVERS = ("smo", "newton", "multipliers", "interior_point", "coordinate", "bundle", "one_slack",
                  "gradient_descent", "adagrad", "lagrangian_dual", "qp")  # fmt: skip
PIECEWISE_LOSSES = ("hinge", "squared_hinge", "least_squares", "absolute", "quantile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "huber")  # fmt: skip


@dataclass
class LinearSetting:
    """What the problems of a linear machine share: rows (x_i, scaling), the kind of intercept, and the origin."""

    X: np.ndarray
    intercept: str
    scaling: Decimal
    shift: np.ndarray | None = None

    @property
    def free(self) -> bool:
        """Whether the intercept is outside the penalty."""
        return self.intercept == "free"

    @property
    def Z(self) -> np.ndarray:
        """(x_i, 1), (x_i, scaling) or (x_i, 0)."""
        last = ONE if self.free else self.scaling if self.intercept == "regularised" else ZERO
        return np.hstack([self.X, np.full((len(self.X), 1), last)])

    def read(self, w, b) -> np.ndarray:
        """v = (w, b), or (w, b / scaling) where the intercept is regularised: what the user sees."""
        last = exact(b) / self.scaling if self.intercept == "regularised" else exact(b) if self.free else ZERO
        return np.append(exact(np.ravel(w)), last)

    def read_point(self, coef, b, seen: np.ndarray) -> np.ndarray | None:
        """v of a point: its coefficients, or those that the user sees; b is translated back if samples were moved."""
        if coef is None and not self.free:
            return None
        v = seen.copy() if coef is None else exact(np.ravel(coef))
        if self.free:
            v[-1] = exact(b) - (ZERO if self.shift is None else total(v[:-1] * exact(self.shift)))
        return v

    def claim(self, result, tol: float, y, c, loss: str, parameter, seen: np.ndarray, penalty: str = "l2") -> Claim:
        """The claim of a machine with one score per sample."""
        smooth = SmoothObjective(self.Z, y, c, loss, self.free, penalty == "l1", parameter)
        values, v = {"machine": smooth.value(seen)}, self.read_point(result.point.coef, result.point.b, seen)
        if v is not None:
            values["point"] = smooth.value(v)
        if penalty == "l1" or loss not in PIECEWISE_LOSSES:
            least = lambda: smooth.least(seen if v is None else v)  # noqa: E731
        else:
            held = self.X if self.free or self.intercept == "none" else self.Z
            K, balance = held @ held.T, zeros(1) if self.free else zeros(0)
            least = Objective(K, y, c, loss, parameter, balance).least
        return Claim.of(result, tol, values, least)


def draw_setting(rng: np.random.Generator, X, drawn: dict) -> tuple[LinearSetting, dict]:
    """A random intercept of a linear machine."""
    intercept = str(rng.choice(["free", "free", "regularised", "none"]))
    scaling = float(rng.choice([1.0, 1.0, 10.0, 0.3])) if intercept == "regularised" else 1.0
    drawn.update(intercept=intercept, scaling=scaling)
    return LinearSetting(to_exact(X), intercept, Decimal(scaling)), {
        "intercept": intercept,
        "intercept_scaling": scaling,
    }


def accepted(model, solver: str) -> str:
    """The solver if it accepts this problem, else "auto"; other tests check that solvers refuse."""
    kinked = model.loss in ("hinge", "absolute", "quantile", "epsilon_insensitive")
    exponential = model.loss in ("logistic", "exponential", "poisson")
    if getattr(model, "penalty", "l2") == "l1":
        return "auto"
    if exponential:
        return solver if solver in ("newton", "bundle", "gradient_descent", "adagrad") else "auto"
    if (solver == "newton" and kinked) or (
        solver == "one_slack" and (model.loss != "hinge" or model.intercept == "free")
    ):
        return "auto"
    return solver


def try_linear_classifier(rng: np.random.Generator, case: Case, make=None, blocks: bool = False) -> None:
    """LinearSVC or RiskClassifier with two or three classes, each against the rest."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, dense=blocks)
    k = 3 if X.shape[0] >= 5 and rng.random() < 0.2 else 2
    y, weight = draw_labels(rng, X, k), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    own = make is mm.RiskClassifier
    loss = str(rng.choice(["hinge", "squared_hinge", "logistic", "exponential"] if own else ["hinge", "squared_hinge"]))
    common = draw_common(rng, drawn, LINEAR_SOLVERS, 4.0 if loss == "exponential" else 8.0)
    penalty = "l1" if loss != "hinge" and not blocks and rng.random() < 0.2 else "l2"
    model = make(loss=loss, penalty=penalty, **intercept, **common)
    model.solver = "auto" if blocks else accepted(model, common["solver"])
    drawn.update(loss=loss, penalty=penalty, classes=k, solver=model.solver)
    if blocks:
        model.fit(InMemoryBlocks(X, y, weight))
    else:
        model.fit(X, y, sample_weight=weight)
    c, setting.shift = weigh(common["C"], weight, len(y)), find_shift(model)
    for place, result in enumerate(model.results_):
        signs = exact(np.where(y == (1 if k == 2 else place), 1.0, -1.0))
        seen = setting.read(model.coef_[place], np.broadcast_to(model.intercept_, len(model.coef_))[place])
        case.claims.append(setting.claim(result, common["tol"], signs, c, loss, ONE, seen, penalty))


class InMemoryBlocks(Blocks):
    """Rows in memory, in blocks of three."""

    def __init__(self, X, y, weight):
        super().__init__()
        self.X, self.y, self.weight, self.n_blocks = X, y, weight, -(-X.shape[0] // 3)

    def load(self, number: int) -> Block:
        """Three rows."""
        rows = slice(3 * number, 3 * number + 3)
        return Block(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows], number)


REGRESSION = ["least_squares", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber",
              "poisson"]  # fmt: skip


def try_linear_regressor(rng: np.random.Generator, case: Case, make=None, blocks: bool = False) -> None:
    """LinearSVR or RiskRegressor with one target."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 10, dense=blocks)
    y, weight = draw_targets(rng, X.shape[0], drawn), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    names = REGRESSION if make is mm.RiskRegressor else ["epsilon_insensitive", "squared_epsilon_insensitive"]
    loss, parameters, parameter = draw_loss(rng, names, drawn["target"])
    if loss == "poisson":
        y = rng.poisson(3.0, X.shape[0]).astype(float)
        y[0] += 1.0
    common = draw_common(rng, drawn, LINEAR_SOLVERS, 4.0 if loss == "poisson" else 8.0)
    model = make(loss=loss, **parameters, **intercept, **common)
    model.solver = "auto" if blocks else accepted(model, common["solver"])
    drawn.update(loss=loss, solver=model.solver)
    if blocks:
        model.fit(InMemoryBlocks(X, y, weight))
    else:
        model.fit(X, y, sample_weight=weight)
    c, setting.shift = weigh(common["C"], weight, len(y)), find_shift(model)
    seen = setting.read(model.coef_, np.ravel(model.intercept_)[0])
    case.claims.append(setting.claim(model.result_, common["tol"], exact(y), c, loss, parameter, seen))


def try_joint(rng: np.random.Generator, case: Case) -> None:
    """Softmax, and the hinge of Crammer and Singer with and without costs."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 8)
    k = 3 if X.shape[0] > 3 else 2
    y, weight = draw_labels(rng, X, k), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    kind = str(rng.choice(["softmax", "crammer_singer", "crammer_singer"]))
    common = draw_common(rng, drawn, ("bundle",), 4.0)
    costs, scales = (rng.integers(1, 4, (k, k)).astype(float) if rng.random() < 0.3 else None for _ in range(2))
    costly = {"label_costs": costs, "label_scales": scales} if kind == "crammer_singer" else {}
    drawn.update(multi_class=kind, classes=k, costs=costs is not None, scales=scales is not None)
    loss = "logistic" if kind == "softmax" else "hinge"
    model = mm.RiskClassifier(loss, multi_class=kind, **costly, **intercept, **common).fit(X, y, sample_weight=weight)
    c = weigh(common["C"], weight, len(y))
    costs, scales = (exact(np.ones((k, k)) if part is None else part) for part in (costs, scales))
    objective = ClassObjective(
        setting.Z, y, c, "softmax" if kind == "softmax" else "hinge", k, setting.free, costs, scales
    )
    values, point = {}, model.result_.point
    if k > 2:
        b = np.broadcast_to(model.intercept_, k)
        values["machine"] = np.concatenate([setting.read(w, shift) for w, shift in zip(model.coef_, b, strict=True)])
    if point.coef is not None:
        setting.shift, b = find_shift(model), np.broadcast_to(point.b, k)
        rows = [setting.read_point(w, shift, w) for w, shift in zip(point.coef, b, strict=True)]
        values["point"] = np.concatenate(rows)
    add_vector_claim(case, model.result_, common["tol"], objective, values)


def add_vector_claim(case: Case, result, tol: float, objective, points: dict[str, np.ndarray]) -> None:
    """Add the claim of an objective whose argument is one long vector."""
    if points:
        start = next(iter(points.values()))
        values = {name: objective.value(v) for name, v in points.items()}
        case.claims.append(Claim.of(result, tol, values, lambda: objective.least(start)))


def try_multivariate(rng: np.random.Generator, case: Case) -> None:
    """(f - y)' M (f - y) / 2 for targets with two entries."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 8)
    y, weight = draw_targets(rng, 2 * X.shape[0], drawn).reshape(-1, 2), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    common = draw_common(rng, drawn, ("bundle", "vector_ridge"))
    A = rng.integers(-2, 3, (2, 2)).astype(float)
    M = A @ A.T + np.eye(2)
    model = mm.RiskRegressor("multivariate", M=M, **intercept, **common).fit(X, y, sample_weight=weight)
    c, b = weigh(common["C"], weight, len(y)), np.broadcast_to(model.intercept_, 2)
    objective = ClassObjective(setting.Z, exact(y), c, "multivariate", 2, setting.free, M=exact(M))
    seen = [setting.read(w, shift) for w, shift in zip(model.coef_, b, strict=True)]
    points, point = {"machine": np.concatenate(seen)}, model.result_.point
    if setting.free:
        setting.shift, coef = find_shift(model), [None, None] if point.coef is None else point.coef
        rows = [setting.read_point(w, *rest) for w, *rest in zip(coef, point.b, seen, strict=True)]
        points["point"] = np.concatenate(rows)
    add_vector_claim(case, model.result_, common["tol"], objective, points)


def try_path(rng: np.random.Generator, case: Case) -> None:
    """path: the same machine at several values of C."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 8)
    y, weight = draw_labels(rng, X), draw_weights(rng, X.shape[0], drawn)
    setting, intercept = draw_setting(rng, X, drawn)
    loss, common = str(rng.choice(["hinge", "squared_hinge", "logistic"])), draw_common(rng, drawn, ())
    common.pop("C")
    Cs = [draw_power(rng, -4, 4) for _ in range(3)]
    drawn.update(loss=loss, Cs=Cs)
    found = mm.path(X, y, Cs=Cs, loss=loss, sample_weight=weight, **intercept, **common)
    signs, setting.shift = exact(np.where(y == 1, 1.0, -1.0)), Linear().centre(X).shift if setting.free else None
    for C, w, b, result in zip(found.Cs, found.coefs, found.intercepts, found.results, strict=True):
        c, seen = weigh(C, weight, len(y)), setting.read(w, b)
        case.claims.append(setting.claim(result, common["tol"], signs, c, loss, ONE, seen))


# ---- metrics, rankings, structures ------------------------------------------------------------------------------

METRICS = ["f1", "fbeta", "roc_auc", "precision_at_k", "recall_at_k", "prbep", "error"]


def try_metric(rng: np.random.Generator, case: Case) -> None:
    """MetricSVC on a few samples, checked against all labellings."""
    drawn, metric = case.drawn, str(rng.choice(METRICS))
    X = draw_samples(rng, drawn, 7)
    y, n = draw_labels(rng, X), X.shape[0]
    setting, intercept = draw_setting(rng, X, drawn)
    sees = metric in ("f1", "fbeta", "error")
    if not sees:
        setting.intercept = "none"
        intercept = {"intercept": "free"}
    common, beta = draw_common(rng, drawn, ("bundle",), 5.0), float(rng.choice([0.5, 2.0]))
    k, plus = int(rng.integers(1, n + 1)) if rng.random() < 0.4 else None, int((y == 1).sum())
    drawn.update(metric=metric, k=k, intercept=setting.intercept)
    model = mm.MetricSVC(metric, beta=beta, k=k, **intercept, **common).fit(X, y)
    signs, C = exact(np.where(y == 1, 1.0, -1.0)), Decimal(common["C"])
    if metric == "roc_auc":
        cut = pair_metric(signs, np.full(n, C), np.zeros(n, int))
    else:
        chosen = plus if metric == "prbep" or k is None else k
        cut = label_metric(metric, signs, C, Decimal(beta) if metric == "fbeta" else ONE, chosen)
    seen = setting.read(model.coef_, np.ravel(model.intercept_)[0] if sees else 0.0)
    objective, points = ListObjective(setting.Z, setting.free, cut), {"machine": seen}
    if setting.free:
        setting.shift, point = find_shift(model), model.result_.point
        points["point"] = setting.read_point(point.coef, point.b, seen)
    add_vector_claim(case, model.result_, common["tol"], objective, points)


def try_ranking(rng: np.random.Generator, case: Case) -> None:
    """RankSVM: pairs within queries."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 9)
    n, weight = X.shape[0], draw_weights(rng, X.shape[0], drawn)
    y, groups = rng.integers(0, 3, n).astype(float), rng.integers(0, 2, n) if rng.random() < 0.5 else np.zeros(n, int)
    common = draw_common(rng, drawn, ("bundle",), 5.0)
    model = mm.RankSVM(**common).fit(X, y, group=groups, sample_weight=weight)
    c = weigh(common["C"], weight, n)
    counted = c > 0
    setting = LinearSetting(to_exact(X)[counted], "none", ONE)
    objective = ListObjective(setting.Z, False, pair_metric(exact(y)[counted], c[counted], groups[counted]))
    add_vector_claim(case, model.result_, common["tol"], objective, {"machine": setting.read(model.coef_, 0.0)})


def try_structured(rng: np.random.Generator, case: Case) -> None:
    """StructuredSVM: short chains, and classes."""
    drawn, chain = case.drawn, bool(rng.random() < 0.6)
    n, d, k = int(rng.integers(2, 5)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    scale = draw_power(rng, -4, 4) if rng.random() < 0.4 else 1.0
    lengths = rng.integers(1, 4, n) if chain else np.ones(n, int)
    X = [scale * rng.normal(size=(length, d)) for length in lengths]
    y = [rng.integers(0, k, length) for length in lengths]
    y[0][0], y[1][0] = 0, k - 1
    weight = draw_weights(rng, n, drawn)
    common = draw_common(rng, drawn, ("frank_wolfe", "structured_bundle"), 4.0)
    drawn.update(chain=chain, n=n, d=d, k=k, scale=scale)
    labels = np.unique(np.concatenate(y))
    model = mm.StructuredSVM(mm.ChainModel() if chain else mm.MulticlassModel(), **common)
    if chain:
        model.fit(X, y, sample_weight=weight)
    else:
        model.fit(np.concatenate(X), np.concatenate(y), sample_weight=weight)
    c = weigh(common["C"], weight, n)
    tables = [
        list_labellings(exact(x), np.searchsorted(labels, z), len(labels), chain) for x, z in zip(X, y, strict=True)
    ]
    objective = StructuredObjective(tables, c)
    add_vector_claim(case, model.result_, common["tol"], objective, {"machine": exact(model.coef_)})


def list_labellings(x: np.ndarray, y: np.ndarray, k: int, chain: bool) -> tuple[np.ndarray, np.ndarray]:
    """Delta and psi(x, z) - psi(x, y) for every labelling z."""
    labellings = list(np.ndindex(*(k,) * len(y)))
    features = np.array([join_features(x, z, k, chain) for z in labellings], object)
    losses = np.array([Decimal(int(np.sum(np.array(z) != y))) for z in labellings], object)
    return losses, features - join_features(x, tuple(y), k, chain)


def join_features(x: np.ndarray, z: tuple, k: int, chain: bool) -> np.ndarray:
    """psi(x, z): features by label, transitions, first and last label."""
    d = x.shape[1]
    psi = zeros(d * k + (k * k + 2 * k if chain else 0))
    for row, label in zip(x, z, strict=True):
        psi[np.arange(d) * k + label] += row
    if chain:
        for before, after in pairwise(z):
            psi[d * k + before * k + after] += ONE
        psi[d * k + k * k + z[0]] += ONE
        psi[d * k + k * k + k + z[-1]] += ONE
    return psi


# ---- other libraries, and the judge alone -----------------------------------------------------------------------


def try_foreign(rng: np.random.Generator, case: Case) -> None:
    """certify on scikit-learn's machines."""
    drawn, kind = case.drawn, str(rng.choice(["SVC", "SVR", "OneClassSVM", "LinearSVC", "LinearSVR"]))
    X = draw_samples(rng, drawn, 10, dense=True)
    n, C = X.shape[0], draw_power(rng, -4, 4)
    tol, weight = draw_power(rng, -8, -2), draw_weights(rng, X.shape[0], drawn) if kind != "OneClassSVM" else None
    weight = None if weight is None else np.maximum(weight, 1e-3)
    y = draw_labels(rng, X) if kind in ("SVC", "LinearSVC") else draw_targets(rng, n, drawn)
    kernel = str(rng.choice(["linear", "rbf"]))
    drawn.update(model=kind, C=C, tol=tol, kernel=kernel)
    if kind.startswith("Linear"):
        certify_foreign_linear(rng, case, kind, X, y, weight, C, tol)
        return
    parameters = {"kernel": kernel, "tol": tol, "max_iter": 100000}
    parameters |= {"nu": 0.4} if kind == "OneClassSVM" else {"C": C}
    targets = None if kind == "OneClassSVM" else y
    model = getattr(sklearn.svm, kind)(**parameters).fit(X, targets, sample_weight=weight)
    certificate = mm.certify(model, X, targets, weight)
    K, coef, b = kernel_matrix(kernel, exact(X), Decimal(float(model._gamma))), zeros(n), exact(model.intercept_)
    coef[model.support_] = exact(model.dual_coef_[0])
    c, free = weigh(1.0 if kind == "OneClassSVM" else C, weight, n), zeros(1)
    if kind == "SVC":
        objective = Objective(K, exact(np.where(y == 1, 1.0, -1.0)), c, "hinge", ONE, free)
    elif kind == "SVR":
        objective = Objective(K, exact(y), c, "epsilon_insensitive", Decimal(model.epsilon), free)
    else:
        objective = Objective(K, np.full(n, ONE), c, "novelty", ONE, np.array([exact(model.nu) * total(c)], object))
    values = {"machine": objective.value_of_kernel(coef, b)}
    case.claims.append(Claim(certificate, values, objective.least))


def certify_foreign_linear(rng: np.random.Generator, case: Case, kind: str, X, y, weight, C: float, tol: float) -> None:
    """LIBLINEAR's machines, which keep no duals."""
    intercept = bool(rng.random() < 0.7)
    make = sklearn.svm.LinearSVC if kind == "LinearSVC" else sklearn.svm.LinearSVR
    loss = str(rng.choice(["hinge", "squared_hinge"] if kind == "LinearSVC" else REGRESSION[3:5]))
    case.drawn.update(loss=loss, intercept=intercept)
    model = make(loss=loss, C=C, tol=tol, fit_intercept=intercept, dual=True, random_state=0).fit(X, y, weight)
    certificate = mm.certify(model, X, y, weight, max_seconds=FIT_SECONDS)
    setting = LinearSetting(exact(X), "regularised" if intercept else "none", ONE)
    targets = exact(np.where(y == 1, 1.0, -1.0)) if kind == "LinearSVC" else exact(y)
    held, c = setting.Z, weigh(C, weight, len(y))
    parameter = ONE if kind == "LinearSVC" else ZERO
    seen = setting.read(model.coef_, np.ravel(model.intercept_)[0] if intercept else 0.0)
    value = SmoothObjective(held, targets, c, loss, False, parameter=parameter).value(seen)
    objective = Objective(held @ held.T, targets, c, loss, parameter)
    case.claims.append(Claim(certificate, {"machine": value}, objective.least))


def try_judge(rng: np.random.Generator, case: Case) -> None:
    """The judge alone: at the optimum in eighty digits rounded to sixteen, near it, or far from it."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, dense=True)
    loss = str(rng.choice(["hinge", "squared_hinge", "least_squares", "absolute", "epsilon_insensitive", "huber"]))
    label, n = "hinge" in loss, X.shape[0]
    y = np.where(draw_labels(rng, X) == 0, 1.0, -1.0) if label else draw_targets(rng, n, drawn)
    c = draw_power(rng, -8, 8) * (np.ones(n) if rng.random() < 0.5 else 10.0 ** rng.uniform(-2, 2, n))
    name, free = str(rng.choice(["linear", "rbf", "poly", "laplacian"])), bool(rng.random() < 0.6)
    kernels = {"linear": Linear(), "rbf": RBF(), "poly": Polynomial(2, coef0=1.0), "laplacian": Laplacian()}
    kernel = kernels[name].bind(X)
    gram = Gram.from_data(kernel, X)
    problem = Problem(gram, y, c, LOSSES[loss](), 0.0 if free else None)
    K = kernel_matrix(name, exact(X), Decimal(float(getattr(kernel, "gamma", 0.0))), ONE, 2)
    parameter = {"epsilon_insensitive": exact(0.1)}.get(loss, ONE)
    objective = Objective(K, exact(y), exact(c), loss, parameter, zeros(1) if free else zeros(0))
    best, a, b = objective.solve()
    noise = float(rng.choice([0.0, 0.0, 1e-15, 1e-10, 1e-3, 1.0]))
    a = a.astype(float) * (1.0 + noise * rng.normal(size=n)) if noise < 1 else c * rng.normal(size=n)
    b = (float(b[0]) if free else 0.0) * (1.0 + noise * rng.normal() * free)
    drawn.update(loss=loss, kernel=name, free=free, noise=noise, c=float(c.max()))
    certificate = mm.certify(problem, Point(a, b))
    values = {"point": objective.value_of_kernel(exact(a), exact(np.array([b])) if free else zeros(0))}
    case.claims.append(Claim(certificate, values, lambda: best))
    if name == "linear":
        w = Design(gram.samples).combine(a)
        line = mm.certify(Problem(Design(gram.samples), y, c, LOSSES[loss](), problem.balance), Point(a, b, w))
        v = exact(w)[:-1]
        value = objective.value(exact(X) @ v, HALF * (v @ v), exact(np.array([b])) if free else zeros(0))
        case.claims.append(Claim(line, {"w": value}, lambda: best, "design"))


def try_risk_bounds(rng: np.random.Generator, case: Case) -> None:
    """risk_bounds: the certificate on which all its numbers depend."""
    drawn = case.drawn
    X = draw_samples(rng, drawn, 7, dense=True)
    y, common = draw_labels(rng, X), draw_common(rng, drawn, (), 4.0)
    kernel = str(rng.choice(["linear", "rbf"]))
    drawn.update(kernel=kernel)
    model = mm.SVC(kernel=kernel, **common).fit(X, y)
    bounds = mm.risk_bounds(model, X, y, exact=False, max_seconds=FIT_SECONDS)
    K = kernel_matrix(kernel, exact(X), Decimal(float(model._gamma)))
    signs = exact(np.where(y == 0, 1.0, -1.0))
    objective = Objective(K, signs, weigh(common["C"], None, len(y)), "hinge", ONE, zeros(1))
    claim = add_dual_machine(Claim(bounds.certificate, {}, objective.least), objective, K, model, "free", -1)
    case.claims.append(add_linear_machine(claim, objective, X, model, -1))


# ---- convex functions -------------------------------------------------------------------------------------------

METHODS = ["cutting-plane", "cutting-plane-line-search", "proximal-bundle", "trust-region-bundle", "level-bundle"]


@dataclass
class Bound:
    """What `minimize` claims, under the names of a certificate."""

    primal: float
    dual: float
    gap: float
    relative_gap: float
    rounding: float = 0.0
    floor: float = 1.0
    convex: bool = True


class Oracle:
    """max_k <g_k, x> + o_k or sum_j s_j |x_j - t_j|, each value rounded once; the largest value is kept."""

    def __init__(self, slopes: np.ndarray, offsets: np.ndarray, absolute: bool):
        self.slopes, self.offsets, self.absolute, self.largest_value = exact(slopes), exact(offsets), absolute, ZERO

    def evaluate(self, x: np.ndarray) -> tuple[Decimal, np.ndarray]:
        """The exact value and a subgradient."""
        if self.absolute:
            return total(self.slopes * abs(x - self.offsets)), np.where(x > self.offsets, self.slopes, -self.slopes)
        heights = self.slopes @ x + self.offsets
        best = max(range(len(heights)), key=lambda k: heights[k])
        return heights[best], self.slopes[best]

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and subgradient in float64, as `minimize` expects them."""
        value, slope = self.evaluate(exact(x))
        self.largest_value = max(self.largest_value, abs(value))
        return float(value), slope.astype(float)


def try_minimize(rng: np.random.Generator, case: Case) -> None:
    """minimize: a maximum of planes with a ridge, or weighted distances in a box, with minimum zero."""
    drawn, absolute, d = case.drawn, bool(rng.random() < 0.4), int(rng.integers(1, 4))
    method, tol = str(rng.choice(METHODS)), draw_power(rng, -10, -2)
    shape, size = (d,) if absolute else (int(rng.integers(2, 8)), d), draw_power(rng, -4, 4)
    slopes = size * (np.abs(rng.normal(size=shape)) if absolute else rng.normal(size=shape))
    offsets = rng.normal(size=d if absolute else len(slopes)) * draw_power(rng, -3, 3)
    ridge = 0.0 if absolute else draw_power(rng, -4, 4)
    reach = float(np.abs(offsets).max()) + 1.0
    oracle = Oracle(slopes, offsets, absolute)
    drawn.update(method=method, tol=tol, absolute=absolute, d=d, size=size, ridge=ridge)
    found = mm.minimize(
        oracle, rng.normal(size=d), method, ridge=ridge, tol=tol, max_seconds=FIT_SECONDS,
        bounds=(-reach, reach) if absolute else None,
    )  # fmt: skip
    x, weight = exact(found.x), Decimal(ridge)
    value = oracle.evaluate(x)[0] + HALF * weight * total(x * x)

    def least() -> Decimal:
        if absolute:
            return ZERO
        scaled = lambda v: tuple(part / weight for part in oracle.evaluate(v))  # noqa: E731
        return weight * cut_planes(scaled, [x], np.zeros(d, bool))[0]

    share = found.gap / max(1.0, abs(found.fun), abs(found.lower_bound)) if np.isfinite(found.gap) else np.inf
    bound = Bound(found.fun, found.lower_bound, found.gap, share)
    slack = (oracle.largest_value + abs(value)) * Decimal(2) ** -51  # no method can see what the rounded values hide
    case.claims.append(Claim(bound, {"x": value}, least, tol=tol, status=found.status, slack=slack))


# ---- the trial --------------------------------------------------------------------------------------------------

FORMERLY_FALSE_CASES = (  # cases with a false claim once; if the sampling above changes, start a new list
    "RiskClassifier:901000210", "multivariate:901000243",
    "risk_bounds:7000032", "certify:7000053", "LinearSVC:7000042", "path:7000035", "multivariate:7000064",
    "SVC:7000052", "SVR:7000061", "NuSVC:4000036", "SVC:6000016", "SVR:6000090", "SVR:4000010",
    "judge:1000054", "judge:1000083",
    "LinearSVR:1000078", "LinearSVR:1000138",
    "SVR:1000063", "SVR:1000146",
    "risk_bounds:1000100", "risk_bounds:1000036",
    "RankSVM:1000120", "RankSVM:1000131", "RankSVM:1000053",
    "NuSVR:1000010", "NuSVR:1000048",
    "SVC:1000110", "SVC:1000092",
    "MetricSVC:1000049", "MetricSVC:1000029",
    "OneClassSVM:1000003", "OneClassSVM:1000110", "OneClassSVM:1000075",
    "LinearSVC:1000096", "LinearSVC:1000066",
    "LabelBlocks:1000062", "LabelBlocks:1000125",
    "certify:1000084", "certify:1000057",
    "RiskRegressor:1000001", "RiskRegressor:1000087",
    "path:1000055", "path:1000009",
    "RiskClassifier:1000035", "RiskClassifier:1000060",
    "TargetBlocks:1000090", "TargetBlocks:1000030",
    "NuSVC:1000035", "NuSVC:1000120",
    "multivariate:1000097", "multivariate:1000017",
    "joint:1000144", "joint:1000100",
    "StructuredSVM:1000131", "StructuredSVM:1000047",
)  # fmt: skip

FAMILIES: dict[str, Callable[[np.random.Generator, Case], None]] = {
    "SVC": try_svc,
    "SVR": try_svr,
    "OneClassSVM": try_one_class,
    "NuSVC": try_nu_svc,
    "NuSVR": try_nu_svr,
    "LinearSVC": lambda rng, case: try_linear_classifier(rng, case, mm.LinearSVC),
    "LinearSVR": lambda rng, case: try_linear_regressor(rng, case, mm.LinearSVR),
    "RiskClassifier": lambda rng, case: try_linear_classifier(rng, case, mm.RiskClassifier),
    "RiskRegressor": lambda rng, case: try_linear_regressor(rng, case, mm.RiskRegressor),
    "LabelBlocks": lambda rng, case: try_linear_classifier(rng, case, mm.RiskClassifier, blocks=True),
    "TargetBlocks": lambda rng, case: try_linear_regressor(rng, case, mm.RiskRegressor, blocks=True),
    "joint": try_joint,
    "multivariate": try_multivariate,
    "path": try_path,
    "MetricSVC": try_metric,
    "RankSVM": try_ranking,
    "StructuredSVM": try_structured,
    "certify": try_foreign,
    "judge": try_judge,
    "risk_bounds": try_risk_bounds,
    "minimize": try_minimize,
}


def try_case(name: str) -> Case:
    """The case with this name, such as "SVC:123", fitted, with its claims."""
    family, number = name.split(":")
    case = Case(name)
    rng = np.random.default_rng([zlib.crc32(family.encode()), int(number)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            FAMILIES[family](rng, case)
        except np.linalg.LinAlgError as error:  # NumPy makes it a ValueError, but it is not a refusal
            case.crashed = f"LinAlgError: {error}"
        except ValueError as error:
            case.refused = f"{type(error).__name__}: {error}".splitlines()[0]
        except Exception as error:
            case.crashed = f"{type(error).__name__}: {error}".splitlines()[0]
    return case


@dataclass
class FalseClaim:
    """A false claim: its kind, what was said, by how much it is wrong, and the size of P and D to compare with."""

    kind: str
    statement: str
    amount: Decimal = INFINITY
    size: Decimal = ONE
    part: str = ""

    @property
    def share(self) -> float:
        """The amount divided by the size of P and D."""
        return float(self.amount / self.size) if self.size > 0 else np.inf

    @property
    def concerns_point(self) -> bool:
        """Whether it is about the point that was judged, not about the machine that the user sees."""
        return not self.statement.startswith(("machine", "coef_"))

    def __str__(self) -> str:
        return f"{self.kind} {self.part}: {self.statement} {float(self.amount):.3g}, {self.share:.2g} of its size"


def find_false_claims(claim: Claim) -> list[FalseClaim]:
    """Everything that is false in a claim."""
    certificate = claim.certificate
    numbers = [certificate.primal, certificate.dual, certificate.gap, certificate.rounding]
    if any(np.isnan(number) for number in numbers) or certificate.rounding < 0:
        return [FalseClaim("not a number", f"primal, dual, gap, rounding = {numbers}")]
    if claim.converged and not certificate.relative_gap <= claim.tol:
        return [FalseClaim("converged but not", f"relative gap {certificate.relative_gap:.3g} > tol {claim.tol:.3g}")]
    if certificate.convex is not True or not claim.values:
        return []
    primal, dual, gap, _ = (Decimal(float(number)) for number in numbers)
    known, reached = claim.least(), min(claim.values.values())
    least, false_claims = min(known, reached), []
    claim.blunt = reached < known - ROUNDING_SHARE * abs(known)
    size = max(abs(primal), abs(dual), Decimal(float(certificate.floor)))
    noise = ROUNDING_SHARE * max(size, abs(least)) + claim.slack
    if dual > least + noise:
        false_claims.append(
            FalseClaim("dual above P*", f"dual {certificate.dual:.17g} above P* by", dual - least, size)
        )
    if 1e-290 < certificate.gap < np.inf and Decimal(float(certificate.relative_gap)) * size < gap * (
        1 - Decimal("1e-15")
    ):
        statement = f"relative gap {certificate.relative_gap:.17g} of {float(size):.17g} is below the gap by"
        false_claims.append(
            FalseClaim("relative gap", statement, gap - Decimal(float(certificate.relative_gap)) * size, size)
        )
    for name, value in claim.values.items():
        if primal < value - noise:
            false_claims.append(
                FalseClaim(
                    "primal below P", f"{name}: primal {certificate.primal:.17g} below P by", value - primal, size
                )
            )
        if gap < value - least - noise:
            false_claims.append(
                FalseClaim(
                    "gap below truth", f"{name}: gap {certificate.gap:.17g} too small by", value - least - gap, size
                )
            )
        if claim.converged and value - least > Decimal(claim.tol) * size:
            false_claims.append(
                FalseClaim("converged but not", f"{name}: tol {claim.tol:.3g}, P - P* is", value - least, size)
            )
    return false_claims


def judge_case(case: Case) -> list[FalseClaim]:
    """All lies of a case."""
    false_claims = [FalseClaim("crashed", case.crashed)] if case.crashed else []
    for claim in case.claims:
        false_claims += [replace(false_claim, part=claim.part) for false_claim in find_false_claims(claim)]
    return false_claims


def name_cases(cases: int, seed: int, only: list[str] | None = None) -> list[str]:
    """The names of this many cases, taking the families in turn."""
    families = only or list(FAMILIES)
    return [f"{families[k % len(families)]}:{seed * 1000000 + k // len(families)}" for k in range(cases)]


def is_limited(status: mm.Status | None) -> bool:
    """Whether a fit ended because float64 cannot certify a smaller gap."""
    return status is not None and status.value == "rounding_limit"


class FamilyCounts:
    """Counts and reports for one family."""

    def __init__(self):
        self.counts, self.rounding, self.reports, self.refusals = Counter(), 0.0, [], Counter()

    def add(self, case: Case, false_claims: list[FalseClaim]) -> None:
        """Count one more case."""
        gross = any(false_claim.share > VISIBLE_SHARE for false_claim in false_claims)
        self.refusals.update([case.refused] if case.refused else [])
        self.counts.update(tried=1, refused=int(bool(case.refused)), liars=int(bool(false_claims)), gross=int(gross))
        self.counts.update({false_claim.kind for false_claim in false_claims})
        self.counts.update(
            {
                "machine only": int(
                    bool(false_claims) and not any(false_claim.concerns_point for false_claim in false_claims)
                )
            }
        )
        if false_claims:
            worst = max(false_claims, key=lambda false_claim: false_claim.share)
            self.reports.append((worst.share, f"{worst}\n    {case}"))
        for claim in case.claims:
            certificate = claim.certificate
            self.counts.update(claims=1, converged=int(claim.converged), limit=int(is_limited(claim.status)))
            self.counts.update(doubtful=int(certificate.convex is not True), blunt=int(claim.blunt))
            share = certificate.rounding / max(abs(certificate.primal), 1e-300)
            self.rounding = max(self.rounding, share if np.isfinite(share) else 0.0)


def main(argv: list[str] | None = None) -> int:
    """Try cases and print the table; returns the number of cases with lies."""
    parser = argparse.ArgumentParser(description="Look for certificates that lie.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(FAMILIES))
    parser.add_argument("--case", help="one case by its name, such as SVC:123")
    options = parser.parse_args(argv)
    tallies: dict[str, FamilyCounts] = {}
    for name in [options.case] if options.case else name_cases(options.cases, options.seed, options.only):
        with many_digits():
            if options.case:
                try_case(name)  # the first fit of a process compiles, which would use up its time limit
            case = try_case(name)
            tallies.setdefault(name.split(":")[0], FamilyCounts()).add(case, judge_case(case))
        if options.case:
            print(case, case.refused, case.crashed, *(claim.certificate for claim in case.claims), sep="\n")
    print_table(tallies)
    return sum(tally.counts["liars"] for tally in tallies.values())


def print_table(tallies: dict[str, FamilyCounts]) -> None:
    """One line per family, then the lies, the worst first.

    A claim is doubtful if its kernel is not known to be positive semidefinite, and blunt if no better point was found
    than that of the fit itself. A lie is gross if it shows in nine digits.
    """
    columns = (
        "tried",
        "refused",
        "claims",
        "converged",
        "limit",
        "doubtful",
        "blunt",
        "liars",
        "gross",
        "machine only",
        *FALSE_CLAIM_KINDS,
    )
    width = {column: max(len(column), 5) + 2 for column in columns}
    print(f"{'':18}" + "".join(f"{column:>{width[column]}}" for column in columns) + "  rounding/primal")
    for family, tally in tallies.items():
        counts = "".join(f"{tally.counts[column]:{width[column]}}" for column in columns)
        print(f"{family:18}{counts}{tally.rounding:17.2g}")
    for refusal, count in sum((tally.refusals for tally in tallies.values()), Counter()).most_common(5):
        print(f"refused {count} times: {refusal}")
    reports = sorted((report for tally in tallies.values() for report in tally.reports), reverse=True)
    print(*(text for _, text in reports), sep="\n")


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
