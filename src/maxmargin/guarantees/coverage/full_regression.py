"""Full conformal intervals of a support vector regression, by two fits for each new row.

The set is all z whose residual is among the ceil((1 - alpha)(n + 1)) smallest of the n + 1 residuals of the machine
that was fitted to the rows and to (x, z). Let the loss have a bounded slope: a_t <= hi. As z grows, so does a_t, until
it has reached hi at z = f(x) + r, r = e + d hi in the numbers of its row; from there on (w, b, a) meets the conditions
of optimality at every larger z, since z enters those of its own row only. So one machine f+ stands for all z beyond
f+(x) + r, and there the set ends where z - f+(x) passes the quantile Q of the residuals of f+. The upper end is
f+(x) + max(Q, r), and the lower one is found in the same way, with a_t at lo. With Q >= r they are those of the set;
else no z beyond f+(x) + r belongs to it, and the interval is larger than the set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...estimators import SVR
from .augmented_fits import AugmentedFits, Target
from .kernel_folds import can_share_matrix
from .ranks import select_upper


class FullRegression:
    """[f-(x) - max(Q-, r-), f+(x) + max(Q+, r+)], f+ and f- the machines whose new row pulls with all its force.

    Parameters
    ----------
    estimator : SVR
        With a loss of bounded slope.
    X, y
        The rows of the fit.
    """

    def __init__(self, estimator: Any, X: Any, y: np.ndarray):
        bounded = isinstance(estimator, SVR) and can_share_matrix(estimator, len(y))
        self.fits = AugmentedFits(estimator, X, y) if bounded and estimator._formulation().loss.row else None
        if self.fits is None or not np.isfinite(self.fits.row.hi).all():
            raise ValueError(
                "method='full' needs an SVR with intercept='free', a kernel matrix within cache_size and a loss of "
                "bounded slope: epsilon_insensitive, absolute, huber or quantile."
            )

    def predict_interval(self, X: Any, coverage: float) -> np.ndarray:
        """Both ends for each row."""
        assert self.fits is not None
        row, y = self.fits.row, self.fits.y
        lo, hi = float(row.lo[0]), float(row.hi[0])
        reach_below, reach_above = (float(row.e[0] + row.d[0] * abs(bound)) for bound in (lo, hi))
        found = np.empty((X.shape[0], 2))
        # Any target beyond f(x) by the reach has the same machine. From a nearer one the judge takes the loss to be
        # zero there, where the dual is at its bound, and no gap is small enough for it.
        low, high = float(y.min()) - reach_below, float(y.max()) + reach_above
        for part, f in self.fits.score(X, [Target(low, lo), Target(high, hi)]):
            residuals = np.abs(f[:, :, :-1] - y)
            quantiles = select_upper(np.moveaxis(residuals, -1, 0), coverage)
            found[part, 0] = f[:, 0, -1] - np.maximum(quantiles[:, 0], reach_below)
            found[part, 1] = f[:, 1, -1] + np.maximum(quantiles[:, 1], reach_above)
        return found
