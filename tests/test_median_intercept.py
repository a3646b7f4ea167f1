"""The best intercept of scores for losses with kinks alone: a weighted median."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.model.intercept import find_median_intercept
from maxmargin.model.losses.piecewise import Absolute, EpsilonInsensitive, Hinge, Quantile

LOSSES = [Hinge(), Absolute(), EpsilonInsensitive(0.3), Quantile(0.2)]


@pytest.mark.parametrize("balance", [0.0, 3.0])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_no_other_intercept_is_better(loss, balance):
    """The risk is piecewise linear, so its minimum is at a kink: none of them has a lower value."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(4, 40))
        f, c = rng.normal(size=n), rng.uniform(0.2, 3.0, n)
        y = rng.choice([-1.0, 1.0], n) if loss.target == "label" else rng.normal(size=n)
        y[:2] = 1.0, -1.0
        row = loss.row(y, c)

        def measure_risk(b, f=f, y=y, c=c):
            return float((c * loss.value(f + b, y)).sum() + balance * b)

        b = find_median_intercept(f, row.p, row.e, row.lo, row.hi, balance)
        kinks = np.concatenate([-(f + row.p) - row.e, -(f + row.p) + row.e])
        assert measure_risk(b) <= min(measure_risk(kink) for kink in kinks) + 1e-12 * c.sum()


def test_the_middle_where_a_range_is_best():
    """Two hinges that are both met between b = -0.5 and b = 0.5."""
    row = Hinge().row(np.array([1.0, -1.0]), np.ones(2))
    b = find_median_intercept(np.array([1.5, -1.5]), row.p, row.e, row.lo, row.hi, 0.0)
    assert b == 0.0
