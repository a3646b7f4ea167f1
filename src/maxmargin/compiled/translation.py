"""How Numba translates the functions of this folder: what it has found out about types once, it remembers.

For every operation Numba asks its implementations in turn whether they take the types at hand: two dozen for a sum,
those of texts and dates among them. That was a third of a first fit, spent on a few hundred different questions. Here
each is asked once. And where Numba implements an operation in Python (`np.empty`, `max`), that function is a part of
its caller like any other, without machine code of its own.
"""

import operator
from functools import cache

from llvmlite.ir import Constant
from numba.core import errors, types, typing
from numba.core.base import _has_loc
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.dispatcher import _FunctionCompiler
from numba.core.imputils import builtin_registry, user_function
from numba.core.registry import CPUTarget, cpu_target
from numba.core.target_extension import CPU, target_registry
from numba.core.targetconfig import ConfigStack
from numba.core.typing.context import CallStack

from .lowering import NEVER_RAISING, reserve
from .passes import PLAIN_PASSES


class QuickFlags(Flags):
    """Numba's options of a function, compared by those that are set: they are a part of many keys."""

    __slots__ = ()
    hash_of_names = hash(tuple(sorted(Flags.options)))  # what Numba has for all flags

    def __hash__(self):
        return self.hash_of_names

    def __eq__(self, other):
        return self._values == other._values if type(other) is QuickFlags else super().__eq__(other)


class PartTarget(CPU):
    """The processor, as a target for which Numba's own implementations in Python are parts of their callers."""


class PartCallStack(CallStack):
    """The functions that are being typed, for that target."""

    def register(self, target, typeinfer, func_id, args):
        """A function begins to be typed."""
        return super().register(PartTarget, typeinfer, func_id, args)


class RememberedTypes(typing.Context):
    """All that Numba knows of types, and the answers that it has given."""

    def __init__(self, shared: typing.Context):
        self.__dict__ = shared.__dict__

    @property
    def callstack(self):
        """The functions that are being typed; not that of the context with which attributes are shared."""
        return CALLSTACK

    def load_additional_registries(self):
        """What Numba knows of NumPy and of mathematics, read once."""
        if "types" not in LOADED:
            super().load_additional_registries()
            LOADED.add("types")

    def resolve_function_type(self, func, args, kws):
        """The signature of a function, or of an operator, for some types.

        Numba keeps with a function the implementation that was found last, and that may depend on the options of the
        caller. So it is put back there.
        """
        function = func if isinstance(func, types.Type) else self._lookup_global(func)
        if kws or not isinstance(function, types.Function) or not all(isinstance(each, types.Type) for each in args):
            return super().resolve_function_type(func, args, kws)
        key = function._code, *(each._code for each in args)
        flags = ConfigStack.top_or_none()
        answer = ANSWERS.get(key) or ANSWERS.get((*key, flags))
        if answer is None:
            signature = super().resolve_function_type(func, args, kws)
            known = signature is not None and signature.args in function._impl_keys
            if not known or not all(each.is_precise() for each in args):
                return signature
            answer = signature, function._impl_keys[signature.args]
            builtin = answer[1] == function.typing_key  # and not a function that was translated with some options
            ANSWERS[key if builtin else (*key, flags)] = answer
        signature, implementation = answer
        function._impl_keys[signature.args] = implementation
        return signature

    def resolve_setitem(self, target, index, value):
        """The signature of target[index] = value."""
        return self.resolve_function_type(operator.setitem, (target, index, value), {})


CALLSTACK = PartCallStack()
ANSWERS: dict = {}
LOADED: set[str] = set()  # of what Numba implements and declares


class PartContext(CPUContext):
    """All that Numba can translate, found more quickly: implementations and sizes are remembered."""

    def __init__(self, shared: CPUContext):
        self.__dict__ = shared.__dict__

    @property
    def typing_context(self):
        """What finds types."""
        return remembered_types

    def load_additional_registries(self):
        """What Numba implements, imported once."""
        if "implementations" not in LOADED:
            super().load_additional_registries()
            LOADED.add("implementations")

    def refresh(self):
        """What was added to Numba's registries: intrinsics arrive there as they are used."""
        self.load_additional_registries()
        self.install_registry(builtin_registry)
        for registry in tuple(self._registries):
            self.install_registry(registry)
        self.typing_context.refresh()

    def subtarget(self, **changes):
        """This context with some options changed; what counts references goes by them."""
        changed = super().subtarget(**changes)
        changed.__dict__.pop("nrt", None)
        return changed

    def get_function(self, fn, sig, _firstcall=True):
        """The implementation of a function for some types."""
        types_of_call = sig.as_function()
        key = fn.get_impl_key(types_of_call) if isinstance(fn, types.Callable) else fn
        for _ in range(2):
            try:
                return Implementation(self._defns[key].find(types_of_call.args), self, types_of_call)
            except errors.NumbaNotImplementedError:
                self.refresh()
        return super().get_function(fn, sig, _firstcall)

    def get_abi_sizeof(self, ty):
        """The bytes of a value; Numba has LLVM read a module for each."""
        size = SIZES.get(ty)
        if size is None:
            size = SIZES[ty] = super().get_abi_sizeof(ty)
        return size

    def insert_user_function(self, func, fndesc, libs=()):
        """Let a function be called by others."""
        call = CallOfPart(fndesc, tuple(libs))
        self._defns[func].append(call, call.signature)


class CallOfPart:
    """A call of a translated function: Numba's `user_function`, without a test of the error code where there is none.

    Numba wants it with the types that it takes and the libraries that it needs, and to read its signature.
    """

    def __init__(self, fndesc, libs):
        self.fndesc, self.libs, self.signature = fndesc, libs, fndesc.argtypes
        self.with_test = user_function(fndesc, libs)

    def __call__(self, context, builder, sig, args):
        fndesc, kind = self.fndesc, self.fndesc.restype
        if fndesc.mangled_name not in NEVER_RAISING or isinstance(kind, types.Optional):
            return self.with_test(context, builder, sig, args)
        function, convention = context.declare_function(builder.module, fndesc), context.call_conv
        returned = reserve(builder, convention.get_return_type(kind).pointee)
        nothing = Constant(function.function_type.args[1], None)
        packed = context.get_arg_packer(fndesc.argtypes).as_arguments(builder, args)
        builder.call(function, [returned, nothing, *packed])
        return context.get_returned_value(builder, kind, builder.load(returned))


class Implementation:
    """An implementation of a function for some types: Numba's `_wrap_impl`, which reads its signature every time."""

    def __init__(self, implementation, context, signature):
        self.implementation, self.context, self.signature = implementation, context, signature
        self.libs = getattr(implementation, "libs", ())

    def __call__(self, builder, args, loc=None):
        located = LOCATED.get(self.implementation)
        if located is None:
            located = LOCATED[self.implementation] = _has_loc(self.implementation)
        more = {"loc": loc} if located else {}
        result = self.implementation(self.context, builder, self.signature, args, **more)
        self.context.add_linking_libs(self.libs)
        return result

    def __getattr__(self, name):
        return getattr(self.implementation, name)


SIZES: dict = {}
LOCATED: dict = {}  # whether an implementation wants to know the line of a call


class PartTargetDescriptor(CPUTarget):
    """Numba's target, but for the typing context."""

    @property
    def target_context(self):
        """What translates for the processor."""
        return open_context()

    @property
    def typing_context(self):
        """What finds types."""
        return remembered_types


@cache
def open_context() -> PartContext:
    """What translates for the processor, the same for all."""
    return PartContext(cpu_target.target_context)


class PlainPassManager(PassManager):
    """Runs passes, without a record of each."""

    def _runPass(self, index, pass_, state):
        pass_.analysis = self._analysis
        pass_.run_pass(state)


class EveryPass(CompilerBase):
    """Numba's passes over a function of its own."""

    unneeded = frozenset({"NopythonRewrites", "AnnotateTypes", "DumpParforDiagnostics"})

    def define_pipelines(self):
        """The passes over a function."""
        passes = [kind for kind, _ in DefaultPassBuilder.define_nopython_pipeline(self.state).passes]
        plain = PlainPassManager("plain")
        for kind in self.choose(passes):
            plain.add_pass(PLAIN_PASSES.get(kind.__name__, kind), kind.__name__)
        plain.finalize()
        return [plain]

    def choose(self, passes: list) -> list:
        """The passes that are needed."""
        return [kind for kind in passes if kind.__name__ not in self.unneeded]


class PlainPasses(EveryPass):
    """Those over a function of this folder: each once, without those for what no function here has."""

    # closures and `with`, exceptions of varying text, literals as types, overloads to be inlined, pages about types
    unneeded = EveryPass.unneeded | {
        "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "RewriteDynamicRaises", "FindLiterallyCalls",
        "LiteralUnroll", "LiteralPropagationSubPipelinePass", "InlineOverloads", "NoPythonSupportedFeatureValidation",
    }  # fmt: skip

    def choose(self, passes: list) -> list:
        """The passes that are needed, each once."""
        return list(dict.fromkeys(super().choose(passes)))


class Translator(_FunctionCompiler):
    """Numba's compiler of a function, with flags that compare quickly."""

    def _customize_flags(self, flags):
        return QuickFlags(flags)


remembered_types = RememberedTypes(cpu_target.typing_context)
target_registry["maxmargin"] = PartTarget
part_target = PartTargetDescriptor("cpu")
