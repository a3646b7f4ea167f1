"""Pairs of classes over samples that lie class by class: what each pair sees, and LIBSVM's table of their duals."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, combinations
from types import ModuleType
from typing import NamedTuple

import numpy as np


class PairRows(NamedTuple):
    """The samples of each pair, one pair after the other.

    Attributes
    ----------
    index, y, c : ndarray
        Place, label (+1 for the first class, -1 for the second) and weight of each sample of each pair.
    pairs : ndarray of shape (number of pairs, 2)
        The classes of each pair.
    class_ends : ndarray
        Where each class begins among the samples, and the end of the last one.
    """

    index: np.ndarray
    y: np.ndarray
    c: np.ndarray
    pairs: np.ndarray
    class_ends: np.ndarray


@cache
def load_loops() -> ModuleType:
    """The compiled loops; an import statement in every call would take longer than the call."""
    from ..compiled import class_pairs

    return class_pairs


@cache
def list_pairs(n_classes: int) -> np.ndarray:
    """The pairs (i, j), i < j, one row each; never written to."""
    return np.array(list(combinations(range(n_classes), 2)), np.int64).reshape(-1, 2)


def pose_pairs(sizes: list[int], c: np.ndarray) -> PairRows:
    """What each pair sees of samples with weights c, so many of each class.

    Examples
    --------
    >>> import numpy as np
    >>> pose_pairs([1, 2], np.ones(3)).y
    array([ 1., -1., -1.])
    """
    pairs, ends, places = list_pairs(len(sizes)), np.array([0, *accumulate(sizes)]), (len(sizes) - 1) * len(c)
    index, y, own_c = np.empty(places, np.int64), np.empty(places), np.empty(places)
    load_loops().pose_pairs(pairs, ends, c, index, y, own_c)
    return PairRows(index, y, own_c, pairs, ends)


def fill_table(pairs: np.ndarray, class_ends: np.ndarray, duals: np.ndarray, table: np.ndarray) -> None:
    """LIBSVM's table over all samples: the coefficients of pair (i, j) in row j - 1 for class i, in row i for j."""
    load_loops().fill_table(pairs, class_ends, np.ascontiguousarray(duals), table)
