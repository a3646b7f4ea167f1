"""The rows of a fold as a machine sees them: cut from the data, and through the steps before the last of a Pipeline."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..runtime.scikit_learn_search import Pipeline, cut_params, is_routing_enabled, take_rows
from .cells import SearchData
from .chains import Chain


@dataclass
class FoldData:
    """What the chains of a fold share.

    Attributes
    ----------
    X_train, y_train, X_test, y_test
        Rows as the user gave them.
    inner_train, inner_test
        The same after the steps before the last; the same objects where there are none.
    steps : list of (str, transformer)
        Those steps, fitted; none where the estimator is fitted as a whole.
    fit_params, score_test, score_train : dict
        Metadata of fit (of the last step, where the others are fitted already) and of the scorer.
    seconds : float
        That it took.
    """

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    inner_train: Any
    inner_test: Any
    steps: list[tuple[str, Any]]
    fit_params: dict[str, Any]
    score_test: dict[str, Any]
    score_train: dict[str, Any]
    seconds: float = 0.0


def prepare_fold(estimator: Any, data: SearchData, number: int) -> FoldData:
    """Cut the rows of a fold, and fit the steps before the last one where an estimator of its own has them."""
    began, fold = time.perf_counter(), data.folds[number]
    X_train, y_train = take_rows(estimator, data.X, data.y, fold.train)
    X_test, y_test = take_rows(estimator, data.X, data.y, fold.test, fold.train)
    fit_params = cut_params(data.X, data.fit_params, fold.train)
    prepared = FoldData(
        X_train, y_train, X_test, y_test, X_train, X_test, [], fit_params,
        cut_params(data.X, data.score_params, fold.test), cut_params(data.X, data.score_params, fold.train),
    )  # fmt: skip
    if has_shared_steps(estimator, fit_params):
        transform(prepared, estimator)
    prepared.seconds = time.perf_counter() - began
    return prepared


def has_shared_steps(estimator: Any, fit_params: dict[str, Any]) -> bool:
    """Whether the steps before the last can be fitted on their own: not where metadata are routed through them."""
    return type(estimator) is Pipeline and len(estimator.steps) > 1 and not (is_routing_enabled() and fit_params)


def transform(prepared: FoldData, estimator: Any) -> None:
    """The rows through all steps but the last, fitted to the training rows."""
    last = estimator.steps[-1][0] + "__"
    before = {name: value for name, value in prepared.fit_params.items() if not name.startswith(last)}
    prepared.fit_params = {
        name.removeprefix(last): value for name, value in prepared.fit_params.items() if name.startswith(last)
    }
    first_steps = estimator[:-1]
    prepared.inner_train = first_steps.fit_transform(prepared.X_train, prepared.y_train, **before)
    prepared.inner_test = first_steps.transform(prepared.X_test)
    prepared.steps = list(first_steps.steps)


@dataclass
class Slot:
    """A preparation that several chains wait for; the first of them makes it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    prepared: FoldData | None = None


class FoldCache:
    """The preparations of all folds, each made once, and dropped with the last chain that needs it.

    Rows that are only cut are not held: that would be as many copies of the data as there are folds.
    """

    def __init__(self, data: SearchData, chains: Iterable[Chain]):
        self.data, self.lock = data, threading.Lock()
        self.uses = Counter((chain.fold, chain.preparation) for chain in chains)
        self.slots = {key: Slot() for key in self.uses}

    def open(self, chain: Chain, estimator: Any) -> FoldData:
        """What the chain needs; the seconds it took are shared by all chains that need it."""
        key = chain.fold, chain.preparation
        slot, uses = self.slots[key], self.uses[key]
        with slot.lock:
            if slot.prepared is not None:
                return slot.prepared
            prepared = prepare_fold(estimator, self.data, chain.fold)
            if prepared.steps:
                prepared.seconds /= uses
                slot.prepared = prepared
            return prepared

    def close(self, chain: Chain) -> None:
        """The chain is done."""
        key = chain.fold, chain.preparation
        with self.lock:
            self.uses[key] -= 1
            if not self.uses[key]:
                del self.slots[key]
