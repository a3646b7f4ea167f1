"""Data frames, tables and tensors as matrices, and the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .scikit_learn import check_array, read_feature_names

__all__ = ["name_feature", "read_feature_names", "to_matrix"]

# Values are left to the fit, which says in its own words what is wrong with them.
NOTHING_CHECKED = {
    "ensure_all_finite": False, "ensure_2d": False, "allow_nd": True, "ensure_min_samples": 0, "ensure_min_features": 0,
}  # fmt: skip


def to_matrix(X: Any) -> Any:
    """X as an array or a CSR matrix: of a data frame, a table, a tensor, a list, or a sparse matrix of any format."""
    if sp.issparse(X):
        return X.tocsr()
    return X if isinstance(X, np.ndarray) else check_array(X, **NOTHING_CHECKED)


def name_feature(number: int, names: np.ndarray | None) -> str:
    """How messages call a feature: by its name, where it has one, or by its number."""
    return f"{number}" if names is None else repr(str(names[number]))


def match_container(points: np.ndarray, like: Any) -> Any:
    """Points as a data frame with the names of the features, where the data came as one."""
    if hasattr(like, "iloc"):  # of pandas
        return type(like)(points, columns=like.columns)
    if hasattr(like, "column_names"):  # a table of pyarrow
        return type(like).from_arrays(list(points.T), names=like.column_names)
    if hasattr(like, "columns"):  # of polars
        return type(like)(points, schema=list(like.columns))
    return points
