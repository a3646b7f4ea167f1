"""What a certificate is, and the one function that makes it: `judge`.

Every number that a judge reports holds in exact arithmetic for the data as given: `primal` is no less than P, `dual` is
no more than the optimum, and `gap` is no less than the distance between P and the optimum. docs/certificate.md derives
the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from math import isfinite
from operator import attrgetter
from typing import Any

import numpy as np

from ..model.problem import FLOOR
from ..runtime.display import Displayed, Table

MISSING = "no certificate: there was no time to judge the point"
NOT_CONVEX = "the kernel is not positive semidefinite, so this proves nothing"
# of the gap: where rounding may be more than this, the point is judged again more accurately
MAX_ROUNDING_SHARE_OF_GAP = 0.25
NEGLIGIBLE_RELATIVE_ROUNDING = 1e-10  # relative rounding below which no point is judged again


@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """gap >= P - D >= P - P*: how far from optimal a fit is, by weak duality, in exact arithmetic.

    Attributes
    ----------
    primal : float
        P at (w, b), rounded upwards.
    dual : float
        D at a, rounded downwards: no more than the optimum.
    gap, relative_gap : float
        An upper bound on P - D, and the same divided by max(|P|, |D|); both include a bound on rounding errors.
    rounding : float
        How much of the gap is an allowance for rounding alone.
    kkt : float
        The largest violation of the optimality conditions, in units of the score.
    convex : bool or None
        False if the kernel was found not to be positive semidefinite: then a small gap shows a stationary point and
        proves nothing more. None if it is not known and no negative eigenvalue was found.
    bound : float
        An upper bound on P - D, computed as a sum of nonnegative terms. It is sharper than `primal - dual` where both
        are large; infinite where there is no such sum.
    scores : ndarray
        <w, phi(x_i)>, evaluated by the judge.
    rough : ndarray or None
        The samples whose scores are in float32: their dual is zero, and within a proven error so is their loss.
    errors : ndarray or None
        Bounds on the errors of the scores; None where those of sums in float64, in any order, hold.
    parts : tuple of Certificate
        One for each binary problem of a multiclass model; the certificate itself is the worst of them.

    See Also
    --------
    certify : Makes one for any machine.
    Result : The fit it belongs to.

    References
    ----------
    - Rockafellar (1970). Convex Analysis. Princeton University Press.
    - Higham (2002). Accuracy and Stability of Numerical Algorithms. SIAM, second edition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> found = SVC().fit(X, y).certificate_
    >>> found.dual <= found.primal, found.relative_gap <= 1e-5, len(found.parts)
    (True, True, 3)
    """

    primal: float
    dual: float
    kkt: float
    convex: bool | None = True
    floor: float = FLOOR
    rounding: float = 0.0
    bound: float = np.inf
    scores: np.ndarray | None = field(default=None, compare=False)
    parts: tuple[Certificate, ...] = ()
    rough: np.ndarray | None = field(default=None, compare=False)
    errors: np.ndarray | None = field(default=None, compare=False)

    @property
    def gap(self) -> float:
        """P - D, bounded from above."""
        difference = self.primal - self.dual
        return self.bound if self.bound < difference else difference

    @property
    def size(self) -> float:
        """max(|P|, |D|, floor), what a gap is compared with; see `Problem.floor`."""
        return max(abs(self.primal), abs(self.dual), self.floor)

    @property
    def relative_gap(self) -> float:
        """(P - D) / max(|P|, |D|, floor), bounded from above."""
        gap, size = self.gap, self.size
        return gap / size if isfinite(gap) and isfinite(size) else np.inf

    @property
    def relative_rounding(self) -> float:
        """How much of the relative gap is an allowance for rounding."""
        return min(self.rounding / self.size, self.relative_gap) if isfinite(self.size) else 0.0

    @property
    def is_missing(self) -> bool:
        """Whether there was no time to judge the point."""
        return self.primal == np.inf and self.dual == -np.inf

    # ---- how it reads --------------------------------------------------------------------------------------

    def __str__(self) -> str:
        if self.is_missing:
            return MISSING
        note = "" if self.convex is not False else f"; {NOT_CONVEX}"
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, relative gap {self._say_gap()}, "
            f"KKT violation {self.kkt:.2g}{note}"
        )

    def describe(self) -> str:
        """The certificate in a sentence."""
        if self.is_missing:
            return MISSING
        several = f", the largest of {len(self.parts)} problems" if self.parts else ""
        note = "" if self.convex is not False else f"; {NOT_CONVEX}"
        return (
            f"relative gap {self._say_gap()}{several}; primal {self.primal:.10g}, dual {self.dual:.10g}, "
            f"KKT violation {self.kkt:.2g}{note}"
        )

    def tabulate(self) -> Table:
        """Relative gap, P, D, and what is to be said against them."""
        rows = [("relative gap", MISSING if self.is_missing else self._say_gap())]
        if not self.is_missing:
            rows += [
                ("primal", f"{self.primal:.10g}"),
                ("dual", f"{self.dual:.10g}"),
                ("gap", f"{self.gap:.2g}"),
                ("KKT violation", f"{self.kkt:.2g}"),
            ]
        if self.parts:
            rows.append(("problems", f"{len(self.parts)}, of which this is the worst"))
        if self.convex is False:
            rows.append(("note", NOT_CONVEX))
        return Table(rows)

    def _say_gap(self) -> str:
        """The relative gap, and how much of it is there for rounding if that is a large part."""
        shows = self.relative_rounding > 0.1 * abs(self.relative_gap)
        rounded = f" ({self.relative_rounding:.2g} of it for rounding)" if shows else ""
        return f"{self.relative_gap:.2g}{rounded}"


@singledispatch
def judge(problem: Any, point: Any, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap at a point, from nothing but the problem and the point.

    There is one judge for each form of problem, registered by the type of the problem: `in_memory`, `in_blocks` and
    `structured`. With `closely` scores are evaluated as if in twice the precision, where the form allows it. The
    rounding bound is then small, and judging takes about ten times as long.
    """
    raise TypeError(f"There is no judge for a problem of type {type(problem).__name__}.")


def judge_with_refinement(problem: Any, point: Any) -> Certificate:
    """The certificate of a point, as if in twice the precision where rounding may be a large part of the gap."""
    certificate = judge(problem, point)
    hidden = max(certificate.rounding, certificate.primal - certificate.dual - certificate.gap) / certificate.size
    if not (
        problem.supports_close_certificate
        and hidden > max(MAX_ROUNDING_SHARE_OF_GAP * certificate.relative_gap, NEGLIGIBLE_RELATIVE_ROUNDING)
    ):
        return certificate
    return judge(problem, point, closely=True)


def worst(certificates: list[Certificate]) -> Certificate:
    """The certificate with the largest relative gap, carrying all of them as its parts."""
    if len(certificates) == 1:
        return certificates[0]
    distinct = {id(certificate): certificate for certificate in certificates}.values()  # thousands may share one
    return stand_for_all(max(distinct, key=attrgetter("relative_gap")), certificates)


def stand_for_all(one: Certificate, certificates: list[Certificate]) -> Certificate:
    """A certificate that carries all of several as its parts: one of them, convex only if all are."""
    convexities = {certificate.convex for certificate in certificates}
    convex = False if False in convexities else None if None in convexities else True
    return Certificate(
        one.primal, one.dual, one.kkt, convex, one.floor, one.rounding, one.bound, one.scores, tuple(certificates)
    )
