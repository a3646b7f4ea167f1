"""The first pass over blocks: what the data are, and whether they are sound."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields

import numpy as np
import scipy.sparse as sp

from ..contracts.blocks import Block
from ..model.problem import TINY
from ..model.sparse_format import find_fault as find_sparse_fault

GOLDEN_RATIO_MULTIPLIER = np.uint32(2654435769)  # 2^32 divided by the golden ratio
MAX_ABS_VALUE, MIN_POSITIVE_WEIGHT = 1e100, 1e-300  # beyond these squares overflow, and inverses do
MAX_LABELS_PER_BLOCK = 10_000


@dataclass(frozen=True)
class Survey:
    """Sums over rows: how many, of how many features, their weights, and moments or labels of their targets.

    Attributes
    ----------
    n, d : int
        Rows that count, and features; d is -1 where no block has rows.
    weight : float
        sum_i s_i over sample weights.
    mean, square, size : float
        sum_i s_i y_i, sum_i s_i y_i^2 and sum_i s_i |y_i| of real targets.
    labels, totals : ndarray
        The classes, and the weight of each.
    rows, targets, joint : float
        sum_i s_i z_i^2, sum_i s_i t_i^2 and sum_i s_i z_i t_i, where z = X r for a fixed r and t are the targets, or
        numbers that stand for the labels: by these data are told from others of the same size.
    negative : int
        Rows with a negative weight, which are left out.
    fault : str
        What is wrong with the first unsound block; empty if all are sound.
    """

    n: int = 0
    d: int = -1
    weight: float = 0.0
    mean: float = 0.0
    square: float = 0.0
    size: float = 0.0
    labels: np.ndarray | None = None
    totals: np.ndarray | None = None
    rows: float = 0.0
    targets: float = 0.0
    joint: float = 0.0
    negative: int = 0
    fault: str = ""

    def __add__(self, other: Survey) -> Survey:
        if self.fault or other.fault:
            return self if self.fault else other
        if -1 not in (self.d, other.d) and self.d != other.d:
            return Survey(fault=f"X must have as many features in every block, but blocks have {self.d} and {other.d}")
        summed = {
            each.name: getattr(self, each.name) + getattr(other, each.name)
            for each in fields(self)
            if each.type in ("int", "float")
        }
        labels, totals = join_labels(self, other)
        return Survey(**{**summed, "d": max(self.d, other.d), "labels": labels, "totals": totals})

    @property
    def target_correlation(self) -> float:
        """3 + the correlation of z and t, which rounding changes little however small it is."""
        return 3.0 + self.joint / max(float(np.sqrt(self.rows) * np.sqrt(self.targets)), TINY)


def join_labels(one: Survey, other: Survey) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The classes of both, and their weights."""
    if one.labels is None or other.labels is None:
        return (other.labels, other.totals) if one.labels is None else (one.labels, one.totals)
    labels, place = np.unique(np.concatenate([one.labels, other.labels]), return_inverse=True)
    return labels, np.bincount(place, weights=np.concatenate([one.totals, other.totals]), minlength=len(labels))


def survey_block(block: Block, target: str) -> Survey:
    """What a block holds; `target` is "label", "real" or "count"."""
    n, d = block.X.shape
    fault = find_fault(block, target)
    if fault:
        return Survey(fault=f"{fault} (block {block.number})")
    weight = np.ones(n) if block.weight is None else zero_tiny_weights(np.asarray(block.weight, float))
    negative = 0 if block.weight is None else int((np.asarray(block.weight) < 0).sum())
    counted = Survey(int((weight > 0).sum()), d if n else -1, float(weight.sum()), negative=negative)
    if n == 0:
        return counted
    if target == "label":
        labels, place = np.unique(block.y, return_inverse=True)
        if len(labels) > MAX_LABELS_PER_BLOCK:
            return Survey(fault=f"y has more than {MAX_LABELS_PER_BLOCK} different labels in one block")
        totals = np.bincount(place, weights=weight, minlength=len(labels))
        fingerprint = sum_fingerprint(block.X, number_labels(labels)[place], weight)
        return counted + fingerprint + Survey(labels=labels, totals=totals)
    y = np.asarray(block.y, float)
    moments = Survey(mean=float(weight @ y), square=float(weight @ (y * y)), size=float(weight @ np.abs(y)))
    return counted + moments + sum_fingerprint(block.X, y, weight)


def zero_tiny_weights(weight: np.ndarray) -> np.ndarray:
    """The weights that count, others zero: negative ones, and those too small to have an inverse."""
    return np.where(weight < MIN_POSITIVE_WEIGHT, 0.0, weight)


def sum_fingerprint(X: np.ndarray | sp.csr_array, t: np.ndarray, weight: np.ndarray) -> Survey:
    """By what rows are told from others: one product with them, and sums that any order of the rows gives."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = X @ hash_to_interval(np.arange(X.shape[1], dtype=np.uint32))
        return Survey(rows=float(weight @ (z * z)), targets=float(weight @ (t * t)), joint=float(weight @ (z * t)))


def number_labels(labels: np.ndarray) -> np.ndarray:
    """A number for each label that depends on the label only, the same for 1, 1.0 and True."""
    names = [repr(float(each)) if labels.dtype.kind in "biuf" else str(each) for each in labels.tolist()]
    return hash_to_interval(np.array([zlib.crc32(name.encode()) for name in names], np.uint32))


def hash_to_interval(numbers: np.ndarray) -> np.ndarray:
    """Values between 1/2 and 3/2 that whole numbers of 32 bits are spread to, neighbours far apart."""
    return 0.5 + (numbers * GOLDEN_RATIO_MULTIPLIER) / 2.0**32


def find_fault(block: Block, target: str) -> str:
    """The first thing that is wrong with a block, or nothing."""
    n = block.X.shape[0]
    if sp.issparse(block.X) and (fault := find_sparse_fault(block.X)):
        return f"X is a broken {type(block.X).__name__}: {fault}"
    if block.y is None:
        return "y is missing: pass targets with X, or blocks that have them"
    if len(block.y) != n:
        return f"X and y must have the same number of rows, but have {n} and {len(block.y)}"
    if fault := find_bad_number("X", block.X.data if sp.issparse(block.X) else block.X):
        return fault
    if block.weight is not None:
        if len(block.weight) != n:
            return f"X and sample_weight must have the same number of rows, but have {n} and {len(block.weight)}"
        if fault := find_bad_number("sample_weight", np.asarray(block.weight, float)):
            return fault
    y = np.asarray(block.y)
    if y.dtype.kind == "f" or target != "label":
        if y.dtype.kind not in "fiub":
            return f"y must be numbers, but is of type {y.dtype}"
        if fault := find_bad_number("y", y):
            return fault
        if target == "label" and (y != np.floor(y)).any():
            return "Unknown label type: y holds numbers that are not integers, but classes are expected"
        if target == "count" and (y < 0).any():
            return f"y must not be negative for this loss, and y reaches {float(y.min()):g}"
    return ""


def find_bad_number(name: str, values: np.ndarray) -> str:
    """A sentence on numbers that are not finite or too large, or nothing."""
    if values.size == 0 or values.dtype.kind in "iub":
        return ""
    low, high = float(values.min()), float(values.max())  # NaN if there is one
    if np.isnan(low) or np.isnan(high):
        return f"{name} contains NaN"
    if np.isinf(low) or np.isinf(high):
        return f"{name} contains infinity"
    if max(-low, high) > MAX_ABS_VALUE:
        return f"{name} reaches {max(-low, high):.2g}; values beyond {MAX_ABS_VALUE:g} overflow, so scale them"
    return ""
