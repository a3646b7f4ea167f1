"""Arithmetic in twice the precision: numbers as unevaluated sums high + low, for scalars and for vectors of 64 bytes.

Knuth's sum and the product by a fused multiply-add are exact: a + b = s + e and a b = p + e without any error, unless
they overflow, and up to 2^-1074 where e is denormal (Ogita, Rump and Oishi, 2005, Accurate sum and dot product, SIAM
J. Sci. Comput. 26, algorithms 3.1 and 3.5). Nothing here may be compiled with fastmath: reordered or contracted, these
lines compute zeros. A processor without a fused multiply-add calls that of the C library, which is slow but correct.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiler import njit
from .lanes import (
    EXP_EVEN_COEFFICIENTS,
    EXP_ODD_COEFFICIENTS,
    absolute,
    add,
    binary,
    call,
    divide,
    fill,
    multiply,
    spread,
    subtract,
)

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": False}
UNIT = 2.0**-53  # u, the unit roundoff of float64
EXP_ERROR = UNIT  # relative error of exp_double; the largest measured is 0.26 u
TANH_ERROR = 8.0 * UNIT  # relative error of tanh_double; the largest measured is 2.6 u


# ---- single numbers -------------------------------------------------------------------------------------------------


@intrinsic
def fused(context, a, b, c):
    """a b + c of float64, rounded once."""

    def generate(context, builder, signature, arguments):
        kind = ir.DoubleType()
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), "llvm.fma.f64")
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@njit(**OPTIONS)
def two_sum(a, b):
    """s = fl(a + b) and e with a + b = s + e."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


@njit(**OPTIONS)
def two_product(a, b):
    """p = fl(a b) and e with a b = p + e."""
    p = a * b
    return p, fused(a, b, -p)


# ---- vectors --------------------------------------------------------------------------------------------------------


@intrinsic
def fused_lanes(context, a, b, c):
    """a b + c, rounded once."""

    def generate(context, builder, signature, arguments):
        return call(builder, "fma", arguments[0].type, *arguments)

    return a(a, b, c), generate


@intrinsic
def root(context, a):
    """sqrt(a)."""

    def generate(context, builder, signature, arguments):
        return call(builder, "sqrt", arguments[0].type, arguments[0])

    return a(a), generate


@intrinsic
def select_where_less(context, a, b, below, otherwise):
    """`below` in the lanes where a < b, `otherwise` in all others."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered("<", *arguments[:2]), *arguments[2:])

    return a(a, a, a, a), generate


@intrinsic
def scale_by_power(context, a, k):
    """a 2^k for whole numbers k between -1022 and 1023."""

    def generate(context, builder, signature, arguments):
        value, power = arguments
        whole = ir.VectorType(ir.IntType(64), a.count)
        bits = builder.add(builder.fptosi(power, whole), fill(builder, whole, ir.Constant(ir.IntType(64), 1023)))
        bits = builder.shl(bits, fill(builder, whole, ir.Constant(ir.IntType(64), 52)))
        return builder.fmul(value, builder.bitcast(bits, value.type))

    return a(a, a), generate


with_sign_of = binary(lambda builder, a, b: call(builder, "copysign", a.type, a, b))


@njit(**OPTIONS)
def two_sums(a, b):
    """s = fl(a + b) and e with a + b = s + e."""
    s = add(a, b)
    other = subtract(s, a)
    return s, add(subtract(a, subtract(s, other)), subtract(b, other))


@njit(**OPTIONS)
def two_differences(a, b):
    """s = fl(a - b) and e with a - b = s + e."""
    s = subtract(a, b)
    other = subtract(s, a)
    return s, subtract(subtract(a, subtract(s, other)), add(b, other))


@njit(**OPTIONS)
def two_products(a, b):
    """p = fl(a b) and e with a b = p + e."""
    p = multiply(a, b)
    return p, fused_lanes(a, b, subtract(spread(-0.0), p))


@njit(**OPTIONS)
def scale_double(factor, high, low):
    """factor (high + low), to 3 u^2 of its size."""
    p, e = two_products(factor, high)
    return two_sums(p, fused_lanes(factor, low, e))


@njit(**OPTIONS)
def multiply_doubles(high, low, other_high, other_low):
    """(high + low) (other_high + other_low), to 5 u^2 of its size (Joldes, Muller and Popescu, 2017, algorithm 11)."""
    p, e = two_products(high, other_high)
    return two_sums(p, add(e, fused_lanes(high, other_low, multiply(low, other_high))))


@njit(**OPTIONS)
def exp_double(high, low):
    """exp(x) for x = high + low, clipped to [-700, 700], as a sum of two numbers, with relative error EXP_ERROR.

    With x = k log(2) + r + c, |r| <= 0.35 and |c| <= u |r|, it is 2^k (1 + r + (c (1 + r) + e^r - 1 - r)). In this sum
    1 + r is exact. Only the series of e^r - 1 - r is rounded; it is at most 0.07, with a relative error of a few u.
    """
    low = select_where_less(absolute(high), spread(700.0), low, spread(0.0))
    high = select_where_less(high, spread(-700.0), spread(-700.0), high)
    high = select_where_less(spread(700.0), high, spread(700.0), high)
    magic = spread(1.5 * 2.0**52)
    k = subtract(fused_lanes(high, spread(1.4426950408889634), magic), magic)
    r = fused_lanes(k, spread(-0.693145751953125), high)
    rest = fused_lanes(k, spread(-1.42860682030941723212e-6), low)
    r, c = two_sums(r, rest)
    square = multiply(r, r)
    even, odd = spread(EXP_EVEN_COEFFICIENTS[0]), spread(EXP_ODD_COEFFICIENTS[0])
    for first, second in zip(EXP_EVEN_COEFFICIENTS[1:], EXP_ODD_COEFFICIENTS[1:]):  # noqa: B905 (Numba's zip has no strict)
        even = fused_lanes(even, square, spread(first))
        odd = fused_lanes(odd, square, spread(second))
    series = multiply(square, fused_lanes(r, odd, even))
    s, e = two_sums(spread(1.0), r)
    value, rest = two_sums(s, add(add(e, fused_lanes(c, r, c)), series))
    return scale_by_power(value, k), scale_by_power(rest, k)


@njit(**OPTIONS)
def tanh_from_exp(value, rest):
    """(1 - E) / (1 + E) for E = value + rest."""
    one = spread(1.0)
    return divide(subtract(subtract(one, value), rest), add(add(one, value), rest))


@njit(**OPTIONS)
def tanh_double(high, low):
    """tanh(high + low) as a sum of two numbers, with relative error TANH_ERROR: its series near zero, else by exp."""
    size = absolute(high)
    sign = with_sign_of(spread(1.0), high)
    value, rest = exp_double(multiply(spread(-2.0), size), multiply(spread(-2.0), multiply(sign, low)))
    far = tanh_from_exp(value, rest)
    square = multiply(high, high)
    series = spread(21844.0 / 6081075.0)
    for term in (-1382.0 / 155925.0, 62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0):
        series = fused_lanes(series, square, spread(term))
    near = fused_lanes(multiply(high, square), series, low)
    bound = spread(0.0625)
    return two_sums(
        select_where_less(size, bound, high, multiply(sign, far)), select_where_less(size, bound, near, spread(0.0))
    )
