"""The twelve tables of the report, every row as it was printed.

Two cells of table 10 are hard to read in its text and were settled by their neighbours: the iterations of libsvm (rbf,
C = 10, epsilon = 0.3) are 8, a page number stands before them; and the training score of smo (rbf, C = 10, epsilon =
0.3) is that of the row with C = 100, with which it shares iterations, validation score and support vectors.
"""

from __future__ import annotations

import csv
from pathlib import Path

WORDS = ("solver", "dual", "kernel", "momentum")
COUNTS = ("n_iter", "train_n_sv", "val_n_sv")


def load_table(number: int) -> list[dict]:
    """The rows of a table: words, whole numbers and floats; None where the report has a dash.

    Parameters
    ----------
    number : int
        1 to 12. Scores are called `train` and `val`, whether they are accuracies or r2.

    Returns
    -------
    list of dict
    """
    path = Path(__file__).parent / f"table_{number:02d}.csv"
    if not path.is_file():
        raise ValueError(f"number must be 1 to 12, got {number!r}.")
    with path.open(newline="") as file:
        return [{name_column(key): read_cell(key, text) for key, text in row.items()} for row in csv.DictReader(file)]


def name_column(key: str) -> str:
    """train_accuracy and train_r2 -> train."""
    return key.removesuffix("_accuracy").removesuffix("_r2")


def read_cell(key: str, text: str) -> str | int | float | None:
    """A cell as what it is."""
    if key in WORDS:
        return text or None
    return int(text) if key in COUNTS else float(text)
