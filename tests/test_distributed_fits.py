"""Fits on a cluster: the optimum of memory, the same bits on any number of workers, and fits that outlive them."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clusters import scale
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from maxmargin.blocks.dask import ClusterLost, DaskBlocks  # noqa: E402

# a worker that is killed, or a cluster that is closed in the middle of a pass, leaves its sockets to the collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
SCORE = X @ RNG.normal(size=5) + 0.5 * RNG.normal(size=400)
LABELS = np.where(SCORE > 0.3, "yes", "no")
THREE = np.digitize(SCORE, [-1.0, 1.0])
COUNTS = RNG.poisson(np.exp(0.5 * SCORE)).astype(float)
TOL = 1e-10
FITS = {
    "squared hinge": (LinearSVC(tol=TOL), LABELS),
    "hinge": (LinearSVC(loss="hinge", tol=TOL), LABELS),
    "tube": (LinearSVR(epsilon=0.1, tol=TOL), SCORE),
    "logistic": (RiskClassifier(loss="logistic", tol=TOL), LABELS),
    "softmax": (RiskClassifier(loss="logistic", multi_class="softmax", tol=1e-8), THREE),
    "quantile": (RiskRegressor(loss="quantile", quantile=0.7, tol=TOL), SCORE),
    "poisson": (RiskRegressor(loss="poisson", tol=TOL), COUNTS),
}


def cut(y: np.ndarray, partitions: int = 7):
    """Data as dask arrays of so many blocks of rows."""
    rows = -(-len(X) // partitions)
    return da.from_array(X, chunks=(rows, 3)), da.from_array(y, chunks=rows)


def fit(name: str, *data):
    """A fit of the table."""
    machine, _ = FITS[name]
    return type(machine)(**machine.get_params()).fit(*data)


def read(machine) -> np.ndarray:
    """All numbers of a machine."""
    return np.concatenate([np.ravel(machine.coef_), np.ravel(machine.intercept_)])


def persist(client, y: np.ndarray) -> list:
    """Data that lie on the workers."""
    return client.persist(list(cut(y)))


@cache
def fit_at_home(name: str):
    """A machine that was fitted on seven blocks in this process."""
    return fit(name, *cut(FITS[name][1]))


def sum_primals(machine) -> float:
    """P, summed over the problems of a machine."""
    certificate = machine.certificate_
    return sum(each.primal for each in certificate) if isinstance(certificate, list | tuple) else certificate.primal


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_the_optimum_of_memory(name, partitions):
    """Any number of partitions reaches the objective of the fit in memory."""
    _, y = FITS[name]
    machine = fit_at_home(name) if partitions == 7 else fit(name, *cut(y, partitions))
    expected = sum_primals(fit(name, X, y))
    assert sum_primals(machine) == pytest.approx(expected, rel=1e-9 if machine.tol == TOL else 1e-7)
    assert machine.certificate_.relative_gap <= machine.tol


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_the_cluster_gives_the_bits_of_this_process(name, client):
    """Three workers, or none."""
    machine = fit(name, *persist(client, FITS[name][1]))
    assert np.array_equal(read(machine), read(fit_at_home(name)))


def test_predictions_come_back_as_collections():
    """Lazily, for arrays, sparse blocks and frames, equal to those of arrays."""
    machine = fit_at_home("squared hinge")
    data, _ = cut(LABELS)
    sparse = data.rechunk((58, 5)).map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    for each in (data, sparse, frame):
        assert np.array_equal(machine.predict(each).compute(), machine.predict(X))
        assert np.allclose(machine.decision_function(each).compute(), machine.decision_function(X), atol=1e-12)
    softmax = fit_at_home("softmax")
    assert np.allclose(softmax.decision_function(data).compute(), softmax.decision_function(X), atol=1e-12)
    assert np.allclose(fit_at_home("poisson").predict(data).compute(), fit_at_home("poisson").predict(X), atol=1e-12)


@pytest.mark.slow
def test_frames_are_fitted_with_their_names(client):
    """Columns are features, a column of strings is y, another one the weights."""
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=LABELS, weight=np.arange(400) % 3)
    lazy = client.persist(dd.from_pandas(frame, npartitions=5))
    machine = LinearSVC(tol=1e-8).fit(lazy[list("abcde")], lazy["label"], sample_weight=lazy["weight"])
    expected = LinearSVC(tol=1e-8).fit(frame[list("abcde")], LABELS, sample_weight=frame["weight"].to_numpy(float))
    assert list(machine.feature_names_in_) == list("abcde")
    assert list(machine.classes_) == ["no", "yes"]
    assert sum_primals(machine) == pytest.approx(sum_primals(expected), rel=1e-7)


@pytest.mark.slow
def test_sparse_blocks_are_fitted(client):
    """CSR blocks on workers reach the optimum of dense rows."""
    data, labels = cut(LABELS)
    sparse = data.rechunk((58, 5)).map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    machine = LinearSVC(tol=1e-8).fit(*client.persist([sparse, labels]))
    assert sum_primals(machine) == pytest.approx(sum_primals(LinearSVC(tol=1e-8).fit(X, LABELS)), rel=1e-7)


@pytest.mark.slow
def test_a_time_budget_holds_on_a_cluster(client):
    """A fit that is out of time says so, and is not far beyond."""
    slow = cut(LABELS)[0].map_blocks(wait_a_while, meta=np.empty((0, 0)))
    watch = OwnTimer()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearSVC(tol=1e-12, max_seconds=1.0).fit(slow, cut(LABELS)[1].persist(scheduler="sync"))
    assert watch.seconds < 12.0 + SLACK_SECONDS
    assert any("max_seconds" in str(each.message) or "time" in str(each.message) for each in caught)


def wait_a_while(block: np.ndarray) -> np.ndarray:
    """A slow disk."""
    time.sleep(0.05)
    return block


def kill_in_a_fit(client, passes: int = 3) -> threading.Thread:
    """SIGKILL for one worker once some passes are over, from another thread."""
    victim = next(iter(client.run(os.getpid).values()))
    done = DaskBlocks.run

    def kill():
        while watched["passes"] < passes:
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)

    watched = {"passes": 0}

    def count(self, *arguments):
        watched["passes"] += 1
        return done(self, *arguments)

    DaskBlocks.run = count
    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squared hinge", "hinge"])
def test_a_worker_killed_during_a_fit_changes_no_bit(name, client, monkeypatch):
    """Its blocks are computed again elsewhere, and the machine is the same."""
    monkeypatch.setattr(DaskBlocks, "run", DaskBlocks.run)  # puts it back
    data = persist(client, FITS[name][1])
    client.gather([client.submit(len, each) for each in distributed.futures_of(data)])  # all there
    thread = kill_in_a_fit(client)
    machine = fit(name, *data)
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert np.array_equal(read(machine), read(fit_at_home(name)))
    client.wait_for_workers(3, timeout=60)


@pytest.mark.slow
def test_a_lost_cluster_and_another_one(tmp_path, monkeypatch):
    """The scheduler goes in the middle of a fit; the fit goes on from its checkpoint, on another cluster."""
    monkeypatch.setattr("maxmargin.runtime.checkpoints.SAVE_INTERVAL_SECONDS", 0.0)
    path = tmp_path / "fit.npz"
    machine = LinearSVC(loss="hinge", tol=TOL, checkpoint=path)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    done = DaskBlocks.run
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):

        def close(self, *arguments):
            if self.counters["passes"] == 6:
                cluster.close()
            return done(self, *arguments)

        monkeypatch.setattr(DaskBlocks, "run", close)
        with pytest.raises(ClusterLost, match="The cluster was lost after 6 passes"):
            machine.fit(*cut(LABELS))
    monkeypatch.setattr(DaskBlocks, "run", done)
    assert path.exists()
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        machine.fit(*cut(LABELS))
    assert sum_primals(machine) == pytest.approx(sum_primals(fit_at_home("hinge")), rel=1e-9)
    assert machine.certificate_.relative_gap <= TOL


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bits(cluster, client):
    """Three, two, one: last in this file, since it takes long to start workers again."""
    for workers in (2, 1):
        scale(cluster, client, workers)
        for name in ("squared hinge", "hinge"):
            assert np.array_equal(read(fit(name, *persist(client, FITS[name][1]))), read(fit_at_home(name)))
