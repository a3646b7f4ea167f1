"""Pictures that move: frames into one file that a browser plays."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

SUFFIXES = (".gif", ".html")
EMBEDDED_MEGABYTES = 60  # of frames in one page
# matplotlib's buttons are letters of a font that it fetches from the network
ICON_FONT = re.compile(r"<link[^>]*font-awesome[^>]*>")
ICONS = {
    "fa-minus": "\u2212", "fa-fast-backward": "|\u25c0\u25c0", "fa-step-backward": "|\u25c0",
    "fa-play fa-flip-horizontal": "\u25c0", "fa-pause": "||", "fa-play": "\u25b6", "fa-step-forward": "\u25b6|",
    "fa-fast-forward": "\u25b6\u25b6|", "fa-plus": "+",
}  # fmt: skip


def write_animation(
    path: str | os.PathLike[str],
    draw: Callable[[Any, Any], Any],
    frames: Sequence[Any],
    *,
    seconds_per_frame: float = 0.6,
    size: tuple[float, float] = (8.0, 5.2),
    dpi: int = 90,
) -> Path:
    """draw(ax, frame) for each frame, on clear axes, as a GIF or as a page with buttons that needs no other file.

    Parameters
    ----------
    path : path
        Ends in .gif, or in .html.
    draw : callable
    frames : sequence
    seconds_per_frame : float, default=0.6
    size : pair of floats
        Inches.
    dpi : int, default=90

    Returns
    -------
    Path
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from matplotlib.animation import FuncAnimation, PillowWriter

    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path must end in one of {list(SUFFIXES)}, got {str(path)!r}.")
    if not len(frames):
        raise ValueError("frames must hold at least one frame, got none.")
    figure, ax = plt.subplots(figsize=size, layout="constrained")

    def show(frame: Any) -> list[Any]:
        ax.clear()
        draw(ax, frame)
        return []

    moving = FuncAnimation(figure, show, frames=list(frames), interval=1000.0 * seconds_per_frame, init_func=list)
    with mpl.rc_context({"animation.embed_limit": EMBEDDED_MEGABYTES, "savefig.dpi": dpi}):
        if path.suffix == ".gif":
            moving.save(path, writer=PillowWriter(fps=1.0 / seconds_per_frame), dpi=dpi)
        else:
            page = replace_icons(moving.to_jshtml(default_mode="once"))
            head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(path.stem)}</title>'
            path.write_text(f"{head}{page}</html>\n", encoding="utf-8")
    plt.close(figure)
    return path


def replace_icons(page: str) -> str:
    """The page with plain characters on its buttons, so that it needs no font of another host."""
    for icon, character in ICONS.items():
        page = page.replace(f'<i class="fa {icon}"></i>', character)
    return ICON_FONT.sub("", page)
