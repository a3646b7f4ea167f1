"""Where a file of the repository appears on the site."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "site" / "pages"
HTML = ROOT / "build" / "site" / "html"
SOURCE_SCHEME = "source:"  # of links to files that are no pages; Sphinx shows them with their syntax in colour
PICTURES = {".png", ".gif", ".svg", ".jpg"}
NAMED_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licence.md",
    "benchmarks/RESULTS.md": "benchmarks/index.md",
    "docs/notebooks/README.md": "notebooks/index.md",
}
MADE_PAGES = {"README.md", "LICENSE", "benchmarks/RESULTS.md"}  # written here, not copied
GALLERY = PurePosixPath("docs/gallery")
MADE = (GALLERY, PurePosixPath("docs/reference"), PurePosixPath("docs/command_line_options.md"))


def find_page(path: PurePosixPath) -> PurePosixPath | None:
    """The page or picture of the site that shows a file of the repository; None if it is to be shown as source."""
    if str(path) in NAMED_PAGES:
        return PurePosixPath(NAMED_PAGES[str(path)])
    if path.is_relative_to(GALLERY):
        if path.suffix == ".py":
            return path.relative_to("docs").with_suffix(".rst")
        return PurePosixPath("gallery/index.rst")
    shown = path.suffix in PICTURES or path.suffix == ".md"
    for folder, place in (("docs", ""), ("benchmarks/results", "benchmarks")):
        if shown and path.is_relative_to(folder):
            return PurePosixPath(place) / path.relative_to(folder)
    return None


def is_made(path: PurePosixPath) -> bool:
    """Whether the site has a page there that is not in the repository; Sphinx checks links to it."""
    return any(path.is_relative_to(each) for each in MADE)


def list_copied() -> list[PurePosixPath]:
    """The files of the repository that are pages or pictures of the site, the gallery's aside."""
    files = [ROOT / name for name in NAMED_PAGES]
    files += [*(ROOT / "docs").rglob("*"), *(ROOT / "benchmarks" / "results").iterdir()]
    paths = [PurePosixPath(each.relative_to(ROOT).as_posix()) for each in files if each.is_file()]
    paths = [each for each in paths if str(each) not in MADE_PAGES and not each.is_relative_to(GALLERY)]
    return sorted({each for each in paths if find_page(each)})
