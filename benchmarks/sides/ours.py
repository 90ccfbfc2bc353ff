"""This SDK, as its users call it: the public names, typed messages, the orphan guard on, nothing switched off."""

import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.sides import foreign
from benchmarks.sides.measuring import (
    Figures,
    Parameters,
    Span,
    Work,
    answered,
    ask_rounds,
    burst,
    main,
    peak,
    percentile,
    resident,
    script,
    together,
    tool_rounds,
    turns,
)

if TYPE_CHECKING:
    from claude_control import Session, Turn

USER_THREADS = 16
"""Threads of a user who drives many sessions."""


def import_(parameters: Parameters) -> Figures:
    """Measure the import, with the name that every user takes from it, and up to the first session, not yet open."""
    before = resident()
    with Span() as span:
        from claude_control import Session
    figures = {"seconds": span.wall, "rss": resident(), "added": resident() - before}
    with Span() as made:
        Session(cli_path=parameters["peer"])
    return {**figures, "ready": span.wall + made.wall, "ready_rss": resident()}


def connect(parameters: Parameters) -> Figures:
    """Measure the first open() of the process, later ones, and close()."""
    opened, closed = [], []
    new_session(parameters)  # imports what the import left for later; the first open() is measured apart
    for _ in range(parameters["n"] + 1):
        session = new_session(parameters)
        with Span() as span:
            session.open()
        opened.append(span.wall)
        with Span() as span:
            session.close()
        closed.append(span.wall)
    return {"first": opened[0], "warm": percentile(opened[1:], 0.5), "close": percentile(closed[1:], 0.5)}


def control(parameters: Parameters) -> Figures:
    """Measure control calls: one by one, from 64 threads, and 64 at a time from one thread."""
    from claude_control import requests

    count, width, seconds = parameters["n"], parameters["width"], []
    one_by_one, threaded, outstanding = Span(), Span(), Span()
    with new_session(parameters) as session:
        for _ in range(50):
            session.get_mcp_status()
        for part in turns(parameters):
            with one_by_one:
                for _ in range(part["n"]):
                    start = time.perf_counter()
                    session.get_mcp_status()
                    seconds.append(time.perf_counter() - start)
        assert count % width == 0

        def call(_: int) -> None:
            for _ in range(count // width):
                session.get_mcp_status()

        together(width, call, threaded)
        with outstanding:
            waiting = deque(session.submit(requests.MCPStatus()) for _ in range(width))
            for _ in range(count - width):
                waiting.popleft().result()
                waiting.append(session.submit(requests.MCPStatus()))
            while waiting:
                waiting.popleft().result()
    return {
        "p50": percentile(seconds, 0.5),
        "p99": percentile(seconds, 0.99),
        "cpu": one_by_one.cpu / count,
        "threads": threaded.wall / count,
        "outstanding": outstanding.wall / count,
    }


def stream(parameters: Parameters) -> Figures:
    """Measure turns of many messages, each read as its type and looked into."""
    span = Span()
    with new_session(parameters) as session:
        consume(session.ask(script(n=100, kind=parameters["kind"], size=60)), 100)
        for part in turns(parameters):
            with span:
                consume(session.ask(burst(part)), part["n"])
        return {"seconds": span.wall, "cpu": span.cpu, "peak": peak()}


def growth(parameters: Parameters) -> Figures:
    """Measure `stream` at every point of a row."""
    figures = {}
    with new_session(parameters) as session:
        consume(session.ask(script(n=100, kind=parameters["kind"], size=60)), 100)
        for name, point in parameters["points"].items():
            with Span() as span:
                consume(session.ask(burst({**parameters, **point})), point["n"])
            figures[name] = span.wall
    return figures


def asks(parameters: Parameters) -> Figures:
    """Measure permission callbacks and hooks, one by one and at once; seconds by the stand-in's clock."""
    from claude_control import Allow, HookMatcher

    figures: Figures = {}
    hooks = {"PreToolUse": [HookMatcher(hooks=[lambda event, tool_use_id, context: {}])]}
    with new_session(parameters, hooks=hooks, can_use_tool=lambda tool, tool_input, context: Allow()) as session:
        for _, prompt in ask_rounds({"n": 50}):
            session.ask(prompt).result()
        for name, prompt in ask_rounds(parameters):
            said = answered(session.ask(prompt).result().result)
            figures |= {name: said["asks"] / 1e6 / parameters["n"], f"{name}_p50": said["p50"] / 1e6}
    return figures


def tools(parameters: Parameters) -> Figures:
    """Measure calls of tools in this process, one by one and at once; seconds by the stand-in's clock."""
    from claude_control import ToolServer, tool

    figures: Figures = {}

    @tool
    def echo(text: str) -> str:
        """Return the text."""
        return text

    servers = {"own": ToolServer("own", [echo]), "low": foreign.lowlevel(), "high": foreign.highlevel()}
    with new_session(parameters, mcp_servers=servers) as session:
        for name, prompt in tool_rounds(parameters):
            said = answered(session.ask(prompt).result().result)
            if name:
                figures |= {name: said["asks"] / 1e6 / parameters["n"], f"{name}_p50": said["p50"] / 1e6}
    return figures


def delivery(parameters: Parameters) -> Figures:
    """Measure how long a message takes from the stand-in's clock to the user's loop, one message at a time."""
    from claude_control import StreamEvent

    seconds = []
    prompt = script(n=parameters["n"], kind="stamp", gap=parameters["gap"])
    with new_session(parameters) as session:
        for message in session.ask(prompt):
            if isinstance(message, StreamEvent):
                seconds.append((time.monotonic_ns() - int(message.text[:20])) / 1e9)
    return {"p50": percentile(seconds, 0.5), "p99": percentile(seconds, 0.99)}


def sessions(parameters: Parameters) -> Figures:
    """Measure many sessions: opened, at work together, closed together; memory by session in between."""
    from claude_control import close_all

    count = parameters["count"]

    def work(session: "Session") -> None:
        for _ in range(parameters["calls"]):
            session.get_mcp_status()
        consume(session.ask(burst(parameters)), parameters["n"])

    with new_session(parameters) as session:
        work(session)
    before = resident()
    with ThreadPoolExecutor(USER_THREADS) as pool, Span() as span:
        opened = list(pool.map(lambda _: new_session(parameters).open(), range(count)))
        connected = resident()
        list(pool.map(work, opened))
        worked = resident()
        close_all(opened)
    return {
        "wall": span.wall,
        "cpu": span.cpu,
        "connected": (connected - before) / count,
        "worked": (worked - before) / count,
    }


def session_growth(parameters: Parameters) -> Figures:
    """Measure `sessions` at every point of a row."""
    return {name: sessions({**parameters, **point})["wall"] for name, point in parameters["points"].items()}


def closing(parameters: Parameters) -> Figures:
    """Measure closing many sessions at once, with programs that end at once and with ones that take their time."""
    from claude_control import close_all

    figures = {}
    for name, delay in (("together", 0), ("slow", parameters["delay_ms"])):
        env, seconds = {"PEER_EXIT_MS": str(delay)} if delay else {}, []
        for _ in range(parameters["n"]):
            made = [new_session(parameters, env=env) for _ in range(parameters["count"])]
            with ThreadPoolExecutor(USER_THREADS) as pool:
                opened = list(pool.map(lambda session: session.open(), made))
            with Span() as span:
                close_all(opened)
            seconds.append(span.wall)
        figures[name] = percentile(seconds, 0.5)
    return {**figures, "beyond": figures["slow"] - parameters["delay_ms"] / 1e3}


def backlog(parameters: Parameters) -> Figures:
    """Measure control calls and memory behind messages that nobody reads."""
    with new_session(parameters) as session:
        consume(session.ask(script(n=100, kind=parameters["kind"], size=60)), 100)
        read, held = session.stats.bytes_read, resident()
        turn = session.ask(burst(parameters))
        expected = parameters["n"] * parameters["line"]
        seconds: list[float] = []
        half, left = 0, 100
        while left:  # 100 calls after the last message, and as many before as there is time for
            left -= turn.state == "done"
            with Span() as span:
                session.get_mcp_status()
            seconds.append(span.wall)
            if not half and session.stats.bytes_read - read > expected / 2:
                half = resident() - held
        received, grown = session.stats.bytes_read - read, resident() - held
        consume(turn, parameters["n"])
    return {
        "p50": percentile(seconds, 0.5),
        "most": max(seconds),
        "ratio": grown / received,
        "growth": (grown - half) / (received / 2),
    }


def real(parameters: Parameters) -> Figures:
    """Measure the real program with the scripted model: open(), and turns of three kinds."""
    from claude_control import Allow, Session

    session = Session(
        cli_path=parameters["command"],
        env=parameters["env"],
        cwd=parameters["cwd"],
        include_partial_messages=True,
        can_use_tool=lambda tool, tool_input, context: Allow(),
    )
    with Span() as opening:
        session.open()
    figures = {"open": opening.wall}
    try:
        for name, prompts in parameters["prompts"].items():
            seconds = []
            for prompt in prompts:
                with Span() as span:
                    for _message in session.ask(prompt):
                        pass
                seconds.append(span.wall)
            figures[name] = percentile(seconds[1:], 0.5)  # the first one warms the program up
    finally:
        session.close()
    return figures


def new_session(parameters: Parameters, **options: Any) -> "Session":
    """Return a session on the stand-in, not yet open."""
    from claude_control import Session

    return Session(cli_path=parameters["peer"], include_partial_messages=True, **options)


def consume(turn: "Turn", count: int) -> None:
    """Read every message of a turn, look at its text, and check that all came."""
    from claude_control import AssistantMessage, StreamEvent

    seen, characters, kinds = 0, 0, (StreamEvent, AssistantMessage)
    for message in turn:
        if isinstance(message, kinds):
            characters += len(message.text)
            seen += 1
    assert seen == count and characters > 0, f"{seen} of {count} messages"


WORKS: Mapping[str, Work] = {
    "import": import_,
    "connect": connect,
    "control": control,
    "stream": stream,
    "growth": growth,
    "asks": asks,
    "tools": tools,
    "delivery": delivery,
    "sessions": sessions,
    "session_growth": session_growth,
    "closing": closing,
    "backlog": backlog,
    "real": real,
}
"""By name, what can be measured."""


if __name__ == "__main__":
    main(WORKS)
