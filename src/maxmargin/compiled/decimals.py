"""Decimal text to float64 and back: the nearest float of a text, and the shortest text of a float.

Reading is the method of Eisel and Lemire (D. Lemire, Number parsing at a gigabyte per second, 2021), writing is
Schubfach (R. Giulietti, The Schubfach way to render doubles, 2020). Both need powers of ten to 128 bits, and no more.
"""

import numpy as np
from numba import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
POINT, PLUS, MINUS, NOUGHT, SMALL_E, LARGE_E = 46, 43, 45, 48, 101, 69
SURE, UNSURE, BROKEN = 0, 1, 2
DIGITS = 19  # decimal digits that always fit into 64 bits
LEAST, MOST = -342, 324  # powers of ten in the tables: 19 digits times less are 0, times 10^309 are infinite
TENS = np.array([float(10**k) for k in range(23)])  # those that float64 holds exactly
U = np.uint64  # Numba makes a float of a signed and an unsigned integer, so these are all of one kind
LOW, HALF, ONE, TEN, FORTY, TOP = U(0xFFFFFFFF), U(32), U(1), U(10), U(40), U(1 << 63)
EXACT, HIDDEN, FRACTION = U(1 << 53), U(1 << 52), U((1 << 52) - 1)


@njit(**OPTIONS)
def floor_log2(k):
    """The largest e with 2^e <= 10^k, right for |k| <= 1233."""
    return (k * 1741647) >> 19


def table_powers(up: bool) -> np.ndarray:
    """The first 128 bits of 10^k for k = LEAST .. MOST, high and low half, rounded down, or up where `up`."""
    rows = []
    for k in range(LEAST, MOST + 1):
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
    if mantissa == 0 or exponent < LEAST:
        return 0.0, SURE
    if mantissa <= EXACT and -22 <= exponent <= 22:  # Clinger: two exact floats, one rounding
        value = np.float64(mantissa)
        return (value * TENS[exponent] if exponent >= 0 else value / TENS[-exponent]), SURE
    if exponent > MOST:
        return np.inf, SURE
    zeros = count_leading(mantissa)
    high, low = multiply_power(mantissa << zeros, DOWN[exponent - LEAST, 0], DOWN[exponent - LEAST, 1])
    spare = U(10) + (high >> U(63))  # bits beyond the 53 of a float
    power = floor_log2(exponent) + np.int64(high >> U(63)) - np.int64(zeros) + 63 + 1023
    if power <= 0:
        return 0.0, UNSURE  # subnormal: fewer bits, left to somebody slower
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
    while NOUGHT <= text[k] <= NOUGHT + 9:
        size = min(10 * size + np.int64(text[k] - NOUGHT), 1 << 40)
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
            digit = U(text[k] - NOUGHT)
            if used < DIGITS:
                mantissa = TEN * mantissa + digit
                used += mantissa > 0
                exponent -= point
            else:
                dropped |= digit > 0
                exponent += not point
        k += 1
    value, verdict = scale(mantissa, exponent)
    if dropped and verdict == SURE:  # it lies between these two
        above, verdict = scale(mantissa + ONE, exponent)
        if above != value:
            verdict = UNSURE
    return value, verdict


@njit(**OPTIONS)
def read_number(text, start):
    """The decimal number that begins here, where it ends, and whether it is sure; the text goes on after it.

    [+-] digits [. digits] [e [+-] digits], with at least one digit on either side of the point. The nearest float64,
    ties to even, if it is sure; if not, somebody slower has to read it.
    """
    k = start
    negative = text[k] == MINUS
    if text[k] == MINUS or text[k] == PLUS:
        k += 1
    begin, mantissa = k, U(0)
    while NOUGHT <= text[k] <= NOUGHT + 9:
        mantissa = TEN * mantissa + U(text[k] - NOUGHT)
        k += 1
    digits, exponent = k - begin, 0
    if text[k] == POINT:
        k += 1
        places = k
        while NOUGHT <= text[k] <= NOUGHT + 9:
            mantissa = TEN * mantissa + U(text[k] - NOUGHT)
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
        value, verdict = scale(mantissa, exponent + power)
    else:
        value, verdict = read_long(text, begin, stop, power)
    return (-value if negative else value), k, verdict


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
    high, low = UP[-k - LEAST, 0], UP[-k - LEAST, 1]
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
        out[place] = NOUGHT + np.int64(number % TEN)
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
        out[k] = NOUGHT
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
        out[k], out[k + 1] = NOUGHT, POINT
        for place in range(k + 2, k + 2 - point):
            out[place] = NOUGHT
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
    out[k] = NOUGHT + np.int64(digits // unit)
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
