"""Lines of LIBSVM text, `label [qid:query] index:value index:value ...  # comment`, to the arrays of CSR and back."""

import numpy as np

from .compiler import njit
from .decimals import BROKEN, DIGIT_ZERO, OPTIONS, UNSURE, read_number
from .shortest_decimals import write_integer, write_number

NEWLINE, SPACE, TAB, RETURN, HASH, COLON = 10, 32, 9, 13, 35, 58
QUERY = np.frombuffer(b"qid:", np.uint8)
SOUND, NO_NUMBER, NO_PAIR, NO_QUERY, NOT_RISING, TOO_LOW, TOO_HIGH, TOO_LARGE = range(8)
ABSENT = np.int64(-1)  # the query of a line that names none
MAX_EXTENDABLE_INTEGER = np.int64(9 * 10**17)  # an integer below has room for one more digit
MAX_FLOAT = np.finfo(np.float64).max
MAX_FIELD_CHARACTERS = 50  # letters of a label and its query, or of a pair, at most, with what stands between


@njit(**OPTIONS)
def count_marks(text):
    """How many lines and pairs there may be: ends of lines, and colons."""
    lines, pairs = 0, 0
    for k in range(text.shape[0]):
        lines += text[k] == NEWLINE
        pairs += text[k] == COLON
    return lines, pairs


@njit(**OPTIONS)
def skip_blanks(text, k):
    """The next place that is not a space within the line."""
    while text[k] == SPACE or text[k] == TAB or text[k] == RETURN:
        k += 1
    return k


@njit(**OPTIONS)
def skip_line(text, k):
    """The beginning of the next line."""
    while text[k] != NEWLINE:
        k += 1
    return k + 1


@njit(**OPTIONS)
def ends_word(letter):
    """Whether a word is over: at a space, at the end of the line, at a comment."""
    return letter == SPACE or letter == NEWLINE or letter == TAB or letter == RETURN or letter == HASH


@njit(**OPTIONS)
def read_integer(text, k):
    """The digits that begin here as a number, -1 if there are none, and where they end; beyond 18 digits it is cut."""
    if not DIGIT_ZERO <= text[k] <= DIGIT_ZERO + 9:
        return np.int64(-1), k
    number = np.int64(0)
    while DIGIT_ZERO <= text[k] <= DIGIT_ZERO + 9:
        number = (
            10 * number + np.int64(text[k] - DIGIT_ZERO)
            if number < MAX_EXTENDABLE_INTEGER
            else np.int64(9223372036854775807)
        )
        k += 1
    return number, k


@njit(**OPTIONS)
def read_query(text, k):
    """The number after qid: if it begins here, ABSENT if it does not, and where it ends; -1 if it is broken."""
    for place in range(4):
        if text[k + place] != QUERY[place]:
            return ABSENT, k
    query, k = read_integer(text, k + 4)
    return query, (k if query >= 0 and query <= MAX_EXTENDABLE_INTEGER and ends_word(text[k]) else -1)


@njit(**OPTIONS)
def parse_lines(text, queried, first, most, limit, labels, queries, indptr, indices, values, unsure):
    """Fill the arrays; rows, pairs, numbers left unread, lowest and highest index, the kind of fault, its place.

    The text ends with the end of a line. Indices lie between `first`, which becomes 0, and `most`, absolute values do
    not exceed `limit`, queries are read where they are `queried`. `unsure` receives (slot, start, stop) of numbers that
    are left: slot -1 - row for labels.
    """
    k, row, pair, left, low, high = 0, 0, 0, 0, np.int64(9223372036854775807), np.int64(-1)
    indptr[0] = 0
    while k < text.shape[0]:
        k = skip_blanks(text, k)
        if text[k] == NEWLINE or text[k] == HASH:
            k = skip_line(text, k)
            continue
        labels[row], stop, status = read_number(text, k)
        if status == BROKEN or not ends_word(text[stop]):
            return row, pair, left, low, high, NO_NUMBER, k
        if status == UNSURE:
            unsure[left] = (-1 - row, k, stop)
            left += 1
        elif not abs(labels[row]) <= MAX_FLOAT:
            return row, pair, left, low, high, TOO_LARGE, k
        k = skip_blanks(text, stop)
        if queried:
            queries[row], stop = read_query(text, k)
            if stop < 0:
                return row, pair, left, low, high, NO_QUERY, k
            k = skip_blanks(text, stop)
        before = first - 1
        while text[k] != NEWLINE and text[k] != HASH:
            index, colon = read_integer(text, k)
            if index < 0 or text[colon] != COLON:
                return row, pair, left, low, high, NO_PAIR, k
            if index <= before or index > most:
                fault = TOO_HIGH if index > most else TOO_LOW if index < first else NOT_RISING
                return row, pair, left, low, high, fault, k
            values[pair], stop, status = read_number(text, colon + 1)
            if status == BROKEN or not ends_word(text[stop]):
                return row, pair, left, low, high, NO_NUMBER, colon + 1
            if status == UNSURE:
                unsure[left] = (pair, colon + 1, stop)
                left += 1
            elif not abs(values[pair]) <= limit:
                return row, pair, left, low, high, TOO_LARGE, colon + 1
            indices[pair], before = index - first, index
            pair += 1
            k = skip_blanks(text, stop)
        if pair > indptr[row]:
            low, high = min(low, indices[indptr[row]] + first), max(high, before)
        row += 1
        indptr[row] = pair
        k = skip_line(text, k)
    return row, pair, left, low, high, SOUND, k


@njit(**OPTIONS)
def format_lines(labels, queries, indptr, indices, values, first, out):
    """The lines of some rows, indices counted from `first`; how many letters of `out` they fill."""
    k = 0
    for row in range(labels.shape[0]):
        k = write_number(out, k, labels[row])
        if queries is not None:
            out[k] = SPACE
            out[k + 1 : k + 5] = QUERY
            k = write_integer(out, k + 5, queries[row])
        for pair in range(indptr[row], indptr[row + 1]):
            out[k] = SPACE
            k = write_integer(out, k + 1, np.int64(indices[pair]) + first)
            out[k] = COLON
            k = write_number(out, k + 1, values[pair])
        out[k] = NEWLINE
        k += 1
    return k
