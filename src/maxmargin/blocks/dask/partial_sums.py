"""The tasks of a pass: one for some blocks, one for the sum of some answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...runtime.blas import single_threaded_blas
from ...runtime.tree_sum import add_all
from .cluster import get_worker_address, measure_pickle
from .recipes import Recipe


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
