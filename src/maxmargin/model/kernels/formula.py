"""Kernels with a formula of their own, evaluated in place."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...contracts.kernels import Kernel
from ...contracts.samples import VectorSamples


class Formula(Kernel):
    """A kernel that is evaluated in place: `evaluate` takes the tile to write into."""

    psd: ClassVar[bool | None] = True

    def write(self, A, B, out):
        """K_ij = k(a_i, b_j), without a copy."""
        return self.evaluate(A, B, out)

    def norm_bounds(self, samples: VectorSamples) -> np.ndarray:
        """|x_i| in the norm by which the formula measures samples, or a little more."""
        return samples.norm_bounds
