"""Candidates that differ in C alone, in the order in which one starts from the other; and their problems on a fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..estimators.machine import KernelMachine
from ..estimators.tasks import Task
from ..estimators.training_set import Rows
from ..model.formulations import Formulation, JointRows
from ..model.kernels import Kernel, make_kernel


@dataclass(frozen=True)
class KernelChain:
    """Machines that differ in C alone, C ascending.

    Attributes
    ----------
    candidates : list of int
        Their numbers in the search.
    machines : list of KernelMachine
        Not fitted.
    """

    candidates: list[int]
    machines: list[KernelMachine]

    @property
    def kernel(self) -> Kernel:
        """The kernel of all of them; gamma may still depend on the data."""
        first = self.machines[0]
        return make_kernel(first.kernel, gamma=first.gamma, degree=first.degree, coef0=first.coef0)


def link_chains(machines: Mapping[int, KernelMachine]) -> list[KernelChain]:
    """Candidates in chains along C; those without a C, or with another value of anything else, begin another chain."""
    groups: dict[Any, list[int]] = {}
    for number, machine in machines.items():
        others = {name: value for name, value in machine.get_params(deep=False).items() if name != "C"}
        groups.setdefault(describe(others), []).append(number)
    chains = []
    for numbers in groups.values():
        numbers.sort(key=lambda number: vars(machines[number]).get("C", 0.0))
        chains.append(KernelChain(numbers, [machines[number] for number in numbers]))
    return chains


def describe(parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """The parameters as a key; objects that cannot be compared are told apart by identity."""
    key = []
    for name, value in sorted(parameters.items()):
        plain = isinstance(value, str | int | float | bool | type(None) | np.generic)
        key.append((name, type(value), value if plain else id(value)))
    return tuple(key)


@dataclass(frozen=True)
class PosedFold:
    """The cells of a chain on one fold, as problems one after the other.

    Attributes
    ----------
    chain : KernelChain
    fold : int
    train, test : ndarray
        Samples of the shared matrix.
    formulation : list of Formulation
        One for each cell.
    tasks : list of Task
        Those of the first cell: samples and labels are the same in all of them.
    rows : list of JointRows
        One for each cell.
    machine : KernelMachine
        That of the first cell.
    classes : ndarray or None
        Those of a classifier on the training rows.
    """

    chain: KernelChain
    fold: int
    train: np.ndarray
    test: np.ndarray
    formulations: list[Formulation]
    tasks: list[Task]
    rows: list[JointRows]
    machine: KernelMachine
    classes: np.ndarray | None = None

    @cached_property
    def lengths(self) -> list[int]:
        """The samples of each problem."""
        return [len(task.index) for task in self.tasks]

    # ---- LIBSVM's table of the coefficients of pairs, for training rows that lie class by class ---------------

    @property
    def n_classes(self) -> int:
        """Classes of the training rows."""
        return 0 if self.classes is None else len(self.classes)

    @cached_property
    def class_ends(self) -> list[int]:
        """Where each class begins among the training rows, and the end of the last one."""
        first = [next(task.index[0] for task in self.tasks if task.pair[0] == k) for k in range(self.n_classes - 1)]
        last = self.tasks[-1]
        return [*map(int, first), int(last.index[np.count_nonzero(last.y > 0)]), len(self.train)]

    @cached_property
    def table_columns(self) -> np.ndarray:
        """The training row at each place of the pairs."""
        return np.concatenate([task.index for task in self.tasks])

    @cached_property
    def table_rows(self) -> np.ndarray:
        """The row of the table at each place: j - 1 for a sample of the first class of a pair (i, j), i for others."""
        return np.concatenate([np.where(task.y > 0, task.pair[1] - 1, task.pair[0]) for task in self.tasks])

    @cached_property
    def index(self) -> np.ndarray:
        """The sample of the matrix at each place."""
        return self.train[np.concatenate([task.index for task in self.tasks])]


def pose_fold(
    chain: KernelChain, fold: int, data: Rows, y: Any, train: np.ndarray, test: np.ndarray
) -> PosedFold | None:
    """The problems of a chain on the training rows of a fold; None if they have no common rows of duals.

    `data` are those rows, checked by the first machine of the chain, and y their targets as users gave them.
    """
    posed: list[list[Task]] = []
    for machine in chain.machines:
        if machine is not chain.machines[0] and machine.takes_targets:
            machine._encode(y)
        posed.append(machine._tasks(data))
    formulations = [machine._formulation() for machine in chain.machines]
    starts = np.concatenate([[0], np.cumsum([len(task.index) for task in posed[0]])[:-1]]).astype(np.int64)
    rows: list[JointRows] = []
    for formulation, tasks in zip(formulations, posed, strict=True):
        found = formulation.pose_jointly(
            np.concatenate([task.y for task in tasks]), np.concatenate([task.c for task in tasks]), starts
        )
        if found is None:
            return None
        rows.append(found)
    classes = vars(chain.machines[0]).get("classes_")
    return PosedFold(chain, fold, train, test, formulations, posed[0], rows, chain.machines[0], classes)
