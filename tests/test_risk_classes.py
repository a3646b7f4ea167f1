"""Risk bounds of many classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, LinearSVC, risk_bounds


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes_are_bounded_by_their_parts(multi_class):
    """A sample counts if it does in any part; the vote of n refits is wrong no more often."""
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::4, :4], y[::4]

    def make():
        return SVC(C=1.0, multi_class=multi_class, gamma=0.2, tol=1e-7)

    model = make().fit(X, y)
    bounds = risk_bounds(model, X, y, exact=True)
    assert len(bounds.parts) == 3
    assert bounds.n == len(y)
    flagged = np.any([part.allowed == 1 for part in bounds.parts], axis=0)
    assert bounds.xi_alpha == flagged.mean()
    assert bounds.training == (model.predict(X) != y).mean()
    assert bounds.radius_margin == pytest.approx(sum(part.radius_margin * part.n for part in bounds.parts) / bounds.n)
    assert bounds.leave_one_out is None
    assert "parts" in str(bounds)
    rest = [np.arange(len(y)) != t for t in range(len(y))]
    wrong = [make().fit(X[keep], y[keep]).predict(X[~keep])[0] != y[~keep][0] for keep in rest]
    assert 0 < np.mean(wrong) <= bounds.xi_alpha
    assert not np.any(np.array(wrong) & ~flagged)
    assert all(part.leave_one_out.error <= part.xi_alpha for part in bounds.parts)


def test_linear_classes_are_parts_too():
    """LinearSVC: each class against the rest."""
    X, y = make_blobs(60, centers=3, cluster_std=2.0, random_state=0)
    bounds = risk_bounds(LinearSVC(C=0.1).fit(X, y), X, y)
    assert len(bounds.parts) == 3
    assert all(part.n == 60 and part.leave_one_out is not None for part in bounds.parts)
    assert max(part.xi_alpha for part in bounds.parts) <= bounds.xi_alpha
