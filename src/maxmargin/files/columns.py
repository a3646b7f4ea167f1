"""Which column of a table is what: features, the target, the weights, the queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import NamedTuple


class Columns(NamedTuple):
    """Places of columns from 0 on; None where there is none."""

    features: list[int]
    target: int | None
    weight: int | None
    query: int | None


def choose_columns(path: Path, names: Sequence[str] | int, *, n_features: int | None, target, weight, query) -> Columns:
    """The columns by what was asked for: the target is the last one left, unless all of them are features.

    Parameters
    ----------
    path : Path
        The table, for messages.
    names : list of str, or int
        The names of the columns, or how many there are.
    n_features : int or None
        How many features there must be; if that is all columns, there is no target.
    target, weight, query : str, int or None
        A name, or a place that may count from the end.
    """
    count = names if isinstance(names, int) else len(names)
    named = {"target": target, "weight": weight, "query": query}
    found = {name: None if asked is None else find_column(path, names, asked, name) for name, asked in named.items()}
    taken = [place for place in found.values() if place is not None]
    for place in taken:
        if taken.count(place) > 1:
            twice = " and ".join(name for name, each in found.items() if each == place)
            raise ValueError(f"{twice} name the same column of {path}, {show_column(names, place)}.")
    features = [place for place in range(count) if place not in taken]
    if target is None and features and n_features != len(features):
        found["target"] = features.pop()
    if n_features is not None and n_features != len(features):
        raise ValueError(f"{path} has {len(features)} columns of features, where n_features={n_features}.")
    if not features:
        raise ValueError(f"{path} has no column of features: it has {count} in all.")
    return Columns(features, **found)


def find_column(path: Path, names: Sequence[str] | int, asked, parameter: str) -> int:
    """The place of a column that was asked for by its name or place."""
    count = names if isinstance(names, int) else len(names)
    if isinstance(asked, Integral) and not isinstance(asked, bool):
        if not -count <= asked < count:
            raise ValueError(f"{parameter}={asked} is not among the {count} columns of {path}, counted from 0.")
        return int(asked) % count
    if not isinstance(asked, str):
        raise TypeError(f"{parameter} must be the name or the place of a column, got {asked!r}.")
    if isinstance(names, int):
        raise ValueError(f"{parameter}={asked!r} cannot be found: {path} has no names of columns; give its place.")
    if (times := list(names).count(asked)) != 1:
        among = ", ".join(names[:20])
        raise ValueError(f"{path} has {f'{times} columns' if times else 'no column'} {asked!r}; it has {among}.")
    return list(names).index(asked)


def is_file_of_weights(path: Path, names: Sequence[str] | int, weight) -> bool:
    """Whether weights are in a file of their own, and not in a column."""
    if isinstance(weight, os.PathLike):
        return True
    if not isinstance(weight, str) or (not isinstance(names, int) and weight in names):
        return False
    if not Path(weight).exists():
        raise ValueError(f"weight={weight!r} is neither a column of {path} nor a file.")
    return True


def show_column(names: Sequence[str] | int, place: int) -> str:
    """A column for a message: its name, or its place from 1 on."""
    return f"column {place + 1}" if isinstance(names, int) else f"column {names[place]!r}"
