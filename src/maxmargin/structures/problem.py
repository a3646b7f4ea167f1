"""The structured problem: margin rescaling over any model, without an intercept.

    P(w)     = 1/2 |w|^2 + sum_i c_i max_z [ Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)> ]
    D(alpha) = -1/2 |w(alpha)|^2 + sum_i sum_z alpha_i(z) Delta(y_i, z)
    w(alpha) = sum_i sum_z alpha_i(z) (psi(x_i, y_i) - psi(x_i, z)),   alpha_i(z) >= 0,   sum_z alpha_i(z) = c_i

Any labellings with any weights on those simplices give a true lower bound D, however they were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..contracts.traits import Traits
from ..model.problem import FLOOR
from .labellings import WeightedLabelling

if TYPE_CHECKING:
    from ..contracts.structures import Examples


class StructuredPoint(NamedTuple):
    """A candidate: w, and joint labellings with their weights alpha.

    Attributes
    ----------
    w : ndarray of shape (size,)
    sheets : tuple of WeightedLabelling
        Together they are the dual point: alpha_i(z) is the weight of sample i in the sheet whose labelling of it is z.

    See Also
    --------
    StructuredProblem : Of which it is a candidate.

    References
    ----------
    - Joachims, Finley and Yu (2009). Cutting-plane training of structural SVMs. Machine Learning 77, 27-59.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassModel, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> point = StructuredSVM(MulticlassModel()).fit(X, y).result_.point
    >>> point.w.shape, bool(np.allclose(point.a.sum(axis=0), 1.0))
    ((12,), True)
    """

    w: np.ndarray
    sheets: tuple[WeightedLabelling, ...]

    @property
    def a(self) -> np.ndarray:
        """The weights, one row per joint labelling."""
        return np.array([joint_labelling.weight for joint_labelling in self.sheets])

    @property
    def b(self) -> float:
        """There is no intercept."""
        return 0.0

    @property
    def coef(self) -> np.ndarray:
        """w."""
        return self.w


@dataclass(frozen=True, eq=False)
class StructuredProblem:
    """P = 1/2 |w|^2 + sum_i c_i max_z [Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)>]; see the module.

    Parameters
    ----------
    examples : Examples
        The samples, as a model gathers them.
    c : ndarray of shape (n,)
        C times sample weight, all positive.

    See Also
    --------
    maxmargin.StructuredSVM : Poses it.
    StructuredPoint : A candidate.
    maxmargin.solve : Solves it.

    References
    ----------
    - Tsochantaridis, Joachims, Hofmann and Altun (2005). Large margin methods for structured and interdependent output
      variables. JMLR 6, 1453-1484.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassModel, StructuredSVM, solve
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = StructuredSVM(MulticlassModel()).pose_first_problem(X, y)
    >>> problem.n, solve(problem).converged
    (150, True)
    """

    examples: Examples
    c: np.ndarray
    supports_close_certificate = False  # the model's oracle computes its own scores

    @property
    def traits(self) -> Traits:
        """What kind of problem it is."""
        return Traits(form="structures", kinked=True, n=self.n)

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.examples.n

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.examples.size

    @property
    def floor(self) -> float:
        """P and D have a scale of their own, that of Delta."""
        return FLOOR

    def origin(self, warm: StructuredPoint | None) -> StructuredPoint:
        """The labels themselves, with all the weight: w = 0, and D = 0."""
        if warm is not None:
            return warm
        labelling = self.examples.to_labelling(self.examples.blank())
        return StructuredPoint(np.zeros(self.size), (WeightedLabelling(labelling, self.c.copy()),))

    def measure_pace(self) -> None:
        """Nothing: every pass is timed."""

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate of so many joint labellings takes."""
        return self.examples.pace.estimate(self.n, support)

    def fingerprint(self) -> dict[str, str | int | float]:
        """Which problem it is, so that a checkpoint is not taken for one of another."""
        weight = float(self.c @ np.cos(np.arange(self.n)))
        return {**self.examples.fingerprint(), "weight": float(self.c.sum()), "weight_by_sample": weight}
