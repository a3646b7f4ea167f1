"""The page: chapters of text, tables and figures as one HTML file that needs nothing else, and the tables as CSV."""

from __future__ import annotations

import base64
import csv
import html
import io
import os
import re
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from .cells import align_column, show_column, split_heading

NAME = "index.html"
STYLE = Path(__file__).with_name("page.css")
INLINE = ("code", "b", "i")
LONGEST_ENTRY = 64  # letters in the table of contents
LONG_CELL = 40  # letters from which on a cell has a width of its own
LARGEST_DRAWING = 400_000  # bytes; a figure with more strokes than that is embedded as pixels


@dataclass
class Text:
    """Paragraphs, separated by blank lines; <code>, <b> and <i> are taken as tags, all else as text."""

    sentences: str


@dataclass
class Table:
    """Rows of words and numbers under their columns.

    A column "report: seconds" stands as "seconds" under the common heading "report". `name` is the stem of the CSV
    file; `added` are the places of rows that the report has not.
    """

    name: str
    caption: str
    columns: list[str]
    rows: list[list[object]]
    added: frozenset[int] = frozenset()


@dataclass
class Figure:
    """Panels, a matplotlib figure each, and what is to be seen in them: side by side where there is room."""

    name: str
    caption: str
    panels: list


@dataclass
class Chapter:
    """A heading and its blocks, in order."""

    title: str
    blocks: list = field(default_factory=list)


# ---- files ----------------------------------------------------------------------------------------------------


def write_page(title: str, chapters: list[Chapter], folder: Path) -> Path:
    """Write the page and the CSV files of its tables; each file is whole or not there.

    Parameters
    ----------
    title : str
    chapters : list of Chapter
    folder : Path
        Made if it is not there.

    Returns
    -------
    Path
        Of the page.
    """
    tables = [block for chapter in chapters for block in chapter.blocks if isinstance(block, Table)]
    check_names([block for chapter in chapters for block in chapter.blocks if not isinstance(block, Text)])
    text = render_page(title, chapters)
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_whole(folder / f"{table.name}.csv", print_csv(table))
    return write_whole(folder / NAME, text)


def check_names(blocks: list[Table | Figure]) -> None:
    """Names are those of files and of anchors: small letters, digits and underscores, once for each kind of block."""
    seen = set()
    for block in blocks:
        if not re.fullmatch(r"[a-z0-9_]+", block.name):
            raise ValueError(f"name must be made of small letters, digits and underscores, got {block.name!r}.")
        if anchor_of(block) in seen:
            raise ValueError(f"name must be unique on the page, got {block.name!r} twice.")
        seen.add(anchor_of(block))


def write_whole(path: Path, text: str) -> Path:
    """Write beside the path, then rename, so that half a file is never seen."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)  # mkstemp makes files that other users may not read
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def print_csv(table: Table) -> str:
    """The table with every digit; rows that the report has not say so in a column of their own."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    marks = ["added"] if table.added else []
    writer.writerow([*table.columns, *marks])
    for place, row in enumerate(table.rows):
        writer.writerow([*row, *(["yes" if place in table.added else "no"] if marks else [])])
    return lines.getvalue()


# ---- HTML -----------------------------------------------------------------------------------------------------


def render_page(title: str, chapters: list[Chapter]) -> str:
    """The whole page."""
    anchors = [name_anchor(chapter.title) for chapter in chapters]
    contents = "\n".join(render_contents(*each) for each in zip(chapters, anchors, strict=True))
    body = "\n".join(render_chapter(*each) for each in zip(chapters, anchors, strict=True))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>
{STYLE.read_text()}</style>
</head>
<body>
<nav aria-label="Contents">
<details open>
<summary>Contents</summary>
<ul>
{contents}
</ul>
</details>
</nav>
<main>
<h1>{html.escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def name_anchor(title: str) -> str:
    """The risk, bounded -> the-risk-bounded."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def anchor_of(block: Table | Figure) -> str:
    """table-losses, figure-losses: a table and a figure may share a name."""
    return f"{type(block).__name__.lower()}-{block.name}"


def render_contents(chapter: Chapter, anchor: str) -> str:
    """A chapter in the table of contents, with its tables and figures."""
    named = [block for block in chapter.blocks if not isinstance(block, Text)]
    below = "".join(f'<li><a href="#{anchor_of(block)}">{shorten(block.caption)}</a></li>\n' for block in named)
    below = f"\n<ul>\n{below}</ul>\n" if below else ""
    return f'<li><a href="#{anchor}">{html.escape(chapter.title)}</a>{below}</li>'


def shorten(caption: str) -> str:
    """The first sentence of a caption, without tags, cut where it is long."""
    first = re.split(r"(?<=[a-z0-9)])[.;] ", strip_tags(caption), maxsplit=1)[0].rstrip(".")
    return html.escape(textwrap.shorten(first, LONGEST_ENTRY, placeholder=" \N{HORIZONTAL ELLIPSIS}"))


def render_chapter(chapter: Chapter, anchor: str) -> str:
    """A heading and its blocks."""
    blocks = "\n".join(render_block(block) for block in chapter.blocks)
    return f'<section id="{anchor}">\n<h2>{html.escape(chapter.title)}</h2>\n{blocks}\n</section>'


def render_block(block: Text | Table | Figure) -> str:
    """One block."""
    if isinstance(block, Text):
        paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", block.sentences) if paragraph.strip()]
        return "\n".join(f"<p>{mark_up(paragraph)}</p>" for paragraph in paragraphs)
    return render_table(block) if isinstance(block, Table) else render_figure(block)


def mark_up(sentences: str) -> str:
    """Text with every sign escaped but the tags of INLINE, which must be closed in the order they were opened."""
    text = html.escape(sentences, quote=False)
    text = re.sub(rf"&lt;(/?(?:{'|'.join(INLINE)}))&gt;", r"<\1>", text)
    opened: list[str] = []
    for slash, tag in re.findall(rf"<(/?)({'|'.join(INLINE)})>", text):
        if not slash:
            opened.append(tag)
        elif not opened or opened.pop() != tag:
            raise ValueError(f"</{tag}> closes what was not opened, in the sentences {sentences!r}.")
    if opened:
        raise ValueError(f"<{opened[-1]}> is never closed, in the sentences {sentences!r}.")
    return text


def strip_tags(sentences: str) -> str:
    """The sentences without the tags of INLINE."""
    return re.sub(rf"</?(?:{'|'.join(INLINE)})>", "", sentences)


def render_table(table: Table) -> str:
    """A table in a box that scrolls sideways, with its caption and a link to its CSV file, which is in the page too."""
    check_shape(table)
    sides = [align_column(table.rows, place) for place in range(len(table.columns))]
    shown = zip(*(show_column(list(column)) for column in zip(*table.rows, strict=True)), strict=True)
    body = "\n".join(render_row(table, place, cells, sides) for place, cells in enumerate(shown))
    link = embed("text/csv", print_csv(table).encode())
    return f"""<figure class="table" id="{anchor_of(table)}">
<figcaption>{mark_up(table.caption)} <a class="csv" download="{table.name}.csv" href="{link}">CSV</a></figcaption>
<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(strip_tags(table.caption))}">
<table>
<thead>
{render_heading(table.columns, sides)}
</thead>
<tbody>
{body}
</tbody>
</table>
</div>
</figure>"""


def check_shape(table: Table) -> None:
    """Every row has a cell for each column."""
    for place, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            raise ValueError(
                f"rows[{place}] of {table.name!r} has {len(row)} cells, but there are {len(table.columns)} columns."
            )


def render_heading(columns: list[str], sides: list[str]) -> str:
    """The names of the columns, in two rows where some of them share a heading."""
    groups = [split_heading(column)[0] for column in columns]
    names = "".join(
        f'<th scope="col" class="{side}{mark_border(groups, place)}">{html.escape(split_heading(column)[1])}</th>'
        for place, (column, side) in enumerate(zip(columns, sides, strict=True))
    )
    if not any(groups):
        return f"<tr>{names}</tr>"
    spans, place = [], 0
    while place < len(groups):
        width = next((k for k in range(place, len(groups)) if groups[k] != groups[place]), len(groups)) - place
        border = mark_border(groups, place)
        spans.append(f'<th scope="colgroup" colspan="{width}" class="group{border}">{html.escape(groups[place])}</th>')
        place += width
    return f"<tr>{''.join(spans)}</tr>\n<tr>{names}</tr>"


def mark_border(groups: list[str], place: int) -> str:
    """A class for the first column of each group."""
    return " first" if place and groups[place] != groups[place - 1] else ""


def render_row(table: Table, place: int, cells: tuple[str, ...], sides: list[str]) -> str:
    """One row; one that the report has not is marked, and so is one that begins another group."""
    classes = ["added"] if place in table.added else []
    classes += ["new"] if begins_group(table, place) else []
    groups = [split_heading(column)[0] for column in table.columns]
    body = "".join(
        f'<td class="{side}{mark_border(groups, k)}{" long" if len(cell) > LONG_CELL else ""}">{html.escape(cell)}</td>'
        for k, (cell, side) in enumerate(zip(cells, sides, strict=True))
    )
    return f'<tr class="{" ".join(classes)}">{body}</tr>' if classes else f"<tr>{body}</tr>"


def begins_group(table: Table, place: int) -> bool:
    """Whether the first cell differs from the one above, in a table where several rows share theirs."""
    firsts = [row[0] for row in table.rows]
    return place > 0 and firsts[place] != firsts[place - 1] and len(set(map(str, firsts))) <= len(firsts) / 2


def render_figure(block: Figure) -> str:
    """The panels in the order of reading, and the caption."""
    about, count = html.escape(strip_tags(block.caption)), len(block.panels)
    places = [f"{about} Panel {place} of {count}." if count > 1 else about for place in range(1, count + 1)]
    panels = "\n".join(render_panel(*each) for each in zip(block.panels, places, strict=True))
    return f"""<figure id="{anchor_of(block)}">
<div class="panels">
{panels}
</div>
<figcaption>{mark_up(block.caption)}</figcaption>
</figure>"""


def render_panel(panel, about: str) -> str:
    """A panel as a drawing, or as pixels where it has too many strokes."""
    picture, kind = draw(panel, "svg"), "image/svg+xml"
    if len(picture) > LARGEST_DRAWING:
        picture, kind = draw(panel, "png"), "image/png"
    return f'<img src="{embed(kind, picture)}" alt="{about}">'


def draw(figure, form: str) -> bytes:
    """A figure as a file of that form, the same bytes each time."""
    import matplotlib as mpl

    drawing = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "maxmargin"}):
        figure.savefig(
            drawing, format=form, dpi=160, bbox_inches="tight", metadata={"Date": None} if form == "svg" else None
        )
    return drawing.getvalue()


def embed(kind: str, content: bytes) -> str:
    """Bytes as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
