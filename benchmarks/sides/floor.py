"""What is possible at all: bare loops without an SDK, on the same stand-in."""

import io
import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import orjson

from benchmarks.sides.bare import BareHost
from benchmarks.sides.measuring import (
    Figures,
    Parameters,
    Span,
    Work,
    answered,
    ask_rounds,
    burst,
    main,
    percentile,
    script,
    together,
    turns,
)


def connect(parameters: Parameters) -> Figures:
    """Measure how long a bare host takes until the program has answered, and to see it end."""
    opened, closed = [], []
    for _ in range(parameters["n"] + 1):
        with Span() as span:
            host = BareHost(parameters["peer"]).__enter__()
            host.submit("first", "initialize").acquire()
        opened.append(span.wall)
        with Span() as span:
            host.__exit__(None, None, None)
        closed.append(span.wall)
    return {"first": opened[0], "warm": percentile(opened[1:], 0.5), "close": percentile(closed[1:], 0.5)}


def control(parameters: Parameters) -> Figures:
    """Measure a round trip: raw bytes and back, and the hop that a blocking SDK with a reader thread cannot avoid.

    And many at once, from many threads and from one, on a bare host.
    """
    count, width = parameters["n"], parameters["width"]
    hop, echo, hopping, threaded, outstanding = list[float](), list[float](), Span(), Span(), Span()
    for part in turns(parameters):
        hop += _hop(parameters["peer"], part["n"], hopping)
        echo += _echo(parameters["peer"], part["n"])
    with BareHost(parameters["peer"]) as host:
        assert count % width == 0

        def call(thread: int) -> None:
            for number in range(count // width):
                host.submit(f"{thread}-{number}").acquire()

        together(width, call, threaded)
        with outstanding:
            _call_many(host, count, width)
    return {
        "p50": percentile(hop, 0.5),
        "p99": percentile(hop, 0.99),
        "cpu": hopping.cpu / count,
        "echo": percentile(echo, 0.5),
        "threads": threaded.wall / count,
        "outstanding": outstanding.wall / count,
    }


def asks(parameters: Parameters) -> Figures:
    """Measure what the stand-in asks, answered by a bare host's other thread; seconds by the stand-in's clock."""
    figures: Figures = {}
    with BareHost(parameters["peer"]) as host:
        for name, prompt in ask_rounds(parameters):
            host.ask(prompt)
            said = answered(host.result()["result"])
            figures |= {name: said["asks"] / 1e6 / parameters["n"], f"{name}_p50": said["p50"] / 1e6}
    return figures


def delivery(parameters: Parameters) -> Figures:
    """Measure how long a message takes from the stand-in's clock to a bare host's loop, one message at a time."""
    seconds = []
    with BareHost(parameters["peer"]) as host:
        host.ask(script(n=parameters["n"], kind="stamp", gap=parameters["gap"]))
        while (message := host.next())["type"] != "result":
            if message["type"] == "stream_event":
                seconds.append((time.monotonic_ns() - int(message["event"]["delta"]["text"][:20])) / 1e9)
    return {"p50": percentile(seconds, 0.5), "p99": percentile(seconds, 0.99)}


def stream(parameters: Parameters) -> Figures:
    """Measure a loop that reads lines and decodes them, and `cat` on the same bytes."""
    loop, cat = Span(), Span()
    for part in turns(parameters):
        _loop(part, loop)
        with cat, _dumping(part) as peer:
            subprocess.run(["cat"], stdin=peer.stdout, stdout=subprocess.DEVNULL, check=True)
    return {"seconds": loop.wall, "cpu": loop.cpu, "cat": cat.wall}


def growth(parameters: Parameters) -> Figures:
    """Measure the loop of `stream` at every point of a row."""
    return {name: _loop({**parameters, **point}, Span()) for name, point in parameters["points"].items()}


def _loop(parameters: Parameters, span: Span) -> float:
    """Read and decode every line; timed from the first byte on, so that the start of the stand-in does not count."""
    with _dumping(parameters) as peer:
        assert isinstance(peer.stdout, io.BufferedReader)
        peer.stdout.peek(1)
        count = 0
        with span:
            for line in peer.stdout:
                orjson.loads(line)
                count += 1
    assert count == parameters["n"]
    return span.wall


def _dumping(parameters: Parameters) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PEER_DUMP": burst(parameters)}
    none = subprocess.DEVNULL  # and not ours, which says whose turn it is
    return subprocess.Popen(
        [parameters["peer"]], env=environment, stdin=none, stdout=subprocess.PIPE, bufsize=64 * 1024
    )


def _hop(command: str, count: int, span: Span) -> list[float]:
    """Ask and wait for the answer, which another thread reads, decodes and hands over by a lock."""
    with subprocess.Popen([command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as peer:
        assert peer.stdin is not None and peer.stdout is not None
        source, sink = peer.stdout.fileno(), peer.stdin.fileno()
        arrived, answers = threading.Lock(), deque[Any]()
        arrived.acquire()

        def read() -> None:
            rest = b""
            while chunk := os.read(source, 64 * 1024):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    answers.append(orjson.loads(line))
                    arrived.release()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        seconds = []
        with span:
            for number in range(count):
                start = time.perf_counter()
                request = {"type": "control_request", "request_id": str(number), "request": {"subtype": "mcp_status"}}
                os.write(sink, orjson.dumps(request) + b"\n")
                arrived.acquire()
                assert answers.popleft()["response"]["request_id"] == str(number)
                seconds.append(time.perf_counter() - start)
        peer.stdin.close()
        reader.join()
    return seconds


def _call_many(host: BareHost, count: int, width: int) -> None:
    """Make requests from one thread that has many under way."""
    waiting = deque(host.submit(f"first-{number}") for number in range(width))
    for number in range(count - width):
        waiting.popleft().acquire()
        waiting.append(host.submit(f"next-{number}"))
    while waiting:
        waiting.popleft().acquire()


def _echo(command: str, count: int) -> list[float]:
    """Send bytes through a process and read them back on the same thread."""
    environment, seconds = {**os.environ, "PEER_ECHO": "1"}, []
    with subprocess.Popen([command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as peer:
        assert peer.stdin is not None and peer.stdout is not None
        source, sink = peer.stdout.fileno(), peer.stdin.fileno()
        for _ in range(count):
            start = time.perf_counter()
            os.write(sink, b"x" * 100)
            os.read(source, 100)
            seconds.append(time.perf_counter() - start)
        peer.stdin.close()
    return seconds


WORKS: Mapping[str, Work] = {
    "connect": connect,
    "control": control,
    "asks": asks,
    "delivery": delivery,
    "stream": stream,
    "growth": growth,
}
"""By name, what can be measured."""


if __name__ == "__main__":
    main(WORKS)
