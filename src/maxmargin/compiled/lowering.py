"""Numba's step from typed statements to LLVM's language, without what the functions of this folder never need.

Numba writes a place in memory, a count of references and an error code for every value and every call, and LLVM removes
nearly all of them. Of the lines that a first fit of `SVC` wrote for LLVM, nearly half were these. Here

- arrays are not counted in a function that neither allocates nor returns one: its caller holds them;
- numbers are not put back to zero when their last use is over;
- a call of a function that never raises is followed by no test of its error code;
- an item or a row of an array is taken in as many instructions as that needs;
- the number that a loop counts never overflows, and LLVM is told so: where it could not rule out that an index counts
  from the end, it took vectors of rows item by item, each at an address of its own.

The rest is Numba's own.
"""

import operator
from functools import reduce

from llvmlite.ir import Constant, Undefined
from numba.core import cgutils, ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.lowering import Lower

NEVER_RAISING: set[str] = set()  # functions in LLVM's language, by name
RETURN_CODES_OF_SUCCESS = (0, -2)  # a value, and None


class PlainLower(Lower):
    """Writes the statements of a function."""

    def lower_normal_function(self, fndesc):
        """Write a function, and remember whether it can raise."""
        super().lower_normal_function(fndesc)
        ends = (block.terminator for block in self.function.blocks)
        codes = [end.operands[0] for end in ends if end is not None and end.opname == "ret" and end.operands]
        if all(isinstance(code, Constant) and code.constant in RETURN_CODES_OF_SUCCESS for code in codes):
            NEVER_RAISING.add(fndesc.mangled_name)

    def init(self):
        """Find the variables that need no place in memory: more of them than Numba finds, which looks at one block."""
        self.counted, self.unit_ranges = {}, set()
        self._singly_assigned_vars, self._blk_local_varmap = set(), {}
        if self.context.enable_nrt:
            super().init()
        self._singly_assigned_vars |= {
            name for name in find_dominating(self.blocks) if not self.is_counted(self.typeof(name))
        }

    def lower_block(self, block):
        """Write a block."""
        self.pre_block(block)
        for statement in block.body:
            self.loc = statement.loc
            self.lower_inst(statement)
        self.post_block(block)

    def is_counted(self, kind) -> bool:
        """Whether values of a type hold references."""
        found = self.counted.get(kind)
        if found is None:
            found = self.context.enable_nrt and self.context.data_model_manager[kind].contains_nrt_meminfo()
            self.counted[kind] = found
        return found

    def incref(self, typ, val):
        """One more reference."""
        if self.is_counted(typ):
            super().incref(typ, val)

    def decref(self, typ, val):
        """One reference less."""
        if self.is_counted(typ):
            super().decref(typ, val)

    def delvar(self, name):
        """The last use of a variable is over."""
        if self.is_counted(self.typeof(name)):
            super().delvar(name)
        elif name not in self._blk_local_varmap:  # as Numba has it: it was used before the block that defines it
            self._singly_assigned_vars.discard(name)

    def storevar(self, value, name, argidx=None):
        """Give a variable its value."""
        if self.is_counted(self.typeof(name)):
            super().storevar(value, name, argidx)
            return
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name, lltype, datamodel=None):
        """A place for a variable."""
        return reserve(self.builder, lltype, name)

    def alloca(self, name, type):
        """A place for a variable, zero at first if it holds references: what was there is given up."""
        if self.is_counted(type):
            return cgutils.alloca_once(self.builder, self.context.get_value_type(type), name=name)
        return reserve(self.builder, self.context.get_value_type(type), name)

    def lower_assign(self, ty, inst):
        """Write the value of an assignment; ranges that count by one are noted."""
        value = inst.value
        if isinstance(ty, types.RangeType) and isinstance(value, ir.Expr) and value.op == "call":
            given = [] if value.kws or value.vararg else value.args
            if 1 <= len(given) <= 2:
                self.unit_ranges.add(inst.target.name)
        return super().lower_assign(ty, inst)

    def lower_expr(self, resty, expr):
        """Write an expression."""
        if expr.op == "getiter" and expr.value.name in self.unit_ranges:
            return self.start_range(resty, self.loadvar(expr.value.name))
        if expr.op == "iternext" and is_range_iterator(self.typeof(expr.value.name)):
            return self.advance_range(resty, self.loadvar(expr.value.name))
        if expr.op in ("pair_first", "pair_second") and not self.is_counted(resty):
            return self.builder.extract_value(self.loadvar(expr.value.name), int(expr.op == "pair_second"))
        if expr.op == "getattr" and expr.attr == "shape":
            kind = self.typeof(expr.value.name)
            if isinstance(kind, types.Array) and kind.ndim:
                return self.read_field(kind, self.loadvar(expr.value.name), "shape")
        if expr.op == "static_getitem":
            kind = self.typeof(expr.value.name)
            if isinstance(kind, types.BaseTuple) and isinstance(expr.index, int):
                index = expr.index % len(kind)
                item = self.builder.extract_value(self.loadvar(expr.value.name), index)
                self.incref(kind[index], item)
                return self.context.cast(self.builder, item, kind[index], resty)
            if isinstance(kind, types.Array) and expr.index_var is not None:
                return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        return super().lower_expr(resty, expr)

    def start_range(self, resty, counted):
        """The state of a loop that counts by one: where it is, its end, its step, and how many are left."""
        builder = self.builder
        start, stop = builder.extract_value(counted, 0), builder.extract_value(counted, 1)
        place, left, zero = reserve(builder, start.type), reserve(builder, start.type), Constant(start.type, 0)
        length = builder.sub(stop, start)
        builder.store(start, place)
        builder.store(builder.select(builder.icmp_signed(">", length, zero), length, zero), left)
        state = Constant(self.context.get_value_type(resty), Undefined)
        for k, value in enumerate((place, stop, Constant(start.type, 1), left)):
            state = builder.insert_value(state, value, k)
        return state

    def advance_range(self, resty, state):
        """The next number of a loop, and whether there is one."""
        builder = self.builder
        place, step, left = (builder.extract_value(state, k) for k in (0, 2, 3))
        count, value = builder.load(left), builder.load(place)
        builder.store(builder.sub(count, Constant(count.type, 1), flags=["nsw"]), left)
        exact = "nsw" if resty.first_type.signed else "nuw"
        builder.store(builder.add(value, step, flags=[exact]), place)
        pair = builder.insert_value(Constant(self.context.get_value_type(resty), Undefined), value, 0)
        return builder.insert_value(pair, builder.icmp_signed(">", count, Constant(count.type, 0)), 1)

    def lower_call(self, resty, expr):
        """Write a call; the smaller and the larger of two numbers without one."""
        called, signature = getattr(self.typeof(expr.func.name), "typing_key", None), self.fndesc.calltypes[expr]
        kind = signature.return_type
        if called not in (min, max) or len(expr.args) != 2 or expr.vararg or not is_number(kind):
            return super().lower_call(resty, expr)
        builder = self.builder
        first, second = (
            self.context.cast(builder, self.loadvar(each.name), self.typeof(each.name), kind) for each in expr.args
        )
        compare = "<" if called is min else ">"
        if isinstance(kind, types.Float):
            better = builder.fcmp_ordered(compare, second, first)
        else:
            better = (builder.icmp_signed if kind.signed else builder.icmp_unsigned)(compare, second, first)
        return self.context.cast(builder, builder.select(better, second, first), kind, resty)

    def lower_binop(self, resty, expr, op):
        """Write an operation of two values."""
        if expr.static_lhs is not ir.UNDEFINED or expr.static_rhs is not ir.UNDEFINED:
            return super().lower_binop(resty, expr, op)
        context, builder, signature = self.context, self.builder, self.fndesc.calltypes[expr]
        operands = [
            context.cast(builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        found = self.find_implementation(op, signature.args)
        return context.cast(builder, found(builder, operands), signature.return_type, resty)

    def find_implementation(self, op, kinds):
        """The implementation of an operator for some types, as they are remembered."""
        function = self.context.typing_context.resolve_value_type(op)
        signature = self.context.typing_context.resolve_function_type(function, kinds, {})
        return self.context.get_function(function, signature)

    def lower_getitem(self, resty, expr, value, index, signature):
        """Write value[index]."""
        kind, index_kind = self.typeof(value.name), self.typeof(index.name)
        places = list_places(index_kind)
        if not is_plain_array(kind) or places is None or len(places) > kind.ndim:
            return self.get_any_item(resty, value, index, signature)
        array = self.loadvar(value.name)
        pointer, shape = self.find_item(kind, array, places, self.loadvar(index.name), index_kind)
        if len(places) == kind.ndim:
            item = self.context.unpack_value(self.builder, kind.dtype, pointer, align=None if kind.aligned else 1)
            return self.context.cast(self.builder, item, kind.dtype, resty)
        view = self.make_view(kind, array, signature.return_type, pointer, shape)
        self.incref(signature.return_type, view)
        return self.context.cast(self.builder, view, signature.return_type, resty)

    def get_any_item(self, resty, value, index, signature):
        """Write value[index] as Numba has it."""
        found = self.find_implementation(operator.getitem, signature.args)
        operands = [
            self.context.cast(self.builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip((value, index), signature.args, strict=True)
        ]
        return self.context.cast(self.builder, found(self.builder, operands), signature.return_type, resty)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """Write target[index] = value."""
        kind, index_kind = self.typeof(target_var.name), self.typeof(index_var.name)
        places, given = list_places(index_kind), self.typeof(value_var.name)
        whole = places is not None and is_plain_array(kind) and len(places) == kind.ndim
        if not whole or not isinstance(given, (types.Number, types.Boolean)):
            super().lower_setitem(target_var, index_var, value_var, signature)
            return
        array = self.loadvar(target_var.name)
        pointer, _ = self.find_item(kind, array, places, self.loadvar(index_var.name), index_kind)
        item = self.context.cast(self.builder, self.loadvar(value_var.name), given, kind.dtype)
        self.context.pack_value(self.builder, kind.dtype, item, pointer, align=None if kind.aligned else 1)

    def read_field(self, kind, array, field):
        """A field of an array: where its data are, its shape, its strides."""
        return self.context.data_model_manager[kind].get(self.builder, array, field)

    def find_item(self, kind, array, places, index, index_kind):
        """Where the item, or the row, of an array is; and the shape of the array."""
        builder, several = self.builder, isinstance(index_kind, types.BaseTuple)
        shape, data = self.read_field(kind, array, "shape"), self.read_field(kind, array, "data")
        sizes = [builder.extract_value(shape, axis) for axis in range(kind.ndim)]
        indices = [
            self.wrap_index(each, builder.extract_value(index, k) if several else index, sizes[k])
            for k, each in enumerate(places)
        ]
        if kind.layout == "C":
            offset = indices[0]
            for axis in range(1, kind.ndim):
                offset = builder.mul(offset, sizes[axis])
                if axis < len(indices):
                    offset = builder.add(offset, indices[axis])
            return builder.gep(data, [offset]), sizes
        strides = self.read_field(kind, array, "strides")
        steps = [builder.mul(builder.extract_value(strides, axis), each) for axis, each in enumerate(indices)]
        return cgutils.pointer_add(builder, data, reduce(builder.add, steps)), sizes

    def wrap_index(self, kind, index, size):
        """An index as a whole number of the machine; those below zero count from the end."""
        if not kind.signed:
            return self.context.cast(self.builder, index, kind, types.uintp)
        index = self.context.cast(self.builder, index, kind, types.intp)
        if isinstance(index, Constant) and index.constant >= 0:
            return index
        below = self.builder.icmp_signed("<", index, Constant(index.type, 0))
        return self.builder.select(below, self.builder.add(index, size), index)

    def make_view(self, kind, array, view_kind, pointer, sizes):
        """The array of fewer dimensions that begins at a pointer."""
        builder, context, lost = self.builder, self.context, kind.ndim - view_kind.ndim
        model, sizes = context.data_model_manager[view_kind], sizes[lost:]
        strides, count = self.read_field(kind, array, "strides"), sizes[0]
        for size in sizes[1:]:
            count = builder.mul(count, size, flags=["nsw"])
        steps = [builder.extract_value(strides, axis) for axis in range(lost, kind.ndim)]
        view = Constant(context.get_value_type(view_kind), Undefined)
        fields = {
            "meminfo": self.read_field(kind, array, "meminfo"), "parent": self.read_field(kind, array, "parent"),
            "nitems": count, "itemsize": self.read_field(kind, array, "itemsize"), "data": pointer,
            "shape": cgutils.pack_array(builder, sizes), "strides": cgutils.pack_array(builder, steps),
        }  # fmt: skip
        for name, value in fields.items():
            view = model.set(builder, view, value, name)
        return view


def reserve(builder, kind, name=""):
    """A place of a type in memory, whatever is in it at first."""
    with builder.goto_entry_block():
        return builder.alloca(kind, name=name)


def find_dominating(blocks) -> set[str]:
    """The variables that are assigned once, in a block that comes before all others that use them."""
    defined, excluded, used = {}, set(), {}
    for label, block in blocks.items():  # in the order in which they are written
        for statement in block.body:
            names = [variable.name for variable in statement.list_vars()]
            if isinstance(statement, ir.Assign):
                names.remove(statement.target.name)
            for name in names:
                used.setdefault(name, set()).add(label)
                if name not in defined:
                    excluded.add(name)
            if isinstance(statement, ir.Assign):
                if statement.target.name in defined:
                    excluded.add(statement.target.name)
                defined[statement.target.name] = label
    dominators = compute_cfg_from_blocks(blocks).dominators()
    return {
        name
        for name, label in defined.items()
        if name not in excluded and all(label in dominators[each] for each in used.get(name, ()))
    }


def is_number(kind: types.Type) -> bool:
    """Whether a type is that of one number."""
    return isinstance(kind, (types.Float, types.Integer))


def is_range_iterator(kind: types.Type) -> bool:
    """Whether a type is that of a loop over a range."""
    return isinstance(kind, types.RangeIteratorType)


def is_plain_array(kind: types.Type) -> bool:
    """Whether a type is an array of numbers in memory."""
    return type(kind) is types.Array and isinstance(kind.dtype, (types.Number, types.Boolean)) and kind.layout in "CA"


def list_places(kind: types.Type) -> list | None:
    """The types of an index that is a whole number, or several; None of any other."""
    places = list(kind) if isinstance(kind, types.BaseTuple) else [kind]
    return places if places and all(isinstance(each, types.Integer) for each in places) else None
