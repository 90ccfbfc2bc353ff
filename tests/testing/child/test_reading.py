"""What kills the real program of a version kills its stand-in, and what it ignores is ignored."""

import signal
from collections.abc import Callable

import pytest

from claude_control.testing._child.reading import FatalLineError, Lines, parse
from claude_control.testing.scripted_cli import ScriptedCLI
from tests.testing.pipes import Pipes

Make = Callable[..., ScriptedCLI]

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"", "Error parsing streaming input line: : SyntaxError"),
        (b"[]", "Expected message type 'user' or 'control', got 'undefined'"),
        (b"5", "got 'undefined'"),
        (b'{"type":"wat"}', "got 'wat'"),
        (b'{"a":1}', "got 'undefined'"),
        (b'{"type":"control_cancel_request","request_id":"x"}', "got 'control_cancel_request'"),
        (BOM + b'{"type":"keep_alive"}', "SyntaxError"),
        (b'{"type":"control_response"}', "TypeError: Cannot read properties of undefined (reading 'request_id')"),
    ],
)
def test_old_program_dies_of_what_the_current_one_takes(line: bytes, told: str) -> None:
    """The line is fatal to older programs with their message, and ignored or taken by 2.1.332."""
    with pytest.raises(FatalLineError) as caught:
        parse(line, modern=False)
    assert told in str(caught.value)
    frame = parse(line, modern=True)
    assert frame is None or isinstance(frame["type"], str)


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{nope", "SyntaxError"),
        (b"null", "TypeError"),
        (b'{"type":"keep_alive"}{"type":"keep_alive"}', "SyntaxError"),
        (b'{"type":"control_request","request_id":"a"}', "Error: Missing request on control_request"),
        (b'{"type":"user","message":{"role":"x","content":"a"}}', "Error: Expected message role 'user', got 'x'"),
        (b'{"type":"user","message":{}}', "Error: Expected message role 'user', got 'undefined'"),
        (b'{"type":"user"}', "role"),
    ],
)
def test_every_program_dies_of_it(line: bytes, told: str, modern: bool) -> None:
    """The line is fatal to all programs."""
    with pytest.raises(FatalLineError) as caught:
        parse(line, modern)
    assert told in str(caught.value)


def test_current_program_does_not_repeat_a_broken_line() -> None:
    """2.1.332 tells the type and the length of a line that it cannot parse."""
    with pytest.raises(FatalLineError) as caught:
        parse(b'{"type": "user", ', modern=True)
    assert str(caught.value) == "Error parsing streaming input line (type=user, 17 chars): SyntaxError"


@pytest.mark.parametrize("modern", [True, False])
def test_carriage_return_is_taken(modern: bool) -> None:
    """Lines may end with CR LF."""
    assert parse(b'{"type":"keep_alive"}\r', modern) == {"type": "keep_alive"}


def test_lines_are_cut_wherever_chunks_end() -> None:
    """Lines come out the same byte by byte, and what is torn is kept for the end."""
    data, lines = b'{"a":1}\n\n{"b":"\xe2\x80\xa8"}\n{"c', Lines()
    found = [line for byte in data for line in lines.feed(bytes([byte]))]
    assert found == [b'{"a":1}', b"", b'{"b":"\xe2\x80\xa8"}']
    assert lines.end() == b'{"c'


@pytest.mark.parametrize(("program", "line"), [("2.1.332", b"{nope"), ("2.0.75", b"")])
def test_fatal_line_ends_the_run(make: Make, program: str, line: bytes) -> None:
    """A fatal line is exit code 1 with the message on stderr, and is on record."""
    cli = make(program=program)
    with Pipes(cli) as pipes:
        pipes.write(line + b"\n")
        assert "Error parsing streaming input line" in pipes.stderr()
        assert pipes.code() == 1
    assert cli.events("fatal_line")[0]["line"].encode() == line


def test_ignored_line_is_on_record(make: Make) -> None:
    """What 2.1.332 ignores does not disturb it, and can be seen."""
    cli = make()
    with Pipes(cli) as pipes:
        pipes.write(b'\n{"type":"wat"}\n{"type":"control_response"}\n')
        pipes.request("mcp_status")
        assert pipes.response()["subtype"] == "success"
    assert [event["line"] for event in cli.events("ignored_line")] == [""]


def test_torn_line_at_the_end_is_fatal(make: Make) -> None:
    """What stands behind the last newline when input ends is parsed as a line."""
    with Pipes(make()) as pipes:
        pipes.write(b'{"type":"us')
        pipes.end()
        assert pipes.code() == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
def test_signals_end_it_as_they_end_the_real_one(make: Make, number: int, code: int) -> None:
    """SIGTERM is exit code 143 and SIGINT is 0, once it runs."""
    with Pipes(make()) as pipes:
        pipes.request("initialize")
        pipes.response()
        pipes.process.send_signal(number)
        assert pipes.code() == code
