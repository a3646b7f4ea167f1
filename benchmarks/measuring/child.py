"""A measurement in a process of its own: a module that prints one line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_child(module: str, *arguments: str, seconds: float) -> dict | str:
    """What `python -m module arguments` prints as its last line, or the reason why there is nothing."""
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"did not end within {seconds:.0f} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with {done.returncode}"
    return json.loads(done.stdout.splitlines()[-1])
