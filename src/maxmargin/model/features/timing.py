"""How long a certificate takes over a kernel matrix, measured on some of its samples."""

from __future__ import annotations

import numpy as np

from ...contracts.features import KernelMatrix
from ...runtime.pace import Pace
from ..kernels import has_formula
from ..tiles import evaluate_scores

PACE_SAMPLES = 1024  # samples whose kernel values among each other are timed
PACE_PRODUCT_ENTRIES = 1 << 23  # numbers of a linear product that is timed: more than caches hold
PRODUCTS_PER_CERTIFICATE = 3  # of the data with w or with the duals, in a certificate of a linear machine
PACE_SECONDS = 0.02  # of a measurement: shorter ones see a busy machine between two turns of other programs only


class TimedMatrix(KernelMatrix):
    """A kernel matrix that measures the pace of its scores; parts of it share what was measured."""

    pace: Pace

    def measure_pace(self) -> None:
        """Measure the pace of scores on some of the samples and all cores, if that was not done lately."""
        if self.is_quick or not self.pace.is_stale:
            return
        if self.by_weights:
            self.measure_product_pace(-(-self.n * PACE_PRODUCT_ENTRIES // self.samples.size))
        else:
            if self.pace.work == 0.0:  # few first, on one core: a kernel of the user's own may be slow
                self.measure_kernel_pace(PACE_SAMPLES // 8)
            if self.pace.estimate(PACE_SAMPLES**2) < 10 * PACE_SECONDS:
                self.measure_kernel_pace(PACE_SAMPLES)

    def measure_product_pace(self, rows: int) -> None:
        """Time X w over some rows."""
        part = self.samples.take(slice(0, rows))
        w = np.ones(part.d)
        self.pace.sample(lambda: part.project(w), part.size, PACE_SECONDS)

    def measure_kernel_pace(self, rows: int) -> None:
        """Time the kernel values of some rows among each other."""
        part, coef = self.samples.take(slice(0, rows)), np.ones(rows)
        self.pace.sample(lambda: evaluate_scores(self.kernel, part, part, coef), rows**2, PACE_SECONDS)

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes with so many nonzero coefficients, at the pace of this run."""
        if self.is_quick:
            return 0.0
        return self.pace.estimate(PRODUCTS_PER_CERTIFICATE * self.samples.size if self.by_weights else self.n * support)

    @property
    def is_quick(self) -> bool:
        """Whether scores take next to no time whatever the coefficients."""
        if self.by_weights:
            return self.samples.size < PACE_PRODUCT_ENTRIES
        own = has_formula(self.kernel)  # else one of the user's, which may be slow
        return self.whole is not None or self.n <= PACE_SAMPLES or (own and self.small)
