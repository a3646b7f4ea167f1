"""Cells one by one: an ordinary fit each, warm along C where that is faster, on threads.

This is how machines are tuned that share no kernel matrix: linear ones, those of rankings and metrics, sparse data, and
kernels of the user's.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from numbers import Real
from traceback import format_exc
from typing import Any

from ..estimators.certified import CertifiedMachine
from ..estimators.machine import KernelMachine
from ..estimators.small_designs import is_small_design
from ..runtime.deadline import Clock
from ..runtime.frames import to_matrix
from ..runtime.interrupt import Interrupt, obey_interrupt, watch_interrupt
from ..runtime.scikit_learn import effective_n_jobs
from ..runtime.scikit_learn_search import clone, config_context, get_config, list_metrics, score_estimator
from ..runtime.threads import CORES, is_main, wait_for_workers
from ..solvers.smo.together import MAX_SAMPLES_PER_PROBLEM
from .cells import CellOutcome, SearchData, SearchOutcome, SearchSettings
from .chains import Chain, name_last_step
from .fold_data import FoldCache, FoldData
from .held_out import HeldOutMachine, last_step
from .predictions import find_decision_function

LENT_PARAMETERS = ("warm_start", "cache_size")  # that a chain sets as it likes; scorers see what the user gave


class SearchStop(Interrupt):
    """Up when Ctrl-C was pressed, the time is over, or a cell has failed for good."""

    def __init__(self, max_seconds: float | None):
        super().__init__()
        self.clock, self.failed = Clock(max_seconds), False

    def __bool__(self) -> bool:
        return super().__bool__() or self.failed or self.clock.is_late


def count_workers(n_jobs: int | None, chains: int) -> int:
    """Threads: n_jobs, or all cores; one within a thread of the caller's."""
    wanted = effective_n_jobs(n_jobs) if n_jobs is not None else CORES if is_main() else 1
    return max(1, min(wanted, chains))


class PlainSearch:
    """The chains of a search, and what is known of their cells."""

    def __init__(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        data: SearchData,
        settings: SearchSettings,
        chains: Sequence[Chain],
        stop: SearchStop,
    ):
        self.estimator, self.candidates, self.settings = estimator, candidates, settings
        self.chains, self.stop = chains, stop
        self.cost = name_last_step(estimator) + "C"
        self.folds = FoldCache(data, self.chains)
        self.cells: dict[tuple[int, int], CellOutcome] = {}
        self.lock, self.config = threading.Lock(), get_config()
        self.workers = count_workers(settings.n_jobs, len(chains))

    def run(self) -> SearchOutcome:
        """All chains, as far as time and Ctrl-C allow."""
        left = deque(self.chains)
        with watch_interrupt(flag=self.stop):
            if self.workers == 1:
                self.drain(left)
            else:
                self.drain_on_threads(left)
        complete = len(self.cells) == sum(len(chain.candidates) for chain in self.chains)
        interrupted = self.stop.raised or bool(self.stop.outer)
        late = not complete and not interrupted
        return SearchOutcome(self.cells, interrupted, late, {"fits": len(self.cells)})

    def drain_on_threads(self, left: deque[Chain]) -> None:
        """The same on several threads, each with one core; the first error ends them all."""
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="maxmargin-cell")
        try:
            wait_for_workers([pool.submit(self.drain, left) for _ in range(self.workers)])
        finally:
            self.stop.failed = True  # nothing more is wanted, whatever ended it
            pool.shutdown(wait=False, cancel_futures=True)

    def drain(self, left: deque[Chain]) -> None:
        """Chains that no other thread has taken, until none is left or all are to stop."""
        with config_context(**self.config), obey_interrupt(self.stop):
            while left and not self.stop:
                try:
                    chain = left.popleft()  # one step of the interpreter: no two threads get the same chain
                except IndexError:
                    return
                try:
                    self.follow(chain)
                except KeyboardInterrupt:
                    if not self.stop:
                        raise
                except BaseException:
                    self.stop.failed = True
                    raise
                finally:
                    self.folds.close(chain)

    def follow(self, chain: Chain) -> None:
        """The cells of a chain, each fit from the one before where that helps."""
        walk: ChainWalk | None = None
        for number in chain.candidates:
            if self.stop:
                return
            if walk is None or walk.failed:
                walk = ChainWalk(self, chain)
            outcome = walk.evaluate(number)
            with self.lock:
                self.cells[number, chain.fold] = outcome
                if self.settings.on_cell is not None:
                    self.settings.on_cell(outcome)


class ChainWalk:
    """One estimator that takes the values of C one after the other."""

    def __init__(self, search: PlainSearch, chain: Chain):
        self.search, self.chain, self.settings = search, chain, search.settings
        self.estimator: Any = None  # with the parameters of the candidate; its last step is what is fitted
        self.machine: Any = None  # that step; the whole estimator where its steps are not fitted apart
        self.asked: dict[str, Any] = {}  # what the user says of parameters that differ during the fit
        self.prepared: FoldData | None = None
        self.failed = False

    def evaluate(self, number: int) -> CellOutcome:
        """Fit and score one candidate."""
        began = time.perf_counter()
        try:
            self.set_parameters(number)
            prepared = self.open_fold()
            targets = () if prepared.y_train is None else (prepared.y_train,)
            self.machine.fit(prepared.inner_train, *targets, **prepared.fit_params)
        except Exception:
            self.failed = True
            if self.settings.error_score == "raise":
                raise
            return self.describe_failure(number, time.perf_counter() - began)
        fitted = time.perf_counter()
        machine = self.make_scored(prepared)
        test = self.score(machine, prepared.X_test, prepared.y_test, prepared.score_test)
        scored = time.perf_counter()
        train = None
        if self.settings.return_train_score:
            train = self.score(machine, prepared.X_train, prepared.y_train, prepared.score_train)
        shared = prepared.seconds / len(self.chain.candidates) if prepared.steps else 0.0
        return CellOutcome(
            number, self.chain.fold, test, train, fitted - began + shared, scored - fitted, self.read_certificate()
        )

    def set_parameters(self, number: int) -> None:
        """Those of the candidate, on a clone; after the first fit only C differs."""
        candidate, cost = self.search.candidates[number], self.search.cost
        if self.estimator is None:
            self.estimator = clone(self.search.estimator).set_params(**clone(dict(candidate), safe=False))
            return
        if cost in candidate:
            self.estimator.set_params(**{cost: candidate[cost]})
        assert self.prepared is not None
        if isinstance(self.machine, CertifiedMachine) and "warm_start" in vars(self.machine):
            gains = gains_by_warm_start(self.machine, self.prepared.inner_train)
            self.machine.warm_start = self.asked["warm_start"] or gains

    def open_fold(self) -> FoldData:
        """The rows, and the machine that is fitted to them."""
        if self.prepared is None:
            self.prepared = self.search.folds.open(self.chain, self.estimator)
            self.machine = self.estimator.steps[-1][1] if self.prepared.steps else self.estimator
            self.asked = {name: value for name, value in vars(self.machine).items() if name in LENT_PARAMETERS}
            self.share_cache()
        return self.prepared

    def share_cache(self) -> None:
        """cache_size is for the search: fits that run side by side have a share of it each."""
        size = self.asked.get("cache_size")
        if isinstance(self.machine, KernelMachine) and isinstance(size, Real) and float(size) > 0:
            self.machine.cache_size = float(size) / self.search.workers

    def make_scored(self, prepared: FoldData) -> Any:
        """What scorers see: a snapshot of the machine, or a stand-in that knows what it predicts."""
        machine = copy(self.machine)
        vars(machine).update(self.asked)
        whole, decide = machine, find_decision_function(machine)
        if prepared.steps:
            whole = copy(self.estimator)
            whole.steps = [*prepared.steps, (self.estimator.steps[-1][0], machine)]
        if decide is None:
            return whole
        stand_in = HeldOutMachine(whole, lambda: whole, vars(machine).get("classes_"))
        stand_in.learn(prepared.X_test, lambda: decide(prepared.inner_test))
        if self.settings.return_train_score:
            stand_in.learn(prepared.X_train, lambda: decide(prepared.inner_train))
        return stand_in

    def score(self, machine: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """What the scorer says."""
        return score_estimator(machine, X, y, self.settings.scorer, params, self.settings.error_score)

    def read_certificate(self) -> Any:
        """The worst of the binary problems, without what it holds of every row."""
        machine = last_step(self.machine)
        fitted = isinstance(machine, CertifiedMachine) and machine.has_results
        return replace(machine.certificate_, scores=None, parts=()) if fitted else None

    def describe_failure(self, number: int, seconds: float) -> CellOutcome:
        """The outcome of a fit that failed; to be called while its exception is handled."""
        metrics, error_score = list_metrics(self.settings.scorer), self.settings.error_score
        scores = error_score if metrics is None else dict.fromkeys(metrics, error_score)
        train = copy(scores) if self.settings.return_train_score else None
        return CellOutcome(number, self.chain.fold, scores, train, seconds, 0.0, error=format_exc())


def gains_by_warm_start(machine: CertifiedMachine, X: Any) -> bool:
    """Whether a fit from the last point is faster: small problems are solved together in less time, from nothing."""
    if machine.family == "linear":
        return not is_small_design(to_matrix(X))
    points = machine._points if machine.has_results else []
    return any(index is not None and len(index) > MAX_SAMPLES_PER_PROBLEM for index, _ in points)
