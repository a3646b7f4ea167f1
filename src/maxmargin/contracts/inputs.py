"""What users may hand over, as types: rows of features, targets and weights, and where files are."""

from __future__ import annotations

import os
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .blocks import Blocks

# X of shape (n, d), dense or sparse, a table, a Dask collection, or blocks.
MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix | Blocks
# y of shape (n,) or (n, n_targets), or sample weights of shape (n,), where they have to be given.
VectorLike: TypeAlias = ArrayLike
# A file or a folder.
FilePath: TypeAlias = str | os.PathLike[str]
# A seed, a generator that goes on, or None for what the operating system gives.
RandomState: TypeAlias = int | np.random.RandomState | None
