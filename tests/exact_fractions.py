"""Derivatives and quadratic forms in exact fractions."""

from __future__ import annotations

from fractions import Fraction as F

H = F(1, 1000)  # a step that crosses no kink of the cases below, so differences of quadratics are exact


def slope(fun, at: F) -> F:
    """The derivative of a function that is quadratic around a place: its central difference, without an error."""
    return (fun(at + H) - fun(at - H)) / (2 * H)


def sign(value: F) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


def sign_kernel(kernel, labels) -> list[list[F]]:
    """Q_ij = y_i y_j k_ij."""
    return [[a * b * k for b, k in zip(labels, row, strict=True)] for a, row in zip(labels, kernel, strict=True)]


def quadratic(Q, a) -> F:
    """a'Qa."""
    return sum(one * q * other for one, row in zip(a, Q, strict=True) for other, q in zip(a, row, strict=True))


def dots(x: list[F]) -> list[list[F]]:
    """The linear kernel of samples with one feature."""
    return [[one * other for other in x] for one in x]
