"""What a pickle keeps of the solves of a fit: status, certificate, history and counters, and no duals.

Duals and scores have the size of the training data, and predictions need neither. What is kept are plain values where
that can be, not objects of inner classes: a later version may rename those, and skops asks its users to trust every
class that a file names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..certificates.certificate import Certificate
from ..solvers.result import Progress, Result, Status


def pack_results(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The results without their points; one that stands in several places stays one."""
    packed: dict[int, dict[str, Any]] = {}
    held = list(results)  # a sequence may make a result when it is asked for it: none may go while its id counts
    for result in held:
        if id(result) not in packed:
            packed[id(result)] = pack_result(result)
    return [packed[id(result)] for result in held]


def pack_result(result: Result) -> dict[str, Any]:
    """A result field by field, in values of Python's."""
    return {
        "status": result.status.value, "certificate": drop_scores(result.certificate), "solver": result.solver,
        "n_iter": result.n_iter, "seconds": result.seconds, "message": result.message,
        "history": [tuple(line) for line in result.history], "counters": dict(result.counters),
    }  # fmt: skip


def drop_scores(certificate: Certificate) -> Certificate:
    """The numbers of a certificate and of its parts, without the scores of the samples."""
    parts = tuple(drop_scores(part) for part in certificate.parts)
    return replace(certificate, scores=None, rough=None, errors=None, parts=parts)


def unpack_results(packed: list[dict[str, Any]]) -> list[Result]:
    """Results without points, of what `pack_results` made."""
    made: dict[int, Result] = {}
    for kept in packed:
        if id(kept) not in made:
            made[id(kept)] = unpack_result(kept)
    return [made[id(kept)] for kept in packed]


def unpack_result(kept: dict[str, Any]) -> Result:
    """A result of its fields."""
    return Result(
        Status(kept["status"]), None, kept["certificate"], kept["solver"], kept["n_iter"], kept["seconds"],
        kept["message"], [Progress(*line) for line in kept["history"]], Counter(kept["counters"]),
    )  # fmt: skip
