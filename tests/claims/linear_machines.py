"""Cases of linear machines, in memory and in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from exact_numbers import ONE, ZERO, exact, total, zeros
from exact_objectives import Objective, SmoothObjective

import maxmargin as mm
from claims.claim import Case, Claim
from claims.kernel_machines import draw_loss, find_shift
from claims.sampled_data import draw_common, draw_labels, draw_samples, draw_targets, draw_weights, to_exact, weigh
from maxmargin.blocks import Block, Blocks

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
