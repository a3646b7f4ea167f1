"""A trajectory: P and D of a run step by step, with its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.problem import FLOOR, Point
from ..runtime.display import Displayed, Table


@dataclass(frozen=True, repr=False)
class Trajectory(Displayed):
    """P(w_k, b_k) and D(a_k) over the iterations k of a run.

    Attributes
    ----------
    solver : str
        The name of the solver, as in the registry.
    n_iter : ndarray of int
        The iterations that were judged; the first is 0, the start.
    seconds : ndarray of float
        Of the run up to there, its start included and the judge left out.
    primal, dual : ndarray of float
        P of the current point and D of its duals, both by the judge.
    points : list of Point
    """

    solver: str
    n_iter: np.ndarray
    seconds: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    points: list[Point]

    @property
    def relative_gaps(self) -> np.ndarray:
        """(P - D) / max(|P|, |D|) of each of them; infinite where the duals have no finite D."""
        sizes = np.maximum(np.maximum(np.abs(self.primal), np.abs(self.dual)), FLOOR)
        known = np.isfinite(self.primal) & np.isfinite(self.dual)
        gaps = np.full(len(sizes), np.inf)
        gaps[known] = (self.primal[known] - self.dual[known]) / sizes[known]
        return gaps

    def describe(self) -> str:
        """Where the run ended, in a sentence."""
        return (
            f"relative gap {self.relative_gaps[-1]:.2g} after {int(self.n_iter[-1]):,} iterations of {self.solver}; "
            f"P {self.primal[-1]:.6g}, D {self.dual[-1]:.6g}"
        )

    def tabulate(self) -> Table:
        """A row for each iteration that was judged."""
        each = zip(self.n_iter, self.relative_gaps, self.primal, self.dual, self.seconds, strict=True)
        return Table(
            [(f"{int(k):,}", f"{gap:.2g}", f"{P:.6g}", f"{D:.6g}", f"{s:.2g}") for k, gap, P, D, s in each],
            ("iteration", "relative gap", "P", "D", "seconds"),
        )
