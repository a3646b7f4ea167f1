"""What `verbose` shows of a search: one live line, and from 2 on a line for each cell.

GridSearchCV: 45 of 80 cells, 3.2 s, about 2 s left, best 0.9721 at C=10, gamma=0.01
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..insight.progress import REFRESH_SECONDS, open_screen, say_duration
from .cells import CellOutcome


class SearchLine:
    """The live line of a search, to be used as a context.

    Parameters
    ----------
    title : str
        What the line begins with.
    candidates : sequence of dict
    n_folds : int
    metric : str
        Of several scores the one by which candidates are compared.
    max_seconds : float, optional
    quiet : bool
        True for a line that is not shown.
    """

    def __init__(
        self,
        title: str,
        candidates: Sequence[Mapping[str, Any]],
        n_folds: int,
        metric: Any = "score",
        max_seconds: float | None = None,
        quiet: bool = False,
    ):
        self.title, self.metric, self.max_seconds = title, metric, max_seconds
        self.candidates, self.n_folds = candidates, n_folds
        self.done = self.restored = 0
        self.scores: dict[int, list[float]] = defaultdict(list)
        self.best: tuple[float, int] | None = None
        self.began, self.shown = time.perf_counter(), -np.inf
        self.screen = None if quiet else open_screen(sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self.screen is not None:
            self.screen.close(self.describe())
            self.screen = None

    def count(self, outcome: CellOutcome) -> None:
        """A cell that was known before."""
        self.restored += 1
        self.note(outcome)

    def show(self, outcome: CellOutcome) -> None:
        """A cell that was solved."""
        self.note(outcome)
        if self.screen is not None and time.perf_counter() - self.shown >= REFRESH_SECONDS:
            self.shown = time.perf_counter()
            self.screen.write(self.describe())

    def note(self, outcome: CellOutcome) -> None:
        """Count it; a candidate that is complete may be the best so far."""
        self.done += 1
        scores = self.scores[outcome.candidate]
        scores.append(pick_score(outcome.test_scores, self.metric))
        if len(scores) == self.n_folds:
            mean = float(np.mean(scores))
            if self.best is None or mean > self.best[0]:
                self.best = mean, outcome.candidate

    def describe(self) -> str:
        """The line."""
        total, seconds = len(self.candidates) * self.n_folds, time.perf_counter() - self.began
        parts = [f"{self.done} of {total} cells", f"{seconds:.1f} s"]
        solved = self.done - self.restored
        if solved and self.done < total:
            left = seconds / solved * (total - self.done)
            if self.max_seconds is not None:
                left = min(left, max(self.max_seconds - seconds, 0.0))
            parts.append(f"about {say_duration(left)} left")
        if self.best is not None:
            score, number = self.best
            parts.append(f"best {score:.4g} at {describe_candidate(self.candidates[number])}")
        return f"{self.title}: " + ", ".join(parts)


class SearchReport(SearchLine):
    """What a search over an estimator shows, as its `verbose` says."""

    def __init__(self, search: Any, candidates: Sequence[Mapping[str, Any]], n_folds: int, metric: Any):
        title, self.verbose = type(search).__name__, search.verbose
        super().__init__(title, candidates, n_folds, metric, search.max_seconds, quiet=not search.verbose)

    def __enter__(self) -> Self:
        if self.verbose > 0:
            total = len(self.candidates) * self.n_folds
            print(f"Fitting {self.n_folds} folds for each of {len(self.candidates)} candidates, totalling {total} fits")
        return self

    def show(self, outcome: CellOutcome) -> None:
        """A cell that was solved."""
        if self.verbose > 1:
            print(self.describe_cell(outcome))
        super().show(outcome)

    def describe_cell(self, outcome: CellOutcome) -> str:
        """As scikit-learn says it: parameters, scores from verbose=3 on, and the time."""
        place = f" {outcome.fold + 1}/{self.n_folds}" if self.verbose > 2 else ""
        if self.verbose > 9:
            place += f"; {outcome.candidate + 1}/{len(self.candidates)}"
        text = describe_candidate(self.candidates[outcome.candidate])
        if self.verbose > 2:
            text += f"; {describe_scores(outcome)}"
        text += f" total time={outcome.fit_seconds + outcome.score_seconds:6.1f}s"
        head = f"[CV{place}] END "
        return head + "." * max(80 - len(head) - len(text), 0) + text


def pick_score(scores: Any, metric: Any) -> float:
    """The score by which candidates are compared."""
    if isinstance(scores, dict):
        scores = scores[metric] if isinstance(metric, str) and metric in scores else next(iter(scores.values()))
    return float(scores)


def describe_candidate(candidate: Mapping[str, Any]) -> str:
    """C=10, gamma=0.01."""
    return ", ".join(f"{name}={candidate[name]}" for name in sorted(candidate))


def describe_scores(outcome: CellOutcome) -> str:
    """score=0.971, or accuracy: (train=1.000, test=0.971) for several metrics."""
    test, train = outcome.test_scores, outcome.train_scores
    if isinstance(test, dict):
        texts = [
            f"{name}: ({'' if train is None else f'train={train[name]:.3f}, '}test={test[name]:.3f})"
            for name in sorted(test)
        ]
        return " ".join(texts)
    return f"score={test:.3f}" if train is None else f"score=(train={train:.3f}, test={test:.3f})"
