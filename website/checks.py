"""What browsers would stumble over in the pages that were written: dead links, and anything from the network."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
REMOTE = ("http:", "https:", "//")
ELSEWHERE = (*REMOTE, "mailto:", "data:", "javascript:")


class Page(HTMLParser):
    """The links, the parts that a browser loads, and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to and what it can be referred to by."""
        found = {name: value for name, value in attrs if value is not None}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if found.get(LOADED.get(tag, "")) and found.get("rel") not in ("canonical", "search"):
            self.loaded.add(found[LOADED[tag]])


def find_faults(folder: Path) -> list[str]:
    """A sentence for each link that leads nowhere, and for each part that a page would load from the network."""
    files = [path for path in folder.rglob("*.html") if path.parts[len(folder.parts)] != "_static"]
    pages = {path.relative_to(folder).as_posix(): Page(path.read_text("utf-8")) for path in files}
    faults = []
    for name, page in sorted(pages.items()):
        faults += [f"{name} loads {each} from the network." for each in sorted(page.loaded) if each.startswith(REMOTE)]
        for link in sorted(page.links | page.loaded):
            if not link.startswith(ELSEWHERE) and not leads_somewhere(link, name, pages, folder):
                faults.append(f"{name} has a link to {link}, which leads nowhere.")
    return faults


def leads_somewhere(link: str, name: str, pages: dict[str, Page], folder: Path) -> bool:
    """Whether the file is there, and the anchor in it."""
    target, anchor = urldefrag(link)
    path = unquote(target).partition("?")[0]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    if file in pages:
        return not anchor or unquote(anchor) in pages[file].anchors
    return (folder / file).exists()
