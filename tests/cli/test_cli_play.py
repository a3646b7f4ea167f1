"""maxmargin play: its options, the port that is taken, and Ctrl-C, with and without a fit that runs."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest
from commands import assert_refused, run
from tornado.websocket import websocket_connect

from maxmargin.cli.exit_codes import Exit

SECONDS = 60.0  # after which a program that has not ended will not


@pytest.fixture
def program() -> Iterator[tuple[subprocess.Popen, str]]:
    """The program in a process of its own, and the address that it has printed."""
    command = [sys.executable, "-m", "maxmargin", "play", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def press_ctrl_c(process: subprocess.Popen) -> tuple[int, str, str]:
    """The code with which the program ends, and what it says on stdout and stderr."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def test_ctrl_c_ends_it(program):
    process, url = program
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        assert "<title>maxmargin" in answer.read().decode()
    code, out, err = press_ctrl_c(process)
    assert (code, err) == (Exit.SUCCESS, "")
    assert out.splitlines()[-1] == "Stopped."


def test_ctrl_c_ends_it_while_a_fit_runs(program):
    process, url = program
    points = [[0.1 * k, 0.1 * (k % 7), k % 2] for k in range(300)]
    asked = {"points": points, "model": "LinearSVC", "parameters": {"loss": "hinge", "tol": 1e-14},
             "solvers": ["gradient_descent"], "max_seconds": 60}  # fmt: skip

    async def begin_and_stop() -> tuple[int, str, str]:
        page = await websocket_connect(url.replace("http", "ws", 1).replace("/?", "/fits?"))
        await page.write_message(json.dumps(asked))
        while json.loads(await page.read_message())["kind"] != "frame":
            pass
        ended = await asyncio.get_running_loop().run_in_executor(None, press_ctrl_c, process)
        while await page.read_message() is not None:
            pass
        page.close()
        return ended

    code, out, err = asyncio.run(asyncio.wait_for(begin_and_stop(), SECONDS))
    assert (code, err) == (Exit.SUCCESS, "")
    assert out.splitlines()[-1] == "Stopped."


def test_a_port_that_is_taken_is_named(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        sentence = f"--port {port}: Address already in use. Choose another, or leave it out for a free one."
        assert_refused(capsys, Exit.BAD_INPUT, sentence, "play", "--no-browser", "--port", port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_ports_that_there_are_not(capsys, port):
    assert_refused(capsys, Exit.USAGE, f"--port must lie between 0 and 65535, got {port}", "play", f"--port={port}")


def test_help_says_how_it_ends(capsys):
    assert run("play", "--help") == Exit.SUCCESS
    assert "Ctrl-C ends it" in capsys.readouterr().out


def test_without_tornado_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tornado", None)
    monkeypatch.delitem(sys.modules, "maxmargin.play.server", raising=False)
    assert_refused(capsys, Exit.BAD_INPUT, "pip install 'maxmargin[play]'", "play", "--no-browser")


def test_the_browser_is_given_the_address(capsys, monkeypatch):
    opened: list[str] = []

    def open_page(url: str) -> None:
        opened.append(url)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", open_page)
    assert run("play") == Exit.SUCCESS
    assert capsys.readouterr().out.splitlines()[0] == opened[0]
