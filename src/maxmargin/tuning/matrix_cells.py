"""Cells of kernel machines over one set of samples: one matrix per kernel, one chain along C per machine and fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..certificates.certificate import Certificate
from ..estimators.machine import KernelMachine
from ..estimators.training_set import Rows
from ..model.features import Gram
from ..model.kernels import Kernel, make_kernel
from .chain_parts import ChainSize, cut_cells, cut_chain
from .kernel_cells import SolvedCells
from .kernel_chains import KernelChain, PosedFold, link_chains, pose_fold
from .shared_matrix import SharedMatrix, choose_precision, has_shared_matrix

LOOSE_GAP = 1e-3  # the relative gap that settles the score of a cell, unless it is close to the best
REFINED_SHARE_OF_GAP = 0.3  # of the gap that was asked for, to which a cell goes on that the judge finds short of it
LOOSE_MIN_SAMPLES = 1000  # samples of a problem from which on the last digits of a gap take time
CLOSE_SHARE_OF_SCORE = 0.005  # of the best score: cells that are nearer to it are solved to the end
CLOSE_SHARE_OF_SPREAD = 0.5  # of the standard deviation of the best over the folds: the same
MEGABYTE_BYTES = 2**20


class FoldRows(NamedTuple):
    """The rows of a fold in a set of samples, and the weights of those that train."""

    number: int
    train: np.ndarray
    test: np.ndarray
    weight: np.ndarray | None = None


ChainPart: TypeAlias = tuple[KernelChain, list[FoldRows]]


@dataclass(frozen=True)
class SampleSet:
    """Samples that folds share, and their targets.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d), in float64
    y : ndarray of shape (n,)
        As users gave them.
    folds : sequence of FoldRows
    """

    X: Any
    y: np.ndarray
    folds: Sequence[FoldRows]

    @cached_property
    def class_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples class by class, and the place of each in that order."""
        order = np.argsort(np.unique(self.y, return_inverse=True)[1], kind="stable")
        return order, np.argsort(order)

    def sort_by_class(self) -> SampleSet:
        """The same samples class by class, so that the samples of a pair are two runs of rows."""
        order, place = self.class_order
        folds = []
        for fold in self.folds:
            train = place[fold.train]
            sort = np.argsort(train, kind="stable")
            weight = None if fold.weight is None else fold.weight[sort]
            folds.append(FoldRows(fold.number, train[sort], place[fold.test], weight))
        return SampleSet(self.X[order], self.y[order], folds)


class SolvedCell(NamedTuple):
    """A solved cell, ready to be scored.

    Attributes
    ----------
    candidate, fold : int
    machine : KernelMachine
        Not fitted; one of a classifier knows `classes_`.
    test, train : ndarray of shape (rows, machines)
        Decision values of the rows that were held out, and on demand, as long as the cell is being scored, of the
        training rows in their given order.
    certificate : Certificate
    seconds : float
    """

    candidate: int
    fold: int
    machine: KernelMachine
    test: np.ndarray
    train: Callable[[], np.ndarray]
    certificate: Certificate
    seconds: float


class MatrixSearch:
    """All cells of some machines on the folds of a set of samples.

    Parameters
    ----------
    samples : SampleSet
    machines : mapping of candidate to KernelMachine
        Not fitted, their parameters sound.
    score : callable
        (SolvedCell) -> float: larger is better. Called again where a cell was solved to the end after that.
    finish : callable
        (candidate, fold): nothing more will be known of a cell that was scored.
    is_over : callable
        Whether no other cell may begin.
    """

    def __init__(
        self,
        samples: SampleSet,
        machines: Mapping[int, KernelMachine],
        score: Callable[[SolvedCell], float],
        finish: Callable[[int, int], None],
        is_over: Callable[[], bool],
    ):
        self.machines, self.score, self.finish, self.is_over = machines, score, finish, is_over
        self.classifies = next(iter(machines.values())).task == "classification"
        self.samples = samples.sort_by_class() if self.classifies else samples
        self.given = samples
        self.scores: dict[tuple[int, int], float] = {}
        self.ends: dict[int, np.ndarray] = {}  # of a chain that is solved in parts: its last cell so far on each fold
        self.kernel_values = self.fits = 0

    @classmethod
    def takes(cls, machine: KernelMachine, n: int) -> bool:
        """Whether a matrix of n samples and all chains along C serve the machine."""
        if not has_shared_matrix(make_kernel(machine.kernel, gamma=1.0, degree=machine.degree, coef0=machine.coef0)):
            return False
        return choose_precision(n, machine.cache_size * MEGABYTE_BYTES) is not None

    def run(self) -> None:
        """Score all cells, kernel by kernel, as far as there is time; `scores` says which are done."""
        groups = self.group_by_kernel()
        memory = min(machine.cache_size for machine in self.machines.values()) * MEGABYTE_BYTES
        shared = SharedMatrix(self.samples.X, memory)
        for kernel, chains in order_from_middle(groups):
            if self.is_over():
                break
            bound, samples = shared.bind(kernel)
            matrix, features = shared.form(bound, samples), Gram(bound, samples)
            for chain, folds in chains:
                posed = [found for fold in folds if (found := self.pose(chain, fold)) is not None]
                if posed and not self.is_over():
                    solved = SolvedCells(matrix, features, posed, self.take_start(chain, posed))
                    self.solve_chain(solved)
                    if chain.is_followed:
                        self.ends |= solved.cut_last()
        self.kernel_values = shared.kernel_values

    def take_start(self, chain: KernelChain, posed: Sequence[PosedFold]) -> np.ndarray | None:
        """Where the first cell of a part of a chain starts: at the last one of the part before, if that was solved."""
        ends = [self.ends.pop(fold.fold, None) for fold in posed]
        found = [end for end in ends if end is not None]
        return np.concatenate(found, axis=1) if chain.follows and len(found) == len(ends) else None

    # ---- posing -------------------------------------------------------------------------------------------

    def group_by_kernel(self) -> list[tuple[Kernel, list[ChainPart]]]:
        """The parts of chains of each kernel with numbers for parameters; gamma="scale" is another one on each fold."""
        groups: dict[Any, tuple[Kernel, list[ChainPart]]] = {}
        for chain in link_chains(self.machines):
            by_kernel: dict[Any, list[FoldRows]] = {}
            for fold in self.samples.folds:
                kernel = self.bind(chain, fold)
                if kernel is None:
                    continue
                key = describe_kernel(kernel)
                groups.setdefault(key, (kernel, []))
                by_kernel.setdefault(key, []).append(fold)
            for key, folds in by_kernel.items():
                groups[key][1].extend(cut_chain(chain, folds, partial(self.measure, chain.machines[0])))
        return list(groups.values())

    def bind(self, chain: KernelChain, fold: FoldRows) -> Kernel | None:
        """The kernel of a chain with numbers for parameters; None where fit would refuse the rows that give them."""
        if not isinstance(chain.kernel.gamma, str):
            return chain.kernel
        try:
            data = self.validate(chain, fold)
        except ValueError:
            return None
        return chain.kernel.bind(data.X, None if data.weight is None else np.maximum(data.weight, 0.0))

    def validate(self, chain: KernelChain, fold: FoldRows) -> Rows:
        """The training rows of a fold, as the fit of a machine checks them."""
        return chain.machines[0]._validate(self.samples.X[fold.train], self.samples.y[fold.train], fold.weight)

    def pose(self, chain: KernelChain, fold: FoldRows) -> PosedFold | None:
        """A chain on a fold; nothing where fit would refuse the rows."""
        try:
            data = self.validate(chain, fold)
            return pose_fold(chain, fold.number, data, self.samples.y[fold.train], fold.train, fold.test)
        except ValueError:
            return None

    def measure(self, machine: KernelMachine, fold: FoldRows) -> ChainSize:
        """How many places the problems of a machine have on a fold."""
        n, layers = len(fold.train), 2 if "nu" in vars(machine) else 1
        sizes = np.unique(self.samples.y[fold.train], return_counts=True)[1] if self.classifies else np.array([n])
        if len(sizes) <= 2:
            return ChainSize(n * layers, n > LOOSE_MIN_SAMPLES)
        if vars(machine).get("multi_class") == "ovr":
            return ChainSize(n * layers * len(sizes), n > LOOSE_MIN_SAMPLES)
        largest_pair = int(np.sort(sizes)[-2:].sum())
        return ChainSize(n * layers * (len(sizes) - 1), largest_pair > LOOSE_MIN_SAMPLES)

    # ---- solving and scoring ------------------------------------------------------------------------------

    def solve_chain(self, solved: SolvedCells) -> None:
        """Solve all cells of a chain, loosely where they are large; those close to the best are solved to the end."""
        tol = solved.folds[0].machine.tol
        if solved.storage_error:  # a smaller gap could not be certified
            tol = max(tol, LOOSE_GAP)
        loose = max(tol, LOOSE_GAP) if max(solved.lengths) > LOOSE_MIN_SAMPLES else tol
        every = np.ones(solved.cells, bool)
        solved.solve(loose, self.is_over)
        self.report(solved, loose, every)
        close = self.find_close(solved) if loose > tol else ~every
        if close.any() and not self.is_over():
            solved.solve(tol, self.is_over, close)
            self.report(solved, tol, close)
        for posed in solved.folds:
            for candidate in posed.chain.candidates:
                if (candidate, posed.fold) in self.scores:
                    self.fits += 1
                    self.finish(candidate, posed.fold)

    def certify(self, solved: SolvedCells, tol: float, wanted: np.ndarray) -> list[list[Certificate | None]]:
        """The certificates of the cells, [cell][fold]; cells that the judge finds short of tol go on once."""
        certificates = solved.certify(wanted)
        short = wanted & np.array([any(has_gap_above(tol, each) for each in row) for row in certificates])
        if short.any() and not self.is_over():
            solved.solve(REFINED_SHARE_OF_GAP * tol, self.is_over, short)
            again = solved.certify(short)
            certificates = [again[cell] if short[cell] else certificates[cell] for cell in range(solved.cells)]
        return certificates

    def report(self, solved: SolvedCells, tol: float, wanted: np.ndarray) -> None:
        """Certify the cells and have them scored; those that have not converged are left to others."""
        certificates, cells = self.certify(solved, tol, wanted), np.flatnonzero(wanted).tolist()
        for number, posed in enumerate(solved.folds):
            for some in cut_cells(cells, len(posed.test), len(posed.tasks)):
                if self.is_over():
                    return
                decisions = solved.decide(number, some, posed.test)
                for place, cell in enumerate(some):
                    certificate = certificates[cell][number]
                    if certificate is not None and not has_gap_above(tol, certificate) and not self.is_over():
                        self.tell(solved, number, cell, decisions[place], certificate)

    def tell(
        self, solved: SolvedCells, number: int, cell: int, decisions: np.ndarray, certificate: Certificate
    ) -> None:
        """Have one cell scored."""
        posed = solved.folds[number]
        candidate, machine = posed.chain.candidates[cell], posed.chain.machines[cell]
        if self.classifies:
            machine.classes_ = posed.classes
        train = next(fold.train for fold in self.folds_in_given_order if fold.number == posed.fold)
        told = SolvedCell(
            candidate, posed.fold, machine, decisions, lambda: solved.decide(number, [cell], train)[0], certificate,
            float(solved.seconds[cell]) / len(solved.folds),
        )  # fmt: skip
        self.scores[candidate, posed.fold] = self.score(told)

    @cached_property
    def folds_in_given_order(self) -> list[FoldRows]:
        """The folds with training rows as they were given, as samples of the matrix."""
        if not self.classifies:
            return list(self.given.folds)
        _, place = self.given.class_order
        return [fold._replace(train=place[fold.train]) for fold in self.given.folds]

    def find_close(self, solved: SolvedCells) -> np.ndarray:
        """Which cells of a chain have a mean score close to the best mean so far."""
        candidates = solved.folds[0].chain.candidates
        means = {number: self.summarise(number) for number in {candidate for candidate, _ in self.scores}}
        complete = {number: found for number, found in means.items() if np.isfinite(found[0])}
        if not complete:
            return np.ones(len(candidates), bool)
        best, spread = max(complete.values())
        margin = max(CLOSE_SHARE_OF_SPREAD * spread, CLOSE_SHARE_OF_SCORE * abs(best))
        return np.array([means.get(number, (np.nan, 0.0))[0] >= best - margin for number in candidates])

    def summarise(self, candidate: int) -> tuple[float, float]:
        """Mean and standard deviation of the scores of a candidate over the folds that are done."""
        found = [
            self.scores[candidate, fold.number]
            for fold in self.samples.folds
            if (candidate, fold.number) in self.scores
        ]
        return (float(np.mean(found)), float(np.std(found))) if found else (np.nan, 0.0)


def has_gap_above(tol: float, certificate: Certificate | None) -> bool:
    """Whether a certificate is there, and not good enough."""
    return certificate is not None and not certificate.relative_gap <= tol


def describe_kernel(kernel: Kernel) -> tuple[Any, ...]:
    """What tells the matrices of two bound kernels apart."""
    parameters = {name: getattr(kernel, name) for name in kernel.__dataclass_fields__ if name != "shift"}
    return type(kernel), *sorted(parameters.items())


def order_from_middle(groups: list[tuple[Kernel, Any]]) -> list[tuple[Kernel, Any]]:
    """Kernels from the middle of their gammas outwards: the best cells are seldom at the edges of a grid."""
    middle = (len(groups) - 1) / 2.0
    ordered = sorted(groups, key=lambda group: float(group[0].gamma))
    return [ordered[k] for k in sorted(range(len(ordered)), key=lambda k: abs(k - middle))]
