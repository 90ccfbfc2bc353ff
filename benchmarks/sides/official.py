"""The official SDK, as its documentation shows: one client, awaited in one event loop.

It runs in an environment of its own, in which neither this SDK nor its libraries are installed.
"""

import asyncio
import importlib
import time
from collections.abc import Coroutine, Mapping
from contextlib import asynccontextmanager
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
    tool_rounds,
    turns,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LINE_BYTES = 64 * 1024 * 1024
"""Its default is 1 MiB; this is ours."""


def import_(parameters: Parameters) -> Figures:
    """Measure the import, with the name that every user takes from it, and up to the first client, not yet open."""
    before = resident()
    with Span() as span:
        _ = sdk().ClaudeSDKClient
    figures = {"seconds": span.wall, "rss": resident(), "added": resident() - before}
    with Span() as made:
        new_client(parameters)
    return {**figures, "ready": span.wall + made.wall, "ready_rss": resident()}


async def connect(parameters: Parameters) -> Figures:
    """Measure how long a client takes to connect, the first of the process and later ones, and to disconnect."""
    opened, closed = [], []
    sdk()
    for _ in range(parameters["n"] + 1):
        client = new_client(parameters)
        with Span() as span:
            await client.connect()
        opened.append(span.wall)
        with Span() as span:
            await client.disconnect()
        closed.append(span.wall)
    return {"first": opened[0], "warm": percentile(opened[1:], 0.5), "close": percentile(closed[1:], 0.5)}


async def control(parameters: Parameters) -> Figures:
    """Measure control calls: one by one, and from 64 tasks."""
    count, width, seconds = parameters["n"], parameters["width"], []
    one_by_one, tasks = Span(), Span()
    async with open_client(parameters) as client:

        async def call(times: int) -> None:
            for _ in range(times):
                await client.get_mcp_status()

        await call(50)
        for part in turns(parameters):
            with one_by_one:
                for _ in range(part["n"]):
                    start = time.perf_counter()
                    await client.get_mcp_status()
                    seconds.append(time.perf_counter() - start)
        assert count % width == 0
        with tasks:
            await asyncio.gather(*(call(count // width) for _ in range(width)))
    together = tasks.wall / count
    return {
        "p50": percentile(seconds, 0.5),
        "p99": percentile(seconds, 0.99),
        "cpu": one_by_one.cpu / count,
        "threads": together,
        "outstanding": together,
    }


async def stream(parameters: Parameters) -> Figures:
    """Measure turns of many messages, each read as its type and looked into."""
    span = Span()
    async with open_client(parameters) as client:
        await consume(client, script(n=100, kind=parameters["kind"], size=60), 100)
        for part in turns(parameters):
            with span:
                await consume(client, burst(part), part["n"])
        return {"seconds": span.wall, "cpu": span.cpu, "peak": peak()}


async def growth(parameters: Parameters) -> Figures:
    """Measure `stream` at every point of a row."""
    figures = {}
    async with open_client(parameters) as client:
        await consume(client, script(n=100, kind=parameters["kind"], size=60), 100)
        for name, point in parameters["points"].items():
            with Span() as span:
                await consume(client, burst({**parameters, **point}), point["n"])
            figures[name] = span.wall
    return figures


async def asks(parameters: Parameters) -> Figures:
    """Measure permission callbacks and hooks, one by one and at once; seconds by the stand-in's clock."""
    figures: Figures = {}

    async def hook(event: Any, tool_use_id: Any, context: Any) -> dict[str, Any]:
        return {}

    hooks = {"PreToolUse": [sdk().HookMatcher(hooks=[hook])]}
    async with open_client(parameters, hooks=hooks, can_use_tool=allow) as client:
        for _, prompt in ask_rounds({"n": 50}):
            await result_of(client, prompt)
        for name, prompt in ask_rounds(parameters):
            said = answered((await result_of(client, prompt)).result)
            figures |= {name: said["asks"] / 1e6 / parameters["n"], f"{name}_p50": said["p50"] / 1e6}
    return figures


async def tools(parameters: Parameters) -> Figures:
    """Measure calls of tools in this process, one by one and at once; seconds by the stand-in's clock."""
    figures: Figures = {}

    @sdk().tool("echo", "Return the text.", {"text": str})  # type: ignore[untyped-decorator]
    async def echo(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": arguments["text"]}]}

    low, high = foreign.lowlevel(), foreign.highlevel()._lowlevel_server
    servers = {
        "own": sdk().create_sdk_mcp_server("own", tools=[echo]),
        "low": {"type": "sdk", "name": "low", "instance": low},
        "high": {"type": "sdk", "name": "high", "instance": high},
    }
    async with open_client(parameters, mcp_servers=servers) as client:
        for name, prompt in tool_rounds(parameters):
            said = answered((await result_of(client, prompt)).result)
            if name:
                figures |= {name: said["asks"] / 1e6 / parameters["n"], f"{name}_p50": said["p50"] / 1e6}
    return figures


async def delivery(parameters: Parameters) -> Figures:
    """Measure how long a message takes from the stand-in's clock to the user's loop, one message at a time."""
    seconds, event_type = [], sdk().StreamEvent
    async with open_client(parameters) as client:
        await client.query(script(n=parameters["n"], kind="stamp", gap=parameters["gap"]))
        async for message in client.receive_response():
            if isinstance(message, event_type):
                seconds.append((time.monotonic_ns() - int(message.event["delta"]["text"][:20])) / 1e9)
    return {"p50": percentile(seconds, 0.5), "p99": percentile(seconds, 0.99)}


async def sessions(parameters: Parameters) -> Figures:
    """Measure many sessions: opened, at work together, closed together; memory by session in between."""
    count = parameters["count"]

    async def work(client: Any) -> None:
        for _ in range(parameters["calls"]):
            await client.get_mcp_status()
        await consume(client, burst(parameters), parameters["n"])

    async with open_client(parameters) as client:
        await work(client)
    before = resident()
    with Span() as span:
        clients = [new_client(parameters) for _ in range(count)]
        await asyncio.gather(*(client.connect() for client in clients))
        connected = resident()
        await asyncio.gather(*(work(client) for client in clients))
        worked = resident()
        await asyncio.gather(*(client.disconnect() for client in clients))
    return {
        "wall": span.wall,
        "cpu": span.cpu,
        "connected": (connected - before) / count,
        "worked": (worked - before) / count,
    }


async def session_growth(parameters: Parameters) -> Figures:
    """Measure `sessions` at every point of a row."""
    return {name: (await sessions({**parameters, **point}))["wall"] for name, point in parameters["points"].items()}


async def closing(parameters: Parameters) -> Figures:
    """Measure closing many sessions at once, with programs that end at once and with ones that take their time."""
    figures = {}
    for name, delay in (("together", 0), ("slow", parameters["delay_ms"])):
        env, seconds = {"PEER_EXIT_MS": str(delay)} if delay else {}, []
        for _ in range(parameters["n"]):
            clients = [new_client(parameters, env=env) for _ in range(parameters["count"])]
            await asyncio.gather(*(client.connect() for client in clients))
            with Span() as span:
                await asyncio.gather(*(client.disconnect() for client in clients))
            seconds.append(span.wall)
        figures[name] = percentile(seconds, 0.5)
    return {**figures, "beyond": figures["slow"] - parameters["delay_ms"] / 1e3}


async def real(parameters: Parameters) -> Figures:
    """Measure the real program with the scripted model: connect(), and turns of three kinds."""
    options = sdk().ClaudeAgentOptions(
        cli_path=parameters["command"],
        env=parameters["env"],
        cwd=parameters["cwd"],
        include_partial_messages=True,
        can_use_tool=allow,
    )
    client = sdk().ClaudeSDKClient(options)
    with Span() as opening:
        await client.connect()
    figures = {"open": opening.wall}
    for name, prompts in parameters["prompts"].items():
        seconds = []
        for prompt in prompts:
            with Span() as span:
                await result_of(client, prompt)
            seconds.append(span.wall)
        figures[name] = percentile(seconds[1:], 0.5)  # the first one warms the program up
    await client.disconnect()
    return figures


def sdk() -> Any:
    """Return the official SDK; imported by name, for no type checker of ours has it at hand."""
    return importlib.import_module("claude_agent_sdk")


def new_client(parameters: Parameters, **options: Any) -> Any:
    """Return a client on the stand-in, not yet connected."""
    always = {"cli_path": parameters["peer"], "include_partial_messages": True, "max_buffer_size": LINE_BYTES}
    return sdk().ClaudeSDKClient(sdk().ClaudeAgentOptions(**always, **options))


@asynccontextmanager
async def open_client(parameters: Parameters, **options: Any) -> "AsyncIterator[Any]":
    """Connect a client for a block."""
    client = new_client(parameters, **options)
    await client.connect()
    yield client
    await client.disconnect()


async def allow(tool: str, tool_input: dict[str, Any], context: Any) -> Any:
    """Permit everything."""
    return sdk().PermissionResultAllow()


async def result_of(client: Any, prompt: str) -> Any:
    """Ask, read everything, and return the last message."""
    await client.query(prompt)
    last = None
    async for message in client.receive_response():
        last = message
    return last


async def consume(client: Any, prompt: str, count: int) -> None:
    """Ask, read every message of the turn, look at its text, and check that all came."""
    event, assistant = sdk().StreamEvent, sdk().AssistantMessage
    seen = characters = 0
    await client.query(prompt)
    async for message in client.receive_response():
        if isinstance(message, event):
            characters += len(message.event["delta"]["text"])
            seen += 1
        elif isinstance(message, assistant):
            characters += sum(len(block.text) for block in message.content)
            seen += 1
    assert seen == count and characters > 0, f"{seen} of {count} messages"


def _awaited(work: Any) -> Work:
    def run(parameters: Parameters) -> Figures:
        coroutine: Coroutine[Any, Any, Figures] = work(parameters)
        return asyncio.run(coroutine)

    return run


WORKS: Mapping[str, Work] = {
    "import": import_,
    "connect": _awaited(connect),
    "control": _awaited(control),
    "stream": _awaited(stream),
    "growth": _awaited(growth),
    "asks": _awaited(asks),
    "tools": _awaited(tools),
    "delivery": _awaited(delivery),
    "sessions": _awaited(sessions),
    "session_growth": _awaited(session_growth),
    "closing": _awaited(closing),
    "real": _awaited(real),
}
"""By name, what can be measured."""


if __name__ == "__main__":
    main(WORKS)
