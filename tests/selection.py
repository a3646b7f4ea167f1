"""Which cases of a cross product `make test` runs; the others are marked slow, and `make test-slow` runs them.

Without a marker: the cases that hold every value of every `parametrize` once, whatever the number of those.

    @pytest.mark.cover("values")                   taken apart: every value of every parameter
    @pytest.mark.cover("pairs")                    every pair of values of two parameters
    @pytest.mark.cover("values", rotating="seed")  only as many seeds as the others need, another one each time
    @pytest.mark.cover("all")                      the whole product
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import combinations

import pytest

SIZES = {"values": 1, "pairs": 2}


def mark_unselected(items: Sequence[pytest.Item]) -> None:
    """Mark as slow the cases of every test that are not needed to cover what its marker asks for."""
    for cases in group_cases(items).values():
        marker = cases[0].get_closest_marker("cover") or pytest.mark.cover("values").mark
        rotating = marker.kwargs.get("rotating", "").split()
        rows = [list_values(case) for case in cases]
        if marker.args == ("all",) or (not rotating and max(map(len, rows)) == 1):
            continue
        counted = [[value for value in row if value[0] not in rotating] for row in rows]
        chosen = set(select_rows(counted, rows, SIZES[marker.args[0]]))
        for i, case in enumerate(cases):
            if i not in chosen:
                case.add_marker(pytest.mark.slow)


def leave_long(values: Iterable, *long: object) -> list:
    """All values for `parametrize`; tests of `long` ones take seconds, and only `make test-slow` runs them."""
    return [pytest.param(value, marks=pytest.mark.slow) if value in long else value for value in values]


def group_cases(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Function]]:
    """The cases of every test with parameters that are not slow anyway."""
    groups = defaultdict(list)
    for item in items:
        parametrised = isinstance(item, pytest.Function) and item.name != item.originalname
        if parametrised and not item.get_closest_marker("slow"):
            groups[f"{item.parent.nodeid}::{item.originalname}"].append(item)
    return groups


def list_values(case: pytest.Function) -> list[tuple[str, Hashable]]:
    """(name, value) for each parameter; without a marker those of one `parametrize` are one."""
    named = {name: identify(value) for name, value in case.callspec.params.items()}
    if case.get_closest_marker("cover"):
        return list(named.items())
    together = [split_names(marker.args[0]) for marker in case.iter_markers("parametrize")]
    alone = [[name] for name in named if not any(name in names for names in together)]
    return [(" ".join(names), tuple(named[name] for name in names)) for names in together + alone]


def split_names(names: str | Sequence[str]) -> list[str]:
    """The names of one `parametrize`, which takes "a, b" as well as ("a", "b")."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def identify(value: object) -> Hashable:
    """What tells a value from others: a partial what it calls, others themselves, or by address without a hash."""
    if isinstance(value, partial):  # as scikit-learn gives the same check to each estimator
        return value.func, *sorted(value.keywords)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def select_rows(counted: Sequence[list[Hashable]], rows: Sequence[list[Hashable]], size: int) -> list[int]:
    """The rows that together hold all combinations of `size` values, chosen greedily, values used seldom first."""
    parts = [set(combinations(row, min(size, len(row)))) for row in counted]
    missing, used, chosen = set().union(*parts), Counter(), []
    while missing:
        gains = [len(part & missing) for part in parts]
        best = max(gains)
        row = min((i for i, gain in enumerate(gains) if gain == best), key=lambda i: sum(used[v] for v in rows[i]))
        chosen.append(row)
        missing -= parts[row]
        used.update(rows[row])
    return chosen
