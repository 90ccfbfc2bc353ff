"""Whose is this frame? Told from what the real programs wrote, and from anything they might write."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.session.routing import Decision, Place, Router
from tests.session.recordings import MODERN, Recording, Replay, hindsight, recording, recordings, replay
from tests.wire.messages.samples import altered, json_values

ALL = pytest.mark.parametrize("one", recordings(), ids=str)
OLD_VERSIONS = ["2.0.75", "2.1.7"]
KINDS = ["plain", "partial"]


# -- recorded conversations --------------------------------------------------------------------------------------------


def test_recordings_are_there() -> None:
    """Every measured program was recorded, in each of the situations that differ."""
    names = {(one.version, one.name) for one in recordings()}
    both = {f"{name}_{kind}" for name in ("conversation", "folded") for kind in KINDS} | {"queued", "interrupted_hook"}
    background = {f"background_{kind}" for kind in KINDS} | {"folded_into_background"}
    assert names >= {(version, name) for version in (*OLD_VERSIONS, MODERN) for name in both}
    assert names >= {(version, name) for version in ("2.1.7", MODERN) for name in background}


@ALL
def test_every_frame_goes_where_it_belongs(one: Recording) -> None:
    """Each frame reaches the turn, or the program's stream, that it can be told to belong to in hindsight."""
    assert replay(one).places == hindsight(one).places


@ALL
def test_every_result_ends_its_own_turn(one: Recording) -> None:
    """Each prompt of ours ends once, in order, by the very result that answers it."""
    done, truth = replay(one), hindsight(one)
    assert done.ended == [(prompt, truth.results[prompt]) for prompt in one.asked]


@ALL
def test_every_turn_begins_once(one: Recording) -> None:
    """A turn begins once at most, in order, and one whose first frame is not its result does begin."""
    done = replay(one)
    assert len(set(done.begun)) == len(done.begun)
    assert done.begun == [prompt for prompt in one.asked if prompt in done.begun]
    shown = {place for index, place in enumerate(done.places) if one.frames[index]["type"] == "assistant"}
    assert shown - {"program"} <= set(done.begun)


@ALL
def test_nothing_is_held_at_the_end(one: Recording) -> None:
    """After the last result no frame is kept back, and the next prompt may be written."""
    done = replay(one)
    assert done.held == []
    assert done.router.free


@ALL
@pytest.mark.parametrize("keep", [False, True])
def test_echoes_are_kept_on_request(one: Recording, keep: bool) -> None:
    """Echoes of prompts go nowhere, unless the user asked for them: then they go to their turn."""
    router = Router(keep_echoes=keep)
    router.modern = one.version == MODERN
    done = Replay(router)
    for step in one.steps:
        if "in" in step:
            done.write(step["in"], ours=step["by"] == "ask")
        else:
            done.feed(step["out"])
    places = {done.places[i] for i, f in enumerate(one.frames) if f.get("isReplay") and f.get("uuid") in one.asked}
    assert places <= (set(one.asked) if keep else {"echo"})


def story(one: Recording, prompts: set[str]) -> list[str]:
    """Return the frames from the first of the prompts on, briefly, each with its place."""
    done, told, index = replay(one), list[str](), 0
    for step in one.steps:
        if "in" in step:
            told.append(f"> {step['in']}")
            continue
        frame = step["out"]
        kind = frame.get("subtype") or frame.get("state") or frame.get("event", {}).get("type") or ""
        told.append(f"{frame['type']} {kind}".strip() + f": {done.places[index]}")
        index += 1
    starts = [i for i, line in enumerate(told) if line[2:] in prompts and line.startswith(">")]
    return told[starts[0] :]


def test_prompt_folded_into_a_turn_of_the_old_program() -> None:
    """A prompt that waits while a notification's turn runs a tool is folded into it, and gets its result (2.1.7)."""
    assert story(recording("2.1.7", "folded_into_background"), {"P2"}) == [
        "> P2",
        "system init: program",
        "user: program",
        "assistant: program",
        "user: program",
        "user: echo",
        "assistant: P2",
        "assistant: P2",
        "result success: P2",
        "> P3",
        "system init: P3",
        "user: echo",
        "assistant: P3",
        "result success: P3",
    ]


def test_prompt_folded_into_a_turn_of_the_new_program() -> None:
    """On 2.1.332 such a prompt is said to be completed before its result comes; the result is its own all the same."""
    told = story(recording(MODERN, "folded_into_background"), {"P2"})
    assert told[: told.index("> P3")] == [
        "> P2",
        "command_lifecycle queued: nobody",
        "user: program",
        "command_lifecycle started: nobody",
        "assistant: P2",
        "command_lifecycle completed: nobody",
        "result success: P2",
        "system session_state_changed: nobody",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_background_task_between_two_prompts(kind: str) -> None:
    """The turn about a task that ended is the program's, though our prompt was written before it (2.1.7)."""
    told = [line for line in story(recording("2.1.7", f"background_{kind}"), {"P2"}) if "stream" not in line]
    assert told[: told.index("> P3")] == [
        "> P2",
        "system init: program",
        "user: program",
        "assistant: program",
        "result success: program",
        "system init: P2",
        "user: echo",
        "assistant: P2",
        "result success: P2",
    ]


def test_interrupt_that_drops_the_prompt() -> None:
    """A prompt that an interrupt dropped before it began ends without a result; the next one is its own (2.1.332)."""
    done = replay(recording(MODERN, "interrupted_cancel_queued"))
    assert done.ended[0] == ("P1", None)
    assert done.begun[0] == "P2"


def test_prompts_of_send_share_a_turn() -> None:
    """Prompts from `send()` that the program merges or folds end our turn once, and leave the next one alone."""
    for version in (*OLD_VERSIONS, MODERN):
        merged, folded = replay(recording(version, "queued")), replay(recording(version, "folded_plain"))
        assert [prompt for prompt, _ in merged.ended] == ["P1"]
        assert [prompt for prompt, _ in folded.ended] == ["P1", "P3"]


# -- situations --------------------------------------------------------------------------------------------------------


def modern() -> Router:
    """Return a router for 2.1.332."""
    return Router()


def old() -> Router:
    """Return a router for 2.0.75 and 2.1.7."""
    router = Router()
    router.modern = False
    return router


def lifecycle(uuid: str, state: str) -> dict[str, Any]:
    """Return a frame that says where a prompt is."""
    return {"type": "command_lifecycle", "command_uuid": uuid, "state": state}


def state(word: str) -> dict[str, Any]:
    """Return a frame with the program's own state."""
    return {"type": "system", "subtype": "session_state_changed", "state": word, "sdk_host_only": True}


def result(*uuids: str, **more: Any) -> dict[str, Any]:
    """Return a result."""
    return {"type": "result", "subtype": "success", **({"user_message_uuids": list(uuids)} if uuids else {}), **more}


def echo(uuid: str, text: str = "hi") -> dict[str, Any]:
    """Return the echo of a prompt."""
    return {"type": "user", "isReplay": True, "uuid": uuid, "message": {"role": "user", "content": text}}


ASSISTANT: dict[str, Any] = {"type": "assistant", "message": {"content": []}}
INIT: dict[str, Any] = {"type": "system", "subtype": "init"}
BACKGROUND: dict[str, Any] = {
    "type": "assistant",
    "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"run_in_background": True}}]},
}
NOTIFICATION = echo("foreign", "<task-notification>\n<task-id>b1</task-id>")


@pytest.mark.parametrize("word", ["running", "requires_action", "compacting"])
def test_nothing_is_written_while_the_program_works(word: str) -> None:
    """The next prompt waits until the program says that it is idle (2.1.332)."""
    router = modern()
    assert router.free
    router.route(state(word))
    assert not router.free
    router.route(state("idle"))
    assert router.free


@pytest.mark.parametrize("router", [modern(), old()], ids=["modern", "old"])
def test_nothing_is_written_beside_a_prompt(router: Router) -> None:
    """Neither beside a prompt of ours nor beside one of `send()` is another written."""
    router.written("a", ours=True)
    assert not router.free
    router.withdraw("a")
    router.written("b", ours=False)
    assert not router.free
    router.withdraw("b")
    assert router.free
    router.withdraw("unknown")
    assert router.free


def test_idle_ends_what_has_no_result() -> None:
    """A prompt that is said to be over, and for which no result came until idle, ends without one (2.1.332)."""
    router = modern()
    router.route(state("running"))
    router.written("a", ours=True)
    assert router.route(lifecycle("a", "started")) == Decision(Place.NOBODY, begins=True)
    assert router.route(lifecycle("a", "completed")) == Decision(Place.NOBODY)
    assert router.route(state("idle")) == Decision(Place.NOBODY, ends=True, ended_by_result=False)
    assert router.free


def test_program_that_never_says_its_state_ends_turns_at_once() -> None:
    """Where no state is reported, "completed" is the last that is heard of a prompt."""
    router = modern()
    router.written("a", ours=True)
    router.route(lifecycle("a", "started"))
    assert router.route(lifecycle("a", "cancelled")).ends


def test_prompt_of_send_without_a_result_is_forgotten() -> None:
    """A prompt of `send()` that was cancelled, or is over at idle, does not hold up the next one (2.1.332)."""
    router = modern()
    for uuid in ("a", "b", "c"):
        router.written(uuid, ours=False)
    router.route(lifecycle("a", "cancelled"))
    router.route(lifecycle("b", "queued"))
    router.route(state("idle"))
    assert not router.free
    router.route(result("c"))
    assert router.free


def test_unnamed_result_is_ours_unless_it_says_otherwise() -> None:
    """A result that names nobody ends our turn: it may be the program's last; one with an origin does not (2.1.332)."""
    router = modern()
    assert router.route(result()) == Decision(Place.PROGRAM)
    router.written("a", ours=True)
    assert router.route(result(origin={"kind": "task-notification"})) == Decision(Place.PROGRAM)
    assert router.route(result("other")) == Decision(Place.PROGRAM)
    assert router.route(result(subtype="error_during_execution")) == Decision(Place.TURN, ends=True)


def test_turn_of_a_scheduled_wakeup_is_the_programs() -> None:
    """A turn whose init names no prompt keeps its result, which names none either, from our prompt (2.1.332)."""
    router = modern()
    router.route(state("running"))
    router.route(lifecycle("foreign", "started"))
    router.written("a", ours=True)  # just on its way
    assert router.route(INIT) == Decision(Place.PROGRAM)
    assert router.own_turn
    assert router.route(ASSISTANT) == Decision(Place.PROGRAM)
    assert router.route(result()) == Decision(Place.PROGRAM)
    assert not router.own_turn
    router.route(lifecycle("a", "started"))
    assert router.route(result("a")) == Decision(Place.TURN, ends=True)


@pytest.mark.parametrize("make", [modern, old])
def test_own_turn_is_seen_from_its_init_to_its_end(make: Callable[[], Router]) -> None:
    """Where no prompt is out, an init begins a turn of the program's own, and the next result ends it."""
    router = make()
    for end in (result(), result(origin={"kind": "task-notification"})):
        router.route(INIT)
        assert router.own_turn
        router.route(end)
        assert not router.own_turn
    router.written("a", ours=True)
    router.route(INIT | {"user_message_uuids": ["a"]})
    assert not router.own_turn


def test_visible_state_frames_go_where_the_turn_is() -> None:
    """State frames that the user asked for are messages; those meant for the SDK go to taps only (2.1.332)."""
    router = modern()
    shown = {"type": "system", "subtype": "session_state_changed", "state": "running"}
    assert router.route(shown).place is Place.PROGRAM
    router.written("a", ours=True)
    router.route(lifecycle("a", "started"))
    assert router.route(shown).place is Place.TURN
    assert router.route(state("requires_action")).place is Place.NOBODY


def test_frames_are_held_only_once_a_task_may_exist() -> None:
    """Without a background task the first frame begins our turn; with one, frames wait for the echo (2.1.7)."""
    router = old()
    router.written("a", ours=True)
    assert router.route(INIT) == Decision(Place.TURN, begins=True)
    router.route(echo("a"))
    router.route(BACKGROUND)
    assert router.route(result()).ends
    router.written("b", ours=True)
    assert router.route(INIT) == Decision(Place.HELD)
    assert router.route(ASSISTANT) == Decision(Place.HELD)
    assert router.route(echo("b")) == Decision(Place.ECHO, release=Place.TURN, begins=True)
    assert router.route(result()) == Decision(Place.TURN, ends=True)


@pytest.mark.parametrize(
    "frame",
    [
        BACKGROUND,
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "content": "Command running in background with ID: b1"}]},
        },
    ],
    ids=["asked for", "announced"],
)
def test_background_task_is_noticed(frame: dict[str, Any]) -> None:
    """A task is seen in what the model asks for and in what the tool says, should a callback have changed the input."""
    router = old()
    router.written("a", ours=True)
    router.route(frame)
    router.route(result())
    router.written("b", ours=True)
    assert router.route(INIT).place is Place.HELD


def test_held_frames_of_an_unnamed_turn_are_ours() -> None:
    """Frames held for a slash command, which has no echo, are released to our turn by its result (2.1.7)."""
    router = old()
    router.route(BACKGROUND)
    router.written("a", ours=True)
    router.route(INIT)
    output = echo("foreign", "<local-command-stdout>Total cost</local-command-stdout>")
    assert router.route(output) == Decision(Place.HELD)
    assert router.route(result()) == Decision(Place.TURN, release=Place.TURN, ends=True)


def test_unexpected_notification_turn_is_the_programs() -> None:
    """A notification's turn that nothing announced takes its result with it; our prompt waits on (2.1.7)."""
    router = old()
    router.written("a", ours=True)
    router.route(INIT)
    assert router.route(NOTIFICATION).place is Place.PROGRAM
    assert router.route(ASSISTANT) == Decision(Place.PROGRAM)
    assert router.route(result()) == Decision(Place.PROGRAM)
    assert router.route(INIT) == Decision(Place.TURN, begins=True)
    assert router.route(echo("a")).place is Place.ECHO
    assert router.route(result()).ends


def test_notification_inside_of_our_turn_leaves_it_ours() -> None:
    """A notification that comes after our echo belongs to our turn, and so does the result (2.1.7)."""
    router = old()
    router.written("a", ours=True)
    router.route(echo("a"))
    assert router.route(NOTIFICATION) == Decision(Place.TURN)
    assert router.route(result()) == Decision(Place.TURN, ends=True)


def test_prompt_of_send_folded_into_a_notification_turn_is_answered() -> None:
    """A prompt of `send()` that a notification's turn swallowed does not hold up the next one for ever (2.1.7)."""
    router = old()
    router.route(BACKGROUND)
    router.written("s", ours=False)
    router.route(NOTIFICATION)
    router.route(echo("s"))
    assert router.route(result()) == Decision(Place.PROGRAM)
    assert router.free


def test_prompt_of_send_without_an_echo_is_answered_in_order() -> None:
    """Results without an echo answer prompts of `send()` in the order of writing (2.0.75, 2.1.7)."""
    router = old()
    router.written("a", ours=False)
    router.written("b", ours=False)
    assert router.route(result()).place is Place.PROGRAM
    assert not router.free
    router.route(result())
    assert router.free


def test_crash_without_any_frame_ends_the_turn() -> None:
    """A result that comes instead of a turn ends the prompt that it came for (2.0.75 after a background task)."""
    router = old()
    router.route(BACKGROUND)
    router.written("a", ours=True)
    assert router.route(result(subtype="error_during_execution")) == Decision(Place.TURN, ends=True)


# -- anything ----------------------------------------------------------------------------------------------------------

ODD: list[Any] = [None, {}, [], [[]], {"a": {}}, 1, True, "", "text"]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("router", [modern(), old()], ids=["modern", "old"])
def test_odd_values_are_no_error(router: Router, odd: Any) -> None:
    """A field of any other type than expected, dicts and lists as uuids among them, is taken for missing."""
    router.written("a", ours=True)
    router.written("b", ours=False)
    for frame in (result("a"), lifecycle("a", "started"), state("idle"), echo("a"), BACKGROUND, NOTIFICATION, INIT):
        for key in (*frame, "user_message_uuid", "user_message_uuids", "origin", "uuid"):
            assert router.route({**frame, key: odd}).place in Place
    for content in (odd, [odd], [{"type": odd, "input": odd, "content": odd, "text": odd}]):
        for kind in ("user", "assistant"):
            frame = {"type": kind, "isReplay": kind == "user", "message": {"content": content}}
            assert router.route(frame).place in Place


uuids = st.sampled_from(["a", "b", "c", "d", "e"])
strange = st.fixed_dictionaries(
    {"type": st.sampled_from(["result", "user", "assistant", "system", "command_lifecycle", "stream_event"])},
    optional={
        "subtype": st.sampled_from(["init", "session_state_changed"]) | json_values,
        "state": st.sampled_from(["queued", "started", "completed", "cancelled", "idle", "running"]) | json_values,
        "command_uuid": uuids | json_values,
        "user_message_uuids": st.lists(uuids, max_size=3) | json_values,
        "user_message_uuid": uuids | json_values,
        "uuid": uuids | json_values,
        "isReplay": st.booleans() | json_values,
        "origin": st.just({"kind": "task-notification"}) | json_values,
        "sdk_host_only": st.booleans(),
        "message": st.sampled_from([NOTIFICATION["message"], BACKGROUND["message"], echo("a")["message"]])
        | json_values,
    },
)
steps = st.lists(st.tuples(st.just("ask") | st.just("send"), uuids) | strange | altered(), max_size=30)


@given(steps=steps, is_modern=st.booleans(), keep=st.booleans())
def test_no_frame_is_lost_in_any_order(steps: list[Any], is_modern: bool, keep: bool) -> None:
    """Whatever comes in whatever order, each frame has one place or is held, and a turn ends at most once."""
    router = Router(keep_echoes=keep)
    router.modern = is_modern
    done, written = Replay(router), list[str]()
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            decision = done.feed(step)
            assert not decision.ends or router.current is None
        elif step[0] == "send":
            done.write(step[1], ours=False)
        elif router.current is None:
            written.append(f"{step[1]}" if step[1] not in written else f"{step[1]}{number}")
            done.write(written[-1], ours=True)
    assert {index for index, place in enumerate(done.places) if place is None} == set(done.held)
    ended = [prompt for prompt, _ in done.ended]
    assert ended == written[: len(ended)]
    assert len(written) - len(ended) in (0, 1)
    if is_modern:
        assert done.held == []


@given(
    cut=st.lists(st.integers(0, 400), max_size=6),
    one=st.sampled_from([one for one in recordings() if one.version != MODERN]),
)
def test_old_turns_end_though_frames_are_missing(cut: list[int], one: Recording) -> None:
    """Frames that never came, other than echoes and results, cost no turn its result (2.0.75, 2.1.7)."""
    vital = {i for i, step in enumerate(one.steps) if "in" in step or step["out"]["type"] in ("result", "user")}
    kept = tuple(step for index, step in enumerate(one.steps) if index in vital or index not in cut)
    assert [prompt for prompt, _ in replay(Recording(one.version, one.name, kept)).ended] == one.asked
