"""Which held-out labels are proven to be wrong between two values of C, and how many that is at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .anchors import Anchor
from .bounds import ScoreFloor, bound_sag, bound_scores, find_positive_part
from .fold_machine import FoldMachine

TAU_SCALES = (1.5, 0.7, 3.0)  # times 2 r over a typical |phi(x)|; each row takes what serves it best


@dataclass(frozen=True, eq=False)
class Fold:
    """The machines of a fold, and the labels that they are to find.

    Attributes
    ----------
    machines : tuple of FoldMachine
        One for two classes, else one for each class against the rest.
    labels : ndarray of int of shape (m,)
        Of the held-out rows. With one machine 1 is its positive class; -1 is a class that no machine has.
    """

    machines: tuple[FoldMachine, ...]
    labels: np.ndarray

    def predict(self, anchors: Sequence[Anchor]) -> np.ndarray:
        """The label of each held-out row: the class of the largest score, or the sign of the only one."""
        if len(anchors) == 1:
            return (anchors[0].scores > 0).astype(int)
        return np.argmax([anchor.scores for anchor in anchors], axis=0)

    def find_errors(self, anchors: Sequence[Anchor]) -> np.ndarray:
        """Which rows are predicted wrongly."""
        return self.predict(anchors) != self.labels


class ProvenErrors(NamedTuple):
    """Where each held-out label is proven to be wrong: at t in [0, start] and in [stop, 1], C = (1-t) C_0 + t C_1."""

    start: np.ndarray
    stop: np.ndarray

    def take_in(self, rows: np.ndarray, floor: ScoreFloor) -> None:
        """Also where a bound is positive, which has one number for each of these rows."""
        start, stop = find_positive_part(floor)
        start, stop = np.maximum(self.start[rows], start), np.minimum(self.stop[rows], stop)
        self.start[rows], self.stop[rows] = np.where(start >= stop, 1.0, start), np.where(start >= stop, 0.0, stop)


def prove_errors(fold: Fold, first: Sequence[Anchor], second: Sequence[Anchor]) -> ProvenErrors:
    """Where between two anchors of each machine the labels are proven to be wrong."""
    m = len(fold.labels)
    proven = ProvenErrors(np.full(m, -1.0), np.full(m, 2.0))
    guesses = [fold.predict(anchors) for anchors in (first, second)]
    wrong = np.flatnonzero((guesses[0] != fold.labels) | (guesses[1] != fold.labels))  # no others can be proven wrong
    if len(wrong):
        prove = prove_signs if len(fold.machines) == 1 else prove_rivals
        prove(fold, first, second, wrong, guesses, proven)
    unknown = fold.labels < 0
    proven.start[unknown], proven.stop[unknown] = 1.0, 0.0
    return proven


def prove_signs(
    fold: Fold,
    first: Sequence[Anchor],
    second: Sequence[Anchor],
    wrong: np.ndarray,
    guesses: list[np.ndarray],
    proven: ProvenErrors,
) -> None:
    """Two classes: a label is wrong where the score has the other sign."""
    for side, label in ((1.0, 0), (-1.0, 1)):
        rows = wrong[fold.labels[wrong] == label]
        totals = choose_totals(first[0], second[0], rows) if len(rows) else ()
        for total in totals:
            rows = rows[proven.start[rows] < 1.0]
            if not len(rows):
                break
            start, stop, sag = bound_scores(first[0], second[0], side * total)
            proven.take_in(rows, ScoreFloor(start[rows], stop[rows], sag))


def prove_rivals(
    fold: Fold,
    first: Sequence[Anchor],
    second: Sequence[Anchor],
    wrong: np.ndarray,
    guesses: list[np.ndarray],
    proven: ProvenErrors,
) -> None:
    """Many classes: a label is wrong where the score of another class is larger; the two that are guessed are tried."""
    wrong = wrong[fold.labels[wrong] >= 0]
    labels = fold.labels[wrong]
    totals = [choose_totals(low, high, wrong) for low, high in zip(first, second, strict=True)]
    for scale in range(len(TAU_SCALES)):
        above, below = (
            stack_floors(
                [
                    bound_scores(low, high, side * total[scale])
                    for low, high, total in zip(first, second, totals, strict=True)
                ]
            )
            for side in (1.0, -1.0)
        )
        for guess in guesses:
            rivals = guess[wrong]
            fights = rivals != labels
            rows, rival, label = wrong[fights], rivals[fights], labels[fights]
            parts = (above[k][rival, rows] + below[k][label, rows] for k in range(3))
            proven.take_in(rows, ScoreFloor(*parts))


def stack_floors(floors: list[ScoreFloor]) -> list[np.ndarray]:
    """start, stop and sag, each with one row for each machine."""
    shape = (len(floors), len(floors[0].start))
    sags = np.array([floor.sag for floor in floors])[:, None]
    return [
        np.stack([floor.start for floor in floors]),
        np.stack([floor.stop for floor in floors]),
        np.broadcast_to(sags, shape),
    ]


def choose_totals(first: Anchor, second: Anchor, rows: np.ndarray) -> np.ndarray:
    """Some values of tau about the best one, 2 r / |phi(x) - z|.

    r is the radius about the optimum halfway, and z a mean of training rows if the intercept is free, else zero.
    """
    fold = first.fold
    sag = bound_sag(first, second, first.untilted, second.untilted)
    square_radius = 0.5 * (first.square_radius + second.square_radius) + 0.25 * sag
    typical = 2.0 * fold.spread if fold.has_free_intercept else float(np.median(fold.held_out_squares[rows]))
    return np.asarray(TAU_SCALES) * 2.0 * np.sqrt(max(square_radius, 1e-300) / max(typical, 1e-300))


class ErrorFloor(NamedTuple):
    """A lower bound of the cross-validated error: values[k] for C in [edges[k], edges[k+1]].

    Attributes
    ----------
    edges : ndarray of shape (m + 1,)
    values : ndarray of shape (m,)
    """

    edges: np.ndarray
    values: np.ndarray

    @property
    def least(self) -> float:
        """Its least value."""
        return float(self.values.min())

    def find_gap(self, target: float) -> tuple[float, float]:
        """The ends of the range of C in which it is below a target somewhere."""
        below = np.flatnonzero(self.values < target)
        return float(self.edges[below[0]]), float(self.edges[below[-1] + 1])


def bound_error(
    folds: Sequence[Fold], first: Sequence[Sequence[Anchor]], second: Sequence[Sequence[Anchor]]
) -> ErrorFloor:
    """The mean over all folds of the share of labels that are proven to be wrong, between two values of C."""
    starts, stops, shares = [], [], []
    for fold, low, high in zip(folds, first, second, strict=True):
        proven = prove_errors(fold, low, high)
        starts.append(proven.start)
        stops.append(proven.stop)
        shares.append(np.full(len(fold.labels), 1.0 / (len(folds) * len(fold.labels))))
    start, stop, share = np.concatenate(starts), np.concatenate(stops), np.concatenate(shares)
    places = np.unique(np.concatenate([[0.0, 1.0], start, stop]))
    places = places[(places >= 0.0) & (places <= 1.0)]
    wrong = (start >= places[1:, None]) | (stop <= places[:-1, None])
    C_0, C_1 = first[0][0].C, second[0][0].C
    edges = C_0 + places * (C_1 - C_0)
    edges[0], edges[-1] = C_0, C_1
    return ErrorFloor(edges, wrong @ share)


def bound_error_at(folds: Sequence[Fold], anchors: Sequence[Sequence[Anchor]]) -> float:
    """The mean over all folds of the share of labels that are proven to be wrong at one C."""
    shares = []
    for fold, own in zip(folds, anchors, strict=True):
        proven = prove_errors(fold, own, own)
        shares.append(np.mean(proven.start >= 0.0))
    return float(np.mean(shares))
