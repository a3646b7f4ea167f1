"""Sequential minimal optimisation: the solver object and the choice between pairs and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...model.features import MAX_FULL_GRAM_SAMPLES
from ...model.problem import Point, Problem
from .active import ActiveRun
from .blocks import BlockRun
from .pairs import PairRun

SELECTIONS = ("second-order", "mvp", "keerthi")
STOPS = ("gap", "kkt")


@dataclass(frozen=True)
class SMO(Solver):
    """Maximise D(a) two duals at a time: select a violating pair, search along it, update f = K a.

    Parameters
    ----------
    selection : {"second-order", "mvp", "keerthi"}
        Which pair of duals to move: the partner of largest gain (Fan, Chen and Lin 2005); the maximal violating pair,
        algorithm 6.2 of Wu (2014); or Platt's two loops with the two thresholds of Keerthi et al. 2001 (Shevade et al.
        for regression).
    stop : {"gap", "kkt"}
        Stop when the relative duality gap is at most tol, or when m - M < tol, the rule of Wu (2014).
    shrinking : bool
        Set aside samples whose duals stay at a bound; the judge's exact scores bring back those that were set aside in
        error.
    cache_size : float
        Megabytes for kernel rows. A small matrix is formed whole only if it fits; else rows are evaluated on demand.
    working_set : int or None
        None chooses by size: 2 while the whole Gram matrix is small, else blocks of samples that are solved in cache
        before the scores of all others are updated. A number sets the block; 2 is the plain algorithm.
    batch : int
        In the plain algorithm, rows evaluated together when one is missing: the one wanted and those of the worst
        violators. One BLAS call for 6 rows costs little more than two calls for one.
    effort : float
        Steps after which the run gives up; "auto" then continues with another solver.

    See Also
    --------
    Coordinate : Linear machines.
    QP : A general solver, as a reference.

    References
    ----------
    - Platt (1999). Fast training of support vector machines using sequential minimal optimization. Advances in
      Kernel Methods, MIT Press, 185-208.
    - Keerthi, Shevade, Bhattacharyya and Murthy (2001). Improvements to Platt's SMO algorithm for SVM classifier
      design. Neural Computation 13, 637-649.
    - Fan, Chen and Lin (2005). Working set selection using second order information for training support vector
      machines. Journal of Machine Learning Research 6, 1889-1918.
    - Wu (2014). Support Vector Machines. Lecture slides, National Tsing Hua University.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SMO, SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(solver=SMO(selection="mvp")).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('smo', True)
    """

    selection: str = "second-order"
    stop: str = "gap"
    shrinking: bool = True
    cache_size: float = 200.0
    working_set: int | None = None
    batch: int = 6
    effort: float = np.inf
    name = "smo"
    formulation = "Wolfe dual"
    own_rule = "m - M < tol"
    takes = Takes("SMO", features="kernel rows", layers="free", loss="piecewise")

    def __post_init__(self) -> None:
        for name, value, choices in (("selection", self.selection, SELECTIONS), ("stop", self.stop, STOPS)):
            if value not in choices:
                raise ValueError(f"SMO's {name} must be one of {list(choices)}, got {value!r}.")
        if not self.cache_size > 0:
            raise ValueError(f"SMO's cache_size must be a positive number of megabytes, got {self.cache_size!r}.")
        if self.working_set is not None and not self.working_set >= 2:
            raise ValueError(f"SMO's working_set must be at least 2 or None, got {self.working_set!r}.")

    @property
    def rule(self) -> int:
        """The selection as the compiled loops know it."""
        return SELECTIONS.index(self.selection)

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> ActiveRun:
        """A run at the duals of `warm`, made feasible, or at the simplest feasible point."""
        plain = self.working_set == 2 or self.selection == "keerthi"
        small = self.working_set is None and is_small(problem.features)
        return (PairRun if plain or small else BlockRun)(self, problem, tol, warm)


def is_small(features: Any) -> bool:
    """Whether pairs are quicker than blocks: also up to twice the size where rows are evaluated within the loop."""
    evaluates_single_rows = features.segments is not None
    return features.small or (evaluates_single_rows and features.n <= 2 * MAX_FULL_GRAM_SAMPLES)
