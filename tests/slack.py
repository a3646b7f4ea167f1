"""The seconds a test of a budget or of Ctrl-C grants to other programs."""

from __future__ import annotations

SLACK_SECONDS = 3.0  # seconds that other programs may take away
