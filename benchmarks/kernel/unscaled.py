"""Unscaled data: how far from optimal every library stops where kernel values need all their digits.

svmguide1 as it comes has features in the hundreds. With gamma = 2 the exponent of the kernel is the small difference
of numbers near a million, more than float32 can hold.
"""

from __future__ import annotations

import numpy as np

import maxmargin

from ..measuring.clock import time_best
from ..measuring.data import make_clouds, read_file
from ..measuring.report import Report, Table
from ..peers import Peer, Skip, find_peers, guard, transcribe
from .cases import Case, pose
from .comparison import BAD, fit_ours, warm_up

PURPOSE = "SVC(C=100, gamma=2) on features that were not scaled; relative gaps certified in float64."
COLUMNS = {"library": "{}", "fit, s": "{:.3g}", "gap": "{:.1e}", "accuracy": "{:.2%}", "SVs": "{:,}"}
TOLERANCES = (1e-3, None)


def read_unscaled(brief: bool) -> Case:
    """svmguide1, or generated data with features from one to several hundreds."""
    found = None if brief else read_file("svmguide1/svmguide1")
    if found is not None:
        return pose("svmguide1", "SVC", *found, C=100.0, gamma=2.0)
    X, y = make_clouds(500 if brief else 3000)
    X = X[:, :4] * np.array([1.0, 10.0, 0.1, 100.0]) + np.array([10.0, 100.0, 0.0, 300.0])
    return pose("clouds, unscaled", "SVC", X, y, C=100.0, gamma=2.0)


def measure_peer(peer: Peer, case: Case) -> dict:
    """A row of a peer at its default tolerance."""
    form = peer.choose_forms(case)[0]
    X = case.give(form, peer.dtype)
    with guard(peer, case):
        seconds, model = time_best(lambda: peer.fit(case, X, peer.give_targets(case)))
    return {
        "library": peer.name,
        "fit, s": seconds,
        "gap": maxmargin.certify(transcribe(model, case), case.X, case.y).relative_gap,
        "accuracy": float(np.mean(model.predict(X) == case.y)),
        "SVs": len(model.support_),
    }


def measure_ours(case: Case, tol: float | None) -> dict:
    """A row of ours."""
    fit, model = fit_ours(case, tol)
    return {
        "library": f"maxmargin, tol={model.tol:g}",
        "fit, s": fit.seconds,
        "gap": fit.gap,
        "accuracy": float(np.mean(model.predict(case.X) == case.y)),
        "SVs": fit.support,
    }


def run(*, brief: bool) -> Report:
    """Fit and judge with everybody."""
    report = Report("unscaled", PURPOSE, [], [])
    peers, reasons = find_peers()
    warm_up(peers)
    case = read_unscaled(brief)
    rows, reasons = [], dict(reasons)
    for peer in peers:
        try:
            rows.append(measure_peer(peer, case))
        except Skip as reason:
            reasons[peer.name] = str(reason)
    rows += [measure_ours(case, tol) for tol in TOLERANCES]
    title = f"{case.name}, n = {case.n:,}, accuracy on the rows of the fit"
    report.tables = [Table(title, COLUMNS, rows)]
    report.findings = [f"{row['library']}: gap {row['gap']:.1e}." for row in rows if not row["gap"] <= BAD]
    report.findings += [f"{name} was skipped: {reason}." for name, reason in reasons.items()]
    return report
