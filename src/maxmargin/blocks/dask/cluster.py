"""The cluster below a pass: its client and workers, what a future holds, and how a cluster can be lost."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class ClusterLost(RuntimeError):
    """The cluster is gone, and the pass that was under way with it."""


class ClusterFailure(Exception):
    """A pass failed for reasons of the cluster, not of the data."""


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


def measure_pickle(value: object) -> int:
    """The bytes of a pickle, large arrays counted and not copied."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def fetch(future):
    """What a finished future holds; an error of a task is raised as it is, one of the cluster as `ClusterFailure`."""
    from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

    if future.status == "error" and not isinstance(
        future.exception(), KilledWorker | NoWorkerError | NoValidWorkerError
    ):
        return future.result()
    try:
        return future.result()
    except Exception as error:
        raise ClusterFailure(f"{type(error).__name__}: {error}") from error


@contextmanager
def silence_graph_warnings() -> Iterator[None]:
    """Within this context Dask does not warn of graphs that hold data, as these are meant to."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        yield
