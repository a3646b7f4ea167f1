"""Compiled code on disk, loaded without what Numba needs only to compile.

Before it loads anything, Numba prepares to compile: it imports its implementations of all of Python and NumPy, and
SciPy's BLAS. That takes longer than everything else that a first fit does. A process that finds all of its code on disk
needs none of it, only the runtime that owns memory, and of that no more than where its functions are.

Beside machine code Numba stores the same function for LLVM, as a part of callers that are to be compiled. Functions
here have a form of their own for that (`functions.py`), so machine code alone is stored.

Numba looks for code only where it could write more of it. Here code that `maxmargin compile` left is found in a place
that is read-only too: in the folder that NUMBA_CACHE_DIR named when this process began, or beside the package.
"""

import hashlib
import logging
import os
import pickle
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python
from numba.core.runtime.nrt import rtsys

from . import second_process

ANNOUNCEMENT = "maxmargin: compiling for this processor, once; later processes load the compiled code."
# what reading a file raises that was cut off, or that something else has written over
DAMAGE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError)
RUNTIME_NAME = re.compile(rb"NRT_\w+")  # of functions of Numba that own memory, as machine code has them
GIVEN_FOLDER = os.environ.get("NUMBA_CACHE_DIR")


class ReadyMadeFolder:
    """Where code was left for processes that cannot write: one of Numba's places, the last that is looked at."""

    def __init__(self, function, path: str, folder: Path):
        self.function, self.path, self.folder = function, path, folder

    @classmethod
    def from_function(cls, function, path: str) -> "ReadyMadeFolder | None":
        """The first folder in which there is code."""
        folders = list_ready_made_folders(path)
        return cls(function, path, folders[0]) if folders else None

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self.folder)

    def ensure_cache_path(self) -> None:
        """Refuse to write; that is not an error, and nothing is kept."""
        raise OSError(f"{self.folder} is read-only")

    def get_source_stamp(self) -> bytes:
        """What tells one version of the source from another."""
        return read_stamp(self.path)

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart, as Numba has it: the line."""
        return str(self.function.__code__.co_firstlineno)


@cache
def list_ready_made_folders(path: str) -> tuple[Path, ...]:
    """The folder with compiled code of a source file: under NUMBA_CACHE_DIR if that was set, else beside it."""
    parent = os.path.dirname(os.path.abspath(path))
    folder = Path(parent) / "__pycache__"
    if GIVEN_FOLDER:
        digest = hashlib.sha1(parent.encode(), usedforsecurity=False).hexdigest()
        folder = Path(GIVEN_FOLDER) / f"{Path(parent).name}_{digest}"
    return (folder,) if folder.is_dir() and any(folder.glob("*.nbi")) else ()


def read_stamp(path: str) -> bytes:
    """A digest of the sources of a function's folder, and of the constants that all of them use.

    Functions of other files are parts of a function, and an upgrade may have changed only those. Times of files would
    not survive the making of an image.
    """
    return digest_folder(os.path.dirname(os.path.abspath(path)))


@cache
def digest_folder(folder: str) -> bytes:
    """A digest of all sources of a folder and of `runtime/rounding.py`."""
    digest = hashlib.sha256()
    for source in (*sorted(Path(folder).glob("*.py")), Path(__file__).parent.parent / "runtime" / "rounding.py"):
        with suppress(OSError):  # a package in an archive has no files
            digest.update(source.name.encode() + source.read_bytes())
    return digest.digest()


class StoredResults(CompileResultCacheImpl):
    """What Numba keeps of a function, and where."""

    _locator_classes = (*CompileResultCacheImpl._locator_classes, ReadyMadeFolder)

    def reduce(self, cres):
        """Machine code, the names of the functions in it and of its runtime, and what Numba has to know of them."""
        (name, kind, (machine_code, _)), *rest = super().reduce(cres)
        names = [function.name for function in cres.library.get_defined_functions()]
        called = {found.decode() for found in RUNTIME_NAME.findall(machine_code)} - set(names)
        return names, called, ((name, kind, (machine_code, binding.parse_assembly("").as_bitcode())), *rest)

    def rebuild(self, target_context, payload):
        """The function, ready to be called; what of the runtime is not there yet is compiled first."""
        names, called, stored = payload
        if not called <= find_runtime():
            rtsys.initialize(target_context)
        functions = [SimpleNamespace(name=name, is_declaration=False) for name in names]
        target_context.codegen()._engine._load_defined_symbols(
            SimpleNamespace(functions=functions, global_variables=())
        )
        return super().rebuild(target_context, stored)


class StoredCode(FunctionCache):
    """The compiled code of a function on disk, by the types of its arguments."""

    _impl_class = StoredResults

    def __init__(self, function):
        super().__init__(function)
        self.name = function.__module__, function.__name__
        path = function.__code__.co_filename
        folders = [Path(self._cache_path), *list_ready_made_folders(path)]
        self.files = [
            StoredFile(cache_path=str(folder), filename_base=self._impl.filename_base, source_stamp=read_stamp(path))
            for folder in dict.fromkeys(folders)
        ]
        self._cache_file = self.files[0]

    def load_overload(self, sig, target_context):
        """The compiled code for some types; None if there is none, and it is to be compiled."""
        find_runtime()
        found = self.find(sig, target_context)
        if found is None and second_process.wait_for(*self.name, sig):
            found = self.find(sig, target_context)
        if found is None:
            announce_compiling()
            second_process.start()
            target_context.refresh()
        return found

    def find(self, sig, target_context):
        """The compiled code for some types; None if there is none."""
        with self._guard_against_spurious_io_errors():
            key = self._index_key(sig, target_context.codegen())
            for file in self.files:
                found = file.load(key)
                if found is not None:
                    return self._impl.rebuild(target_context, found)
        return None

    def is_wanted(self, sig, target_context) -> bool:
        """Whether code for some types is not there, and can be written."""
        folder, key = Path(self._cache_path), self._index_key(sig, target_context.codegen())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return os.access(folder, os.W_OK) and not any(key in file._load_index() for file in self.files)
        except (OSError, *DAMAGE):
            return False

    def save_overload(self, sig, data):
        """Keep compiled code; a disk that is full or read-only does not end the fit."""
        with suppress(OSError, *DAMAGE):
            super().save_overload(sig, data)


@cache
def find_runtime() -> frozenset[str]:
    """Say where the functions are that own memory, and return their names; Numba compiles a few others beside them.

    A call of a function that is nowhere would end the process.
    """
    known = {name if name.startswith("_") else f"NRT_{name}": at for name, at in _nrt_python.c_helpers.items()}
    for name, address in known.items():
        binding.add_symbol(name, address)
    return frozenset(known)


class StoredFile(IndexDataCacheFile):
    """The files of one function."""

    def load(self, key):
        """The compiled code of a key; None where there is none, and where the files are damaged: they are given up."""
        try:
            return super().load(key)
        except DAMAGE:
            with suppress(OSError):
                os.remove(self._index_path)
            return None

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
