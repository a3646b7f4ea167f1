"""The parser of every command, with suggestions for what it does not know."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from difflib import get_close_matches

UNRECOGNIZED_PREFIX = "unrecognized arguments: "  # as argparse says it


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations, which suggests the nearest option for one that it does not know."""

    def __init__(self, program: str, usage: str | None = None, description: str | None = None, **more):
        usage = None if usage is None else f"{program} {usage}"
        super().__init__(prog=program, usage=usage, description=description, allow_abbrev=False, **more)

    def error(self, message: str) -> None:
        """Usage, one sentence, exit code 2."""
        if message.startswith(UNRECOGNIZED_PREFIX):
            words = message.removeprefix(UNRECOGNIZED_PREFIX).split()
            option = next((word for word in words if word.startswith("-")), "")
            message = f"there is no option {option}" if option else f"one file too many: {words[0]}"
            message += suggest_nearest(option.partition("=")[0], self._option_string_actions)
        super().error(message)


def suggest_nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is nearest, as a question; nothing if none is near."""
    lower = {each.lower(): each for each in known}
    near = get_close_matches(word.lower(), lower, 1)
    return f"; did you mean {lower[near[0]]}?" if near else ""
