"""What the number means with which a command ends."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command, for scripts to look at."""

    SUCCESS = 0  # a fit reached its tolerance, or the work is done
    BAD_INPUT = 1  # a file or a value is wrong; one sentence on stderr says which
    USAGE = 2  # options that there are not, or that do not go together
    UNFINISHED = 3  # a fit stopped before its tolerance; the best model so far is saved
    GAP_TOO_LARGE = 4  # certify found a gap above the one that was asked for
    INTERRUPTED = 130  # Ctrl-C; the best model so far is saved where a fit had begun
    TERMINATED = 143  # SIGTERM; the same


class Terminated(KeyboardInterrupt):
    """SIGTERM came before there was anything to save; ends with `Exit.TERMINATED`."""


class UsageError(Exception):
    """Options that do not go together, found after they were read; ends with `Exit.USAGE`."""
