"""Compiled code on disk, loaded without what Numba needs only to compile.

Before it loads anything, Numba prepares to compile: it imports its implementations of all of Python and NumPy, and
SciPy's BLAS. That takes longer than everything else that a first fit does. A process that finds all of its code on disk
needs none of it, only the runtime that owns memory.
"""

import logging
import pickle
import sys
from contextlib import suppress
from functools import cache

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys

ANNOUNCEMENT = "maxmargin: compiling for this processor, once; later processes load the compiled code."


class StoredCode(FunctionCache):
    """The compiled code of a function on disk, by the types of its arguments."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = StoredFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig, target_context):
        """The compiled code for some types; None if there is none, and it is to be compiled."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is not None:
                return found
        announce_compiling()
        target_context.refresh()
        return None


class StoredFile(IndexDataCacheFile):
    """The files of one function."""

    def _load_data(self, name):
        with open(self._data_path(name), "rb") as file:
            return CodeUnpickler(file).load()


class CodeUnpickler(pickle.Unpickler):
    """Reads compiled code without importing the modules of functions that it contains."""

    def find_class(self, module: str, name: str):
        """What the code refers to by name."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return rebuild_environment
        return super().find_class(module, name)


def rebuild_environment(module: str, constants: list, name: str) -> Environment:
    """The environment of a function: its constants. What is global in its module was compiled in."""
    environment = lookup_environment(name)
    if environment is None:
        loaded = sys.modules.get(module)
        environment = Environment({"__name__": module} if loaded is None else vars(loaded))
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


@cache
def announce_compiling() -> None:
    """Say once that the first fit takes seconds: to the log, and on stderr where a person may be waiting."""
    logging.getLogger("maxmargin").info(ANNOUNCEMENT)
    with suppress(AttributeError, OSError, ValueError):  # a stderr that is closed, or not there
        if sys.stderr.isatty():
            print(ANNOUNCEMENT, file=sys.stderr, flush=True)
