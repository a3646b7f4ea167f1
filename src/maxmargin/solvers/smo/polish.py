"""Newton steps at the end of SMO: once the active set has settled, the free duals are a linear system."""

from __future__ import annotations

import numpy as np

MAX_FREE_DUALS = 300  # the most free duals whose linear system is solved
MAX_NEWTON_ROUNDS = 20  # of Newton steps before the loop looks at the clock and the keyboard again
# of the multiplications of a run that its last digits may take; those of a run besides its steps, and of a step
SHARE_OF_RUN = 0.1
RUN_COST, STEP_COST, STEP_COST_PER_SAMPLE = 10_000_000, 1000, 6
LAST_ROUNDS = 6  # systems of equations for the last digits
STEPS_PER_ROUND = 8  # of SMO at least, between two systems of equations


def polish(
    run,
    last: int,
    most: int = MAX_FREE_DUALS,
    rounds: int = MAX_NEWTON_ROUNDS,
    steps: int | None = None,
    target: float | None = None,
) -> None:
    """Solve for the free duals exactly; SMO steps, up to number `last`, bring in those that should be free.

    With more than `most` free duals nothing is done: the loop must soon look at the keyboard again. Between two
    systems there are at most `steps` SMO steps, or as many as there are samples, to a gap of `target`, or of tol.
    """
    run.polishing, run.target = False, run.tol if target is None else target
    for _ in range(rounds):
        share = newton_step(run, most)
        if share is None:
            return
        if share < 1.0:
            continue  # a dual has hit its bound and is no longer free
        if run.spread() <= 1e-12 * max(1.0, np.abs(run.f).max()):
            return
        before = run.n_iter
        if before < last:
            run.call(min(len(run.f) if steps is None else steps, last - before))
        if run.n_iter == before:
            return


def find_last_digits(run, last: int) -> None:
    """Newton steps over the free duals of a run whose gap is within tol, where they take a tenth of its time at most.

    A gap of 1e-5 leaves half as many digits of f: two fits of one problem, from dense and from sparse rows, would
    differ in the others. See `compiled/last_digits.py`, which does this for problems that are solved together.
    """
    spent = RUN_COST + run.n_iter * (STEP_COST + STEP_COST_PER_SAMPLE * len(run.f))
    most = min(MAX_FREE_DUALS, int((3.0 * SHARE_OF_RUN * spent / LAST_ROUNDS) ** (1.0 / 3.0)))
    target = run.target
    polish(run, last, most, LAST_ROUNDS, max(STEPS_PER_ROUND, len(run.f) // 32), target=0.0)
    run.target = target


def newton_step(run, most: int = MAX_FREE_DUALS) -> float | None:
    """Move the free duals towards the point where all rates up - f of a layer equal its b; how far it got.

    None if there are none, or too many.

    (K_FF + d_F) delta + b = up_F - f_F with sum delta = 0 in each layer: the conditions of Wu (2014), solved
    for all free duals at once.
    """
    from ...compiled.smo import update_all_rates

    layer, free = np.nonzero((run.up == run.low) & ((run.a != 0) | (run.e == 0)))
    if not 0 < len(free) <= most:
        return None
    a, lo, hi, e = (part[layer, free] for part in (run.a, run.lo, run.hi, run.e))
    rows = run.kernel_rows(free)
    ties = np.eye(len(run.a))[layer] if run.paired else np.zeros((len(free), 0))
    hessian, rates = rows[:, free] + np.diag(run.d[layer, free]), run.up[layer, free] - run.f[free]
    delta = solve_tied(hessian, rates, ties[:, ties.any(axis=0)])
    if not np.isfinite(delta).all():
        return 1.0  # nothing holds the duals back: all kernel values are zero
    reach = find_reach(a, delta, lo, hi, e)
    share = min(1.0, reach.min())
    crossing = (e > 0) & (np.sign(a) == -np.sign(delta))
    edge = np.where(crossing, 0.0, np.where(delta > 0, hi, lo))
    step = np.where(reach <= share, edge, a + share * delta) - a
    gain = step @ rates - 0.5 * step @ hessian @ step
    if not gain > -1e-13 * abs(run.numbers[0]):
        return 1.0  # a singular system can point anywhere; D must not fall
    run.numbers[0] += gain
    run.f += step @ rows
    run.a[layer, free] = np.where(reach <= share, edge, a + step)
    update_all_rates(run.a, run.p, run.d, run.e, run.lo, run.hi, run.up, run.low)
    return share


def solve_tied(K: np.ndarray, rates: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """delta with K delta + ties b = rates and ties' delta = 0, for K positive semidefinite and perhaps singular."""
    n, m = ties.shape
    system = np.zeros((n + m, n + m))
    system[:n, :n] = K
    unit = max(np.trace(K) / n, 1e-300)
    system[np.arange(n), np.arange(n)] += 1e-13 * unit
    system[:n, n:], system[n:, :n] = unit * ties, unit * ties.T  # as large as K: features may be of any scale
    try:
        return np.linalg.solve(system, np.concatenate([rates, np.zeros(m)]))[:n]
    except np.linalg.LinAlgError:
        return np.zeros(n)


def find_reach(a: np.ndarray, delta: np.ndarray, lo: np.ndarray, hi: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The share of delta each dual can take before it meets a bound, or zero where |a| has a kink."""
    upper = np.where((e > 0) & (a < 0), 0.0, hi)
    lower = np.where((e > 0) & (a > 0), 0.0, lo)
    room = np.where(delta > 0, upper - a, a - lower)
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(room, np.abs(delta), out=np.full(len(a), np.inf), where=delta != 0)
