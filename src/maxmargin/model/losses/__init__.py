"""The loss table: one short class per loss, by the name that users call it.

A loss of one's own derives from `PiecewiseLoss` and gives five numbers per sample (`make_piecewise`), or from `Loss`
and gives terms that derive from `SmoothTerms`; `maxmargin.contracts.losses` says what they must do.
"""

from __future__ import annotations

from ...contracts.losses import JointTerms, Loss, PiecewiseLoss, SmoothTerms, Terms, VectorTerms
from .classes import MulticlassHinge, Softmax
from .metrics import F1, METRICS, BreakEven, ErrorRate, FBeta, MetricLoss, PrecisionAtK, RecallAtK, RocAuc
from .multivariate import Multivariate
from .piecewise import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LeastSquares,
    Novelty,
    PiecewiseConjugate,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    make_piecewise,
    soft_threshold,
)
from .rankings import PairwiseLoss, measure_concordance
from .smooth import Exponential, Logistic, Poisson

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Hinge, SquaredHinge, Exponential, Logistic, Novelty, LeastSquares, Absolute, Quantile,
        EpsilonInsensitive, SquaredEpsilonInsensitive, Huber, Poisson,
    )
}  # fmt: skip

__all__ = [
    "F1", "LOSSES", "METRICS", "Absolute", "BreakEven", "EpsilonInsensitive", "ErrorRate", "Exponential", "FBeta",
    "Hinge", "Huber", "JointTerms", "LeastSquares", "Logistic", "Loss", "MetricLoss", "MulticlassHinge", "Multivariate",
    "Novelty", "PairwiseLoss", "PiecewiseConjugate", "PiecewiseLoss", "Poisson", "PrecisionAtK", "Quantile",
    "RecallAtK", "RocAuc", "SmoothTerms", "Softmax", "SquaredEpsilonInsensitive", "SquaredHinge", "Terms",
    "VectorTerms", "make_piecewise", "measure_concordance", "soft_threshold",
]  # fmt: skip
