"""What the solves of one fit have found: lists of results and certificates are made when they are first read."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..certificates.certificate import Certificate, stand_for_all
from ..runtime.interpreter import cached_property
from ..solvers.result import Result, Status

FINISHED = (Status.CONVERGED, Status.STOPPED)


class Solves:
    """The results of all problems of a fit, the worst of them, and the points from which a warm fit starts.

    A fit of 45 pairs of 40 samples takes as long as the objects that describe 45 results. Most fits are asked for
    predictions only, so what is given may be a sequence that makes a result when it is asked for it.

    Parameters
    ----------
    given : sequence of Result
    places : sequence of (ndarray or None)
        For each problem, the rows it is over; None where rows have no numbers.
    finished : bool or None
        Whether all of them ended as they should; None if that is to be looked up.
    """

    def __init__(self, given: Sequence[Result], places: Sequence[np.ndarray | None], finished: bool | None = None):
        self.given, self.places, self.finished = given, places, finished

    def __getstate__(self) -> dict[str, Any]:
        """What was given; lists are made again."""
        return {"given": self.given, "places": self.places, "finished": self.finished}

    @cached_property
    def results(self) -> list[Result]:
        """One for each problem."""
        return list(self.given)

    @cached_property
    def certificates(self) -> list[Certificate]:
        """One for each problem."""
        return [result.certificate for result in self.results]

    @cached_property
    def result(self) -> Result:
        """The result with the largest gap."""
        return find_worst(self.results)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate with the largest gap, with those of several problems as its parts."""
        worst = self.result.certificate
        return worst if len(self.results) == 1 else stand_for_all(worst, self.certificates)

    @cached_property
    def points(self) -> list[tuple[np.ndarray | None, Any]]:
        """The rows and the point of each problem."""
        return [(index, result.point) for index, result in zip(self.places, self.results, strict=True)]

    @property
    def failed(self) -> list[Result]:
        """The results that did not end as they should."""
        return [] if self.finished else [result for result in self.results if result.status not in FINISHED]


class FoundBySolves:
    """An attribute of a fitted estimator that its `Solves` have; what lies on the object itself comes first.

    So a machine that was read from a file may have a certificate and no results.
    """

    def __init__(self, part: str):
        self.part = part

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        solves = vars(estimator).get("_solves")
        if solves is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self.name!r}")
        return getattr(solves, self.part)


def find_worst(results: list[Result]) -> Result:
    """The result with the largest gap; those that had no time to begin share theirs, and are looked at once."""
    distinct = {id(result): result for result in results}.values()
    return max(distinct, key=attrgetter("certificate.relative_gap"))
