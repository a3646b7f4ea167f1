"""Small random problems: how often a leave-one-out error is larger than the bounds allow."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from maxmargin import SVC, SVR, RiskBounds, risk_bounds

from .page import Table

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
CASES = tuple(product(LOSSES, ("free", "none"), ("equal", "unequal")))
PROBLEMS = {True: 6, False: 100}
ROUNDING_TOLERANCE = 1e-4  # relative: refits have a gap of 1e-6
COLUMNS = [
    "loss", "intercept", "weights", "proven", "rows left out", "xi-alpha exceeded: determined",
    "xi-alpha exceeded: undetermined", "problems", "radius-margin exceeded: once", "radius-margin exceeded: 4 times",
]  # fmt: skip


class ViolationCounts(NamedTuple):
    """Rows left out, those beyond xi-alpha by whether the intercept was determined, and problems beyond the radius."""

    rows: int
    determined: int
    undetermined: int
    once: int
    fourfold: int


def draw_bounds(case: tuple[str, str, str], seed: int) -> RiskBounds:
    """5 to 20 points, C from 0.01 to 100, a Gaussian, linear or polynomial kernel; the bounds and exact errors."""
    loss, intercept, weights = case
    random = np.random.default_rng(seed)
    n = int(random.integers(5, 21))
    X = random.normal(size=(n, int(random.integers(1, 4))))
    kernel, C = str(random.choice(["rbf", "linear", "poly"])), 10.0 ** random.uniform(-2, 2)
    weight = random.uniform(0.2, 3.0, n) if weights == "unequal" else None
    y = X[:, 0] + 0.5 * random.normal(size=n)
    if "hinge" in loss:
        y = np.where(np.arange(n) < 2, [1, -1] * (n // 2) + [1] * (n % 2), np.where(y > 0, 1, -1))
    machine = SVC if "hinge" in loss else SVR
    model = machine(kernel=kernel, C=C, gamma=0.5, coef0=1.0, loss=loss, intercept=intercept, tol=1e-8)
    return risk_bounds(model.fit(X, y, sample_weight=weight), X, y, weight, exact=True, max_seconds=60.0)


def count_violations(case: tuple[str, str, str], problems: int) -> ViolationCounts:
    """What is larger than it may be, over so many problems; rows count where nothing but the intercept is in doubt."""
    total = np.zeros(5, int)
    for seed in range(problems):
        bounds = draw_bounds(case, seed)
        exact = bounds.leave_one_out
        beyond = exact.losses > bounds.allowed + ROUNDING_TOLERANCE * (1.0 + bounds.allowed)
        doubtful = exact.undetermined | any(note.startswith("No dual is free") for note in bounds.notes)
        radius = np.inf if bounds.radius_margin is None else bounds.radius_margin
        total += [
            len(beyond), (beyond & ~doubtful).sum(), (beyond & doubtful).sum(),
            exact.error > radius * (1.0 + ROUNDING_TOLERANCE), exact.error > 4.0 * radius * (1.0 + ROUNDING_TOLERANCE),
        ]  # fmt: skip
    return ViolationCounts(*total.tolist())


def is_proven(case: tuple[str, str, str]) -> bool:
    """Whether there is a theorem: not for a free intercept with unequal bounds of the duals."""
    loss, intercept, weights = case
    return intercept != "free" or weights == "equal" or loss.startswith("squared")


def tabulate(tallies: dict[tuple[str, str, str], ViolationCounts], problems: int) -> Table:
    """A row for each case; regression has no radius-margin bound."""
    caption = (
        "Leave-one-out errors beyond the bounds, on small random problems. Undetermined: no dual is free, in the fit "
        "or in the refit, so that the intercept is the middle of an interval. The last columns count problems in which "
        "the leave-one-out error is more than the radius-margin number, and more than four times that."
    )
    rows = []
    for case, tally in tallies.items():
        radius = [tally.once, tally.fourfold] if "hinge" in case[0] else [None, None]
        rows.append([*case, is_proven(case), tally.rows, tally.determined, tally.undetermined, problems, *radius])
    return Table("risk_theorems", caption, COLUMNS, rows)


def conclude(tallies: dict[tuple[str, str, str], ViolationCounts], problems: int) -> str:
    """What the counts say, in sentences."""
    proven = [tally for case, tally in tallies.items() if is_proven(case)]
    others = [tally for case, tally in tallies.items() if not is_proven(case)]
    labels = {case: tally for case, tally in tallies.items() if "hinge" in case[0]}
    free = sum(tally.once for case, tally in labels.items() if case[1] == "free")
    bound = sum(tally.once for case, tally in labels.items() if case[1] != "free")
    each = sum(case[1] == "free" for case in labels) * problems
    return (
        f"Where xi-alpha is a theorem, {sum(tally.determined for tally in proven):,} of "
        f"{sum(tally.rows for tally in proven):,} errors of rows left out are beyond it while the intercept is "
        f"determined, and {sum(tally.undetermined for tally in proven):,} where it is not. With a free intercept and "
        f"unequal bounds of the duals there is no theorem, and {sum(tally.determined for tally in others):,} of "
        f"{sum(tally.rows for tally in others):,} are beyond it. The radius-margin number is exceeded in {bound} of "
        f"{each} problems without a free intercept, and in {free} of {each} with one; four times the number in "
        f"{sum(tally.fourfold for tally in labels.values())} of all."
    )
