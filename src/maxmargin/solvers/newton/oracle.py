"""What Newton's method asks of the rows of a problem: their duals at given scores, and how these move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.losses import Row
from ...runtime.threads import STRIPS, run_strips

SHARED = 20_000  # rows from which on the cores share them


class Response(NamedTuple):
    """The duals a of all rows at their scores, bend = -da/df, and sums over the rows.

    `slack` is how far each score may move before its row bends; `smooth` the sum that Newton's method minimises,
    `losses` that of c l(f), `conjugates` that of conj(a), `total` that of a.
    """

    a: np.ndarray
    bend: np.ndarray
    slack: np.ndarray | None
    smooth: float
    losses: float
    conjugates: float
    total: float
    bending: int


class RowOracle:
    """Rows p, d, e, lo, hi with a proximal term of some width around a0; width 0 for rows that need none."""

    def __init__(self, row: Row, a0: np.ndarray, width: float):
        self.row = [np.ascontiguousarray(part) for part in row]
        self.a0, self.width = a0, width

    def take(self, index: np.ndarray) -> RowOracle:
        """Some of the rows."""
        return RowOracle(Row(*(part[index] for part in self.row)), self.a0[index], self.width)

    def respond(self, f: np.ndarray) -> Response:
        """The duals at the scores f."""
        from ...compiled.responses import respond

        a, bend, slack = np.empty_like(f), np.empty_like(f), np.empty_like(f)
        step, sums = strip_of(len(f)), []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            row = [each[part] for each in self.row]
            sums.append((start, *respond(f[part], self.a0[part], self.width, *row, a[part], bend[part], slack[part])))

        run_strips(work, len(f), step)
        return Response(a, bend, slack, *add_up(sums, 5))

    def lean(self, f: np.ndarray, step: np.ndarray, t: float) -> tuple[float, float]:
        """sum a step and sum bend step^2 at the scores f + t step."""
        from ...compiled.responses import lean

        sums = []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            row = [each[part] for each in self.row]
            sums.append((start, *lean(f[part], step[part], t, self.a0[part], self.width, *row)))

        run_strips(work, len(f), strip_of(len(f)))
        return tuple(add_up(sums, 2))


class TermOracle:
    """Rows of a smooth loss that has no five numbers: logistic, exponential, Poisson."""

    width = 0.0

    def __init__(self, terms):
        self.terms = terms

    def take(self, index) -> TermOracle:
        """Some of the rows."""
        return TermOracle(type(self.terms)(*(part[index] for part in self.terms)))

    def respond(self, f: np.ndarray) -> Response:
        """The duals at the scores f; sum conj(a) = -sum a f - sum c l(f), since the two are conjugate at a."""
        a, bend, sums = np.empty_like(f), np.empty_like(f), []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            terms, scores = self.take(part).terms, f[part]
            a[part], bend[part] = terms.response(scores)[0], terms.bend(scores)
            with np.errstate(invalid="ignore"):
                sums.append((start, terms.value(scores).sum(), a[part] @ scores, a[part].sum()))

        run_strips(work, len(f), strip_of(len(f)))
        losses, product, total = add_up(sums, 3)
        return Response(a, bend, None, losses, losses, -product - losses, total, len(f))

    def lean(self, f: np.ndarray, step: np.ndarray, t: float) -> tuple[float, float]:
        """sum a step and sum bend step^2 at the scores f + t step."""
        sums = []

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            terms, scores = self.take(part).terms, f[part] + t * step[part]
            with np.errstate(invalid="ignore", over="ignore"):
                bends = (terms.bend(scores) * step[part]) @ step[part]
                sums.append((start, terms.response(scores)[0] @ step[part], bends))

        run_strips(work, len(f), strip_of(len(f)))
        return tuple(add_up(sums, 2))


def strip_of(n: int) -> int:
    """Rows of a strip."""
    return max(n, 1) if n < SHARED else -(-n // STRIPS)


def add_up(sums: list[tuple], count: int) -> list:
    """The sums of all strips, added in the order of their rows; zeros where there are none."""
    return [sum(part[k] for part in sorted(sums)) for k in range(1, count + 1)]
