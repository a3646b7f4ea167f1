"""One fit on many rows in a process of its own.

    python -m benchmarks.scaling.scaling_fit '{"loss": "hinge", "n": 2000000}'

With "folder" the rows are those of its memory-mapped files, read by this process; else they are made by workers.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np

import maxmargin
from maxmargin.blocks import ArrayBlocks

from ..linear.streamed_fit import PeakMemory
from ..measuring.idle_cores import wait_for_idle_cores
from .scaling_cluster import (
    RecordingDaskBlocks,
    list_processes,
    open_cluster,
    read_peak_memory,
    record_passes,
    reset_peak_memory,
)
from .scaling_data import BLOCK, Rows, open_mapped

TOL = 1e-3
WARM_UP_BLOCKS = 8  # blocks of the fit that warms up


def make_machine(loss: str, tol: float = TOL, **parameters):
    """The machine of a loss, C = 1."""
    kind = maxmargin.RiskClassifier if loss == "logistic" else maxmargin.LinearSVC
    return kind(loss=loss, C=1.0, tol=tol, **parameters)


def warm_up(loss: str, blocks=None) -> None:
    """Fits that are not timed, in memory and over blocks: what they need is compiled or loaded afterwards."""
    X, y = Rows(5000).make(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_machine(loss).fit(X, y)
        make_machine(loss).fit(blocks or ArrayBlocks(X, y))


def describe_fit(machine, passes: list, seconds: float) -> dict:
    """What every fit is asked."""
    sample = sum(each.bytes_in for each in passes if each.task == "draw_block")
    working = [each for each in passes if each.task == "sum_block"]
    return {
        "seconds": seconds, "gap": machine.certificate_.relative_gap, "passes": len(passes),
        "seconds of passes": sum(each.seconds for each in passes),
        "s / pass": float(np.mean([each.seconds for each in working])),
        "bytes out": float(np.mean([each.bytes_out for each in working])),
        "bytes in": float(np.mean([each.bytes_in for each in working])), "sample": sample,
        "each": [(each.task, round(each.seconds, 3), each.bytes_out, each.bytes_in) for each in passes],
        "primal": machine.certificate_.primal, "coef": machine.coef_.ravel().tolist(),
        "counted": dict(machine.result_.counters),
    }  # fmt: skip


def fit_cluster(loss: str, n: int, workers: int, tol: float) -> dict:
    """Rows that workers make anew in each pass."""
    with open_cluster(workers) as client:
        warm_up(loss, RecordingDaskBlocks(*Rows(WARM_UP_BLOCKS * 1000, block=1000).lay_out()))
        before = list_processes(client)
        client.run(reset_peak_memory)
        X, y = Rows(n).lay_out()
        wait_for_idle_cores()
        reset_peak_memory()
        began = time.perf_counter()
        blocks = RecordingDaskBlocks(X, y)
        machine = make_machine(loss, tol).fit(blocks)
        seconds = time.perf_counter() - began
        found = describe_fit(machine, blocks.passes, seconds)
        peaks = client.run(read_peak_memory).values()
        restarts = len(list_processes(client) - before)
    return found | {"driver, MB": read_peak_memory(), "worker, MB": max(peaks), "restarts": restarts}


def fit_mapped(loss: str, n: int, folder: str, tol: float) -> dict:
    """Rows of a file, read by one process."""
    X, y = open_mapped(folder, n)
    warm_up(loss)
    wait_for_idle_cores()
    with PeakMemory() as watch:
        began = time.perf_counter()
        blocks = record_passes(ArrayBlocks(X, y))
        machine = make_machine(loss, tol).fit(blocks)
        seconds = time.perf_counter() - began
    return describe_fit(machine, blocks.passes, seconds) | {"above the map, MB": watch.peak - watch.before}


def main() -> None:
    """Read what is asked for from the command line, and print what was found as JSON."""
    asked = {"workers": 2, "tol": TOL, "folder": None, **json.loads(sys.argv[1])}
    if asked["folder"] is None:
        found = fit_cluster(asked["loss"], asked["n"], asked["workers"], asked["tol"])
    else:
        found = fit_mapped(asked["loss"], asked["n"], asked["folder"], asked["tol"])
    print(json.dumps(found | {"block": BLOCK}))


if __name__ == "__main__":
    main()
