"""The rows of a problem as Newton's method sees them: their duals at given scores, and the derivatives of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...contracts.losses import SmoothTerms
from ...model.losses import PiecewiseConjugate
from ...model.losses.smooth import ExponentialTerms, LogisticTerms, PoissonTerms
from ...runtime.threads import STRIPS, run_strips

# smallest number of rows that is split over the cores: they take half a millisecond, ten times what a thread costs
PARALLEL_MIN_ROWS = 50_000
FORMULAS = {LogisticTerms: "LOGISTIC", ExponentialTerms: "EXPONENTIAL", PoissonTerms: "POISSON"}  # that are compiled


class Response(NamedTuple):
    """The duals a of all rows at their scores, second_derivative = -da/df, and sums over the rows.

    `slack` is how far each score may move before the second derivative of its row is no longer zero; `smooth` is the
    sum that Newton's method minimises, `losses` that of c l(f), `conjugates` that of conj(a), `total` that of a, and
    `curved` the number of rows with a nonzero second derivative.
    """

    a: np.ndarray
    second_derivative: np.ndarray
    slack: np.ndarray | None
    smooth: float
    losses: float
    conjugates: float
    total: float
    curved: int


class RowOracle:
    """Rows p, d, e, lo, hi with a proximal term of the given width around a0; width 0 means no proximal term."""

    def __init__(self, row: PiecewiseConjugate, a0: np.ndarray, width: float):
        self.row = [np.ascontiguousarray(part) for part in row]
        self.a0, self.width = a0, width
        self.is_curved = width == 0.0 and bool((row.d > 0).all()) and bool(np.isfinite(row.d).all())

    def take(self, index: np.ndarray) -> RowOracle:
        """Some of the rows."""
        return RowOracle(PiecewiseConjugate(*(part[index] for part in self.row)), self.a0[index], self.width)

    def respond(self, f: np.ndarray) -> Response:
        """The duals at the scores f."""
        from ...compiled.responses import respond, respond_curved

        a, second_derivative, slack = np.empty_like(f), np.empty_like(f), np.empty_like(f)
        curved = self.is_curved and self.width == 0.0
        step, sums = choose_strip_rows(len(f)), []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            row = [each[part] for each in self.row]
            if curved:
                losses, *others = respond_curved(f[part], *row, a[part], second_derivative[part], slack[part])
                sums.append((start, losses, losses, *others))
                return
            sums.append(
                (
                    start,
                    *respond(f[part], self.a0[part], self.width, *row, a[part], second_derivative[part], slack[part]),
                )
            )

        run_strips(work, len(f), step)
        return Response(a, second_derivative, slack, *sum_strips(sums, 5))

    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float) -> tuple[float, float]:
        """sum a step and sum second_derivative step^2 at the scores f + t step."""
        from ...compiled.responses import directional_derivative

        sums = []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            row = [each[part] for each in self.row]
            sums.append((start, *directional_derivative(f[part], step[part], t, self.a0[part], self.width, *row)))

        run_strips(work, len(f), choose_strip_rows(len(f)))
        return tuple(sum_strips(sums, 2))


def make_term_oracle(terms: SmoothTerms) -> TermOracle:
    """The rows of a smooth loss, compiled where its formula is known."""
    return FormulaOracle(terms) if type(terms) in FORMULAS else TermOracle(terms)


class TermOracle:
    """Rows of a smooth loss that is not piecewise quadratic: logistic, exponential, Poisson."""

    width = 0.0

    def __init__(self, terms):
        self.terms = terms

    def take(self, index) -> TermOracle:
        """Some of the rows."""
        return TermOracle(self.terms.take(index))

    def respond(self, f: np.ndarray) -> Response:
        """The duals at the scores f; sum conj(a) = -sum a f - sum c l(f), since the two are conjugate at a."""
        a, second_derivative, sums = np.empty_like(f), np.empty_like(f), []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            terms, scores = self.take(part).terms, f[part]
            a[part], second_derivative[part] = terms.response(scores)[0], terms.second_derivative(scores)
            with np.errstate(invalid="ignore"):
                sums.append((start, terms.value(scores).sum(), a[part] @ scores, a[part].sum()))

        run_strips(work, len(f), choose_strip_rows(len(f)))
        losses, product, total = sum_strips(sums, 3)
        return Response(a, second_derivative, None, losses, losses, -product - losses, total, len(f))

    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float) -> tuple[float, float]:
        """sum a step and sum second_derivative step^2 at the scores f + t step."""
        sums = []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            terms, scores = self.take(part).terms, f[part] + t * step[part]
            with np.errstate(invalid="ignore", over="ignore"):
                second_derivatives = (terms.second_derivative(scores) * step[part]) @ step[part]
                sums.append((start, terms.response(scores)[0] @ step[part], second_derivatives))

        run_strips(work, len(f), choose_strip_rows(len(f)))
        return tuple(sum_strips(sums, 2))


class FormulaOracle(TermOracle):
    """Rows of a smooth loss whose formula is compiled."""

    def __init__(self, terms):
        from ...compiled import smooth_rows

        super().__init__(terms)
        self.kind = getattr(smooth_rows, FORMULAS[type(terms)])
        self.y, self.c = (np.ascontiguousarray(part, np.float64) for part in (terms.y, terms.c))

    def take(self, index) -> FormulaOracle:
        """Some of the rows."""
        return FormulaOracle(self.terms.take(index))

    def respond(self, f: np.ndarray) -> Response:
        """The duals at the scores f, in one pass."""
        from ...compiled.smooth_rows import respond_smoothly

        a, second_derivative, sums = np.empty_like(f), np.empty_like(f), []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            rows = f[part], self.y[part], self.c[part], a[part], second_derivative[part]
            sums.append((start, *respond_smoothly(self.kind, *rows)))

        run_strips(work, len(f), choose_strip_rows(len(f)))
        losses, product, total = sum_strips(sums, 3)
        return Response(a, second_derivative, None, losses, losses, -product - losses, total, len(f))

    def directional_derivative(self, f: np.ndarray, step: np.ndarray, t: float) -> tuple[float, float]:
        """sum a step and sum second_derivative step^2 at the scores f + t step."""
        from ...compiled.smooth_rows import differentiate_smoothly

        sums = []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            rows = f[part], step[part], t, self.y[part], self.c[part]
            sums.append((start, *differentiate_smoothly(self.kind, *rows)))

        run_strips(work, len(f), choose_strip_rows(len(f)))
        return tuple(sum_strips(sums, 2))


def choose_strip_rows(n: int) -> int:
    """The number of rows per strip."""
    return max(n, 1) if n < PARALLEL_MIN_ROWS else -(-n // STRIPS)


def sum_strips(sums: list[tuple], count: int) -> list:
    """The sums of all strips, added in the order of their rows; zeros if there are no strips."""
    return [sum(part[k] for part in sorted(sums)) for k in range(1, count + 1)]
