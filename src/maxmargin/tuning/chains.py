"""Candidates in the order in which they are fitted one by one: on each fold, in chains along C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from ..runtime.scikit_learn_search import Pipeline


class Chain(NamedTuple):
    """Candidates that differ in C alone, on one fold, the smallest C first.

    `preparation` says which chains of a fold share what the steps before the last one make of its rows.
    """

    fold: int
    preparation: tuple[Any, ...]
    candidates: tuple[int, ...]


def name_last_step(estimator: Any) -> str:
    """What the parameters of the last step begin with: "" for a machine, "svc__" for a Pipeline that ends in one."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return prefix


def make_chains(estimator: Any, candidates: Sequence[Mapping[str, Any]], n_folds: int) -> list[Chain]:
    """All cells, once each; the folds of a chain follow one another, so that candidates are complete early."""
    prefix = name_last_step(estimator)
    cost = prefix + "C"
    along_C: dict[tuple[Any, ...], list[int]] = {}
    for number, candidate in enumerate(candidates):
        along_C.setdefault(describe(candidate, lambda name: name != cost), []).append(number)
    first = name_first_part(prefix)
    chains = []
    for numbers in along_C.values():
        order = sorted(numbers, key=lambda number: rank_cost(candidates[number].get(cost)))
        # Of a machine alone the kernel matters: of kernel values the columns are cut as well as the rows.
        preparation = describe(
            candidates[order[0]], lambda name: not name.startswith(first) if first else name == "kernel"
        )
        chains += [Chain(fold, preparation, tuple(order)) for fold in range(n_folds)]
    # Chains that share a preparation stand together, so that few preparations are held at a time.
    places = {chain.preparation: place for place, chain in reversed(list(enumerate(chains)))}
    return sorted(chains, key=lambda chain: places[chain.preparation])


def name_first_part(prefix: str) -> str:
    """What parameters of the last step of the outermost Pipeline begin with."""
    return prefix.split("__")[0] + "__" if prefix else ""


def describe(candidate: Mapping[str, Any], accept: Callable[[str], bool]) -> tuple[Any, ...]:
    """Some parameters of a candidate as a key."""
    return describe_parameters({name: value for name, value in candidate.items() if accept(name)})


def describe_parameters(parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    """Parameters as a key: equal values are one, such as two losses with the same parameters."""
    return tuple((name, *describe_value(parameters[name])) for name in sorted(parameters))


def describe_value(value: Any) -> tuple[Any, Any]:
    """The type of a value and the value: 1, 1.0 and True are told apart. One without a hash is known by its identity.

    A dict, such as the weights of classes, is known by its items.
    """
    if isinstance(value, dict):
        return type(value), frozenset((key, *describe_value(item)) for key, item in value.items())
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), value


def rank_cost(C: Any) -> float:
    """C itself; what is no number comes first."""
    return float(C) if isinstance(C, Real) and C == C else float("-inf")
