"""Which column of a table is what: features, the target, the weights, the queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..contracts.files import DataRequest
from ..runtime.streams import find_file, open_file
from .libsvm_text import read_libsvm


class Columns(NamedTuple):
    """Places of columns from 0 on; None where there is none."""

    features: list[int]
    target: int | None
    weight: int | None
    query: int | None


def choose_columns(path: Path, names: Sequence[str] | int, request: DataRequest) -> Columns:
    """The columns by what was asked for: the target is the last one left, unless all of them are features.

    Parameters
    ----------
    path : Path
        The table, for messages.
    names : list of str, or int
        The names of the columns, or how many there are.
    request : DataRequest
        If `n_features` is all columns, there is no target. If `features` are named, one column beside them is the
        target; where columns have no names, only their number counts.
    """
    count = names if isinstance(names, int) else len(names)
    others = {"target": request.target, "weight": request.weight, "query": request.query}
    found = {name: None if each is None else find_column(path, names, each, name) for name, each in others.items()}
    taken = [place for place in found.values() if place is not None]
    for place in taken:
        if taken.count(place) > 1:
            twice = " and ".join(name for name, each in found.items() if each == place)
            raise ValueError(f"{twice} name the same column of {path}, {show_column(names, place)}.")
    left = [place for place in range(count) if place not in taken]
    if request.features is not None and not isinstance(names, int):
        features = [find_column(path, names, name, "features") for name in request.features]
        for place in {*features} & {*taken}:
            raise ValueError(f"{show_column(names, place)} of {path} is a feature, and cannot be anything else.")
        left = [place for place in left if place not in features]
        if request.target is None and len(left) == 1:
            found["target"] = left[0]
        return Columns(features, **found)
    wanted = request.n_features if request.features is None else len(request.features)
    if request.target is None and left and wanted != len(left):
        found["target"] = left.pop()
    if wanted is not None and wanted != len(left):
        raise ValueError(f"{path} has {len(left)} columns of features, where n_features={wanted}.")
    if not left:
        hint = guess_delimiter(path) if count == 1 else ""
        raise ValueError(f"{path} has no column of features: it has {count} in all{hint}.")
    return Columns(left, **found)


def guess_delimiter(path: Path) -> str:
    """What may stand between the fields of a text that seems to have one column only."""
    with open_file(path) as file:
        line = file.read(10_000).partition(b"\n")[0].decode(errors="replace")
    found = [letter for letter in ";\t,|" if letter in line]
    return f"; if its fields end at {found[0]!r}, say delimiter={found[0]!r}" if found else ""


def find_column(path: Path, names: Sequence[str] | int, request, parameter: str) -> int:
    """The place of a column that was asked for by its name or place."""
    count = names if isinstance(names, int) else len(names)
    if isinstance(request, Integral) and not isinstance(request, bool):
        if not -count <= request < count:
            raise ValueError(f"{parameter}={request} is not among the {count} columns of {path}, counted from 0.")
        return int(request) % count
    if not isinstance(request, str):
        raise TypeError(f"{parameter} must be the name or the position of a column, got {request!r}.")
    if isinstance(names, int):
        raise ValueError(f"{parameter}={request!r} cannot be found: {path} has no column names; give its position.")
    if (times := list(names).count(request)) != 1:
        among = ", ".join(names[:20])
        raise ValueError(f"{path} has {f'{times} columns' if times else 'no column'} {request!r}; it has {among}.")
    return list(names).index(request)


def is_weight_file(path: Path, names: Sequence[str] | int, weight) -> bool:
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


def read_weights(path: str | int | os.PathLike[str], n: int) -> np.ndarray:
    """One weight per line for each of n samples; such a file is LIBSVM text that has labels only."""
    path = find_file(path, "weight")
    X, weights, _ = read_libsvm(path)
    if X.nnz:
        row = int(np.flatnonzero(np.diff(X.indptr))[0])
        raise ValueError(f"weight={str(path)!r} must have one number per line, and row {row + 1} has more.")
    if len(weights) != n:
        raise ValueError(f"weight={str(path)!r} has {len(weights)} weights for {n} samples.")
    return weights


def check_integers(path: Path, numbers: np.ndarray) -> np.ndarray:
    """Queries as int64."""
    wrong = np.flatnonzero(numbers != np.floor(numbers))
    if len(wrong):
        raise ValueError(f"{path}, row {wrong[0] + 1}: a query must be a whole number, got {numbers[wrong[0]]:g}.")
    return numbers.astype(np.int64)
