"""Clusters of a few processes."""

from __future__ import annotations

import time


def scale(cluster, client, workers: int) -> None:
    """Wait until there are exactly so many workers."""
    cluster.scale(workers)
    deadline = time.perf_counter() + 60
    while len(client.nthreads()) != workers and time.perf_counter() < deadline:
        time.sleep(0.05)
    assert len(client.nthreads()) == workers
