"""How good predictions are, counted while they come, and reported as LIBSVM's programs do."""

from __future__ import annotations

import numpy as np

from ..contracts.estimators import Estimator


class Score:
    """Accuracy of labels; mean squared error and squared correlation of numbers."""

    def __init__(self, estimator: Estimator):
        self.classes = estimator.task not in ("regression", "ranking")
        self.n = self.n_correct = 0
        self.squared_error_sum, self.moment_sums = 0.0, np.zeros(5)

    def add(self, predicted: np.ndarray, y: np.ndarray) -> None:
        """Count some rows."""
        self.n += len(y)
        if self.classes:
            self.n_correct += int((np.asarray(predicted) == y).sum())
            return
        self.squared_error_sum += float(((predicted - y) ** 2).sum())
        self.moment_sums += [predicted.sum(), y.sum(), (predicted**2).sum(), (y**2).sum(), (predicted * y).sum()]

    @property
    def metric_value(self) -> float:
        """The share of right labels, or the mean squared error."""
        return (self.n_correct if self.classes else self.squared_error_sum) / max(self.n, 1)

    @property
    def error(self) -> float:
        """What is to be small: the share of wrong labels, or the mean squared error."""
        return 1.0 - self.metric_value if self.classes else self.metric_value

    @property
    def correlation(self) -> float:
        """The squared correlation coefficient of predictions and targets."""
        p, t, pp, tt, pt = self.moment_sums
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((self.n * pt - p * t) ** 2 / np.float64((self.n * pp - p * p) * (self.n * tt - t * t)))

    def list_lines(self, title: str = "", note: str = "") -> list[str]:
        """The lines of svm-predict, or those of svm-train -v with a title."""
        if self.classes and title:
            return [f"{title}Accuracy = {100.0 * self.metric_value:g}%"]
        if self.classes:
            return [f"Accuracy = {100.0 * self.metric_value:g}% ({self.n_correct}/{self.n}){note and f' ({note})'}"]
        end = "" if title else " (regression)"
        return [
            f"{title}Mean squared error = {self.metric_value:g}{end}",
            f"{title}Squared correlation coefficient = {self.correlation:g}{end}",
        ]

    def describe(self) -> dict:
        """The same for programs."""
        if self.classes:
            return {"accuracy": self.metric_value, "right": self.n_correct, "rows": self.n}
        return {"mean_squared_error": self.metric_value, "squared_correlation": self.correlation, "rows": self.n}
