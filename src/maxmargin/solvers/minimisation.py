"""minimize(fun, x0): cutting planes and bundles for any convex function given by value and subgradient."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..runtime.checkpoints import CheckpointFile, read_state, write_state
from ..runtime.deadline import Clock
from ..runtime.display import Displayed, Table
from ..runtime.interrupt import Interrupt, watch_interrupt
from .advancing import Advancing
from .bundle.cuts import Cuts
from .bundle.descent import Cut, Descent, Optimality, Round
from .bundle.functions import FunctionOracle
from .bundle.rules import RULES
from .bundle.state import STATE_KEYS, pack, unpack
from .loop import advance_to_end
from .minimisation_arguments import check_bounds, check_options, check_start
from .result import SENTENCES, Outcome, Status
from .stalling import StallDetector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

STATUS_MESSAGES = {
    **SENTENCES,
    Status.CONVERGED: "The value is within tol of the minimum.",
    Status.STALLED: "Neither value nor bound has moved for {rounds} rounds: tol is below what rounding errors allow.",
    Status.ROUNDING_LIMIT: "All of the gap but {rest:.1g} allows for rounding: tol is below what float64 allows.",
}
UNBOUNDED_MESSAGE = (
    "fun seems to have no minimum: its value is {value:.3g} at |x| = {size:.3g} and still falls; give bounds."
)
TOO_FEW_CUTS_MESSAGE = (
    "The value has stopped falling; max_cuts={cuts} made it aggregate cuts that were in use: allow more."
)
# rounds in which neither value nor bound nor optimality moves before a run gives up
ROUNDS_WITHOUT_PROGRESS_LIMIT = 200
# of what F may still fall by: so little in all those rounds would take millions of them
NEGLIGIBLE_PROGRESS_SHARE = 1e-5
REST_FALL_FACTOR = 0.99  # times what F could still fall by at the last progress: less is progress
LONG_X = 8  # numbers of x from which on the first and last three are shown
UNBOUNDED_SIZE = 1e20  # a point further away than this, or a value below its negative, means that there is no minimum


@dataclass(frozen=True, repr=False)
class Minimum(Displayed):
    """The lowest F(x) = fun(x) + ridge/2 |x|^2 that was found, and what is proven of how near the minimum is.

    Attributes
    ----------
    x : ndarray of shape (d,)
    fun : float
        F(x), rounded upwards: values and subgradients count as exact as fun returned them.
    lower_bound : float
        Below the minimum of F, proved by the cuts, rounding included; -inf where they prove nothing.
    optimality : Optimality
        (error, slope): F(y) >= F(x) - error - slope |y - x| for every y.
    status, message
        Why the run ended.
    n_iter, n_calls : int
        Rounds, and calls of fun.
    seconds : float
    history : list of Round
    rounding : float
        How much of the gap is there for rounding alone.

    See Also
    --------
    minimize : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import minimize
    >>> found = minimize(lambda x: (float(np.abs(x - 1).sum()), np.sign(x - 1)), np.zeros(3), bounds=(-5, 5))
    >>> found.fun - found.lower_bound <= 1e-6, found.status.value
    (True, 'converged')
    """

    x: np.ndarray
    fun: float
    lower_bound: float
    optimality: Optimality
    status: Status
    message: str
    n_iter: int
    n_calls: int
    seconds: float
    method: str
    history: list[Round] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    rounding: float = 0.0

    @property
    def gap(self) -> float:
        """F(x) - lower_bound."""
        return self.fun - self.lower_bound

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED

    @property
    def relative_gap(self) -> float:
        """gap / max(1, |F(x)|), which `tol` is compared with."""
        return self.gap / max(1.0, abs(self.fun))

    def describe(self) -> str:
        """The minimum in a sentence."""
        return (
            f"relative gap {self.relative_gap:.2g}, {self.status.value} after {self.n_iter:,} rounds of {self.method} "
            f"in {self.seconds:.2g} s; F(x) = {self.fun:.10g}"
        )

    def tabulate(self) -> Table:
        """The gap, the value and its bound, x, and how the run ended."""
        x = np.array2string(self.x, precision=6, threshold=LONG_X, edgeitems=3).replace("\n", "")
        return Table(
            [
                ("relative gap", f"{self.relative_gap:.2g}"),
                ("F(x)", f"{self.fun:.10g}"),
                ("lower bound", f"{self.lower_bound:.10g}"),
                ("x", x),
                ("error, slope", f"{self.optimality.error:.2g}, {self.optimality.slope:.2g}"),
                ("status", self.status.value),
                ("message", self.message),
                ("method", self.method),
                ("rounds", f"{self.n_iter:,}"),
                ("calls of fun", f"{self.n_calls:,}"),
                ("seconds", f"{self.seconds:.2g}"),
            ]
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bundle to a file, from which `minimize(..., resume=path)` goes on."""
        write_state(self.state, path)


def minimize(
    fun: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x0: ArrayLike,
    method: str = "proximal-bundle",
    *,
    ridge: float = 0.0,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    max_cuts: int | None = None,
    callback: Callable[[Round], bool | None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: Minimum | str | os.PathLike[str] | None = None,
) -> Minimum:
    """min F(x) = fun(x) + ridge/2 |x|^2 over lo <= x <= hi, for any convex fun.

    Parameters
    ----------
    fun : callable
        fun(x) -> (value, subgradient).
    x0 : array-like of shape (d,)
        The starting point.
    method : str, default="proximal-bundle"
        "cutting-plane", "line-search", "cutting-plane-line-search", "proximal-bundle", "trust-region-bundle" or
        "level-bundle". With ridge > 0 the first one is BMRM and the third one OCAS; without, the model of the first
        three is a linear program.
    ridge : float, default=0.0
        Weight of |x|^2 / 2, which is kept exact beside the cuts of fun: the split f1 + f2.
    bounds : pair (lo, hi), optional
        Numbers or arrays; infinite ones are no bounds.
    tol : float, default=1e-6
        F(x) - lower_bound <= tol max(1, |F(x)|) ends the run; without a ridge or a closed box, error + slope * radius
        does too, with the radius |x - x0|: then no y that is as near to x as x0 has a value lower by more than that.
    max_iter, max_seconds : optional limits
    max_cuts : int, optional
        The largest number of cuts that are kept, at least 4: older ones are dropped, or aggregated into their mean. The
        default is d + 10, and at least 100; a linear program keeps all of them.
    callback : callable, optional
        Called with a `Round` after each, which has copies of the best x so far and of the newest cut; a true return
        value stops.
    checkpoint : path, optional
        A file that receives the bundle every few seconds and at the end.
    resume : Minimum or path, optional
        The run to continue; x0, method and ridge must be as before.

    Returns
    -------
    Minimum

    See Also
    --------
    Minimum : What it returns.
    solve : Regularised risks, with their own solvers.
    Bundle : The same methods for machines.

    References
    ----------
    - Kelley (1960). The cutting-plane method for solving convex programs. Journal of SIAM 8, 703-712.
    - Kiwiel (1990). Proximity control in bundle methods for convex nondifferentiable minimization. Mathematical
      Programming 46, 105-122.
    - Schramm and Zowe (1992). A version of the bundle idea for minimizing a nonsmooth function. SIAM Journal on
      Optimization 2, 121-152.
    - Lemaréchal, Nemirovskii and Nesterov (1995). New variants of bundle methods. Mathematical Programming 69,
      111-147.
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. Journal of Machine
      Learning Research 11, 311-365.
    - Franc and Sonnenburg (2008). Optimized cutting plane algorithm for support vector machines. ICML, 320-327.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import minimize
    >>> found = minimize(lambda x: (float(np.abs(x - 1).sum()), np.sign(x - 1)), np.zeros(3), bounds=(-5, 5))
    >>> found.x.round(4).tolist(), found.lower_bound <= 0 <= found.fun
    ([1.0, 1.0, 1.0], True)
    """
    check_options(fun, method, ridge, tol, max_iter, max_seconds, max_cuts, callback)
    x0 = check_start(x0)
    lo, hi = check_bounds(bounds, len(x0))
    store = None if checkpoint is None else CheckpointFile(checkpoint)
    clock = Clock(max_seconds)
    with watch_interrupt() as interrupt:
        descent = start_descent(fun, x0, method, float(ridge), lo, hi, max_cuts, resume)
        work = Minimisation(descent, tol, store, interrupt)
        watch = None if callback is None else work.show_to(callback)
        status, history = advance_to_end(work, clock, interrupt, max_iter, watch)
        if store is not None:
            store.save(lambda: pack(descent))
    return Minimum(
        descent.best.x, descent.least, descent.bound, descent.optimality, status, work.monitor.describe_status(status),
        descent.n_iter, descent.oracle.n_calls, clock.seconds, method, history, pack(descent), work.monitor.rounding,
    )  # fmt: skip


class Minimisation(Advancing):
    """A descent as the loop wants it, one round per slice; what its cuts prove takes the place of the judge."""

    def __init__(self, descent: Descent, tol: float, store: CheckpointFile | None, interrupt: Interrupt):
        self.descent, self.store, self.interrupt = descent, store, interrupt
        self.monitor = ConvergenceMonitor(descent, tol)

    @property
    def n_iter(self) -> int:  # type: ignore[override]
        """Rounds so far."""
        return self.descent.n_iter

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """One round: the callback sees each of them."""
        self.descent.take_round()
        return Outcome.GOING

    def progress(self, seconds: float, watched: bool) -> Round:
        """The line of the history."""
        descent = self.descent
        return Round(
            descent.n_iter, descent.oracle.n_calls, seconds, descent.least, descent.bound, descent.serious,
            descent.cuts.m, float(descent.rule.proximity),
        )  # fmt: skip

    def show_to(self, callback: Callable[[Round], bool | None]) -> Callable[[Round], bool | None]:
        """The callback, given x and the newest cut beside the line of the history, which need not hold them all."""

        def watch(line: Round) -> bool | None:
            cut = cast(Cut, self.descent.newest)
            kept = Cut(cut.x.copy(), cut.value, cut.slope.copy(), cut.offset)
            return callback(line._replace(x=self.descent.best.x.copy(), cut=kept))

        return watch

    def decide(self, outcome: Outcome) -> Status | None:
        """Converged, or no nearer for many rounds; Ctrl-C comes before both."""
        if self.interrupt:
            return Status.INTERRUPTED
        if self.monitor.reached():
            return Status.CONVERGED
        if self.monitor.is_stalled():
            return Status.ROUNDING_LIMIT if self.monitor.is_rounding_limited() else Status.STALLED
        return None

    def save_periodically(self) -> None:
        """Keep the bundle, if the last time is long ago."""
        if self.store is not None:
            self.store.save_periodically(lambda: pack(self.descent))


class ConvergenceMonitor:
    """Whether a descent is done, or does not move any more."""

    def __init__(self, descent: Descent, tol: float):
        self.descent, self.tol = descent, tol
        self.stall_detector, self.seen = StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT), (np.inf, -np.inf, np.inf)

    @property
    def suboptimality_bound(self) -> float:
        """What F may still fall by: by the bound, or by the cuts within reach."""
        descent = self.descent
        if descent.ridged or descent.model.closed:
            return descent.gap
        return min(descent.gap, descent.suboptimality_bound(descent.optimality))

    @property
    def rounding(self) -> float:
        """How much of that is there for rounding."""
        descent = self.descent
        return (
            descent.rounding
            if descent.gap <= self.suboptimality_bound
            else float(descent.suboptimality_bound(descent.optimality_rounding))
        )

    @property
    def goal(self) -> float:
        """What it is to come down to."""
        return self.tol * max(1.0, abs(self.descent.least))

    def reached(self) -> bool:
        """Whether that is within the tolerance."""
        return self.suboptimality_bound <= self.goal

    def is_rounding_limited(self) -> bool:
        """Whether nothing but rounding stands between the two, all that there is of it counted twice."""
        return (
            not self.is_unbounded()
            and not self.descent.aggregated
            and self.suboptimality_bound - 2.0 * self.rounding <= self.goal
        )

    def is_stalled(self) -> bool:
        """Whether nothing has moved for long, or the value falls without end.

        Without a ridge or a closed box there may be no bound, and so no gap to look at: a lower value and a higher
        bound are progress too, if they move by more than a negligible share of what F may still fall by.
        """
        value, bound, rest = self.descent.least, self.descent.bound, self.suboptimality_bound
        lowest_value, highest_bound, least_rest = self.seen
        negligible = NEGLIGIBLE_PROGRESS_SHARE * rest if rest < np.inf else 0.0
        moved = (
            value < lowest_value - negligible
            or bound > highest_bound + negligible
            or rest < REST_FALL_FACTOR * least_rest
        )
        if moved:
            self.seen = (min(value, lowest_value), max(bound, highest_bound), min(rest, least_rest))
        return self.stall_detector.count(moved) or self.is_unbounded()

    def is_unbounded(self) -> bool:
        """Whether the run has left for infinity."""
        return self.descent.least < -UNBOUNDED_SIZE or float(np.abs(self.descent.best.x).max()) > UNBOUNDED_SIZE

    def describe_status(self, status: Status) -> str:
        """Why the run ended."""
        if status is Status.STALLED and self.is_unbounded():
            return UNBOUNDED_MESSAGE.format(value=self.descent.least, size=float(np.linalg.norm(self.descent.best.x)))
        if status is Status.STALLED and self.descent.aggregated:
            return TOO_FEW_CUTS_MESSAGE.format(cuts=self.descent.cuts.capacity)
        return STATUS_MESSAGES[status].format(
            rounds=ROUNDS_WITHOUT_PROGRESS_LIMIT, rest=max(self.suboptimality_bound - self.rounding, 0.0)
        )


def start_descent(
    fun: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x0: np.ndarray,
    method: str,
    ridge: float,
    lo: np.ndarray | None,
    hi: np.ndarray | None,
    max_cuts: int | None,
    resume: Minimum | str | os.PathLike[str] | None,
) -> Descent:
    """A descent at x0, or where an earlier one ended."""
    state = None if resume is None else resume.state if isinstance(resume, Minimum) else read_run(resume)
    if max_cuts is None and (ridge > 0 or "bundle" in method):
        max_cuts = max(len(x0) + 10, 100)
    cuts = Cuts(len(x0), capacity=max_cuts)
    x0 = x0 if lo is None else np.clip(x0, lo, hi)
    if state is None:
        return Descent(FunctionOracle(fun), RULES[method](), x0, cuts, (ridge,), lo, hi)
    given = {"method": method, "ridge": ridge, "numbers of x": len(x0)}
    kept = {"method": str(state["method"]), "ridge": float(state["ridge"]), "numbers of x": len(state["x"])}
    for name, value in given.items():
        if value != kept[name]:
            raise ValueError(f"resume holds a run with {name} {kept[name]!r}, and this one has {value!r}.")
    lo = np.full(len(x0), -np.inf) if lo is None else lo
    hi = np.full(len(x0), np.inf) if hi is None else hi
    if not (np.array_equal(lo, state["lo"]) and np.array_equal(hi, state["hi"])):
        raise ValueError("resume holds a run with different bounds.")
    return unpack(state, FunctionOracle(fun), cuts, (ridge,), lo, hi)


def read_run(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state in a file."""
    if not isinstance(path, str | os.PathLike) or not Path(path).is_file():
        raise ValueError(f"resume must be a Minimum or the path of a checkpoint, and there is no file {str(path)!r}.")
    return read_state(path, STATE_KEYS, "resume")
