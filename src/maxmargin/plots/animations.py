"""Pictures that move: frames into one file that a browser plays."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SUFFIXES = (".gif", ".html")
EMBEDDED_MEGABYTES = 60  # of frames in one page


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
            page = moving.to_jshtml(default_mode="once")
            path.write_text(
                f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{path.stem}</title>{page}</html>\n'
            )
    plt.close(figure)
    return path
