"""Data on a cluster: Dask arrays and DataFrames as blocks, asked where they are, and answers added on the way.

A pass is one graph: the question, one task per block, and sums of eight answers, of eight sums, and so on. The tree is
that of `TreeSum`, which depends on the number of blocks only, so a sum has the same bits on one worker or on a hundred.
What travels are questions and answers; rows do not leave the workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from types import FunctionType
from typing import Any
from uuid import uuid4

from ...contracts.blocks import Block, Blocks
from ...runtime.interruptible import check_interrupt
from ...runtime.tree_sum import SUM_FAN_IN, TreeSum
from .cluster import (
    ClusterFailure,
    ClusterLost,
    count_threads,
    count_workers,
    fetch,
    find_client,
    measure_pickle,
    silence_graph_warnings,
)
from .collections import check_numbers, check_samples, is_array, knows_rows, rechunk_like
from .graphs import cull_graph
from .partial_sums import PartialSum, add_partial_sums, run_on_blocks
from .partitions import load_block
from .recipes import Recipe, make_recipes

POLL_SECONDS = 0.1  # between two checks for Ctrl-C and the deadline while a pass is under way
POLLS_PER_WORKER_COUNT = 20  # such checks between two counts of the workers
MAX_ATTEMPTS = 4  # a pass is asked once, and three times again if the cluster fails it
MIN_TASKS_PER_THREAD = 4  # tasks per thread that must be left where blocks are asked eight at a time


class DaskBlocks(Blocks):
    """sum_k task(block_k, ...), each task on the worker that holds block k, or that reads it.

    A persisted collection is used where it lies. One that is not persisted is read anew in each pass: a block is read
    and asked in one task, and dropped when it has answered, so data may be larger than the memory of all workers, and
    a worker holds as many blocks as it has threads. What several blocks share, such as the mean in X - X.mean(axis=0),
    is computed anew in each pass too; persist X, or compute the mean before. Data that are part of the graph, as
    `from_array` of an array in memory makes it, are sent to the workers once and held there.

    Without a client no cluster is started, and blocks are computed here, one after the other.

    Parameters
    ----------
    X : dask array of shape (n, d), with blocks of ndarray or scipy CSR, or dask DataFrame
    y : dask array or Series, or array of shape (n,), or None
    weight : dask array or Series, or array of shape (n,), or None
    client : distributed.Client, optional
        By default the one that holds X, or else the active one, if there is one.
    patience : float
        Seconds to wait for a worker where there is none.

    Attributes
    ----------
    counters : Counter
        `passes`; `bytes_out`, the pickled size of each question times the workers that answered it; `bytes_in`, the
        pickled sizes of answers that went from one worker to another to be added, and of the sum that came to this
        process. Work that was done twice because a worker died is counted once; messages of Dask are not counted.
    """

    def __init__(self, X, y=None, weight=None, client=None, patience: float = 60.0):
        super().__init__()
        X = check_samples(X)
        self.feature_names = None if is_array(X) else [str(name) for name in X.columns]
        self.d = X.shape[1] if is_array(X) else len(X.columns)
        self.n = sum(X.chunks[0]) if knows_rows(X) else None
        y, weight = rechunk_like(y, X, "y"), rechunk_like(weight, X, "weight")
        if weight is not None:
            check_numbers(weight.dtype, "weight")
        self.patience = patience
        self.client = find_client(client, (X, y, weight))
        self.held = [X, y, weight]  # or their futures would be forgotten
        self.recipes, self.shared = make_recipes((X, y, weight), packed=self.client is not None)
        self.n_blocks = len(self.recipes)
        self._hold_literals()

    @classmethod
    def spread(cls, source: Blocks, client=None, patience: float = 60.0) -> DaskBlocks:
        """The blocks of a source that every worker can read, such as files in a shared folder.

        The source travels once, and workers load the blocks they are asked for.
        """
        from dask.task_spec import DataNode, Task, TaskRef

        self = cls.__new__(cls)
        Blocks.__init__(self)
        self.patience, self.client = patience, find_client(client, ())
        self.feature_names, self.n_blocks = source.feature_names, source.n_blocks
        self.n, self.d = source.n, source.d
        name = f"maxmargin-source-{uuid4().hex}"
        self.held, self.shared = [], {name: DataNode(name, source)}
        self.recipes = [
            Recipe(k, {"block": Task("block", partial(load_block, k), TaskRef(name))}, ("block", None, None), [name])
            for k in range(self.n_blocks)
        ]
        self._hold_literals()
        return self

    def _hold_literals(self) -> None:
        """Data that the graph holds go to the workers now, and not with each pass."""
        from dask.task_spec import DataNode

        literals = {key: node for key, node in self.shared.items() if isinstance(node, DataNode)}
        if self.client is not None and literals:
            with silence_graph_warnings():
                self.held.append(self.client.get(literals, list(literals), sync=False))
            self.shared = {key: node for key, node in self.shared.items() if key not in literals}

    def load(self, number: int) -> Block:
        """The rows of a block, brought to this process."""
        from dask.local import get_sync
        from dask.task_spec import Task

        recipe, name = self.recipes[number], f"maxmargin-block-{uuid4().hex}"
        graph = cull_graph(self.shared, recipe.inputs) | {name: Task(name, recipe.make_block, recipe.make_references())}
        return get_sync(graph, name) if self.client is None else self.client.get(graph, name)

    def run(self, task: Callable[..., Any], *arguments) -> Any:
        """The sum over all blocks of task(block, *arguments), in the order of `TreeSum`."""
        if self.client is None:
            return super().run(task, *arguments)
        began = time.perf_counter()
        question = (task, arguments)
        answer = self._run_with_retries(question, task.__name__ if isinstance(task, FunctionType) else "task")
        self.seconds = time.perf_counter() - began
        self.counters["passes"] += 1
        self.counters["bytes_out"] += measure_pickle(question) * len(answer.places)
        self.counters["bytes_in"] += answer.moved + measure_pickle(answer.value)
        return answer.value

    def _run_with_retries(self, question: tuple, name: str) -> PartialSum:
        """Ask until there is an answer, or an error that is not the cluster's."""
        reason: Exception | None = None
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                self._wait_for_workers(reason)
            try:
                return self._run_once(question, name)
            except ClusterFailure as failure:
                reason = failure
        raise ClusterLost(self._describe_loss(f"{MAX_ATTEMPTS} attempts failed, the last with {reason}")) from reason

    def _run_once(self, question: tuple, name: str) -> PartialSum:
        """One attempt at a pass."""
        graph, root = self._build_graph(question, name)
        try:
            with silence_graph_warnings():
                future = self.client.get(graph, root, sync=False)
        except Exception as error:
            if self.client.status == "running":
                raise
            raise ClusterFailure(f"{type(error).__name__}: {error}") from error
        try:
            self._wait(future)
            return fetch(future)
        finally:
            self._cancel(future)

    def _build_graph(self, question: tuple, name: str) -> tuple[dict, Any]:
        """The graph of a pass and the key of its sum."""
        from dask.task_spec import DataNode, List, Task, TaskRef

        token, number = uuid4().hex, count()
        asked, ask, join = (f"maxmargin-{part}-{token}" for part in ("question", name, "sum"))
        graph = {**self.shared, asked: DataNode(asked, question)}

        def add_later(keys: list) -> tuple:
            key = (join, next(number))
            graph[key] = Task(key, add_partial_sums, List(*map(TaskRef, keys)))
            return key

        tree_sum, groups = TreeSum(add_later), self._group()
        for recipes in groups:
            key = (ask, recipes[0].number)
            inputs = List(*(recipe.make_references() for recipe in recipes))
            graph[key] = Task(key, run_on_blocks, recipes, TaskRef(asked), inputs)
            tree_sum.add(key, level=int(len(groups) < self.n_blocks))
        return graph, tree_sum.total()

    def _group(self) -> list[list[Recipe]]:
        """The blocks of each task: one, or the eight that `TreeSum` adds first, if that leaves work for all threads.

        The scheduler handles one task after another, so that many thousands of them would be what a pass waits for.
        Data that lie on the workers are left in tasks of one block, which go where the block is.
        """
        threads = count_threads(self.client)
        alone = all(not recipe.inputs for recipe in self.recipes)
        step = SUM_FAN_IN if alone and self.n_blocks >= SUM_FAN_IN * MIN_TASKS_PER_THREAD * max(threads, 1) else 1
        return [self.recipes[k : k + step] for k in range(0, self.n_blocks, step)]

    def _wait(self, future) -> None:
        """Wait until a future is done, with an eye on the keyboard, the clock and the workers."""
        alone, done = None, threading.Event()
        future.add_done_callback(lambda _: done.set())
        for look in count():
            check_interrupt()
            if future.status != "pending":
                return
            done.wait(POLL_SECONDS)
            if look % POLLS_PER_WORKER_COUNT == POLLS_PER_WORKER_COUNT - 1:
                alone = None if count_workers(self.client) else alone or time.perf_counter()
                if alone and time.perf_counter() - alone > self.patience:
                    raise ClusterLost(self._describe_loss(f"no worker for {self.patience:g} seconds"))

    def _wait_for_workers(self, reason) -> None:
        """Wait until the scheduler answers and has a worker; it may be starting another one."""
        deadline = time.perf_counter() + self.patience
        while self.client.status in ("running", "connecting"):
            check_interrupt()
            time.sleep(POLL_SECONDS)
            if count_workers(self.client):
                return
            if time.perf_counter() > deadline:
                raise ClusterLost(
                    self._describe_loss(f"no worker for {self.patience:g} seconds after {reason}")
                ) from reason
        raise ClusterLost(self._describe_loss(reason)) from reason

    def _cancel(self, future) -> None:
        """Cancel what is left of a pass."""
        if self.client.status == "running" and future.status == "pending":
            with suppress(Exception):  # a cluster that is closing has nothing left to cancel
                self.client.cancel([future])
        future.release()

    def _describe_loss(self, reason) -> str:
        """The one sentence about a lost cluster."""
        return (
            f"The cluster was lost after {self.counters['passes']} passes ({reason}); "
            "with checkpoint= a fit continues from its last state on another client."
        )
