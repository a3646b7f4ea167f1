"""Vectors of 64 bytes for compiled loops: 16 numbers in float32 or 8 in float64, written out as LLVM vectors.

LLVM vectorises simple loops by itself, at half the width and not where a loop ends in a maximum, holds sixteen sums at
once or calls exp. These loops are the whole cost of a kernel machine, so they say what they mean: `load`, `spread`,
`multiply_add`, `largest_lane`. On a processor with narrower registers LLVM cuts the same vectors into pieces.

An index given to `load` or `store` counts numbers from the start of a contiguous array; it should be unsigned, or
Numba adds a test for negative ones.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, models, register_model

INDEX = ir.IntType(32)


def lanes_of(array) -> "Lanes":
    """The vectors that an array holds; its numbers must lie side by side."""
    if getattr(array, "layout", None) != "C":
        raise TypingError(f"vectors need a contiguous array, got {array}")
    return Lanes(array.dtype)


class Lanes(types.Type):
    """A vector of as many numbers of one kind as fill 64 bytes."""

    def __init__(self, dtype):
        self.dtype, self.count = dtype, 512 // dtype.bitwidth
        super().__init__(f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """An LLVM vector, held in registers."""

    def __init__(self, manager, lanes):
        scalar = ir.FloatType() if lanes.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, lanes, ir.VectorType(scalar, lanes.count))


def call(builder, name: str, kind, *arguments):
    """One of LLVM's own vector functions, of vectors to a vector."""
    suffix = f"v{kind.count}f{32 if isinstance(kind.element, ir.FloatType) else 64}"
    signature = ir.FunctionType(kind, [kind] * len(arguments))
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{suffix}"), arguments)


def fill(builder, kind, scalar):
    """The same number in every lane."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, scalar, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(INDEX, kind.count), [0] * kind.count))


def vector_address(context, builder, array, value, index):
    """The address of array[index], as that of a vector, and the alignment it surely has."""
    data = cgutils.create_struct_proxy(array)(context, builder, value).data
    place = builder.gep(data, [index])
    return builder.bitcast(place, context.get_value_type(Lanes(array.dtype)).as_pointer()), array.dtype.bitwidth // 8


def first_lanes_mask(builder, kind, count):
    """The mask of the first `count` lanes."""
    wide = ir.VectorType(INDEX, kind.count)
    return builder.icmp_signed(
        "<", ir.Constant(wide, list(range(kind.count))), fill(builder, wide, builder.trunc(count, INDEX))
    )


@intrinsic
def load(context, array, index):
    """array[index : index + lanes]."""
    lanes = lanes_of(array)

    def generate(context, builder, signature, arguments):
        address, alignment = vector_address(context, builder, array, *arguments)
        return builder.load(address, align=alignment)

    return lanes(array, index), generate


@intrinsic
def load_some(context, array, index, count, other):
    """array[index : index + count], and `other` in the lanes beyond."""
    lanes = lanes_of(array)

    def generate(context, builder, signature, arguments):
        address, alignment = vector_address(context, builder, array, *arguments[:2])
        kind = context.get_value_type(lanes)
        mask = first_lanes_mask(builder, kind, arguments[2])
        signature = ir.FunctionType(kind, [address.type, INDEX, mask.type, kind])
        name = f"llvm.masked.load.v{kind.count}f{array.dtype.bitwidth}.p0"
        function = cgutils.get_or_insert_function(builder.module, signature, name)
        return builder.call(function, [address, ir.Constant(INDEX, alignment), mask, arguments[3]])

    return lanes(array, index, types.uintp, lanes), generate


@intrinsic
def prefetch(context, array, index):
    """Ask for the 64 bytes around array[index], which a later step will read: nothing waits for them."""

    lanes_of(array)

    def generate(context, builder, signature, arguments):
        address, _ = vector_address(context, builder, array, *arguments)
        address = builder.bitcast(address, cgutils.voidptr_t)
        signature = ir.FunctionType(ir.VoidType(), [address.type, INDEX, INDEX, INDEX])
        function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
        to_read, in_all_caches, as_data = 0, 3, 1
        builder.call(function, [address, *(ir.Constant(INDEX, each) for each in (to_read, in_all_caches, as_data))])
        return context.get_dummy_value()

    return types.none(array, index), generate


@intrinsic
def store(context, array, index, value):
    """array[index : index + lanes] = value."""

    lanes_of(array)

    def generate(context, builder, signature, arguments):
        address, alignment = vector_address(context, builder, array, *arguments[:2])
        builder.store(arguments[2], address, align=alignment)
        return context.get_dummy_value()

    return types.none(array, index, value), generate


@intrinsic
def store_some(context, array, index, count, value):
    """array[index : index + count] = value, the lanes beyond left out."""
    lanes_of(array)

    def generate(context, builder, signature, arguments):
        address, alignment = vector_address(context, builder, array, *arguments[:2])
        kind = arguments[3].type
        mask = first_lanes_mask(builder, kind, arguments[2])
        signature = ir.FunctionType(ir.VoidType(), [kind, address.type, INDEX, mask.type])
        name = f"llvm.masked.store.v{kind.count}f{array.dtype.bitwidth}.p0"
        function = cgutils.get_or_insert_function(builder.module, signature, name)
        builder.call(function, [arguments[3], address, ir.Constant(INDEX, alignment), mask])
        return context.get_dummy_value()

    return types.none(array, index, types.uintp, value), generate


@intrinsic
def view_rows(context, values, count, width):
    """values[: count * width] as rows; `reshape` would compile the search for a size that is not given."""
    lanes_of(values)
    rows = types.Array(values.dtype, 2, "C")

    def generate(context, builder, signature, arguments):
        from numba.np.arrayobj import make_array, populate_array

        array, view = make_array(values)(context, builder, arguments[0]), make_array(rows)(context, builder)
        stride = builder.mul(arguments[2], array.itemsize)
        populate_array(
            view, data=array.data, shape=arguments[1:], strides=(stride, array.itemsize), itemsize=array.itemsize,
            meminfo=array.meminfo, parent=array.parent,
        )  # fmt: skip
        return impl_ret_borrowed(context, builder, rows, view._getvalue())

    return rows(values, types.intp, types.intp), generate


@intrinsic
def cut_rows(context, values, start, stop):
    """values[start:stop] for 0 <= start <= stop <= len(values); a slice would compile what other numbers mean."""
    view = types.Array(values.dtype, values.ndim, values.layout)

    def generate(context, builder, signature, arguments):
        from numba.np.arrayobj import make_array, populate_array

        array, part = make_array(values)(context, builder, arguments[0]), make_array(view)(context, builder)
        shape = cgutils.unpack_tuple(builder, array.shape, values.ndim)
        strides = cgutils.unpack_tuple(builder, array.strides, values.ndim)
        data = cgutils.pointer_add(builder, array.data, builder.mul(arguments[1], strides[0]))
        shape[0] = builder.sub(arguments[2], arguments[1])
        populate_array(
            part, data=data, shape=shape, strides=strides, itemsize=array.itemsize, meminfo=array.meminfo,
            parent=array.parent,
        )  # fmt: skip
        return impl_ret_borrowed(context, builder, view, part._getvalue())

    return view(values, types.intp, types.intp), generate


@intrinsic
def spread(context, scalar):
    """The same number in every lane."""
    lanes = Lanes(scalar)

    def generate(context, builder, signature, arguments):
        return fill(builder, context.get_value_type(lanes), arguments[0])

    return lanes(scalar), generate


@intrinsic
def spread_like(context, array, scalar):
    """A number of any kind in every lane, converted to the kind that the array holds."""
    lanes = Lanes(array.dtype)

    def generate(context, builder, signature, arguments):
        return fill(builder, context.get_value_type(lanes), arguments[1])

    return lanes(array, array.dtype), generate


@intrinsic
def multiply_add(context, a, b, c):
    """a b + c."""

    def generate(context, builder, signature, arguments):
        return call(builder, "fmuladd", arguments[0].type, *arguments)

    return a(a, b, c), generate


def binary(operation):
    """An intrinsic of two vectors."""

    @intrinsic
    def combine(context, a, b):
        def generate(context, builder, signature, arguments):
            return operation(builder, *arguments)

        return a(a, b), generate

    return combine


add = binary(lambda builder, a, b: builder.fadd(a, b))
subtract = binary(lambda builder, a, b: builder.fsub(a, b))
multiply = binary(lambda builder, a, b: builder.fmul(a, b))
divide = binary(lambda builder, a, b: builder.fdiv(a, b))
larger = binary(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
smaller = binary(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))


@intrinsic
def absolute(context, a):
    """|a|."""

    def generate(context, builder, signature, arguments):
        return call(builder, "fabs", arguments[0].type, arguments[0])

    return a(a), generate


@intrinsic
def largest_lane(context, a):
    """The largest of all lanes."""

    def generate(context, builder, signature, arguments):
        kind = arguments[0].type
        name = f"llvm.vector.reduce.fmax.v{kind.count}f{a.dtype.bitwidth}"
        signature = ir.FunctionType(kind.element, [kind])
        function = cgutils.get_or_insert_function(builder.module, signature, name)
        return builder.call(function, [arguments[0]], fastmath=("nnan",))

    return a.dtype(a), generate


@intrinsic
def matching_lanes(context, a, b):
    """The lanes where a = b, as the bits of a number."""

    def generate(context, builder, signature, arguments):
        mask = builder.fcmp_ordered("==", *arguments)
        return builder.zext(builder.bitcast(mask, ir.IntType(a.count)), ir.IntType(64))

    return types.uint64(a, b), generate


@intrinsic
def last_bit(context, bits):
    """The place of the highest bit that is set."""

    def generate(context, builder, signature, arguments):
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.uint64), generate


# exp(r) on |r| <= log(2)/2: minimax in float32 (Cephes), the Taylor series in float64; both to an ulp.
EXP_FLOAT32_COEFFICIENTS = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
EXP_EVEN_COEFFICIENTS = (2.08767569878681e-09, 2.755731922398589e-07, 2.48015873015873e-05, 1.388888888888889e-03,
        4.1666666666666664e-02, 0.5)  # fmt: skip
EXP_ODD_COEFFICIENTS = (1.6059043836821613e-10, 2.505210838544172e-08, 2.755731922398589e-06, 1.984126984126984e-04,
       8.333333333333333e-03, 1.6666666666666666e-01)  # fmt: skip


@intrinsic
def exp_nonpositive(context, x):
    """exp(min(x, 0)) to an ulp: Cody and Waite's reduction, a polynomial, and the exponent put in by its bits."""

    def generate(context, builder, signature, arguments):
        kind, single = arguments[0].type, x.dtype == types.float32

        def constant(value):
            return ir.Constant(kind, [value] * x.count)

        def fma(a, b, c):
            return call(builder, "fmuladd", kind, a, b, constant(c) if isinstance(c, float) else c)

        # No value is below exp(-40) = 4e-18 in float32, exp(-300) = 5e-131 in float64. Smaller ones make no difference
        # to a sum of values near 1, but their multiples are denormal numbers, and arithmetic with those is a hundred
        # times slower (seen on data with most samples far apart).
        low = constant(-40.0 if single else -300.0)
        value = builder.select(builder.fcmp_ordered("<", arguments[0], constant(0.0)), arguments[0], constant(0.0))
        value = builder.select(builder.fcmp_ordered(">", value, low), value, low)
        # Adding 1.5 2^23 (or 2^52) rounds to the next integer k and leaves it in the last bits.
        magic = constant(1.5 * 2.0**23 if single else 1.5 * 2.0**52)
        shifted = fma(value, constant(1.4426950408889634), magic)
        k = builder.fsub(shifted, magic)
        halves = (-0.693359375, 2.12194440e-4) if single else (-0.693145751953125, -1.42860682030941723212e-6)
        r = fma(k, constant(halves[1]), fma(k, constant(halves[0]), value))
        square = builder.fmul(r, r)
        if single:
            series = constant(EXP_FLOAT32_COEFFICIENTS[0])
            for coefficient in EXP_FLOAT32_COEFFICIENTS[1:]:
                series = fma(series, r, coefficient)
        else:
            # Even and odd powers side by side: half the latency of one chain.
            even, odd = constant(EXP_EVEN_COEFFICIENTS[0]), constant(EXP_ODD_COEFFICIENTS[0])
            for first, second in zip(EXP_EVEN_COEFFICIENTS[1:], EXP_ODD_COEFFICIENTS[1:], strict=True):
                even, odd = fma(even, square, first), fma(odd, square, second)
            series = fma(r, odd, even)
        series = builder.fadd(fma(square, series, r), constant(1.0))
        bits, bias, shift = (32, 127, 23) if single else (64, 1023, 52)
        whole = ir.VectorType(ir.IntType(bits), x.count)
        power = builder.add(builder.bitcast(shifted, whole), ir.Constant(whole, [bias] * x.count))
        power = builder.shl(power, ir.Constant(whole, [shift] * x.count))
        return builder.fmul(series, builder.bitcast(power, kind))

    return x(x), generate
