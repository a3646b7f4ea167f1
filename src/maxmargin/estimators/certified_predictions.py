"""Predictions with a proof: which of them the exact optimum of the same problem would make too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..runtime.display import Displayed, Table


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedPredictions(Displayed):
    """Labels, and which of them are certain: proven to be those of the exact optimum too.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        As `predict` gives them.
    certain : ndarray of bool of shape (n_samples,)
        Whether the exact minimiser of the problem that was fitted gives the sample the same label.
    lower, upper : ndarray
        Between them lies the decision function of the exact minimiser, in the shape of `decision_function`.
    """

    labels: np.ndarray
    certain: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def share(self) -> float:
        """The share of labels that are certain; 1 of none."""
        return float(self.certain.mean()) if len(self.certain) else 1.0

    def describe(self) -> str:
        """How many labels are certain."""
        return f"{np.count_nonzero(self.certain)} of {len(self.certain)} labels are certain ({self.share:.2%})"

    def tabulate(self) -> Table:
        """How many labels there are, and how many of them are certain."""
        return Table(
            [
                ("labels", f"{len(self.certain):,}"),
                ("certain", f"{np.count_nonzero(self.certain):,}"),
                ("share", f"{self.share:.2%}"),
            ]
        )
