"""One file read in a process of its own.

    python -m benchmarks.files.reading_apart '{"reader": "maxmargin", "path": "a.svm"}'

After a tiny file, which compiles, the peak of the memory that Linux keeps (VmHWM) is set back, and the file is read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.datasets import load_svmlight_file

from maxmargin import open_blocks, read_libsvm

from ..measuring.clock import time_best, time_once
from ..measuring.footprint import read_megabytes
from ..scaling.scaling_cluster import reset_peak_memory

READERS = {
    "maxmargin": lambda path: read_libsvm(path)[:2],
    "scikit-learn": lambda path: load_svmlight_file(str(path)),
}


def measure_size(X, y) -> float:
    """Megabytes of a result."""
    return sum(part.nbytes for part in (X.data, X.indices, X.indptr, y)) / 2**20


def read_whole(path: Path, reader: str) -> dict:
    """The memory of the first time, the seconds of the best."""
    read = READERS[reader]
    reset_peak_memory()
    before = read_megabytes("VmRSS")
    X, y = read(path)
    peak = read_megabytes("VmHWM") - before
    found = {"n": X.shape[0], "d": X.shape[1], "values": X.nnz, "result": measure_size(X, y), "above": peak}
    del X, y
    return found | {"seconds": time_best(lambda: read(path) and None)[0]}


def read_blocks(path: Path, block_bytes: int) -> dict:
    """The first scan, then one pass over the blocks, each let go when the next one comes."""
    reset_peak_memory()
    before = read_megabytes("VmRSS")
    scan, blocks = time_once(lambda: open_blocks(path, block_bytes=block_bytes))
    after_scan = read_megabytes("VmHWM") - before
    largest, rows = 0.0, 0

    def stream() -> None:
        nonlocal largest, rows
        for block in blocks.stream():
            largest, rows = max(largest, measure_size(block.X, block.y)), rows + len(block.y)

    seconds, _ = time_once(stream)
    return {
        "n": rows, "d": blocks.d, "blocks": blocks.n_blocks, "scan": scan, "above, scan": after_scan,
        "seconds": seconds, "above": read_megabytes("VmHWM") - before, "largest block": largest,
    }  # fmt: skip


def main() -> None:
    """Warm up, then do what the order says, and print what it took."""
    order = json.loads(sys.argv[1])
    with TemporaryDirectory() as folder:
        tiny = Path(folder, "tiny.svm")
        tiny.write_text("1 1:1\n" * 100_000)
        for read in READERS.values():
            read(tiny)
        list(open_blocks(tiny).stream())
    path = Path(order["path"])
    blocks = order.get("block_bytes")
    print(json.dumps(read_whole(path, order["reader"]) if blocks is None else read_blocks(path, blocks)))


if __name__ == "__main__":
    main()
