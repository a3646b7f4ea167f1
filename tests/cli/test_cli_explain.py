"""`maxmargin solvers`, `explain`, `demo` and `bench`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
from commands import assert_refused, run

from maxmargin.cli.exit_codes import Exit
from maxmargin.files import load, write_libsvm


def test_solvers_are_listed(capsys):
    """All of the registry; with --losses who takes what."""
    from maxmargin.solvers import SOLVERS

    assert run("solvers") == Exit.SUCCESS
    out = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{out}" for name in SOLVERS)
    assert run("solvers", "--losses") == Exit.SUCCESS
    assert "hinge: smo (frn)" in capsys.readouterr().out


def test_explain_says_what_train_would_do(blobs, capsys):
    """Time, memory and solver, for the same options; nothing is written."""
    assert run("explain", blobs, "-c", "10") == Exit.SUCCESS
    out = capsys.readouterr().out
    assert out.startswith("SVC on 120 samples of 4 features: about ")
    assert "Solver: smo, because " in out
    assert run("explain", blobs, "--estimator", "LinearSVC", "--json") == Exit.SUCCESS
    record = json.loads(capsys.readouterr().out)
    assert record["solver"].startswith("newton, because ")
    assert record["parameters"]["loss"] == "squared_hinge"
    assert record["seconds"] < 60
    assert sorted(os.listdir()) == ["blobs"]
    assert_refused(
        capsys, Exit.BAD_INPUT, "leave out --blocks", "explain", blobs, "--estimator", "LinearSVC", "--blocks"
    )


def test_explain_finds_the_feature_that_drowns_the_others(capsys):
    """And says what to do, in the words of the command line."""
    rng = np.random.default_rng(0)
    write_libsvm("wild", rng.normal(size=(60, 3)) * [1.0, 1e6, 1.0], np.where(np.arange(60) % 2 == 0, 1.0, -1.0))
    assert run("explain", "wild") == Exit.SUCCESS
    assert re.search(r"Feature 1 spans \S+ times the others; scale it \(maxmargin scale\)\.", capsys.readouterr().out)


def test_demo_writes_files(capsys):
    """Sets to play with, which train takes as they are."""
    assert run("demo", "--write", "sets") == Exit.SUCCESS
    assert {path.name for path in Path("sets").iterdir()} == {
        "cancer",
        "cancer.t",
        "diabetes",
        "diabetes.t",
        "wine.csv",
    }
    assert run("train", "-q", "sets/wine.csv") == Exit.SUCCESS
    assert len(load("wine.csv.maxmargin").classes_) == 3
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_demo_compares(capsys):
    """Two certificates, ours with the smaller gap."""
    assert run("demo") == Exit.SUCCESS
    out = capsys.readouterr().out
    lines = [text.split("relative gap ")[1] for text in out.splitlines() if "KKT" in text]
    gaps = [float(line.split(",")[0].split(" ")[0]) for line in lines]  # what is for rounding stands behind some
    assert gaps[0] < gaps[1]


def test_bench_lists_or_says_where(monkeypatch, tmp_path, capfd):
    """The measurements of the repository; elsewhere a sentence."""
    assert run("bench", "--list") == Exit.SUCCESS
    assert "large_fits" in capfd.readouterr().out
    monkeypatch.setattr("maxmargin.cli.bench.REPOSITORY", tmp_path)
    assert_refused(capfd, Exit.BAD_INPUT, "benchmarks/ of the repository", "bench")
