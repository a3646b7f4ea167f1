"""Block-coordinate Frank-Wolfe for structured problems: one sample per step, over the labellings kept for it.

Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013) move the weight of one sample towards the labelling its oracle
finds, by an exact line search. Here, as in Osokin et al. (2016), weight moves in pairs, from the worst labelling kept
for the sample to the best one, until the sample's gap has fallen to a tenth: labellings lose their weight for good, and
the method converges at a linear rate. As in Shah, Kolmogorov and Lampert (2015), passes over the kept labellings alone
come between two passes of the oracle, as long as they lift D by more for the same work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...structures.problem import StructuredPoint, StructuredProblem
from .run import FrankWolfeRun

IDLE_VISITS_LIMIT = 10  # visits that a labelling may be without weight
MAX_CACHED_PASSES = 20  # passes over kept labellings between two of the oracle, at most


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """alpha_i(z) up, alpha_i(z') down, by the exact step, for the best and the worst of the labellings kept for i.

    Parameters
    ----------
    kept : int, default=10
        Visits for which a labelling without weight is kept.
    cached_passes : int, default=20
        Passes over the kept labellings between two passes of the oracle, at most; 0 is the method without a cache.

    See Also
    --------
    StructuredBundle : Cutting planes for the same machine.
    StructuredSVM : The machine.

    References
    ----------
    - Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013). Block-coordinate Frank-Wolfe optimization for structural
      SVMs. ICML, 53-61.
    - Osokin, Alayrac, Lukasewitz, Dokania and Lacoste-Julien (2016). Minding the gaps for block Frank-Wolfe
      optimization of structured SVMs. ICML, 593-602.
    - Shah, Kolmogorov and Lampert (2015). A multi-plane block-coordinate Frank-Wolfe algorithm for training
      structural SVMs with a costly max-oracle. CVPR, 2737-2745.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import FrankWolfe, MulticlassModel, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredSVM(MulticlassModel(), C=0.1, solver=FrankWolfe()).fit(X, y)
    >>> model.result_.solver.name, model.result_.converged
    ('frank_wolfe', True)
    """

    kept: int = IDLE_VISITS_LIMIT
    cached_passes: int = MAX_CACHED_PASSES
    name = "frank_wolfe"
    formulation = "Wolfe dual"
    forms = ("structures",)
    takes = Takes("The block Frank-Wolfe method", scores="any")

    def __post_init__(self) -> None:
        for name, value in (("kept", self.kept), ("cached_passes", self.cached_passes)):
            if not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}.")

    def start(self, problem: StructuredProblem, tol: float, warm: StructuredPoint | None = None) -> FrankWolfeRun:
        """A run at the labellings of `warm`, or at the labels themselves."""
        run = FrankWolfeRun(self, problem, tol)
        if warm is not None:
            run.kept.set_labellings(warm.sheets)
        return run

    def resume(self, problem: StructuredProblem, tol: float, state: dict[str, Any]) -> FrankWolfeRun:
        """The run as it was packed."""
        run = FrankWolfeRun(self, problem, tol)
        run.unpack(state)
        return run
