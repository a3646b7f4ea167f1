"""The Wolfe dual in a modelling language: CVXPY, the CVX of today. The page does without it where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

from maxmargin.model.problem import Point, Problem


def has_modelling_language() -> bool:
    """Whether CVXPY can be imported."""
    return find_spec("cvxpy") is not None


def solve_model(problem: Problem) -> Point:
    """max y'a - 1/2 a'Ka with a_i between 0 and y_i c_i and sum_i a_i = balance, as one writes it down in CVXPY.

    Parameters
    ----------
    problem : Problem
        With the hinge loss and a free intercept, and few enough samples for the whole matrix.

    Returns
    -------
    Point
        The duals, and the multiplier of the equality as intercept.
    """
    import cvxpy

    a = cvxpy.Variable(problem.n)
    K = cvxpy.psd_wrap(problem.features.form())  # else CVXPY looks for negative eigenvalues, for longer than it solves
    equality = cvxpy.sum(a) == problem.balance
    bounds = [a >= problem.row.lo, a <= problem.row.hi]
    goal = cvxpy.Maximize(problem.y @ a - 0.5 * cvxpy.quad_form(a, K))
    cvxpy.Problem(goal, [equality, *bounds]).solve(solver=cvxpy.CLARABEL)
    return Point(problem.feasible(a.value), float(equality.dual_value))
