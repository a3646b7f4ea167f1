"""What a measurement was made on: processor, cores, memory, load, versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("maxmargin", "scikit-learn", "numpy", "scipy", "numba")
PEERS = ("scikit-learn-intelex", "libsvm-official", "thundersvm-cpu", "liblinear-official", "snapml", "skglm")


def read_field(file: str, field: str) -> str | None:
    """The first value of a field of a file of Linux's /proc, or None elsewhere."""
    try:
        lines = Path("/proc", file).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), None)


def name_processor() -> str:
    """The model of the CPU."""
    return read_field("cpuinfo", "model name") or platform.processor() or platform.machine()


def count_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure_memory() -> str:
    """The memory of the machine."""
    kilobytes = read_field("meminfo", "MemTotal")
    return f"{int(kilobytes.split()[0]) / 2**20:.0f} GB" if kilobytes else "unknown"


def measure_load() -> float | None:
    """Processes that wanted a core in the last minute: near the number of cores or above, timings mean little."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def list_versions() -> dict[str, str]:
    """Installed versions of the libraries that matter."""
    versions = {"python": platform.python_version()}
    for library in LIBRARIES + PEERS:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "not installed"
    return versions


def describe_machine() -> dict:
    """Everything a reader needs to judge a timing."""
    return {
        "processor": name_processor(),
        "cores": count_cores(),
        "memory": measure_memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": measure_load(),
        "versions": list_versions(),
    }


def print_machine(machine: dict) -> str:
    """The same as two sentences."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    load = "" if machine["load"] is None else f" Load before the run: {machine['load']}."
    return (
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}.{load}\n"
        f"Versions: {versions}."
    )
