"""Compiled functions: called from Python they are machine code, called from one another they are a part of the caller.

Numba makes machine code of every function, with a wrapper for Python, and optimises it before it is optimised once more
as a part of its caller. Most functions here are called by others only. As a part of a caller a function is translated
into LLVM's language and no further: that, its wrapper and its machine code were half the time of a first fit.
"""

from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import ForceLiteralArg
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.target_extension import dispatcher_registry, jit_registry
from numba.core.types import unliteral

from ..runtime.garbage import pause_collection
from .stored_code import StoredCode
from .translation import EveryPass, PartTarget, PlainPasses, QuickFlags, Translator, part_target


class CompiledFunction(CPUDispatcher):
    """A function that Python can call, and that is a part of each compiled function that calls it."""

    targetdescr = part_target

    def __init__(self, py_func, locals=None, targetoptions=None, pipeline_class=PlainPasses, stored=False):
        super().__init__(py_func, locals or {}, targetoptions or {}, pipeline_class)
        self._compiler = Translator(py_func, self.targetdescr, self.targetoptions, self.locals, pipeline_class)
        self.part, self.stored = None, stored

    def compile(self, sig):
        """Machine code for some types, from the disk if it is there."""
        if self.stored and not isinstance(self._cache, StoredCode):  # not before: most functions are never called
            self._cache = StoredCode(self.py_func)
        with pause_collection():
            return super().compile(sig)

    def is_to_be_stored(self, types) -> bool:
        """Whether code for some types is not there yet, and could be kept."""
        if not self.stored or types in self.overloads:
            return False
        return StoredCode(self.py_func).is_wanted(types, self.targetctx)

    def _compilation_chain_init_hook(self):
        """Packages that extend Numba are looked for when something is compiled, by the target context."""

    def get_call_template(self, args, kws):
        """What a compiled caller must know of the types; numbers are no types of their own."""
        return self.open_part().get_call_template(tuple(map(unliteral, args)), kws)

    def get_overload(self, sig):
        """What a compiled caller calls."""
        return self.open_part().get_overload(sig)

    def open_part(self):
        """This function as a part of others."""
        if self.part is None:
            self.part = FunctionPart(self.py_func, self.locals, self.targetoptions, PlainPasses)
        return self.part


class FunctionPart(CPUDispatcher):
    """A function that only compiled functions call."""

    targetdescr = part_target

    def __init__(self, py_func, locals, targetoptions, pipeline_class=EveryPass):
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self.passes, self.keys = pipeline_class, {}

    @global_compiler_lock
    def compile(self, sig):
        """Translate the function for some types, for its callers to optimise."""
        args, return_type = normalize_signature(sig)
        if tuple(args) not in self.overloads:
            with self._compiling_counter:
                try:
                    result = self.translate(args, return_type)
                except ForceLiteralArg as request:  # by an implementation of Numba's own: the caller tries again
                    raise request.bind_fold_arguments(lambda *given: self.fold_argument_types(*given)[1]) from None
            self.overloads[tuple(args)], key = result, object()
            self.keys[tuple(args)] = key
            self.targetctx.insert_user_function(key, result.fndesc, result.library.list_parts())
        return self.keys[tuple(args)]

    def get_overload(self, sig):
        """What a compiled caller calls."""
        return self.keys[tuple(normalize_signature(sig)[0])]

    def translate(self, args, return_type):
        """The function in LLVM's language: without a wrapper for Python, and without machine code."""
        flags = QuickFlags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        return compiler.compile_extra(
            self.targetdescr.typing_context, self.targetdescr.target_context, self.py_func, args=args,
            return_type=return_type, flags=flags, locals=self.locals, pipeline_class=self.passes,
            library=PartLibrary(self.targetctx.codegen(), self.py_func.__qualname__),
        )  # fmt: skip


class PartLibrary(JITCodeLibrary):
    """Code that is linked, optimised and made machine code with the function for Python that it is a part of."""

    def list_parts(self):
        """This code and all that it calls."""
        return list(dict.fromkeys((self, *self._linking_libraries)))

    def finalize(self):
        """End the translation; the rest is left to the caller."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout


def translate_implementation(**options):
    """Numba's `jit`, for its own implementations of Python and NumPy within the functions of this folder."""
    given = {key: value for key, value in options.items() if key in OPTIONS_OF_PARTS}
    return lambda function: FunctionPart(function, {}, given)


OPTIONS_OF_PARTS = {"nopython", "fastmath", "error_model", "boundscheck"}
dispatcher_registry[PartTarget], jit_registry[PartTarget] = FunctionPart, translate_implementation
