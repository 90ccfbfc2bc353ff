"""The client of the official `mcp` library, connected to a ToolServer, finds an MCP server there like any other."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

import attrs
import mcp
import mcp.types
import pytest
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from claude_control.session.pool import CallbackPool
from claude_control.tools import (
    EmbeddedResource,
    Media,
    Prompt,
    Resource,
    ResourceLink,
    ResourceTemplate,
    ToolContext,
    ToolServer,
    tool,
)
from tests.waiting import wait_until

T = TypeVar("T")
PNG = b"\x89PNG\r\n\x1a\n\0\0"


@asynccontextmanager
async def connected(server: ToolServer, pool: CallbackPool) -> AsyncIterator[mcp.ClientSession]:
    """Carry messages between the library's client, on this thread's loop, and a server whose calls run on the pool."""
    loop = asyncio.get_running_loop()
    async with create_client_server_memory_streams() as ((client_read, client_write), (incoming, outgoing)):
        replies: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        def send(message: dict[str, Any] | None) -> None:
            if message is not None:
                loop.call_soon_threadsafe(replies.put_nowait, message)

        connection = server.connect(pool.submit, send)

        async def inward() -> None:
            async for item in incoming:
                assert isinstance(item, SessionMessage)
                connection.receive(item.message.model_dump(by_alias=True, mode="json", exclude_none=True), send)

        async def outward() -> None:
            while True:
                message = mcp.types.jsonrpc_message_adapter.validate_python(await replies.get())
                await outgoing.send(SessionMessage(message))

        tasks = [loop.create_task(inward()), loop.create_task(outward())]
        async with mcp.ClientSession(client_read, client_write) as session:
            await session.initialize()
            yield session
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connection.close()


@pytest.fixture
def use(pool: CallbackPool) -> Callable[[ToolServer, Callable[[mcp.ClientSession], Awaitable[T]]], T]:
    """A function that runs a coroutine with a client of a server."""

    def run(server: ToolServer, body: Callable[[mcp.ClientSession], Awaitable[T]]) -> T:
        async def main() -> T:
            async with asyncio.timeout(30), connected(server, pool) as session:
                return await body(session)

        return asyncio.run(main())

    return run


Use = Callable[[ToolServer, Callable[[mcp.ClientSession], Awaitable[Any]]], Any]


@attrs.frozen
class Point:
    x: int
    y: int


@tool(read_only=True)
def move(point: Point, by: Annotated[int, "how far"] = 1) -> Point:
    """Move a point to the right."""
    return Point(point.x + by, point.y)


def gallery() -> list[Any]:
    """Show one of each."""
    link, embedded = ResourceLink("file:///a", "a"), EmbeddedResource("file:///b", "text")
    return ["words", Media(PNG, "image/png"), Media(b"RIFF", "audio/wav"), link, embedded]


def test_handshake_and_ping(use: Use) -> None:
    """The client agrees with the server on the newest version and learns what it is."""

    async def body(session: mcp.ClientSession) -> None:
        await session.send_ping()
        assert session.protocol_version == "2025-11-25"
        assert session.server_info is not None
        assert (session.server_info.name, session.server_info.version) == ("lab", "3")
        assert session.instructions == "Be kind."
        capabilities = session.server_capabilities
        assert capabilities is not None
        assert capabilities.tools is not None
        assert capabilities.prompts is None

    use(ToolServer("lab", [move], version="3", instructions="Be kind."), body)


def test_list_of_tools(use: Use) -> None:
    """The client reads every tool with its schema and hints."""

    async def body(session: mcp.ClientSession) -> None:
        (found,) = (await session.list_tools()).tools
        assert (found.name, found.description) == ("move", "Move a point to the right.")
        assert found.annotations is not None
        assert found.annotations.read_only_hint is True
        assert found.input_schema["required"] == ["point"]

    use(ToolServer("lab", [move]), body)


def test_call_with_structured_result(use: Use) -> None:
    """Arguments reach the function as what they stand for, and its record comes back as text and as data."""

    async def body(session: mcp.ClientSession) -> None:
        result = await session.call_tool("move", {"point": {"x": 1, "y": 2}, "by": 3})
        assert result.structured_content == {"x": 4, "y": 2}
        assert not result.is_error
        wrong = await session.call_tool("move", {"point": {"x": "1", "y": 2}})
        assert wrong.is_error
        assert isinstance(wrong.content[0], mcp.types.TextContent)
        assert "at `$.point.x`" in wrong.content[0].text

    use(ToolServer("lab", [move]), body)


def test_every_kind_of_content(use: Use) -> None:
    """The client understands text, image, audio, a link and an embedded resource."""

    async def body(session: mcp.ClientSession) -> None:
        kinds = [block.type for block in (await session.call_tool("gallery")).content]
        assert kinds == ["text", "image", "audio", "resource_link", "resource"]

    use(ToolServer("lab", [gallery]), body)


def test_unknown_tool_is_an_error_of_the_protocol(use: Use) -> None:
    """The client raises what the server refuses."""

    async def body(session: mcp.ClientSession) -> None:
        with pytest.raises(mcp.MCPError) as error:
            await session.call_tool("nothing")
        assert error.value.error.code == -32602

    use(ToolServer("lab"), body)


def test_cancelling_a_call(use: Use) -> None:
    """When the client gives a call up the tool's signal fires, and other calls go on."""
    begun, reasons = threading.Event(), list[str | None]()

    def wait(context: ToolContext) -> None:
        begun.set()
        context.signal.wait(20)
        reasons.append(context.signal.reason)

    async def body(session: mcp.ClientSession) -> None:
        call = asyncio.create_task(session.call_tool("wait"))
        assert await asyncio.to_thread(begun.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(wait_until, lambda: reasons == ["cancelled"])
        assert (await session.call_tool("move", {"point": {"x": 1, "y": 2}})).structured_content == {"x": 2, "y": 2}

    use(ToolServer("lab", [wait, move]), body)


def test_progress_arrives(use: Use) -> None:
    """Every report of a tool reaches the client's function before the result does."""
    seen: list[tuple[float, float | None, str | None]] = []

    def work(context: ToolContext) -> str:
        for step in range(3):
            context.progress(step, 3, f"step {step}")
        return "done"

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async def body(session: mcp.ClientSession) -> None:
        await session.call_tool("work", progress_callback=note)

    use(ToolServer("lab", [work]), body)
    assert seen == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]


def test_calls_at_the_same_time(use: Use) -> None:
    """Fifty calls that wait for each other are answered, so all of them do run at once."""
    barrier = threading.Barrier(50)

    def meet(number: int) -> int:
        barrier.wait(20)
        return number

    async def body(session: mcp.ClientSession) -> None:
        results = await asyncio.gather(*(session.call_tool("meet", {"number": each}) for each in range(50)))
        texts = [result.content[0].text for result in results if isinstance(result.content[0], mcp.types.TextContent)]
        assert texts == [str(each) for each in range(50)]

    use(ToolServer("lab", [meet]), body)


def test_resources_and_prompts(use: Use) -> None:
    """The client lists, reads and gets what else a server offers, and is told what there is not."""

    def review(file: str) -> str:
        """Review a file."""
        return f"Review {file}."

    async def body(session: mcp.ClientSession) -> None:
        (resource,) = (await session.list_resources()).resources
        assert (resource.name, resource.mime_type) == ("notes", "text/plain")
        (contents,) = (await session.read_resource(resource.uri)).contents
        assert isinstance(contents, mcp.types.TextResourceContents)
        assert contents.text == "hello"
        (template,) = (await session.list_resource_templates()).resource_templates
        assert (template.name, template.uri_template) == ("days", "days://{day}")
        (contents,) = (await session.read_resource("days://friday")).contents
        assert isinstance(contents, mcp.types.TextResourceContents)
        assert contents.text == "friday"
        (prompt,) = (await session.list_prompts()).prompts
        assert prompt.arguments is not None
        assert [each.name for each in prompt.arguments] == ["file"]
        (message,) = (await session.get_prompt("review", {"file": "a.py"})).messages
        assert isinstance(message.content, mcp.types.TextContent)
        assert message.content.text == "Review a.py."
        for attempt in (
            session.read_resource("notes://none"),
            session.get_prompt("none"),
            session.get_prompt("review"),
        ):
            with pytest.raises(mcp.MCPError):
                await attempt

    notes = Resource("notes://a", lambda: "hello", name="notes", mime_type="text/plain")
    days = ResourceTemplate("days://{day}", lambda day: f"{day}", name="days")
    use(ToolServer("lab", resources=[notes, days], prompts=[Prompt(review)]), body)
