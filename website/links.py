"""Links of Markdown pages, from the places of the repository to those of the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import PurePosixPath

from .places import ROOT, SOURCE_SCHEME, find_page, is_made

CODE = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ \t]*$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.S | re.M
)
LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s]+)(?=[)\s])")
ELSEWHERE = re.compile(r"[a-z]+:|#")


class BrokenLink(ValueError):
    """A link to a file that is not there."""


def translate_links(text: str, path: PurePosixPath, page: PurePosixPath) -> str:
    """The text of the file `path` with the links that it has as `page` of the site."""
    return replace_outside_code(text, lambda part: LINK.sub(lambda found: translate(found[0], path, page), part))


def replace_outside_code(text: str, replace: Callable[[str], str]) -> str:
    """The text with what lies between blocks and spans of code replaced."""
    parts, at = [], 0
    for code in CODE.finditer(text):
        parts += [replace(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, replace(text[at:])])


def translate(target: str, path: PurePosixPath, page: PurePosixPath) -> str:
    """One link: to a page or picture of the site, or to the source of a file."""
    if ELSEWHERE.match(target):
        return target
    place, hash_sign, anchor = target.partition("#")
    file = PurePosixPath(posixpath.normpath(posixpath.join(path.parent, place)))
    if not (ROOT / file).exists() and not is_made(file):
        raise BrokenLink(f"{path}: the link {target} leads to {file}, which is not there.")
    shown = find_page(file)
    if shown is None:
        return f"{SOURCE_SCHEME}{file}{hash_sign}{anchor}"
    if file.name == "RESULTS.md" and anchor:  # one page for each part of it
        shown, hash_sign, anchor = PurePosixPath(f"benchmarks/{anchor}.md"), "", ""
    return posixpath.relpath(shown, page.parent) + hash_sign + anchor
