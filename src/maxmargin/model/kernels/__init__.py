"""Kernels k(x, z), by the name that users call them; a kernel of one's own derives from `Kernel`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ...contracts.kernels import Kernel
from ...contracts.samples import Samples
from .distances import RBF, Laplacian
from .gamma import resolve_gamma
from .precomputed import Custom, Precomputed
from .products import Linear, Polynomial, Sigmoid
from .rounding import SINGLE_UNIT
from .shifts import add_shift_product, find_shift, translate

KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, Polynomial, RBF, Sigmoid, Laplacian, Precomputed)
}

FORMULAS = {Linear: 0, Polynomial: 1, RBF: 2, Sigmoid: 3, Laplacian: 4}  # as in compiled.single_rows
RBF_FROM_DIFFERENCES = 5

__all__ = [
    "FORMULAS", "KERNELS", "RBF", "SINGLE_UNIT", "Custom", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed",
    "Sigmoid", "add_shift_product", "choose_formula", "find_shift", "has_formula", "is_function", "make_kernel",
    "read_formula", "resolve_gamma", "translate",
]  # fmt: skip


def has_formula(kernel: Kernel) -> bool:
    """Whether compiled loops know the formula; a subclass of one may have another formula, so they do not know it."""
    return type(kernel) in FORMULAS


def read_formula(kernel: Kernel) -> tuple[int, float, float, int]:
    """Kind, gamma, coef0 and degree of a kernel, as compiled loops know them."""
    return FORMULAS[type(kernel)], *kernel.parameters


def choose_formula(kernel: Kernel, samples: Samples) -> tuple[int, float, float, int]:
    """The same for rows in float64 or float32: the Gaussian kernel from differences where its exponent would cancel."""
    apart = type(kernel) is RBF and kernel.cancels(samples, samples)
    return (RBF_FROM_DIFFERENCES, *kernel.parameters) if apart else read_formula(kernel)


def is_function(kernel: str | Callable | Kernel) -> bool:
    """Whether the kernel is a callable of the user's, whose samples are whatever it takes."""
    return callable(kernel) and not isinstance(kernel, Kernel)


def make_kernel(kernel: str | Callable | Kernel, *, gamma="scale", degree=3, coef0=0.0) -> Kernel:
    """The Kernel of a name, a callable or a Kernel, with those of the parameters it knows."""
    if isinstance(kernel, str) and kernel in KERNELS:
        kind, known = KERNELS[kernel], {"gamma": gamma, "degree": degree, "coef0": coef0}
        return kind(**{key: known[key] for key in list_parameters(kind)})
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Custom(function=kernel)
    raise ValueError(f"kernel must be one of {sorted(KERNELS)}, a callable or a Kernel, got {kernel!r}.")


@cache
def list_parameters(kind: type[Kernel]) -> tuple[str, ...]:
    """Those of gamma, degree and coef0 that a kernel has."""
    return tuple(key for key in ("gamma", "degree", "coef0") if key in kind.__dataclass_fields__)
