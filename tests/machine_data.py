"""Classes of samples, data in other forms, and what a machine says of them, for the tests of all estimators."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def make_classes(n: int = 90, n_classes: int = 3, seed: int = 0, width: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds on a circle, one per class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    angles = 2.0 * np.pi * y / n_classes
    return np.column_stack([np.cos(angles), np.sin(angles)]) + width * rng.normal(size=(n, 2)), y


def decide(model, X) -> np.ndarray:
    """What a model says of X: decision values, or predictions where it has none."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def freeze(X: np.ndarray) -> np.ndarray:
    """A read-only copy."""
    X = X.copy()
    X.flags.writeable = False
    return X


def widen_indices(X: np.ndarray) -> sp.csr_array:
    """CSR with 64-bit indices."""
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def equal(first, second) -> bool:
    """Whether two data sets in the same form hold the same numbers in the same places."""
    if sp.issparse(first):
        parts = [part for part in ("data", "indices", "indptr", "coords") if hasattr(first, part)]
        same = all(
            np.array_equal(getattr(first, part), getattr(second, part)) for part in parts if first.format != "lil"
        )
        return same and (first.toarray() == second.toarray()).all()
    return np.array_equal(np.asarray(first), np.asarray(second))
