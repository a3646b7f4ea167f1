"""Samples as kernels see them: rows of numbers, dense or sparse, or rows of kernel values."""

from __future__ import annotations

from ...contracts.samples import Samples, VectorSamples, wrap
from .dense import Dense
from .precomputed import PrecomputedRows
from .rows import GROUP_ROWS, UNDERFLOW_ALLOWANCE, SampleRows, make_writable, mark_moved
from .sparse import Sparse
from .storage import (
    choose_product_format,
    choose_storage_format,
    convert_to_dense,
    convert_to_sparse,
    match_storage_format,
)
from .strips import TILE_ENTRIES, add_strips, tile_rows

__all__ = [
    "GROUP_ROWS", "TILE_ENTRIES", "UNDERFLOW_ALLOWANCE", "Dense", "PrecomputedRows", "SampleRows", "Samples", "Sparse",
    "VectorSamples", "add_strips", "choose_product_format", "choose_storage_format", "convert_to_dense",
    "convert_to_sparse", "make_writable", "mark_moved", "match_storage_format", "tile_rows", "wrap",
]  # fmt: skip
