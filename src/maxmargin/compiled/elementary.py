"""exp and log of one number, written so that LLVM makes vectors of a loop over them: no branches, no calls.

A loop that calls the exponential of the C library takes its numbers one by one. These take four or eight at a time,
a third of the time, and are off by less than two units in the last place. Their arithmetic must not be reordered, so
they are compiled without fast arithmetic, whatever their caller is compiled with.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiler import njit
from .lanes import EXP_EVEN_COEFFICIENTS, EXP_ODD_COEFFICIENTS

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "forceinline": True,
    "fastmath": False,
}  # fmt: skip
DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
ROUNDING_MAGIC = 1.5 * 2.0**52  # added to an integer k, it leaves k in the last bits
MAGIC_BITS = np.int64(0x4338000000000000)  # of that number
MANTISSA_BITS, EXPONENT_BIAS = np.int64(52), np.int64(1023)
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6  # log 2 in two parts; k times the first is exact
LEAST_EXPONENT, LARGEST_EXPONENT = -746.0, 710.0  # beyond them exp is 0 or infinite
LEAST_NORMAL, TWO_TO_54 = 2.2250738585072014e-308, 2.0**54
ABOVE_ROOT_HALF = np.int64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)  # bits of 1 less those of sqrt(1/2)
LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# log(1 + x) = 2 s + s (L1 s^2 + L2 s^4 + ...) with s = x / (2 + x): minimax (fdlibm, e_log.c), off by 2^-58
LOG_COEFFICIENTS = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


@intrinsic
def bits_of(context, x):
    """The 64 bits of a number."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], WORD)

    return types.int64(types.float64), generate


@intrinsic
def number_of(context, bits):
    """The number of 64 bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], DOUBLE)

    return types.float64(types.int64), generate


@intrinsic
def multiply_add(context, a, b, c):
    """a b + c."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.f64"), arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def round_to_integer(context, x):
    """The nearest integer."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(DOUBLE, [DOUBLE])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.rint.f64"), arguments)

    return types.float64(types.float64), generate


@njit(**OPTIONS)
def power_of_two(k):
    """2^k for an integer k of a normal number."""
    return number_of((bits_of(k + ROUNDING_MAGIC) + EXPONENT_BIAS) << MANTISSA_BITS)


@njit(**OPTIONS)
def exponential(x):
    """exp(x): Cody and Waite's reduction to |r| <= log(2)/2, the Taylor series, and 2^k in two factors."""
    value = LEAST_EXPONENT if x < LEAST_EXPONENT else (LARGEST_EXPONENT if x > LARGEST_EXPONENT else x)
    k = round_to_integer(value * LOG2_E)
    r = multiply_add(k, -LN2_LOW, multiply_add(k, -LN2_HIGH, value))
    square = r * r
    even, odd = EXP_EVEN_COEFFICIENTS[0], EXP_ODD_COEFFICIENTS[0]
    even = multiply_add(even, square, EXP_EVEN_COEFFICIENTS[1])
    odd = multiply_add(odd, square, EXP_ODD_COEFFICIENTS[1])
    even = multiply_add(even, square, EXP_EVEN_COEFFICIENTS[2])
    odd = multiply_add(odd, square, EXP_ODD_COEFFICIENTS[2])
    even = multiply_add(even, square, EXP_EVEN_COEFFICIENTS[3])
    odd = multiply_add(odd, square, EXP_ODD_COEFFICIENTS[3])
    even = multiply_add(even, square, EXP_EVEN_COEFFICIENTS[4])
    odd = multiply_add(odd, square, EXP_ODD_COEFFICIENTS[4])
    even = multiply_add(even, square, EXP_EVEN_COEFFICIENTS[5])
    odd = multiply_add(odd, square, EXP_ODD_COEFFICIENTS[5])
    series = multiply_add(square, multiply_add(r, odd, even), r) + 1.0
    half = round_to_integer(0.5 * k)  # 2^k itself may be no normal number
    return series * power_of_two(half) * power_of_two(k - half)


@njit(**OPTIONS)
def logarithm(x):
    """log(x): x = 2^k m with m within sqrt(1/2) and sqrt(2), and a series in (m - 1) / (m + 1)."""
    denormal = x < LEAST_NORMAL
    bits = bits_of(x * TWO_TO_54 if denormal else x)
    shifted = np.int64(np.uint64(bits + ABOVE_ROOT_HALF) >> np.uint64(52)) - EXPONENT_BIAS
    k = number_of(shifted + MAGIC_BITS) - ROUNDING_MAGIC
    rest = number_of(bits - (shifted << MANTISSA_BITS)) - 1.0
    k = k - 54.0 if denormal else k
    s = rest / (2.0 + rest)
    z = s * s
    series = LOG_COEFFICIENTS[6]
    series = multiply_add(series, z, LOG_COEFFICIENTS[5])
    series = multiply_add(series, z, LOG_COEFFICIENTS[4])
    series = multiply_add(series, z, LOG_COEFFICIENTS[3])
    series = multiply_add(series, z, LOG_COEFFICIENTS[2])
    series = multiply_add(series, z, LOG_COEFFICIENTS[1])
    series = multiply_add(series, z, LOG_COEFFICIENTS[0]) * z
    half = 0.5 * rest * rest
    value = k * LOG2_HIGH - ((half - (s * (half + series) + k * LOG2_LOW)) - rest)
    value = value if x < np.inf else x
    return value if x > 0.0 else (-np.inf if x == 0.0 else np.nan)


@njit(**OPTIONS)
def logarithm_of_one_plus(x):
    """log(1 + x) for x >= -1, exact to a few units also where x is small: log u + (x - (u - 1)) / u with u = 1 + x."""
    u = 1.0 + x
    value = logarithm(u) + (x - (u - 1.0)) / u
    return value if u > 0.0 and u < np.inf else logarithm(u)
