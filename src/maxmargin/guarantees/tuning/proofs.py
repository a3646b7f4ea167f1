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


class Stretch(NamedTuple):
    """A fold between two values of C: the anchors of its machines at both ends."""

    fold: Fold
    first: Sequence[Anchor]
    second: Sequence[Anchor]

    def prove_errors(self) -> ProvenErrors:
        """Where the labels are proven to be wrong; only those that are at one of the ends can be."""
        labels, guesses = self.fold.labels, [self.fold.predict(anchors) for anchors in (self.first, self.second)]
        proven = ProvenErrors(np.full(len(labels), -1.0), np.full(len(labels), 2.0))
        unknown = labels < 0
        proven.start[unknown], proven.stop[unknown] = 1.0, 0.0
        wrong = np.flatnonzero(~unknown & ((guesses[0] != labels) | (guesses[1] != labels)))
        if len(wrong) and len(self.first) == 1:
            self.prove_signs(wrong, proven)
        elif len(wrong):
            for guess in guesses:
                self.prove_rivals(wrong, guess[wrong], proven)
        return proven

    def prove_signs(self, wrong: np.ndarray, proven: ProvenErrors) -> None:
        """Two classes: a label is wrong where the score has the other sign."""
        first, second = self.first[0], self.second[0]
        for side, label in ((1.0, 0), (-1.0, 1)):
            rows = wrong[self.fold.labels[wrong] == label]
            totals = choose_totals(first, second, rows) if len(rows) else ()
            for total in totals:
                rows = rows[proven.start[rows] < 1.0]
                if not len(rows):
                    break
                start, stop, sag = bound_scores(first, second, side * total)
                proven.take_in(rows, ScoreFloor(start[rows], stop[rows], sag))

    def prove_rivals(self, wrong: np.ndarray, rivals: np.ndarray, proven: ProvenErrors) -> None:
        """Many classes: a label is wrong where the score of a rival is larger."""
        totals = [choose_totals(low, high, wrong) for low, high in zip(self.first, self.second, strict=True)]
        labels = self.fold.labels[wrong]
        for scale in range(len(TAU_SCALES)):
            fights = (rivals != labels) & (proven.start[wrong] < 1.0)
            rows, rival, label = wrong[fights], rivals[fights], labels[fights]
            if not len(rows):
                break
            above = self.stack_floors(np.unique(rival), 1.0, totals, scale)
            below = self.stack_floors(np.unique(label), -1.0, totals, scale)
            start, stop, sag = (above[k][rival, rows] + below[k][label, rows] for k in range(3))
            proven.take_in(rows, ScoreFloor(start, stop, sag))

    def stack_floors(self, classes: np.ndarray, side: float, totals: list[np.ndarray], scale: int) -> np.ndarray:
        """start, stop and sag of some machines and all held-out rows, of shape (3, machines, rows); zero for others."""
        stacked = np.zeros((3, len(self.first), len(self.fold.labels)))
        for k in classes:
            floor = bound_scores(self.first[k], self.second[k], side * totals[k][scale])
            stacked[:, k] = np.broadcast_arrays(*floor)
        return stacked


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
        proven = Stretch(fold, low, high).prove_errors()
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
        shares.append(np.mean(Stretch(fold, own, own).prove_errors().start >= 0.0))
    return float(np.mean(shares))
