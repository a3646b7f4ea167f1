"""A cluster of processes on this machine, passes over its blocks written down one by one, and peaks of memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from maxmargin.blocks import Blocks
from maxmargin.blocks.dask import DaskBlocks

from ..measuring.machine import read_field
from ..measuring.report import Report

MEMORY = "2GB"  # what a worker may use
LIBRARIES = ("dask", "distributed", "dask-ml", "dask-glm")


def begin_report(name: str, purpose: str) -> Report:
    """An empty report, with the versions of Dask and of its kin."""
    report = Report(name, purpose, [], [])
    for library in LIBRARIES:
        try:
            report.machine["versions"][library] = version(library)
        except PackageNotFoundError:
            report.machine["versions"][library] = "not installed"
    return report


def has_dask() -> bool:
    """Whether there can be a cluster."""
    return find_spec("distributed") is not None


@contextmanager
def open_cluster(workers: int) -> Iterator:
    """A client of a cluster of so many processes of one thread; its scheduler is a part of this process."""
    from distributed import Client, LocalCluster

    kind = {"threads_per_worker": 1, "memory_limit": MEMORY, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **kind) as cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        yield client


class Pass(NamedTuple):
    """What a pass asked, how long it took, and the bytes of its questions and answers."""

    task: str
    seconds: float
    bytes_out: int
    bytes_in: int


class RecordingBlocks:
    """Blocks that write down their passes."""

    passes: list[Pass]

    def run(self, task, *arguments) -> Any:
        """The sum over all blocks, and a line for it."""
        before, began = self.counters.copy(), time.perf_counter()
        answer = super().run(task, *arguments)
        moved = [self.counters[name] - before[name] for name in ("bytes_out", "bytes_in")]
        self.__dict__.setdefault("passes", []).append(Pass(task.__name__, time.perf_counter() - began, *moved))
        return answer


class RecordingDaskBlocks(RecordingBlocks, DaskBlocks):
    """Blocks of a cluster."""


def record_passes(blocks: Blocks) -> Blocks:
    """The same blocks, writing down their passes."""
    kind = type(blocks)
    blocks.__class__ = type(f"{kind.__name__}Ledger", (RecordingBlocks, kind), {})
    return blocks


def reset_peak_memory() -> None:
    """Let the peak of this process's memory begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def read_peak_memory() -> float:
    """Megabytes: the most that this process has held since then, by the books of the kernel."""
    found = read_field("self/status", "VmHWM")
    if found is None:
        raise SystemExit("Memory is read from /proc/self/status, which is there on Linux only.")
    return int(found.split()[0]) / 1024


def list_processes(client) -> set[int]:
    """The processes of the workers: another set afterwards means that one was started again."""
    return set(client.run(os.getpid).values())
