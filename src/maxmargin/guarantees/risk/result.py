"""What `risk_bounds` returns, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...certificates.certificate import Certificate
from ...runtime.display import Displayed, Table
from .leave_one_out import LeaveOneOut


@dataclass(frozen=True, repr=False)
class RiskBounds(Displayed):
    """xi_alpha = 1/n #{i: rho_i |a_i| + xi_i >= 1}, R^2 |w|^2 / n, and the leave-one-out error itself.

    Attributes
    ----------
    kind : {"classification", "regression"}
        Errors are shares of wrong labels, or means of |f - y|; both count samples by their weights.
    n : int
        Samples of positive weight.
    training : float
        The error on the training samples; a score of exactly zero counts as wrong.
    xi_alpha : float
        The share of samples with rho_i |a_i| + xi_i >= 1, or the mean of |f_i - y_i| + rho_i |a_i|: what the
        leave-one-out error is at most if `proven`, else an estimate.
    proven : bool
        Whether the theorem behind xi_alpha holds for this loss, these weights and this intercept.
    precision, recall, f1 : float or None
        Those of classes_[1] if all samples that xi_alpha counts are errors; None but for two classes.
    radius_margin : float or None
        R^2 |w|^2 / n with K + I/(2C) for the squared hinge, (R^2 + 1/C)(|w|^2 + 2 C sum_i xi_i) / n for the hinge. A
        bound without a free intercept; with one, four times it is. None for regression.
    leave_one_out : LeaveOneOut or None
        The exact error, where it was computed.
    allowed : ndarray of shape (n_samples,)
        What xi_alpha is the mean of: 1 for the samples that it counts and 0 for the others, or the absolute error that
        each can have at most when it is left out; NaN for rows without weight.
    certificate : Certificate
        How near the model is to the optimum, which all these numbers are about.
    notes : tuple of str
        What does not hold, and what was left out.
    parts : tuple of RiskBounds
        One for each binary problem of a model of many classes.

    See Also
    --------
    risk_bounds : Makes it.
    LeaveOneOut : The exact error.

    References
    ----------
    - Joachims (2000). Estimating the generalization performance of an SVM efficiently. ICML, 431-438.
    - Chung, Kao, Sun, Wang and Lin (2003). Radius margin bounds for support vector machines with the RBF kernel.
      Neural Computation 15, 2643-2681.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, risk_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> bounds = risk_bounds(SVC().fit(X[50:], y[50:]), X[50:], y[50:])
    >>> bounds.kind, bounds.n, bounds.training <= bounds.xi_alpha
    ('classification', 100, True)
    """

    kind: str
    n: int
    training: float
    xi_alpha: float
    proven: bool
    precision: float | None
    recall: float | None
    f1: float | None
    radius_margin: float | None
    leave_one_out: LeaveOneOut | None
    allowed: np.ndarray
    certificate: Certificate
    notes: tuple[str, ...] = ()
    parts: tuple[RiskBounds, ...] = ()

    @property
    def vacuous(self) -> bool:
        """Whether radius_margin is above 1: at most all samples are wrong, which was known before."""
        return self.radius_margin is not None and self.radius_margin > 1.0

    def __str__(self) -> str:
        gap = f"relative gap {self.certificate.relative_gap:.2g}"
        table = [f"  {name:<30}{value}" for name, value in self._list_numbers()]
        return "\n".join([f"{self.kind}, {self.n} samples, {gap}", *table, *(f"  {note}" for note in self.notes)])

    def describe(self) -> str:
        """The bounds in a sentence."""
        numbers = ", ".join(f"{name.strip()} {value}" for name, value in self._list_numbers())
        gap = f"relative gap {self.certificate.relative_gap:.2g}"
        return f"{gap}, {self.kind} on {self.n:,} samples; {numbers}"

    def tabulate(self) -> Table:
        """Errors and bounds, and what does not hold."""
        gap = ("relative gap", f"{self.certificate.relative_gap:.2g}")
        size = (("kind", self.kind), ("samples", f"{self.n:,}"))
        numbers = [(name.strip(), value) for name, value in self._list_numbers()]
        return Table([gap, *size, *numbers, *(("note", note) for note in self.notes)])

    def _list_numbers(self) -> list[tuple[str, str]]:
        """The errors and bounds by their names."""
        what = "error" if self.kind == "classification" else "mean absolute error"
        lines = [("training " + what, f"{self.training:.4g}")]
        lines.append((f"xi-alpha {'bound' if self.proven else 'estimate'}", f"{self.xi_alpha:.4g}"))
        if self.f1 is not None:
            lines.append(("  precision, recall, F1", f"{self.precision:.4g}, {self.recall:.4g}, {self.f1:.4g}"))
        if self.radius_margin is not None:
            lines.append(("radius-margin", f"{self.radius_margin:.4g}{' (vacuous: above 1)' if self.vacuous else ''}"))
        if self.leave_one_out is not None:
            exact = self.leave_one_out
            lines.append(("leave-one-out, exact", f"{exact.error:.4g} ({exact.refits} refits)"))
        return lines
