"""Numba's passes over a function of this folder that are done another way here.

Between two passes Numba finds out once more where each variable lives, which only counts of references have to know. A
function that neither allocates nor returns an array counts none: its arrays are its arguments, which its caller holds,
or views of them.
"""

from numba.core import ir, types
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import build_definitions
from numba.core.rewrites import rewrite_registry
from numba.core.typed_passes import IRLegalization, NativeLowering, PreLowerStripPhis
from numba.core.untyped_passes import GenericRewrites
from numba.extending import _Intrinsic

from .lowering import PlainLower

# What makes a value of arrays out of values of arrays: views, and nothing that is allocated.
BORROWING = {"getitem", "static_getitem", "getattr", "build_tuple", "exhaust_iter", "cast", "phi"}
BORROWING_INTRINSICS = {"cut_rows", "view_rows"}  # of lanes.py


@register_pass(mutates_CFG=True, analysis_only=False)
class PlainRewrites(GenericRewrites):
    """Constant indices and the like made known, before types are found."""

    _name = "maxmargin_rewrites"

    def run_pass(self, state):
        """Apply each rewrite to each block until it finds nothing more."""
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            for label in list(blocks):
                while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                    blocks[label] = rewrite.apply()
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class PlainStripPhis(PreLowerStripPhis):
    """Assignments in place of the choices between values that arrive from several blocks."""

    _name = "maxmargin_strip_phis"

    def run_pass(self, state):
        """Put them where the values come from."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class PlainLegalization(IRLegalization):
    """Where the last use of each variable is over: only a function that counts references has to know."""

    _name = "maxmargin_legalization"

    def run_pass(self, state):
        """Note these places, or that there are none."""
        models = state.targetctx.data_model_manager
        inner, plain = state.flags.no_cpython_wrapper, not state.flags.debuginfo
        state.metadata["borrows"] = inner and plain and only_borrows(state, models)
        return state.metadata["borrows"] or super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class PlainLowering(NativeLowering):
    """The pass over a function that writes it in LLVM's language."""

    _name = "maxmargin_lowering"

    @property
    def lowering_class(self):
        """What writes the statements."""
        return PlainLower

    def run_pass(self, state):
        """Write a function; count references in it only if it has to."""
        if state.flags.debuginfo:  # a debugger wants every value in memory
            return NativeLowering().run_pass(state)
        counting = state.targetctx
        if state.metadata["borrows"]:
            state.targetctx = counting.subtarget(enable_nrt=False)
        try:
            return super().run_pass(state)
        finally:
            state.targetctx = counting


# in place of passes of Numba
PLAIN_PASSES = {
    "GenericRewrites": PlainRewrites, "PreLowerStripPhis": PlainStripPhis, "IRLegalization": PlainLegalization,
    "NativeLowering": PlainLowering,
}  # fmt: skip


def only_borrows(state, models) -> bool:
    """Whether all arrays of a function are its arguments, or views of them, and none is returned.

    Only functions of this folder are looked at: those of Numba may handle texts, which are counted too.
    """
    if not state.func_id.modname.startswith(f"{__package__}."):
        return False
    if models[state.return_type].contains_nrt_meminfo():
        return False
    for block in state.func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign) and not is_borrowed(statement, state.typemap, models):
                return False
            if isinstance(statement, ir.SetItem | ir.StaticSetItem) and copies(statement, state.typemap):
                return False
    return True


def copies(statement: ir.SetItem | ir.StaticSetItem, typemap: dict) -> bool:
    """Whether an array is assigned to a part of another one: Numba allocates a copy where the two may overlap."""
    return not isinstance(typemap[statement.value.name], types.Number | types.Boolean)


def is_borrowed(statement: ir.Assign, typemap: dict, models) -> bool:
    """Whether a statement makes no reference that has to be given up."""
    made, value = typemap[statement.target.name], statement.value
    if not models[made].contains_nrt_meminfo() or isinstance(value, (ir.Arg, ir.Var)):
        return True
    if not (is_made_of_arrays(made) and isinstance(value, ir.Expr)):
        return False
    if value.op == "call":
        called = getattr(typemap[value.func.name], "typing_key", None)
        return isinstance(called, _Intrinsic) and called._name in BORROWING_INTRINSICS
    if value.op not in BORROWING:
        return False
    return value.op != "getitem" or not models[typemap[value.index.name]].contains_nrt_meminfo()


def is_made_of_arrays(kind: types.Type) -> bool:
    """Whether a type is an array, a tuple of arrays and numbers, or a method of an array."""
    if isinstance(kind, types.BaseTuple):
        return all(is_made_of_arrays(each) or isinstance(each, (types.Number, types.Boolean)) for each in kind)
    return isinstance(kind, types.Array)
