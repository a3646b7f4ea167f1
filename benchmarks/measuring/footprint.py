"""The memory of one fit, in a process of its own: python -m benchmarks.measuring.footprint folder, by `measure_apart`.

The parent writes arrays to a folder, so that reading them leaves no peak behind. The child loads them, imports the
library, notes its memory, fits, and reads the peak that Linux kept (VmHWM).
"""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

import maxmargin
import maxmargin.compiled.compiler  # with it Numba, which the first fit would import

from ..kernel.cases import Case, make_case
from ..peers import PEERS, transcribe
from .child import run_child
from .clock import time_once
from .machine import read_field

OURS = "maxmargin"
PARTS = ("data", "indices", "indptr")  # of a CSR matrix


def measure_apart(case: Case, library: str, tol: float | None, cache_size: float | None, seconds: float) -> dict | str:
    """What a child found about one fit, or the reason why there is nothing."""
    with TemporaryDirectory() as folder:
        write_case(case, Path(folder))
        order = {"library": library, "tol": tol, "cache_size": cache_size}
        Path(folder, "order.json").write_text(json.dumps(order))
        return run_child(f"{__package__}.footprint", folder, seconds=seconds)


def write_case(case: Case, folder: Path) -> None:
    """The arrays as files of their own, the rest of the case pickled."""
    sparse = {part: getattr(case.X, part) for part in PARTS} if sp.issparse(case.X) else {"X": case.X}
    for name, array in {"y": case.y, **sparse}.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "case.pickle").write_bytes(pickle.dumps((case.X.shape, replace(case, X=None, y=None))))


def load_case(folder: Path) -> Case:
    """The case again, without a copy."""
    shape, case = pickle.loads((folder / "case.pickle").read_bytes())
    if (folder / "X.npy").exists():
        X = np.load(folder / "X.npy")
    else:
        X = sp.csr_matrix(tuple(np.load(folder / f"{part}.npy") for part in PARTS), shape)
    return replace(case, X=X, y=np.load(folder / "y.npy"))


def read_megabytes(field: str) -> float:
    """VmRSS, the memory now, or VmHWM, its peak."""
    found = read_field("self/status", field)
    if found is None:
        raise SystemExit("Memory is read from /proc/self/status, which is there on Linux only.")
    return int(found.split()[0]) / 1024


def prepare(case: Case, library: str) -> tuple:
    """X and y in the form and precision that the library takes: its input."""
    if library == OURS:
        return case.X, case.y
    peer = PEERS[library]
    form = case.form if case.form in peer.forms else peer.forms[0]
    same = form == case.form and case.X.dtype == peer.dtype
    return case.X if same else case.give(form, peer.dtype), peer.give_targets(case)


def make_model(case: Case, order: dict):
    """A model of the library that was ordered; making it imports the library."""
    if order["library"] != OURS:
        return PEERS[order["library"]].make(case.kind, case.parameters)
    given = {key: order[key] for key in ("tol", "cache_size") if order[key] is not None}
    return getattr(maxmargin, case.kind)(**case.parameters, **given)


def main() -> None:
    """Load, note the memory, fit a few rows, fit all, and print what it took."""
    folder = Path(sys.argv[1])
    order, case = json.loads((folder / "order.json").read_text()), load_case(folder)
    library, few = order["library"], make_case("words" if sp.issparse(case.X) else "clouds", 200)
    (X, y), (few_X, few_y) = prepare(case, library), prepare(few, library)
    model, small = make_model(case, order), make_model(few, order)
    before = read_megabytes("VmRSS")
    small.fit(few_X, few_y)
    loaded = read_megabytes("VmRSS")
    seconds, model = time_once(lambda: model.fit(X, y))
    peak = read_megabytes("VmHWM")
    gap = maxmargin.certify(model if library == OURS else transcribe(model, case), case.X, case.y).relative_gap
    found = {
        "seconds": seconds,
        "gap": gap,
        "SVs": len(model.support_),
        "code": loaded - before,
        "above": peak - before,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
