"""Warnings at the line of the user: the first frame outside this package and outside scikit-learn."""

from __future__ import annotations

import sys
import warnings

OWN_PACKAGES = ("maxmargin", "sklearn")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, as of the line from which this package was called, whatever lies between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_own(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def is_own(module_name: object) -> bool:
    """Whether a module of this name is not the user's; code that is run by `exec` may have any value for a name."""
    return isinstance(module_name, str) and module_name.partition(".")[0] in OWN_PACKAGES
