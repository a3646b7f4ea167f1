"""The site: every page has its place, links are translated, options and names are all there, and faults are found."""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath

import pytest

from maxmargin import cli, public
from website.checks import find_faults
from website.command_pages import escape, make_command_pages
from website.docstrings import prepare_docstring
from website.links import BrokenLink, translate_links
from website.places import ROOT, find_page, list_copied
from website.public_names import list_names
from website.reference_pages import make_reference_pages

HOME = PurePosixPath("docs/index.md"), PurePosixPath("index.md")
EXAMPLES = sorted((ROOT / "docs" / "gallery").rglob("plot_*.py"))
SHIPPED = {"dataclasses", "maxmargin", "matplotlib", "numpy", "scipy", "signal", "sklearn", "time", "warnings"}
MAX_EXAMPLE_LINES = 70  # with the title and the explanation
NOTEBOOK = PurePosixPath("docs/notebooks/README.md"), PurePosixPath("notebooks/index.md")


@pytest.mark.parametrize(
    ("text", "place", "translated"),
    [
        ("[x](linear.md#losses)", HOME, "[x](linear.md#losses)"),
        ("[x](../CHANGELOG.md)", HOME, "[x](changelog.md)"),
        ("[x](../../CONTRIBUTING.md)", NOTEBOOK, "[x](../contributing.md)"),
        ("[x](../benchmarks/RESULTS.md#growth)", HOME, "[x](benchmarks/growth.md)"),
        ("![x](images/boundary.png)", HOME, "![x](images/boundary.png)"),
        ("[x](../tests/pages.py#L3)", HOME, "[x](source:tests/pages.py#L3)"),
        ("[x](gallery/) [y](#there)", HOME, "[x](gallery/index.rst) [y](#there)"),
        ("[x](https://semver.org)", HOME, "[x](https://semver.org)"),
        ("`[x](none.md)`\n\n```\n[x](none.md)\n```\n", HOME, "`[x](none.md)`\n\n```\n[x](none.md)\n```\n"),
    ],
)
def test_links_are_those_of_the_site(text, place, translated):
    """Of pages, pictures and other files; code stays as it is."""
    assert translate_links(text, *place) == translated


def test_a_link_to_nothing_is_refused():
    """With the page and the link."""
    with pytest.raises(BrokenLink, match=r"docs/index\.md: the link none\.md leads to docs/none\.md"):
        translate_links("[x](none.md)", *HOME)


def test_links_of_all_pages_are_good():
    """Those of the repository; the anchors are checked by `make docs`."""
    for path in [each for each in list_copied() if each.suffix == ".md"]:
        assert translate_links((ROOT / path).read_text(encoding="utf-8"), path, find_page(path))


def test_places_differ():
    """No two files share a page, also where names differ by capital letters only."""
    pages = [str(find_page(path)).lower() for path in list_copied()]
    pages += [str(page).lower() for page in make_reference_pages(gallery=False)]
    assert len(pages) == len(set(pages))


def test_every_command_is_described():
    """With its options, from the parsers themselves."""
    (text,) = make_command_pages().values()
    assert all(f"## maxmargin {name}\n" in text for name in cli.COMMANDS)
    assert "| `--max-seconds SECONDS` |" in text
    assert r"| `--penalty l2\|l1` | 1/2 \|w\|^2 or \|w\|\_1" in text


def test_every_public_name_has_a_page():
    """In the reference, in one group each."""
    names = [each.full for each in list_names()]
    assert {f"maxmargin.{name}" for name in public.__all__} <= set(names)
    assert len(names) == len(set(names))
    pages = make_reference_pages(gallery=True)
    assert PurePosixPath("reference/maxmargin.SVC.rst") in pages
    assert ".. automethod:: SVC.fit" in pages[PurePosixPath("reference/maxmargin.SVC.rst")]


def test_text_stays_text():
    """What is markup in Markdown or reStructuredText, and is not meant so."""
    assert escape("|w|_1 of `a_*`") == r"\|w\|\_1 of `a_*`"
    lines = ["2 / |w| of coef_, see `a|b`, docs/linear.md#losses", "", "    P = |w|", "", "and y*"]
    prepare_docstring(None, "class", "x", None, None, lines)
    assert lines[0] == r"2 / \|w\| of coef\_, see `a|b`, :doc:`/linear`"
    assert lines[2:5] == ["::", "", "    P = |w|"]
    assert lines[-1] == r"and y\*"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_asks_one_question(path: Path):
    """Its title is a question, it needs nothing that does not ship, it draws one figure and prints what it computed."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, line, *rest = ast.get_docstring(tree).splitlines()
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert len(" ".join(rest)) > 80  # says what is to be seen
    assert len(text.splitlines()) <= MAX_EXAMPLE_LINES
    assert list_imported(tree) <= SHIPPED
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    assert sum(isinstance(each.func, ast.Attribute) and each.func.attr == "subplots" for each in calls) == 1
    printed = [each for each in calls if isinstance(each.func, ast.Name) and each.func.id == "print"]
    assert printed
    assert all(isinstance(each, ast.JoinedStr | ast.Name | ast.Attribute) for call in printed for each in call.args)


def list_imported(tree: ast.Module) -> set[str]:
    """The packages that a program imports."""
    names = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def test_the_gallery_is_whole():
    """Enough examples, most of them on real data; every folder has its place on the page; no title twice."""
    titles = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0] for path in EXAMPLES]
    assert len(EXAMPLES) >= 27
    assert len(set(titles)) == len(titles)
    on_real_data = [path for path in EXAMPLES if "load_" in path.read_text(encoding="utf-8")]
    assert len(on_real_data) >= 0.7 * len(EXAMPLES)
    settings = (ROOT / "website" / "conf.py").read_text(encoding="utf-8")
    for folder in {path.parent for path in EXAMPLES}:
        assert (folder / "GALLERY_HEADER.rst").exists()
        assert f'"{folder.name}"' in settings


def test_examples_have_their_places():
    """On the site, in the folder of their group."""
    path = PurePosixPath("docs/gallery/machines/plot_which_c.py")
    assert find_page(path) == PurePosixPath("gallery/machines/plot_which_c.rst")
    assert find_page(path.parent / "GALLERY_HEADER.rst") == PurePosixPath("gallery/index.rst")


def test_faults_are_found(tmp_path: Path):
    """Dead links, dead anchors, and whatever comes from the network."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text("<h1 id='top'>b</h1><a href='../a.html#here'>a</a>")
    page = "<p id='here'></p><a href='sub/b.html#top'></a><a href='sub/b.html#end'></a><a href='c.html'></a>"
    (tmp_path / "a.html").write_text(page + "<a href='https://x.org'></a><script src='https://x.org/x.js'></script>")
    assert find_faults(tmp_path) == [
        "a.html loads https://x.org/x.js from the network.",
        "a.html has a link to c.html, which leads nowhere.",
        "a.html has a link to sub/b.html#end, which leads nowhere.",
    ]
