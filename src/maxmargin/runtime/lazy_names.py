"""Names of a package that are loaded from its modules when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_when_asked(
    namespace: dict[str, Any], modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names lie in modules that a process may not need.

    Parameters
    ----------
    namespace : dict
        `globals()` of the package, which keeps what was loaded.
    modules : mapping
        The module of each name, without the package.
    """
    package: str = namespace["__name__"]

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = getattr(import_module(f".{modules[name]}", package), name)
        return namespace[name]

    def list_names() -> list[str]:
        return sorted({*modules, *namespace})

    return find, list_names
