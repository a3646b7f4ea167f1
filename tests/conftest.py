"""What tests share."""

from __future__ import annotations

import signal
import time
import warnings

import pytest
from compilation import compile_kernel_machines
from selection import mark_unselected
from time_allowances import OWN_CLOCK

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-slow` what the marker `cover` leaves out, before `-m` chooses."""
    mark_unselected(items)


@pytest.fixture(scope="session")
def compiled() -> None:
    """Everything compiled before anything is timed: a fresh machine compiles for seconds, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile_kernel_machines()


@pytest.fixture
def own_clock():
    """Fits look at a clock that does not count the seconds for which other programs had the cores.

    So a fit with a budget, or one that was interrupted, has as much time to judge its point on a busy machine as on an
    idle one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", OWN_CLOCK)
        yield


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
