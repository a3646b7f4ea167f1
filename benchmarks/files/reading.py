"""LIBSVM text read and written beside scikit-learn, and 3 GB of it in blocks: seconds, and memory above the result."""

from __future__ import annotations

import bz2
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from maxmargin import read_libsvm, write_libsvm
from maxmargin.runtime.streams import write_file

from ..measuring.child import run_child
from ..measuring.clock import time_best
from ..measuring.data import find_folder
from ..measuring.report import Report, Table

TEXT_BYTES = 200 * 10**6  # bytes of a text, those of files repeated up to it
BRIEF = 2 * 10**6
STREAMED, BLOCK = 3 * 10**9, 500 * 10**6
COMPRESSED_TEXT_BYTES = 50 * 10**6
FILES = {"a9a": "a9a/a9a", "covtype": "covtype/covtype", "news20": "news20_bydate/news20.train"}
TARGET_SPEEDUP, TARGET_MEMORY_RATIO = 5.0, 1.5  # what is aimed at: times as fast, times the memory of the result
CHILD_SECONDS = 1800.0  # for one child
PURPOSE = (
    "Text of the folder of data files, repeated to 200 MB, and generated text: `rcv1-like` has 75 words of 47,236 a "
    "line and 6 digits, `dense` 50 features and 17 digits. Each reader in a process of its own, after a tiny file; the "
    "files are warm in the cache of the system. Seconds are the best of three. Memory is the peak (VmHWM) of the first "
    "reading above what the process held before, over the bytes of X and y that it returned; scikit-learn's indices "
    "have 64 bits, and it does not read .xz. Blocks: a first scan by open_blocks, then one pass."
)
READING = {
    "data": "{}", "text, MB": "{:,.0f}", "n": "{:,}", "values": "{:,}", "ours, s": "{:.2f}", "MB/s": "{:,.0f}",
    "scikit-learn, s": "{:.2f}", "times": "{:.1f}x", "result, MB": "{:,.0f}", "memory / result": "{:.2f}",
    "scikit-learn's": "{:.2f}",
}  # fmt: skip
WRITING = {"data": "{}", "text, MB": "{:,.0f}", "ours, s": "{:.2f}", "MB/s": "{:,.0f}", "scikit-learn, s": "{:.2f}",
           "times": "{:.1f}x"}  # fmt: skip
STREAMING = {
    "text, MB": "{:,.0f}", "blocks": "{:d}", "n": "{:,}", "scan, s": "{:.1f}", "a pass, s": "{:.1f}", "MB/s": "{:,.0f}",
    "largest block, MB": "{:,.0f}", "above the start, MB": "{:,.0f}", "in the scan": "{:,.0f}",
}  # fmt: skip


def make_words(n: int) -> sp.csr_array:
    """Lines of 75 words of 47,236, few of them frequent, with weights of 6 digits."""
    random = np.random.default_rng(0)
    columns = np.sort((47236 * random.random((n, 75)) ** 3).astype(np.int32), axis=1)
    values = np.round(random.random((n, 75)), 6) + 1e-6
    X = sp.csr_array((values.ravel(), columns.ravel(), np.arange(0, 75 * n + 1, 75)), shape=(n, 47236))
    X.sum_duplicates()
    return X


def make_texts(folder: Path, size: int, *, files: bool) -> Iterator[Path]:
    """Text files of about so many bytes, one after the other; each may be deleted when the next is asked for."""
    for name, X in (("rcv1-like", make_words(2000)), ("dense", np.random.default_rng(0).normal(size=(2000, 50)))):
        write_libsvm(folder / "part", X, np.where(np.arange(2000) % 3, -1.0, 1.0))
        yield repeat(folder / "part", folder / name, size)
    source = find_folder() if files else None
    for name, path in FILES.items() if source is not None else ():
        if (source / f"{path}.bz2").is_file():
            (folder / "part").write_bytes(bz2.decompress((source / f"{path}.bz2").read_bytes()))
            yield repeat(folder / "part", folder / name, size)


def repeat(part: Path, path: Path, size: int) -> Path:
    """A file of a text again and again, up to about so many bytes."""
    text = part.read_bytes()
    with open(path, "wb") as file:
        for _ in range(max(1, round(size / len(text)))):
            file.write(text)
    return path


def ask(**order) -> dict:
    """What a child found."""
    found = run_child(f"{__package__}.reading_apart", json.dumps(order, default=str), seconds=CHILD_SECONDS)
    if isinstance(found, str):
        raise SystemExit(f"reading: {order}: {found}")
    return found


def compare_reading(path: Path, size: int) -> dict:
    """A row: ours and scikit-learn's on one file."""
    ours = ask(reader="maxmargin", path=path)
    row = {
        "data": path.name, "text, MB": size / 1e6, "n": ours["n"], "values": ours["values"], "ours, s": ours["seconds"],
        "MB/s": size / 1e6 / ours["seconds"], "result, MB": ours["result"],
        "memory / result": ours["above"] / ours["result"],
    }  # fmt: skip
    if path.suffix != ".xz":
        theirs = ask(reader="scikit-learn", path=path)
        row |= {"scikit-learn, s": theirs["seconds"], "times": theirs["seconds"] / ours["seconds"]}
        row |= {"scikit-learn's": theirs["above"] / theirs["result"]}
    print(f"reading: {row}", flush=True)
    return row


def compare_writing(path: Path) -> dict:
    """A row: the same data written by both."""
    X, y, _ = read_libsvm(path)
    goal = path.with_name("written")
    ours, _ = time_best(lambda: write_libsvm(goal, X, y))
    size = goal.stat().st_size
    theirs, _ = time_best(lambda: dump_svmlight_file(X, y, str(goal), zero_based=False))
    goal.unlink()
    row = {"data": path.name, "text, MB": size / 1e6, "ours, s": ours, "MB/s": size / 1e6 / ours}
    row |= {"scikit-learn, s": theirs, "times": theirs / ours}
    print(f"reading: written {row}", flush=True)
    return row


def compare_packed(path: Path, size: int) -> Iterator[dict]:
    """The beginning of a text, compressed in three ways."""
    text = path.read_bytes()[:size]
    text = text[: text.rfind(b"\n") + 1]
    for suffix in (".gz", ".bz2", ".xz"):
        packed = path.with_name(path.name + suffix)
        with write_file(packed) as file:
            file.write(text)
        yield compare_reading(packed, len(text))
        packed.unlink()


def stream_blocks(folder: Path, part: Path, size: int, block: int) -> dict | str:
    """The row of a text in blocks, or why there is none."""
    free = shutil.disk_usage(folder).free
    if free < 2 * size:
        return (
            f"Blocks were left out: {size / 1e9:.0f} GB of text need twice the disk, and {free / 1e9:.0f} GB are free"
        )
    path = repeat(part, folder / "large.svm", size)
    size = path.stat().st_size
    found = ask(path=path, block_bytes=block)
    path.unlink()
    row = {
        "text, MB": size / 1e6, "blocks": found["blocks"], "n": found["n"], "scan, s": found["scan"],
        "a pass, s": found["seconds"], "MB/s": size / 1e6 / found["seconds"],
        "largest block, MB": found["largest block"], "above the start, MB": found["above"],
        "in the scan": found["above, scan"],
    }  # fmt: skip
    print(f"reading: blocks {row}", flush=True)
    return row


def summarise(rows: list[dict], packed: list[dict]) -> list[str]:
    """The tables in words."""
    slowest, heaviest = min(rows, key=lambda row: row["times"]), max(rows, key=lambda row: row["memory / result"])
    least = min((row for row in packed if "times" in row), key=lambda row: row["times"])
    return [
        f"Plain text is read at least {slowest['times']:.1f} times as fast as by scikit-learn ({slowest['data']}), "
        f"where {TARGET_SPEEDUP:g} times is aimed at.",
        f"Peak memory is at most {heaviest['memory / result']:.2f} times the result ({heaviest['data']}), where "
        f"{TARGET_MEMORY_RATIO:g} is aimed at.",
        f"Compressed text is read at least {least['times']:.1f} times as fast ({least['data']}); unpacking limits it.",
    ]


def run(*, brief: bool) -> Report:
    """Reading, writing, and blocks."""
    report = Report("reading", PURPOSE, [], [])
    size = BRIEF if brief else TEXT_BYTES
    rows, written, packed, streamed = [], [], [], None
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path in make_texts(folder, size, files=not brief):
            rows.append(compare_reading(path, path.stat().st_size))
            written.append(compare_writing(path))
            if not packed:
                packed += compare_packed(path, min(size, COMPRESSED_TEXT_BYTES))
                large, block = (10 * BRIEF, 3 * BRIEF) if brief else (STREAMED, BLOCK)
                streamed = stream_blocks(folder, path, large, block)
            path.unlink()
    report.tables = [Table("Reading", READING, rows), Table("Reading compressed text", READING, packed)]
    report.tables += [Table("Writing", WRITING, written)]
    report.findings += summarise(rows, packed)
    if isinstance(streamed, dict):
        report.tables += [Table("Blocks", STREAMING, [streamed])]
    else:
        report.findings.append(f"{streamed}.")
    return report
