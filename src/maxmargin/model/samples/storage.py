"""Which form samples are held in: dense or sparse, as given or as their products are quicker.

A linear machine multiplies its samples with vectors, and forms X' diag(weight) X. On one core and data that no cache
holds, a stored entry of a sparse row takes 2.2 ns and one of a dense row 0.6 ns; of the matrix, a pair of entries 2.2
ns and 0.2 ns in BLAS. Both are even where three entries in ten are not zero.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...contracts.samples import Samples, wrap
from ...runtime.threads import run_strips
from .dense import Dense
from .rows import inherit_norms
from .sparse import Sparse
from .strips import strip_rows

# dense data with a smaller share of nonzeros, and more features, are multiplied as sparse
SPARSE_MAX_DENSITY, SPARSE_MIN_FEATURES = 0.35, 32
PRODUCT_MIN_DENSITY = 0.3  # share of nonzeros from which on products with vectors are quicker as dense
# of dense data, below which they are quicker as sparse by enough for a copy, which takes as long as four products
PRODUCT_MAX_DENSITY = 0.2
COPY_MIN_ENTRIES = 1 << 18  # entries of dense data from which on products are what a fit takes its time for


@wrap.register(object)
def wrap_matrix(X) -> Dense | Sparse:
    """Samples over a dense or CSR matrix, without a copy unless entries are given twice."""
    if type(X) is np.ndarray:
        return Dense(X)
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
    return convert_to_sparse(samples)


def choose_product_format(samples: Samples) -> Samples:
    """The samples in the form in which they are multiplied with vectors: by the share of their nonzeros, not by type.

    A copy takes up to 2.3 times the memory of the data as they were given.
    """
    if samples.sparse:
        return convert_to_dense(samples) if samples.size >= PRODUCT_MIN_DENSITY * samples.n * samples.d > 0 else samples
    if samples.d <= SPARSE_MIN_FEATURES or samples.X.size < COPY_MIN_ENTRIES:
        return samples
    probe = samples.X[:: max(1, samples.n // 256)]
    if np.count_nonzero(probe) >= PRODUCT_MAX_DENSITY * probe.size:
        return samples
    counts = count_nonzeros(samples)
    return samples if counts.sum() >= PRODUCT_MAX_DENSITY * samples.X.size else compress(samples, counts)


def convert_to_dense(samples: Sparse) -> Dense:
    """Sparse samples as dense ones."""
    part = inherit_norms(samples, Dense(samples.X.toarray(), samples.dtype), slice(None))
    part.copied = part.nbytes
    return part


def convert_to_sparse(samples: Dense) -> Sparse:
    """Dense samples as sparse ones."""
    return compress(samples, count_nonzeros(samples))


def count_nonzeros(samples: Dense) -> np.ndarray:
    """The entries of each row that are not zero."""
    return np.count_nonzero(samples.X, axis=1)


def compress(samples: Dense, counts: np.ndarray) -> Sparse:
    """The rows without their zeros, of which there are so many others in each, strip by strip on all cores."""
    from ...compiled.sparse_products import compress_rows

    total = int(counts.sum())
    index = np.int32 if max(total, samples.d) < 2**31 else np.int64
    indptr = np.zeros(samples.n + 1, index)
    np.cumsum(counts, out=indptr[1:])
    data, indices = np.empty(total, samples.X.dtype), np.empty(total, index)

    def fill(start: int, stop: int) -> None:
        compress_rows(samples.X[start:stop], indptr[start:], indices, data)

    run_strips(fill, samples.n, strip_rows(samples))
    part = inherit_norms(samples, Sparse.of(data, indices, indptr, samples.d, samples.dtype), slice(None))
    part.copied = part.nbytes
    return part


def match_storage_format(samples: Samples, others: Samples) -> Samples:
    """The samples in the form of the others, so that the two can be multiplied."""
    return convert_to_sparse(samples) if others.sparse and not samples.sparse else samples
