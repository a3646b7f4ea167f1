"""Support vector machines with a certificate: a drop-in for scikit-learn's svm classes, and any convex loss.

The public names are listed in `public.py` and loaded when the first of them is asked for: scikit-learn alone takes a
second to import, and `maxmargin --help` is to answer at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from .public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """A public name, the list of them, or a module that came with them."""
    if name.startswith("__") and name != "__all__":  # asked for by the import system, on every import
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module(".public", __name__)
    if name not in globals():
        if not hasattr(public, name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(public, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), *globals()})  # in this order: the names bring modules with them
