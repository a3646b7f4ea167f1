"""Which form samples are held in: dense or sparse, as given or as their products are quicker."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...contracts.samples import Samples, wrap
from .dense import Dense
from .rows import inherit_norms
from .sparse import Sparse

# dense data with a smaller share of nonzeros, and more features, are multiplied as sparse
SPARSE_MAX_DENSITY, SPARSE_MIN_FEATURES = 0.35, 32


@wrap.register(object)
def wrap_matrix(X) -> Dense | Sparse:
    """Samples over a dense or CSR matrix, without a copy unless entries are given twice."""
    if not sp.issparse(X):
        return Dense(np.asarray(X))
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Sparse(X)


def choose_storage_format(samples: Samples) -> Samples:
    """The samples in the form in which their products are quicker: sparse where few numbers are not zero.

    A product of two dense rows costs d/20 cycles in BLAS, one of sparse rows about nnz/16 cycles and the unpacking.
    """
    if samples.sparse or not samples.holds_vectors or samples.d <= SPARSE_MIN_FEATURES or samples.n == 0:
        return samples
    probe = samples.X[:: max(1, samples.n // 256)]
    if np.count_nonzero(probe) >= SPARSE_MAX_DENSITY * probe.size:
        return samples
    sparse = convert_to_sparse(samples)
    sparse.copied = sparse.nbytes
    return sparse


def convert_to_sparse(samples: Dense) -> Sparse:
    """Dense samples as sparse ones."""
    part = Sparse(sp.csr_array(samples.X), samples.dtype)
    return inherit_norms(samples, part, slice(None))


def match_storage_format(samples: Samples, others: Samples) -> Samples:
    """The samples in the form of the others, so that the two can be multiplied."""
    return convert_to_sparse(samples) if others.sparse and not samples.sparse else samples
