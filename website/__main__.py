"""python -m website [--no-gallery]: the site in build/site/html; any warning is an error, and so is a dead link."""

from __future__ import annotations

import argparse
import os
import sys
import time

from .checks import find_faults
from .places import HTML, ROOT, STAGE


def build(*, run_gallery: bool) -> int:
    """Stage the pages, and have Sphinx write those that have changed."""
    os.environ["GALLERY"] = "1" if run_gallery else "0"
    os.environ.setdefault("MPLBACKEND", "agg")
    sys.argv[1:] = []  # what programs of the gallery would take for theirs
    from sphinx.cmd.build import main

    from .staging import has_gallery, stage

    stage(gallery=has_gallery())
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    places = ["--conf-dir", str(ROOT / "website"), "--doctree-dir", str(HTML.with_name("doctrees")), str(STAGE)]
    return main([*options, *places, str(HTML)]) or tell(find_faults(HTML))


def tell(faults: list[str]) -> int:
    """Print what is wrong with the pages; 1 if there is anything."""
    print("\n".join(faults), end="\n" * bool(faults), file=sys.stderr)
    return int(bool(faults))


def parse_arguments() -> argparse.Namespace:
    """Whether the examples of the gallery are run."""
    parser = argparse.ArgumentParser(prog="python -m website", description="Write the site to build/site/html.")
    parser.add_argument("--no-gallery", action="store_true", help="show the examples without running them")
    return parser.parse_args()


if __name__ == "__main__":
    started = time.monotonic()
    failed = build(run_gallery=not parse_arguments().no_gallery)
    if failed:
        sys.exit("The site has warnings: they are above, and each of them is an error.")
    print(f"{HTML / 'index.html'} is there, after {time.monotonic() - started:.0f} s.")
