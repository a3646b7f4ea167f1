"""How Numba translates the functions of this folder: what it has found out about types once, it remembers.

For every operation Numba asks its implementations in turn whether they take the types at hand: two dozen for a sum,
those of texts and dates among them. That was a third of a first fit, spent on a few hundred different questions. Here
each is asked once. And where Numba implements an operation in Python (`np.empty`, `max`), that function is a part of
its caller like any other, without machine code of its own.
"""

import operator

from numba.core import types, typing
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUTarget, cpu_target
from numba.core.target_extension import CPU, target_registry
from numba.core.targetconfig import ConfigStack
from numba.core.typing.context import CallStack


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


class PartTargetDescriptor(CPUTarget):
    """Numba's target, but for the typing context."""

    @property
    def target_context(self):
        """What translates for the processor: the same for all."""
        return cpu_target.target_context

    @property
    def typing_context(self):
        """What finds types."""
        return remembered_types


class PlainPasses(CompilerBase):
    """Numba's passes over a function, each once, without those for what no function of this folder has."""

    def define_pipelines(self):
        """The passes over a function."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kinds = dict.fromkeys(kind for kind, _ in passes.passes if kind.__name__ not in UNNEEDED_PASSES)
        plain = PassManager("plain")
        for kind in kinds:
            plain.add_pass(kind, kind.__name__)
        plain.finalize()
        return [plain]


# closures and `with`, exceptions of varying text, literals as types, overloads to be inlined, pages about types
UNNEEDED_PASSES = {
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "RewriteDynamicRaises", "FindLiterallyCalls",
    "LiteralUnroll", "LiteralPropagationSubPipelinePass", "InlineOverloads", "NoPythonSupportedFeatureValidation",
    "AnnotateTypes", "DumpParforDiagnostics",
}  # fmt: skip


class Translator(_FunctionCompiler):
    """Numba's compiler of a function, with flags that compare quickly."""

    def _customize_flags(self, flags):
        return QuickFlags(flags)


remembered_types = RememberedTypes(cpu_target.typing_context)
target_registry["maxmargin"] = PartTarget
part_target = PartTargetDescriptor("cpu")
