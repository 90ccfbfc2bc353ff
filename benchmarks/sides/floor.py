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

from benchmarks.sides.measuring import Figures, Parameters, Span, Work, burst, main, percentile


def control(parameters: Parameters) -> Figures:
    """Measure a round trip: raw bytes and back, and the hop that a blocking SDK with a reader thread cannot avoid."""
    hop, cpu = _hop(parameters["peer"], parameters["n"])
    echo = _echo(parameters["peer"], parameters["n"])
    return {"p50": percentile(hop, 0.5), "p99": percentile(hop, 0.99), "cpu": cpu, "echo": percentile(echo, 0.5)}


def stream(parameters: Parameters) -> Figures:
    """Measure a loop that reads lines and decodes them, and `cat` on the same bytes."""
    loop = _loop(parameters)
    with Span() as cat, _dumping(parameters) as peer:
        subprocess.run(["cat"], stdin=peer.stdout, stdout=subprocess.DEVNULL, check=True)
    return {"seconds": loop.wall, "cpu": loop.cpu, "cat": cat.wall}


def growth(parameters: Parameters) -> Figures:
    """Measure the loop of `stream` at every point of a row."""
    return {name: _loop({**parameters, **point}).wall for name, point in parameters["points"].items()}


def _loop(parameters: Parameters) -> Span:
    """Read and decode every line; timed from the first byte on, so that the start of the stand-in does not count."""
    with _dumping(parameters) as peer:
        assert isinstance(peer.stdout, io.BufferedReader)
        peer.stdout.peek(1)
        count = 0
        with Span() as span:
            for line in peer.stdout:
                orjson.loads(line)
                count += 1
    assert count == parameters["n"]
    return span


def _dumping(parameters: Parameters) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PEER_DUMP": burst(parameters)}
    return subprocess.Popen([parameters["peer"]], env=environment, stdout=subprocess.PIPE, bufsize=64 * 1024)


def _hop(command: str, count: int) -> tuple[list[float], float]:
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
        seconds, began = [], time.process_time()
        for number in range(count):
            start = time.perf_counter()
            request = {"type": "control_request", "request_id": str(number), "request": {"subtype": "mcp_status"}}
            os.write(sink, orjson.dumps(request) + b"\n")
            arrived.acquire()
            assert answers.popleft()["response"]["request_id"] == str(number)
            seconds.append(time.perf_counter() - start)
        cpu = (time.process_time() - began) / count
        peer.stdin.close()
        reader.join()
    return seconds, cpu


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


WORKS: Mapping[str, Work] = {"control": control, "stream": stream, "growth": growth}
"""By name, what can be measured."""


if __name__ == "__main__":
    main(WORKS)
