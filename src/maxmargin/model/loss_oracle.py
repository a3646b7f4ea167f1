"""How a risk answers to scores: its value, the duals a (minus its subgradient), and how these are kept for later.

A cut of sum_i c_i l(f_i) at scores f is -a.g + value(f) + a.f for all scores g. Its weight in the master is the weight
of `a` in the dual point of the problem, so the answers are kept: as a byte per row where the loss has kinks only, as
the scores themselves where the loss does not split over samples, since then the judge must ask again.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ..runtime.threads import STRIPS, run_strips
from .losses import PiecewiseConjugate
from .problem import Mixture

PARALLEL_MIN_ROWS = 60_000  # rows from which on the cores share them


class LossResponse(NamedTuple):
    """Duals a at some scores, sum c l, sum of a (for each class), and sum a.f."""

    a: np.ndarray
    value: float
    total: float | np.ndarray
    product: float


class LossOracle(ABC):
    """The risk sum_i c_i l(f_i) of a problem, asked at scores.

    Attributes
    ----------
    unit : float
        Duals are kept in these units: those of C r are C times those of r.
    keeps_scores : bool
        Whether scores are kept in place of duals, since the judge must ask the loss again.
    seconds : float
        The longest time of an answer so far, where that is measured.
    """

    unit = 1.0
    keeps_scores = False
    seconds = 0.0

    @abstractmethod
    def loss_response(self, f: np.ndarray, b: float) -> LossResponse:
        """The duals at f + b; b may be a column, one for each class."""

    @abstractmethod
    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float, b: float) -> float:
        """sum a step at f + t step + b."""

    @abstractmethod
    def sum_duals(self, f: np.ndarray, b: float) -> float:
        """sum a at f + b."""

    @abstractmethod
    def keep(self, loss_response: LossResponse, scores: np.ndarray, b: float) -> np.ndarray:
        """What is kept of an answer: codes of the duals, the duals, or the scores."""

    @abstractmethod
    def mix(self, kept: list[tuple[float, np.ndarray]], shape: tuple[int, ...]) -> np.ndarray:
        """sum of weight a over what was kept."""

    def mixture(self, kept: list[tuple[float, np.ndarray]]) -> Mixture | None:
        """The scores and their weights, for the judge; None where duals are kept."""
        return None


class PiecewiseLossOracle(LossOracle):
    """Losses with a row: one compiled pass, in strips on all cores."""

    def __init__(self, row: PiecewiseConjugate):
        self.row = [np.ascontiguousarray(part) for part in row]
        self.kinked = not self.row[1].any()

    def sweep(self, pass_over, n: int) -> list[float]:
        """The sums of pass_over(part) over all strips, added in the order of their rows."""
        sums = []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            sums.append((start, pass_over(part, [each[part] for each in self.row])))

        run_strips(work, n, max(n, 1) if n < PARALLEL_MIN_ROWS else -(-n // STRIPS))
        return [each for _, each in sorted(sums)]

    def loss_response(self, f: np.ndarray, b: float) -> LossResponse:
        """The duals at f + b."""
        from ..compiled.loss_rows import respond_rows

        a = np.empty_like(f)
        sums = self.sweep(lambda part, row: respond_rows(f[part], b, *row, a[part]), len(f))
        return LossResponse(a, *(sum(each[k] for each in sums) for k in range(3)))

    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float, b: float) -> float:
        """sum a step at f + t step + b."""
        from ..compiled.loss_rows import differentiate_rows

        return sum(
            self.sweep(lambda part, row: differentiate_rows(f[part], step[part], t, b, self.kinked, *row), len(f))
        )

    def sum_duals(self, f: np.ndarray, b: float) -> float:
        """sum a at f + b."""
        from ..compiled.loss_rows import sum_row_duals

        return sum(self.sweep(lambda part, row: sum_row_duals(f[part], b, self.kinked, *row), len(f)))

    def keep(self, loss_response: LossResponse, scores: np.ndarray, b: float) -> np.ndarray:
        """What is kept of an answer: a byte a row, or the duals."""
        from ..compiled.loss_rows import encode_rows

        if not self.kinked:
            return loss_response.a / self.unit
        codes = np.empty(len(loss_response.a), np.int8)
        encode_rows(loss_response.a, self.row[3], self.row[4], codes)
        return codes

    def mix(self, kept: list[tuple[float, np.ndarray]], shape: tuple[int, ...]) -> np.ndarray:
        """sum of weight a over what was kept."""
        from ..compiled.loss_rows import add_codes

        total = np.zeros(shape)
        for weight, each in kept:
            if each.dtype == np.int8:
                add_codes(each, weight, self.row[3], self.row[4], total)
            else:
                total += (self.unit * weight) * each
        return total


class SeparableLossOracle(LossOracle):
    """Losses without a row, of one score per sample or of one for each class."""

    def __init__(self, terms):
        self.terms = terms

    def loss_response(self, f: np.ndarray, b) -> LossResponse:
        """The duals at f + b; b may be a column, one for each class."""
        f = f + b
        with np.errstate(over="ignore", invalid="ignore"):
            a = self.terms.response(f)[0]
            return LossResponse(a, float(self.terms.value(f).sum()), a.sum(axis=-1), float(np.sum(a * f)))

    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float, b) -> float:
        """sum a step at f + t step + b."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(self.terms.response(f + t * step + b)[0] * step))

    def sum_duals(self, f: np.ndarray, b: float) -> float:
        """sum a at f + b."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.terms.response(f + b)[0].sum())

    def keep(self, loss_response: LossResponse, scores: np.ndarray, b) -> np.ndarray:
        """The duals."""
        return loss_response.a / self.unit

    def mix(self, kept: list[tuple[float, np.ndarray]], shape: tuple[int, ...]) -> np.ndarray:
        """sum of weight a over what was kept."""
        total = np.zeros(shape)
        for weight, a in kept:
            total += (self.unit * weight) * a
        return total


class ListwiseLossOracle(LossOracle):
    """Losses of the whole list of scores: what is kept are the scores, from which the judge finds the duals again."""

    keeps_scores = True

    def __init__(self, terms):
        self.terms = terms

    def loss_response(self, f: np.ndarray, b: float) -> LossResponse:
        """The duals at f + b."""
        f, began = f + b, time.perf_counter()
        value, a = self.terms.cut(f)
        self.seconds = max(self.seconds, time.perf_counter() - began)
        return LossResponse(a, float(value), float(a.sum()), float(a @ f))

    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float, b: float) -> float:
        """sum a step at f + t step + b."""
        return float(self.terms.cut(f + t * step + b)[1] @ step)

    def sum_duals(self, f: np.ndarray, b: float) -> float:
        """sum a at f + b."""
        return float(self.terms.cut(f + b)[1].sum())

    def keep(self, loss_response: LossResponse, scores: np.ndarray, b: float) -> np.ndarray:
        """The scores."""
        return scores + b

    def mix(self, kept: list[tuple[float, np.ndarray]], shape: tuple[int, ...]) -> np.ndarray:
        """sum of weight a over what was kept."""
        total = np.zeros(shape)
        for weight, scores in kept:
            total += weight * self.terms.cut(scores)[1]
        return total

    def mixture(self, kept: list[tuple[float, np.ndarray]]) -> Mixture:
        """The scores and their weights, for the judge."""
        return Mixture(np.array([weight for weight, _ in kept]), np.array([scores for _, scores in kept]))


def choose_loss_oracle(problem) -> LossOracle:
    """The oracle that suits the loss of a problem."""
    if problem.row is not None:
        return PiecewiseLossOracle(problem.row)
    return ListwiseLossOracle(problem.terms) if problem.terms.joint else SeparableLossOracle(problem.terms)
