"""Four losses as a user would write them, and the least P that scipy.optimize finds for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from maxmargin.contracts import Loss, PiecewiseLoss, SmoothTerms
from maxmargin.model.losses import make_piecewise
from maxmargin.model.losses.weighted import conjugate_of_weighted, entropy, invert_weights, safe_log


@dataclass(frozen=True)
class PinballHinge(PiecewiseLoss):
    """max(1 - y f, -tau (1 - y f))."""

    tau: float = 0.3
    name = "pinball_hinge"
    target = "label"

    def row(self, y, c):
        """p = -y, a between -tau y c and y c."""
        low, high = np.minimum(-self.tau * y * c, y * c), np.maximum(-self.tau * y * c, y * c)
        return make_piecewise(-y, 0.0, 0.0, low, high, c)


@dataclass(frozen=True)
class UnevenTube(PiecewiseLoss):
    """max(0, y - f - epsilon, share (f - y - epsilon)): predictions that are too high cost less."""

    epsilon: float = 0.1
    share: float = 0.25
    name = "uneven_tube"
    target = "real"

    def row(self, y, c):
        """p = -y, e = epsilon, a in [-share c, c]."""
        return make_piecewise(-y, 0.0, self.epsilon, -self.share * c, c, c)


@dataclass(frozen=True, eq=False)
class LogCoshTerms(SmoothTerms):
    """c log cosh r with r = f - y, and c ((1+t) log(1+t) + (1-t) log(1-t)) / 2 - a y with t = a / c."""

    y: np.ndarray
    c: np.ndarray

    def value(self, f):
        r = np.abs(f - self.y)
        return self.c * (r + np.log1p(np.exp(-2.0 * r)) - np.log(2.0))

    def response(self, f):
        a = -self.c * np.tanh(f - self.y)
        return a, a

    def second_derivative(self, f):
        return self.c * (1.0 - np.tanh(f - self.y) ** 2)

    def conjugate(self, a):
        t = a * invert_weights(self.c)
        inside = 0.5 * self.c * (entropy(1.0 + t) + entropy(1.0 - t)) - a * self.y
        return conjugate_of_weighted(self.c, a, inside)

    def slopes(self, a):
        t = a * invert_weights(self.c)
        slope = 0.5 * (safe_log(1.0 + t) - safe_log(1.0 - t)) - self.y
        return slope, slope


@dataclass(frozen=True)
class LogCosh(Loss):
    """log cosh(f - y)."""

    name = "log_cosh"
    target = "real"
    curvature = 1.0

    def terms(self, y, c):
        """l' = tanh(f - y)."""
        return LogCoshTerms(y, c)


@dataclass(frozen=True, eq=False)
class SoftHingeTerms(SmoothTerms):
    """c width log(1 + exp((1 - y f) / width)), and c (width (t log t + (1-t) log(1-t)) - t) with t = y a / c."""

    y: np.ndarray
    c: np.ndarray
    width: float

    def share(self, f):
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp((self.y * f - 1.0) / self.width))

    def value(self, f):
        return self.c * self.width * np.logaddexp(0.0, (1.0 - self.y * f) / self.width)

    def response(self, f):
        a = self.y * self.c * self.share(f)
        return a, a

    def second_derivative(self, f):
        return self.c * self.share(f) * (1.0 - self.share(f)) / self.width

    def conjugate(self, a):
        t = self.y * a * invert_weights(self.c)
        inside = self.c * (self.width * (entropy(t) + entropy(1.0 - t)) - t)
        return conjugate_of_weighted(self.c, a, inside)

    def slopes(self, a):
        t = self.y * a * invert_weights(self.c)
        slope = self.y * (self.width * (safe_log(t) - safe_log(1.0 - t)) - 1.0)
        return slope, slope


@dataclass(frozen=True)
class SoftHinge(Loss):
    """width log(1 + exp((1 - y f) / width)): the hinge with its kink rounded off."""

    width: float = 0.5
    name = "soft_hinge"
    target = "label"

    @property
    def curvature(self):
        """At y f = 1."""
        return 0.25 / self.width

    def terms(self, y, c):
        """t = y a / c."""
        return SoftHingeTerms(y, c, self.width)


LABEL_LOSSES = [PinballHinge(), SoftHinge()]
REAL_LOSSES = [UnevenTube(), LogCosh()]

# The same formulas once more, as maxima of lines s r + t with r = y f or r = f - y, or as functions of r.
LINES = {
    "pinball_hinge": lambda loss: [(-1.0, 1.0), (loss.tau, -loss.tau)],
    "uneven_tube": lambda loss: [(0.0, 0.0), (-1.0, -loss.epsilon), (loss.share, -loss.share * loss.epsilon)],
}
SMOOTH = {
    "log_cosh": lambda loss, r: np.logaddexp(r, -r) - np.log(2.0),
    "soft_hinge": lambda loss, r: loss.width * np.logaddexp(0.0, (1.0 - r) / loss.width),
}


def evaluate(loss, f, y):
    """l(f; y) by the formula, without the row or the terms of the loss."""
    r = y * f if loss.target == "label" else f - y
    if loss.name in SMOOTH:
        return SMOOTH[loss.name](loss, r)
    return np.max([slope * r + level for slope, level in LINES[loss.name](loss)], axis=0)


def find_least_primal(loss, Z, y, c, free=True):
    """min 1/2 |w|^2 + sum_i c_i l(<w, z_i> + b; y_i) by scipy.optimize, and the scores there.

    Smooth losses by BFGS; maxima of lines as a quadratic program in (w, b, xi), xi_i at least as high as each line.
    """
    n, d = Z.shape

    def score(u):
        return Z @ u[:d] + (u[d] if free else 0.0)

    if loss.name in SMOOTH:
        found = minimize(
            lambda u: 0.5 * u[:d] @ u[:d] + c @ evaluate(loss, score(u), y),
            np.zeros(d + 1), method="BFGS", options={"gtol": 1e-6, "maxiter": 5000},
        )  # fmt: skip
        return float(found.fun), score(found.x)
    sign = y if loss.target == "label" else np.ones(n)
    shift = np.zeros(n) if loss.target == "label" else y
    columns = np.hstack([Z, np.full((n, 1), float(free))]) * sign[:, None]
    lines = LINES[loss.name](loss)
    A = np.vstack([np.hstack([-slope * columns, np.eye(n)]) for slope, _ in lines])
    least = np.concatenate([level - slope * shift for slope, level in lines])
    start = np.concatenate([np.zeros(d + 1), evaluate(loss, np.zeros(n), y) + 1.0])
    found = minimize(
        lambda u: 0.5 * u[:d] @ u[:d] + c @ u[d + 1 :],
        start,
        jac=lambda u: np.concatenate([u[:d], [0.0], c]),
        constraints={"type": "ineq", "fun": lambda u: A @ u - least, "jac": lambda u: A},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 2000},
    )
    return float(0.5 * found.x[:d] @ found.x[:d] + c @ evaluate(loss, score(found.x), y)), score(found.x)
