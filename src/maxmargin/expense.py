"""What a fit will cost: seconds, from fits of small parts of the data, and bytes, from the arrays that it will hold.

T(n) = fixed + slope n^growth, through the times of two fits of parts. `growth` was measured on a dozen sets (see
docs/running.md): seconds of a kernel machine grow as n^1.7 to n^2, those of many small pairs little faster than n, and
those of linear machines a little slower, since a part of the rows is solved first where there are many.
"""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from .features import FULL
from .threads import CORES, STRIPS

SMALLEST, STEP = 256, 4  # rows of the first part at least, and how much larger the next one is
LONG, MOST = 0.15, 5.0  # seconds of a part after which none larger is tried; seconds that a part may take
KERNEL, PAIRS, LINEAR = 1.7, 1.1, 0.9  # growth: one kernel problem, many of at most 2 FULL rows, linear machines
VECTORS = 14  # arrays of n numbers that a linear fit holds
FIXED = 16 << 20  # bytes of tiles and blocks


class Pilot(NamedTuple):
    """A fit of some of the rows: how many, its seconds, whether it came to its end, and what was fitted."""

    rows: int
    seconds: float
    ended: bool
    model: object


def run_pilots(model, X, y, weight) -> list[Pilot]:
    """Fits of parts of the data, each STEP times as large as the one before, until one takes long; the last two."""
    sizes = [count_rows(X)]
    while sizes[0] // STEP >= SMALLEST:
        sizes.insert(0, sizes[0] // STEP)
    pilots: list[Pilot] = []
    for k, size in enumerate([sizes[0], *sizes]):  # the first one twice: what it compiles or loads is not its time
        try:
            pilots = [*pilots[-1:], fit_part(model, X, y, weight, size)][-2 if k > 1 else -1 :]
        except ValueError:  # a part may lack what the whole has
            if size == sizes[-1]:
                raise
        if len(pilots) > 1 and (pilots[-1].seconds > LONG or not pilots[-1].ended):
            break
    return pilots


def fit_part(model, X, y, weight, size: int) -> Pilot:
    """A fit of so many rows, drawn by lot, of every class in proportion."""
    part = clone(model).set_params(verbose=0, max_seconds=MOST)
    vars(part).pop("_skl_callbacks", None)
    if hasattr(part, "checkpoint"):
        part.set_params(checkpoint=None)
    rows = draw_rows(y if is_classifier(model) else None, count_rows(X), size)
    given = (take(X, rows, getattr(model, "kernel", None) == "precomputed"), None if y is None else take(y, rows))
    weight = None if weight is None else np.asarray(weight)[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        part.fit(*given, sample_weight=weight)
    seconds = time.perf_counter() - began
    return Pilot(size, seconds, part.result_.status.value != "max_seconds", part)


def draw_rows(labels, n: int, size: int) -> np.ndarray:
    """Rows drawn by lot; of every label in proportion, and two at least."""
    rng = np.random.default_rng(0)
    if size >= n:
        return np.arange(n)
    if labels is None:
        return np.sort(rng.choice(n, size, replace=False))
    _, kinds = np.unique(np.asarray(labels), return_inverse=True)
    order = rng.permutation(n)
    order = order[np.argsort(kinds[order], kind="stable")]
    starts = np.searchsorted(kinds[order], np.arange(kinds.max() + 2))
    counts = np.diff(starts)
    wanted = np.minimum(counts, np.maximum(2, np.round(counts * size / n).astype(int)))
    return np.sort(np.concatenate([order[s : s + k] for s, k in zip(starts[:-1], wanted, strict=True)]))


def take(values, rows: np.ndarray, square: bool = False):
    """Some rows of an array, a sparse matrix, a data frame or a list; of a Gram matrix the same columns."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if not hasattr(values, "shape"):
        return [values[i] for i in rows]
    part = sp.csr_array(values)[rows] if sp.issparse(values) else values[rows]
    return part[:, rows] if square else part


def count_rows(X) -> int:
    """The number of samples."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def predict_seconds(pilots: list[Pilot], n: int) -> tuple[float, bool]:
    """T(n) by the last two fits of parts, and whether it is only a lower bound since the last one did not end."""
    last = pilots[-1]
    if last.rows >= n or len(pilots) == 1:
        return last.seconds, not last.ended
    growth = grow(last.model, n)
    first, second = (float(pilot.rows) ** growth for pilot in pilots)
    slope = max(last.seconds - pilots[0].seconds, 0.2 * last.seconds) / (second - first)
    fixed = max(last.seconds - slope * second, 0.0)
    return fixed + slope * float(n) ** growth, not last.ended


def grow(fitted, n: int) -> float:
    """The power of n with which seconds grow."""
    if not hasattr(fitted, "kernel"):
        return LINEAR
    problems = len(fitted.results_)
    largest = max(np.size(result.point.a) for result in fitted.results_) / fitted.shape_fit_[0] * n
    return PAIRS if problems > 1 and largest <= 2 * FULL else KERNEL


def predict_bytes(fitted, X, n: int) -> int:
    """The most that a fit of n rows holds beside X, about; `fitted` is one of a part of them."""
    rows = fitted.shape_fit_[0] if hasattr(fitted, "shape_fit_") else 1
    if not hasattr(fitted, "kernel"):
        return predict_linear_bytes(fitted, X, n)
    problems = len(fitted.results_)
    largest = min(n, int(np.ceil(max(len(index) for index, _ in fitted._points) / rows * n)))
    workers = min(CORES, problems, STRIPS)
    cache = int(fitted.cache_size * 2**20)
    held = 8 * largest**2 if largest <= FULL else min(cache, 8 * largest**2)
    copies = 2 * weigh(X) if problems > 1 else int(weigh(X) * len(fitted.support_) / rows)
    return FIXED + workers * (held if problems == 1 else min(held, cache // workers)) + 8 * problems * n + copies


def predict_linear_bytes(fitted, X, n: int) -> int:
    """Vectors of n numbers, matrices of the features, and copies of half the rows."""
    wide = getattr(fitted, "coef_", np.zeros(1)).shape[-1]
    joint = max(np.size(result.point.a) // max(result.point.a.shape[-1], 1) for result in fitted.results_)
    matrices = 0 if wide > 2500 else 8 * 8 * (wide + 1) ** 2
    return FIXED + 8 * VECTORS * n * joint + matrices + weigh(X) // 2


def weigh(X) -> int:
    """The bytes of the data as a fit holds them."""
    if sp.issparse(X):
        return sum(part.nbytes for part in (X.data, X.indices, X.indptr))
    return int(getattr(X, "nbytes", 0)) if hasattr(X, "shape") else 0
