"""The cutting plane algorithm of Joachims (2006) for linear SVMs, to be read beside Schmidt-Thieme (n.d.).

    min over w, xi   1/2 |w|^2 + gamma n xi
    subject to       1/n sum_i c_i y_i <w, x_i> >= |c|_1 / n - xi   for every c in {0, 1}^n,   xi >= 0

One slack for all constraints instead of one for each sample: the problem is that of the plain linear SVM with C = gamma
(a lemma of Schmidt-Thieme, n.d.; a test holds it), and the number of rounds does not depend on n. With sample weights,
s_i / sum s takes the place of 1/n. The dual of Schmidt-Thieme (n.d.) lacks a 1/2 before the quadratic term, and its
multipliers sum to at most gamma n, not gamma.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes
from ...model.problem import Point, Problem
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .cuts import Cuts
from .master import maximise_on_simplex

if TYPE_CHECKING:
    from ...contracts.samples import Samples
    from ...model.losses import Hinge
    from ...model.losses.piecewise import PiecewiseConjugate

ROUNDS_WITHOUT_PROGRESS_LIMIT = 2000  # rounds without a fall of the gap by a tenth before a run gives up


@dataclass(frozen=True)
class OneSlack(Solver):
    """w = sum_c alpha_c q_c over the constraints found so far, q_c = 1/n sum_i c_i y_i x_i.

    Parameters
    ----------
    epsilon : float, optional
        Stop once the newest constraint is violated by at most epsilon more than xi: line (11) of Schmidt-Thieme (n.d.).
        By default the certified gap decides, as for every solver.

    See Also
    --------
    Bundle : Faster, and with any loss.

    References
    ----------
    - Joachims (2006). Training linear SVMs in linear time. KDD, 217-226.
    - Schmidt-Thieme (n.d.). Learning SVMs / Bundle Methods. Lecture slides, University of Hildesheim.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVC, OneSlack
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]), np.array([0, 0, 1, 1])
    >>> machine = LinearSVC(loss="hinge", intercept="regularised", solver=OneSlack()).fit(X, y)
    >>> machine.predict(X).tolist(), machine.certificate_.relative_gap <= machine.tol
    ([0, 0, 1, 1], True)
    """

    epsilon: float | None = None
    name = "one_slack"
    formulation = "primal, by cuts"
    own_rule = "that no constraint is violated by more than xi + epsilon"
    takes = Takes("The 1-slack method", features="linear", structure="hinge", free_intercept=False)

    def __post_init__(self) -> None:
        epsilon = self.epsilon
        if epsilon is not None and (not isinstance(epsilon, Real) or not 0.0 <= epsilon < np.inf):
            raise ValueError(f"epsilon must be None or a number of at least 0, got {epsilon!r}.")

    @property
    def stop(self) -> str:  # type: ignore[override]
        """Which rule ends a run: that of Schmidt-Thieme (n.d.), or that of the gap."""
        return "gap" if self.epsilon is None else "epsilon"

    def refuse(self, problem: Problem) -> str | None:
        """Another margin than 1."""
        margin = cast("Hinge", problem.loss).margin
        return f"asks for a margin of 1, not of {margin:g}; use 'bundle'" if margin != 1.0 else None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> OneSlackRun:
        """A run from the constraint of all ones."""
        return OneSlackRun(self, problem, tol)


class OneSlackRun(Run):
    """Constraints c, their q_c and |c|_1 / n, and multipliers alpha; line numbers as in Schmidt-Thieme (n.d.)."""

    def __init__(self, solver: OneSlack, problem: Problem, tol: float):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.gamma_n = float(problem.c.sum())  # gamma n
        self.share = problem.c / max(self.gamma_n, 1e-300)  # 1/n
        self.y = np.sign(problem.y)
        self.size = cast("Samples", problem.features.samples).d + 1
        self.constraints = Cuts(self.size)  # rows q_c with offsets |c|_1 / n
        self.n_iter = 0
        self.alpha: np.ndarray | None = None
        self.best: np.ndarray | None = None
        self.primal, self.dual = np.inf, -np.inf
        self.w, self.xi, self.loss, self.violation = np.zeros(self.size), 0.0, np.inf, np.inf
        self.stall_detector = StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT)
        self.add(np.ones(problem.n, bool))  # (2), (3)

    def add(self, c: np.ndarray) -> None:
        """(9), (10): q_c := 1/n sum_i c_i y_i x_i joins the constraints."""
        q = self.problem.features.combine(np.where(c, self.share * self.y, 0.0))
        self.constraints.add(q, float(self.share[c].sum()), np.packbits(c))

    def take_round(self) -> None:
        """(5) to (11)."""
        self.maximise()  # (5)
        w = self.gamma_n * (self.alpha @ self.constraints.slopes)  # (6)
        xi = max(float((self.constraints.offsets - self.constraints.slopes @ w).max()), 0.0)  # (7)
        f = self.problem.features.scores(w)
        c = self.y * f < 1.0  # (8)
        loss = float((self.share * np.maximum(1.0 - self.y * f, 0.0)).sum())  # = |c|_1 / n - <w, q_c>
        self.add(c)
        self.w, self.xi, self.loss, self.violation = w, xi, loss, loss - xi  # (11)
        self.n_iter += 1
        if 0.5 * float(w @ w) + self.gamma_n * loss < self.primal:
            self.primal, self.best = 0.5 * float(w @ w) + self.gamma_n * loss, w

    def maximise(self) -> None:
        """(5): max -1/2 sum alpha_c alpha_d q_c.q_d + sum |c|_1/n alpha_c over alpha >= 0, sum alpha <= gamma n.

        In units of gamma n, and with the constraint c = 0, for which all is zero, the multipliers sum to one.
        """
        m = self.constraints.m
        G, q = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
        G[1:, 1:], q[1:] = self.gamma_n * self.constraints.products((1.0,)), self.constraints.offsets
        last = np.zeros(m + 1)
        if self.alpha is not None:
            last[1 : len(self.alpha) + 1] = self.alpha
            last[0] = max(1.0 - self.alpha.sum(), 0.0)
        found = maximise_on_simplex(G, q, None if self.alpha is None else last)
        self.alpha = found[1:]
        self.dual = self.gamma_n * float(q @ found - 0.5 * found @ G @ found)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while True:
            if self.reached():
                return Outcome.DONE
            if self.n_iter >= last or time.perf_counter() >= end:
                return Outcome.GOING
            self.take_round()
            if self.stall_detector.is_stalled(self.primal - self.dual):
                return Outcome.STALLED

    def reached(self) -> bool:
        """The rule of Schmidt-Thieme (n.d.) if epsilon is given, else the gap."""
        if self.solver.epsilon is not None:
            return self.violation <= self.solver.epsilon
        return np.isfinite(self.dual) and self.primal - self.dual <= 0.9 * self.tol * abs(self.primal)

    @property
    def a(self) -> np.ndarray:
        """a_i = gamma n sum_c alpha_c c_i y_i / n: the dual point of the plain problem."""
        total = np.zeros(self.problem.n)
        if self.alpha is not None:
            for weight, bits in zip(self.alpha, self.constraints.keys, strict=False):
                if weight > 0:
                    total += weight * np.unpackbits(bits, count=self.problem.n)
        return self.gamma_n * self.share * self.y * total

    @property
    def support(self) -> int:
        """All samples: any of them may have a dual."""
        return self.problem.n

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.constraints.m)

    def point(self) -> Point:
        """The best w, and the duals of the multipliers."""
        w, row = np.zeros(self.size) if self.best is None else self.best, cast("PiecewiseConjugate", self.problem.row)
        return Point(np.clip(self.a, row.lo, row.hi), 0.0, w)

    def describe_step(self, before: None) -> dict[str, Any]:
        """w and xi of the constraints so far, the newest constraint q_c and |c|_1 / n, and by how much it is violated.

        With gamma n for the slope, P >= 1/2 |w|^2 + gamma n (|c|_1 / n - <w, q_c>) is a cut.
        """
        constraints, alpha = self.constraints, cast(np.ndarray, self.alpha)
        return {
            "step": "constraint", "w": self.w, "xi": self.xi, "loss": self.loss, "violation": self.violation,
            "q_c": constraints.slopes[-1].copy(), "share_c": float(constraints.offsets[-1]),
            "model": 0.5 * float(self.w @ self.w) + self.gamma_n * self.xi, "alpha_sum": float(alpha.sum()),
            "n_cuts": constraints.m,
        }  # fmt: skip

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found the gap wider than the run did: aim lower."""
        self.tol *= 0.5

    def count(self) -> Counter[str]:
        """Constraints made, each two products with the data."""
        return Counter(oracle_calls=self.constraints.m)
