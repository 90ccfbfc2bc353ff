"""What every side needs: clocks, memory, and the way its figures leave the process. It imports little."""

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

Parameters = Mapping[str, Any]
"""What a piece of work is told: `peer`, the stand-in's path, and the sizes of the row."""

Figures = dict[str, float]
"""By name: seconds, bytes, or counts."""

Work = Callable[[Parameters], Figures]

PERMISSION, HOOK = "permission", "hook"
"""What the stand-in asks."""


SERVERS = ("own", "low", "high")
"""Servers of tools: of functions by the SDK itself, and two of the `mcp` library, low-level and `MCPServer`."""


TURN = "your turn?\n"
"""What a side prints before each part of its work that has `turns`; it goes on when a line comes, or the end."""


class Span:
    """The wall clock's and this process's seconds of a block, or of all that it was used for."""

    wall = 0.0
    """Seconds by the clock."""
    cpu = 0.0
    """Seconds of processor time, all threads, no children."""

    def __enter__(self) -> Self:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wall, cpu = self._began
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu


def together(width: int, work: Callable[[int], None], span: Span) -> None:
    """Let so many threads work, each told its number; they begin together, and the span ends with the last one."""
    gate = threading.Barrier(width + 1)

    def begin(number: int) -> None:
        gate.wait()
        work(number)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(width)]
    for thread in threads:
        thread.start()
    gate.wait()
    with span:
        for thread in threads:
            thread.join()


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def resident() -> int:
    """Return how many bytes of memory this process holds now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak() -> int:
    """Return the most bytes of memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def script(**words: object) -> str:
    """Return a prompt that tells the stand-in what to do."""
    return "bench: " + " ".join(f"{key}={value}" for key, value in words.items())


def burst(parameters: Parameters) -> str:
    """Return the script of a row's messages."""
    return script(n=parameters["n"], kind=parameters["kind"], size=parameters["size"])


def turns(parameters: Parameters) -> Iterator[Parameters]:
    """Yield the parameters of each part of a row's messages, when it is this side's turn."""
    count = parameters.get("turns", 1)
    assert parameters["n"] % count == 0
    for _ in range(count):
        print(TURN, end="", flush=True)
        sys.stdin.readline()
        yield {**parameters, "n": parameters["n"] // count}


def answered(result: str | None) -> Figures:
    """Return what the stand-in says at the end of a turn, in microseconds."""
    pairs = (word.split("=") for word in (result or "").split())
    return {key: float(value) for key, value in pairs}


def ask_rounds(parameters: Parameters) -> Iterable[tuple[str, str]]:
    """Yield (name of the figure, script) for each way in which the host is asked."""
    for what in (PERMISSION, HOOK):
        for mode in ("seq", "burst"):
            yield f"{what}_{mode}", script(asks=parameters["n"], ask=what, mode=mode)


def tool_rounds(parameters: Parameters) -> Iterable[tuple[str, str]]:
    """Yield (name of the figure, script) for calls of a tool on each server; "" is the name of what is not measured."""
    for server in SERVERS:
        for what in ("hello", "ready"):
            yield "", script(asks=1, ask=what, server=server)
        yield "", script(asks=50, ask="tool", server=server)
        for mode in ("seq", "burst"):
            yield f"{server}_{mode}", script(asks=parameters["n"], ask="tool", server=server, mode=mode)


def main(works: Mapping[str, Work]) -> None:
    """Do what the command line says, and print the figures as a line of JSON."""
    _, name, parameters = sys.argv
    figures = works[name](json.loads(parameters))
    print(json.dumps(figures))
