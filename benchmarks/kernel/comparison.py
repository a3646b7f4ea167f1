"""One problem fitted by every peer at its own tolerance, and by us to a gap no worse than each of theirs."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, field

from sklearn.exceptions import ConvergenceWarning

import maxmargin

from ..measuring.clock import read_limit, time_best
from ..peers import Peer, Skip, guard, pilot, transcribe
from .cases import Case, make_case
from .floor import list_blocks, measure_floor

BAD = 1e-2  # a gap above this is no solution to race with
REPLACED = 1e-3  # what we are asked for where theirs is bad
TIGHTEST = 1e-9
PILOT_ROWS = 2000
SLOWER = 1.5  # a form of the data that takes so much longer on the pilot rows is not timed on all
PREDICTED = 5000  # rows


@dataclass
class Fit:
    """One fit that was timed and judged."""

    seconds: float
    gap: float
    support: int
    predict_seconds: float
    form: str
    counters: dict[str, int] = field(default_factory=dict)
    needed: int = 0  # kernel rows that no solver can do without: the support vectors of every binary problem


@dataclass
class Entry:
    """A peer on a problem: its fit, ours at the same gap or a better one, or the reason why there is none."""

    peer: str
    theirs: Fit | None = None
    ours: Fit | None = None
    tol: float | None = None
    other_forms: dict[str, float] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def bad(self) -> bool:
        """Whether their gap is too large for the times to mean anything."""
        return self.theirs is not None and not self.theirs.gap <= BAD

    @property
    def ratio(self) -> float | None:
        """Their seconds of a fit over ours."""
        return self.theirs.seconds / self.ours.seconds if self.theirs and self.ours else None

    @property
    def predict_ratio(self) -> float | None:
        """Their seconds of a prediction over ours."""
        return self.theirs.predict_seconds / self.ours.predict_seconds if self.theirs and self.ours else None


@dataclass
class Comparison:
    """Everything found on one problem."""

    name: str
    kind: str
    n: int
    d: int
    entries: dict[str, Entry]
    default: Fit
    floor: float

    def record(self) -> dict:
        """Plain data."""
        return asdict(self)


def compare(case: Case, peers: list[Peer]) -> Comparison:
    """Fit, judge and predict with everybody."""
    entries = {peer.name: run_peer(peer, case) for peer in peers}
    fits: dict[float, Fit] = {}
    for entry in entries.values():
        if entry.theirs is not None:
            entry.tol = choose_tolerance(entry.theirs.gap)
            if entry.tol not in fits:
                fits[entry.tol], _ = fit_ours(case, entry.tol)
            entry.ours = fits[entry.tol]
    default, model = fit_ours(case, None)
    floor = measure_floor(model, case)
    return Comparison(case.name, case.kind, case.n, case.X.shape[1], entries, default, floor)


def choose_tolerance(gap: float) -> float:
    """Two digits of their gap, rounded down, so that we do not stop earlier."""
    if not gap <= BAD:
        return REPLACED
    gap = max(gap, TIGHTEST)
    unit = 10.0 ** (math.floor(math.log10(gap)) - 1)
    return float(f"{max(math.floor(gap / unit) * unit, TIGHTEST):.1e}")


def run_peer(peer: Peer, case: Case) -> Entry:
    """The best fit of a peer over the forms of the data worth a try."""
    entry = Entry(peer.name)
    try:
        forms = pick_forms(peer, case)
        with guard(peer, case, trial=False):  # the pilot was the trial
            fits = [fit_peer(peer, case, form) for form in forms]
    except Skip as reason:
        entry.skipped = str(reason)
        return entry
    entry.theirs = min(fits, key=lambda fit: fit.seconds)
    entry.other_forms = {fit.form: fit.seconds for fit in fits if fit is not entry.theirs}
    return entry


def pick_forms(peer: Peer, case: Case) -> list[str]:
    """The forms to time, by a fit on some of the rows; a peer that could not end in time is skipped."""
    forms = peer.choose_forms(case)
    if case.n < 3 * PILOT_ROWS and len(forms) == 1 and not peer.risky:
        return list(forms)
    seconds = pilot(peer, case, PILOT_ROWS)
    least, growth = min(seconds.values()), (case.n / min(case.n, PILOT_ROWS)) ** 2
    if least * growth > read_limit():
        raise Skip(
            f"would take about {least * growth:.0f} s, judged by {PILOT_ROWS:,} rows; the limit is {read_limit():.0f} s"
        )
    return [form for form in forms if seconds[form] <= SLOWER * least]


def fit_peer(peer: Peer, case: Case, form: str) -> Fit:
    """One peer timed on one form of the data, judged on the data in float64."""
    X, y = case.give(form, peer.dtype), peer.give_targets(case)
    seconds, model = time_best(lambda: peer.fit(case, X, y))
    gap = maxmargin.certify(transcribe(model, case), case.X, case.y).relative_gap
    new = case.give(form, peer.dtype, PREDICTED)
    return Fit(seconds, gap, len(model.support_), time_best(lambda: model.predict(new))[0], form)


def make_ours(case: Case, tol: float | None, **parameters):
    """Our model of a case; None for the default tolerance."""
    given = {} if tol is None else {"tol": tol}
    return getattr(maxmargin, case.kind)(**case.parameters, **given, **parameters)


def fit_ours(case: Case, tol: float | None) -> tuple[Fit, object]:
    """Ours timed on the data as their owner would have them, and the fitted model."""
    seconds, model = time_best(lambda: make_ours(case, tol).fit(case.X, case.y))
    gap = maxmargin.certify(model, case.X, case.y).relative_gap
    new = case.X[:PREDICTED]
    predict_seconds = time_best(lambda: model.predict(new))[0]
    needed = sum(len(rows) for rows, _ in list_blocks(model, case))
    return Fit(seconds, gap, len(model.support_), predict_seconds, case.form, count_work(model), needed), model


def count_work(model) -> dict[str, int]:
    """Kernel rows evaluated, hits and misses of the cache, over all binary problems."""
    return {
        key: sum(int(result.counters.get(key, 0)) for result in model.results_) for key in ("rows", "hits", "misses")
    }


def warm_up(peers: list[Peer]) -> None:
    """A small fit by every library, so that none is timed while it loads or compiles code."""
    for name in ("clouds", "words", "friedman1", "five classes"):
        case = make_case(name, 200)
        for large in (case, make_case(name, 6000)):
            for tol in (1e-3, 1e-8):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    make_ours(large, tol, max_iter=500).fit(large.X, large.y).predict(large.X)
        for peer in peers:
            X = case.give(peer.choose_forms(case)[0], peer.dtype)
            peer.fit(case, X, peer.give_targets(case)).predict(X)
