"""What the reader makes of the program's output: odd lines, deltas, and lines over the limit."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import pytest

from claude_control import AssistantMessage, Message, ProtocolError, ResultMessage, StreamEvent
from claude_control.session.inbox import Item, One
from claude_control.session.pending import PendingReplies
from claude_control.session.reading import Reader
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import hang, raw, reply, turn
from claude_control.wire.messages import BadLine
from tests.session.conftest import OpenScripted
from tests.threads import struck
from tests.waiting import wait_until


def test_bad_lines_do_not_end_the_session(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Banners, broken JSON, invalid bytes and blank lines are counted and shown, and the turn goes on."""
    junk = raw(b'Welcome!\n{"type": "assist\n\n[1,2]\n\xff\xfe\n')
    session = open_scripted(scripted_cli(prompts=[turn(junk, reply("fine"))]))
    messages = list(session.ask("hello"))
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].result == "fine"
    assert session.stats.bad_lines == 5
    assert "Welcome!" in str([message for message in messages if type(message).__name__ == "BadLine"])


@pytest.mark.parametrize(
    "chunks",
    [
        [b'{"a":1}\n\n{"b":2}\n'],
        [bytes([byte]) for byte in b'{"a":1}\n\n{"b":2}\n'],
        [b'{"a":1}\n', b"\n", b'{"b":2}\n'],
        [b'{"a":1}\n', b'\n{"b"', b":2}\n"],
    ],
    ids=["one chunk", "bytes", "by itself", "before a tail"],
)
def test_blank_line_counts_however_it_comes(chunks: list[bytes]) -> None:
    """An empty line is a bad line and no message, whatever chunks the output comes in."""
    reader, items, _ = all_read(chunks)
    assert (reader.frames, reader.bad_lines) == (2, 1)
    assert [item[1] for item in items if isinstance(item, tuple)] == [{"a": 1}, {"b": 2}]


def all_read(
    chunks: list[bytes], control: Callable[[str, dict[str, Any]], None] | None = None
) -> tuple[Reader, list[Item], list[tuple[str, dict[str, Any], int]]]:
    """Return a reader that has read these chunks, its items, and its control frames, with the items before each."""
    came, items, controls = iter([*chunks, b""]), list[Item](), list[tuple[str, dict[str, Any], int]]()

    class Chunks:
        def read(self) -> bytes:
            return next(came)

    handle = control or (lambda kind, frame: controls.append((kind, frame, len(items))))

    def ask(frames: Iterable[dict[str, Any]]) -> None:
        for frame in frames:
            handle("control_request", frame)

    reader = Reader(
        Chunks(),  # type: ignore[arg-type]  # the reader needs no more of a transport
        max_line_bytes=10_000,
        deliver=items.extend,
        ask=ask,
        control=handle,
        lost_control=lambda line: None,
        pending=PendingReplies(),
        look=lambda last: True,
    )
    reader.run()
    return reader, items, controls


@pytest.mark.parametrize("kind", ["control_response", "control_request"])
@pytest.mark.parametrize(
    ("odd", "among", "bad", "flawed"),
    [
        (None, None, 0, 0),
        (b'{"type":"KIND","n":', None, 1, 0),
        (b'{"type":"KIND","a":"\\ud83d"}', "KIND", 0, 1),
        (b'{"type":"KIND","type":"system"}', None, 0, 0),
        (b'{"type":"KIND","type":["x"]}', None, 0, 0),
        (b'{"type":"KIND","request":{"n":123456789012345678901234567890}}', "KIND", 0, 0),
        (b'{"type":"control_cancel_request","request_id":"r"}', "control_cancel_request", 0, 0),
        (b'{"type":"control_request","request_id":"r"}', "control_request", 0, 0),
        (b'{"type":"control_response","response":{}}', "control_response", 0, 0),
        (b'{"type":"system"}', None, 0, 0),
        (b"", None, 1, 0),
    ],
    ids=["no", "bad", "flawed", "two types", "odd type", "long", "cancel", "request", "answer", "message", "blank"],
)
def test_control_frames_that_come_together_are_read_like_others(
    kind: str, odd: bytes | None, among: str | None, bad: int, flawed: int
) -> None:
    """However many answers or requests come at once, and whatever is among them, each is dealt with in its place."""
    lines = [b'{"type":"%b","request":{"n":%d}}' % (kind.encode(), number) for number in range(5)]
    if odd is not None:
        lines.insert(3, odd.replace(b"KIND", kind.encode()))
    together, apart = all_read([b"\n".join(lines) + b"\n"]), all_read([line + b"\n" for line in lines])
    assert together[1:] == apart[1:]
    expected = [kind] * 3 + ([among.replace("KIND", kind)] if among else []) + [kind] * 2
    assert [found for found, _, _ in together[2]] == expected
    for reader in (together[0], apart[0]):
        assert (reader.frames, reader.bad_lines, reader.flawed_lines) == (len(lines) - bad, bad, flawed)
    if odd is not None and b"1234" in odd and kind == "control_request":
        assert together[2][3][1]["request"]["n"] == 123456789012345678901234567890


@pytest.mark.parametrize("more", [b'{"d":1}', b"5"])
def test_torn_control_lines_are_bad_lines(more: bytes) -> None:
    """Lines that begin like control frames, and are none by themselves, are shown, though together they were JSON."""
    ends = (b'"a":[0', b'"b":1}]}', b'"c":1},' + more)
    torn = b"".join(b'{"type":"control_request",%b\n' % end for end in ends)
    reader, items, controls = all_read([torn])
    assert (reader.bad_lines, controls) == (3, [])
    assert [cast(BadLine, cast(One, item)[1]).line.encode() for item in items] == torn.splitlines()


def test_control_frame_that_is_too_deep_is_shown_among_others() -> None:
    """Where the handling of one of several runs out of the stack, it is shown as a bad line and the others go on."""
    lines = [b'{"type":"control_response","request_id":"%d"}' % number for number in range(3)]
    handled: list[str] = []

    def control(_kind: str, frame: dict[str, Any]) -> None:
        if frame["request_id"] == "1":
            raise RecursionError
        handled.append(frame["request_id"])

    _, items, _ = all_read([b"\n".join(lines) + b"\n"], control)
    assert handled == ["0", "2"]
    assert [cast(BadLine, cast(One, item)[1]).line for item in items] == [lines[1].decode()]


def test_deltas_that_are_odd_are_read_like_other_lines(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Deltas are decoded by who reads them: a cut emoji and a broken line are told in their place, and counted once."""
    lines = [delta_line(b"1"), delta_line(b"a cut \\ud83d"), delta_line(b"broken")[:-30], delta_line(b"2")]
    session = open_scripted(scripted_cli(prompts=[turn(raw(b"\n".join(lines) + b"\n"), reply("fine"))]))
    seen: list[str] = []
    subscription = session.subscribe(lambda message: seen.append(shown(message)))
    messages = [shown(message) for message in session.ask("hello")]
    odd = ["1", "a cut \ufffd", "BadLine", "2"]
    assert [each for each in messages if each in odd] == odd
    wait_until(lambda: [each for each in seen if each in odd] == odd)
    subscription.close()
    assert (session.stats.flawed_lines, session.stats.bad_lines) == (1, 1)


@pytest.mark.parametrize("read", [True, False], ids=["iterated", "only the result"])
def test_messages_that_are_odd_are_counted_once(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, read: bool
) -> None:
    """Whole messages are decoded by who reads them, or noted when nobody does: odd ones are told, and counted once."""
    texts = [b"1", b"a cut \\ud83d", b"2"]
    lines = [message_line(number, text) for number, text in enumerate(texts)]
    lines.insert(2, message_line(9, b"broken")[:-30])
    session = open_scripted(scripted_cli(prompts=[turn(raw(b"\n".join(lines) + b"\n"), reply("fine"))]))
    turn_ = session.ask("hello")
    if read:
        shown_ = [each.text if isinstance(each, AssistantMessage) else type(each).__name__ for each in turn_]
        assert [each for each in shown_ if each in (*"12", "a cut \ufffd", "BadLine")] == [
            "1",
            "a cut \ufffd",
            "BadLine",
            "2",
        ]
    assert turn_.result().result == "fine"
    assert turn_.usage is not None
    assert turn_.usage.input_tokens == 10 + 3 * 7
    assert (session.stats.flawed_lines, session.stats.bad_lines) == (1, 1)


def message_line(number: int, text: bytes) -> bytes:
    """Return the line of a message, as every measured version writes it."""
    begin = b'{"type":"assistant","message":{"id":"m%d","model":"m","content":[{"type":"text","text":"' % number
    usage = b'{"input_tokens":7,"output_tokens":1}'
    return begin + text + b'"}],"usage":' + usage + b'},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}'


def delta_line(piece: bytes) -> bytes:
    """Return the line of a delta, as every measured version writes it."""
    event = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"' + piece + b'"}}'
    return b'{"type":"stream_event","event":' + event + b',"session_id":"s","parent_tool_use_id":null,"uuid":"u"}'


def shown(message: Message) -> str:
    """Return the text of a delta, the class of anything else."""
    return message.text if isinstance(message, StreamEvent) else type(message).__name__


def test_too_long_line_is_skipped_and_reported(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A message over the limit is skipped, reported with its size, and the turn goes on."""
    long = b'{"type":"assistant","message":{"content":"' + b"x" * 200_000 + b'"}}\n'
    session = open_scripted(scripted_cli(prompts=[turn(raw(long), reply("fine"))]), max_line_bytes=100_000)
    messages = list(session.ask("hello"))
    reported = [message for message in messages if type(message).__name__ == "OversizedLine"]
    assert [getattr(message, "size", None) for message in reported] == [len(long) - 1]
    assert isinstance(messages[-1], ResultMessage)


def test_too_long_control_line_fails_the_session(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A control message over the limit cannot be survived: the session fails, saying which limit to raise."""
    long = b'{"type":"control_request","request_id":"x","request":{"subtype":"can_use_tool","input":"' + b"x" * 200_000
    session = open_scripted(scripted_cli(prompts=[turn(raw(long + b'"}}\n'), hang())]), max_line_bytes=100_000)
    with pytest.raises(ProtocolError, match="max_line_bytes"):
        session.ask("hello").result(timeout=10)


def test_a_reader_that_comes_late_takes_no_messages_away(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A thread that finds nothing ready, while another one reads a run, gets the next message of that run."""
    lines = [delta_line(b"%d" % number) for number in range(5)]
    session = open_scripted(scripted_cli(prompts=[turn(raw(b"\n".join(lines) + b"\n"), reply("fine"))]))
    running = session.ask("hello")
    wait_until(lambda: running.state == "done")
    seen = []
    for message in running:
        seen.append(shown(message))
        if seen[-1] == "0":
            seen.append(shown(running._read_more()))  # where the other thread is when the first one has read the run
    assert [each for each in seen if each.isdigit()] == list("01234")


def test_a_struck_reader_leaves_the_turn_readable(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Wherever an exception strikes who reads, the others can read on, and the result still comes."""
    lines = b"\n".join(message_line(number, b"%d" % number) for number in range(3)) + b"\n"
    count = 40
    session = open_scripted(scripted_cli(prompts=[turn(raw(lines), reply("fine")) for _ in range(count)]))
    for number in range(1, count):
        running = session.ask("hello")
        running._record.done.wait(30)
        struck(partial(next, running), number)
        assert isinstance(list(running)[-1], ResultMessage), number
