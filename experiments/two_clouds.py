"""Two overlapping Gaussian clouds in ten dimensions, of any size: what the exercises of Wu (2014) are solved on."""

from __future__ import annotations

import numpy as np

from maxmargin.contracts.kernels import Kernel
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem

FEATURES = 10


def generate_clouds(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """n points and their labels, half of them of each class."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, FEATURES)) + 0.4 * y[:, None], y


def pose(n: int, cost: float, kernel: Kernel | None = None) -> Problem:
    """SVC on the clouds, with a free intercept; of the kernel matrix nothing is formed yet."""
    X, y = generate_clouds(n)
    return Problem(Gram.from_data(RBF("scale") if kernel is None else kernel, X), y, np.full(n, cost), Hinge(), 0.0)
