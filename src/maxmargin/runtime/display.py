"""How results are shown: `repr` is a sentence, and a notebook shows a small table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

HEAD_ROWS, TAIL_ROWS = 12, 6  # shown of a long table
# Colours, fonts and lines are those of the notebook, light or dark; so nothing is set but the side that text begins at.
LEFT, RIGHT = "text-align: left; white-space: normal", "text-align: right"


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    rows : sequence of sequences of str
    columns : sequence of str
        The heading of each column; without headings the first text of each row is the name of what follows it.
    """

    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()

    def to_html(self, caption: str) -> str:
        """The table as HTML, every text in it escaped; rows in the middle of a long one are left out."""
        from html import escape

        parts = [f'<caption style="{LEFT}">{escape(caption)}</caption>']
        if self.columns:
            names = "".join(f'<th scope="col" style="{RIGHT}">{escape(name)}</th>' for name in self.columns)
            parts.append(f"<thead><tr>{names}</tr></thead>")
        parts.append("<tbody>")
        for row in leave_out_middle(self.rows):
            if row is None:
                left = len(self.rows) - HEAD_ROWS - TAIL_ROWS
                parts.append(f'<tr><td colspan="{len(self.rows[0])}" style="{LEFT}">… {left} more rows …</td></tr>')
            elif self.columns:
                parts.append("<tr>" + "".join(f'<td style="{RIGHT}">{escape(cell)}</td>' for cell in row) + "</tr>")
            else:
                name, value = map(escape, row)
                parts.append(f'<tr><th scope="row" style="{LEFT}">{name}</th><td style="{LEFT}">{value}</td></tr>')
        return "<table>" + "".join([*parts, "</tbody></table>"])


def leave_out_middle(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[str] | None]:
    """The rows; of a long table the first and the last ones, and None in place of those between."""
    if len(rows) <= HEAD_ROWS + TAIL_ROWS + 1:
        yield from rows
        return
    yield from rows[:HEAD_ROWS]
    yield None
    yield from rows[-TAIL_ROWS:]


class Displayed(ABC):
    """A result that says in a sentence, and in a small table, what it holds; the relative gap comes first.

    A dataclass that derives from it is declared with `repr=False`.
    """

    @abstractmethod
    def describe(self) -> str:
        """The result in a sentence."""

    @abstractmethod
    def tabulate(self) -> Table:
        """What a notebook shows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe()}>"

    def _repr_html_(self) -> str:
        """For notebooks, which ask for this name."""
        return self.tabulate().to_html(type(self).__name__)
