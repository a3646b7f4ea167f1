"""Budgets and Ctrl-C where one product with the kernel matrix takes seconds, and with it every certificate.

The kernel sleeps: so its products take as long on every machine, and cost no processor.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from long_fits import fit_quietly, make_clouds
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, certify
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Kernel
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.runtime.deadline import GRACE_SECONDS, Deadline
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.runtime.pace import DECAY_FACTOR, Pace
from maxmargin.runtime.threads import CORES

pytestmark = pytest.mark.usefixtures("own_clock")

N = 4000


@dataclass(frozen=True)
class Slow(Kernel):
    """exp(-gamma |x - z|^2), with naps: a product with the whole matrix takes `seconds` on all cores."""

    seconds: float = 8.0
    name = "slow"
    psd = True

    def evaluate(self, A, B):
        """K_ij, after a nap in proportion to its entries."""
        time.sleep(self.seconds * CORES * A.n * B.n / N**2)
        return RBF(0.05).evaluate(A, B)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


X, Y = make_clouds(N, 5)
MACHINES = {
    "SVC": SVC(kernel=Slow(), C=10.0),
    "SVC, gradient descent": SVC(kernel=Slow(), solver="gradient_descent"),
    "SVC, gradient descent, smooth": SVC(kernel=Slow(), loss="squared_hinge", solver="gradient_descent"),
    "SVC, AdaGrad": SVC(kernel=Slow(), solver="adagrad"),
    "SVR": SVR(kernel=Slow()),
    "NuSVC": NuSVC(kernel=Slow(), nu=0.3),
    "NuSVR": NuSVR(kernel=Slow()),
    "OneClassSVM": OneClassSVM(kernel=Slow()),
}


@pytest.mark.parametrize("name", MACHINES)
def test_budgets_hold_where_certificates_take_long(name):
    """The end comes in time; a point that could not be judged by then says so."""
    model = MACHINES[name].set_params(max_seconds=0.3)
    watch = OwnTimer()
    fit_quietly(model, X, Y)
    assert watch.seconds < 1.1 * 0.3 + 0.5 + SLACK_SECONDS
    assert model.result_.status is Status.MAX_SECONDS
    judged = model.certificate_.relative_gap < np.inf
    assert judged != ("no time to judge" in model.result_.message)
    assert np.isfinite(model.predict(X[:3])).all()


def test_the_last_certificate_is_part_of_the_budget():
    """Where there is time for a certificate, it is there: of as many duals as can be judged in time."""
    model = SVC(kernel=Slow(seconds=1.0), C=10.0, max_seconds=1.5)
    fit_quietly(model, X, Y)
    assert model.result_.status is Status.MAX_SECONDS
    assert model.result_.n_iter > 0
    assert model.certificate_.relative_gap < np.inf


@pytest.mark.parametrize("call", ["predict", "certify"])
def test_ctrl_c_is_heard_between_tiles(call):
    """A prediction of 20 s and a certificate of as much end at once, and nothing is left at work."""
    model = SVC(kernel=Slow(seconds=0.0)).fit(X, Y)
    model._kernel = model.kernel = replace(model.kernel, seconds=30.0)
    sent: list[OwnTimer] = []

    def press() -> None:
        sent.append(OwnTimer())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, press).start()
    with pytest.raises(KeyboardInterrupt):
        model.predict(X) if call == "predict" else certify(model, X, Y)
    assert sent[0].seconds < 0.2 + SLACK_SECONDS


# ---- the parts ------------------------------------------------------------------------------------------------------


def test_a_pace_is_the_mean_of_the_last_measurements():
    """seconds / work, older measurements counting less, long ones no more than others."""
    pace = Pace()
    assert pace.is_stale
    assert pace.estimate(1e6) == 0.0
    pace.note(0.1, 1000)
    assert not pace.is_stale
    assert pace.estimate(500) == pytest.approx(0.05)
    pace.note(0.1, 500)
    assert pace.estimate(1000) == pytest.approx(1000 * 0.1 * (DECAY_FACTOR + 1) / (1000 * DECAY_FACTOR + 500))
    for _ in range(60):
        pace.note(1e-3, 100)
    assert pace.estimate(100) == pytest.approx(1e-3, rel=1e-3)


def test_work_that_is_interrupted_is_not_noted():
    """Its seconds are not those of the work."""
    pace = Pace()
    with pytest.raises(KeyboardInterrupt), pace.measure(100):
        raise KeyboardInterrupt
    assert pace.work == 0.0


def test_the_pace_of_a_kernel_is_measured_on_its_own_samples():
    """Not looked up: one that naps is as slow as its naps."""
    features = Gram.from_data(Slow(seconds=16.0), X)
    assert features.estimate_seconds(N) == 0.0
    features.measure_pace()
    assert features.estimate_seconds(N) >= 16.0
    assert features.subset(np.arange(3000)).pace is features.pace


def test_a_certificate_that_cannot_end_in_time_is_given_up():
    """Then nothing is held back for it, and the solver has all the time."""
    features = Gram.from_data(RBF(0.05), X)
    features.pace.note(1.0, N)  # a column takes a second
    problem = Problem(features, 2.0 * Y - 1.0, np.ones(N), Hinge(), 0.0)

    class Run:
        support, reserve = 5, 0.0

    deadline = Deadline(problem, 100.0, Interrupt())
    deadline.support = 5  # it has not grown
    deadline.reserve_certificate_time(Run)
    assert 5.0 < deadline.reserve < 7.0
    assert deadline.has_time_to_certify(Run)
    Run.support = deadline.support = 200
    deadline.reserve_certificate_time(Run)
    assert deadline.reserve == 0.0
    assert not deadline.has_time_to_certify(Run)
    assert deadline.has_time_for(100.0 + 0.5 * GRACE_SECONDS)
