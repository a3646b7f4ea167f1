"""Dask arrays and DataFrames as they are given: what they are, whether they are sound, and y in the chunks of X."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

NUMBER_KINDS = "biuf"  # kinds of dtypes that hold real numbers or truth values


@runtime_checkable
class Dimensioned(Protocol):
    """What has a number of dimensions; a bag has not."""

    ndim: int


@runtime_checkable
class Tabular(Protocol):
    """What has named columns."""

    columns: object


def is_collection(X) -> bool:
    """Whether X is a collection of Dask, told by its type: Dask itself is not imported."""
    return any(each.__module__.split(".")[0] in ("dask", "dask_expr") for each in type(X).__mro__)


def is_array(X) -> bool:
    """Whether a collection is an array; otherwise it is a DataFrame or a Series."""
    return any(each.__module__.startswith("dask.array") for each in type(X).__mro__)


def check_samples(X):
    """X with all its columns in one chunk, or a sentence that says what it is instead."""
    if not is_collection(X) or not (is_array(X) or (isinstance(X, Tabular) and X.ndim == 2)):
        raise ValueError(f"X must be a dask array or DataFrame, got {type(X).__module__}.{type(X).__name__}.")
    if not is_array(X):
        for name, dtype in X.dtypes.items():
            if dtype.kind not in NUMBER_KINDS:
                raise ValueError(f"X must hold real numbers, but its column {name!r} is of type {dtype}.")
        return X
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got a dask array with {X.ndim}.")
    check_numbers(X.dtype, "X")
    if np.isnan(X.shape[1]):
        raise ValueError("X must have a known number of columns, got nan; call X.compute_chunk_sizes() first.")
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def check_numbers(dtype, name: str) -> None:
    """Real numbers or truth values."""
    if dtype.kind not in NUMBER_KINDS:
        raise ValueError(f"{name} must hold real numbers, got {dtype}.")


def knows_rows(X) -> bool:
    """Whether the numbers of rows are known without computing."""
    return is_array(X) and not np.isnan(X.chunks[0]).any()


def rechunk_like(values, X, name: str):
    """A vector in the partitions of X."""
    if values is None:
        return None
    if not is_collection(values):
        return chunk_array(values, X, name)
    dimensions = values.ndim if isinstance(values, Dimensioned) else "none"
    if dimensions != 1:
        got = f"{type(values).__module__}.{type(values).__name__}"
        raise ValueError(f"{name} must have one dimension, got a {got} with {dimensions}.")
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers or labels, got {values.dtype}.")
    if knows_rows(X) and knows_rows(values):
        check_rows(sum(X.chunks[0]), sum(values.chunks[0]), name)
        return values if values.chunks[0] == X.chunks[0] else values.rechunk((X.chunks[0],))
    if count_partitions(values) != count_partitions(X):
        raise ValueError(
            f"X and {name} must have the same partitions, but X has {count_partitions(X)} and {name} has "
            f"{count_partitions(values)}, and their sizes are not known; call compute_chunk_sizes() of both first."
        )
    return values


def chunk_array(values, X, name: str):
    """An array in memory, cut into the pieces of X."""
    import dask.array

    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {values.shape}.")
    if not knows_rows(X):
        raise ValueError(
            f"{name} is an array in memory, and the rows of the partitions of X are not known; give {name} as a dask "
            "collection, or X as an array with known chunks (compute_chunk_sizes(), to_dask_array(lengths=True))."
        )
    check_rows(sum(X.chunks[0]), len(values), name)
    return dask.array.from_array(values, chunks=(X.chunks[0],))


def check_rows(n: int, length: int, name: str) -> None:
    """One value per sample."""
    if n != length:
        raise ValueError(f"X and {name} have incompatible shapes: X has {n} samples, but {name} has {length}.")


def count_partitions(X) -> int:
    """Blocks of rows."""
    return len(X.chunks[0]) if is_array(X) else X.npartitions
