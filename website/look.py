"""python -m website.look [FOLDER]: every page of the site in Chromium, from disk, as wide as a desk and as a phone.

It says which pages take longest, which are wider than the screen and what fails, tries the search, and with FOLDER
leaves pictures of some pages there, light and dark. It needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from .places import HTML

SCREENS = {"desk": (1280, 900), "phone": (390, 844)}
LONGEST_SECONDS = 2.0  # that a page may take
PICTURED = (
    "index", "tour", "guide/index", "guide/choosing", "gallery/index", "gallery/machines/plot_which_c",
    "reference/index", "reference/maxmargin.SVC", "benchmarks/large_fits",
)  # fmt: skip
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def look(pictures: Path | None) -> list[str]:
    """What is wrong, a sentence each."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        faults = [fault for screen in SCREENS for fault in open_all(browser, screen)]
        faults += try_search(browser)
        if pictures:
            take_pictures(browser, pictures)
        browser.close()
    return faults


def open_all(browser, screen: str) -> list[str]:
    """Every page on one screen."""
    width, height = SCREENS[screen]
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    faults, seconds = [], {}
    page.on("pageerror", lambda error: faults.append(f"A script fails: {error}"))
    page.on("request", lambda each: faults.extend([f"{each.url} is loaded."] * each.url.startswith("http")))
    for path in [each for each in sorted(HTML.rglob("*.html")) if "_static" not in each.parts]:
        name, started = path.relative_to(HTML).as_posix(), time.perf_counter()
        page.goto(path.as_uri(), wait_until="load")
        seconds[name] = time.perf_counter() - started
        needed = page.evaluate("document.documentElement.scrollWidth")
        faults += [f"{name} is {needed} wide on a {screen} of {width}."] * (needed > width)
    slowest = max(seconds, key=seconds.__getitem__)
    print(f"{screen}: {len(seconds)} pages; {slowest} takes longest, {seconds[slowest]:.2f} s.")
    return faults + [f"{name} takes {took:.2f} s." for name, took in seconds.items() if took > LONGEST_SECONDS]


def try_search(browser) -> list[str]:
    """A word that is on some pages."""
    page = browser.new_page()
    page.goto(HTML.joinpath("search.html").as_uri() + "?q=duality+gap")
    page.wait_for_selector("#search-results li p", timeout=10_000)
    found = page.locator("#search-results li").count()
    return [] if found >= 5 else [f"The search finds {found} pages with a duality gap."]


def take_pictures(browser, folder: Path) -> None:
    """Some pages on both screens, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for screen, (width, height) in SCREENS.items():
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            for name in PICTURED:
                page.goto(HTML.joinpath(f"{name}.html").as_uri(), wait_until="load")
                page.screenshot(path=folder / f"{name.replace('/', '_')}-{screen}-{scheme}.png")


if __name__ == "__main__":
    found = look(Path(sys.argv[1]) if sys.argv[1:] else None)
    sys.exit("\n".join(found) or None)
