"""What the reader hands over: kept in order beyond memory, or dropped from the old end and counted."""

import json
import os
import signal
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.deadline import Deadline
from claude_control.errors import ProcessExitedError
from claude_control.session import inbox as inbox_module
from claude_control.session.inbox import Inbox, Item, Newest, One, Run, Stream
from claude_control.wire.framing import Decoder
from claude_control.wire.messages import BadLine, MessagesDropped
from tests.threads import strike, struck, together
from tests.waiting import wait_until

NOW = Deadline(0)


class Files:
    """Opens files without a name, and remembers them."""

    def __init__(self) -> None:
        self.opened: list[int] = []

    def __call__(self) -> int:
        """Return the descriptor of a new file."""
        with tempfile.TemporaryFile() as file:
            self.opened.append(os.dup(file.fileno()))
        return self.opened[-1]

    @property
    def open(self) -> int:
        """How many of them are open; numbers of closed ones may be in use again, so only the newest is looked at."""
        return sum(_is_open(number) for number in self.opened[-1:])


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.fixture
def files() -> Files:
    """Where an inbox gets its files."""
    return Files()


def item(number: int, size: int = 0) -> One:
    """Return a frame that came on a line of at least so many bytes."""
    frame = {"n": number, "pad": "x" * size}
    line = json.dumps(frame).encode()
    return len(line), frame, line


def own(number: int) -> One:
    """Return a message of the SDK's own, which came on no line that could be decoded again."""
    message = BadLine(line=f"bad {number}", reason="not a JSON object")
    return len(message.line), message, b""


def seen(batch: list[Any] | None) -> list[Any]:
    """Return what a consumer makes of a batch: lines are decoded, runs of them too."""
    decoder = Decoder()
    things = [one for item in batch or () for one in (item.lines() if isinstance(item, Run) else [item])]
    return [decoder.decode(thing) if isinstance(thing, bytes) else thing for thing in things]


def take(stream: Stream, deadline: Deadline) -> list[Any] | None:
    """Take what is there, and keep it."""
    batch = stream.take(deadline)
    stream.handed = []
    return batch


def drain(stream: Stream) -> list[Any]:
    """Return everything that is there."""
    found: list[Any] = []
    while batch := take(stream, NOW):
        found += seen(batch)
    return found


def run(*numbers: int) -> Run:
    """Return lines that nobody has decoded."""
    lines = [json.dumps({"n": number, "run": True}).encode() for number in numbers]
    return Run([b"\n".join(lines)], len(lines))


def frames(items: Sequence[Item]) -> list[Any]:
    """Return what a consumer is to get of items."""
    return [one for item in items for one in (seen([item]) if isinstance(item, Run) else [item[1]])]


# -- order and memory --------------------------------------------------------------------------------------------------


def test_items_within_the_budget_stay_in_memory(files: Files) -> None:
    """A backlog up to the budget is one batch, in order, and no file is opened."""
    inbox, items = Inbox(10_000, files), [item(number, 50) for number in range(50)]
    inbox.put(items[:20])
    inbox.put(items[20:])
    assert take(inbox, NOW) == frames(items)
    assert take(inbox, NOW) == []
    assert files.opened == []


@pytest.mark.parametrize("beyond", [0, 1])
def test_budget_is_exact(files: Files, beyond: int) -> None:
    """A backlog of exactly the budget needs no file; one byte more does."""
    first, second = item(1, 10), item(2, 10)
    inbox = Inbox(first[0] + second[0] - beyond, files)
    inbox.put([first, second])
    assert inbox.spilled is bool(beyond)
    assert drain(inbox) == frames([first, second])
    assert not inbox.spilled


def test_one_byte_of_budget_is_enough(files: Files) -> None:
    """With hardly any memory every item still arrives, in order."""
    inbox, items = Inbox(1, files), [item(number, number % 300) for number in range(500)]
    inbox.put(items)
    assert inbox.spilled
    assert drain(inbox) == frames(items)


def test_item_larger_than_the_budget_passes(files: Files) -> None:
    """One item larger than the whole budget is taken from memory if nothing waits before it."""
    inbox = Inbox(10, files)
    inbox.put([item(1, 100_000)])
    assert not inbox.spilled
    assert drain(inbox) == frames([item(1, 100_000)])


def test_file_is_closed_when_it_is_read_up(files: Files) -> None:
    """The file lives only as long as a part of the backlog is in it; the next one is a new file."""
    inbox = Inbox(100, files)
    for round_ in range(3):
        items = [item(number, 200) for number in range(10)]
        inbox.put(items)
        assert (inbox.spilled, files.open) == (True, 1)
        assert drain(inbox) == frames(items)
        assert (inbox.spilled, files.open, len(files.opened)) == (False, 0, round_ + 1)
    inbox.put([item(1)])
    assert not inbox.spilled, "memory is used again"


def test_file_is_closed_with_the_inbox(files: Files) -> None:
    """An inbox that is dropped with a backlog leaves no file open."""
    inbox = Inbox(1, files)
    inbox.put([item(1), item(2)])
    assert files.open == 1
    del inbox
    assert files.open == 0


def test_items_without_a_line_keep_their_place(files: Files) -> None:
    """Messages of the SDK's own stand between the lines where they came, in memory, at the border and in the file."""
    items = [own(0), item(1, 50), own(2), item(3, 50), own(4), own(5), item(6, 50), own(7), item(8, 50), own(9)]
    for budget in range(1, 400, 20):
        inbox = Inbox(budget, files)
        inbox.put(items)
        assert drain(inbox) == frames(items)


@pytest.mark.parametrize("read_back", [1, 7, 64, 1 << 20])
def test_lines_cross_the_reads(files: Files, read_back: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines longer and shorter than what is read back at once come out whole."""
    monkeypatch.setattr(inbox_module, "READ_BACK", read_back)
    inbox, items = Inbox(1, files), [item(number, number * 3) for number in range(40)]
    inbox.put(items)
    assert drain(inbox) == frames(items)


def test_flawed_lines_come_back_as_they_were(files: Files) -> None:
    """A line that only the tolerant parser could read is the same frame when it comes back from the file."""
    line = b'{"a":"\\ud83d","b":"\xff","c":"\xe2\x80\xa8"}'
    frame = {"a": "\ufffd", "b": "\ufffd", "c": "\u2028"}
    inbox = Inbox(1, files)
    inbox.put([item(1), (len(line), frame, line), item(2)])
    assert drain(inbox)[1] == frame


actions = st.lists(
    st.integers(0, 60).map(lambda size: ("line", size))
    | st.integers(1, 5).map(lambda length: ("run", length))
    | st.just(("own", 0))
    | st.just(("take", 0)),
    max_size=60,
)


@given(actions=actions, budget=st.sampled_from([1, 40, 150, 1000]), batch=st.integers(1, 5))
def test_order_holds_whatever_is_taken_when(actions: list[tuple[str, int]], budget: int, batch: int) -> None:
    """However puts and takes alternate across the border of memory, everything comes out once and in order."""
    inbox = Inbox(budget, Files())
    put, taken, waiting = list[Item](), list[Any](), list[Item]()
    for number, (action, size) in enumerate([*actions, ("take", 0)]):
        if action == "line":
            waiting.append(item(number, size))
        elif action == "run":
            waiting.append(run(*[number] * size))
        elif action == "own":
            waiting.append(own(number))
        if action == "take" or len(waiting) == batch:
            inbox.put(waiting)
            put, waiting = put + waiting, []
        if action == "take":
            taken += seen(take(inbox, NOW))
    assert taken + drain(inbox) == frames(put)
    assert not inbox.spilled


def test_memory_is_bounded(files: Files) -> None:
    """A backlog far beyond the budget takes about the budget in memory while it waits, little more when it is read."""
    budget, size, count = 256 * 1024, 16 * 1024, 1000
    inbox = Inbox(budget, files)
    tracemalloc.start()
    try:
        for number in range(count):
            inbox.put([item(number, size)])
        waiting = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        count_seen = 0
        while batch := take(inbox, NOW):
            count_seen += len(seen(batch))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count_seen == count
    assert waiting < 2 * budget
    assert peak < budget + 6 * inbox_module.READ_BACK


# -- the consumer ------------------------------------------------------------------------------------------------------


STREAMS: dict[str, Callable[[], Stream]] = {"inbox": lambda: Inbox(1000, Files()), "newest": lambda: Newest(1000)}
STREAM = pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)


def taker(stream: Stream, deadline: Deadline) -> tuple[threading.Thread, list[Any]]:
    """Start a thread that takes once."""
    taken: list[Any] = []

    def run_take() -> None:
        try:
            taken.append(take(stream, deadline))
        except BaseException as error:
            taken.append(error)

    thread = threading.Thread(target=run_take)
    thread.start()
    return thread, taken


@STREAM
def test_consumer_is_woken(make: Callable[[], Stream]) -> None:
    """A consumer that waits gets what is put, and the end, as soon as it comes."""
    stream = make()
    thread, taken = taker(stream, Deadline(10))
    stream.put([item(1)])
    thread.join(10)
    assert taken == [[item(1)[1]]]
    thread, taken = taker(stream, Deadline(None))
    stream.finish()
    thread.join(10)
    assert taken == [None]


@STREAM
def test_consumer_stops_waiting_at_its_time(make: Callable[[], Stream]) -> None:
    """A take that gets nothing in time returns an empty batch, which is not the end."""
    stream = make()
    assert take(stream, NOW) == []
    assert take(stream, Deadline(0.01)) == []
    stream.finish()
    assert take(stream, NOW) is None


@STREAM
def test_error_comes_after_what_is_left(make: Callable[[], Stream]) -> None:
    """What ended the stream is raised once everything that came before is taken, and from then on every time."""
    stream, cause = make(), ProcessExitedError("gone", exit_code=1)
    stream.put([item(1), item(2)])
    stream.finish(cause)
    stream.finish(None)
    stream.finish(ProcessExitedError("later"))
    assert drain_until_error(stream) == (frames([item(1), item(2)]), cause)
    assert drain_until_error(stream) == ([], cause)


def test_error_comes_after_what_is_in_the_file(files: Files) -> None:
    """So it is with a backlog in a file."""
    inbox, cause, items = Inbox(1, files), ProcessExitedError("gone"), [item(number) for number in range(100)]
    inbox.put(items)
    inbox.finish(cause)
    assert drain_until_error(inbox) == (frames(items), cause)
    assert files.open == 0


def drain_until_error(stream: Stream) -> tuple[list[Any], BaseException]:
    """Return everything that is there, and what is raised in the end."""
    found: list[Any] = []
    while True:
        try:
            batch = take(stream, NOW)
        except ProcessExitedError as error:
            return found, error
        assert batch, "no end is to be seen"
        found += seen(batch)


@STREAM
def test_end_without_an_error_is_none(make: Callable[[], Stream]) -> None:
    """A stream that just ends says so every time, after what is left."""
    stream = make()
    stream.put([item(1)])
    stream.finish()
    assert take(stream, NOW) == [item(1)[1]]
    assert take(stream, NOW) is take(stream, Deadline(None)) is None


@STREAM
def test_ctrl_c_leaves_the_stream_usable(make: Callable[[], Stream]) -> None:
    """Ctrl-C ends the wait of the main thread, and what comes later is taken as ever."""
    stream, ident = make(), threading.main_thread().ident
    assert ident is not None
    timer = threading.Timer(0.05, signal.pthread_kill, (ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        take(stream, Deadline(None))
    timer.join()
    stream.put([item(1)])
    assert take(stream, NOW) == [item(1)[1]]


@STREAM
def test_struck_worker_leaves_the_stream_usable(make: Callable[[], Stream]) -> None:
    """An exception from outside reaches a worker that waits, and costs no item."""
    stream = make()
    thread, taken = taker(stream, Deadline(None))
    wait_until(lambda: stream._waiters)  # type: ignore[attr-defined]  # it waits
    strike(thread, SystemExit)
    thread.join(10)
    assert [type(error) for error in taken] == [SystemExit]
    stream.put([item(1)])
    assert take(stream, NOW) == [item(1)[1]]


def feed(stream: Stream, count: int) -> None:
    """Put so many items, as a reader does, and end."""
    for start in range(0, count, 7):
        stream.put([item(number, number % 90) for number in range(start, min(start + 7, count))])
    stream.finish()


def read_all(stream: Stream) -> list[Any]:
    """Take until the end."""
    found: list[Any] = []
    while (batch := take(stream, Deadline(10))) is not None:
        assert batch, "nothing came in time"
        found += seen(batch)
    return found


def test_reader_and_consumer_at_once(files: Files) -> None:
    """With a reader and a consumer at work at once, across the border of memory, nothing is lost or out of order."""
    inbox = Inbox(500, files)
    found: list[Any] = []
    together([lambda: feed(inbox, 5000), lambda: found.extend(read_all(inbox))])
    assert found == frames([item(number, number % 90) for number in range(5000)])


# -- discarding --------------------------------------------------------------------------------------------------------


def test_discarded_inbox_keeps_nothing(files: Files) -> None:
    """Discarding drops what is there, file and all, and what comes later; the end is still told."""
    inbox = Inbox(1, files)
    inbox.put([item(number) for number in range(10)])
    inbox.discard()
    assert (inbox.spilled, files.open) == (False, 0)
    inbox.put([item(number) for number in range(10)])
    assert take(inbox, NOW) == []
    cause = ProcessExitedError("gone")
    inbox.finish(cause)
    with pytest.raises(ProcessExitedError):
        take(inbox, NOW)


def discard_beside(files: Files) -> None:
    """Feed, take and discard at once; what was taken must be in order."""
    inbox, found = Inbox(300, files), list[Any]()
    together([lambda: feed(inbox, 700), lambda: found.extend(read_some(inbox)), inbox.discard])
    numbers = [frame["n"] for frame in found]
    assert numbers == sorted(set(numbers))
    inbox.discard()
    assert not take(inbox, NOW)


def test_discarding_beside_the_reader_and_the_consumer() -> None:
    """Discarding at any moment harms neither, what was taken before is in order, and no file stays open."""
    for _ in range(40):
        files = Files()
        discard_beside(files)
        assert files.open == 0


def read_some(inbox: Inbox) -> list[Any]:
    """Take until the end, also if nothing comes."""
    found: list[Any] = []
    deadline = Deadline(10)
    while (batch := take(inbox, deadline)) is not None:
        found += batch
        assert not deadline.expired(), "the end never came"
    return found


# -- trouble with the file ---------------------------------------------------------------------------------------------


@pytest.fixture
def full_device() -> Iterator[Callable[[], int]]:
    """A file on a device without room."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    yield lambda: os.open("/dev/full", os.O_RDWR)


def test_full_disk_is_told_to_the_reader(full_device: Callable[[], int]) -> None:
    """When there is no room for the backlog the reader is told, and what is in memory can still be taken."""
    inbox = Inbox(100, full_device)
    inbox.put([item(1, 50)])
    with pytest.raises(OSError, match="No space left"):
        inbox.put([item(2, 100)])
    assert take(inbox, NOW) == [item(1, 50)[1]]


def test_file_that_cannot_be_opened_is_told_to_the_reader() -> None:
    """So it is when there can be no file at all, and the next item tries again."""

    def refuse() -> int:
        raise PermissionError("no")

    inbox = Inbox(1, refuse)
    inbox.put([item(1)])
    for _ in range(2):
        with pytest.raises(PermissionError):
            inbox.put([item(2)])
    assert take(inbox, NOW) == [item(1)[1]]


# -- the newest --------------------------------------------------------------------------------------------------------


def test_newest_drops_the_oldest_and_counts() -> None:
    """Beyond the number the oldest go, and a note of how many stands where they stood."""
    stream = Newest(10**9, limit=5)
    stream.put([item(number) for number in range(12)])
    batch = take(stream, NOW)
    assert batch == [MessagesDropped(count=7), *frames([item(number) for number in range(7, 12)])]
    stream.put([item(1)])
    assert take(stream, NOW) == [item(1)[1]], "the count starts again"


def test_newest_keeps_lines_that_nobody_decoded() -> None:
    """A run of lines is kept and dropped line by line."""
    stream = Newest(1000, limit=3)
    stream.put([item(0), run(1, 2, 3)])
    assert seen(take(stream, NOW)) == [MessagesDropped(count=1), *seen([run(1, 2, 3)])]


def test_newest_drops_by_size() -> None:
    """Beyond the bytes the oldest go; the very newest stays whatever its size."""
    size = item(0, 100)[0]
    stream = Newest(3 * size)
    stream.put([item(number, 100) for number in range(5)])
    assert take(stream, NOW) == [MessagesDropped(count=2), *frames([item(number, 100) for number in range(2, 5)])]
    stream.put([item(1), item(2, 10_000)])
    assert take(stream, NOW) == [MessagesDropped(count=1), item(2, 10_000)[1]]


def test_ten_thousand_are_kept() -> None:
    """By default the newest 10,000 are there, and one more costs the oldest."""
    stream = Newest(1 << 30)
    stream.put([item(number) for number in range(10_000)])
    batch = take(stream, NOW)
    assert batch is not None and len(batch) == 10_000
    stream.put([item(number) for number in range(10_001)])
    batch = take(stream, NOW)
    assert batch is not None
    assert (len(batch), batch[0], batch[1]) == (10_001, MessagesDropped(count=1), item(1)[1])


def test_nothing_of_the_newest_is_lost_uncounted() -> None:
    """With a reader and a consumer at once, everything is either seen, in order, or counted where it is missing."""
    for _ in range(5):
        stream, found, position = Newest(1 << 30, limit=50), list[Any](), 0
        together([lambda: feed(stream, 3000), lambda: found.extend(read_all(stream))])  # noqa: B023
        for one in found:
            if isinstance(one, MessagesDropped):
                position += one.count
            else:
                assert one["n"] == position
                position += 1
        assert position == 3000


@pytest.mark.parametrize(
    "make",
    [lambda: Inbox(10_000, Files()), lambda: Inbox(1, Files()), lambda: Newest(10_000)],
    ids=["inbox", "spilled", "newest"],
)
def test_a_take_that_was_struck_loses_nothing(make: Callable[[], Stream]) -> None:
    """Wherever an exception strikes who takes, the next one gets all of it, once, and no lock is left taken."""
    number, going = 0, True
    while going:
        number += 1
        stream = make()
        stream.put([item(1), item(2), item(3)])
        going = struck(partial(stream.take, NOW), number)
        stream.finish()
        found: list[Any] = []
        while (batch := take(stream, NOW)) is not None:
            found += seen(batch)
        assert found == frames([item(1), item(2), item(3)]), number
    assert number > 5
