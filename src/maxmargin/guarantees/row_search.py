"""Which rows of a matrix some vectors are: models from files of other libraries do not say."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

ROW_MATCH_TOL = 2e-7  # by how much a number may differ, of its size: LIBSVM writes eight digits, and X may be float32
MAX_CANDIDATES = 64  # rows with nearly the same key that are compared


def find_rows(vectors, X) -> np.ndarray:
    """For each vector a row of X that is the same to seven digits; no row stands for two of them.

    Rows are sorted by a random projection, so that only those with nearly the same key are compared: O(n log n).

    Parameters
    ----------
    vectors : ndarray or CSR matrix of shape (m, d)
    X : ndarray or CSR matrix of shape (n, d)

    Returns
    -------
    ndarray of shape (m,)
        Rows of X; -1 where there is none.
    """
    r = np.random.default_rng(0).uniform(0.5, 1.5, X.shape[1])
    keys, wanted = X @ r, vectors @ r
    order = np.argsort(keys, kind="stable")
    ranked, free = keys[order], np.ones(X.shape[0], bool)
    slack = 1.01 * ROW_MATCH_TOL * (abs(vectors) @ r)
    low, high = np.searchsorted(ranked, wanted - slack), np.searchsorted(ranked, wanted + slack, side="right")
    found = np.full(vectors.shape[0], -1)
    for i in range(len(found)):
        near = order[low[i] : high[i]]
        near = near[free[near]]
        near = near[np.argsort(np.abs(keys[near] - wanted[i]), kind="stable")[:MAX_CANDIDATES]]
        if len(near):
            vector, rows = to_dense(vectors[[i]]), to_dense(X[near])
            same = (np.abs(rows - vector) <= ROW_MATCH_TOL * np.abs(vector)).all(axis=1)
            if same.any():
                found[i] = near[np.argmax(same)]
                free[found[i]] = False
    return found


def to_dense(rows) -> np.ndarray:
    """A few rows as an array."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)
