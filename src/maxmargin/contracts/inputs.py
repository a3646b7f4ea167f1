"""What users may hand over, as types: rows of features, targets, weights, and values of parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .blocks import Blocks
from .kernels import Kernel
from .losses import Loss
from .solvers import Solver

# X of shape (n, d): dense or sparse, a table, a Dask collection, or blocks.
MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix | Blocks
# y of shape (n,) or (n, n_targets), or sample weights of shape (n,); labels may be texts.
VectorLike: TypeAlias = ArrayLike
FilePath: TypeAlias = str | os.PathLike[str]
# The name of a kernel, one of one's own, or a function of two matrices of rows that returns all values.
KernelLike: TypeAlias = str | Kernel | Callable[[Any, Any], Any]
# The name of a loss, or one of one's own.
LossLike: TypeAlias = str | Loss
# "auto", the name of a solver, or one with parameters of one's own.
SolverLike: TypeAlias = str | Solver
# Weights by class, or "balanced".
ClassWeight: TypeAlias = Mapping[Any, float] | str | None
# A seed, a generator that goes on, or None for a seed of the operating system.
RandomState: TypeAlias = int | np.random.RandomState | None
