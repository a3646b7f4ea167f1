"""Support vector machines with a certificate: a drop-in for scikit-learn's svm classes, and any convex loss.

The public names are listed in `public.py`, and each is loaded when it is asked for: scikit-learn alone takes a second
to import, and `maxmargin --help` is to answer at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .runtime.garbage import pause_collection
from .runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from .public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """A public name, the list of them, or a module that came with them."""
    if name.startswith("__") and name != "__all__":  # asked for by the import system, on every import
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module(".public", __name__)
    with pause_collection():
        if name in public.PLACES or name == "__all__":
            globals()[name] = getattr(public, name)
        elif name in public.PUBLIC_MODULES:
            globals()[name] = import_module(f".{name}", __name__)
        else:
            public.load_all()
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    public = import_module(".public", __name__)
    return sorted(["__version__", *public.__all__, *public.PUBLIC_MODULES])
