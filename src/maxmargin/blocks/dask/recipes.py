"""How the blocks of a collection are made: for each block its own tasks, packed so that they travel once."""

from __future__ import annotations

import io
import pickle
from collections import Counter
from functools import cache
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from ...contracts.blocks import Block
from .graphs import SHARED_OWNER, find_dependencies, find_owners, is_on_workers, merge_graphs
from .partitions import read_block

HELD_RECIPE_BYTES = 1 << 14  # bytes of a recipe from which on a worker holds it: it contains the data
NAMED_ARRAY_BYTES = 1 << 12  # bytes of an array that gets a name of its own where several blocks hold it


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
