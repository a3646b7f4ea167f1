"""Regularisation paths: one problem at many values of C, each solve starting where the last one ended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..contracts.solvers import Solver
from ..model.problem import Point, Problem
from ..runtime.deadline import Clock
from ..runtime.interrupt import watch_interrupt
from .choice import plan
from .loop import solve_stages
from .registry import SOLVERS
from .result import Progress, Result, Status
from .sequence import PreviousSolve


def solve_path(
    pose: Callable[[float], Problem],
    Cs: np.ndarray,
    *,
    solver="auto",
    tol: float = 1e-4,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
) -> list[Result | None]:
    """Solve pose(C) for every C, from the smallest to the largest, each from the solution of the one before.

    A solver other than "auto" is given its last run too: the cuts of a bundle, for one, do not depend on C. Small C
    come first: they are quick, and what they find is where the larger ones start. Where the budget ends, the values of
    C that are left get the prediction from the last solutions, certified for their own problem, while there is time to
    certify it. The others get None, as they do where a callback stops.
    """
    solver = SOLVERS[solver]() if isinstance(solver, str) and solver in SOLVERS else solver
    previous_run = PreviousSolve() if isinstance(solver, Solver) else None
    order = np.argsort(Cs, kind="stable")
    results: list[Result | None] = [None] * len(Cs)
    previous_solutions: list[tuple[float, Point]] = []
    clock = Clock(max_seconds)
    with watch_interrupt() as interrupt:
        for place in order:
            C = float(Cs[place])
            problem = pose(C)
            left = None if max_seconds is None else max(clock.left, 1e-9)
            warm = predict(problem, C, previous_solutions)
            results[place] = solve_stages(
                problem, plan(problem, solver, tol, warm is not None), tol, max_iter, left, warm, callback, interrupt,
                previous_run=previous_run,
            )  # fmt: skip
            previous_solutions = [*previous_solutions[-1:], (C, results[place].point)]
            if results[place].status in (Status.STOPPED, Status.INTERRUPTED) or clock.seconds > clock.latest:
                break
        if interrupt:
            raise KeyboardInterrupt
    return results


def predict(problem: Problem, C: float, previous_solutions: list[tuple[float, Point]]) -> Point | None:
    """Where the solution at C should be: w and b on the line, in log C, through the last two; duals scaled to C.

    A parabola through three is worse: it carries what each solution lacks of its optimum further.
    """
    if not previous_solutions:
        return None
    shares = extrapolate(np.log([each for each, _ in previous_solutions]), np.log(C))
    places = [find_coefficients(problem, point) for _, point in previous_solutions]
    coef = sum(share * coef for share, (coef, _) in zip(shares, places, strict=True))
    b = sum(share * b for share, (_, b) in zip(shares, places, strict=True))
    last, point = previous_solutions[-1]
    return Point(point.a * (C / last), b, coef)


def find_coefficients(problem: Problem, point: Point) -> tuple[np.ndarray, float]:
    """The coefficients of w, and b."""
    return problem.expand(point), point.b


def extrapolate(known: np.ndarray, wanted: float) -> np.ndarray:
    """Lagrange's weights of the known places for the wanted one; the last place alone where two coincide."""
    if len(np.unique(known)) < len(known) or wanted - known[-1] > 2.0 * np.ptp(known):
        return np.eye(len(known))[-1]
    return np.array(
        [np.prod([(wanted - x) / (own - x) for x in known if x != own]) for own in known]
    )  # fmt: skip
