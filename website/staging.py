"""The pages of the site, collected in one folder: copied from the repository, or made from the code."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

from .benchmark_pages import make_benchmark_pages
from .command_pages import make_command_pages
from .links import translate_links
from .places import GALLERY, ROOT, STAGE, find_page, list_copied
from .reference_pages import make_reference_pages

LICENCE = """# Licence

maxmargin is free software under the BSD 3-Clause License. You can use it, change it and sell what you make with it, in
commercial products too, as long as the copyright notice and the text below stay with the copies.

```text
{text}
```
"""
NO_GALLERY = "Gallery\n=======\n\nNo examples yet.\n"


def stage(*, gallery: bool) -> None:
    """Every page in build/site/pages; those that have not changed keep their time, and Sphinx does not read them."""
    pages: dict[PurePosixPath, str | bytes] = {}
    for path in list_copied():
        content = (ROOT / path).read_bytes()
        page = find_page(path)
        assert page is not None
        is_text = path.suffix == ".md"
        pages[page] = translate_links(content.decode(), path, page) if is_text else content
    pages[PurePosixPath("licence.md")] = LICENCE.format(text=(ROOT / "LICENSE").read_text(encoding="utf-8").strip())
    pages |= make_benchmark_pages() | make_command_pages() | make_reference_pages(gallery=gallery)
    if not has_gallery():
        pages[PurePosixPath("gallery/index.rst")] = NO_GALLERY
    write(pages)


def has_gallery() -> bool:
    """Whether there are examples to show."""
    return any((ROOT / GALLERY).rglob("plot_*.py"))


def write(pages: dict[PurePosixPath, str | bytes]) -> None:
    """Files that differ from what is there; what is no page any more is removed, the gallery and its cache aside."""
    for page, content in pages.items():
        data = content.encode() if isinstance(content, str) else content
        place = STAGE / page
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_bytes() != data:
            place.write_bytes(data)
    kept = {STAGE / page for page in pages}
    for place in [each for each in STAGE.rglob("*") if each.is_file()]:
        if place not in kept and not is_of_gallery(place):
            place.unlink()
    if not has_gallery():
        shutil.rmtree(STAGE / "backreferences", ignore_errors=True)


def is_of_gallery(place: Path) -> bool:
    """Whether sphinx-gallery wrote it."""
    first = place.relative_to(STAGE).parts[0]
    return has_gallery() and first in ("gallery", "backreferences", "sg_execution_times.rst")
