"""What a fit is to solve: its problems one by one, and how what was solved is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from ..runtime.checkpoints import CheckpointFile
from ..solvers.result import Result
from .tasks import Budget


class SolvedTask(Protocol):
    """What `FitProblems.read` makes of a result; it keeps the result."""

    @property
    def result(self) -> Result:
        """Point, certificate, status."""
        ...


class SolvedTogether(Mapping[int, Any]):
    """Solved tasks by number, kept as arrays: each is made when it is asked for."""

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """Whether these are all tasks of a fit, and all have converged."""


class FitProblems(ABC):
    """The problems of one fit.

    Attributes
    ----------
    X : matrix, list or None
        The rows that a warning may give advice about; None where they are not in memory.
    indices : sequence of (ndarray or None)
        For each problem, the rows it is over. A warm fit starts from the points of the last one if they are the same.
        None where rows have no numbers.
    side_by_side : bool
        Whether the problems may be solved on several threads.
    has_snapshots : bool
        Whether callbacks may ask for the estimator as if the fit had ended.
    """

    side_by_side: ClassVar[bool] = True
    has_snapshots: ClassVar[bool] = True
    X: Any

    @property
    @abstractmethod
    def indices(self) -> Sequence[np.ndarray | None]:
        """The rows of each problem."""

    def __len__(self) -> int:
        """The number of problems."""
        return len(self.indices)

    @abstractmethod
    def problem(self, k: int) -> Any:
        """Problem k."""

    @abstractmethod
    def read(self, problem: Any, result: Result) -> SolvedTask:
        """What was solved, as a machine."""

    @abstractmethod
    def run_all(self, run: Callable[[int], Any], budget: Budget, stores: list[CheckpointFile | None]) -> list[Any]:
        """run(k) for each problem k; None for those that had no time to begin."""

    def fill_in(self, fits: list[Any], starts: list[Any], interrupted: bool) -> list[Any]:
        """The fits, with those that had no time to begin at the points where they were to start."""
        return fits
