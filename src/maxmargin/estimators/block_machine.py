"""Linear machines on data in blocks: the same fit, one pass after another, and predictions block by block."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ..blocks import ArrayBlocks, Blocks
from ..blocks.dask import ClusterLost, DaskBlocks, is_collection, predict_blocks
from ..blocks.problem import BlockFormulation, BlockPoint, BlockProblem, Targets
from ..blocks.survey import Survey, survey_block
from ..model.kernels import Linear
from ..runtime.blas import single_threaded_blas
from ..runtime.checkpoints import CheckpointFile
from ..runtime.interrupt import watch_interrupt
from ..solvers.result import Result
from .observers import Observation
from .tasks import Budget, Task
from .validation import check_loss_weights, refuse_types

BLOCKWISE_MEMMAP_BYTES = (
    1 << 28
)  # bytes from which on a memory-mapped array is read block by block instead of being read into memory


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
            raise ValueError("y and sample_weight must be None where X is an object of Blocks: it holds its own.")
        return X
    for name, each in (("y", y), ("sample_weight", weight)):
        if each is not None and len(each) != len(X):
            raise ValueError(f"X and {name} must have as many rows, and have {len(X)} and {len(each)}.")
    return ArrayBlocks(X, None if y is None else np.asarray(y), None if weight is None else np.asarray(weight))


# ---- fitting --------------------------------------------------------------------------------------------------------


def fit_blocks(machine, X, y, sample_weight):
    """One survey of the data, then one certified solve for each problem of the machine.

    Parameters
    ----------
    machine : LinearClassifier or LinearRegressor
    X, y, sample_weight
        Collections or arrays, see `comes_in_blocks`.

    Returns
    -------
    machine
    """
    refuse_types(machine, "solver")
    refuse_what_blocks_cannot(machine)
    budget, blocks = Budget(machine.max_seconds), open_blocks_of(X, y, sample_weight)
    survey = take_survey(blocks, machine._target_of_blocks())  # Ctrl-C ends it at once: there is nothing to keep yet
    with single_threaded_blas(), watch_interrupt() as interrupt:
        machine.n_features_in_ = survey.d
        if blocks.feature_names is not None:
            machine.feature_names_in_ = np.asarray(blocks.feature_names, dtype=object)
        elif hasattr(machine, "feature_names_in_"):
            del machine.feature_names_in_
        machine._check_arguments(SimpleNamespace(shape=(survey.n, survey.d)))
        problems = machine._pose_blocks(blocks, survey)
        budget.plan(len(problems), interrupt)
        tasks = [Task(np.empty(0), np.empty(0), np.empty(0)) for _ in problems]
        starts = machine._warm_points(tasks)
        with machine._observe(solves=len(problems)) as observation:
            results = [solve_one(machine, k, problems, starts[k], budget, observation) for k in range(len(problems))]
            machine._kernel = Linear()
            machine._keep_results(tasks, results)
            machine._unpack_blocks(results, [read_point(machine, result.point) for result in results])
            machine.n_iter_ = max(result.n_iter for result in results)
            machine._report(None, observation, interrupted=bool(interrupt))
    return machine


def refuse_what_blocks_cannot(machine) -> None:
    """Losses of whole lists, |w|_1 and targets of several numbers are for data in memory."""
    if not machine.takes_blocks:
        raise ValueError(
            f"{type(machine).__name__} needs data in memory, since its loss does not split over rows; give an array."
        )
    if getattr(machine, "penalty", "l2") != "l2":
        raise ValueError(f"penalty={machine.penalty!r} needs data in memory; data in blocks take penalty='l2'.")
    if machine.is_vector_valued:
        raise ValueError(f"loss={machine.loss!r} needs data in memory; choose another loss for data in blocks.")


def take_survey(blocks: Blocks, target: str) -> Survey:
    """The first pass: sizes, labels and moments; unsound data are refused here."""
    survey = blocks.run(survey_block, target)
    if survey.fault:
        raise ValueError(survey.fault + ".")
    if survey.n == 0:
        raise ValueError("X has no rows with a positive weight in any block, and at least 1 is required.")
    if survey.negative:
        warnings.warn(
            f"sample_weight is negative for {survey.negative} samples, which are left out.", UserWarning, stacklevel=5
        )
    return survey


def pose_blocks(machine, blocks: Blocks, survey: Survey, targets: Targets, loss, n_classes: int | None) -> BlockProblem:
    """P = 1/2 |w|^2 + sum_i c_i l(f_i; y_i) over all blocks."""
    weight = targets.C * survey.weight
    if targets.class_weight is not None:
        weight = targets.C * float(survey.totals @ targets.class_weight)
    check_loss_weights(np.array([weight / survey.n, weight]))  # the mean and the sum of c
    pose = BlockFormulation(targets, loss, machine._intercept_kind == "free", machine._scaling, n_classes)
    return BlockProblem(blocks, pose, survey, weight)


def solve_one(
    machine,
    number: int,
    problems: list[BlockProblem],
    start: BlockPoint | None,
    budget: Budget,
    observation: Observation,
) -> Result:
    """One problem, within its share of the time, with a checkpoint of its own."""
    store = open_store(machine, number, len(problems))
    try:
        return observation.solve(
            number, problems[number], machine.solver, tol=machine.tol,
            max_iter=None if machine.max_iter == -1 else machine.max_iter, max_seconds=budget.share(), warm=start,
            interrupt=budget.interrupt, checkpoint=store,
        )  # fmt: skip
    except ClusterLost as error:
        where = "There was no checkpoint." if store is None else f"The state is in {str(store.path)!r}."
        raise ClusterLost(f"{error} {where}") from error


def open_store(machine, number: int, count: int) -> CheckpointFile | None:
    """Where the state of a problem is kept: the checkpoint itself, or one file beside it for each of several."""
    path = getattr(machine, "checkpoint", None)
    if path is None:
        return None
    path = Path(path)
    return CheckpointFile(path if count == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}"))


def read_point(machine, point: BlockPoint) -> tuple[np.ndarray, np.ndarray]:
    """w and b of a point."""
    w, constant = point.coef[..., :-1], point.coef[..., -1]
    b = point.b if machine._intercept_kind == "free" else machine._scaling * constant
    return w, np.asarray(b, float)


# ---- prediction -----------------------------------------------------------------------------------------------------


def apply_blockwise(method: Callable) -> Callable:
    """The method, which on data in blocks is asked block by block: lazily of a Dask collection, at once of others."""

    @wraps(method)
    def ask(self, X):
        if not comes_in_blocks(X):
            return method(self, X)
        probe = method(self, np.zeros((1, self.n_features_in_)))
        if is_collection(X):
            return predict_blocks(X, RowMethod(self, method.__name__), probe.dtype, (*probe.shape, None)[1])
        source = X if isinstance(X, Blocks) else ArrayBlocks(X)
        return np.concatenate([method(self, block.X) for block in source.stream()])

    return ask


class RowMethod:
    """A method of a machine as a function of rows, fit to travel."""

    def __init__(self, machine, name: str):
        self.machine, self.name = machine, name

    def __call__(self, X) -> np.ndarray:
        """What the machine says of some rows."""
        return getattr(self.machine, self.name)(X)
