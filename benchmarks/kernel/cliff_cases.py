"""Cases for `cliffs`: machines, sets, sizes, kernels, gamma, C, nu and tolerances, drawn at random from their product.

Each axis is drawn by itself and the machine first, so that every machine has an equal share of the cases, and the
linear kernel, which has no gamma, as large a share as the others. The seed is fixed: the first cases of a long run are
those of a short one. SETS names some of the sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.model.kernels import resolve_gamma

from ..measuring.data import (
    CLASSIFICATION_FILES,
    REGRESSION_FILES,
    find_folder,
    make_classes,
    make_clouds,
    make_friedman,
    read_file,
    standardise,
)
from .cases import list_chosen

CLASSIFICATION = (
    "letter", "satimage", "segment", "pendigits", "svmguide1", "splice", "vehicle", "dna", "australian",
    "german.numer", "a9a", "ijcnn1", "cod-rna", "w8a", "magic04", "spambase", "shuttle",
)  # fmt: skip
REGRESSION = ("abalone", "space_ga", "cpusmall", "housing", "cadata", "bodyfat")
GENERATED = {"clouds": make_clouds, "five_classes": make_classes, "friedman1": make_friedman}
FILES = {file.partition("/")[0]: file for file in CLASSIFICATION_FILES + REGRESSION_FILES}
SEED = 0
BRIEF_ROWS = 1000

SIZES = (300, 1000, 2000, 4000, 10_000)  # rows
KERNELS = {"rbf": {}, "linear": {}, "poly": {"degree": 3, "coef0": 1.0}, "sigmoid": {}, "laplacian": {}}
GAMMAS = (0.03, 0.3, 3.0, 30.0)  # in units of 1 / (d Var(X))
COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5)
NUS = (0.05, 0.2, 0.5)
TOLERANCES = (1e-2, 1e-3, 1e-5, 1e-8)


class Machine(NamedTuple):
    """A class of both libraries, the targets it takes, and the parameters it has beside those of the kernel."""

    kind: str
    targets: tuple[str, ...]
    parameters: tuple[str, ...]


MACHINES = {
    "SVC, two classes": Machine("SVC", ("two classes",), ("C",)),
    "SVC, many classes": Machine("SVC", ("many classes",), ("C",)),
    "NuSVC": Machine("NuSVC", ("two classes", "many classes"), ("nu",)),
    "SVR": Machine("SVR", ("values",), ("C",)),
    "NuSVR": Machine("NuSVR", ("values",), ("C", "nu")),
    "OneClassSVM": Machine("OneClassSVM", ("two classes", "many classes"), ("nu",)),
}


class Rows(NamedTuple):
    """Rows of a set in a random order, as many as the largest size needs, and what its targets are."""

    name: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray
    targets: str

    @property
    def sizes(self) -> list[int]:
        """The sizes that the set has rows for."""
        return [size for size in SIZES if size <= len(self.y)]


@dataclass(frozen=True)
class Case:
    """One fit: a machine, its data and its parameters; None for a parameter it does not have."""

    machine: str
    data: str
    n: int
    kernel: str
    gamma: float | None  # in units of 1 / (d Var(X))
    C: float | None
    nu: float | None
    tol: float

    @property
    def kind(self) -> str:
        """The name of the class."""
        return MACHINES[self.machine].kind

    @property
    def name(self) -> str:
        """What a reader needs to repeat the fit."""
        parts = [f"{self.kind} on {self.data}", f"n = {self.n:,}", self.kernel]
        parts += [f"gamma = {self.gamma:g} scale"] if self.gamma is not None else []
        parts += [f"{name} = {value:g}" for name in ("C", "nu") if (value := getattr(self, name)) is not None]
        return ", ".join([*parts, f"tol = {self.tol:.0e}"])

    def resolve_parameters(self, X) -> dict[str, float]:
        """C, nu and the parameters of the kernel, gamma as a number."""
        parameters = {name: getattr(self, name) for name in MACHINES[self.machine].parameters}
        if self.gamma is not None:
            parameters["gamma"] = self.gamma * resolve_gamma("scale", X)
        return {**parameters, **KERNELS[self.kernel]}


def name_targets(name: str, y: np.ndarray) -> str:
    """Values, two classes or many classes."""
    if name in REGRESSION or name == "friedman1":
        return "values"
    return "two classes" if len(np.unique(y)) == 2 else "many classes"


def read_rows(name: str, *, brief: bool) -> Rows | None:
    """A set of the folder or a generated one, shuffled with a fixed seed; None where its file is not there."""
    if name in GENERATED:
        found = GENERATED[name](BRIEF_ROWS if brief else SIZES[-1])
    else:
        found = read_file(FILES[name])
    if found is None:
        return None
    X, y = found
    targets = name_targets(name, y)
    if targets == "values":
        X, y = standardise(X), standardise(y[:, None]).ravel()
    chosen = np.random.default_rng(SEED).permutation(len(y))[: SIZES[-1]]
    return Rows(name, X[chosen], y[chosen], targets)


def list_sets(*, brief: bool) -> Iterator[Rows]:
    """The sets one by one, a line for each that is left out; generated ones to be brief or without a folder."""
    known = GENERATED if brief or find_folder() is None else CLASSIFICATION + REGRESSION
    chosen = list_chosen() or known
    if not set(chosen) <= set(known):
        raise SystemExit(f"SETS may name any of: {', '.join(known)}.")
    for name in chosen:
        rows = read_rows(name, brief=brief)
        if rows is None:
            print(f"{name} is skipped: it is not in the folder of data.", flush=True)
        elif not rows.sizes:
            print(f"{name} is skipped: it has {len(rows.y)} rows, fewer than {SIZES[0]}.", flush=True)
        else:
            yield rows


def is_feasible(case: Case, y: np.ndarray) -> bool:
    """Whether NuSVC has a solution: nu <= 2 min(n_j, n_k) / (n_j + n_k) for every pair of classes."""
    if case.kind != "NuSVC":
        return True
    counts = np.unique(y[: case.n], return_counts=True)[1]
    return len(counts) > 1 and case.nu <= 2.0 * counts.min() / (counts.min() + counts.max())


def draw_case(random: Random, machine: str, rows: Rows) -> Case:
    """A case of this machine on this set."""
    kernel, parameters = random.choice(list(KERNELS)), MACHINES[machine].parameters
    return Case(
        machine=machine,
        data=rows.name,
        n=random.choice(rows.sizes),
        kernel=kernel,
        gamma=None if kernel == "linear" else random.choice(GAMMAS),
        C=random.choice(COSTS) if "C" in parameters else None,
        nu=random.choice(NUS) if "nu" in parameters else None,
        tol=random.choice(TOLERANCES),
    )


def draw_cases(sets: list[Rows]) -> Iterator[tuple[Case, np.ndarray | sp.csr_array, np.ndarray]]:
    """(case, X, y) without end, none twice, of the machines that have a set."""
    random, seen = Random(SEED), set()
    suited = {name: [rows for rows in sets if rows.targets in machine.targets] for name, machine in MACHINES.items()}
    machines = [name for name, found in suited.items() if found]
    while machines:
        machine = random.choice(machines)
        rows = random.choice(suited[machine])
        case = draw_case(random, machine, rows)
        if case not in seen and is_feasible(case, rows.y):
            seen.add(case)
            yield case, rows.X[: case.n], rows.y[: case.n]
