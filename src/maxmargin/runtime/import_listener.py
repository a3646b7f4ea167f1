"""Something that is done as soon as a module of another library has been imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class ImportListener(MetaPathFinder):
    """`act` is called once, when the module `name` has been imported; at once if it has been already.

    Until then it stands first among the finders of modules. Python's own finders find the module.
    """

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self.name, self.act = name, act

    def start(self) -> None:
        """Listen, unless the module is there."""
        if self.name in sys.modules:
            self.act()
        elif not any(each.name == self.name for each in list_listeners()):
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module as others find it, with our call after its code."""
        if fullname != self.name:
            return None
        stop_listening(self.name)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader  # it stays the loader: importlib.resources asks the spec for it
        execute = loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            execute(module)
            self.act()

        loader.exec_module = execute_and_act
        return spec


def list_listeners() -> list[ImportListener]:
    """Those that still wait."""
    return [finder for finder in sys.meta_path if isinstance(finder, ImportListener)]


def stop_listening(name: str) -> None:
    """Wait for a module no longer."""
    for listener in list_listeners():
        if listener.name == name:
            sys.meta_path.remove(listener)
