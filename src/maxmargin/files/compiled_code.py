"""Where compiled code is kept, for those who make images of machines."""

from __future__ import annotations


def find_compiled_code() -> str | None:
    """The folder in which compiled code is kept, or was left by `maxmargin compile`; None if it cannot be kept."""
    from ..compiled.compiler import find_folder

    return find_folder()
