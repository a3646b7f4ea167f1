"""Random options and files: every command ends with a documented code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import run

from maxmargin.cli.exit_codes import Exit

CHOICES = {
    "--estimator": ["SVC", "NuSVC", "SVR", "OneClassSVM", "LinearSVC", "RiskRegressor", "MetricSVC", "RankSVM"],
    "--kernel": ["linear", "precomputed", "laplacian", "cubic"],
    "--loss": ["hinge", "logistic", "huber", "poisson", "multivariate"],
    "--solver": ["smo:stop=kkt", "newton", "bundle", "gradient_descent", "smo:fast=1"],
    "--intercept": ["none", "regularised", "some"],
    "--class-weight": ["balanced", "1=2", "9=1", "x"],
    "--multi-class": ["ovr", "softmax", "crammer_singer"],
    "--C": ["1", "inf", "-1", "nan"],
    "--folds": ["2", "200"],
    "--to": ["maxmargin", "libsvm", "liblinear", "csv"],
    "--n-features": ["4", "1"],
    "--target": ["0", "name"],
    "--resume": ["m", "m.model", "blobs"],
    "-s": ["0", "2", "3", "7", "13"],
    "-t": ["0", "4"],
    "-e": ["0.1", "x"],
    "-b": ["1"],
    "-w1": ["2"],
}
FLAGS = ["--blocks", "--probability", "--liblinear", "--json", "-q", "--find-C"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_any_options_end_with_a_code(seed, blobs, line, flowers, capsys):
    """Options drawn at random: a model, or a sentence; never an exception."""
    rng = np.random.default_rng(seed)
    kept = {name: Path(name).read_bytes() for name in (blobs, line, flowers)}
    for _ in range(25):
        for name, content in kept.items():
            Path(name).write_bytes(content)
        argv = ["train", "--max-seconds", "0.3"]
        for word in rng.choice(list(CHOICES), rng.integers(0, 4), replace=False):
            argv += [str(word), str(rng.choice(CHOICES[word]))]
        argv += [str(flag) for flag in rng.choice(FLAGS, rng.integers(0, 2))]
        argv += [str(rng.choice(list(kept))), *map(str, rng.choice(["m", "m.model"], rng.integers(0, 2)))]
        assert run(*argv) in (Exit.SUCCESS, Exit.BAD_INPUT, Exit.USAGE, Exit.UNFINISHED), argv
        assert "Traceback" not in capsys.readouterr().err
