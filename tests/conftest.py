"""What tests share."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from selection import mark_unselected

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-slow` what the marker `cover` leaves out, before `-m` chooses."""
    mark_unselected(items)


@pytest.fixture(scope="session")
def compiled() -> None:
    """Everything compiled before anything is timed: a fresh machine compiles for seconds, once."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, tol, forms in ((60, 1e-8, (np.asarray, np.float32, sp.csr_array)), (2500, 1e-3, (np.asarray,))):
            X, y = rng.normal(size=(n, 3)), np.arange(n) % 2
            for data in (form(X) for form in forms):
                for intercept in ("free", "none"):
                    for model in (SVC(), SVC(kernel="linear"), SVC(kernel="laplacian"), NuSVC(nu=0.9), SVR(), NuSVR()):
                        model.set_params(intercept=intercept, max_iter=200, tol=tol).fit(data, y)
                    SVC(intercept=intercept, max_iter=200, tol=tol).fit(data, np.arange(n) % 3)
                OneClassSVM(max_iter=200, tol=tol).fit(data)


@pytest.fixture(scope="module")
def cluster():
    """Three worker processes of one thread."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    """A client of the three that is not the active one: fits without it stay in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client
