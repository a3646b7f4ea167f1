"""Data on a cluster: Dask arrays and DataFrames as blocks, asked where they are, and answers added on the way.

A pass is one graph: the question, one task a block, and sums of eight answers, of eight sums, and so on. The tree is
that of `Fold`, which depends on the number of blocks only, so a sum has the same bits on one worker or on a hundred.
What travels are questions and answers; rows do not leave the workers.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from .blocks.source import Block, Blocks, Fold, add_all
from .threads import heed, quiet_blas

ATTEMPTS = 4  # a pass is asked once, and three times again if the cluster fails it
AWAKE = 0.1  # seconds between two looks at the keyboard and the clock while a pass is under way
LOOK = 20  # such looks between two counts of the workers
HEAVY = 1 << 23  # bytes of a graph that holds data: it is sent once, and not with each pass


class ClusterLost(RuntimeError):
    """The cluster is gone, and the pass that was under way with it."""


def is_collection(X) -> bool:
    """Whether X is a collection of Dask, told by its type: Dask itself is not imported."""
    return any(each.__module__.split(".")[0] in ("dask", "dask_expr") for each in type(X).__mro__)


def is_array(X) -> bool:
    """Whether a collection is an array; otherwise it is a DataFrame or a Series."""
    return hasattr(X, "chunks")


class DaskBlocks(Blocks):
    """sum_k task(block_k, ...), each task on the worker that holds block k, or that reads it.

    A persisted collection is used where it lies. One that is not persisted is read anew in each pass, block by block,
    and a block is dropped when it has given its answer: so data may be larger than the memory of all workers. A
    collection that depends on all of its data, such as X - X.mean(axis=0), is computed anew in each pass too; persist
    it, or compute the mean first. Data that are part of the graph, as `from_array` of an array in memory makes it, are
    sent to the workers once and held there.

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
        self.n, self.d = (sum(X.chunks[0]) if knows_rows(X) else None), len(X.columns) if not is_array(X) else X.shape[1]
        y, weight = cut_like(y, X, "y"), cut_like(weight, X, "weight")
        if weight is not None:
            check_numbers(weight.dtype, "weight")
        self.patience = patience
        self.client = find_client(client, (X, y, weight))
        self.graph, self.keys = merge_graphs((X, y, weight), self.client)
        self.n_blocks = len(self.keys)

    @classmethod
    def spread(cls, source: Blocks, client=None, patience: float = 60.0) -> DaskBlocks:
        """The blocks of a source that every worker can read, such as files in a shared folder.

        The source itself travels, once a pass, and each worker loads the blocks it is asked for.
        """
        self = cls.__new__(cls)
        Blocks.__init__(self)
        self.patience, self.client = patience, find_client(client, ())
        self.feature_names, self.n_blocks = source.feature_names, source.n_blocks
        self.n, self.d = getattr(source, "n", None), getattr(source, "d", None)
        name = f"maxmargin-source-{uuid4().hex}"
        self.graph = {name: Held(source)} | {
            (f"maxmargin-load-{name[-32:]}", k): (partial(load_block, k), name) for k in range(self.n_blocks)
        }
        self.keys = [(key, None, None) for key in self.graph if key != name]
        return self

    @property
    def where(self) -> str:
        """Who computes."""
        return "on this machine" if self.client is None else f"on {len(self.client.nthreads())} workers"

    def load(self, number: int) -> Block:
        """The rows of a block, brought to this process."""
        from dask.local import get_sync
        from dask.optimization import cull

        name = f"maxmargin-block-{uuid4().hex}"
        graph, _ = cull({**self.graph, name: (partial(read_block, number), *self.keys[number])}, name)
        return get_sync(graph, name) if self.client is None else self.client.get(graph, name)

    def run(self, task: Callable[..., Any], *arguments) -> Any:
        """The sum over all blocks of task(block, *arguments), in the order of `Fold`."""
        if self.client is None:
            with quiet_blas():
                return super().run(task, *arguments)
        began = time.perf_counter()
        question = Held((task, arguments))
        answer = self._insist(question, getattr(task, "__name__", "task"))
        self.seconds = time.perf_counter() - began
        self.counters["passes"] += 1
        self.counters["bytes_out"] += measure_pickle(question) * len(answer.places)
        self.counters["bytes_in"] += answer.moved + measure_pickle(answer.value)
        return answer.value

    def _insist(self, question: Held, name: str) -> Answer:
        """Ask until there is an answer, or an error that is not the cluster's."""
        reason: Exception | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                self._wait_for_workers(reason)
            try:
                return self._ask(question, name)
            except Setback as setback:
                reason = setback
        raise ClusterLost(self._say_lost(f"{reason}; {ATTEMPTS} attempts failed")) from reason

    def _ask(self, question: Held, name: str) -> Answer:
        """One attempt at a pass."""
        import dask

        graph, root = self._plan(question, name)
        try:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                future = self.client.get(graph, root, sync=False)
        except Exception as error:
            if self.client.status == "running":
                raise
            raise Setback(f"{type(error).__name__}: {error}") from error
        del graph
        try:
            self._await(future)
            return fetch(future)
        finally:
            self._let_go(future)

    def _plan(self, question: Held, name: str) -> tuple[dict, Any]:
        """The graph of a pass and the key of its sum."""
        token, number = uuid4().hex, count()
        asked, ask, join = (f"maxmargin-{part}-{token}" for part in ("question", name, "sum"))
        graph = {**self.graph, asked: question}

        def add_later(keys: list) -> tuple:
            key = (join, next(number))
            graph[key] = (join_answers, keys)
            return key

        fold = Fold(add_later)
        for k, keys in enumerate(self.keys):
            graph[ask, k] = (partial(answer_question, k), asked, *keys)
            fold.add((ask, k))
        return graph, fold.total()

    def _await(self, future) -> None:
        """Wait until a future is done, with an eye on the keyboard, the clock and the workers."""
        from distributed import wait

        alone = None
        for look in count():
            heed()
            if future.status != "pending":
                return
            with suppress(TimeoutError, Exception):  # what became of it is told by its status
                wait([future], timeout=AWAKE)
            if look % LOOK == LOOK - 1 and self.client.status == "running":
                alone = None if self.client.nthreads() else alone or time.perf_counter()
                if alone and time.perf_counter() - alone > self.patience:
                    raise ClusterLost(self._say_lost(f"no worker for {self.patience:g} seconds"))

    def _wait_for_workers(self, reason) -> None:
        """Wait until the scheduler answers and has a worker; it may be starting another one."""
        deadline = time.perf_counter() + self.patience
        while self.client.status in ("running", "connecting"):
            heed()
            time.sleep(AWAKE)
            if self.client.status == "running" and self.client.nthreads():
                return
            if time.perf_counter() > deadline:
                raise ClusterLost(self._say_lost(f"{reason}; no worker for {self.patience:g} seconds")) from reason
        raise ClusterLost(self._say_lost(reason)) from reason

    def _let_go(self, future) -> None:
        """Cancel what is left of a pass."""
        if self.client.status == "running" and future.status == "pending":
            with suppress(Exception):  # a cluster that is closing has nothing left to cancel
                self.client.cancel([future])
        future.release()

    def _say_lost(self, reason) -> str:
        """The one sentence about a lost cluster."""
        return (
            f"The cluster was lost after {self.counters['passes']} passes ({reason}); "
            "with checkpoint= the fit can go on from its last state, on another client."
        )


class Setback(Exception):
    """A pass failed for reasons of the cluster, not of the data."""


class Held:
    """Something that travels as a whole: Dask does not look for tasks within it."""

    def __init__(self, content):
        self.content = content


class Answer(NamedTuple):
    """A sum of answers, the bytes that moved to make it, and the workers that took part."""

    value: Any
    moved: int
    places: frozenset


def answer_question(number: int, question: Held, X, y, weight) -> Answer:
    """Put the question to a block, on the worker that has it."""
    task, arguments = question.content
    block = read_block(number, X, y, weight)
    with quiet_blas():
        return Answer(task(block, *arguments), 0, frozenset([name_place()]))


def join_answers(answers: list[Answer]) -> Answer:
    """The sum of some answers; those of other workers have moved to this one."""
    here, places = name_place(), frozenset().union(*(answer.places for answer in answers))
    # an answer of one worker that is not this one has come from there; a sum of several was made on one of them
    moved = sum(answer.moved + (here not in answer.places) * measure_pickle(answer.value) for answer in answers)
    return Answer(add_all([answer.value for answer in answers]), moved, places)


def name_place() -> str:
    """The address of the worker that runs this."""
    from distributed import get_worker

    return get_worker().address


def measure_pickle(value) -> int:
    """The bytes of a pickle, large arrays counted and not copied."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def fetch(future) -> Answer:
    """What a future that is done holds; an error of a task is raised as it is, one of the cluster as a setback."""
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    if future.status == "error" and not isinstance(future.exception(), KilledWorker | NoWorkerError | NoValidWorkerError):
        return future.result()
    try:
        return future.result()
    except Exception as error:
        raise Setback(f"{type(error).__name__}: {error}") from error


def load_block(number: int, source: Held) -> Block:
    """A block of a source, on the worker that asks for it."""
    return source.content.load(number)


def read_block(number: int, X, y, weight) -> Block:
    """Partitions as a block, in the forms that tasks know."""
    if isinstance(X, Block):
        return X
    X = read_samples(X)
    y = None if y is None else read_vector(y)
    weight = None if weight is None else read_vector(weight).astype(np.float64, copy=False)
    for name, values in (("y", y), ("weight", weight)):
        if values is not None and len(values) != X.shape[0]:
            raise ValueError(
                f"X and {name} must have partitions of the same rows, but partition {number} of X has {X.shape[0]} "
                f"and that of {name} has {len(values)}."
            )
    return Block(X, y, weight, number)


def read_samples(X) -> np.ndarray | sp.csr_array:
    """A partition of X as a C-ordered ndarray or a CSR array with sorted indices, in float32 or float64."""
    if hasattr(X, "tocsr"):
        X = sp.csr_array(X.tocsr())
        X = X.astype(choose_precision(X.dtype), copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    elif hasattr(X, "to_numpy"):
        dtype = choose_precision(*X.dtypes)
        X = np.ascontiguousarray(X.to_numpy(dtype=dtype, na_value=np.nan))
    else:
        X = np.asarray(X)
        X = np.ascontiguousarray(X, dtype=choose_precision(X.dtype))
    if X.ndim != 2:
        raise ValueError(f"X must have blocks of rows and columns, got one of shape {X.shape}.")
    return X


def read_vector(values) -> np.ndarray:
    """A partition of y or of weights as an ndarray."""
    return values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)


def choose_precision(*dtypes) -> np.dtype:
    """float32 if all are, else float64."""
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64)


def check_samples(X):
    """X with all its columns in one chunk, or a sentence that says what it is instead."""
    if not is_collection(X) or not (is_array(X) or hasattr(X, "columns")):
        raise ValueError(f"X must be a dask array or DataFrame, got {type(X).__module__}.{type(X).__name__}.")
    if not is_array(X):
        for name, dtype in X.dtypes.items():
            if getattr(dtype, "kind", "O") not in "biuf":
                raise ValueError(f"X must hold real numbers, but its column {name!r} is of type {dtype}.")
        return X
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got a dask array with {X.ndim}.")
    check_numbers(X.dtype, "X")
    if np.isnan(X.shape[1]):
        raise ValueError("X must have a known number of columns, got nan; call X.compute_chunk_sizes() before.")
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def check_numbers(dtype, name: str) -> None:
    """Real numbers or truth values."""
    if getattr(dtype, "kind", "O") not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got {dtype}.")


def knows_rows(X) -> bool:
    """Whether the numbers of rows are known without computing."""
    return is_array(X) and not np.isnan(X.chunks[0]).any()


def cut_like(values, X, name: str):
    """A vector in the partitions of X."""
    if values is None:
        return None
    if not is_collection(values):
        return cut_array(values, X, name)
    if getattr(values, "ndim", 0) != 1:
        raise ValueError(
            f"{name} must have one dimension, got a {type(values).__module__}.{type(values).__name__} "
            f"with {getattr(values, 'ndim', 'none')}."
        )
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers or labels, got {values.dtype}.")
    if knows_rows(X) and knows_rows(values):
        check_rows(sum(X.chunks[0]), sum(values.chunks[0]), name)
        return values if values.chunks[0] == X.chunks[0] else values.rechunk((X.chunks[0],))
    if count_partitions(values) != count_partitions(X):
        raise ValueError(
            f"X and {name} must have the same partitions, but X has {count_partitions(X)} and {name} has "
            f"{count_partitions(values)}, and their sizes are not known; call compute_chunk_sizes() of both before."
        )
    return values


def cut_array(values, X, name: str):
    """An array in memory, cut into the pieces of X."""
    import dask.array

    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {values.shape}.")
    if not knows_rows(X):
        raise ValueError(
            f"{name} is an array in memory, and the rows of the partitions of X are not known; give {name} as a dask "
            "collection, or X as an array with known chunks (compute_chunk_sizes(), to_dask_array(lengths=True))."
        )
    check_rows(sum(X.chunks[0]), len(values), name)
    return dask.array.from_array(values, chunks=(X.chunks[0],))


def check_rows(n: int, length: int, name: str) -> None:
    """One value a sample."""
    if n != length:
        raise ValueError(f"X and {name} have incompatible shapes: X has {n} samples, but {name} has {length}.")


def count_partitions(X) -> int:
    """Blocks of rows."""
    return len(X.chunks[0]) if is_array(X) else X.npartitions


def find_client(client, collections: tuple):
    """The client that was given, that holds the data, or that is active; None if there is none."""
    try:
        from distributed import Client, default_client, futures_of
    except ImportError:
        return None
    if client is None:
        futures = futures_of([each for each in collections if each is not None])
        with suppress(ValueError):
            client = futures[0].client if futures else default_client()
    if client is None:
        return None
    if not isinstance(client, Client):
        raise ValueError(f"client must be a distributed.Client, got {client!r}.")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: fit waits for its answers.")
    if client.status != "running":
        raise ValueError(f"client must be connected to its scheduler, got one that is {client.status}.")
    return client


def merge_graphs(collections: tuple, client) -> tuple[dict, list[tuple]]:
    """One graph of all collections, and the keys of each block: X, y and weight."""
    import dask
    from dask.core import flatten

    if client is not None:
        collections = tuple(hold_heavy(each, client) for each in collections)
    collections = dask.optimize(*collections)
    graph: dict = {}
    keys = []
    for each in collections:
        graph.update({} if each is None else each.__dask_graph__())
        keys.append([] if each is None else list(flatten(each.__dask_keys__())))
    return graph, [(key, *(other[k] if other else None for other in keys[1:])) for k, key in enumerate(keys[0])]


def hold_heavy(collection, client):
    """A collection whose graph holds its data, on the workers: they would travel with each pass."""
    from distributed import futures_of

    if collection is None or futures_of(collection) or measure_pickle(dict(collection.__dask_graph__())) < HEAVY:
        return collection
    with keep_quiet():
        return client.persist(collection)


@contextmanager
def keep_quiet() -> Iterator[None]:
    """Dask warns of graphs that hold data; where they are meant to, it need not."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        yield


def predict_blocks(X, function: Callable, dtype, n_columns: int | None = None):
    """function(rows) for each block of rows, as a dask array that is computed when somebody asks for it.

    Parameters
    ----------
    X : dask array or DataFrame
    function : callable
        Takes an ndarray or a CSR array of shape (rows, d), returns an array of shape (rows,) or (rows, n_columns).
    dtype : dtype of what it returns
    n_columns : int or None
        None for a vector.
    """
    X = check_samples(X)
    shape = (0,) if n_columns is None else (0, n_columns)
    meta = np.empty(shape, dtype)
    apply = partial(apply_rows, function, meta)
    if not is_array(X):
        return X.map_partitions(apply, meta=meta)
    if n_columns is None:
        return X.map_blocks(apply, dtype=dtype, drop_axis=1, meta=meta)
    return X.map_blocks(apply, dtype=dtype, chunks=(X.chunks[0], (n_columns,)), meta=meta)


def apply_rows(function: Callable, empty: np.ndarray, X) -> np.ndarray:
    """function(rows); of no rows, nothing."""
    X = read_samples(X)
    return function(X) if X.shape[0] else empty
