"""Data that come in blocks: how they are told, opened and surveyed, and predictions block by block."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..blocks import ArrayBlocks, Blocks
from ..blocks.dask import DaskBlocks, is_collection, predict_blocks
from ..blocks.survey import Survey, survey_block
from .validation import warn_of_negative_weights

# bytes from which on a memory-mapped array is read block by block instead of being read into memory
BLOCKWISE_MEMMAP_BYTES = 1 << 28
Method = TypeVar("Method", bound=Callable[..., Any])


def comes_in_blocks(X) -> bool:
    """Whether X is a Dask collection, an object of `Blocks`, or a large memory-mapped array."""
    return (
        isinstance(X, Blocks)
        or is_collection(X)
        or (isinstance(X, np.memmap) and X.nbytes > BLOCKWISE_MEMMAP_BYTES and X.ndim == 2)
    )


def open_blocks_of(X, y, weight) -> Blocks:
    """The data as blocks."""
    if is_collection(X):
        return DaskBlocks(X, y, weight)
    if isinstance(X, Blocks):
        if y is not None or weight is not None:
            raise ValueError("y and sample_weight must be None if X is a Blocks object, which has its own.")
        return X
    for name, each in (("y", y), ("sample_weight", weight)):
        if each is not None and len(each) != len(X):
            raise ValueError(f"X and {name} must have the same number of rows, but have {len(X)} and {len(each)}.")
    return ArrayBlocks(X, None if y is None else np.asarray(y), None if weight is None else np.asarray(weight))


def take_survey(blocks: Blocks, target: str) -> Survey:
    """The first pass: sizes, labels and moments; unsound data are refused here."""
    survey = blocks.run(survey_block, target)
    if survey.fault:
        raise ValueError(survey.fault + ".")
    if survey.n == 0:
        raise ValueError("X has no rows with a positive weight in any block, and at least 1 is required.")
    if survey.negative:
        warn_of_negative_weights(f"sample_weight is negative for {survey.negative} samples")
    return survey


# ---- prediction -----------------------------------------------------------------------------------------------------


def apply_blockwise(method: Method) -> Method:
    """The method, called block by block on data in blocks: lazily on a Dask collection, at once on others."""

    @wraps(method)
    def call(self: Any, X: Any) -> Any:
        if not comes_in_blocks(X):
            return method(self, X)
        probe = method(self, np.zeros((1, self.n_features_in_)))
        if is_collection(X):
            return predict_blocks(X, RowMethod(self, method.__name__), probe.dtype, (*probe.shape, None)[1])
        source = X if isinstance(X, Blocks) else ArrayBlocks(X)
        return np.concatenate([method(self, block.X) for block in source.stream()])

    return cast(Method, call)


class RowMethod:
    """A method of a machine as a function of rows, fit to travel."""

    def __init__(self, machine, name: str):
        self.machine, self.name = machine, name

    def __call__(self, X) -> np.ndarray:
        """What the machine says of some rows."""
        return getattr(self.machine, self.name)(X)
