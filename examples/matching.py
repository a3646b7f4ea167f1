"""A structured model in twenty lines: assign jobs to candidates.

    python examples/matching.py

x[r, s] holds the features of giving job s to candidate r, and a labelling is a permutation. The oracle is the Hungarian
method of SciPy; the library provides the rest: two solvers, the certificate, prediction.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from maxmargin import StructuredModel, StructuredSVM


class Matching(StructuredModel):
    """<w, psi(x, z)> = sum_r <w, x[r, z_r]>; Delta counts the candidates that got a wrong job."""

    def joint_feature(self, x, y):
        """The features of all chosen pairs."""
        return x[np.arange(len(y)), y].sum(axis=0)

    def loss(self, y, z):
        """Wrong jobs."""
        return float(np.sum(y != z))

    def argmax(self, x, w, y=None):
        """The best assignment, plus 1 for every wrong job where y is given."""
        gain = x @ w
        if y is not None:
            gain = gain + 1.0
            gain[np.arange(len(y)), y] -= 1.0
        return linear_sum_assignment(gain, maximize=True)[1]


def make_assignments(n: int, m: int = 6, d: int = 8, seed: int = 0):
    """Assignments that are optimal for hidden weights, up to noise."""
    rng = np.random.default_rng(seed)
    w, X = rng.normal(size=d), rng.normal(size=(n, m, m, d))
    y = [linear_sum_assignment(x @ w + 0.5 * rng.normal(size=(m, m)), maximize=True)[1] for x in X]
    return list(X), y


def main() -> None:
    """Fit on 100 assignments, predict 100 others."""
    X, y = make_assignments(200)
    model = StructuredSVM(Matching(), C=0.01).fit(X[:100], y[:100])
    print(model.certificate_)
    answers = model.predict(X[100:])
    share = np.mean([np.mean(z == right) for z, right in zip(answers, y[100:], strict=True)])
    print(f"{share:.0%} of the jobs are given as in the test data; by chance it would be {1 / 6:.0%}.")


if __name__ == "__main__":
    main()
