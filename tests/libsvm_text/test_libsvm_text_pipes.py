"""LIBSVM text from pipes and in threads."""

from __future__ import annotations

import gzip
import os
import signal
import threading

import pytest
from text_files import write_text
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import read_libsvm
from maxmargin.blocks import libsvm_text


def test_a_pipe(tmp_path):
    """What can be read once only."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(b"1 1:1\n-1 2:1\n",))
    thread.start()
    assert read_libsvm(pipe).y.tolist() == [1, -1]
    thread.join()


def test_a_packed_pipe(tmp_path):
    """Its length is not tried out: what is read for that would be missing."""
    pipe = tmp_path / "pipe.gz"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(b"1 1:1\n-1 2:1\n"),))
    thread.start()
    assert read_libsvm(pipe).y.tolist() == [1, -1]
    thread.join()


@pytest.fixture
def stalled_pipe(tmp_path):
    """A pipe, and a function that writes to it and leaves it open; at the end it is closed, and all threads go home."""
    pipe, writers = tmp_path / "pipe", []
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)

    def write(text: bytes) -> None:
        writers.append(threading.Thread(target=os.write, args=(keeper, text)))
        writers[-1].start()

    yield pipe, write
    mine = [thread for thread in threading.enumerate() if thread.name in ("maxmargin-fetch", "maxmargin-close")]
    os.close(keeper)
    for thread in mine + writers:
        thread.join(timeout=60.0)
        assert not thread.is_alive()


def test_ctrl_c_ends_the_reading_of_a_pipe(stalled_pipe):
    """Though the other thread is in a read that does not return; nothing is left once the pipe is closed."""
    pipe, write = stalled_pipe
    write(b"1 1:1\n-1 1:2\n")
    sent: list[OwnTimer] = []

    def press() -> None:
        sent.append(OwnTimer())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            read_libsvm(pipe)
        assert sent[0].seconds < 0.2 + SLACK_SECONDS
        assert "maxmargin-fetch" in {thread.name for thread in threading.enumerate()}  # it was left where it is
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_a_fault_is_told_while_the_pipe_stalls(stalled_pipe):
    """What is wrong in the first chunk does not wait for the second."""
    pipe, write = stalled_pipe
    write(b"1 1:x\n" * (libsvm_text.CHUNK_BYTES // 6 + 1))
    with pytest.raises(ValueError, match="line 1, column 5: a number was expected, got 'x'"):
        read_libsvm(pipe)  # which would otherwise not end, since the pipe stays open


def test_a_thread_reads_too(tmp_path):
    """Not the main one, which alone has threads to help it."""
    path, found = write_text(tmp_path, "1 1:1\n" * 100), []
    thread = threading.Thread(target=lambda: found.append(read_libsvm(path).y.sum()))
    thread.start()
    thread.join()
    assert found == [100]
