"""Decimal text to the nearest float64: the method of Eisel and Lemire.

D. Lemire, Number parsing at a gigabyte per second, 2021. It takes a power of ten to 128 bits, and no more.
"""

import numpy as np

from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
POINT, PLUS, MINUS, DIGIT_ZERO, SMALL_E, LARGE_E = 46, 43, 45, 48, 101, 69
SURE, UNSURE, BROKEN = 0, 1, 2
DIGITS = 19  # decimal digits that always fit into 64 bits
MIN_POWER_OF_TEN, MAX_POWER_OF_TEN = (
    -342,
    324,
)  # powers of ten in the tables: 19 digits times less are 0, times 10^309 are infinite
TENS = np.array([float(10**k) for k in range(23)])  # those that float64 holds exactly
U = np.uint64  # Numba makes a float of a signed and an unsigned integer, so these are all of one kind
LOW, HALF, ONE, TEN, EXACT = U(0xFFFFFFFF), U(32), U(1), U(10), U(1 << 53)


@njit(**OPTIONS)
def floor_log2(k):
    """The largest e with 2^e <= 10^k, right for |k| <= 1233."""
    return (k * 1741647) >> 19


def table_powers(up: bool) -> np.ndarray:
    """The first 128 bits of 10^k for every k that occurs, high and low half, rounded down, or up where `up`."""
    rows = []
    for k in range(MIN_POWER_OF_TEN, MAX_POWER_OF_TEN + 1):
        numerator, denominator = 10 ** max(k, 0), 10 ** max(-k, 0)
        shift = 127 - floor_log2.py_func(k)
        numerator, denominator = numerator << max(shift, 0), denominator << max(-shift, 0)
        bits = -(-numerator // denominator) if up else numerator // denominator
        rows.append((bits >> 64, bits & (1 << 64) - 1))
    return np.array(rows, np.uint64)


DOWN, UP = table_powers(False), table_powers(True)


@njit(**OPTIONS)
def multiply(a, b):
    """The high and the low 64 bits of a b."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    low, one, two = a_low * b_low, a_low * b_high, a_high * b_low
    middle = (low >> HALF) + (one & LOW) + (two & LOW)
    return a_high * b_high + (one >> HALF) + (two >> HALF) + (middle >> HALF), (middle << HALF) | (low & LOW)


@njit(**OPTIONS)
def multiply_power(a, high, low):
    """The first 128 of the 192 bits of a times a power in two halves."""
    above, below = multiply(a, high)
    carry, _ = multiply(a, low)
    below += carry
    return above + (ONE if below < carry else U(0)), below


@njit(**OPTIONS)
def count_leading(a):
    """Zeros before the first bit of a number above 0."""
    zeros = U(0)
    for step in (32, 16, 8, 4, 2, 1):
        if a >> U(64 - step) == 0:
            a <<= U(step)
            zeros += U(step)
    return zeros


@njit(**OPTIONS)
def scale(mantissa, exponent):
    """mantissa 10^exponent rounded to the nearest float64, and whether that is sure.

    The first 128 bits of the product are less than 2 units too small: one is lost in the table, one at the end of the
    product. They decide unless the middle between two floats is as close as that.
    """
    if mantissa == 0 or exponent < MIN_POWER_OF_TEN:
        return 0.0, SURE
    if mantissa <= EXACT and -22 <= exponent <= 22:  # Clinger: two exact floats, one rounding
        value = np.float64(mantissa)
        return (value * TENS[exponent] if exponent >= 0 else value / TENS[-exponent]), SURE
    if exponent > MAX_POWER_OF_TEN:
        return np.inf, SURE
    zeros = count_leading(mantissa)
    high, low = multiply_power(
        mantissa << zeros, DOWN[exponent - MIN_POWER_OF_TEN, 0], DOWN[exponent - MIN_POWER_OF_TEN, 1]
    )
    spare = U(10) + (high >> U(63))  # bits beyond the 53 of a float
    power = floor_log2(exponent) + np.int64(high >> U(63)) - np.int64(zeros) + 63 + 1023
    if power <= 0:
        return 0.0, UNSURE  # subnormal: fewer bits, left to a slower reader
    if power >= 2047:
        return np.inf, SURE
    tail, middle = high & ((ONE << spare) - ONE), ONE << (spare - ONE)
    if (tail == middle and low == 0) or (tail == middle - ONE and low >= ~ONE):
        return 0.0, UNSURE
    bits = (U(power - 1) << U(52)) + (high >> spare) + (ONE if tail >= middle else U(0))
    return U(bits).view(np.float64), SURE


@njit(**OPTIONS)
def read_exponent(text, k):
    """The number after an e and where it ends, -1 if there is none; far beyond any float it is cut."""
    negative = text[k] == MINUS
    if text[k] == MINUS or text[k] == PLUS:
        k += 1
    start, size = k, 0
    while DIGIT_ZERO <= text[k] <= DIGIT_ZERO + 9:
        size = min(10 * size + np.int64(text[k] - DIGIT_ZERO), 1 << 40)
        k += 1
    return (-size if negative else size), (k if k > start else -1)


@njit(**OPTIONS)
def read_long(text, k, stop, exponent):
    """A number of more than 19 digits, between its sign and its exponent, by its first 19 that count."""
    mantissa, used, dropped, point = U(0), 0, False, False
    while k < stop:
        if text[k] == POINT:
            point = True
        else:
            digit = U(text[k] - DIGIT_ZERO)
            if used < DIGITS:
                mantissa = TEN * mantissa + digit
                used += mantissa > 0
                exponent -= point
            else:
                dropped |= digit > 0
                exponent += not point
        k += 1
    value, status = scale(mantissa, exponent)
    if dropped and status == SURE:  # it lies between these two
        above, status = scale(mantissa + ONE, exponent)
        if above != value:
            status = UNSURE
    return value, status


@njit(**OPTIONS)
def read_number(text, start):
    """The decimal number that begins here, where it ends, and whether it is sure; the text goes on after it.

    [+-] digits [. digits] [e [+-] digits], with at least one digit on either side of the point. The nearest float64,
    ties to even, if it is sure; if not, a slower reader must decide.
    """
    k = start
    negative = text[k] == MINUS
    if text[k] == MINUS or text[k] == PLUS:
        k += 1
    begin, mantissa = k, U(0)
    while DIGIT_ZERO <= text[k] <= DIGIT_ZERO + 9:
        mantissa = TEN * mantissa + U(text[k] - DIGIT_ZERO)
        k += 1
    digits, exponent = k - begin, 0
    if text[k] == POINT:
        k += 1
        places = k
        while DIGIT_ZERO <= text[k] <= DIGIT_ZERO + 9:
            mantissa = TEN * mantissa + U(text[k] - DIGIT_ZERO)
            k += 1
        exponent = places - k
        digits += k - places
    if digits == 0:
        return 0.0, k, BROKEN
    stop, power = k, 0
    if text[k] == SMALL_E or text[k] == LARGE_E:
        power, k = read_exponent(text, k + 1)
        if k < 0:
            return 0.0, stop, BROKEN
    if digits <= DIGITS:
        value, status = scale(mantissa, exponent + power)
    else:
        value, status = read_long(text, begin, stop, power)
    return (-value if negative else value), k, status
