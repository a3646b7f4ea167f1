"""Five models, one problem: how each formulation becomes a `Problem`, and how a machine is read from its point.

A formulation builds the problem (`pose`), reads the machine f(x) = sum_i coef_i k(x_i, x) + b from a solved point
(`read`), and writes a given machine back as a point (`write`), which is how machines of other libraries are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .features import Gram, SignedGram
from .intercept import Intercept
from .loss_oracle import choose_loss_oracle
from .losses import Hinge, Loss, Novelty, PiecewiseConjugate, Quantile
from .problem import TARGET_ROUNDING, TINY, Point, Problem

HINGE = Hinge()
ZERO_SUM_TOLERANCE = 1e-12  # of the sum of |coef|: a smaller sum of coef is zero
BALANCING_TOL = 1e-9  # of the risk: how far above its least over b it may be where the duals balance
INTERCEPTS = ("free", "regularised", "none")


class Machine(NamedTuple):
    """f(x) = sum_i coef_i k(x_i, x) + b; `scale` is what the duals were multiplied by to become coef.

    Where the kernel is linear and `w` is given, f(x) = <w, x> + b, and coef reproduces w as well as float64 allows.
    """

    coef: np.ndarray
    b: float
    scale: float = 1.0
    w: np.ndarray | None = None


class JointMachines(NamedTuple):
    """The machines of many problems: the coefficients of all, one after the other; b and the scale of each.

    `scale` is None where the coefficients are the duals.
    """

    coef: np.ndarray
    b: np.ndarray
    scale: np.ndarray | None = None


class JointRows(NamedTuple):
    """Many problems with a free intercept, one after the other: the five numbers of every dual, and what each sums to.

    Attributes
    ----------
    row : PiecewiseConjugate
        Of shape (layers, places).
    weights : ndarray of shape (layers, places)
        c.
    balance : ndarray of shape (number of problems, layers)
    has_balance : bool
        Whether these numbers may be other than zero.
    least_sizes : ndarray of shape (number of problems,)
        `Problem.least_size` of each.
    """

    row: PiecewiseConjugate
    weights: np.ndarray
    balance: np.ndarray
    has_balance: bool
    least_sizes: np.ndarray

    @classmethod
    def of(
        cls, terms: Any, y: np.ndarray, c: np.ndarray, balance: np.ndarray | None, starts: list[int]
    ) -> JointRows | None:
        """The rows of terms over y and c; None if the loss has no such rows. No balance is one layer that sums to 0."""
        if not terms.piecewise:
            return None
        has_balance = balance is not None
        balance = np.zeros((len(starts), 1)) if balance is None else balance
        layers = balance.shape[1]
        row = PiecewiseConjugate(*[np.ascontiguousarray(part).reshape(layers, -1) for part in terms])
        sizes = c * (1.0 + np.abs(y))
        least = TARGET_ROUNDING * np.add.reduceat(sizes if sizes.ndim == 1 else sizes.sum(axis=0), starts)
        if has_balance:
            least = np.maximum(np.abs(balance).max(axis=1), least)
        return cls(row, c.reshape(layers, -1), balance, has_balance, np.maximum(least, TINY))


@dataclass(frozen=True)
class Formulation:
    """What all formulations share: the intercept. Regularised means a constant column `scaling`, so K + scaling^2."""

    intercept: str = "free"
    scaling: float = 1.0
    is_risk: ClassVar[bool] = False  # whether the problem is a loss of the scores of the samples as they are

    @property
    def offset(self) -> float:
        """What is added to the kernel: scaling^2 for a regularised intercept, else 0."""
        return self.scaling**2 if self.intercept == "regularised" else 0.0

    @property
    def free(self) -> bool:
        """Whether the intercept is outside the regulariser."""
        return self.intercept == "free"

    def pose_jointly(self, y: np.ndarray, c: np.ndarray, starts: list[int]) -> JointRows | None:
        """The rows of many problems that begin at `starts` in y and c; None if they cannot be posed so."""
        return None

    def read_jointly(self, a: np.ndarray, b: np.ndarray, rows: JointRows, starts: list[int], scores) -> JointMachines:
        """`read` for such problems, from all duals, the intercepts of each and the judge's scores."""
        if len(a) == 1:
            return JointMachines(a[0], b[:, 0].copy())
        return JointMachines(a.sum(axis=0), b.mean(axis=1))

    @property
    def translation_invariant(self) -> bool:
        """Whether phi(x) - m in place of phi(x) changes b alone, whatever m: where all duals sum to zero together."""
        return self.free

    def intercept_of(self, coef: np.ndarray, b: float) -> float:
        """b where it is free, else what the constant column amounts to."""
        return b if self.free else self.offset * fsum(coef)

    def intercept_excess(self, machine: Machine) -> float:
        """What a machine's intercept has beyond the one its coefficients imply: zero, unless someone moved it."""
        return machine.b - self.intercept_of(machine.coef, machine.b)


def sums_to_zero(coef: np.ndarray) -> bool:
    """Whether the coefficients of each machine, one row each, sum to zero to rounding: those of others need not."""
    return bool((np.abs(coef.sum(axis=-1)) <= ZERO_SUM_TOLERANCE * np.abs(coef).sum(axis=-1)).all())


@dataclass(frozen=True)
class Risk(Formulation):
    """min 1/2 |w|^2 + sum_i c_i l(f_i; y_i): SVC and SVR with any loss."""

    loss: Loss = HINGE
    is_risk: ClassVar[bool] = True

    def pose(self, features: Gram, y: np.ndarray, c: np.ndarray) -> Problem:
        """The canonical problem itself."""
        return Problem(features, y, c, self.loss, 0.0 if self.free else None)

    def pose_jointly(self, y: np.ndarray, c: np.ndarray, starts: list[int]) -> JointRows | None:
        """The duals of each problem sum to zero."""
        if not self.free:
            return None
        return JointRows.of(self.loss.terms(y, c), y, c, None, starts)

    def read(self, problem: Problem, point: Point) -> Machine:
        """coef = a, or the coefficients that a solver of the primal has found."""
        coef = point.a if point.coef is None else point.coef
        return Machine(coef, self.intercept_of(coef, point.b), w=point.w)

    def write(self, problem: Problem, machine: Machine) -> Point:
        """a = coef; of a smooth loss the duals are the response to the scores, which coef only comes close to."""
        b = machine.b if self.free else self.intercept_excess(machine)
        if problem.row is not None:
            return Point(machine.coef, b, w=machine.w)
        return Point(respond(problem, machine.coef, b), b, machine.coef, w=machine.w)


def respond(problem: Problem, coef: np.ndarray, b: float) -> np.ndarray:
    """The duals at the scores of a machine; with a free intercept, at the nearest one for which they balance."""
    f, oracle = problem.features.scores(coef), choose_loss_oracle(problem)
    at_machine = oracle.loss_response(f, b)
    if problem.balance is None:
        return at_machine.a
    search = Intercept(oracle, float(problem.balance), at_machine.value)
    return search.minimise_intercept(f, b, BALANCING_TOL).a


@dataclass(frozen=True)
class OneClass(Formulation):
    """min 1/2 |w|^2 - nu (sum c) rho + sum_i c_i max(0, rho - <w, phi(x_i)>), with b = -rho."""

    nu: float = 0.5
    translation_invariant = False  # the duals sum to nu sum(c), and rho does not stand for b

    def pose(self, features: Gram, y: np.ndarray, c: np.ndarray) -> Problem:
        """Novelty at rho = 0 with the balance nu sum(c)."""
        return Problem(features, y, c, Novelty(), self.nu * c.sum())

    def pose_jointly(self, y: np.ndarray, c: np.ndarray, starts: list[int]) -> JointRows | None:
        """The duals of each problem sum to nu sum(c)."""
        balance = np.array([[self.nu * c[cut].sum()] for cut in cut_at(starts, len(c))])
        return JointRows.of(Novelty().terms(y, c), y, c, balance, starts)

    def read(self, problem: Problem, point: Point) -> Machine:
        """coef = a, or the coefficients that a solver of the primal has found; b = -rho."""
        return Machine(point.a if point.coef is None else point.coef, point.b, w=point.w)

    def write(self, problem: Problem, machine: Machine) -> Point:
        """a = coef, b = -rho."""
        return Point(machine.coef, machine.b, w=machine.w)


@dataclass(frozen=True)
class NuClassification(Formulation):
    """min 1/2 |w|^2 - nu (sum c) rho + sum_i c_i max(0, rho - y_i f_i), then divided by rho so that margins are 1.

    With a free intercept the two classes see b - rho and b + rho: two layers. Without one, rho alone is free and the
    problem is that of one class on the samples y_i phi(x_i).
    """

    nu: float = 0.5

    def pose(self, features: Gram, y: np.ndarray, c: np.ndarray) -> Problem:
        """Two layers of hinges at margin 0, or one class of signed samples."""
        total = (min(self.nu, largest_nu(y, c)) if self.free else self.nu) * c.sum()
        if not self.free:
            return Problem(SignedGram(features, np.arange(len(y)), y), np.ones(len(y)), c, Novelty(), total)
        sides = np.array([1.0, -1.0])
        layers = np.where(sides[:, None] == y, c, 0.0)
        return Problem(features, np.repeat(sides[:, None], len(y), 1), layers, Hinge(0.0), 0.5 * total * sides)

    def pose_jointly(self, y: np.ndarray, c: np.ndarray, starts: list[int]) -> JointRows | None:
        """Two layers of hinges at margin 0 for each problem."""
        if not self.free:
            return None
        sides, cuts = np.array([1.0, -1.0]), cut_at(starts, len(y))
        totals = [min(self.nu, largest_nu(y[cut], c[cut])) * c[cut].sum() for cut in cuts]
        layers, of_layers = np.where(sides[:, None] == y, c, 0.0), np.repeat(sides[:, None], len(y), 1)
        balance = 0.5 * np.array(totals)[:, None] * sides
        return JointRows.of(Hinge(0.0).terms(of_layers, layers), of_layers, layers, balance, starts)

    def read(self, problem: Problem, point: Point) -> Machine:
        """coef = a / rho, b / rho."""
        coef = problem.features.combine(point.a)
        if not self.free:
            return self.divide_by_margin(coef, point.b, -point.b)
        return self.divide_by_margin(
            coef, *choose_margin_intercepts(point, problem.c, lambda: problem.features.scores(coef))
        )

    def read_jointly(self, a: np.ndarray, b: np.ndarray, rows: JointRows, starts: list[int], scores) -> JointMachines:
        """coef = a / rho, b / rho."""
        weights = np.add.reduceat(rows.weights, starts, axis=1)
        walls = b
        if (weights.min(axis=0) <= NEGLIGIBLE_CLASS_SHARE * weights.sum(axis=0)).any():
            cuts = cut_at(starts, a.shape[1])
            walls = np.array([
                choose_margin_intercepts(Point(a[:, cut], each), rows.weights[:, cut], lambda cut=cut: scores[cut])
                for cut, each in zip(cuts, b, strict=True)
            ])  # fmt: skip
        low, high = walls.T
        rho = 0.5 * (high - low)
        scale = np.divide(1.0, rho, out=np.ones(len(rho)), where=rho > 0)
        sizes = np.diff([*starts, a.shape[1]])
        return JointMachines(a.sum(axis=0) * scale.repeat(sizes), 0.5 * (low + high) * scale, scale)

    def divide_by_margin(self, coef: np.ndarray, low: float, high: float) -> Machine:
        """The machine whose margins are 1, from b - rho and b + rho."""
        rho = 0.5 * (high - low)
        scale = 1.0 / rho if rho > 0 else 1.0
        coef = coef * scale
        return Machine(coef, self.intercept_of(coef, 0.5 * (low + high) * scale), scale)

    def write(self, problem: Problem, machine: Machine) -> Point:
        """a = rho coef, with the rho that makes |a| sum to nu sum(c)."""
        size = np.abs(machine.coef).sum()
        rho = np.abs(problem.balance).sum() / size if size > 0 else 0.0
        a = rho * machine.coef
        if self.free:
            return Point(np.array([np.maximum(a, 0.0), np.minimum(a, 0.0)]), rho * (machine.b + np.array([-1.0, 1.0])))
        return Point(problem.features.sign * a, -rho + np.abs(rho * self.intercept_excess(machine)))


NEGLIGIBLE_CLASS_SHARE = 1e-3  # a class with less than this share of the weight is outvoted


def choose_margin_intercepts(point: Point, c: np.ndarray, find_scores: Callable[[], np.ndarray]) -> np.ndarray:
    """b - rho and b + rho; the wall of a class of negligible weight is moved beyond all samples.

    Where all duals of the lighter class are at their bound, P does not hold its wall: it may move away, rho growing
    with it, to the limit in which every sample goes to the heavier class. Solvers stop at the near end. That is the
    better machine, unless the class weights say that the lighter class does not count.
    """
    walls, weights = np.array(point.b, float), c.sum(axis=1).tolist()
    light = 0 if weights[0] <= weights[1] else 1
    if (
        weights[light] > NEGLIGIBLE_CLASS_SHARE * sum(weights)
        or np.abs(point.a[light]).sum() < (1 - 1e-12) * weights[light]
    ):
        return walls
    heavy = -1.0 if light == 0 else 1.0  # the first layer is that of the class +1
    walls[light] += 2.0 * heavy * (np.abs(find_scores() + walls.mean()).max() + 1.0)
    return walls


def largest_nu(y: np.ndarray, c: np.ndarray) -> float:
    """2 min(c_+, c_-) / (c_+ + c_-): beyond this nu the duals of the two classes cannot balance."""
    return 2.0 * min(float(c[y > 0].sum()), float(c[y < 0].sum())) / float(c.sum())


def cut_at(starts: list[int], end: int) -> list[slice]:
    """The parts of arrays of `end` places that begin at `starts`."""
    return [slice(start, stop) for start, stop in pairwise([*starts, end])]


@dataclass(frozen=True)
class NuRegression(Formulation):
    """min 1/2 |w|^2 + nu (sum c) epsilon + sum_i c_i max(0, |f_i - y_i| - epsilon), over epsilon too.

    The upper and the lower wall of the tube see b + epsilon and b - epsilon: two layers of one-sided losses over the
    same samples. Without a free intercept, one layer over the samples taken twice, with both signs.
    """

    nu: float = 0.5

    def pose(self, features: Gram, y: np.ndarray, c: np.ndarray) -> Problem:
        """Quantile losses at q = 1 (below the tube) and q = 0 (above it)."""
        total = self.nu * c.sum()
        if self.free:
            sides = np.array([1.0, -1.0])
            walls = Quantile(np.array([[1.0], [0.0]]))
            return Problem(features, np.stack([y, y]), np.stack([c, c]), walls, 0.5 * total * sides)
        twice = np.tile(np.arange(len(y)), 2)
        sign = np.repeat([1.0, -1.0], len(y))
        return Problem(SignedGram(features, twice, sign), sign * y[twice], c[twice], Quantile(1.0), total)

    def pose_jointly(self, y: np.ndarray, c: np.ndarray, starts: list[int]) -> JointRows | None:
        """Two layers of quantile losses for each problem."""
        if not self.free:
            return None
        sides, walls = np.array([1.0, -1.0]), Quantile(np.array([[1.0], [0.0]]))
        totals = np.array([self.nu * c[cut].sum() for cut in cut_at(starts, len(c))])
        targets, weights = np.stack([y, y]), np.stack([c, c])
        return JointRows.of(walls.terms(targets, weights), targets, weights, 0.5 * totals[:, None] * sides, starts)

    def read(self, problem: Problem, point: Point) -> Machine:
        """coef = a+ + a-, b between the walls."""
        coef = problem.features.combine(point.a)
        return Machine(coef, self.intercept_of(coef, float(np.mean(point.b))))

    def write(self, problem: Problem, machine: Machine) -> Point:
        """The two signs of coef in their layers, and the epsilon that suits (w, b) best."""
        parts = np.array([np.maximum(machine.coef, 0.0), np.minimum(machine.coef, 0.0)])
        parts = add_to_both_sides(parts, problem)
        b = machine.b if self.free else 0.0
        epsilon = self.best_tube_width(problem, machine, b)
        if self.free:
            return Point(parts, b + np.array([epsilon, -epsilon]))
        return Point(np.concatenate([parts[0], -parts[1]]), epsilon + np.abs(self.intercept_excess(machine)))

    def best_tube_width(self, problem: Problem, machine: Machine, b: float) -> float:
        """argmin over epsilon of nu (sum c) epsilon + sum_i c_i max(0, |r_i| - epsilon): a quantile of |r|."""
        n = len(machine.coef)
        scores = problem.features.scores(machine.coef)
        scores, y, c = (np.ravel(part)[:n] for part in (scores, problem.y, problem.c))
        residuals = np.abs(scores + b - y)
        order = np.argsort(-residuals)
        outside = np.cumsum(c[order])
        last = np.searchsorted(outside, np.abs(problem.balance).sum())
        return float(residuals[order[min(last, n - 1)]])


def add_to_both_sides(parts: np.ndarray, problem: Problem) -> np.ndarray:
    """Raise a+ and lower a- of the same samples alike until |a| sums to its balance: w does not change."""
    c = np.ravel(problem.c)[: parts.shape[1]]
    missing = 0.5 * (np.abs(problem.balance).sum() - np.abs(parts).sum())
    if missing <= 0:
        return parts
    room = np.minimum(c - parts[0], c + parts[1])
    taken = np.clip(missing - (np.cumsum(room) - room), 0.0, np.maximum(room, 0.0))
    return parts + np.array([taken, -taken])
