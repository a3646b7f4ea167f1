"""What a fit will cost: seconds, from fits of small parts of the data, and bytes, from the arrays that it will hold.

T(n) = fixed + slope n^growth, through the times of two fits of parts. `growth` was measured on a dozen sets (see
docs/running.md): seconds of a kernel machine grow as n^1.7 to n^2, those of many small pairs little faster than n, and
those of linear machines a little slower than n, since a part of the rows is solved first where there are many. Where
there are many pairs of classes, those of a few classes are fitted. Where many problems have no time to end, the time
of those that do is multiplied.
"""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..model.features import MAX_FULL_GRAM_SAMPLES
from ..runtime.scikit_learn import clone, drop_callbacks, is_classifier
from ..runtime.threads import CORES, STRIPS
from ..solvers.result import Status

MIN_PILOT_ROWS = 256  # rows of the first part at least
PILOT_SIZE_RATIO = 4  # how many times larger the next part is
LONG_PILOT_SECONDS = 0.15  # seconds of a part after which none larger is tried
MAX_PILOTS_SECONDS = 1.0  # seconds that all parts may take
FIRST_PILOT_SECONDS = 0.25  # seconds that the smallest part may take, which is only there to be compared with
MAX_PILOT_CLASSES = 24  # classes whose pairs stand for those of all
MIN_ENDED_PROBLEMS = 8  # problems that ended, from which the time of others is predicted
KERNEL_GROWTH = 1.7  # of one kernel problem
PAIRS_GROWTH = 1.1  # of many kernel problems of at most 2 MAX_FULL_GRAM_SAMPLES rows
LINEAR_GROWTH = 0.9  # of linear machines
LINEAR_FIT_VECTORS = 14  # arrays of n numbers that a linear fit holds
KERNEL_FIT_VECTORS_PER_CLASS = 6  # arrays of n numbers that a kernel fit holds for each class
FIXED_BYTES = 16 << 20  # bytes of tiles and blocks


class Sample(NamedTuple):
    """The data of all parts: those of a few classes where there are many pairs of them, else all.

    `n_classes` are there in all, and the fit of all is so many `times` the work.
    """

    X: object
    y: object
    weight: object
    n_classes: int = 1
    times: float = 1.0


def keep_few_classes(model, X, y, weight) -> Sample:
    """The rows of MAX_PILOT_CLASSES classes chosen at random, if each pair of classes is a problem of its own."""
    labels = np.asarray(y) if is_classifier(model) else np.empty((0, 0))
    classes = np.unique(labels) if labels.ndim == 1 else ()
    pairs = len(classes) > 1 and model.family == "kernel" and model.multi_class == "ovo"
    pairs = pairs and not isinstance(model.class_weight, dict)
    if not pairs or len(classes) <= MAX_PILOT_CLASSES:  # a dictionary may name classes that would not be there
        return Sample(X, y, weight, max(len(classes), 1))
    kept = np.random.default_rng(0).permutation(len(classes))[:MAX_PILOT_CLASSES]
    rows = np.flatnonzero(np.isin(labels, classes[kept]))
    part = take(X, rows, model.is_kernel_matrix)
    times = len(classes) * (len(classes) - 1) / (MAX_PILOT_CLASSES * (MAX_PILOT_CLASSES - 1))
    return Sample(part, take(y, rows), None if weight is None else np.asarray(weight)[rows], len(classes), times)


class Pilot(NamedTuple):
    """A fit of some of the rows: how many, its seconds, whether it came to its end, and what was fitted."""

    rows: int
    seconds: float
    ended: bool
    model: object


def run_pilots(model, X, y, weight) -> list[Pilot]:
    """Fits of parts of the data, each PILOT_SIZE_RATIO times larger than the last, until one takes long; the last two.

    A part may lack what the whole has. If the whole cannot be fitted either, that is what `fit` would say.
    """
    began = time.perf_counter()
    sizes = [count_rows(X)]
    while sizes[0] // PILOT_SIZE_RATIO >= MIN_PILOT_ROWS:
        sizes.insert(0, sizes[0] // PILOT_SIZE_RATIO)
    pilots: list[Pilot] = []
    for k, size in enumerate([sizes[0], *sizes]):  # the first one twice: what it compiles or loads is not its time
        left = max(MAX_PILOTS_SECONDS - (time.perf_counter() - began), LONG_PILOT_SECONDS)
        try:
            pilot = fit_part(
                model, X, y, weight, size, min(left, FIRST_PILOT_SECONDS) if k < 2 and len(sizes) > 1 else left
            )
            pilots = [*pilots[-1:], pilot][-2 if k > 1 else -1 :]
        except Exception:
            if size == sizes[-1]:
                raise
        if len(pilots) > 1 and (pilots[-1].seconds > LONG_PILOT_SECONDS or not pilots[-1].ended):
            break
    return pilots


def fit_part(model, X, y, weight, size: int, limit: float) -> Pilot:
    """A fit of so many rows, sampled at random, of every class in proportion, for so many seconds at most.

    Where that is too little for all of many problems, the whole part takes as many times longer as they are more than
    those that ended.
    """
    part = clone(model).set_params(verbose=0, max_seconds=limit, **dict.fromkeys(model.local_parameters))
    drop_callbacks(part)
    rows = draw_rows(y if is_classifier(model) else None, count_rows(X), size)
    given = (take(X, rows, model.is_kernel_matrix), None if y is None else take(y, rows))
    weight = None if weight is None else np.asarray(weight)[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        part.fit(*given, sample_weight=weight)
    seconds = time.perf_counter() - began
    ended, problems = sum(result.status is not Status.MAX_SECONDS for result in part.results_), len(part.results_)
    known = ended >= min(problems, MIN_ENDED_PROBLEMS)
    return Pilot(size, seconds * problems / ended if known else seconds, known, part)


def draw_rows(labels, n: int, size: int) -> np.ndarray:
    """Rows sampled at random; of every label in proportion, and two at least."""
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
    growth = choose_growth(last.model, n)
    first, second = (float(pilot.rows) ** growth for pilot in pilots)
    slope = max(last.seconds - pilots[0].seconds, 0.2 * last.seconds) / (second - first)
    fixed = max(last.seconds - slope * second, 0.0)
    return fixed + slope * float(n) ** growth, not last.ended


def choose_growth(fitted, n: int) -> float:
    """The power of n with which seconds grow."""
    if fitted.family == "linear":
        return LINEAR_GROWTH
    problems = len(fitted.results_)
    largest = max(np.size(result.point.a) for result in fitted.results_) / fitted.shape_fit_[0] * n
    return PAIRS_GROWTH if problems > 1 and largest <= 2 * MAX_FULL_GRAM_SAMPLES else KERNEL_GROWTH


def predict_bytes(fitted, X, n: int, n_classes: int) -> int:
    """The most that a fit of n rows holds beside X, about; `fitted` is one of a part of them."""
    if fitted.family == "linear":
        return predict_linear_bytes(fitted, X, n)
    problems, rows = len(fitted.results_), fitted.shape_fit_[0]
    largest = min(n, int(np.ceil(max(len(index) for index, _ in fitted._points) / rows * n)))
    workers = min(CORES, problems, STRIPS)
    cache = int(fitted.cache_size * 2**20)
    held = min(cache, 8 * largest**2)
    copies = 2 * count_bytes(X) if problems > 1 else int(count_bytes(X) * len(fitted.support_) / rows)
    duals = 8 * KERNEL_FIT_VECTORS_PER_CLASS * n_classes * n  # a row has one against every other class
    return FIXED_BYTES + workers * (held if problems == 1 else min(held, cache // workers)) + duals + copies


def predict_linear_bytes(fitted, X, n: int) -> int:
    """Vectors of n numbers, matrices of the features, and copies of half the rows."""
    wide = fitted.coef_.shape[-1]
    joint = max(np.size(result.point.a) // max(result.point.a.shape[-1], 1) for result in fitted.results_)
    matrices = 0 if wide > 2500 else 8 * 8 * (wide + 1) ** 2
    return FIXED_BYTES + 8 * LINEAR_FIT_VECTORS * n * joint + matrices + count_bytes(X) // 2


def count_bytes(X) -> int:
    """The bytes of the data as a fit holds them."""
    if sp.issparse(X):
        return sum(part.nbytes for part in (X.data, X.indices, X.indptr))
    return X.nbytes if isinstance(X, np.ndarray) else 0
