"""Lines of LIBSVM text, `label index:value index:value ...  # comment`, as the arrays of a CSR matrix."""

import numpy as np
from numba import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
NEWLINE, SPACE, TAB, RETURN, HASH, COLON, POINT, PLUS, MINUS, NOUGHT = 10, 32, 9, 13, 35, 58, 46, 43, 45, 48
SOUND, NO_PAIR, NOT_RISING, TOO_LARGE = 0, 1, 2, 3
LONG = 9 * 10**17  # a number below has room for one more digit
POWERS = np.array([float(10**k) for k in range(23)])  # those that float64 holds exactly
SPLIT = 134217729.0  # 2^27 + 1: cuts a float64 into two halves whose products are exact (Dekker)
MARGIN = 1.0 + 2.0**-30  # more than the error of the second part of a quotient or product


@njit(**OPTIONS)
def count_marks(text):
    """How many lines and pairs there may be: ends of lines, and colons."""
    lines, pairs = 1, 0
    for k in range(text.shape[0]):
        lines += text[k] == NEWLINE
        pairs += text[k] == COLON
    return lines, pairs


@njit(**OPTIONS)
def skip_blanks(text, k):
    """The next place that is not a space within the line."""
    while k < text.shape[0] and (text[k] == SPACE or text[k] == TAB or text[k] == RETURN):
        k += 1
    return k


@njit(**OPTIONS)
def skip_word(text, k):
    """The end of a word: a space, the end of the line, or a comment."""
    while k < text.shape[0] and text[k] > SPACE and text[k] != HASH:
        k += 1
    return k


@njit(**OPTIONS)
def skip_line(text, k):
    """The end of the line."""
    while k < text.shape[0] and text[k] != NEWLINE:
        k += 1
    return k


@njit(**OPTIONS)
def read_digits(text, k, stop, mantissa):
    """Append digits to a number, which is -1 once it is too long; it, where they end, and how many they are."""
    start = k
    while k < stop and NOUGHT <= text[k] <= NOUGHT + 9:
        mantissa = 10 * mantissa + np.int64(text[k] - NOUGHT) if 0 <= mantissa < LONG else np.int64(-1)
        k += 1
    return mantissa, k, k - start


@njit(**OPTIONS)
def find_remainder(a, b, product):
    """a b - product, exactly, where product is a b rounded."""
    c = SPLIT * a
    a_high = c - (c - a)
    c = SPLIT * b
    b_high = c - (c - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(**OPTIONS)
def scale(mantissa, exponent):
    """mantissa 10^exponent rounded to the nearest float64, and whether that is sure.

    In two parts whose sum is right to about 100 bits. It is sure unless the sum is too close to the middle between two
    floats for these bits to tell on which side it is.
    """
    high = np.float64(mantissa)
    low = np.float64(mantissa - np.int64(high))
    power = POWERS[abs(exponent)]
    if exponent >= 0:
        first = high * power
        second = find_remainder(high, power, first) + low * power
    else:
        first = high / power
        product = first * power
        second = ((high - product) - find_remainder(first, power, product) + low) / power
    value = first + second
    rest = (first - value) + second
    return value, value + MARGIN * rest == value


@njit(**OPTIONS)
def read_exponent(text, k, stop):
    """The number after an e, and where it ends; nothing is read if there is no e."""
    if k == stop or (text[k] != 101 and text[k] != 69):
        return 0, k
    k += 1
    negative = k < stop and text[k] == MINUS
    if k < stop and (text[k] == MINUS or text[k] == PLUS):
        k += 1
    size, end, length = read_digits(text, k, stop, np.int64(0))
    if length == 0 or not 0 <= size <= 1000:
        return 0, -1
    return (-size if negative else size), end


@njit(**OPTIONS)
def read_number(text, start, stop):
    """The decimal number in text[start:stop], and whether it is sure: if not, somebody slower has to read it."""
    k = start
    negative = text[k] == MINUS
    if text[k] == MINUS or text[k] == PLUS:
        k += 1
    mantissa, k, whole = read_digits(text, k, stop, np.int64(0))
    places = 0
    if k < stop and text[k] == POINT:
        mantissa, k, places = read_digits(text, k + 1, stop, mantissa)
    exponent, k = read_exponent(text, k, stop)
    exponent -= places
    if k != stop or whole + places == 0 or mantissa < 0 or not -22 <= exponent <= 22:
        return 0.0, False
    value, sure = scale(mantissa, exponent)
    return (-value if negative else value), sure


@njit(**OPTIONS)
def parse_lines(text, labels, indptr, indices, values, unsure):
    """Fill the arrays; rows, pairs, numbers left unread, the verdict, and the place of the fault.

    `unsure` receives (slot, start, stop) of numbers that are left: slot -1 - row for labels.
    """
    k, row, pair, left = 0, 0, 0, 0
    indptr[0] = 0
    while k < text.shape[0]:
        k = skip_blanks(text, k)
        if k == text.shape[0] or text[k] == NEWLINE or text[k] == HASH:
            k = skip_line(text, k) + 1
            continue
        stop = skip_word(text, k)
        labels[row], sure = read_number(text, k, stop)
        if not sure:
            unsure[left] = (-1 - row, k, stop)
            left += 1
        k, before = skip_blanks(text, stop), np.int64(-1)
        while k < text.shape[0] and text[k] != NEWLINE and text[k] != HASH:
            stop = skip_word(text, k)
            index, colon, length = read_digits(text, k, stop, np.int64(0))
            if length == 0 or colon + 1 >= stop or text[colon] != COLON:
                return row, pair, left, NO_PAIR, k
            if index < 0 or index >= 2147483647:
                return row, pair, left, TOO_LARGE, k
            if index <= before:
                return row, pair, left, NOT_RISING, k
            values[pair], sure = read_number(text, colon + 1, stop)
            if not sure:
                unsure[left] = (pair, colon + 1, stop)
                left += 1
            indices[pair] = before = index
            pair += 1
            k = skip_blanks(text, stop)
        row += 1
        indptr[row] = pair
        k = skip_line(text, k) + 1
    return row, pair, left, SOUND, k
