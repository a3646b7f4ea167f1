"""py.typed promises types: those of the public API and of the contracts are complete, and a type checker reads them."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType

import pytest

import maxmargin
from maxmargin import contracts, public

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
PACKAGES = Path(maxmargin.__file__).parents[1]  # where the package is installed, or src
PUBLIC = {name: getattr(public, name) for name in public.__all__}
CONTRACTS = {name: getattr(contracts, name) for name in contracts.__all__}


def list_functions(thing: Callable) -> Iterator[tuple[str, FunctionType]]:
    """A function itself; of a class its public methods and properties, and those of its bases in this package."""
    if not isinstance(thing, type):
        yield thing.__name__, thing
        return
    for owner in thing.__mro__:
        for name, member in vars(owner).items() if owner.__module__.startswith("maxmargin") else ():
            for function in unwrap(member):
                if name == "__init__" or not name.startswith("_"):
                    yield f"{owner.__name__}.{name}", function


def unwrap(member: object) -> list[FunctionType]:
    """The function behind a member of a class, if there is one."""
    if isinstance(member, property | cached_property):
        member = member.fget if isinstance(member, property) else member.func
    elif isinstance(member, classmethod | staticmethod):
        member = member.__func__
    member = vars(member).get("fn", member) if hasattr(member, "__dict__") else member  # scikit-learn's available_if
    return [member] if isinstance(member, FunctionType) else []


def find_gaps(function: FunctionType) -> list[str]:
    """What has no annotation: parameters, or "return"."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    gaps = [each.name for each in parameters if each.annotation is inspect.Parameter.empty]
    return gaps + ["return"] * (signature.return_annotation is inspect.Signature.empty)


@pytest.mark.parametrize("name", {**PUBLIC, **CONTRACTS})
def test_annotations_are_complete(name):
    """Every parameter and every return value of a public name."""
    gaps = {
        place: found
        for place, function in list_functions({**PUBLIC, **CONTRACTS}[name])
        if (found := find_gaps(function))
    }
    assert gaps == {}


@pytest.mark.parametrize("name", PUBLIC)
def test_modules_of_public_names_are_checked(name):
    """The type checker of `make lint` reads the module that defines the name."""
    file = "src" / Path(inspect.getsourcefile(PUBLIC[name])).relative_to(PACKAGES)
    assert {file.as_posix(), file.parent.as_posix()} & set(SETTINGS["files"])


def test_contracts_are_strict():
    """No module of theirs is excepted from any rule."""
    assert SETTINGS["strict"] is True
    assert not [each for part in SETTINGS["overrides"] for each in part["module"] if "contracts" in each]
