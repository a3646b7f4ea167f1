"""maxmargin play: a page in the browser, on which points are drawn and the solvers are seen at work."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from collections.abc import Callable

from .exit_codes import Exit
from .parser import Parser

LARGEST_PORT = 65535


def run(argv: list[str], program: str) -> int:
    """Serve the page until Ctrl-C."""
    parser = Parser(program, description="Draw points, choose a model, and watch the solvers. Ctrl-C ends it.")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port of this machine; by default a free one")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    arguments = parser.parse_args(argv)
    if not 0 <= arguments.port <= LARGEST_PORT:
        parser.error(f"--port must lie between 0 and {LARGEST_PORT}, got {arguments.port}")
    try:
        asyncio.run(serve(arguments.port, None if arguments.no_browser else webbrowser.open))
    except KeyboardInterrupt:
        print("Stopped.")
    return Exit.SUCCESS


async def serve(port: int, open_page: Callable[[str], object] | None) -> None:
    """Answer until the task is cancelled, which Ctrl-C does."""
    from ..play.server import PlayServer

    try:
        server = PlayServer(port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(f"--port {port}: {reason}. Choose another, or leave it out for a free one.") from None
    server.start()
    try:
        print(f"{server.url}\nCtrl-C ends it.", flush=True)
        if open_page is not None:
            open_page(server.url)
        await asyncio.Event().wait()
    finally:
        await server.close()
