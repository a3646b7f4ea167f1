"""The same letters to svm-train or LIBLINEAR's train and to `maxmargin train`: how far from optimal each of them ends.

What -e means there and here is in docs/command_line.md. Needs the programs: apt install libsvm-tools liblinear-tools.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import chdir
from typing import NamedTuple

from maxmargin import OneClassSVM, certify, load, read_libsvm, write_libsvm
from maxmargin.cli import main

from ..measuring.data import make_clouds, read_file
from ..measuring.report import Report, Table

PURPOSE = "Relative gaps of fits by letters, certified; the programs with the same letters on the same files."
COLUMNS = {"data": "{}", "letters": "{}", "their gap": "{:.1e}", "our gap": "{:.1e}"}
SETS = ("heart_scale/heart_scale", "australian/australian", "a9a/a9a", "german.numer/german.numer")
ROWS = 3000
LIBSVM = ("-c 1", "-c 100 -g 0.1", "-e 0.1", "-e 1e-5", "-s 1 -n 0.2", "-s 2 -n 0.1", "-s 3", "-s 4 -c 2")
LIBLINEAR = (
    "-s 0", "-s 0 -e 1e-4", "-s 1", "-s 1 -B 1", "-s 1 -e 0.001", "-s 2", "-s 2 -e 1e-4", "-s 2 -e 1e-6", "-s 3",
    "-s 3 -e 1e-4", "-s 7 -e 0.01", "-s 11", "-s 12", "-s 13", "-s 13 -e 0.001",
)  # fmt: skip


class Program(NamedTuple):
    """A program of another library, our name of its family, and the letters to try."""

    name: str
    family: str
    letters: tuple[str, ...]


PROGRAMS = (Program("svm-train", "--libsvm", LIBSVM), Program("liblinear-train", "--liblinear", LIBLINEAR))


def write_sets(brief: bool) -> list[str]:
    """The sets as LIBSVM text in this folder, at most ROWS rows of each."""
    found = {name.split("/")[0]: None if brief else read_file(name) for name in SETS}
    found = {name: data for name, data in found.items() if data is not None} or {"clouds": make_clouds(300)}
    for name, (X, y) in found.items():
        write_libsvm(name, X[:ROWS], y[:ROWS])
    return list(found)


def judge(path: str, data: str, letters: str) -> float:
    """The relative gap of a model file, which does not hold C, nu and epsilon: the letters or the defaults say them."""
    X, y, _ = read_libsvm(data)
    words = letters.split()
    given = dict(zip(words[::2], words[1::2], strict=True))
    known = {"C": float(given.get("-c", 1.0)), "nu": float(given.get("-n", 0.5)), "epsilon": 0.1}
    model = load(path, n_features=X.shape[1])
    model.set_params(**{name: value for name, value in known.items() if name in model.get_params()})
    return certify(model, X, None if isinstance(model, OneClassSVM) else y).relative_gap


def measure(program: Program, data: str, letters: str) -> dict:
    """A row: both gaps."""
    subprocess.run([program.name, "-q", *letters.split(), data, "their.model"], check=True, capture_output=True)
    main(["train", program.family, "-q", *letters.split(), data, "our.model"])
    gaps = {
        title: judge(path, data, letters) for title, path in (("their gap", "their.model"), ("our gap", "our.model"))
    }
    return {"data": data, "letters": letters, **gaps}


def run(*, brief: bool) -> Report:
    """Every letter on every set."""
    report = Report("letters", PURPOSE, [], [])
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        sets = write_sets(brief)
        for program in PROGRAMS:
            if shutil.which(program.name, path=os.environ.get("PATH")) is None:
                report.findings.append(f"{program.name} is not installed, and was left out.")
                continue
            tried = program.letters[:2] if brief else program.letters
            rows = [measure(program, data, letters) for data in sets for letters in tried]
            report.tables.append(Table(program.name, COLUMNS, rows))
            better = sum(row["our gap"] <= row["their gap"] for row in rows)
            report.findings.append(f"{program.name}: our gap is no larger in {better} of {len(rows)} fits.")
    return report
