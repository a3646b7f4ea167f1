"""The seconds that tests grant to other programs, and after which a test that hangs is ended."""

from __future__ import annotations

SLACK_SECONDS = 3.0  # seconds that other programs may take away
HANG_SECONDS = 300.0  # after which a test ends that would run for ever; none asserts that it takes less
