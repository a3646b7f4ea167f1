"""What `certify_tuning` returns, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ERROR_ROUNDING = 1e-12  # of a share of labels


@dataclass(frozen=True)
class CertifiedTuning:
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
    """

    C: float
    error: float
    low: float
    high: float
    eps: float
    asked_eps: float
    Cs: np.ndarray = field(repr=False)
    errors: np.ndarray = field(repr=False)
    edges: np.ndarray = field(repr=False)
    lower_bounds: np.ndarray = field(repr=False)
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
        cost = f"{len(self.Cs)} values of C were fitted, {self.n_fits} fits in {self.seconds:.2g} s."
        return "\n".join([f"{chosen} {statement}", cost, *self.notes])


def round_up(value: float, digits: int = 4) -> float:
    """A number rounded up to some digits after the point, as a promise must be; what float64 added does not count."""
    return float(np.ceil(value * 10**digits - 1e-7) / 10**digits)
