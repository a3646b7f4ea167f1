"""The table of peers: how each is made, what data it takes, and whether it works here at all."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from sklearn import svm

from ..kernel.cases import Case
from ..measuring.clock import read_limit, time_once

TRIAL_SECONDS = 120.0


class Skip(Exception):
    """Why a peer was left out."""


@dataclass(frozen=True)
class Peer:
    """A library: make(kind, parameters) has fit and predict, and scikit-learn's attributes once it is fitted."""

    name: str
    make: Callable
    forms: tuple[str, ...] = ("dense", "CSR")
    dtype: type = np.float64
    risky: bool = False  # may hang or crash: every new problem is tried in a process of its own first

    def choose_forms(self, case: Case) -> tuple[str, ...]:
        """The forms of the data to time it with: what it takes of those worth a try, else what it takes."""
        return tuple(form for form in case.forms if form in self.forms) or self.forms[:1]

    def fit(self, case: Case, X, y: np.ndarray):
        """A model of its own, with its own default tolerance."""
        return self.make(case.kind, case.parameters).fit(X, y)

    def give_targets(self, case: Case) -> np.ndarray:
        """Labels as they are, real targets in the precision of the features."""
        return case.y if case.kind == "SVC" else case.y.astype(self.dtype)


def make_sklearn(kind: str, parameters: dict):
    """LIBSVM as scikit-learn wraps it."""
    return getattr(svm, kind)(**parameters)


def make_onedal(kind: str, parameters: dict):
    """oneDAL as scikit-learn-intelex wraps it."""
    return getattr(import_module("sklearnex.svm"), kind)(**parameters)


def make_libsvm(kind: str, parameters: dict):
    """LIBSVM's own package."""
    return import_module(f"{__package__}.libsvm_package").Libsvm(kind, parameters)


def make_thundersvm(kind: str, parameters: dict):
    """thundersvm-cpu."""
    return import_module(f"{__package__}.thundersvm_package").Thundersvm(kind, parameters)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("scikit-learn", make_sklearn),
        Peer("oneDAL float64", make_onedal),
        Peer("oneDAL float32", make_onedal, dtype=np.float32),
        Peer("LIBSVM", make_libsvm, forms=("CSR",)),
        Peer("thundersvm", make_thundersvm, forms=("dense",), risky=True),
    )
}


def transcribe(model, case: Case):
    """A model of any peer as a scikit-learn one with the same support, duals and intercept, for the judge."""
    copy = getattr(svm, case.kind)(**case.parameters)
    table = model.dual_coef_
    copy.dual_coef_ = np.asarray(table.toarray() if sp.issparse(table) else table, np.float64)
    copy.support_, copy.intercept_ = np.asarray(model.support_), np.ravel(np.asarray(model.intercept_, np.float64))
    copy._n_support, copy.shape_fit_ = np.asarray(model.n_support_), case.X.shape
    if case.kind == "SVC":
        copy.classes_ = np.unique(case.y)
    return copy


@cache
def find_peers() -> tuple[list[Peer], dict[str, str]]:
    """The peers that fit small problems of every kind here, and for the others the reason why not."""
    working, reasons = [], {}
    for peer in PEERS.values():
        try:
            try_apart(peer)
            working.append(peer)
        except Skip as reason:
            reasons[peer.name] = str(reason)
    return working, reasons


def try_apart(peer: Peer, case: Case | None = None, seconds: float = TRIAL_SECONDS) -> float:
    """Seconds of a trial fit in a process of its own, which may hang or crash and take nothing down with it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "case.pickle")
        path.write_bytes(pickle.dumps(case))
        command = [sys.executable, "-m", f"{__package__}.trial", peer.name, str(path)]
        root = Path(__file__).parents[2]
        try:
            done = subprocess.run(command, cwd=root, env=os.environ, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Skip(f"a trial fit did not end within {seconds:.0f} s") from None
    if done.returncode < 0:
        raise Skip(f"a trial fit crashed with signal {-done.returncode}")
    if done.returncode:
        raise Skip(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def guard(peer: Peer, case: Case, *, trial: bool = True) -> Iterator[None]:
    """Whatever a peer raises within is a reason to skip it; a risky one is tried apart first."""
    if peer.risky and trial:
        try_apart(peer, case, read_limit())
    try:
        yield
    except Exception as error:
        raise Skip(f"{type(error).__name__}: {error}") from error


def pilot(peer: Peer, case: Case, rows: int) -> dict[str, float]:
    """Seconds of a fit on some of the rows, for every form of the data that the peer takes."""
    part = case.draw(rows)
    if peer.risky:
        return {peer.choose_forms(case)[0]: try_apart(peer, part)}
    y = peer.give_targets(part)
    seconds = {}
    for form in peer.choose_forms(case):
        X = part.give(form, peer.dtype)
        seconds[form] = time_once(lambda X=X: peer.fit(part, X, y))[0]
    return seconds
