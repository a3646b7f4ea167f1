"""The shortest decimal text that reads as a given float64: Schubfach.

R. Giulietti, The Schubfach way to render doubles, 2020. It takes a power of ten to 128 bits, and no more.
"""

import numpy as np

from .compiler import njit
from .decimals import (
    DIGIT_ZERO,
    DIGITS,
    MIN_POWER_OF_TEN,
    MINUS,
    ONE,
    OPTIONS,
    POINT,
    SMALL_E,
    TEN,
    UP,
    U,
    floor_log2,
    multiply_power,
)  # fmt: skip

FORTY, HIDDEN, FRACTION = U(40), U(1 << 52), U((1 << 52) - 1)


@njit(**OPTIONS)
def round_to_odd(a, high, low):
    """a times a power, as 64 bits of which the last is set where anything was cut."""
    above, below = multiply_power(a, high, low)
    return above | (ONE if below > 1 else U(0))


@njit(**OPTIONS)
def find_shortest(value):
    """The shortest digits 10^exponent that read as this float, finite and not 0; of those the closest."""
    bits = np.float64(value).view(np.uint64)
    fraction, field = bits & FRACTION, np.int64(bits >> U(52)) & 2047
    c, q = (fraction | HIDDEN, field - 1075) if field else (fraction, -1074)
    if -52 <= q <= 0 and (c >> U(-q)) << U(-q) == c:
        return c >> U(-q), 0
    closer = fraction == 0 and field > 1  # the float below is half as far away as that above
    k = (q * 1262611 - (524031 if closer else 0)) >> 22
    shift = U(q + floor_log2(-k) + 1)
    high, low = UP[-k - MIN_POWER_OF_TEN, 0], UP[-k - MIN_POWER_OF_TEN, 1]
    odd = c & ONE  # an odd float loses ties, so its ends do not read as it
    centre = c << U(2)
    lower = round_to_odd((centre - (ONE if closer else U(2))) << shift, high, low) + odd
    upper = round_to_odd((centre + U(2)) << shift, high, low) - odd
    middle = round_to_odd(centre << shift, high, low)
    s = middle >> U(2)
    tens = s // TEN
    below, above = lower <= FORTY * tens, FORTY * tens + FORTY <= upper
    if s >= TEN and below != above:
        return tens + (ONE if above else U(0)), k + 1
    below, above = lower <= s << U(2), (s << U(2)) + U(4) <= upper
    if below != above:
        return s + (ONE if above else U(0)), k
    half = (s << U(2)) + U(2)
    return s + (ONE if middle > half or (middle == half and s & ONE == ONE) else U(0)), k


@njit(**OPTIONS)
def write_digits(out, k, number, length):
    """So many digits of an integer from out[k] on, and where they end."""
    for place in range(k + length - 1, k - 1, -1):
        out[place] = DIGIT_ZERO + np.int64(number % TEN)
        number //= TEN
    return k + length


@njit(**OPTIONS)
def count_digits(number):
    """Decimal digits of an integer, 1 for 0."""
    length, bound = 1, TEN
    while length < DIGITS and number >= bound:
        length += 1
        bound *= TEN
    return length + (length == DIGITS and number >= U(10**19))


@njit(**OPTIONS)
def write_integer(out, k, number):
    """An integer that is not negative from out[k] on, and where it ends."""
    return write_digits(out, k, U(number), count_digits(U(number)))


@njit(**OPTIONS)
def write_number(out, k, value):
    """The shortest text that reads as this float, from out[k] on, and where it ends: at most 24 letters."""
    if value < 0 or (value == 0 and 1.0 / value < 0):
        out[k] = MINUS
        k += 1
    if value == 0:
        out[k] = DIGIT_ZERO
        return k + 1
    digits, exponent = find_shortest(abs(value))
    while digits % TEN == 0:
        digits //= TEN
        exponent += 1
    length = count_digits(digits)
    point = length + exponent  # digits before the point
    if exponent >= 0 and point <= 17:
        return write_digits(out, k, digits * U(10**exponent), point)
    if -4 < point <= 0:
        out[k], out[k + 1] = DIGIT_ZERO, POINT
        for place in range(k + 2, k + 2 - point):
            out[place] = DIGIT_ZERO
        return write_digits(out, k + 2 - point, digits, length)
    if 0 < point <= 17:
        unit = U(10 ** (-exponent))
        k = write_digits(out, k, digits // unit, point)
        out[k] = POINT
        return write_digits(out, k + 1, digits % unit, -exponent)
    return write_scientific(out, k, digits, length, point - 1)


@njit(**OPTIONS)
def write_scientific(out, k, digits, length, power):
    """d.ddd e power, from out[k] on, and where it ends."""
    unit = U(1)
    for _ in range(length - 1):
        unit *= TEN
    out[k] = DIGIT_ZERO + np.int64(digits // unit)
    k += 1
    if length > 1:
        out[k] = POINT
        k = write_digits(out, k + 1, digits % unit, length - 1)
    out[k] = SMALL_E
    k += 1
    if power < 0:
        out[k] = MINUS
        k += 1
    return write_integer(out, k, abs(power))
