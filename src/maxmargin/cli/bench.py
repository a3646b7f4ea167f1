"""maxmargin bench [name ...]: the measurements of the repository, where it is at hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .exit_codes import Exit

REPOSITORY = Path(__file__).parents[3]


def run(argv: list[str], program: str) -> int:
    """Hand over to `python -m benchmarks` in the repository; --help and --list are its own."""
    if not (REPOSITORY / "benchmarks" / "__main__.py").is_file():
        raise ValueError(
            "The benchmarks are in the folder benchmarks/ of the repository, which this installation is not part of: "
            "clone the repository, and run `make bench` there."
        )
    code = subprocess.run([sys.executable, "-m", "benchmarks", *argv], cwd=REPOSITORY, check=False).returncode
    return code if code >= 0 else Exit.INTERRUPTED
