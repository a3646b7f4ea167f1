"""What `certify_tuning` returns, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.display import Displayed, Table

ERROR_ROUNDING = 1e-12  # of a share of labels


@dataclass(frozen=True, repr=False)
class CertifiedTuning(Displayed):
    """error - eps <= the cross-validated error of every C in [low, high], proven.

    Attributes
    ----------
    C : float
        The chosen one: of the values that were fitted, the smallest of those with the least error.
    error : float
        Its cross-validated error: the mean over the folds of the share of wrong labels.
    low, high : float
        The range of C.
    eps : float
        What is proven: no C in the range has an error below error - eps.
    asked_eps : float
        What was asked for; `eps` is no more, unless a limit came first.
    Cs, errors : ndarray of shape (m,)
        The values of C that were fitted, in their order, and their errors.
    edges, lower_bounds : ndarray of shape (k + 1,) and (k,)
        No C from edges[j] to edges[j + 1] has an error below lower_bounds[j].
    n_folds, n_fits : int
        Folds, and machines that were fitted: one for each C and fold, or one for each class of these, and those that
        had to be solved further.
    seconds : float
    notes : tuple of str
        What is to be said against it.

    See Also
    --------
    certify_tuning : Makes it.

    References
    ----------
    - Shibagaki, Suzuki, Karasuyama and Takeuchi (2015). Regularization path of cross-validation error lower bounds.
      NIPS, 1675-1683.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import SVC, certify_tuning
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> found = certify_tuning(SVC(), X, y, Cs=(0.1, 10.0), eps=0.05)
    >>> 0.1 <= found.C <= 10.0, found.eps <= found.asked_eps
    (True, True)
    """

    C: float
    error: float
    low: float
    high: float
    eps: float
    asked_eps: float
    Cs: np.ndarray
    errors: np.ndarray
    edges: np.ndarray
    lower_bounds: np.ndarray
    n_folds: int
    n_fits: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether what was asked for is proven."""
        return self.eps <= self.asked_eps + ERROR_ROUNDING

    @property
    def unproven(self) -> list[tuple[float, float]]:
        """The ranges of C for which what was asked for is not proven."""
        below = np.concatenate([[False], self.lower_bounds < self.error - self.asked_eps - ERROR_ROUNDING, [False]])
        turns = np.flatnonzero(below[1:] != below[:-1])
        return [(float(self.edges[start]), float(self.edges[stop])) for start, stop in turns.reshape(-1, 2)]

    def bound(self, C: float) -> float:
        """What the error at a C of the range is at least.

        Examples
        --------
        >>> tuning = CertifiedTuning(1.0, 0.2, 1.0, 4.0, 0.1, 0.1, np.array([1.0]), np.array([0.2]),
        ...                          np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.1]), 5, 5, 0.1)
        >>> tuning.bound(3.0)
        0.1
        """
        if not self.low <= C <= self.high:
            raise ValueError(f"C must be between {self.low:g} and {self.high:g}, got {C!r}.")
        place = int(np.clip(np.searchsorted(self.edges, C, side="right") - 1, 0, len(self.lower_bounds) - 1))
        return float(self.lower_bounds[place])

    def plot(self, ax: Any = None) -> Any:
        """The lower bound and the errors at the fits over C; see `maxmargin.plots.plot_certified_tuning`."""
        from ...plots import plot_certified_tuning

        return plot_certified_tuning(self, ax=ax)

    def __str__(self) -> str:
        cost = f"{len(self.Cs)} values of C were fitted, {self.n_fits} fits in {self.seconds:.2g} s."
        return "\n".join([self.describe(), cost, *self.notes])

    def tabulate(self) -> Table:
        """The choice, what is proven of it, and what that took."""
        unproven = [("not proven for C in", f"[{low:.4g}, {high:.4g}]") for low, high in self.unproven]
        return Table(
            [
                ("C", f"{self.C:.4g}"),
                (f"{self.n_folds}-fold cross-validated error", f"{self.error:.4f}"),
                ("range of C", f"[{self.low:g}, {self.high:g}]"),
                ("no error there is lower by more than", f"{round_up(self.eps):.4f}"),
                ("asked for", f"{self.asked_eps:g}"),
                *unproven,
                ("values of C fitted", f"{len(self.Cs):,}"),
                ("fits", f"{self.n_fits:,}"),
                ("seconds", f"{self.seconds:.2g}"),
                *(("note", note) for note in self.notes),
            ]
        )

    def describe(self) -> str:
        """What is proven, in a sentence or two."""
        chosen = f"C = {self.C:.4g} has a {self.n_folds}-fold cross-validated error of {self.error:.4f}."
        span = f"[{self.low:g}, {self.high:g}]"
        if self.proven:
            statement = f"No C in {span} has one that is more than {round_up(self.eps):.4f} below it."
        else:
            ranges = ", ".join(f"[{low:.4g}, {high:.4g}]" for low, high in self.unproven)
            statement = (
                f"No C in {span} has one that is more than {round_up(self.eps):.4f} below it, "
                f"and none outside {ranges} one that is more than {round_up(self.asked_eps):.4f} below it."
            )
        return f"{chosen} {statement}"


def round_up(value: float, digits: int = 4) -> float:
    """A number rounded up to some digits after the point, as a promise must be; what float64 added does not count."""
    return float(np.ceil(value * 10**digits - 1e-7) / 10**digits)
