"""Graphs of Dask tasks: merged, culled, and divided among the blocks that need them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from .collections import is_array

SHARED_OWNER = -1  # in place of the number of the one block that needs a key


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
    """The block that alone needs a key; `SHARED_OWNER` if several do, or if its data lie on the workers."""
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
    from dask.task_spec import GraphNode

    if is_on_workers(graph, key):
        return set()
    task = graph[key]
    return set(task.dependencies if isinstance(task, GraphNode) else get_dependencies(graph, key)) - {key}


def is_on_workers(graph: dict, key) -> bool:
    """Whether a key is of data that lie on the workers: they are not in the graph, or as a future."""
    return key not in graph or type(graph[key]).__module__ == "distributed.client"
