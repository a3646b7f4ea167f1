"""Candidates that differ in C alone, in the order in which one starts from the other; and their problems on a fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from ..estimators.machine import KernelMachine
from ..estimators.tasks import PairTasks, Task
from ..estimators.training_set import Rows
from ..model.formulations import Formulation, JointRows
from ..model.kernels import Kernel, make_kernel
from .chains import describe_parameters


@dataclass(frozen=True)
class KernelChain:
    """Machines that differ in C alone, C ascending.

    Attributes
    ----------
    candidates : list of int
        Their numbers in the search.
    machines : list of KernelMachine
        Not fitted.
    follows, is_followed : bool
        Whether it is a part of a longer chain, with another part before or after it.
    """

    candidates: list[int]
    machines: list[KernelMachine]
    follows: bool = False
    is_followed: bool = False

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
        groups.setdefault(describe_parameters(others), []).append(number)
    chains = []
    for numbers in groups.values():
        numbers.sort(key=lambda number: vars(machines[number]).get("C", 0.0))
        chains.append(KernelChain(numbers, [machines[number] for number in numbers]))
    return chains


@dataclass(frozen=True)
class PosedFold:
    """The cells of a chain on one fold, as problems one after the other.

    Attributes
    ----------
    chain : KernelChain
    fold : int
    train, test : ndarray
        Samples of the shared matrix.
    y : ndarray
        Class indices or targets of the training rows; those of several classes lie class by class.
    formulations : list of Formulation
        One for each cell.
    tasks : sequence of Task
        Those of the first cell: samples and labels are the same in all of them.
    rows : list of JointRows
        One for each cell.
    classes : ndarray or None
        Those of a classifier on the training rows.
    """

    chain: KernelChain
    fold: int
    train: np.ndarray
    test: np.ndarray
    y: np.ndarray
    formulations: list[Formulation]
    tasks: Sequence[Task]
    rows: list[JointRows]
    classes: np.ndarray | None = None

    @property
    def machine(self) -> KernelMachine:
        """That of the first cell."""
        return self.chain.machines[0]

    @cached_property
    def lengths(self) -> list[int]:
        """The samples of each problem."""
        return self.tasks.sizes if isinstance(self.tasks, PairTasks) else [len(task.index) for task in self.tasks]

    @cached_property
    def starts(self) -> list[int]:
        """Where each problem begins."""
        return [0, *accumulate(self.lengths[:-1])]

    @cached_property
    def index(self) -> np.ndarray:
        """The sample of the matrix at each place."""
        return self.train[join(self.tasks)[0]]


def join(tasks: Sequence[Task]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets and weights of the tasks, one task after the other."""
    if isinstance(tasks, PairTasks):
        return tasks.places, tasks.y, tasks.c
    index, y, c, *_ = zip(*tasks, strict=True)
    return np.concatenate(index), np.concatenate(y), np.concatenate(c)


def pose_fold(
    chain: KernelChain, fold: int, data: Rows, y: Any, train: np.ndarray, test: np.ndarray
) -> PosedFold | None:
    """The problems of a chain on the training rows of a fold; None if they have no common rows of duals.

    `data` are those rows, checked by the first machine of the chain, and y their targets as users gave them.
    """
    posed: list[Sequence[Task]] = []
    classes = vars(chain.machines[0]).get("classes_")
    if classes is not None and len(classes) > 2:
        data = replace(data, class_sizes=np.bincount(data.y, minlength=len(classes)).tolist())
    for machine in chain.machines:
        if machine is not chain.machines[0] and machine.takes_targets:
            machine._encode(y)
        posed.append(machine._tasks(data))
    formulations = [machine._formulation() for machine in chain.machines]
    found = PosedFold(chain, fold, train, test, data.y, formulations, posed[0], [], classes)
    for formulation, tasks in zip(formulations, posed, strict=True):
        _, targets, weights = join(tasks)
        rows = formulation.pose_jointly(targets, weights, found.starts)
        if rows is None:
            return None
        found.rows.append(rows)
    return found
