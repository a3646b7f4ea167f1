"""Whether a kernel is positive semidefinite on the samples that matter: only then does a small gap prove anything."""

from __future__ import annotations

import numpy as np

from ..contracts.features import Features

# samples whose kernel matrix is examined if it is not known whether it is positive semidefinite
DEFINITENESS_CHECK_SAMPLES = 300


def examine_kernel(features: Features, coef: np.ndarray) -> bool | None:
    """True if the kernel is known to be positive semidefinite, False if a negative eigenvalue is found, else None."""
    if features.kernel.psd:
        return True
    heaviest = find_heaviest(coef)
    return examine_matrix(features.block(heaviest, heaviest))


def find_heaviest(coef: np.ndarray) -> np.ndarray:
    """The samples whose kernel matrix is examined."""
    return np.argsort(-np.abs(coef), kind="stable")[:DEFINITENESS_CHECK_SAMPLES]


def examine_matrix(K: np.ndarray) -> bool | None:
    """False if a kernel matrix has a negative eigenvalue beyond rounding, else None."""
    eigenvalues = np.linalg.eigvalsh(0.5 * (K + K.T))
    return None if eigenvalues[0] >= -1e-10 * max(np.abs(eigenvalues).sum(), 1e-300) else False
