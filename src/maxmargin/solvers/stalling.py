"""When a run stands still: so many looks at it in a row, and nothing has moved."""

from __future__ import annotations

FALL_FACTOR = 0.9  # times the least gap so far: a gap below that has fallen


class StallDetector:
    """A run stands still after `limit` looks in a row without progress.

    Progress is by default a fall of the gap: |P - D| < fall_factor |P - D| at the last progress. The size counts, since
    P < D is a rounding error, and one that grows is no progress. A run that measures its progress in another way tells
    `count` whether there was any.

    Parameters
    ----------
    limit : int
        Looks without progress after which the run stands still.
    fall_factor : float, default=0.9
        The gap must fall below this multiple of the gap at the last progress.
    """

    def __init__(self, limit: int, fall_factor: float = FALL_FACTOR):
        self.limit = self.left = limit
        self.fall_factor, self.best = fall_factor, float("inf")

    def is_stalled(self, gap: float, looks: int = 1) -> bool:
        """Look at the gap; whether the run stands still. One look may count as several."""
        fallen = abs(gap) < self.fall_factor * self.best
        if fallen:
            self.best = abs(gap)
        return self.count(fallen, looks) or gap != gap

    def count(self, progressed: bool, looks: int = 1) -> bool:
        """Look at a run that measures its progress itself; whether it stands still."""
        self.left = self.limit if progressed else self.left - looks
        return self.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether no look is left."""
        return self.left <= 0

    def exhaust(self) -> None:
        """Leave no look: nothing can move any more."""
        self.left = 0


class RareLookStallDetector(StallDetector):
    """For runs whose looks become rare as their iterations become many: limits the iterations too.

    Parameters
    ----------
    limit : int
        Looks without progress after which the run stands still.
    iteration_factor, extra_iterations : float, int
        It does so, too, after more than iteration_factor k + extra_iterations iterations, where the last progress was
        seen in iteration k.
    """

    def __init__(self, limit: int, iteration_factor: float, extra_iterations: int):
        super().__init__(limit)
        self.iteration_factor, self.extra_iterations = iteration_factor, extra_iterations
        self.last_progress_iter = 0

    def is_stalled_at(self, n_iter: int, gap: float) -> bool:
        """Look at the gap in an iteration; whether the run stands still."""
        best, stalled = self.best, self.is_stalled(gap)
        if self.best < best:
            self.last_progress_iter = n_iter
        return stalled or n_iter > self.iteration_factor * self.last_progress_iter + self.extra_iterations
