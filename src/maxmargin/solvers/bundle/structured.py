"""Cutting planes for structured problems: a cut is one labelling for each sample, and one slack serves them all.

    r(w) = sum_i c_i max_z [Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)>] >= offset - <w, g>   for any labellings,
    offset = sum_i c_i Delta(y_i, z_i),   g = sum_i c_i (psi(x_i, y_i) - psi(x_i, z_i))

Joachims, Finley and Yu (2009) make the next cut at the minimum of the cuts so far. Bundles that stay near the best w
need fewer: on 6,251 handwritten words at C = 0.1, to a gap of 1e-3, 432 cuts with a level, 469 with a proximal term,
and 1,543 as in the paper. Its cache of labellings serves here as well: a cut of remembered labellings is as valid as
one of the oracle, and where it shows already that w is no better than the best one, the oracle is not asked.
"""

from __future__ import annotations

import ast
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes
from ...runtime.interruptible import Interrupted
from ...structures.labellings import WeightedLabelling
from ...structures.problem import StructuredPoint, StructuredProblem
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .cuts import Cuts
from .descent import Descent, Optimality
from .rule import Rule
from .rules import RULES
from .structured_oracle import StructuredOracle, StructuredPlace

METHODS = {
    "one-slack": "cutting-plane",
    "proximal-bundle": "proximal-bundle",
    "trust-region-bundle": "trust-region-bundle",
    "level-bundle": "level-bundle",
}
MAX_CUTS = 200  # cuts that are held at most
LEVEL_MAX_WEIGHTS = 200_000  # weights from which on each look at a w costs as much as the oracle
CUT_MEMORY_BYTES = 1 << 29  # bytes that they may take
ROUNDS_WITHOUT_PROGRESS_LIMIT = 400  # rounds without a fall of the gap by a tenth before a run gives up


@dataclass(frozen=True)
class StructuredBundle(Solver):
    """min max_k offset_k - <g_k, w> + 1/2 |w|^2, cut by cut, each cut a labelling of all samples.

    Parameters
    ----------
    method : {"auto", "level-bundle", "proximal-bundle", "trust-region-bundle", "one-slack"}, default="auto"
        Where the next cut is made: "one-slack" is the method of Joachims, Finley and Yu (2009). "auto" is a level, and
        a proximal term where w is long, since the search for a level looks at several w.
    max_cuts : int, default=200
        Cuts that are held at most; beyond that they are aggregated into their mean. Fewer where w is long.
    cache : int, default=10
        Labellings remembered for each sample, of models whose oracle is asked sample by sample; 0 for none.

    See Also
    --------
    FrankWolfe : Sample by sample instead.
    StructuredSVM : The machine.

    References
    ----------
    - Joachims, Finley and Yu (2009). Cutting-plane training of structural SVMs. Machine Learning 77, 27-59.
    - Lemaréchal, Nemirovskii and Nesterov (1995). New variants of bundle methods. Mathematical Programming 69,
      111-147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassModel, StructuredBundle, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredSVM(MulticlassModel(), C=0.1, solver=StructuredBundle()).fit(X, y)
    >>> model.result_.solver.name, model.result_.converged
    ('structured_bundle', True)
    """

    method: str = "auto"
    max_cuts: int = MAX_CUTS
    cache: int = 10
    name = "structured_bundle"
    formulation = "primal, by cuts"
    forms = ("structures",)
    takes = Takes("The structured bundle", scores="any")

    def __post_init__(self) -> None:
        if self.method not in (*METHODS, "auto"):
            raise ValueError(f"method must be 'auto' or one of {sorted(METHODS)}, got {self.method!r}.")
        if self.max_cuts < 4:
            raise ValueError(f"max_cuts must be 4 or more, got {self.max_cuts!r}.")
        if self.cache < 0:
            raise ValueError(f"cache must be 0 or more, got {self.cache!r}.")

    def start(self, problem: StructuredProblem, tol: float, warm: StructuredPoint | None = None) -> StructuredBundleRun:
        """A run at `warm`, or at zero."""
        return StructuredBundleRun(self, problem, tol, None if warm is None else warm.w)

    def resume(self, problem: StructuredProblem, tol: float, state: dict[str, Any]) -> StructuredBundleRun:
        """The run as it was packed."""
        run = StructuredBundleRun(self, problem, tol, state["x0"])
        run.unpack(state)
        return run


class StructuredBundleRun(Run):
    """A descent on the risk of a structured problem, as the one loop of all solvers wants it."""

    def __init__(self, solver: StructuredBundle, problem: StructuredProblem, tol: float, x0: np.ndarray | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.oracle = StructuredOracle(problem, solver.cache)
        self.x0 = np.zeros(problem.size) if x0 is None else np.array(x0, float)
        self.descent: Any = None  # a Descent, once there is time for its first cut
        self.stall_detector, self.limited_by_oracle = StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT), False

    @property
    def capacity(self) -> int:
        """Cuts that there is room for."""
        return int(max(8, min(self.solver.max_cuts, CUT_MEMORY_BYTES // (8 * self.problem.size))))

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps`; a round that is interrupted is gone on with next time."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        if self.limited_by_oracle:
            return Outcome.STALLED
        if self.descent is None:
            self.begin()
        while True:
            if self.reached():
                return Outcome.DONE
            if self.n_iter >= last:
                return Outcome.GOING
            self.take_round()
            if self.stall_detector.is_stalled(self.descent.gap):
                return Outcome.STALLED
            if time.perf_counter() >= end:
                return Outcome.GOING

    def begin(self) -> None:
        """The cut at the start."""
        cuts = Cuts(self.problem.size, capacity=self.capacity)
        self.descent = Descent(self.oracle, self.make_rule(), self.x0, cuts, (1.0,))

    def make_rule(self) -> Rule:
        """The rule of the method."""
        method = self.solver.method
        if method == "auto":
            method = "proximal-bundle" if self.problem.size > LEVEL_MAX_WEIGHTS else "level-bundle"
        return RULES[METHODS[method]]()

    def take_round(self) -> None:
        """One round; if it is interrupted in its midst, all but the oracle is as before it.

        The next step finds the same place again, since it starts from the same numbers, and the oracle goes on there.
        """
        descent, rule = self.descent, self.descent.rule
        before, learned_before = dict(vars(descent)), dict(vars(rule))
        self.oracle.ceiling = descent.least
        try:
            descent.take_round()
        except Interrupted:
            vars(descent).update(before)
            vars(rule).update(learned_before)
            raise

    def reached(self) -> bool:
        """Whether the gap is within tol, as far as the oracle can tell."""
        least, bound = self.descent.least, self.descent.bound
        return bool(np.isfinite(bound)) and self.descent.gap <= 0.9 * self.tol * max(abs(least), abs(bound))

    @property
    def n_iter(self) -> int:  # type: ignore[override]
        """Rounds."""
        return 0 if self.descent is None else self.descent.n_iter

    @property
    def kept(self) -> list[tuple[float, np.ndarray]]:
        """The labellings behind the best bound, and their weights."""
        if self.descent is None:
            return [(1.0, self.problem.examples.blank())]
        start = self.descent.pad_weights(self.descent.plain)
        weights = self.descent.model.minimise((0.0,), self.descent.best.x, start).weights  # as in `bound_by_ridge`
        return [
            (weights[k] * share, labellings) for k in np.flatnonzero(weights) for share, labellings in self.cuts.keys[k]
        ]

    @property
    def cuts(self) -> Cuts:
        """The bundle."""
        return self.descent.cuts

    @property
    def a(self) -> np.ndarray:
        """The weights of the labellings, one row per sheet."""
        return np.array([weight for weight, _ in self.kept])[:, None] * self.problem.c

    @property
    def support(self) -> int:
        """Sheets of a point."""
        if self.descent is None or self.descent.plain is None:
            return 1
        return sum(len(self.cuts.keys[k]) for k in np.flatnonzero(self.descent.plain))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        if self.descent is None:
            return Progress(0, seconds, np.inf, -np.inf, 0)
        return Progress(self.n_iter, seconds, self.descent.least, self.descent.bound, self.cuts.m)

    def point(self) -> StructuredPoint:
        """The best w, and the labellings of the cuts with the weights of the master."""
        to_labelling, c = self.problem.examples.to_labelling, self.problem.c
        w = self.x0 if self.descent is None else self.descent.best.x
        return StructuredPoint(
            w.copy(), tuple(WeightedLabelling(to_labelling(labellings), weight * c) for weight, labellings in self.kept)
        )

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found the gap wider than the run did: aim lower, unless the oracle itself is the reason."""
        self.tol *= 0.5
        self.limited_by_oracle = not self.problem.examples.exact

    def count(self) -> Counter[str]:
        """Passes of the oracle, and cuts made of remembered labellings."""
        return Counter(oracle_passes=self.oracle.n_calls, cached_passes=self.oracle.n_recalls)

    # ---- checkpoints ----------------------------------------------------------------------------------------

    def pack(self) -> dict[str, Any]:
        """The labellings of all cuts, their weights, the best place and the rule; the cuts are made of them again."""
        state = {"x0": self.x0}
        descent = self.descent
        if descent is None:
            return state
        keys = descent.cuts.keys
        shares = [(k, share) for k, key in enumerate(keys) for share, _ in key]
        sheets = [labellings for key in keys for _, labellings in key]
        sheets += [] if self.oracle.cache is None else list(self.oracle.cache.rows.T)
        nothing = np.zeros(0)
        numbers = [descent.n_iter, descent.aggregated, descent.last_serious, self.oracle.n_calls, self.oracle.n_recalls]
        return {
            **state, **self.problem.examples.store([*sheets, descent.best.labellings]),
            "shares": np.array(shares), "products": descent.cuts.products((1.0,)),
            "errors": descent.cuts.errors.copy(), "idle": descent.cuts.idle,
            "x": descent.best.x, "value": descent.best.value,
            "weights": nothing if descent.weights is None else descent.pad_weights(descent.weights),
            "plain": nothing if descent.plain is None else descent.pad_weights(descent.plain),
            "numbers": np.array(numbers), "bound": descent.bound, "optimality": np.array(descent.optimality),
            "measured": descent.measured is descent.best, "serious": descent.serious,
            "rule": repr({key: float(value) for key, value in vars(descent.rule).items()}),
            "patience": np.array([self.stall_detector.best, self.stall_detector.left]),
        }  # fmt: skip

    def unpack(self, state: dict[str, Any]) -> None:
        """As it was packed: every cut is made again of its labellings."""
        if "x" not in state:
            return
        *sheets, last = self.problem.examples.restore(state)
        cuts = Cuts(self.problem.size, capacity=self.capacity)
        owner, share = state["shares"][:, 0].astype(int), state["shares"][:, 1]
        errors = state.get("errors", np.zeros((2, len(state["idle"]))))  # files of earlier versions know none
        for k in range(len(state["idle"])):
            key = [(float(share[j]), sheets[j]) for j in np.flatnonzero(owner == k)]
            cuts.add(*self.mix(key), key, *(float(each) for each in errors[:, k]))
        cuts.idle = state["idle"].copy()
        cuts.set_products(state["products"])  # to the last digit
        if self.oracle.cache is not None:
            self.oracle.cache.rows = np.column_stack(sheets[len(owner) :])
        best = StructuredPlace(state["x"].copy(), float(state["value"]), last)
        rule = self.make_rule()
        self.descent = descent = Descent(self.oracle, rule, self.x0, cuts, (1.0,), best=best)
        descent.weights = state["weights"].copy() if state["weights"].size else None
        descent.plain = state["plain"].copy() if state["plain"].size else None
        numbers = [int(each) for each in state["numbers"]]
        descent.n_iter, descent.aggregated, descent.last_serious, self.oracle.n_calls, self.oracle.n_recalls = numbers
        descent.bound, descent.serious = float(state["bound"]), bool(state["serious"])
        descent.optimality = Optimality(*(float(each) for each in state["optimality"]))
        descent.measured = best if bool(state["measured"]) else None
        vars(rule).update(ast.literal_eval(str(state["rule"])))
        self.stall_detector.best, self.stall_detector.left = float(state["patience"][0]), int(state["patience"][1])

    def mix(self, key: list[tuple[float, np.ndarray]]) -> tuple[np.ndarray, float]:
        """Slope and offset of a cut of several labellings."""
        slope, offset, c = np.zeros(self.problem.size), 0.0, self.problem.c
        for share, labellings in key:
            slope -= share * self.problem.examples.combine(labellings, c)
            offset += share * float(c @ self.problem.examples.losses(labellings))
        return slope, offset
