"""Steps that write: frames, pieces, bursts and noise arrive as they were scripted."""

import os
import select
from collections.abc import Callable

from claude_control.testing import steps
from claude_control.testing.scripted_cli import ScriptedCLI
from claude_control.testing.steps import expect_request, say
from tests.testing.pipes import Pipes

Make = Callable[..., ScriptedCLI]


def test_frames_may_name_what_only_the_run_knows(make: Make) -> None:
    """Names of known things are replaced at any depth, fresh ids differ, and other texts stay."""
    frame = {
        "type": "x",
        "a": ["$session_id", {"b": "$pid"}],
        "u": "$uuid",
        "v": "$uuid",
        "w": "$other",
        "r": "$request_id",
    }
    cli = make(expect_request("go"), say(frame))
    with Pipes(cli, "--session-id", "s1") as pipes:
        pipes.request("go", "r7")
        said = pipes.frame()
        assert said["a"] == ["s1", {"b": pipes.process.pid}]
        assert said["u"] != said["v"]
        assert (said["w"], said["r"]) == ("$other", "r7")


def test_raw_bytes_and_odd_text(make: Make) -> None:
    """Bytes are written as they are, text in UTF-8 but a lone surrogate, which is escaped."""
    cli = make(steps.raw(b"\xff\x00 not json\n"), say({"a": "é\u2028"}), say({"a": "\ud83d"}))
    with Pipes(cli) as pipes:
        assert pipes.line() == b"\xff\x00 not json"
        assert pipes.line() == '{"a":"é\u2028"}'.encode()
        assert pipes.line() == b'{"a":"\\ud83d"}'


def test_split_writes_pieces(make: Make) -> None:
    """A frame cut into pieces arrives in pieces and is whole in the end."""
    frame = {"type": "keep_alive", "text": "é" * 20}
    with Pipes(make(steps.split(frame, 7, pause=0.02))) as pipes:
        assert pipes.frame() == frame
        assert [len(chunk) for chunk in pipes.chunks[:3]] == [7, 7, 7]


def test_burst_writes_many_frames(make: Make) -> None:
    """Ten thousand frames come at once, each with its number or an id of its own."""
    cli = make(steps.burst(10_000, "assistant"), steps.burst(2, frame={"n": "$n", "s": "$session_id"}), steps.burst(1))
    with Pipes(cli, "--session-id=s1") as pipes:
        frames = [pipes.frame() for _ in range(10_003)]
    assert len({frame["uuid"] for frame in frames[:10_000]}) == 10_000
    assert frames[9_999]["message"]["content"][0]["text"] == 9_999
    assert frames[10_000:10_002] == [{"n": 0, "s": "s1"}, {"n": 1, "s": "s1"}]
    assert frames[10_002]["type"] == "stream_event"


def test_unread_output_does_not_stop_the_reading(make: Make) -> None:
    """With stdout full the child still reads stdin, and does not exit before everything is taken."""
    cli = make(steps.burst(5_000))
    with Pipes(cli) as pipes:
        pipes.request("interrupt")
        cli.wait_received(lambda frame: frame["request"]["subtype"] == "interrupt")
        pipes.end()
        cli.wait_event("eof")
        assert pipes.process.poll() is None
        assert len(pipes.rest()) == 5_001
        assert pipes.code() == 0


def test_closed_output_is_not_noticed(make: Make) -> None:
    """When the SDK stops reading for good the child lives on, as the real program does."""
    cli = make(steps.wait_gate("go"), say({"type": "lost"}), steps.note("alive"))
    with Pipes(cli) as pipes:
        assert pipes.process.stdout is not None
        pipes.process.stdout.close()
        cli.open_gate("go")
        assert cli.wait_event("note")["text"] == "alive"
        assert cli.events("stdout_gone")
        pipes.end()
        assert pipes.code() == 0


def test_stdout_can_be_closed(make: Make) -> None:
    """The end of output comes while the child lives on."""
    cli = make(say({"type": "last"}), steps.close_stdout(), say({"type": "lost"}), steps.wait_eof())
    with Pipes(cli) as pipes:
        assert pipes.rest() == [{"type": "last"}]
        assert pipes.process.poll() is None
        pipes.end()
        assert pipes.code() == 0


def test_stderr_is_written_and_flooded(make: Make) -> None:
    """Text and any number of bytes go to stderr; all else waits while nobody reads them."""
    cli = make(steps.stderr("oh dear\n"), steps.flood_stderr(200_000), say({"type": "after"}))
    with Pipes(cli) as pipes:
        assert pipes.process.stdout is not None
        assert not select.select([pipes.process.stdout], [], [], 0.1)[0]
        assert pipes.process.stderr is not None
        read = b""
        while len(read) < 200_008:
            read += os.read(pipes.process.stderr.fileno(), 1 << 16)
        assert read.startswith(b"oh dear\nxxx")
        assert pipes.frame() == {"type": "after"}
