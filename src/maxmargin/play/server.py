"""The page on this machine alone: one address, behind a token, and a web socket over which fits are streamed.

The server listens at 127.0.0.1. It answers requests that name this address and carry the token, which a page from
elsewhere does not know, so that no other user of the machine and no other page in the browser can ask for fits.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

try:
    import tornado  # noqa: F401
except ImportError:
    raise ImportError("Tornado, which serves the page, is not installed: pip install 'maxmargin[play]'.") from None
from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ..runtime.interrupt import Interrupt
from .fits import Send, stream_fit, to_json
from .page import make_live_page
from .requests import FitRequest, read_request
from .warm_up import warm_up

ADDRESS = "127.0.0.1"
TOKEN_BYTES = 24
LOADING_SECONDS = 0.05  # between two looks whether compiled code has been loaded
MAX_MESSAGE_BYTES = 1 << 19  # of a request; thousands of points take a tenth of that
NOT_ALLOWED = "This address needs the token that `maxmargin play` has printed with it."


class PlayServer:
    """The page at `url`, from `start` to `close`; both within an event loop.

    Parameters
    ----------
    port : int, default=0
        0 is any that is free.
    """

    def __init__(self, port: int = 0):
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.jobs: set[FitJobs] = set()
        self.socket = listen(port)
        self.port: int = self.socket.getsockname()[1]
        self.http: HTTPServer | None = None
        self.loading = threading.Thread(target=warm_up, daemon=True)

    @property
    def url(self) -> str:
        """The address with its token."""
        return f"http://{ADDRESS}:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, str]:
        """What a browser on this machine may call it."""
        return f"{ADDRESS}:{self.port}", f"localhost:{self.port}"

    def start(self) -> None:
        """Begin to answer, and to load compiled code."""
        self.loading.start()
        settings = {"server": self}
        routes = [("/", PageHandler, settings), ("/fits", FitHandler, settings)]
        application = Application(routes, websocket_max_message_size=MAX_MESSAGE_BYTES, default_handler_class=NoPage)
        self.http = HTTPServer(application)
        self.http.add_socket(self.socket)

    async def close(self) -> None:
        """End all fits and all connections."""
        for jobs in list(self.jobs):
            jobs.close()
        if self.http is not None:
            self.http.stop()
            await self.http.close_all_connections()


def listen(port: int) -> socket.socket:
    """A socket at a port of this machine; where the port cannot be had, nothing is left open."""
    listening = socket.create_server((ADDRESS, port))
    listening.setblocking(False)
    return listening


class FitJobs:
    """The fits of one page, one at a time: a new one cancels the one that runs.

    The first one waits until `loading` has ended, so that the seconds of a solver are its own.
    """

    def __init__(self, send: Send, loading: threading.Thread):
        self.send, self.loading, self.interrupt = send, loading, Interrupt()
        self.worker = ThreadPoolExecutor(1, "maxmargin-play")

    def begin(self, message: Any) -> None:
        """Cancel the fit that runs, and begin the one that a message asks for; a wrong message gets a sentence."""
        self.cancel()
        number = message.get("request") if isinstance(message, dict) else None

        def send(content: dict[str, Any]) -> None:
            self.send({"request": number, **content})

        try:
            request = read_request(message)
        except ValueError as error:
            send({"kind": "refused", "panel": None, "sentence": str(error)})
            return
        self.worker.submit(self.fit, request, send, self.interrupt)

    def fit(self, request: FitRequest, send: Send, interrupt: Interrupt) -> None:
        """Stream a fit, when compiled code has been loaded."""
        while self.loading.is_alive() and not interrupt:
            self.loading.join(LOADING_SECONDS)
        if not interrupt:
            stream_fit(request, send, interrupt)

    def cancel(self) -> None:
        """Raise the flag of the fit that runs; the next one has a flag of its own."""
        self.interrupt.raised = True
        self.interrupt = Interrupt()

    def close(self) -> None:
        """Cancel, and take no more."""
        self.cancel()
        self.worker.shutdown(wait=False, cancel_futures=True)


class GuardedHandler(RequestHandler):
    """A handler that answers those only who call this machine by its name and know the token."""

    def initialize(self, server: PlayServer) -> None:
        """Called by Tornado."""
        self.server = server

    def prepare(self) -> None:
        """Refuse everyone else."""
        given = self.get_query_argument("token", "")
        if self.request.host not in self.server.hosts or not hmac.compare_digest(
            given.encode(), self.server.token.encode()
        ):
            raise HTTPError(403, reason="Forbidden")

    def write_error(self, status_code: int, **details: Any) -> None:
        """One sentence."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(NOT_ALLOWED if status_code == 403 else f"{status_code}: {self._reason}.")


class PageHandler(GuardedHandler):
    """The page itself, which may run its own script and talk to this server, and nothing else."""

    def get(self) -> None:
        """Send it."""
        nonce = secrets.token_urlsafe(TOKEN_BYTES)
        rules = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}' 'unsafe-inline'; "
            "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self.set_header("Content-Security-Policy", rules)
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(make_live_page(nonce))


class FitHandler(GuardedHandler, WebSocketHandler):
    """Requests for fits in, messages out; each page has its own connection."""

    jobs: FitJobs

    def open(self, *args: str, **kwargs: str) -> None:
        """A page is there."""
        loop = asyncio.get_running_loop()

        def send(content: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(self.deliver, json.dumps(to_json(content)))

        self.jobs = FitJobs(send, self.server.loading)
        self.server.jobs.add(self.jobs)

    def deliver(self, text: str) -> None:
        """Send a message to the page, if it is still there."""
        try:
            self.write_message(text)
        except WebSocketClosedError:
            self.jobs.cancel()

    def on_message(self, message: str | bytes) -> None:
        """Begin a fit, or cancel the one that runs."""
        try:
            content = json.loads(message)
        except ValueError:
            self.jobs.send({"request": None, "kind": "refused", "panel": None, "sentence": "A request must be JSON."})
            return
        if isinstance(content, dict) and content.get("kind") == "cancel":
            self.jobs.cancel()
        else:
            self.jobs.begin(content)

    def on_close(self) -> None:
        """The page has gone, and its fit with it."""
        if "jobs" in vars(self):
            self.jobs.close()
            self.server.jobs.discard(self.jobs)


class NoPage(RequestHandler):
    """All other addresses."""

    def prepare(self) -> None:
        """Say so."""
        self.set_status(404)
        self.finish("There is no such page.")
