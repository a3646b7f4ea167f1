"""Sets and intervals with guaranteed coverage, and probabilities with bounds, around any estimator."""

from .classification import ConformalClassifier
from .regression import ConformalQuantileRegressor, ConformalRegressor
from .venn_abers import VennAbersClassifier

__all__ = ["ConformalClassifier", "ConformalQuantileRegressor", "ConformalRegressor", "VennAbersClassifier"]
