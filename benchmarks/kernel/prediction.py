"""Predictions beside every peer: 5,000 rows, 5,000 support vectors, dense.

Labels and targets are random and the kernel is narrow, so that every training sample becomes a support vector in
every library.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..measuring.clock import RUNS, time_once
from ..measuring.footprint import OURS
from ..measuring.report import Report, Table
from ..peers import Peer, Skip, find_peers, guard
from .cases import Case, pose
from .comparison import make_ours, warm_up
from .large_fits import average

ROWS = 5000
SHAPES = (("SVC", 2, 10), ("SVC", 2, 50), ("SVC", 2, 500), ("SVC", 10, 50), ("SVR", 0, 50))  # kind, classes, features
PURPOSE = (
    f"Seconds of predict, the best of {2 * RUNS} alternating runs in one warm process. A ratio is the peer's seconds "
    "over ours."
)


def make_random_targets(kind: str, classes: int, d: int, n: int) -> Case:
    """Samples of a Gaussian with targets that have nothing to do with them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    y = random.integers(0, classes or 2, n)
    name = f"{kind}, {classes} classes, d = {d}" if classes else f"{kind}, d = {d}"
    return pose(name, kind, X, y, C=1.0, gamma=10.0 / d)


def measure(case: Case, peers: list[Peer], new: np.ndarray) -> dict:
    """One row of the table: everybody fitted, then everybody predicting in turns."""
    models, inputs = {OURS: make_ours(case, 1e-3).fit(case.X, case.y)}, {OURS: new}
    skipped = {}
    for peer in peers:
        form = peer.choose_forms(case)[0]
        try:
            with guard(peer, case):
                models[peer.name] = peer.fit(case, case.give(form, peer.dtype), peer.give_targets(case))
                inputs[peer.name] = replace(case, X=new).give(form, peer.dtype)
        except Skip as reason:
            skipped[peer.name] = str(reason)
    best = time_turns(models, inputs)
    row = {"model": case.name, "rows": len(new), "SVs": len(models[OURS].support_), f"{OURS}, s": best.pop(OURS)}
    for name, seconds in best.items():
        row |= {f"{name}, s": seconds, f"{name} ratio": seconds / row[f"{OURS}, s"]}
    support = {name: len(model.support_) for name, model in models.items()}
    return row | {"support vectors": support, "skipped": skipped}


def time_turns(models: dict, inputs: dict) -> dict[str, float]:
    """The best seconds of each, in turns so that a disturbance meets all of them alike."""
    seconds = {name: [] for name in models}
    for _ in range(2 * RUNS):
        for name, model in models.items():
            seconds[name].append(time_once(lambda name=name, model=model: model.predict(inputs[name]))[0])
    return {name: min(record) for name, record in seconds.items()}


def run(*, brief: bool) -> Report:
    """Time every shape."""
    report = Report("prediction", PURPOSE, [], [])
    peers, reasons = find_peers()
    warm_up(peers)
    n = 500 if brief else ROWS
    rows = []
    for kind, classes, d in SHAPES[:1] if brief else SHAPES:
        new = np.random.default_rng(1).normal(size=(n, d))
        rows.append(measure(make_random_targets(kind, classes, d, n), peers, new))
        print(f"prediction: {rows[-1]['model']}", flush=True)
    columns = {"model": "{}", "rows": "{:,}", "SVs": "{:,}", f"{OURS}, s": "{:.4f}"}
    for peer in peers:
        columns |= {f"{peer.name}, s": "{:.4f}", f"{peer.name} ratio": "{:.1f}"}
    report.tables = [Table("Prediction", columns, rows)]
    for peer in peers:
        ratios = {row["model"]: row[f"{peer.name} ratio"] for row in rows if f"{peer.name} ratio" in row}
        if not ratios:
            continue
        least = min(ratios, key=ratios.get)
        report.findings.append(
            f"{peer.name}: geometric mean of the ratios {average(ratios.values()):.1f}, "
            f"least {ratios[least]:.1f} ({least})."
        )
    report.findings += [
        f"{name} was skipped on {row['model']}: {why}." for row in rows for name, why in row["skipped"].items()
    ]
    report.findings += [f"{name} was skipped: {reason}." for name, reason in reasons.items()]
    return report
