"""Data on a cluster: Dask arrays and DataFrames as blocks, asked where they are, and answers added on the way.

A pass is one graph: the question, one task a block, and sums of eight answers, of eight sums, and so on. The tree is
that of `TreeSum`, which depends on the number of blocks only, so a sum has the same bits on one worker or on a hundred.
What travels are questions and answers; rows do not leave the workers.
"""

from __future__ import annotations

import io
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import count, repeat
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from ...model.sparse_format import check_sparse
from ...runtime.blas import single_threaded_blas
from ...runtime.interruptible import check_interrupt
from ..source import SUM_FAN_IN, Block, Blocks, TreeSum, add_all

MAX_ATTEMPTS = 4  # a pass is asked once, and three times again if the cluster fails it
POLL_SECONDS = 0.1  # seconds between two looks at the keyboard and the clock while a pass is under way
POLLS_PER_WORKER_COUNT = 20  # such looks between two counts of the workers
MIN_TASKS_PER_THREAD = 4  # tasks a thread that must be left where blocks are asked eight at a time
HELD_RECIPE_BYTES = 1 << 14  # bytes of a recipe, from which on it is held by a worker: it contains the data
NAMED_ARRAY_BYTES = 1 << 12  # bytes of an array that is worth a name of its own, where several blocks hold it
SHARED_OWNER = -1  # in place of the number of the one block that needs a key


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
        self.n, self.d = getattr(source, "n", None), getattr(source, "d", None)
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
        answer = self._run_with_retries(question, getattr(task, "__name__", "task"))
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
        """The blocks of each task: one, or the eight that `TreeSum` adds first, where that leaves work for everybody.

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
            "with checkpoint= a fit goes on from its last state, on another client."
        )


class ClusterFailure(Exception):
    """A pass failed for reasons of the cluster, not of the data."""


class Recipe(NamedTuple):
    """How to make a block: tasks of its own, the keys of X, y and weight among them, and the keys that it needs.

    For a cluster the tasks are packed: neither this process nor the scheduler unpacks them in each pass. Where they
    contain data, a worker holds them, and the recipe has the key.
    """

    number: int
    tasks: dict | bytes | str
    keys: tuple
    inputs: list

    def make_references(self):
        """References to what it needs, as an argument of a task."""
        from dask.task_spec import List, TaskRef

        return List(*map(TaskRef, self.inputs))

    def make_block(self, inputs: list) -> Block:
        """Make the block."""
        from dask.local import get_sync
        from dask.task_spec import DataNode

        given = dict(zip(self.inputs, inputs, strict=True))
        tasks = given.pop(self.tasks) if isinstance(self.tasks, str) else self.tasks
        tasks = Unpacker(tasks, given).load() if isinstance(tasks, bytes) else tasks
        wanted = [key for key in self.keys if key is not None]
        made = get_sync(tasks | {key: DataNode(key, value) for key, value in given.items()}, wanted)
        found = dict(zip(wanted, made, strict=True))
        return read_block(self.number, *(found.get(key) for key in self.keys))


class Unpacker(pickle.Unpickler):
    """Reads tasks in which arrays that all blocks share stand as names."""

    def __init__(self, packed: bytes, given: dict):
        super().__init__(io.BytesIO(packed))
        self.given = given

    def persistent_load(self, name: str) -> np.ndarray:
        """The array of a name."""
        return self.given[name]


class PartialSum(NamedTuple):
    """A sum of answers, the bytes that moved to make it, where it was made, and the workers that took part."""

    value: Any
    moved: int
    place: str
    places: frozenset


def run_on_blocks(recipes: list[Recipe], question: tuple, inputs: list[list]) -> PartialSum:
    """Make a block and put the question to it, on the worker that has it or reads it; or one block after another."""
    task, arguments = question
    here = get_worker_address()
    with single_threaded_blas():
        answers = [task(recipe.make_block(each), *arguments) for recipe, each in zip(recipes, inputs, strict=True)]
    return PartialSum(add_all(answers), 0, here, frozenset([here]))


def add_partial_sums(answers: list[PartialSum]) -> PartialSum:
    """The sum of some answers; those of other workers have moved to this one."""
    here = get_worker_address()
    moved = sum(answer.moved + (answer.place != here) * measure_pickle(answer.value) for answer in answers)
    places = frozenset().union(*(answer.places for answer in answers))
    return PartialSum(add_all([answer.value for answer in answers]), moved, here, places)


def get_worker_address() -> str:
    """The address of the worker that runs this."""
    from distributed import get_worker

    return get_worker().address


def count_workers(client) -> int:
    """How many workers there are; none where the scheduler does not answer."""
    return len(list_threads(client))


def count_threads(client) -> int:
    """How many threads the workers have together."""
    return sum(list_threads(client).values())


def list_threads(client) -> dict:
    """The threads of each worker; nothing where the scheduler does not answer."""
    try:
        return client.nthreads() if client.status == "running" else {}
    except (OSError, RuntimeError, AttributeError):  # the connection is gone, or is being closed
        return {}


def measure_pickle(value) -> int:
    """The bytes of a pickle, large arrays counted and not copied."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def fetch(future) -> PartialSum:
    """What a future that is done holds; an error of a task is raised as it is, one of the cluster as a setback."""
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    if future.status == "error" and not isinstance(
        future.exception(), KilledWorker | NoWorkerError | NoValidWorkerError
    ):
        return future.result()
    try:
        return future.result()
    except Exception as error:
        raise ClusterFailure(f"{type(error).__name__}: {error}") from error


def load_block(number: int, source: Blocks) -> Block:
    """A block of a source, on the worker that asks for it."""
    return source.load(number)


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
        check_sparse(X)
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
    if not is_collection(X) or not (is_array(X) or (hasattr(X, "columns") and X.ndim == 2)):
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


def rechunk_like(values, X, name: str):
    """A vector in the partitions of X."""
    if values is None:
        return None
    if not is_collection(values):
        return chunk_array(values, X, name)
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


def chunk_array(values, X, name: str):
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


def make_recipes(collections: tuple, *, packed: bool) -> tuple[list[Recipe], dict]:
    """A recipe for each block, and the tasks that several blocks share."""
    graph, blocks = merge_graphs(collections)
    owners = find_owners(graph, blocks)
    own: list[dict] = [{} for _ in blocks]
    for key, owner in owners.items():
        if owner != SHARED_OWNER:
            own[owner][key] = graph[key]
    recipes = []
    for k, wanted in enumerate(blocks):
        needed = set(wanted).union(*(find_dependencies(graph, key) for key in own[k])) - {None}
        recipes.append(Recipe(k, own[k], wanted, sorted(needed - set(own[k]), key=str)))
    shared = {
        key: graph[key] for key, owner in owners.items() if owner == SHARED_OWNER and not is_on_workers(graph, key)
    }
    if packed:
        recipes, literals = pack_recipes(recipes)
        shared |= literals
    return recipes, shared


def pack_recipes(recipes: list[Recipe]) -> tuple[list[Recipe], dict]:
    """Recipes as bytes, and the data that were found in them, to be held by the workers.

    Those are arrays that several recipes have in common, such as those of a function that maps all blocks, and recipes
    that are large without them, since the rows of a block are written out in them.
    """
    from dask.task_spec import DataNode

    packs = [pack_tasks(recipe.tasks, {}) for recipe in recipes]
    times = Counter(mark for _, found in packs for mark in found)
    names = {mark: f"maxmargin-array-{uuid4().hex}" for mark, number in times.items() if number > 1}
    literals = {names[mark]: each for _, found in packs for mark, each in found.items() if mark in names}
    token, done = uuid4().hex, []
    for recipe, (tasks, found) in zip(recipes, packs, strict=True):
        inputs = [*recipe.inputs, *(names[mark] for mark in found if mark in names)]
        if len(inputs) > len(recipe.inputs):
            tasks, _ = pack_tasks(recipe.tasks, names)
        if len(tasks) > HELD_RECIPE_BYTES:
            name = f"maxmargin-rows-{token}-{recipe.number}"
            literals[name], tasks, inputs = tasks, name, [*inputs, name]
        done.append(recipe._replace(tasks=tasks, inputs=inputs))
    return done, {name: DataNode(name, each) for name, each in literals.items()}


def pack_tasks(tasks: dict, names: dict[int, str]) -> tuple[bytes, dict[int, np.ndarray]]:
    """A pickle in which arrays with a name stand as their names, and all large arrays that were found."""
    file = io.BytesIO()
    packer = make_packer()(file, protocol=5)
    packer.names, packer.found = names, {}
    packer.dump(tasks)
    return file.getvalue(), packer.found


@cache
def make_packer() -> type:
    """The class that writes what `Unpacker` reads; it derives from one that comes with Dask."""
    import cloudpickle

    class Packer(cloudpickle.Pickler):
        def persistent_id(self, value):
            if type(value) is np.ndarray and value.nbytes >= NAMED_ARRAY_BYTES:
                self.found[id(value)] = value  # held, or another array could have its number
                return self.names.get(id(value))
            return None

    return Packer


def cull_graph(graph: dict, keys: Iterable) -> dict:
    """The part of a graph that some keys need."""
    taken: dict = {}
    left = list(keys)
    while left:
        key = left.pop()
        if key in graph and key not in taken:
            taken[key] = graph[key]
            left.extend(find_dependencies(graph, key))
    return taken


def merge_graphs(collections: tuple) -> tuple[dict, list[tuple]]:
    """One graph of all collections, and the keys of X, y and weight for each block; None where there is none."""
    from dask.base import collections_to_expr
    from dask.core import flatten

    graph: dict = {}
    keys: dict[int, Iterable] = {k: repeat(None) for k in range(len(collections))}
    for kind in (True, False):  # Dask plans arrays and frames in two ways that do not mix
        places = [k for k, each in enumerate(collections) if each is not None and is_array(each) == kind]
        if places:
            # together, so that what X and y have in common is read once
            plan = collections_to_expr([collections[k] for k in places]).optimize()
            graph.update(plan.__dask_graph__())
            keys.update(zip(places, map(list, map(flatten, plan.__dask_keys__())), strict=True))
    return graph, list(zip(*keys.values(), strict=False))


def find_owners(graph: dict, blocks: list[tuple]) -> dict:
    """The block that alone needs a key; SHARED if several do, or if the key is of data that lie on the workers."""
    owners: dict = {}
    for k, wanted in enumerate(blocks):
        left = [key for key in wanted if key is not None]
        while left:
            key = left.pop()
            owner = SHARED_OWNER if is_on_workers(graph, key) or owners.get(key, k) != k else k
            if owners.get(key) != owner:
                owners[key] = owner
                left.extend(find_dependencies(graph, key))
    return owners


def find_dependencies(graph: dict, key) -> set:
    """The keys that a task needs; none of data that lie on the workers."""
    from dask.core import get_dependencies

    if is_on_workers(graph, key):
        return set()
    return set(getattr(graph[key], "dependencies", None) or get_dependencies(graph, key)) - {key}


def is_on_workers(graph: dict, key) -> bool:
    """Whether a key is of data that lie on the workers: they are not in the graph, or as a future."""
    return key not in graph or type(graph[key]).__module__ == "distributed.client"


@contextmanager
def silence_graph_warnings() -> Iterator[None]:
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
