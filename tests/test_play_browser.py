"""The page in a real browser: draw, fit, step, compare, export, bad input, two tabs, narrow windows, keys, themes."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from maxmargin import SVC
from maxmargin.play import write_player

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
MILLISECONDS = 60_000  # after which a page that waits has failed


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "maxmargin", "play", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
    finally:
        process.communicate(timeout=MILLISECONDS / 1000)


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window."""
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


class Tab:
    """A page that has been opened, and what went wrong in it."""

    def __init__(self, browser, address: str, **settings):
        self.context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **settings})
        self.page = self.context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda line: self.faults.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.wait()

    def wait(self, status: str = "done") -> None:
        """Until the page says so."""
        self.page.wait_for_selector(f'html[data-status="{status}"]')

    def choose(self, name: str, value: str) -> None:
        """Choose an option, and wait for the fit."""
        self.page.select_option(f"select[name={name}]", value)
        self.wait()

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return self.page.locator(selector).count()

    def text(self, selector: str) -> str:
        """What an element says."""
        return self.page.inner_text(selector)

    @property
    def points(self) -> int:
        """How many points the first panel shows."""
        return self.count('.plane[data-panel="0"] [data-support]')


@pytest.fixture
def tab(browser, url) -> Iterator[Tab]:
    """The page after its first fit; it must not have complained to the console at the end."""
    opened = Tab(browser, url)
    yield opened
    assert opened.faults == []
    opened.context.close()


def test_the_first_fit_shows_boundary_margin_and_support_vectors(tab):
    assert tab.points == 120
    assert tab.count(".boundary") >= 1
    assert tab.count(".margin") >= 2
    assert tab.count('[data-support="1"]') > 0
    assert tab.count('[data-support="2"]') > 0
    assert "converged" in tab.text("#status")
    assert len(tab.asked) == 1  # the page itself, and nothing else


@pytest.mark.slow
def test_points_are_drawn_erased_and_taken_back(tab):
    box = tab.page.locator(".plane svg").bounding_box()
    corner = (box["x"] + 0.25 * box["width"], box["y"] + 0.9 * box["height"])
    tab.page.check("input[name=tool][value='2']", force=True)
    tab.page.mouse.click(*corner)
    tab.wait()
    assert tab.points == 121
    assert "triangles" in tab.text(".panel h2")
    tab.page.check("input[name=tool][value=erase]", force=True)
    tab.page.mouse.click(*corner)
    tab.wait()
    assert tab.points == 120
    tab.page.click("#undo")
    tab.wait()
    assert tab.points == 121


def test_steps_go_back_and_forth(tab):
    last = tab.text(".panel h2 span")
    tab.page.click("#step-first")
    assert "iteration 0," in tab.text(".panel h2 span")
    tab.page.click("#step-forward")
    assert "iteration 1," in tab.text(".panel h2 span")
    tab.page.click("#step-back")
    assert "iteration 0," in tab.text(".panel h2 span")
    tab.page.click("#step-play")
    tab.page.wait_for_selector("#step-last:disabled")
    assert tab.text(".panel h2 span") == last


def test_two_solvers_stand_side_by_side(tab):
    tab.choose("second", "smo, maximal violating pair")
    left, right = (each.bounding_box() for each in tab.page.locator(".plane svg").all())
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert tab.count("#gap svg circle") == 2
    assert tab.count("#numbers dl.of-2") == 1


@pytest.mark.slow
def test_a_solver_that_refuses_says_why_beside_one_that_does_not(tab):
    tab.choose("second", "newton")
    assert "Newton's method works on linear machines" in tab.text(".panel:nth-child(2) .refused")
    assert "smo: converged" in tab.text("#status")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["SVC", "LinearSVC"])
def test_five_hundred_points_by_every_solver(tab, model):
    """Each shows its boundary, or says why it does not take the problem."""
    tab.page.fill("input[name=max_seconds]", "1")
    tab.choose("amount", "500")
    tab.choose("model", model)
    tab.choose("loss", "hinge")
    solvers = [each.get_attribute("value") for each in tab.page.locator("select[name=solver] option").all()]
    shown = 0
    for solver in solvers:
        tab.choose("solver", solver)
        if tab.page.is_visible(".refused"):
            assert "use " in tab.text(".refused") or "this problem has" in tab.text(".refused")
        else:
            assert tab.points == 500
            assert tab.count(".boundary") >= 1, solver
            assert "first picture after" in tab.text("#status")
            shown += 1
    assert len(solvers) > 15
    assert shown >= 9


def test_bad_input_is_answered_and_mended(tab):
    tab.page.fill("input[name=C]", "-1")
    tab.page.press("input[name=C]", "Tab")
    tab.wait()
    assert "C" in tab.text(".refused")
    tab.page.fill("input[name=C]", "")
    tab.page.press("input[name=C]", "Tab")
    tab.wait("refused")
    assert tab.text("#alert") == "C must be a number, got None."
    tab.page.fill("input[name=C]", "2")
    tab.page.press("input[name=C]", "Tab")
    tab.wait()
    assert not tab.page.is_visible("#alert")
    tab.page.click("#clear")
    tab.wait("refused")
    assert tab.text("#alert") == "There are no points yet: draw some, or choose an example."


@pytest.mark.slow
def test_everything_is_exported(tab):
    heads = {}
    for title in ("Picture, SVG", "Picture, PNG", "Data, CSV", "Python code"):
        with tab.page.expect_download() as waited:
            tab.page.click(f"#exports button:text-is('{title}')")
        heads[waited.value.suggested_filename] = Path(waited.value.path()).read_bytes()
    assert heads["maxmargin.svg"].startswith(b"<svg ")
    assert heads["maxmargin.png"].startswith(b"\x89PNG")
    assert len(heads["points.csv"].splitlines()) == 121
    compile(heads["fit.py"], "fit.py", "exec")


def test_a_long_fit_can_be_watched_and_stopped(tab):
    tab.page.fill("input[name=tol]", "1e-14")
    tab.page.select_option("select[name=solver]", "gradient_descent")
    tab.wait("running")
    tab.page.wait_for_selector("#step-back:enabled")
    tab.page.click("#step-first")
    assert "iteration 0," in tab.text(".panel h2 span")
    tab.page.click("button:text-is('Stop')")
    tab.wait()
    assert tab.text("#status") == "Stopped."
    tab.page.fill("input[name=tol]", "1e-13")
    tab.page.press("input[name=tol]", "Tab")
    tab.page.click("button:text-is('Stop')")  # before the fit has begun
    tab.page.wait_for_timeout(500)
    assert tab.text("#status") == "Stopped."


@pytest.mark.slow
def test_curves_have_a_tube(tab):
    tab.page.check("input[value=curve]", force=True)
    tab.wait()
    assert tab.count(".margin") == 2
    assert "tube" in tab.text("#legend")


def test_keys_alone_draw_and_fit(tab):
    tab.page.locator(".plane").focus()
    for key in ("3", "ArrowUp", "Shift+ArrowRight", "Enter"):
        tab.page.keyboard.press(key)
    tab.wait()
    assert tab.points == 121
    tab.page.keyboard.press("Delete")
    tab.wait()
    assert tab.points == 120


@pytest.mark.slow
def test_keys_reach_every_control(tab):
    reached = set()
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        reached.add(tab.page.evaluate("document.activeElement.name || document.activeElement.id"))
    assert {"kind", "tool", "example", "model", "kernel", "C", "gamma", "solver", "second", "tol", "max_seconds",
            "theme", "undo", "clear", "step-first", "step-play", "against"} <= reached  # fmt: skip


@pytest.mark.slow
def test_two_tabs_do_not_disturb_each_other(tab, browser, url):
    other = Tab(browser, url)
    other.choose("example", "three clouds")
    assert tab.page.input_value("select[name=example]") == "two moons"
    tab.choose("model", "LinearSVC")
    assert "against" in other.text(".panel h2")
    assert other.faults == []
    other.context.close()


@pytest.mark.parametrize("width", [320, *(pytest.param(width, marks=pytest.mark.slow) for width in (390, 800))])
def test_a_narrow_window_needs_no_sideways_scrolling(browser, url, width):
    narrow = Tab(browser, url, viewport={"width": width, "height": 844})
    narrow.choose("second", "smo, maximal violating pair")
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= width
    assert narrow.faults == []
    narrow.context.close()


@pytest.mark.slow
def test_dark_and_light(browser, url):
    dark = Tab(browser, url, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert dark.page.evaluate(ground) == "rgb(13, 17, 23)"
    dark.page.click("#theme")
    assert dark.page.evaluate(ground) == "rgb(244, 245, 247)"
    dark.context.close()


def test_a_recorded_fit_plays_without_a_server(browser, tmp_path):
    from sklearn.datasets import make_moons

    X, y = make_moons(60, noise=0.2, random_state=0)
    write_player(tmp_path / "moons.html", SVC(C=10.0), X, y, solvers=("smo",))
    recorded = Tab(browser, (tmp_path / "moons.html").as_uri())
    assert recorded.points == 60
    assert "iteration 0," in recorded.text(".panel h2 span")
    recorded.page.click("#step-last")
    assert recorded.count(".boundary") >= 1
    assert not recorded.page.is_visible("#controls")
    assert recorded.faults == []
    assert len(recorded.asked) == 1
    recorded.context.close()
