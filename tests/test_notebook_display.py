"""What a cell shows: results as a sentence and as a table, estimators with links, and fits as one live line."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from traitlets.config import Config

import maxmargin
from maxmargin import (
    SVC,
    SVCCV,
    BlockwiseTransformer,
    LinearSVC,
    LinearSVCCV,
    RiskClassifier,
    certify_tuning,
    diagnose,
    minimize,
    path,
    risk_bounds,
    trace,
)
from maxmargin.certificates.certificate import Certificate
from maxmargin.estimators.path import Path
from maxmargin.insight.traces import record
from maxmargin.model_selection import GridSearchCV
from maxmargin.runtime import documentation
from maxmargin.runtime.display import HEAD_ROWS, TAIL_ROWS, Displayed, Table
from maxmargin.tuning.cells import CellOutcome

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
LABELS = (X[:, 0] + 0.3 * RNG.normal(size=90) > 0).astype(int)
THREE = LABELS + (X[:, 1] > 0.5)


def show_search() -> Any:
    """Of one that tunes itself."""
    return LinearSVCCV(cv=2).fit(X, LABELS).search_outcome_


def show_minimum() -> Any:
    """Of |x| + |x|^2 / 2."""
    return minimize(lambda x: (float(np.abs(x).sum()), np.sign(x)), np.ones(20), ridge=1.0)


def show_trajectory() -> Any:
    """Of SMO."""
    return record(SVC().pose_problem(X, LABELS, 0), "smo", max_iter=30)


SHOWN = {
    "Certificate": lambda: SVC().fit(X, LABELS).certificate_,
    "Certificate of three classes": lambda: SVC().fit(X, THREE).certificate_,
    "Certificate of no time": lambda: Certificate(np.inf, -np.inf, np.inf),
    "Result": lambda: SVC().fit(X, LABELS).result_,
    "Diagnosis": lambda: diagnose(SVC(), X * [1e6, 1.0, 1.0], LABELS),
    "RiskBounds": lambda: risk_bounds(SVC().fit(X, LABELS), X, LABELS),
    "LeaveOneOut": lambda: risk_bounds(SVC().fit(X, LABELS), X, LABELS, exact=True).leave_one_out,
    "CertifiedTuning": lambda: certify_tuning(LinearSVC(), X, LABELS, Cs=(0.5, 1.0), eps=0.2, cv=2),
    "Path": lambda: path(X, LABELS, Cs=[0.1, 1.0, 10.0]),
    "Path of no time": lambda: Path(np.empty(0), np.empty((0, 3)), np.empty(0), []),
    "Trace": lambda: trace(SVC(kernel="linear"), X=X, y=LABELS),
    "Trajectory": show_trajectory,
    "Minimum": show_minimum,
    "SearchOutcome": show_search,
    "CellOutcome": lambda: next(iter(show_search().cells.values())),
    "CellOutcome that failed": lambda: CellOutcome(0, 1, {"f1": np.nan, "accuracy": 0.5}, error="Traceback"),
}
every_result = pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)


class Reader(HTMLParser):
    """The cells of a table by row, and the tags that were left open."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.styles: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)
        self.styles += [value for name, value in attributes if name == "style"]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


# ---- results --------------------------------------------------------------------------------------------------------


@every_result
def test_a_result_is_a_sentence(make):
    """With the name of its class, on one line, and short."""
    result = make()
    sentence = repr(result)
    assert sentence.startswith(f"<{type(result).__name__}: ")
    assert sentence.endswith(">")
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert "array(" not in sentence


@every_result
def test_a_result_is_a_table(make):
    """Whole HTML with rows of one width, all of it short."""
    result = make()
    page = result._repr_html_()
    table = Reader(page)
    assert table.open == []
    assert table.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert len({len(row) for row in table.rows if not row[0].startswith("…")}) <= 1
    assert len(table.rows) <= HEAD_ROWS + TAIL_ROWS + 2
    assert f">{type(result).__name__}</caption>" in page


@every_result
def test_themes_choose_the_colours(make):
    """Nothing in the HTML has a colour of its own, so that it can be read on dark and on light."""
    styles = " ".join(Reader(make()._repr_html_()).styles)
    assert not re.search("color|background|border|font", styles)


@pytest.mark.parametrize(
    "name", ["Certificate", "Result", "RiskBounds", "LeaveOneOut", "Path", "Trace", "Minimum", "SearchOutcome"]
)
def test_the_relative_gap_comes_first(name):
    """In the sentence; and in the table, unless that has a row for each step."""
    result = SHOWN[name]()
    assert re.match(r"<\w+: relative gap (at most )?[\d.e-]+", repr(result))
    if name not in ("Path", "Trace"):
        assert "relative gap" in Reader(result._repr_html_()).rows[0][0]


def test_results_say_what_they_hold():
    """Numbers of the table are those of the attributes."""
    model = SVC().fit(X, THREE)
    rows = dict(Reader(model.certificate_._repr_html_()).rows)
    assert float(rows["relative gap"].split()[0]) == pytest.approx(model.certificate_.relative_gap, rel=0.1)
    assert float(rows["primal"]) == pytest.approx(model.certificate_.primal)
    assert rows["problems"] == "3, of which this is the worst"
    rows = dict(Reader(model.result_._repr_html_()).rows)
    assert (rows["status"], rows["solver"]) == ("converged", "smo")
    assert rows["iterations"] == f"{model.result_.n_iter:,}"
    assert repr(model.results_).count("<Result: relative gap ") == 3
    found = SHOWN["Diagnosis"]()
    assert dict(Reader(found._repr_html_()).rows)["note"] == found.scale[0]
    assert found.scale[0] in repr(found)
    followed = path(X, LABELS, Cs=[0.1, 1.0])
    assert [row[0] for row in Reader(followed._repr_html_()).rows] == ["C", "0.1", "1"]


def test_what_proves_nothing_says_so():
    """A kernel that is not positive semidefinite, and a fit whose point was not judged."""
    certificate = Certificate(2.0, 1.0, 0.1, convex=False)
    assert repr(certificate).endswith("the kernel is not positive semidefinite, so this proves nothing>")
    assert "proves nothing" in certificate._repr_html_()
    assert SHOWN["Certificate of no time"]().describe() == "no certificate: there was no time to judge the point"


class Hostile(Displayed):
    """A result with a name that is HTML."""

    def describe(self) -> str:
        return "a sentence"

    def tabulate(self) -> Table:
        return Table([("<script>alert(1)</script>", 'a & b > "c" \'')])


def test_texts_are_escaped():
    """What comes from names of the user's is text."""
    page = Hostile()._repr_html_()
    assert "<script>" not in page
    assert Reader(page).rows == [["<script>alert(1)</script>", 'a & b > "c" \'']]
    assert repr(Hostile()) == "<Hostile: a sentence>"
    headed = Table([("1", "<b>")], ("<i>", "x")).to_html("<u>")
    assert Reader(headed).rows == [["<i>", "x"], ["1", "<b>"]]
    assert not re.search("<[ubi]>", headed)


def test_long_tables_are_cut():
    """The first and the last rows, and how many are between."""
    rows = Reader(Table([(f"{k}", "x") for k in range(100)], ("k", "x")).to_html("")).rows
    assert [row[0] for row in rows] == ["k", *map(str, range(12)), "… 82 more rows …", *map(str, range(94, 100))]
    barely = [(f"{k}", "x") for k in range(HEAD_ROWS + TAIL_ROWS + 1)]
    assert len(Reader(Table(barely).to_html("")).rows) == len(barely)


def test_a_result_must_say_both():
    """The base cannot be made without a sentence and a table."""
    with pytest.raises(TypeError, match="abstract"):
        Displayed()


# ---- estimators -----------------------------------------------------------------------------------------------------


@pytest.fixture
def address(monkeypatch):
    """Documentation at an address."""
    monkeypatch.setenv(documentation.ADDRESS_VARIABLE, "https://docs.test/maxmargin")


def find_links(estimator: Any) -> list[str]:
    """Where the diagram of an estimator leads to, scikit-learn's own pages left out."""
    links = re.findall(r'href="([^"#]+)', estimator._repr_html_())
    return sorted({link for link in links if "scikit-learn.org" not in link})


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize(
    ("estimator", "page"),
    [
        (SVC(), "maxmargin.SVC"),
        (RiskClassifier(), "maxmargin.RiskClassifier"),
        (SVCCV(), "maxmargin.SVCCV"),
        (BlockwiseTransformer(StandardScaler()), "maxmargin.BlockwiseTransformer"),
        (make_pipeline(StandardScaler(), LinearSVC()), "maxmargin.LinearSVC"),
        (GridSearchCV(LinearSVC(), {"C": [1.0]}), "maxmargin.model_selection.GridSearchCV"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_diagrams_link_to_our_pages(estimator, page):
    """The page of the class, by its public name."""
    assert f"https://docs.test/maxmargin/reference/{page}.html" in find_links(estimator)


@pytest.mark.usefixtures("address")
def test_classes_of_others_have_no_page_of_ours():
    """A subclass of the user's."""

    class Mine(SVC):
        """It is documented elsewhere."""

    assert find_links(Mine()) == []


def test_pages_that_were_built_here(monkeypatch, tmp_path):
    """A folder in place of an address; a variable that is empty counts as none."""
    monkeypatch.setenv(documentation.ADDRESS_VARIABLE, str(tmp_path))
    assert find_links(SVC()) == [f"{tmp_path.resolve().as_uri()}/reference/maxmargin.SVC.html"]
    monkeypatch.setattr(documentation, "read_own_address", lambda: "")
    monkeypatch.setenv(documentation.ADDRESS_VARIABLE, " ")
    assert find_links(SVC()) == []


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["Source, https://source.test", "Documentation, https://docs.test/x"], "https://docs.test/x/"),
        (["Source, https://source.test"], ""),
        (None, ""),
    ],
)
def test_the_address_of_the_package(entries, expected, monkeypatch):
    """What the metadata call documentation; there may be none."""

    class Metadata:
        """Of an installed package."""

        def get_all(self, name):
            return entries

    monkeypatch.delenv(documentation.ADDRESS_VARIABLE, raising=False)
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: Metadata())
    documentation.read_own_address.cache_clear()
    assert documentation.find_documentation() == expected
    documentation.read_own_address.cache_clear()


def test_every_page_has_a_public_name():
    """Pages are named as users import the classes."""
    for name in maxmargin.__all__:
        kind = getattr(maxmargin, name)
        if isinstance(kind, type) and hasattr(kind, "_doc_link_template"):
            assert kind.__module__.count(".") > 1, name  # else the page would have the name of its module


# ---- names ----------------------------------------------------------------------------------------------------------


def test_dir_lists_what_is_public():
    """The names of `__all__`, the modules that users import from, the version, and no more; all of them are there."""
    listed, modules = dir(maxmargin), maxmargin.public.PUBLIC_MODULES
    assert listed == sorted({"__version__", *maxmargin.__all__, *modules})
    assert [name for name in listed if not hasattr(maxmargin, name)] == []
    assert maxmargin.plots.plot_tuning is not None


# ---- a real notebook ------------------------------------------------------------------------------------------------

CELLS = (
    "import numpy as np\nfrom maxmargin import SVC\nfrom maxmargin.model_selection import GridSearchCV\n"
    "rng = np.random.default_rng(0)\nX = rng.normal(size=(2500, 5))\ny = X[:, 0] + rng.normal(size=2500) > 0",
    "model = SVC(C=100.0, verbose=1).fit(X, y)",
    "model.certificate_",
    "search = GridSearchCV(SVC(), {'C': [0.1, 1.0]}, cv=2, verbose=1).fit(X[:300], y[:300])",
    "model",
)


@pytest.mark.slow
def test_a_notebook_shows_tables_and_one_line():
    """Executed by Jupyter: tables, diagrams with links, and for each fit one output that has changed in its place."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    ipc = Config({"KernelManager": {"transport": "ipc"}})
    environment = {**os.environ, documentation.ADDRESS_VARIABLE: "https://docs.test"}
    NotebookClient(notebook, timeout=300, kernel_name="python3", config=ipc).execute(env=environment)
    _, fit, certificate, search, estimator = (cell.outputs for cell in notebook.cells)
    (line,) = fit
    assert re.match(r"SVC: converged, primal \S+, dual \S+, relative gap ", line.data["text/plain"])
    (shown,) = certificate
    assert shown.data["text/plain"].startswith("<Certificate: relative gap ")
    assert Reader(shown.data["text/html"]).rows[0][0] == "relative gap"
    lines = [output for output in search if output.output_type == "display_data"]
    assert len(lines) == 1
    assert "GridSearchCV: 4 of 4 cells" in lines[0].data["text/plain"]
    assert [output for output in search if output.get("name") == "stderr"] == []
    assert "https://docs.test/reference/maxmargin.SVC.html" in estimator[0].data["text/html"]
