"""Functions of other libraries that are imported when they are first called, since their modules take long to load."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def defer(module: str, name: str) -> Callable[..., Any]:
    """The function, or class, of a module that is imported by the first call.

    Parameters
    ----------
    module : str
        For instance "scipy.optimize".
    name : str
        For instance "linprog".
    """
    found: Callable[..., Any] | None = None

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(import_module(module), name)
        return found(*arguments, **options)

    call.__name__ = call.__qualname__ = name
    return call
