"""Every request gets exactly one answer, whatever its tool does, and no call holds up another."""

import os
import threading
from typing import Any

import pytest

from claude_control.abort import AbortSignal
from claude_control.deadline import Deadline
from claude_control.errors import OptionsError
from claude_control.session.pool import CallbackPool
from claude_control.tools import Prompt, Resource, ToolContext, ToolServer, tool
from tests.threads import together
from tests.tools.peers import Exchange, Latch, Peer
from tests.waiting import wait_until


def echo(x: str = "") -> str:
    """Return it."""
    return x


def holding(latch: Latch, **settings: Any) -> Any:
    """Return a tool that waits for the latch."""

    @tool("hold", **settings)
    def hold() -> str:
        latch.hold()
        return "held"

    return hold


# -- calls -------------------------------------------------------------------------------------------------------------


def test_call_is_answered_under_its_id(pool: CallbackPool) -> None:
    """A tool's result has the id of the call, of whatever kind that is."""
    peer = Peer(ToolServer("lab", [echo]), pool)
    for request_id in (0, "a", 2**60, 1.5):
        call = peer.ask("tools/call", {"name": "echo", "arguments": {"x": "y"}}, id=request_id)
        assert call.text() == "y"


def test_call_without_arguments(pool: CallbackPool) -> None:
    """Arguments that are missing or null are none."""
    peer = Peer(ToolServer("lab", [echo]), pool)
    assert peer.ask("tools/call", {"name": "echo"}).text() == ""
    assert peer.ask("tools/call", {"name": "echo", "arguments": None}).text() == ""


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "lab has no tool None; it has echo"),
        ({"name": "ech"}, "lab has no tool 'ech'"),
        ({"name": ["echo"]}, "lab has no tool"),
        ({"name": "echo", "arguments": [1]}, "not an object"),
        ({"name": "echo", "arguments": "x"}, "not an object"),
    ],
)
def test_impossible_call_has_invalid_parameters(pool: CallbackPool, params: dict[str, Any], said: str) -> None:
    """A call of no tool, or with arguments that are no object, is an error of the protocol."""
    code, text = Peer(ToolServer("lab", [echo]), pool).ask("tools/call", params).error()
    assert code == -32602
    assert said in text


def test_calls_run_at_the_same_time(pool: CallbackPool, latch: Latch) -> None:
    """Fifty calls are in flight at once, and one more is not held up by them."""
    peer = Peer(ToolServer("lab", [holding(latch), echo]), pool)
    calls = [peer.call("hold") for _ in range(50)]
    wait_until(lambda: latch.inside == 50)
    assert peer.call("echo", {"x": "y"}).text() == "y"
    assert len(peer.connection) == 50
    latch.open()
    assert {call.text() for call in calls} == {"held"}
    assert repr(peer.connection) == "<Connection to lab: 0 calls open, 0 late>"


def test_receiving_never_waits(pool: CallbackPool, latch: Latch) -> None:
    """The thread that brings a message runs nothing of the user's: not a tool, a resource or a prompt."""
    threads: list[threading.Thread] = []

    def note() -> str:
        threads.append(threading.current_thread())
        return "x"

    peer = Peer(ToolServer("lab", [note], resources=[Resource("a:", note)], prompts=[Prompt(note)]), pool)
    peer.call("note").result()
    peer.ask("resources/read", {"uri": "a:"}).result()
    peer.ask("prompts/get", {"name": "note"}).result()
    assert len(threads) == 3
    assert threading.current_thread() not in threads


def test_concurrency_is_limited(pool: CallbackPool, latch: Latch) -> None:
    """No more than two run, the others wait without a thread, and all are answered in the end."""
    peer = Peer(ToolServer("lab", [holding(latch, max_concurrency=2)]), pool)
    calls = [peer.call("hold") for _ in range(6)]
    wait_until(lambda: latch.inside == 2)
    assert repr(pool) in ("<CallbackPool 2 threads, 0 waiting>", "<CallbackPool 3 threads, 0 waiting>")  # one looks out
    latch.open()
    assert [call.text() for call in calls] == ["held"] * 6
    assert latch.most == 2


def test_limit_counts_the_calls_of_all_sessions(pool: CallbackPool, latch: Latch) -> None:
    """One server in two sessions has one limit: it may guard something that there is only one of."""
    server = ToolServer("lab", [holding(latch, max_concurrency=1)])
    first = Peer(server, pool).call("hold")
    wait_until(lambda: latch.inside == 1)
    second = Peer(server, pool).call("hold")
    latch.open()
    assert (first.text(), second.text(), latch.most) == ("held", "held", 1)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_limit_of_a_forked_child_is_its_own(pool: CallbackPool, latch: Latch) -> None:
    """Calls that run in the parent take no place in a child, where nobody would ever give it back."""
    server = ToolServer("lab", [holding(latch, max_concurrency=1)])
    call = Peer(server, pool).call("hold")
    wait_until(lambda: latch.inside == 1)
    pid = os.fork()
    if pid == 0:
        try:
            latch.open()
            os._exit(len(Peer(server, CallbackPool("claude-child")).call("hold").text()))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == len("held")
    latch.open()
    assert call.text() == "held"


# -- cancelling, time limits, closing ----------------------------------------------------------------------------------


class Listening:
    """A tool that waits for its signal, and keeps the reasons."""

    def __init__(self, **settings: Any) -> None:
        self.begun = 0
        self.reasons: list[str | None] = []
        self.tool = tool("listen", **settings)(self.listen)

    def listen(self, context: ToolContext) -> str:
        self.begun += 1
        context.signal.wait(20)
        self.reasons.append(context.signal.reason)
        return "too late"


def test_cancelled_call_gets_no_response(pool: CallbackPool) -> None:
    """The signal fires, the call is done for at once, and what the tool returns then is dropped and counted."""
    listening = Listening()
    peer = Peer(ToolServer("lab", [listening.tool]), pool)
    call = peer.call("listen")
    wait_until(lambda: listening.begun)
    assert peer.cancel(call).wait() is None
    assert call.wait() is None
    wait_until(lambda: peer.connection.late == 1)
    assert listening.reasons == ["cancelled"]
    assert call.answers == [None]


def test_cancelling_what_waits_for_its_turn(pool: CallbackPool, latch: Latch) -> None:
    """A call that has not begun never runs, and the next one takes its place."""
    peer = Peer(ToolServer("lab", [holding(latch, max_concurrency=1)]), pool)
    first, second, third = (peer.call("hold") for _ in range(3))
    wait_until(lambda: latch.inside == 1)
    peer.cancel(second)
    assert second.wait() is None
    latch.open()
    assert (first.text(), third.text()) == ("held", "held")


@pytest.mark.parametrize("request_id", [99, "x", None, [1], {}, True])
def test_cancelling_nothing_is_harmless(pool: CallbackPool, request_id: Any) -> None:
    """An id that is not in flight, or none at all, is acknowledged and changes nothing."""
    peer = Peer(ToolServer("lab", [echo]), pool)
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    assert peer.send(message).wait() is None
    assert peer.call("echo", {"x": "y"}).text() == "y"


def test_cancelling_after_the_answer_is_harmless(pool: CallbackPool) -> None:
    """A cancel that crosses the answer changes nothing (2.0.75 and 2.1.7 send such)."""
    peer = Peer(ToolServer("lab", [echo]), pool)
    call = peer.call("echo", {"x": "y"})
    assert call.text() == "y"
    assert peer.cancel(call).wait() is None
    assert call.text() == "y"


def test_cancel_means_the_last_call_of_an_id(pool: CallbackPool) -> None:
    """After a second handshake ids begin anew: each call is still answered, and a cancel is for the later one."""
    listening = Listening()
    peer = Peer(ToolServer("lab", [listening.tool, echo]), pool)
    first, second = (peer.ask("tools/call", {"name": "listen"}, id=2) for _ in range(2))
    wait_until(lambda: listening.begun == 2)
    peer.cancel(second)
    assert second.wait() is None
    assert first.answers == []
    peer.connection.close()
    assert "closed" in first.text()
    wait_until(lambda: len(listening.reasons) == 2)
    assert sorted(map(str, listening.reasons)) == ["cancelled", "closed"]


def test_time_limit_answers(pool: CallbackPool) -> None:
    """When its time is up a call is answered with a failure for the model, and the tool's signal fires."""
    listening = Listening(timeout=0.05)
    peer = Peer(ToolServer("lab", [listening.tool]), pool)
    call = peer.call("listen")
    assert call.result()["isError"] is True
    assert call.text() == "listen did not answer within 0.05 seconds."
    wait_until(lambda: listening.reasons == ["timeout"])
    wait_until(lambda: peer.connection.late == 1)
    assert len(call.answers) == 1


def test_time_limit_counts_the_waiting(pool: CallbackPool, latch: Latch) -> None:
    """A call that never gets its turn is answered too, and says why it did not begin."""
    peer = Peer(ToolServer("lab", [holding(latch, max_concurrency=1, timeout=0.1)]), pool)
    first = peer.call("hold")
    wait_until(lambda: latch.inside == 1)
    second = peer.call("hold")
    assert first.text() == "hold did not answer within 0.1 seconds."
    assert second.text().startswith("hold could not begin, because earlier calls of it still run")
    latch.open()
    wait_until(lambda: latch.inside == 0)
    assert latch.most == 1


def test_servers_time_limit_is_for_those_without_one(pool: CallbackPool, latch: Latch) -> None:
    """The server's limit holds for tools without their own, for resources and for prompts."""

    def wait() -> str:
        latch.hold()
        return ""

    own = tool("own", timeout=30)(wait)
    resource, prompt = Resource("a:", wait), Prompt(wait)
    peer = Peer(ToolServer("lab", [wait, own], resources=[resource], prompts=[prompt], timeout=0.05), pool)
    patient = peer.call("own")
    assert peer.call("wait").text() == "wait did not answer within 0.05 seconds."
    for method, params in (("resources/read", {"uri": "a:"}), ("prompts/get", {"name": "wait"})):
        code, text = peer.ask(method, params).error()
        assert (code, "within 0.05 seconds" in text) == (-32603, True)
    latch.open()
    assert patient.text() == ""


def test_answer_in_time_leaves_no_timer(pool: CallbackPool) -> None:
    """A call that was answered is not timed out later, and its timer is gone."""
    peer = Peer(ToolServer("lab", [tool("quick", timeout=30)(echo)]), pool)
    call = peer.call("quick", {"x": "y"})
    assert call.text() == "y"
    wait_until(lambda: not any(thread.name == "claude-watch" for thread in threading.enumerate()))


@pytest.mark.parametrize("reason", ["closed", "exited"])
def test_close_ends_every_call(pool: CallbackPool, reason: str) -> None:
    """At the end each open call is answered, its signal tells the reason, and a late result is dropped."""
    listening = Listening(max_concurrency=1)
    peer = Peer(ToolServer("lab", [listening.tool]), pool)
    calls = [peer.call("listen") for _ in range(3)]
    wait_until(lambda: listening.begun == 1)
    peer.connection.close(reason)
    assert all(reason in call.text() for call in calls)
    wait_until(lambda: peer.connection.late == 1)
    assert listening.reasons == [reason]
    peer.connection.close()
    code, text = peer.call("listen").error()
    assert (code, reason in text) == (-32603, True)
    assert [len(call.answers) for call in calls] == [1, 1, 1]


def test_close_tells_every_tool(pool: CallbackPool) -> None:
    """When nobody can carry the answers any more, the tools are told to stop all the same."""
    listening = Listening()
    peer = Peer(ToolServer("lab", [listening.tool]), pool)

    def refuse(_answer: object) -> None:
        raise BrokenPipeError

    for request_id in range(3):
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": "listen"}}
        peer.connection.receive(message, refuse)
    wait_until(lambda: listening.begun == 3)
    peer.connection.close("exited")
    wait_until(lambda: listening.reasons == ["exited"] * 3)


def test_closed_pool_answers(pool: CallbackPool) -> None:
    """A call that no thread will ever run is answered at once, and leaves its place."""
    pool.close()
    assert pool.join(Deadline(10)) == []
    peer = Peer(ToolServer("lab", [tool("one", max_concurrency=1)(echo)]), pool)
    for _ in range(2):
        assert "was not run" in peer.call("one").text()


def test_functions_of_the_signal_run_on_the_pool(pool: CallbackPool) -> None:
    """What a tool gave to `on_abort` runs on the pool, and an error in it harms nobody."""
    seen: list[str] = []
    ready = threading.Event()

    def fail() -> None:
        raise ValueError

    @tool
    def listen(context: ToolContext) -> str:
        context.signal.on_abort(fail)
        context.signal.on_abort(lambda: seen.append(threading.current_thread().name))
        ready.set()
        context.signal.wait(20)
        return ""

    peer = Peer(ToolServer("lab", [listen]), pool)
    call = peer.call("listen")
    assert ready.wait(10)
    peer.cancel(call)
    wait_until(lambda: seen)
    assert seen[0].startswith("claude-test-callback")


def test_carrier_may_fire_the_signal(pool: CallbackPool) -> None:
    """A tool listens to the signal of whoever carried its call, if there is one."""
    listening, signal = Listening(), AbortSignal()
    peer = Peer(ToolServer("lab", [listening.tool]), pool)
    call = Exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "listen"}})
    peer.connection.receive(call.message, call.reply, signal)
    wait_until(lambda: listening.begun)
    signal.fire("exited")
    assert call.text() == "too late"
    assert listening.reasons == ["exited"]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_result_that_cannot_be_written_is_answered(pool: CallbackPool) -> None:
    """When the wire refuses a result, the model is told so instead."""
    refused: list[Any] = []

    class Picky(Exchange):
        def reply(self, answer: dict[str, Any] | None) -> None:
            if not refused:
                refused.append(answer)
                raise OptionsError("too odd")
            super().reply(answer)

    call = Picky({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}})
    Peer(ToolServer("lab", [echo]), pool).connection.receive(call.message, call.reply)
    assert call.text() == "echo ran, but what it returned cannot be sent: too odd"


@pytest.mark.parametrize(("method", "params"), [("resources/read", {"uri": "a:"}), ("prompts/get", {"name": "broken"})])
def test_broken_resource_and_prompt_are_errors(pool: CallbackPool, method: str, params: dict[str, Any]) -> None:
    """What a resource's or prompt's function raises is an error of the request."""

    def broken() -> str:
        raise SystemExit("no")

    peer = Peer(ToolServer("lab", resources=[Resource("a:", broken)], prompts=[Prompt(broken)]), pool)
    code, text = peer.ask(method, params).error()
    assert (code, "SystemExit: no" in text) == (-32603, True)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": "b:"}, -32002),
        ("prompts/get", {}, -32602),
        ("prompts/get", {"name": "ask", "arguments": []}, -32602),
        ("prompts/get", {"name": "ask", "arguments": {}}, -32602),
        ("prompts/get", {"name": "ask", "arguments": {"what": "x", "who": "y"}}, -32602),
    ],
)
def test_unknown_resource_and_prompt(pool: CallbackPool, method: str, params: dict[str, Any], code: int) -> None:
    """What is not there, or does not fit, is told by the code for it."""

    def ask(what: str) -> str:
        return what

    peer = Peer(ToolServer("lab", resources=[Resource("a:", "x")], prompts=[ask]), pool)
    assert peer.ask(method, params).error()[0] == code


def test_answers_cancels_and_time_limits_race(pool: CallbackPool) -> None:
    """Whoever comes first, each call is answered once: by its tool, a cancel, its time limit or the end."""
    quick = tool("quick", timeout=0.001)(echo)
    peer = Peer(ToolServer("lab", [quick]), pool)
    calls: list[Exchange] = []

    def work() -> None:
        for _ in range(50):
            call = peer.call("quick")
            calls.append(call)
            peer.cancel(call)

    together([work] * 4)
    peer.connection.close()
    wait_until(lambda: all(call.answers for call in calls))
    assert [len(call.answers) for call in calls] == [1] * 200
    assert len(peer.connection) == 0


# -- context -----------------------------------------------------------------------------------------------------------


def test_tool_is_told_about_its_call(pool: CallbackPool) -> None:
    """The context has the id of the tool use, everything that came with the call, and the session."""
    seen: list[ToolContext] = []

    def look(context: ToolContext) -> str:
        seen.append(context)
        return ""

    meta: dict[str, Any] = {"claudecode/toolUseId": "toolu_1", "progressToken": 2}
    Peer(ToolServer("lab", [look]), pool, session=lambda: "the session").call("look", **meta).result()
    (context,) = seen
    assert (context.tool_name, context.tool_use_id, context.meta) == ("look", "toolu_1", meta)
    assert context.session == "the session"


def test_progress_is_sent_until_the_answer(pool: CallbackPool) -> None:
    """Reports go out under the call's token while it is open, and not after its answer."""
    contexts: list[ToolContext] = []

    def work(context: ToolContext) -> str:
        contexts.append(context)
        context.progress(1, 2)
        context.progress(2, 2, "done")
        return ""

    peer = Peer(ToolServer("lab", [work]), pool)
    peer.call("work", progressToken="t").result()
    contexts[0].progress(3)
    assert [(sent["method"], sent["params"]) for sent in peer.sent] == [
        ("notifications/progress", {"progressToken": "t", "progress": 1, "total": 2}),
        ("notifications/progress", {"progressToken": "t", "progress": 2, "total": 2, "message": "done"}),
    ]
    peer.call("work").result()
    assert len(peer.sent) == 2  # nobody asked for the second call's
