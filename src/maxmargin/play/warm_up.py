"""Small fits before the first one of the page, so that it does not wait for compiled code to be loaded."""

from __future__ import annotations

from ..runtime.interrupt import Interrupt
from .fits import stream_fit
from .requests import read_request

POINTS = [[0.0, 0.0, 0], [1.0, 0.0, 0], [0.0, 1.0, 1], [1.0, 1.5, 1]]


def warm_up() -> None:
    """Fit four points with a kernel machine and with a linear one, and throw away what they say."""
    for model, solver in (("SVC", "smo"), ("LinearSVC", "auto")):
        message = {"points": POINTS, "model": model, "solvers": [solver]}
        stream_fit(read_request(message), lambda _: None, Interrupt())
