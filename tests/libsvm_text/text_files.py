"""Files of LIBSVM text, for the tests of the parser."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np

RNG = np.random.default_rng(0)
PACKERS = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
EXTREME = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, 1e22, 1e23]
EXTREME += [2.0**53, 2.0**53 + 2, 1e16, 1e17, 123456789012345680.0, 0.1, 0.0001, 0.00001, 1 / 3, -2.5]


def write_text(folder: Path, text: str | bytes, name: str = "rows.svm") -> Path:
    """A file of this text, packed as its name says."""
    path = folder / name
    with PACKERS[path.suffix if path.suffix in PACKERS else ""](path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether floats are the same, -0.0 and all."""
    return np.array_equal(np.asarray(a, np.float64).view(np.int64), np.asarray(b, np.float64).view(np.int64))
