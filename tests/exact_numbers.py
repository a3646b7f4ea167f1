"""Small convex programs in eighty digits: linear systems, quadratic programs, cutting planes, Newton's method.

Every float64 is a decimal number, and Decimal represents it exactly. Eighty digits are as good as exact numbers here,
since the numbers compared with them have sixteen. No code of the library is used, so no error of the library can hide.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import NamedTuple

import numpy as np

ZERO, ONE, HALF, TWO = Decimal(0), Decimal(1), Decimal("0.5"), Decimal(2)
INFINITY = Decimal("Infinity")  # no bound
PIVOT_TOLERANCE = Decimal("1e-60")  # of the largest entry: a pivot below this counts as zero
INTERIOR_POINT_TOLERANCE = Decimal("1e-30")  # of the size of the value: an interior point method stops at this error
BOUNDARY_STEP_SHARE = Decimal("0.995")  # a step goes this share of the way to the boundary

exact = np.frompyfunc(lambda value: Decimal(float(value)), 1, 1)
positive_part = np.frompyfunc(lambda value: value if value > 0 else ZERO, 1, 1)
exponential = np.frompyfunc(lambda value: value.exp(), 1, 1)
logarithm = np.frompyfunc(lambda value: value.ln(), 1, 1)


@contextmanager
def many_digits(digits: int = 80):
    """Decimal numbers with this many digits and of any size; overflow gives infinity."""
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])):
        yield


def zeros(*shape: int) -> np.ndarray:
    """An array of exact zeros."""
    return np.full(shape, ZERO, dtype=object)


def total(values) -> Decimal:
    """The sum of an array of numbers, which may be empty."""
    return sum(np.ravel(values), ZERO)


def largest(values) -> Decimal:
    """max |v|, and 0 for an empty array."""
    return max((abs(value) for value in np.ravel(values)), default=ZERO)


class Factors:
    """P A = L U, for any number of right-hand sides; unknowns without a pivot are zero."""

    def __init__(self, A: np.ndarray):
        A, n = A.copy(), len(A)
        self.order, self.null, least = list(range(n)), np.zeros(n, bool), PIVOT_TOLERANCE * largest(A)
        for k in range(n):
            p = max(range(k, n), key=lambda i: abs(A[i, k]))
            if abs(A[p, k]) <= least:
                self.null[k] = True
                A[k:, k] = ZERO
                continue
            if p != k:
                A[[k, p]] = A[[p, k]]
                self.order[k], self.order[p] = self.order[p], self.order[k]
            A[k + 1 :, k] /= A[k, k]
            A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
        self.A = A

    def solve(self, b: np.ndarray) -> np.ndarray:
        """x with A x = b."""
        x, n = b[self.order].copy(), len(b)
        for k in range(n):
            x[k + 1 :] -= self.A[k + 1 :, k] * x[k]
        for k in reversed(range(n)):
            x[k] = ZERO if self.null[k] else (x[k] - total(self.A[k, k + 1 :] * x[k + 1 :])) / self.A[k, k]
        return x


class BoxProgram(NamedTuple):
    """min 1/2 x'Hx + q'x over lo <= x <= hi and A x = b; bounds may be infinite."""

    H: np.ndarray
    q: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    A: np.ndarray
    b: np.ndarray


def solve_in_box(program: BoxProgram, rounds: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """x and the multipliers of A x = b, by Mehrotra's predictor and corrector."""
    state = Interior(program)
    best = (state.error, state.x, state.y)
    for _ in range(rounds):
        if best[0] <= INTERIOR_POINT_TOLERANCE or not state.error <= max(
            best[0] / INTERIOR_POINT_TOLERANCE, ONE
        ):  # done, or lost in rounding
            break
        state.advance()
        best = min(best, (state.error, state.x, state.y), key=lambda each: (each[0].is_nan(), each[0]))
    return best[1:]


class Interior:
    """An interior point (x, y, z): `below` and `above` are the multipliers of the bounds."""

    def __init__(self, program: BoxProgram):
        self.program = program
        H, q, lo, hi, _, b = program
        self.has_lo, self.has_hi = lo > -INFINITY, hi < INFINITY
        both, width = self.has_lo & self.has_hi, largest(b) + ONE
        inner = np.where(self.has_lo, lo + width, np.where(self.has_hi, hi - width, ZERO))
        self.x = np.where(both, HALF * (lo + hi), inner)
        self.y = zeros(len(b))
        steep = largest(H @ self.x + q) + PIVOT_TOLERANCE
        self.below, self.above = np.where(self.has_lo, steep, ZERO), np.where(self.has_hi, steep, ZERO)
        self.measure()

    def measure(self) -> None:
        """The distances to the bounds, the residuals, and the complementarity products."""
        H, q, lo, hi, A, b = self.program
        self.low = np.where(self.has_lo, self.x - np.where(self.has_lo, lo, ZERO), ONE)
        self.high = np.where(self.has_hi, np.where(self.has_hi, hi, ZERO) - self.x, ONE)
        self.pull = H @ self.x
        self.rest = self.pull + q + A.T @ self.y - self.below + self.above
        self.missed = A @ self.x - b
        self.count = int(self.has_lo.sum() + self.has_hi.sum())
        self.products = total(self.low * self.below) + total(self.high * self.above)

    @property
    def error(self) -> Decimal:
        """The largest of products and residuals, each relative to the size of its terms."""
        size = abs(self.pull @ self.x) + abs(self.program.q @ self.x) + PIVOT_TOLERANCE
        left = self.products + abs(self.rest @ self.x) + abs(self.missed @ self.y)
        steep = largest(self.pull) + largest(self.program.q) + largest(self.y) + PIVOT_TOLERANCE
        return max(left / size, largest(self.rest) / steep, largest(self.missed) / (largest(self.x) + PIVOT_TOLERANCE))

    def advance(self) -> None:
        """One predictor-corrector step, which stays inside the bounds."""
        H, A = self.program.H, self.program.A
        n, m = len(self.x), len(self.y)
        system = np.block([[H + np.diag(self.below / self.low + self.above / self.high) + ZERO, A.T], [A, zeros(m, m)]])
        factors = Factors(system)
        mean = self.products / self.count if self.count else ZERO
        first = self.find_step(factors, ZERO, zeros(n), zeros(n))
        reach = self.find_length(first)
        x, _, below, above = (reach * part for part in first)
        after = total((self.low + self.has_lo * x) * (self.below + below))
        after += total((self.high - self.has_hi * x) * (self.above + above))
        share = (after / self.products) ** 3 if self.products > 0 else ZERO
        step = self.find_step(factors, share * mean, first[0] * first[2], -first[0] * first[3])
        reach = self.find_length(step)
        reach = ONE if reach >= ONE else BOUNDARY_STEP_SHARE * reach
        self.x, self.y, self.below, self.above = (
            old + reach * part for old, part in zip((self.x, self.y, self.below, self.above), step, strict=True)
        )
        self.measure()

    def find_step(self, factors: Factors, aim: Decimal, bent_below: np.ndarray, bent_above: np.ndarray) -> tuple:
        """dx, dy and the changes of the multipliers that bring the products to the size `aim`."""
        n = len(self.x)
        lower = np.where(self.has_lo, (aim - bent_below) / self.low - self.below, ZERO)
        upper = np.where(self.has_hi, (aim - bent_above) / self.high - self.above, ZERO)
        both = factors.solve(np.concatenate([lower - upper - self.rest, -self.missed]))
        x = both[:n]
        below = np.where(self.has_lo, lower - self.below / self.low * x, ZERO)
        above = np.where(self.has_hi, upper + self.above / self.high * x, ZERO)
        return x, both[n:], below, above

    def find_length(self, step: tuple) -> Decimal:
        """The share of the step that stays within the bounds, at most 1."""
        x, _, below, above = step
        reach = ONE
        for have, room, change in (
            (self.has_lo, self.low, x), (self.has_hi, self.high, -x),
            (self.has_lo, self.below, below), (self.has_hi, self.above, above),
        ):  # fmt: skip
            for value, slope in zip(room[have], change[have], strict=True):
                if slope < 0:
                    reach = min(reach, -value / slope)
        return reach


def cut_planes(oracle: Callable, start: list, free: np.ndarray, rounds: int = 25) -> tuple[Decimal, np.ndarray]:
    """min over v of 1/2 |v|^2 without the free entries + R(v), R convex and polyhedral: the least value found, and v.

    oracle(v) is (R(v), a subgradient). Each round minimises the penalty plus the maximum of the cuts so far, and calls
    the oracle at the minimum.
    """
    cuts, best, where, size = [], INFINITY, None, len(start[0])
    for v in start:
        value, slope = oracle(v)
        cuts.append((value - slope @ v, slope))
        best, where = min((best, where), (value + HALF * total((v * v)[~free]), v), key=lambda pair: pair[0])
    for _ in range(rounds):
        offsets, slopes = np.array([cut[0] for cut in cuts], object), np.array([cut[1] for cut in cuts], object)
        held = slopes[:, ~free]
        A = np.vstack([np.full(len(cuts), ONE), slopes[:, free].T])
        right = zeros(len(A))
        right[0] = ONE
        program = BoxProgram(held @ held.T, -offsets, zeros(len(cuts)), np.full(len(cuts), INFINITY), A, right)
        shares, multipliers = solve_in_box(program)
        v = zeros(size)
        v[~free], v[free] = -(shares @ held), -multipliers[1:]
        value, slope = oracle(v)
        model = max(offset + cut @ v for offset, cut in cuts)
        reached = value + HALF * total((v * v)[~free])
        best, where = min((best, where), (reached, v), key=lambda pair: pair[0])
        if not value - model > Decimal("1e-24") * (abs(value) + abs(reached)):
            break
        least = Decimal("1e-12")
        cuts = [cut for cut, share in zip(cuts, shares, strict=True) if share > least] + [(value - slope @ v, slope)]
    return best, where


def descend(value: Callable, derivatives: Callable, v: np.ndarray, rounds: int = 60) -> tuple[Decimal, np.ndarray]:
    """min of a smooth convex function by Newton's method, each step halved until the value falls: the value, and v."""
    best = value(v)
    for _ in range(rounds):
        slope, bend = derivatives(v)
        step = -Factors(bend).solve(slope)
        length, fallen = ONE, ZERO
        for _ in range(60):
            reached = value(v + length * step)
            if reached < best:
                fallen = best - reached
                break
            length *= HALF
        if not fallen > 0:
            break
        v, best = v + length * step, reached
        if fallen <= Decimal("1e-40") * abs(best):
            break
    return best, v
