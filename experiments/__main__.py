"""Write the page: python -m experiments [--quick] [--out FOLDER] [--only CHAPTER ...]."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType

# Read when libraries are loaded, so they come first: no window for figures, and no spinning threads in LIBSVM, which
# make a small fit take a hundred times as long as soon as another process wants a core.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from . import convergence, differences, figures, findings, homework, introduction, risk, tables
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is needed for the report: pip install 'maxmargin[report]'.")

from .page import Chapter, write_page, write_whole

TITLE = "Support vector machines: the experiments of Meoli (2021) and Wu (2014), run again"
FOLDER = Path("build/report")
CHAPTERS: dict[str, ModuleType] = {
    "introduction": introduction, "tables": tables, "differences": differences, "figures": figures,
    "convergence": convergence, "findings": findings, "homework": homework, "risk": risk,
}  # fmt: skip


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """quick, out and only."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description="Write the page of the report.")
    parser.add_argument("--quick", action="store_true", help="a few C and epsilon and small experiments only")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help=f"where to write (default {FOLDER})")
    parser.add_argument("--only", nargs="+", metavar="CHAPTER", help=f"any of: {', '.join(CHAPTERS)}")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.only or [] if name not in CHAPTERS]
    if unknown:
        parser.error(f"there is no chapter {unknown[0]!r}; choose from {', '.join(CHAPTERS)}")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Write the page and say where it is; 1 if it cannot be written, 130 after Ctrl-C."""
    chosen = parse_arguments(arguments)
    console = Console(stderr=True)
    names = [name for name in CHAPTERS if not chosen.only or name in chosen.only]
    try:
        try_folder(chosen.out)
        chapters = write_chapters(names, chosen.quick, console)
        path = write_page(TITLE, chapters, chosen.out)
    except OSError as error:
        print(f"The page cannot be written to {chosen.out}: {error.strerror or error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped before the end; no page was written.", file=sys.stderr)
        return 130
    print(f"The page is {path}, and its tables are beside it as CSV files.")
    return 0


def try_folder(folder: Path) -> None:
    """Find out now, not after minutes of work, whether the folder takes files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / ".try", "").unlink()


def write_chapters(names: list[str], quick: bool, console: Console) -> list[Chapter]:
    """The chapters one after the other: side by side they would time each other."""
    chapters = []
    with show_progress(console) as begin:
        for name in names:
            module = CHAPTERS[name]
            began = time.perf_counter()
            chapters.append(module.write_chapter(quick, begin(name, module.count_ticks(quick))))
            if not console.is_terminal:
                print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return chapters


@contextmanager
def show_progress(console: Console):
    """A bar for each chapter on a terminal, nothing elsewhere; yields begin(name, total), which returns `tick`."""
    columns = (
        TextColumn("{task.fields[name]:13}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def begin(name: str, total: int) -> Callable[[str], None]:
            finish(progress)
            task, begun = progress.add_task("", name=name, total=total), count()
            return lambda what: progress.update(task, completed=next(begun), description=what[:60])

        yield begin
        finish(progress)


def finish(progress: Progress) -> None:
    """What was begun is done."""
    for task in progress.tasks:
        progress.update(task.id, completed=task.total, description="")


if __name__ == "__main__":
    sys.exit(main())
