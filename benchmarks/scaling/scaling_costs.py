"""What a pass over blocks costs on a cluster: a formula with few constants."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from maxmargin.blocks.dask.dask_blocks import MIN_TASKS_PER_THREAD
from maxmargin.runtime.tree_sum import SUM_FAN_IN


class Plan(NamedTuple):
    """A pass that forms the matrix of the features: n rows of d features in some blocks, K steps replayed."""

    n: int
    d: int
    blocks: int
    workers: int
    steps: int
    persisted: bool = False
    loss: str = "hinge"

    @property
    def asked(self) -> int:
        """Tasks that ask blocks: one a block, or one for eight of them."""
        together = not self.persisted and self.blocks >= SUM_FAN_IN * MIN_TASKS_PER_THREAD * self.workers
        return -(-self.blocks // SUM_FAN_IN) if together else self.blocks


class Cost(NamedTuple):
    """Seconds of a pass: work on rows, what tasks cost beside it, and bytes on their way; and the bytes themselves."""

    work: float
    latency: float
    transfer: float
    bytes: float

    @property
    def seconds(self) -> float:
        """Their sum."""
        return self.work + self.latency + self.transfer

    @property
    def largest(self) -> str:
        """What takes longest."""
        return max(("work", "latency", "transfer"), key=lambda name: getattr(self, name))


@dataclass(frozen=True)
class PassModel:
    """T = n/W (load(d) + compute(d, K)) + latency + transfer, for B blocks in G tasks on W workers of one thread each.

        load(d)       = l0 + l1 d                                seconds a row to read or make it; 0 if it is held
        compute(d, K) = c0 + c1 d + c2 d^2 + K (k0 + k1 d)       seconds a row to form Z'DZ and replay K steps; by loss
        latency       = fixed + (1 + G + inner) (scheduler + worker/W) + block B/W
        transfer      = (W question + 8 depth answer) / bandwidth

    G is B, or B/8 where blocks are asked eight at a time: those that are not held, if each worker has four tasks then.
    n/W stands for ceil(G/W) n/G, the rows of the busiest worker. Answers are added eight at a time, in inner =
    ceil(G/8) + ceil(G/64) + ... nodes and so many levels as there are terms, the depth. An answer has (d + 1)^2 +
    (d + 1) + 6 numbers, a question K (d + 2), of eight bytes each, and a few hundred bytes of words. In one pass W
    questions move, and (1 - 1/W) (G + inner - 1) + 1 answers: those that another worker adds, if chosen at random.
    """

    load: tuple[float, float]
    compute: tuple[float, float, float]
    replay: tuple[float, float]
    fixed: float
    scheduler: float
    worker: float
    block: float
    bandwidth: float

    def cost_rows(self, d: int, steps: int, *, persisted: bool = False) -> float:
        """Seconds of one row on one worker."""
        load = 0.0 if persisted else float(np.dot(self.load, (1.0, d)))
        return load + float(np.dot(self.compute, (1.0, d, d * d)) + steps * np.dot(self.replay, (1.0, d)))

    def predict(self, plan: Plan) -> Cost:
        """The seconds and bytes of a pass."""
        asked = plan.asked
        work = -(-asked // plan.workers) * plan.n / asked * self.cost_rows(plan.d, plan.steps, persisted=plan.persisted)
        latency = float(np.dot((self.fixed, self.scheduler, self.worker, self.block), list_terms(plan)))
        answers = SUM_FAN_IN * len(list_levels(asked)) * size_answer(plan.d)
        path = plan.workers * size_question(plan.d, plan.steps) + answers
        return Cost(work, latency, path / self.bandwidth, count_bytes(plan))

    def choose_blocks(self, n: int, d: int, workers: int, steps: int, largest: float) -> int:
        """The number of blocks of the fastest pass: whole rounds of all workers, no block above so many bytes."""
        least = max(1, int(np.ceil(8.0 * n * d / largest / workers)))
        rounds = {
            *range(least, least + 20),
            *(
                SUM_FAN_IN * m
                for m in range(MIN_TASKS_PER_THREAD, MIN_TASKS_PER_THREAD + 20)
                if SUM_FAN_IN * m >= least
            ),
        }
        return workers * min(rounds, key=lambda m: self.predict(Plan(n, d, m * workers, workers, steps)).seconds)

    def list_constants(self) -> list[dict]:
        """The constants by name, in nanoseconds per row or seconds."""
        words = {
            "load": "ns a row: l0, l1", "compute": "ns a row: c0, c1, c2", "replay": "ns a row: k0, k1",
            "fixed": "ms a pass", "scheduler": "ms a task", "worker": "ms a task", "block": "ms a block",
            "bandwidth": "MB a second",
        }  # fmt: skip
        units = {"fixed": 1e3, "scheduler": 1e3, "worker": 1e3, "block": 1e3, "bandwidth": 1e-6}
        return [
            {"constant": name, "unit": words[name], "value": ", ".join(
                f"{each * units.get(name, 1e9):.3g}" for each in np.atleast_1d(value)
            )}
            for name, value in asdict(self).items()
        ]  # fmt: skip


def list_levels(leaves: int) -> list[int]:
    """The sums of each level of the tree, from the leaves to the root."""
    levels = []
    while leaves > 1:
        leaves = -(-leaves // SUM_FAN_IN)
        levels.append(leaves)
    return levels


def list_terms(plan: Plan) -> tuple[float, float, float, float]:
    """What the constants of latency are multiplied with: a pass, its tasks, those of one worker, and its blocks."""
    tasks = 1 + plan.asked + sum(list_levels(plan.asked))
    return 1.0, tasks, tasks / plan.workers, plan.blocks / plan.workers


def size_answer(d: int) -> float:
    """Bytes of a matrix, a vector and a few sums."""
    return 8.0 * ((d + 1) ** 2 + (d + 1) + 6) + 250.0


def size_question(d: int, steps: int) -> float:
    """Bytes of the steps, and of the words that say what is asked."""
    return 8.0 * steps * (d + 2) + 600.0


def count_bytes(plan: Plan) -> float:
    """All that moves in a pass, where every answer is added on a worker chosen at random."""
    answers = (1.0 - 1.0 / plan.workers) * (plan.asked + sum(list_levels(plan.asked)) - 1) + 1.0
    return plan.workers * size_question(plan.d, plan.steps) + answers * size_answer(plan.d)


def fit_rows(measured: list[dict]) -> tuple[tuple, tuple, tuple]:
    """load, compute and replay from seconds a row at several d and K, none negative, each row weighing the same."""
    d, steps = (np.array([row[name] for row in measured], float) for name in ("d", "K"))
    load, compute = (np.array([row[name] for row in measured]) for name in ("load", "compute"))
    one = np.ones_like(d)
    several = [steps, steps * d] if len(set(steps)) > 1 else []  # smooth losses have nothing to replay
    loads = solve_relative(np.column_stack([one, d]), load).tolist()
    computes = solve_relative(np.column_stack([one, d, d * d, *several]), compute).tolist()
    return tuple(loads), tuple(computes[:3]), tuple(computes[3:]) or (0.0, 0.0)


def solve_relative(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Coefficients of least relative squares, none negative."""
    return nnls(A / b[:, None], np.ones_like(b))[0]


def fit_latency(measured: list[dict]) -> tuple[float, ...]:
    """fixed, scheduler, worker and block from seconds of passes over tiny blocks, none negative."""
    terms = np.array([list_terms(row["plan"]) for row in measured])
    return tuple(map(float, solve_relative(terms, np.array([row["seconds"] for row in measured]))))
