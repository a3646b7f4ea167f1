"""Warnings at the line of the user: the first frame outside this package and outside scikit-learn."""

from __future__ import annotations

import sys
import warnings

OWN_PACKAGES = ("maxmargin", "sklearn")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, as of the line from which this package was called, whatever lies between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
