"""Data as LIBSVM text: `label [qid:query] index:value index:value ...  # comment`, one line per sample."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..blocks.libsvm_text import CsrBuilder, gather, make_rule, parse_chunks, split_text
from ..contracts.files import Data, DataRequest
from ..model.sparse_format import check_sparse
from ..runtime.prefetch import fetch_ahead
from ..runtime.streams import estimate_length, find_file, open_file, write_file
from ..runtime.threads import run_strips

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..contracts.inputs import MatrixLike, VectorLike
VALUES_PER_STRIP = 1 << 15  # values that a thread writes at a time
STRIPS_PER_BATCH = 16  # strips that are in memory together
MAX_EXACT_INTEGER = 1 << 53  # integers up to here are floats


class LibsvmData(NamedTuple):
    """Samples as CSR, labels or targets, and query numbers if they were asked for."""

    X: sp.csr_array
    y: np.ndarray
    query: np.ndarray | None


def read_libsvm(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    query: bool | str = False,
    dtype: DTypeLike = np.float64,
) -> LibsvmData:
    """Read lines of `label [qid:query] index:value index:value ...  # comment`.

    Blank lines and comments are skipped. Indices must increase within a line. Numbers are decimal, and are rounded to
    the nearest float64, ties to even, as Python's `float` does, and for float32 once more; numbers that are not finite
    raise an error. An error in the file is a ValueError with the line and the column. The text is never whole in
    memory, and is parsed on all cores.

    Parameters
    ----------
    path : path
        Plain, or compressed with .gz, .bz2 or .xz. A pipe is read too.
    n_features : int, optional
        By default the largest index found.
    zero_based : bool or "auto"
        "auto" means that indices begin at 0 if there is a 0, and at 1 otherwise.
    query : bool or "auto"
        Whether to return the numbers after qid:, which every line then has; "auto" returns them if there are any.
    dtype : float64 or float32
        The type of X.

    Returns
    -------
    LibsvmData
        (X, y, query): a CSR array of shape (n, d), indices of 32 bits where they fit; y of shape (n,) in float64; int64
        of shape (n,), or None.

    See Also
    --------
    write_libsvm : Writes such a file.
    open_blocks : A file larger than memory.

    References
    ----------
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import read_libsvm, write_libsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.svm")
    ...     write_libsvm(path, [[0.0, 0.5], [2.0, 0.0]], [1, -1])
    ...     data = read_libsvm(path)
    >>> data.X.toarray().tolist(), data.y.tolist()
    ([[0.0, 0.5], [2.0, 0.0]], [1.0, -1.0])
    """
    return read_with_first_index(path, n_features, zero_based, query, dtype)[0]


def read_text(path: Path, request: DataRequest) -> Data:
    """The data of a file, its queries if it has any; weights are in a file of their own."""
    from .columns import read_weights

    for name, column in (("target", request.target), ("query", request.query)):
        if column is not None:
            raise ValueError(f"{name} is for tables, and {path.name!r} is read as LIBSVM text; it got {column!r}.")
    n_features = request.n_features if request.features is None else len(request.features)
    found, first = read_with_first_index(path, n_features, request.zero_based, "auto", request.dtype)
    weight = None if request.weight is None else read_weights(request.weight, len(found.y))
    return Data(found.X, found.y, weight, found.query, None, first)


def read_with_first_index(
    path: str | os.PathLike[str], n_features: int | None, zero_based: bool | str, query: bool | str, dtype: DTypeLike
) -> tuple[LibsvmData, int]:
    """The data, and the index that the first feature has in the file, 0 or 1."""
    if not any(query is each for each in (True, False)) and query != "auto":
        raise ValueError(f"query must be True, False or 'auto', got {query!r}.")
    rule = make_rule(n_features, zero_based, dtype)._replace(queries=True)
    path = find_file(path)
    with open_file(path) as file, closing(fetch_ahead(split_text(file, path))) as chunks:
        rows = gather(parse_chunks(chunks, rule, path), rule, estimate_length(path), queries=query is not False)
    first = int(rows.low > 0) if zero_based == "auto" else rule.first
    X = build_matrix(rows, n_features, first, first - rule.first, path)
    return LibsvmData(X, rows.labels.finish(), choose_queries(rows, query, path)), first


def build_matrix(rows: CsrBuilder, n_features: int | None, first: int, shift: int, path: Path) -> sp.csr_array:
    """The rows as a matrix, with indices that are written from `first` on, and are by so much too large."""
    highest = rows.high - first
    if n_features is not None and highest >= n_features:
        raise ValueError(f"{path}: index {rows.high} is not among {n_features} features that begin at {first}.")
    X = rows.build(max(highest + 1, 0) if n_features is None else int(n_features))
    if shift:
        X.indices -= X.indices.dtype.type(shift)
    return X


def choose_queries(rows: CsrBuilder, query: bool | str, path: Path) -> np.ndarray | None:
    """The query of every row, or None; rows with and rows without one do not go together."""
    if query is False:
        return None
    queries = rows.queries.finish()
    absent = np.flatnonzero(queries < 0)
    if query == "auto" and len(absent) == len(queries):
        return None
    if len(absent):
        raise ValueError(f"{path}, row {absent[0] + 1}: qid: was expected after the label, and there is none.")
    return queries


# ---- writing --------------------------------------------------------------------------------------------------------


def write_libsvm(
    path: str | os.PathLike[str] | BinaryIO,
    X: MatrixLike,
    y: VectorLike,
    *,
    query: VectorLike | None = None,
    zero_based: bool = False,
) -> None:
    """Write lines of `label [qid:query] index:value index:value ...`.

    Each number is the shortest text that reads as the same float64, so what is read back is what was written. Zeros of
    dense data are left out; of sparse data every stored entry is written. The file is written whole or not at all.

    Parameters
    ----------
    path : path, or a binary file that is open
        Compressed if it ends in .gz, .bz2 or .xz.
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels or targets, numbers.
    query : array of shape (n,), optional
        Whole numbers, none negative.
    zero_based : bool
        Whether indices begin at 0 and not at 1.

    See Also
    --------
    read_libsvm : Reads such a file.

    References
    ----------
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import read_libsvm, write_libsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.svm")
    ...     write_libsvm(path, [[0.0, 0.5], [2.0, 0.0]], [1, -1])
    ...     with open(path) as file:
    ...         lines = file.read().splitlines()
    >>> lines
    ['1 2:0.5', '-1 1:2']
    """
    X = check_matrix(X)
    n = X.shape[0]
    y = check_numbers(y, "y", n)
    query = None if query is None else check_queries(query, n)
    if not any(zero_based is each for each in (True, False)):
        raise ValueError(f"zero_based must be True or False, got {zero_based!r}.")
    with write_file(path) as file:
        for text in format_rows(X, y, query, int(not zero_based)):
            file.write(text)


def format_rows(X: Any, y: np.ndarray, query: np.ndarray | None, first: int) -> Iterator[bytes | memoryview]:
    """The lines of all rows, strip by strip, formatted on all cores."""
    n = X.shape[0]
    step = max(1, VALUES_PER_STRIP * n // max(X.nnz if sp.issparse(X) else X.size, 1))
    for start in range(0, n, STRIPS_PER_BATCH * step):
        starts = range(start, min(start + STRIPS_PER_BATCH * step, n), step)
        texts: list[bytes | memoryview] = [b""] * len(starts)

        def format_some(low: int, high: int, starts: range = starts, texts: list[Any] = texts) -> None:
            for k in range(low, high):
                part = slice(starts[k], min(starts[k] + step, n))
                texts[k] = format_strip(X[part], y[part], None if query is None else query[part], first)

        run_strips(format_some, len(starts), 1)
        yield from texts


def format_strip(X: Any, y: np.ndarray, query: np.ndarray | None, first: int) -> memoryview:
    """The lines of some rows."""
    from ..compiled.libsvm_text import MAX_FIELD_CHARACTERS, format_lines

    if sp.issparse(X):
        indptr, indices, values = X.indptr, X.indices, X.data
    else:
        rows, indices = np.nonzero(X)
        indptr, values = np.searchsorted(rows, np.arange(len(X) + 1)), X[rows, indices]
    out = np.empty(MAX_FIELD_CHARACTERS * (len(y) + len(values)), np.uint8)
    arrays = (np.ascontiguousarray(each, np.int64) for each in (indptr, indices))
    length = format_lines(y, query, *arrays, np.ascontiguousarray(values, np.float64), first, out)
    return out[:length].data


def check_matrix(X: Any) -> Any:
    """X as rows of finite numbers that float64 holds, columns in order."""
    check_sparse(X)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind == "O":
        X = values = check_type(values, "X")
    place = find_unrepresentable(check_type(values, "X"))
    if place is not None:
        row, column = place if len(place) == 2 else (np.searchsorted(X.indptr, place[0], "right") - 1, X.indices[place])
        raise ValueError(f"X must hold finite numbers of float64, but X[{row}, {column}] is {values[place]}.")
    return X


def check_numbers(values: Any, name: str, n: int) -> np.ndarray:
    """One finite number for each of n samples, in float64."""
    values = check_type(np.asarray(values), name)
    if values.shape != (n,):
        raise ValueError(f"{name} must have one value for each of the {n} samples, got shape {values.shape}.")
    place = find_unrepresentable(values)
    if place is not None:
        raise ValueError(f"{name} must hold finite numbers of float64, but {name}[{place[0]}] is {values[place]}.")
    return values.astype(np.float64)


def check_type(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers as they are, and objects that are numbers as float64."""
    if values.dtype.kind == "O":
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers, got objects: {error}.") from None
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got values of type {values.dtype}.")
    return values


def find_unrepresentable(values: np.ndarray) -> tuple[int, ...] | None:
    """The place of a number that is not finite, or an integer that no float64 is; None if there is none."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        wrong = (
            (values > MAX_EXACT_INTEGER) | (values < -MAX_EXACT_INTEGER)
            if values.dtype.kind == "i"
            else values > MAX_EXACT_INTEGER
        )
    elif values.dtype.kind == "f":
        wrong = ~np.isfinite(values)
    else:
        return None
    return tuple(np.argwhere(wrong)[0].tolist()) if wrong.any() else None


def check_queries(query: Any, n: int) -> np.ndarray:
    """Whole numbers, none negative, in int64."""
    numbers = check_numbers(query, "query", n)
    wrong = np.flatnonzero((numbers < 0) | (numbers != np.floor(numbers)))
    if len(wrong):
        raise ValueError(
            f"query must hold whole numbers of at least 0, but query[{wrong[0]}] is {numbers[wrong[0]]:g}."
        )
    return numbers.astype(np.int64)
