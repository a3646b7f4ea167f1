"""The containers in which data come: each as the function that makes it of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from maxmargin.runtime.scikit_learn import VERSION

NAMES = ["age", "income", "height", "weight"]


class Container(NamedTuple):
    """How a matrix and how a vector are put into it, and whether its columns have names."""

    wrap: Callable[[np.ndarray], Any]
    wrap_vector: Callable[[np.ndarray], Any]
    named: bool = False


class Tensor:
    """What a tensor of another library shows of itself, and no more: `__array__`, `__dlpack__`, shape and length."""

    def __init__(self, values: np.ndarray):
        self.values = values

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def make_nullable(values: np.ndarray) -> pd.DataFrame:
    """Columns of pandas' own types, which can miss values and miss none here."""
    return pd.DataFrame(values, columns=NAMES, dtype="Float64")


def make_arrow_frame(values: np.ndarray) -> pd.DataFrame:
    """A data frame over memory of Arrow."""
    return pd.DataFrame(values, columns=NAMES).convert_dtypes(dtype_backend="pyarrow")


def make_table(values: np.ndarray) -> pa.Table:
    """A table of pyarrow."""
    return pa.table(dict(zip(NAMES, values.T, strict=True)))


CONTAINERS = {
    "list": Container(np.ndarray.tolist, np.ndarray.tolist),
    "pandas": Container(lambda X: pd.DataFrame(X, columns=NAMES), pd.Series, True),
    "pandas, nullable": Container(make_nullable, lambda y: pd.Series(y).convert_dtypes(), True),
    "pandas, Arrow": Container(make_arrow_frame, lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"), True),
    "polars": Container(lambda X: pl.DataFrame(X, schema=NAMES), lambda y: pl.Series("y", y), True),
    "pyarrow": Container(make_table, lambda y: pa.chunked_array([pa.array(y[:9]), pa.array(y[9:])]), True),
    "tensor": Container(Tensor, Tensor),
    "csr_array": Container(sp.csr_array, np.asarray),
    "csc_array": Container(sp.csc_array, pd.Series),
    "coo_array": Container(sp.coo_array, np.asarray),
    "csr_matrix": Container(sp.csr_matrix, np.asarray),
}
if VERSION < (1, 9):  # which find no names in frames of polars 2, and cut no rows of tables of pyarrow
    CONTAINERS = {name: each for name, each in CONTAINERS.items() if name not in ("polars", "pyarrow")}
every_container = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
every_frame = pytest.mark.parametrize(
    "container", [each for each in CONTAINERS.values() if each.named], ids=[k for k, v in CONTAINERS.items() if v.named]
)
