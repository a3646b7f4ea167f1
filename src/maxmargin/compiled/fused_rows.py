"""All that a Newton step asks of the rows of few features, in one pass over them: scores, duals, sums and the matrix.

    f = X w + constant b,   a_i = -c_i l'(f_i),   pulled = Z'a,   M = Z' diag(c_i l''(f_i)) Z,   Z = (X, constant)

Some rows at a time are read once and stay in the first caches; nothing of the size of n is written but the duals.
"""

import numpy as np

from .compiler import njit
from .small_newton import respond
from .small_systems import OPTIONS, PACKED_ROWS, U, add_tile, combine_rows, fill, project_rows

CHUNK_ROWS = 256  # that are read from memory once for all sums
LOSSES, CONJUGATES, CURVED = range(3)  # the sums over the rows


@njit(**OPTIONS)
def pack_row(X, i, constant, weight, first, plain, scaled):
    """z_i and weight z_i at their place among the packed rows."""
    d = X.shape[1]
    for j in range(U(d)):
        plain[first + j] = X[i, j]
    for j in range(U(d)):
        scaled[first + j] = weight * X[i, j]
    plain[first + U(d)] = constant
    scaled[first + U(d)] = weight * constant


@njit(**OPTIONS)
def add_packed(size, width, plain, scaled, total):
    """total += the products of all columns of the packed rows, its lower half."""
    for i in range(0, size, 4):
        for j in range(0, i + 4, 8):
            add_tile(plain, scaled, width, U(i), U(j), total)


@njit(**OPTIONS)
def pass_rows(kind, X, constant, u, p, d, e, lo, hi, formed, a, sums, pulled, M):
    """The duals of all rows at u, their three sums, Z'a and, where it is to be `formed`, the matrix M.

    For the formulas of `smooth_rows` p holds y, and d holds c, as in `small_newton.respond`.
    """
    n, size = X.shape[0], X.shape[1] + 1
    width = U(-(-size // 8) * 8)
    f, curvature = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    plain, scaled = np.zeros(PACKED_ROWS * width), np.zeros(PACKED_ROWS * width)
    total = np.zeros(U(-(-size // 4) * 4) * width)
    packed = 0
    fill(sums, 0.0)
    fill(pulled, 0.0)
    for start in range(0, n, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, n)
        count = stop - start
        project_rows(X[start:stop], u, constant, f[:count])
        losses, conjugates = respond(
            kind, f[:count], p[start:stop], d[start:stop], e[start:stop], lo[start:stop], hi[start:stop],
            a[start:stop], curvature[:count],
        )  # fmt: skip
        sums[LOSSES] += losses
        sums[CONJUGATES] += conjugates
        combine_rows(X[start:stop], constant, a[start:stop], pulled)
        if not formed:
            continue
        for i in range(count):
            if curvature[i] != 0.0:
                pack_row(X, start + i, constant, curvature[i], U(packed) * width, plain, scaled)
                packed += 1
                sums[CURVED] += 1.0
                if packed == PACKED_ROWS:
                    add_packed(size, width, plain, scaled, total)
                    packed = 0
    if packed:
        for k in range(U(packed) * width, U(PACKED_ROWS) * width):
            scaled[k] = 0.0
        add_packed(size, width, plain, scaled, total)
    if formed:
        for i in range(size):
            for j in range(i + 1):
                M[i, j] = total[U(i) * width + U(j)]
