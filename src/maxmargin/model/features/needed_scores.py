"""Scores of a kernel matrix, each as close as it has to be known, with proven bounds on their errors.

Those of the samples with a coefficient make up |w|^2 and are evaluated in float64, every kernel value once for both of
its samples. Of all others a look in float32 is often enough: a sample beyond its margin by more than the error adds
nothing to P or to D.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...runtime.rounding import Enclosed
from ..rough_scores import open_rough_scores
from ..tiles import count_own_terms, evaluate_own_scores, evaluate_scores

if TYPE_CHECKING:
    from .gram import Gram

MIN_KERNEL_VALUES = 1 << 22  # of a certificate, below which one pass in float64 is over in no time
PROBE_SAMPLES = 512  # that are looked at first
MIN_SETTLED_SHARE = 0.5  # of them, without which no others are looked at in float32

Settles = Callable[[np.ndarray, Enclosed], np.ndarray]


def enclose_where_needed(gram: Gram, coef: np.ndarray, settles: Settles) -> tuple[Enclosed, np.ndarray] | None:
    """f = K coef with bounds, and the samples whose scores are in float32; None where it is not worth the while."""
    support = np.flatnonzero(coef)
    if not len(support) or len(support) * gram.n < MIN_KERNEL_VALUES:
        return None
    with gram.pace.measure(gram.n * len(support)):
        part, kept = gram.samples.take(support), coef[support]
        others = np.flatnonzero(coef == 0)
        rough, roughly = find_settled(gram, part, kept, others, settles)
        terms = max(gram.count_terms(len(support)), count_own_terms(part))
        value, error = np.empty(gram.n), gram.bound_errors(coef, terms)
        value[support] = evaluate_own_scores(gram.kernel, part, kept)
        closely = np.setdiff1d(others, rough, assume_unique=True)
        if len(closely):
            value[closely] = evaluate_scores(gram.kernel, gram.samples.take(closely), part, kept)
        value[rough], error[rough] = roughly
    return gram.add_offset(kept, value, error), rough


def find_settled(gram: Gram, part, kept: np.ndarray, others: np.ndarray, settles: Settles) -> tuple:
    """Those of the samples that a look in float32 settles, and their scores with bounds."""
    nothing = np.empty(0, np.int64), Enclosed(np.empty(0), np.empty(0))
    rough = open_rough_scores(gram.kernel, gram.samples, part, kept) if len(others) else None
    if rough is None:
        return nothing
    probe = others[:: max(1, len(others) // PROBE_SAMPLES)]
    if np.mean(settles(probe, gram.add_offset(kept, *rough.enclose(probe)))) < MIN_SETTLED_SHARE:
        return nothing
    found = rough.enclose(others)
    settled = settles(others, gram.add_offset(kept, *found))
    return others[settled], Enclosed(found.value[settled], found.error[settled])
