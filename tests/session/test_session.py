"""The life of a session on the scripted CLI: opening, state, errors, closing."""

import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_control import (
    CLINotFoundError,
    ConcurrencyError,
    ControlRequestError,
    ControlTimeoutError,
    HookContext,
    HookMatcher,
    InitializeError,
    NotSupportedError,
    Options,
    OptionsError,
    ProcessExitedError,
    ProtocolError,
    Session,
    SessionClosedError,
    SpawnError,
    close_all,
    requests,
)
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import (
    answer,
    answer_error,
    call_hook,
    close_stdin,
    close_stdout,
    crash,
    default,
    die,
    expect_request,
    flood_stderr,
    hang,
    ignore_signals,
    leave_child,
    on_request,
    reply,
    stderr,
    stop_reading,
    turn,
    unanswered,
    wait_gate,
)
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

OLD = pytest.mark.parametrize("program", ["2.0.75", "2.1.7"])
ALL = pytest.mark.parametrize("program", ["2.0.75", "2.1.7", "2.1.332"])


def gone(pid: int) -> bool:
    """Tell whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


# -- opening -----------------------------------------------------------------------------------------------------------


def test_construction_does_no_io() -> None:
    """A session of a program that does not exist can be made; it is new and refuses calls."""
    session = Session(cli_path="/nowhere/claude")
    assert session.state == "new"
    with pytest.raises(SessionClosedError, match="not open"):
        session.set_model("sonnet")


@ALL
def test_open_completes_the_handshake(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """An open session is idle and knows its id and what the program said of itself."""
    session = open_scripted(scripted_cli(program=program))
    assert session.state == "idle"
    assert session.session_id is not None
    assert session.server_info.commands is not None
    assert session.program.modern == (program == "2.1.332")


def test_missing_program_is_told() -> None:
    """An explicit program that is not there is named in the error."""
    with pytest.raises(CLINotFoundError, match="/nowhere/claude"):
        Session(cli_path="/nowhere/claude").open()


def test_missing_working_directory_is_told(scripted_cli: ScriptedCLIFactory, tmp_path: Path) -> None:
    """A working directory that is not there is named in the error, and nothing is left."""
    with pytest.raises((SpawnError, OptionsError), match="absent"):
        Session(cli_path=scripted_cli().command, cwd=tmp_path / "absent").open()


def test_program_that_dies_before_the_handshake(scripted_cli: ScriptedCLIFactory) -> None:
    """A program that exits before it answers fails open() at once, with its own words and exit code."""
    cli = scripted_cli([stderr("no such session\n"), crash(3)])
    with pytest.raises(InitializeError, match="no such session") as caught:
        Session(cli_path=cli.command).open()
    assert caught.value.exit_code == 3
    assert caught.value.phase == "initialize"


def test_program_that_never_answers_the_handshake(scripted_cli: ScriptedCLIFactory) -> None:
    """A program that does not finish the handshake in time is ended, and the error says so."""
    cli = scripted_cli(reactions=[unanswered("initialize")])
    with pytest.raises(InitializeError, match=r"within 0\.3 seconds"):
        Session(cli_path=cli.command, initialize_timeout=0.3).open()
    assert all(gone(pid) for pid in cli.pids)


def test_refused_handshake(scripted_cli: ScriptedCLIFactory) -> None:
    """A handshake that the program refuses fails with its text."""
    cli = scripted_cli(reactions=[on_request("initialize", answer_error("bad hooks"))])
    with pytest.raises(InitializeError, match="bad hooks"):
        Session(cli_path=cli.command).open()


def test_a_session_opens_once(scripted_cli: ScriptedCLIFactory) -> None:
    """Opening twice, or after close(), is refused."""
    session = Session(cli_path=scripted_cli().command).open()
    with pytest.raises(ConcurrencyError):
        session.open()
    session.close()
    with pytest.raises(SessionClosedError):
        session.open()


def test_calls_from_other_threads_wait_for_the_handshake(scripted_cli: ScriptedCLIFactory) -> None:
    """A call made while another thread opens the session waits, and then works."""
    cli = scripted_cli(reactions=[on_request("initialize", wait_gate("go"), also_default=False)])
    cli = scripted_cli([expect_request("initialize"), wait_gate("go"), answer({"capabilities": []})])
    session = Session(cli_path=cli.command)
    opener = threading.Thread(target=session.open)
    opener.start()
    wait_until(lambda: session.state == "opening")
    modes: list[str | None] = []
    caller = threading.Thread(target=lambda: modes.append(session.set_permission_mode("plan").mode))
    caller.start()
    cli.open_gate("go")
    opener.join(10)
    caller.join(10)
    session.close()
    assert modes == ["plan"]


# -- control calls -----------------------------------------------------------------------------------------------------


@ALL
def test_control_calls_are_answered(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """Every control method of the spine gets its typed reply, although old programs answer a mode change twice."""
    session = open_scripted(scripted_cli(program=program), enable_file_checkpointing=True)
    assert session.set_permission_mode("acceptEdits").mode == "acceptEdits"
    assert isinstance(session.set_model("sonnet"), requests.SetModelReply)
    assert isinstance(session.set_max_thinking_tokens(1000), requests.EmptyReply)
    assert isinstance(session.get_mcp_status(), requests.MCPStatusReply)
    assert isinstance(session.interrupt(), requests.InterruptReply)


def test_error_answers_are_raised(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """An error answer becomes an exception with the program's text and code."""
    session = open_scripted(scripted_cli(reactions=[on_request("set_model", answer_error("no", "catalog_unknown"))]))
    with pytest.raises(ControlRequestError, match="no") as caught:
        session.set_model("x")
    assert (caught.value.subtype, caught.value.code) == ("set_model", "catalog_unknown")


def test_wrong_container_is_a_protocol_error(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A reply that is no object raises with the raw reply; the session lives on."""
    session = open_scripted(scripted_cli(reactions=[on_request("mcp_status", answer(["no", "object"]))]))
    with pytest.raises(ProtocolError) as caught:
        session.get_mcp_status()
    assert caught.value.raw == ["no", "object"]
    assert session.set_permission_mode("plan").mode == "plan"


def test_unanswered_request_is_given_up(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A request without an answer in time raises, leaves no entry, and is withdrawn from a program that knows that."""
    cli = scripted_cli(reactions=[unanswered("mcp_status")])
    session = open_scripted(cli)
    with pytest.raises(ControlTimeoutError):
        session.get_mcp_status(timeout=0.2)
    cli.wait_received(lambda frame: frame["type"] == "control_cancel_request")
    assert len(session._live().calls.pending) == 0


@OLD
def test_old_programs_are_sent_no_withdrawal(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """A withdrawal would kill 2.0.75 and 2.1.7, so they get none."""
    cli = scripted_cli(program=program, reactions=[unanswered("mcp_status")])
    session = open_scripted(cli)
    with pytest.raises(ControlTimeoutError):
        session.get_mcp_status(timeout=0.2)
    session.set_model("sonnet")
    assert not [frame for frame in cli.received() if frame["type"] == "control_cancel_request"]


def test_submit_does_not_wait(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Submitted requests are answered in whatever order; a wait that ends leaves the request going."""
    cli = scripted_cli(reactions=[on_request("mcp_status", wait_gate("slow"), answer({"mcpServers": []}))])
    session = open_scripted(cli)
    slow = session.submit(requests.MCPStatus())
    with pytest.raises(TimeoutError):
        slow.result(timeout=0.1)
    assert not slow.done()
    cli.open_gate("slow")
    assert slow.result().servers == ()


@OLD
def test_unknown_requests_never_reach_old_programs(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """What an old program would meet with silence is refused here, naming the version that knows it."""
    cli = scripted_cli(program=program)
    session = open_scripted(cli)
    with pytest.raises(NotSupportedError, match=r"2\.1\.332") as caught:
        session.request("get_context_usage")
    assert caught.value.needs == "2.1.332"
    assert "get_context_usage" not in str(cli.received())


def test_a_dry_run_never_reaches_the_program_that_would_rewind(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """2.0.75 is not asked for a dry run, by a method or by hand; 2.1.7, told apart by `--version`, is."""
    oldest = open_scripted(scripted_cli(program="2.0.75"))
    with pytest.raises(NotSupportedError, match=r"2\.1\.7"):
        oldest.rewind_files("some-uuid", dry_run=True)
    with pytest.raises(NotSupportedError, match=r"2\.1\.7"):
        oldest.request("rewind_files", {"user_message_id": "some-uuid", "dry_run": True})
    older = open_scripted(scripted_cli(program="2.1.7"), enable_file_checkpointing=True)
    with pytest.raises(ControlRequestError, match="No file checkpoint"):  # the program was asked
        older.rewind_files("some-uuid", dry_run=True)


@ALL
def test_bypass_is_refused_unless_launched_for(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """No way of asking for bypassPermissions reaches a program that was not launched for it."""
    cli = scripted_cli(program=program)
    session = open_scripted(cli)
    for ask in (
        lambda: session.set_permission_mode("bypassPermissions"),
        lambda: session.submit(requests.SetPermissionMode("bypassPermissions")),
        lambda: session.request("set_permission_mode", {"mode": "bypassPermissions"}),
    ):
        with pytest.raises(OptionsError, match="allow_bypass"):
            ask()
    assert "bypassPermissions" not in str(cli.received())


# -- bad luck ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [crash(7), die("SIGKILL")])
def test_program_that_dies_in_a_turn(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, end: object
) -> None:
    """The turn, later calls and `messages()` all raise how the program ended, with its last words."""
    cli = scripted_cli(prompts=[turn(reply("half"), stderr("out of luck\n"), end)])  # type: ignore[arg-type]
    session = open_scripted(cli)
    asked = session.ask("hello")
    with pytest.raises(ProcessExitedError, match="out of luck") as caught:
        asked.result(timeout=10)
    assert (caught.value.exit_code, caught.value.signal) in [(7, None), (None, signal.SIGKILL)]
    assert caught.value.phase == "turn"
    assert asked.outcome == "failed"
    for call in (lambda: session.set_model("x"), lambda: session.ask("again"), lambda: next(session.messages())):
        with pytest.raises(ProcessExitedError, match="out of luck"):
            call()
    assert session.state == "failed"


def test_what_came_before_the_end_is_delivered(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Iterating a turn whose program dies yields what came, then raises."""
    session = open_scripted(scripted_cli(prompts=[turn(reply("half an answer"), crash(1))]))
    seen = []
    with pytest.raises(ProcessExitedError):
        for message in session.ask("hello"):
            seen.append(getattr(message, "text", ""))
    assert "half an answer" in seen


def test_stdin_closed_under_us(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A program that no longer reads fails the call in bounded time, with a typed error."""
    cli = scripted_cli([close_stdin(), hang()])
    cli = scripted_cli(reactions=[on_request("set_model", close_stdin(), hang())])
    session = open_scripted(cli, terminate_grace=0.5)
    with pytest.raises((ProcessExitedError, ControlTimeoutError)):
        session.set_model("x", timeout=1)
    start = time.monotonic()
    with pytest.raises((ProcessExitedError, SessionClosedError)):
        session.get_mcp_status(timeout=5)
    assert time.monotonic() - start < 20


def test_stdout_closed_but_alive(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A program that closes its output and lives on is ended, and the turn fails in bounded time."""
    cli = scripted_cli(prompts=[turn(close_stdout(), hang())])
    session = open_scripted(cli, terminate_grace=0.5)
    with pytest.raises(ProcessExitedError):
        session.ask("hello").result(timeout=15)
    assert all(gone(pid) for pid in cli.pids)


def test_exit_while_a_grandchild_holds_the_output(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A program's end is seen although a process that it left behind holds its output open."""
    cli = scripted_cli(prompts=[turn(leave_child(seconds=30), crash(5))])
    session = open_scripted(cli)
    with pytest.raises(ProcessExitedError) as caught:
        session.ask("hello").result(timeout=10)
    assert caught.value.exit_code == 5
    session.close()
    wait_until(lambda: all(gone(pid) for pid in cli.left_children))


def test_flood_on_stderr_stops_nothing(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Megabytes on stderr do not stop the turn."""
    session = open_scripted(scripted_cli(prompts=[turn(flood_stderr(5_000_000), reply("still here"))]))
    assert session.ask("hello").result(timeout=20).result == "still here"


def test_stderr_callback_gets_every_line_in_order(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """The `stderr` option is called with each line, in order."""
    lines: list[str] = []
    text = "".join(f"line {n}\n" for n in range(500))
    session = open_scripted(scripted_cli(prompts=[turn(stderr(text), reply())]), stderr=lines.append)
    session.ask("hello").result()
    wait_until(lambda: len(lines) == 500)
    assert lines == [f"line {n}" for n in range(500)]


def test_both_pipes_full_at_once(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A program that does not read while it writes megabytes, and is sent a megabyte meanwhile, stops nothing."""
    from claude_control.testing.steps import burst, resume_reading

    steps = turn(stop_reading(), wait_gate("full"), burst(20_000), resume_reading(), reply("through"))
    cli = scripted_cli(prompts=[steps])
    session = open_scripted(cli)
    asked = session.ask("hello")
    other = threading.Thread(target=lambda: session.send("x" * 1_000_000))
    other.start()
    cli.open_gate("full")
    assert asked.result(timeout=30).result == "through"
    other.join(20)
    assert not other.is_alive()


# -- closing -----------------------------------------------------------------------------------------------------------


def test_close_is_idempotent_and_safe_in_two_threads(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Two closes at once both return with the program gone; a third does nothing."""
    cli = scripted_cli()
    session = open_scripted(cli)
    threads = [threading.Thread(target=session.close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    session.close()
    assert session.state == "closed"
    assert all(gone(pid) for pid in cli.pids)
    with pytest.raises(SessionClosedError):
        session.set_model("x")


def test_close_ends_a_program_that_ignores_everything(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A program that ignores the end of its input and SIGTERM is killed, within the graces."""
    cli = scripted_cli(prompts=[turn(ignore_signals(), hang(), interruptible=False)])
    session = open_scripted(cli, interrupt_grace=0.3, exit_grace=0.3, terminate_grace=0.3)
    asked = session.ask("hello")
    wait_until(lambda: asked.state == "running")
    start = time.monotonic()
    session.close()
    assert time.monotonic() - start < 10  # the default graces are twelve seconds
    assert all(gone(pid) for pid in cli.pids)
    with pytest.raises(SessionClosedError):
        asked.result(timeout=1)


def test_close_ends_what_the_tools_left_running(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A process in a session of its own, which no group signal reaches, is ended by its marker."""
    cli = scripted_cli(prompts=[turn(leave_child(seconds=60, holds_output=False, ignores_sigterm=True), reply())])
    session = open_scripted(cli)
    session.ask("hello").result()
    session.close()
    wait_until(lambda: all(gone(pid) for pid in cli.left_children), timeout=5)


def test_tools_are_kept_on_request(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`close(kill_tools=False)` leaves them running."""
    cli = scripted_cli(prompts=[turn(leave_child(seconds=60, holds_output=False), reply())])
    session = open_scripted(cli)
    session.ask("hello").result()
    session.close(kill_tools=False)
    left = cli.left_children
    assert left
    assert not any(gone(pid) for pid in left)
    cli.close()
    wait_until(lambda: all(gone(pid) for pid in left))


def test_close_waits_for_the_turn_on_request(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`close(wait=True)` lets the running turn end first."""
    session = open_scripted(scripted_cli(prompts=[turn(reply("one two three", pause=0.05))]))
    asked = session.ask("hello")
    session.close(wait=True)
    assert asked.outcome == "completed"


def test_queued_prompts_end_at_close(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A prompt that was never sent is cancelled by close(): nothing to iterate, and its result says so."""
    session = open_scripted(scripted_cli(prompts=[turn(wait_gate("never"))]))
    session.ask("first")
    queued = session.ask("second")
    session.close()
    assert queued.outcome == "cancelled"
    assert list(queued) == []
    with pytest.raises(SessionClosedError):
        queued.result()


def test_messages_end_at_close(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`messages()` ends quietly when the session is closed."""
    session = open_scripted(scripted_cli())
    seen: list[object] = []
    reader = threading.Thread(target=lambda: seen.extend(session.messages()))
    reader.start()
    session.close()
    reader.join(10)
    assert not reader.is_alive()


def test_many_sessions_close_in_about_the_time_of_one(scripted_cli: ScriptedCLIFactory) -> None:
    """`close_all` takes the graces once, not once for each session."""
    cli = scripted_cli(prompts=[turn(ignore_signals(), hang(), interruptible=False)] * 6)
    options = Options(cli_path=cli.command, interrupt_grace=0.8, exit_grace=0.8, terminate_grace=0.8)
    sessions = [Session(options).open() for _ in range(6)]
    for session in sessions:
        session.ask("hang")
    wait_until(lambda: all(session.state == "running" for session in sessions))
    start = time.monotonic()
    close_all(sessions)
    assert time.monotonic() - start < 5 * 2.4
    assert all(session.state == "closed" for session in sessions)


@pytest.mark.timeout(300)  # 200 programs are started, which takes 20 seconds where nothing else is done
@pytest.mark.parametrize("together", [False, True])
def test_two_hundred_sessions_leave_nothing(scripted_cli: ScriptedCLIFactory, together: bool) -> None:
    """200 sessions one after another, or at once, leave no thread, descriptor or child, the watchdog included."""
    cli = scripted_cli()
    sessions = []
    for _ in range(200):
        session = Session(cli_path=cli.command).open()
        sessions.append(session)
        if not together:
            session.close()
    close_all(sessions)
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("claude")])


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_dropped_session_is_closed_in_the_background(scripted_cli: ScriptedCLIFactory) -> None:
    """A session that nobody holds is closed, and its program with it."""
    cli = scripted_cli()
    session = Session(cli_path=cli.command).open()
    pids = cli.pids
    del session
    gc.collect()
    wait_until(lambda: all(gone(pid) for pid in pids))


@pytest.mark.parametrize("fork", [os.fork, ctypes.PyDLL(None).fork], ids=["python's", "an extension's"])
def test_use_after_fork_is_refused(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, fork: Callable[[], int]
) -> None:
    """A forked child gets `ForkedError` at once, even if Python was not told, and the parent's session works on."""
    session = open_scripted(scripted_cli())
    session.set_model("x")
    read_end, write_end = os.pipe()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # no thread asks for the interpreter at the fork: the child would wait for it for ever
    try:
        pid = fork()
    finally:
        sys.setswitchinterval(interval)
    if pid == 0:
        try:
            session.set_model("x")
        except BaseException as error:
            os.write(write_end, type(error).__name__.encode())
        os._exit(0)
    os.close(write_end)
    wait_until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid)
    assert os.read(read_end, 100) == b"ForkedError"
    os.close(read_end)
    assert session.set_permission_mode("plan").mode == "plan"


def test_close_ends_an_open_in_another_thread(scripted_cli: ScriptedCLIFactory) -> None:
    """close() while another thread opens makes that open() fail, and returns with nothing left."""
    cli = scripted_cli(reactions=[unanswered("initialize")])
    session = Session(cli_path=cli.command)
    errors: list[BaseException] = []

    def open_() -> None:
        try:
            session.open()
        except SessionClosedError as error:
            errors.append(error)

    opener = threading.Thread(target=open_)
    opener.start()
    cli.wait_received(lambda frame: frame["type"] == "control_request")
    session.close()
    opener.join(10)
    assert len(errors) == 1
    assert all(gone(pid) for pid in cli.pids)


def test_a_hook_during_the_handshake_can_make_control_calls(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A hook that the program calls before it answers initialize can use its session."""
    modes: list[str | None] = []

    def hook(_input: object, _id: object, context: HookContext) -> None:
        modes.append(context.session.set_permission_mode("plan", timeout=5).mode)

    call = call_hook("InstructionsLoaded", {"hook_event_name": "InstructionsLoaded"})
    cli = scripted_cli(reactions=[on_request("initialize", call, default())])
    open_scripted(cli, hooks={"InstructionsLoaded": [HookMatcher(hooks=[hook])]}, initialize_timeout=10)
    assert modes == ["plan"]
