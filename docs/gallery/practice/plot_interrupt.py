"""
What does Ctrl-C leave behind?
==============================

A machine that predicts, and its certificate. Here a callback presses Ctrl-C as soon as the solver reports a gap below
one half; a second fit with ``warm_start=True`` goes on from there.
"""

import signal

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from maxmargin import SVC
from maxmargin.plots import plot_decision_boundary


class PressCtrlC:
    """Sends the signal of the keyboard once the gap is small enough."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        """After each batch of steps."""
        progress = getattr(context, "progress", None)
        if progress is not None and progress.relative_gap < 0.5:
            signal.raise_signal(signal.SIGINT)


X, y = make_moons(600, noise=0.3, random_state=0)
model = SVC(C=1e5, gamma=1.0, solver="smo", warm_start=True).set_callbacks(PressCtrlC())
figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(f"{model.result_.status}: {model.certificate_}")
plot_decision_boundary(model, X, y, ax=panels[0], resolution=200)
panels[0].set_title(f"interrupted: relative gap {model.certificate_.relative_gap:.0e}")
model.set_callbacks().fit(X, y)
print(f"{model.result_.status}: {model.certificate_}")
plot_decision_boundary(model, X, y, ax=panels[1], resolution=200)
panels[1].set_title(f"continued: relative gap {model.certificate_.relative_gap:.0e}")
