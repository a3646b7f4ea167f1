"""The engine of a search: cells that share what they can, each certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..estimators.certified import CertifiedMachine
from ..runtime.interrupt import watch_interrupt
from ..runtime.threads import is_main, run_on_own_thread
from .cells import SearchData, SearchOutcome, SearchSettings
from .chains import Chain, make_chains
from .held_out import last_step
from .plain_cells import PlainSearch, SearchStop, count_workers
from .shared_cells import SharedSearch


def can_tune(estimator: Any) -> bool:
    """Whether the engine takes searches over this estimator: one of ours, or a Pipeline that ends in one."""
    try:
        return isinstance(last_step(estimator), CertifiedMachine)
    except (TypeError, ValueError, IndexError):  # a Pipeline without steps, which scikit-learn refuses in its own words
        return False


def evaluate_cells(
    estimator: Any, candidates: Sequence[Mapping[str, Any]], data: SearchData, settings: SearchSettings
) -> SearchOutcome:
    """The outcome of each candidate on each fold, as far as time and Ctrl-C allowed.

    Cells of kernel machines that share a matrix are solved together; all others have a fit each.
    """
    chains, stop = make_chains(estimator, candidates, len(data.folds)), SearchStop(settings.max_seconds)
    shared = SharedSearch(estimator, candidates, data, settings, chains, lambda: bool(stop))
    workers = count_workers(settings.n_jobs, len(chains))
    with watch_interrupt(flag=stop):
        if workers == 1 and is_main():
            run_on_own_thread(shared.run)  # strips of another thread stay on it
        else:
            shared.run()
    left = [remove(chain, shared.cells) for chain in chains]
    plain = PlainSearch(estimator, candidates, data, settings, [chain for chain in left if chain.candidates], stop)
    found = plain.run()
    counters = {"fits": shared.fits + found.counters["fits"], "kernel_values": shared.kernel_values}
    return replace(found, cells={**shared.cells, **found.cells}, counters=counters)


def remove(chain: Chain, done: Mapping[tuple[int, int], Any]) -> Chain:
    """The chain without cells that are done."""
    return chain._replace(candidates=tuple(each for each in chain.candidates if (each, chain.fold) not in done))
