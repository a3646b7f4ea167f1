"""The server of the page: who may ask, what a web socket answers, and that nothing of the page is elsewhere."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from maxmargin.play.server import ADDRESS, MAX_MESSAGE_BYTES, PlayServer

POINTS = [[-1.0, 0.0, 0], [-2.0, 0.5, 0], [1.0, 0.0, 1], [2.0, -0.5, 1]]
LONG = {"points": [[0.1 * k, 0.1 * (k % 7), k % 2] for k in range(300)], "model": "LinearSVC", "max_seconds": 30,
        "parameters": {"loss": "hinge", "tol": 1e-14}, "solvers": ["gradient_descent"]}  # fmt: skip
SECONDS = 60.0  # after which a test that waits has failed


def serve(task: Callable[[PlayServer], Awaitable[Any]]) -> Any:
    """The result of a task that talks to a server."""

    async def run() -> Any:
        server = PlayServer()
        server.start()
        try:
            return await asyncio.wait_for(task(server), SECONDS)
        finally:
            await server.close()

    return asyncio.run(run())


@asynccontextmanager
async def connect(server: PlayServer) -> AsyncIterator[WebSocketClientConnection]:
    """A web socket with the token."""
    socket = await websocket_connect(f"ws://{ADDRESS}:{server.port}/fits?token={server.token}")
    try:
        yield socket
    finally:
        socket.close()
        while await socket.read_message() is not None:
            pass


async def read(socket: WebSocketClientConnection) -> dict:
    """The next message."""
    text = await socket.read_message()
    assert text is not None
    return json.loads(text)


async def read_until(socket: WebSocketClientConnection, *kinds: str) -> list[dict]:
    """Messages up to the first of some kinds."""
    messages = [await read(socket)]
    while messages[-1]["kind"] not in kinds:
        messages.append(await read(socket))
    return messages


def test_the_page_is_one_file_that_asks_for_nothing_elsewhere():
    async def fetch(server):
        return await AsyncHTTPClient().fetch(server.url)

    answer = serve(fetch)
    page, rules = answer.body.decode(), answer.headers["Content-Security-Policy"]
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"'$]+)["']""", page)
    assert links == ["data:,"]  # the icon, which is empty
    addresses = set(re.findall(r"https?://[^\s\"'`]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name space
    assert not re.search(r"^\s*import |@import|url\((?!#)", page, re.MULTILINE)
    assert "{{" not in page
    assert "default-src 'none'" in rules
    nonce = re.search(r"script-src 'nonce-([^']+)'", rules)[1]
    assert f'<script type="module" nonce="{nonce}">' in page


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/fits", "/fits?token=wrong"])
def test_strangers_are_refused(path):
    async def fetch(server):
        with pytest.raises(HTTPClientError) as refused:
            await AsyncHTTPClient().fetch(f"http://{ADDRESS}:{server.port}{path}")
        return refused.value

    error = serve(fetch)
    assert error.code == 403
    assert error.response.body.decode() == "This address needs the token that `maxmargin play` has printed with it."


def test_another_name_for_this_machine_is_refused():
    async def fetch(server):  # a page elsewhere can give its own name this address
        with pytest.raises(HTTPClientError) as refused:
            await AsyncHTTPClient().fetch(HTTPRequest(server.url, headers={"Host": f"example.org:{server.port}"}))
        return refused.value.code

    assert serve(fetch) == 403


def test_a_page_from_elsewhere_gets_no_web_socket():
    async def ask(server):
        url = f"ws://{ADDRESS}:{server.port}/fits?token={server.token}"
        with pytest.raises(HTTPClientError) as refused:
            await websocket_connect(HTTPRequest(url, headers={"Origin": "http://example.org"}))
        return refused.value.code

    assert serve(ask) == 403


def test_other_addresses_are_not_there():
    async def fetch(server):
        with pytest.raises(HTTPClientError) as missing:
            await AsyncHTTPClient().fetch(f"http://{ADDRESS}:{server.port}/assets/main.js?token={server.token}")
        return missing.value.code

    assert serve(fetch) == 404


def test_it_listens_to_this_machine_alone():
    async def name(server):
        return server.socket.getsockname()[0]

    assert serve(name) == "127.0.0.1"


def test_a_fit_is_streamed_with_the_number_of_its_request():
    async def ask(server):
        async with connect(server) as socket:
            await socket.write_message(json.dumps({"request": 7, "points": POINTS, "model": "SVC", "solvers": ["smo"]}))
            return await read_until(socket, "done")

    messages = serve(ask)
    assert {message["request"] for message in messages} == {7}
    kinds = [message["kind"] for message in messages]
    assert kinds[:2] == ["begin", "frame"]
    assert kinds[-2:] == ["end", "done"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("no JSON", "A request must be JSON."), ("[1]", "A request must be an object, got list."),
     ('{"model": "SVC", "points": []}', "There are no points yet: draw some, or choose an example."),
     ('{"model": "SVC", "points": [[0, 0, 0]], "parameters": {"C": NaN}}', "C must be a number, got nan.")],
)  # fmt: skip
def test_bad_input_gets_a_sentence_and_the_connection_stays(text, sentence):
    async def ask(server):
        async with connect(server) as socket:
            await socket.write_message(text)
            refused = await read(socket)
            await socket.write_message(json.dumps({"points": POINTS, "model": "SVC", "solvers": ["smo"]}))
            return refused, await read_until(socket, "done")

    refused, messages = serve(ask)
    assert (refused["kind"], refused["panel"], refused["sentence"]) == ("refused", None, sentence)
    assert messages[-1]["kind"] == "done"


def test_a_message_that_is_too_long_ends_the_connection():
    async def ask(server):
        socket = await websocket_connect(f"ws://{ADDRESS}:{server.port}/fits?token={server.token}")
        await socket.write_message("x" * (MAX_MESSAGE_BYTES + 1))
        answer = await socket.read_message()
        socket.close()
        return answer, socket.close_code

    assert serve(ask) == (None, 1009)  # RFC 6455: a message too big to process


def test_a_new_request_ends_the_fit_that_runs():
    async def ask(server):
        async with connect(server) as socket:
            await socket.write_message(json.dumps({"request": 1, **LONG}))
            await read_until(socket, "frame")
            await socket.write_message(json.dumps({"request": 2, "points": POINTS, "model": "SVC", "solvers": ["smo"]}))
            return await read_until(socket, "done")

    messages = serve(ask)
    assert messages[-1]["request"] == 2
    assert not [message for message in messages if message["request"] == 1 and message["kind"] in ("end", "done")]


def test_two_pages_are_served_at_once():
    async def ask(server):
        async with connect(server) as first, connect(server) as second:
            await first.write_message(json.dumps({"request": 1, **LONG}))
            await read_until(first, "frame")
            await second.write_message(json.dumps({"request": 1, "points": POINTS, "model": "SVC", "solvers": ["smo"]}))
            answers = await read_until(second, "done")
            await first.write_message(json.dumps({"kind": "cancel"}))
            return answers

    assert serve(ask)[-1]["kind"] == "done"


def test_a_page_that_has_gone_takes_its_fit_with_it():
    async def ask(server):
        async with connect(server) as socket:
            await socket.write_message(json.dumps({"request": 1, **LONG}))
            await read_until(socket, "frame")
            (jobs,) = server.jobs
            interrupt = jobs.interrupt
            socket.close()
            while server.jobs:
                await asyncio.sleep(0.01)
            return interrupt.raised

    assert serve(ask) is True
