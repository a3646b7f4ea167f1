"""Every public name of the package, in the groups of the reference."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from maxmargin import public

GROUPS = {  # of maxmargin itself: the modules whose names they hold; a longer prefix counts more
    "Kernel machines": ("estimators.classification", "estimators.regression", "estimators.novelty"),
    "Linear machines": ("estimators.linear", "estimators.risk_classifier", "estimators.risk_regressor"),
    "Machines for a metric, a ranking or a structure": (
        "estimators.metric",
        "estimators.ranking",
        "estimators.structured",
        "structures",
    ),
    "Machines that tune themselves": ("tuning",),
    "Other estimators and paths": ("estimators",),
    "Certificates and guarantees": ("certificates", "guarantees"),
    "Before, during and after a fit": ("insight", "solvers.choice"),
    "Problems and functions of your own": ("solvers.loop", "solvers.minimisation", "solvers.result"),
    "Solvers": ("solvers",),
    "Files": ("files",),
    "In place of scikit-learn's classes": ("patching",),
    "More": ("",),
}
MODULES = {  # beside maxmargin: what `from MODULE import ...` offers
    "maxmargin.model_selection": "Searches",
    "maxmargin.plots": "Pictures",
    "maxmargin.solvers": "More solvers",
    "maxmargin.files": "More about files",
    "maxmargin.structures": "More about structures",
    "maxmargin.model.losses": "Losses",
    "maxmargin.model.kernels": "Kernels",
    "maxmargin.contracts": "Contracts",
}
SHOWN_BASES = {"maxmargin.model.losses": "Loss", "maxmargin.model.kernels": "Kernel"}  # their subclasses are shown


@dataclass(frozen=True)
class PublicName:
    """A class or a function, and where users import it from."""

    module: str
    name: str

    @property
    def full(self) -> str:
        """maxmargin.SVC."""
        return f"{self.module}.{self.name}"

    @property
    def thing(self) -> Any:
        """The class or the function."""
        return getattr(import_module(self.module), self.name)

    @property
    def summary(self) -> str:
        """The first sentence of its docstring, up to the end of the line or paragraph."""
        return " ".join((inspect.getdoc(self.thing) or "").partition("\n\n")[0].split())

    @property
    def page(self) -> str:
        """The name of its page; a function says so where a class differs from it by capital letters only."""
        twins = {each.full for each in list_names() if each.full.lower() == self.full.lower()}
        is_lesser_twin = len(twins) > 1 and not isinstance(self.thing, type)
        return f"{self.full}-function" if is_lesser_twin else self.full


def find_group(name: str) -> str:
    """The group of a name of maxmargin itself."""
    module = public.PLACES[name]
    prefixes = {prefix: group for group, modules in GROUPS.items() for prefix in modules}
    fitting = [each for each in prefixes if f"{module}.".startswith(f"{each}." if each else "")]
    return prefixes[max(fitting, key=len)]


@cache
def list_groups() -> dict[str, tuple[PublicName, ...]]:
    """The names of every group; a thing with two addresses is in the first."""
    found: dict[str, list[PublicName]] = {group: [] for group in [*GROUPS, *MODULES.values()]}
    for name in public.__all__:
        found[find_group(name)].append(PublicName("maxmargin", name))
    seen = {id(each.thing) for names in found.values() for each in names}
    for module, group in MODULES.items():
        for each in (PublicName(module, name) for name in import_module(module).__all__):
            if id(each.thing) not in seen and is_shown(each):
                found[group].append(each)
                seen.add(id(each.thing))
    ordered = {group: sorted(names, key=lambda each: each.name.lower()) for group, names in found.items()}
    return {group: tuple(names) for group, names in ordered.items() if names}


def is_shown(each: PublicName) -> bool:
    """A class or a function; of the losses and kernels, those that are one."""
    if each.module in SHOWN_BASES:
        base = getattr(import_module(each.module), SHOWN_BASES[each.module])
        return isinstance(each.thing, type) and issubclass(each.thing, base) and not inspect.isabstract(each.thing)
    return callable(each.thing)


@cache
def list_names() -> tuple[PublicName, ...]:
    """All of them."""
    return tuple(each for names in list_groups().values() for each in names)
