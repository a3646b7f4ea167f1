"""Checks of a loss that comes as an object: solvers and judge believe its formulas, so these are tried out first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..contracts.losses import Loss, SmoothTerms, Terms
from ..model.losses import PiecewiseConjugate

TRIAL_TARGETS = {"label": (1.0, -1.0), "real": (0.5, -1.0), "count": (2.0, 1.0)}  # of losses of one score per sample
TRIAL_WEIGHTS, TRIAL_SCORES = (1.0, 2.5), (-2.0, -0.75, 0.25, 1.5, 3.0)
RELATIVE_ERROR = 1e-6  # of what the formulas say, beyond which they contradict each other


class Trial(NamedTuple):
    """Targets y, weights c and scores f at which a loss is tried out: each target and its weight with all scores."""

    y: np.ndarray
    c: np.ndarray
    f: np.ndarray


def check_loss(loss: Loss, estimator: str, targets: tuple[str, ...]) -> None:
    """Refuse a loss for other targets than the estimator has, and one whose formulas contradict each other.

    c l(f) + conj(a) = -a f at the response a to f, by Fenchel and Young; a conjugate for which that does not hold would
    make D, and with it the certificate, wrong.
    """
    target = read_attributes(loss)
    if target not in targets:
        raise ValueError(
            f"loss must be for targets of the kind {' or '.join(map(repr, targets))} in {estimator}, "
            f"and {loss!r} is for {target!r}."
        )
    if target == "vector":
        return
    trial = make_trial(target)
    with explain_failure(loss):
        unweighted = loss.terms(trial.y, np.ones_like(trial.c))
    check_kind(loss, unweighted)
    with explain_failure(loss), np.errstate(all="ignore"):
        contradiction = find_contradiction(trial, loss.terms(trial.y, trial.c), unweighted)
    if contradiction:
        raise ValueError(f"loss={loss!r} contradicts itself: {contradiction}.")


@contextmanager
def explain_failure(loss: Loss) -> Iterator[None]:
    """Whatever a formula of the user's runs into, it ends in one sentence, with what it was behind it."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"loss={loss!r} failed its check, with {type(error).__name__}: {error}") from error


def read_attributes(loss: Loss) -> str:
    """The target of a loss that has the name and the target which the contract requires."""
    try:
        name, target = loss.name, loss.target
    except AttributeError as error:
        raise ValueError(f"loss={loss!r} lacks what maxmargin.contracts.Loss requires: {error}.") from None
    if not isinstance(name, str):
        raise ValueError(f"loss={loss!r} must have a string as its name, got {name!r}.")
    return target


def make_trial(target: str) -> Trial:
    """Two targets of different weights, at several scores."""
    times = len(TRIAL_SCORES)
    y, c = (np.repeat(each, times) for each in (TRIAL_TARGETS[target], TRIAL_WEIGHTS))
    return Trial(y, c, np.tile(TRIAL_SCORES, 2))


def check_kind(loss: Loss, terms: Terms) -> None:
    """Refuse terms that are neither five numbers nor smooth functions of one score per sample."""
    if isinstance(terms, PiecewiseConjugate):
        if not (np.all(terms.d >= 0) and np.all(terms.e >= 0) and np.all(terms.lo <= 0) and np.all(terms.hi >= 0)):
            raise ValueError(f"loss={loss!r} must have d >= 0, e >= 0 and lo <= 0 <= hi in its row.")
        return
    if isinstance(terms, Terms) and terms.joint:
        raise ValueError(f"loss={loss!r} does not split over samples; MetricSVC and RankSVM are for such losses.")
    if not isinstance(terms, SmoothTerms):
        raise ValueError(
            f"loss={loss!r} must have as its terms a row of make_piecewise or SmoothTerms, got {type(terms).__name__}."
        )
    if loss.kinked:
        raise ValueError(
            f"loss={loss!r} has SmoothTerms, so its curvature must be sup l'', a number, or grows_exponentially be "
            "True; got curvature=inf."
        )


def find_contradiction(trial: Trial, terms: Terms, unweighted: Terms) -> str:
    """What the formulas of a loss contradict each other in; "" if they agree."""
    y, c, f = trial
    value, (a, upper) = terms.value(f), terms.response(f)
    if np.shape(value) != f.shape or np.shape(a) != f.shape or np.shape(upper) != f.shape:
        return f"for {len(f)} samples, value has the shape {np.shape(value)} and response {np.shape(a)}"
    if not np.isfinite(value).all():
        place = int(np.argmin(np.isfinite(value)))
        return f"a loss is finite, and value is {value[place]} at y={y[place]:g} and f={f[place]:g}"
    if (place := find_first(value - c * unweighted.value(f), value)) is not None:
        return f"terms of weight c={c[place]:g} are not c times those of weight 1, at y={y[place]:g} and f={f[place]:g}"
    steps = f[1:] > f[:-1]
    if (place := find_first(np.where(steps, np.maximum(a[1:] - upper[:-1], 0.0), 0.0), c[1:])) is not None:
        return f"it is not convex between f={f[place]:g} and f={f[place + 1]:g}, at y={y[place]:g}"
    conjugate = terms.conjugate(a)
    if (place := find_first(value + conjugate + a * f, np.abs(value) + np.abs(conjugate) + np.abs(a * f))) is not None:
        return (
            f"value + conjugate(a) = -a f does not hold at y={y[place]:g}, f={f[place]:g} "
            f"and its response a={a[place]:g}"
        )
    return ""


def find_first(difference: np.ndarray, size: np.ndarray) -> int | None:
    """The first place where a difference that should vanish does not, beside numbers of this size."""
    wrong = ~(np.abs(difference) <= RELATIVE_ERROR * (np.abs(size) + 1e-3))
    return int(np.argmax(wrong)) if wrong.any() else None
