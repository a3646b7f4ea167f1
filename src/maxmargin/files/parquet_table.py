"""The columns of Parquet files as data in memory or in blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..blocks.parquet_files import ParquetBlocks, list_feature_columns, list_parquet, read_footer
from ..contracts.files import Data, DataRequest
from .columns import check_integers, choose_columns, is_weight_file, read_weights


def read_parquet(path: Path, request: DataRequest) -> Data:
    """The columns of a Parquet file or of a folder of them, read block by block."""
    names = list_feature_columns(read_footer(list_parquet(path)[0]).schema_arrow)
    weights_in_file = is_weight_file(path, names, request.weight)
    columns = choose_columns(path, names, request._replace(weight=None) if weights_in_file else request)
    features = [names[place] for place in columns.features]
    label, weight_name, query_name = (None if place is None else names[place] for place in columns[1:])
    X, y, weights = join_blocks(path, ParquetBlocks(path, label, weight_name, features), request.dtype)
    if weights_in_file:
        weights = read_weights(request.weight, len(X))
    queries = None
    if query_name is not None:
        numbers = join_blocks(path, ParquetBlocks(path, features=[query_name]), np.float64)[0]
        queries = check_integers(path, numbers[:, 0])
    return Data(X, y, weights, queries, features, target=label)


def open_columns(path: Path, request: DataRequest) -> ParquetBlocks:
    """The blocks of a Parquet file or of a folder of them, with the columns that `read_parquet` would choose."""
    names = list_feature_columns(read_footer(list_parquet(path)[0]).schema_arrow)
    columns = choose_columns(path, names, request)
    target, weight = (None if place is None else names[place] for place in (columns.target, columns.weight))
    return ParquetBlocks(path, target, weight, [names[place] for place in columns.features])


def join_blocks(path: Path, blocks: ParquetBlocks, dtype) -> tuple:
    """X, labels and weights of all blocks; a value that is missing or not finite is refused."""
    X, y, weights, start = np.empty((blocks.n, blocks.d), dtype), [], [], 0
    for block in blocks.stream():
        check_finite(path, block.X, start, blocks.feature_names)
        X[start : start + len(block.X)] = block.X
        if block.y is not None:
            y.append(check_labels(path, block.y, start, blocks.target))
        if block.weight is not None:
            check_finite(path, block.weight[:, None], start, [blocks.weight])
            weights.append(block.weight)
        start += len(block.X)
    return X, np.concatenate(y) if y else None, np.concatenate(weights) if weights else None


def check_finite(path: Path, values: np.ndarray, start: int, names: list[str]) -> None:
    """Refuse what is missing or not finite, with its row and column."""
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        value = values[row, column]
        reason = "the value is missing" if np.isnan(value) else f"numbers must be finite, got {value}"
        raise ValueError(f"{path}, row {start + row + 1}, column {names[column]!r}: {reason}.")


def check_labels(path: Path, labels: np.ndarray, start: int, name: str) -> np.ndarray:
    """Numbers as they are, texts as texts; none missing."""
    if labels.dtype.kind == "f":
        check_finite(path, labels[:, None], start, [name])
    if labels.dtype.kind in "biufU":
        return labels
    for row, label in enumerate(labels):
        if not isinstance(label, str):
            reason = "the label is missing" if label is None else f"a number or a text was expected, got {label!r}"
            raise ValueError(f"{path}, row {start + row + 1}, column {name!r}: {reason}.")
    return labels.astype(str)
