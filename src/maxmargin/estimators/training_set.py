"""The data of a fit, checked: rows in memory, rows in blocks, or structures."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..blocks import Blocks
from ..blocks.survey import Survey
from ..runtime.blas import ONE_THREAD_MAX_NUMBERS


class TrainingSet(ABC):
    """What an estimator poses its problems over.

    Attributes
    ----------
    form : {"memory", "blocks", "structures"}
        As for problems: where the samples are.
    observed : tuple
        X, y and sample_weight as the live line and callbacks are shown them; None where they are not in memory.
    """

    form: ClassVar[str]
    observed: tuple[Any, Any, Any]
    is_small: bool = False  # whether problems are posed without a product that BLAS would take several threads for


@dataclass(frozen=True, eq=False)
class Rows(TrainingSet):
    """Samples in memory.

    Parameters
    ----------
    X : matrix of shape (n, d), or list of n objects for a kernel of the user's
    y : ndarray of shape (n,) or (n, n_targets)
        Class indices 0..k-1, or real targets.
    weight : ndarray of shape (n,) or None
        Not negative; None if all are one.
    group : ndarray of shape (n,) or None
        The query of each sample, numbered from 0.
    class_sizes : list of int or None
        How many samples each class has, where they lie class by class.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    group: np.ndarray | None = None
    observed: tuple[Any, Any, Any] = (None, None, None)
    class_sizes: list[int] | None = None
    form: ClassVar[str] = "memory"

    @property
    def is_small(self) -> bool:
        """Whether X is a small array."""
        return type(self.X) is np.ndarray and self.X.size <= ONE_THREAD_MAX_NUMBERS


@dataclass(frozen=True, eq=False)
class BlockRows(TrainingSet):
    """Samples in blocks, and what the first pass found."""

    blocks: Blocks
    survey: Survey
    observed: tuple[Any, Any, Any] = (None, None, None)
    form: ClassVar[str] = "blocks"


@dataclass(frozen=True, eq=False)
class Structures(TrainingSet):
    """Inputs and labellings of positive weight, as lists or as what a model takes."""

    X: Any
    y: Any
    weight: np.ndarray
    observed: tuple[Any, Any, Any] = (None, None, None)
    form: ClassVar[str] = "structures"
