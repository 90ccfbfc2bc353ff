"""Tokens and dollars of real sessions, against what the scripted model server says that it sent."""

import os
import signal
from collections import Counter
from typing import Any

import pytest

from claude_control import Allow, ProcessExitedError, ResultMessage, Session, Usage
from claude_control.testing import ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_requests import ModelRequest
from claude_control.testing.model_script import Answer, Gate, HttpError, Text, Thinking, ToolCall
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = pytest.mark.real

OLD = ("2.0.75", "2.1.7")
DONE = {"input_tokens": 40, "output_tokens": 9, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20}


def known(usage: Usage | None) -> Usage:
    """Return a usage that has to be there."""
    assert usage is not None
    return usage


def numbers(usage: Usage | None) -> tuple[int | None, ...]:
    """Return the four token counts."""
    found = known(usage)
    return (
        found.input_tokens,
        found.output_tokens,
        found.cache_read_input_tokens,
        found.cache_creation_input_tokens,
    )


def sent(server: ModelServer) -> dict[str, tuple[int, ...]]:
    """Return the tokens that the server sent for each model, the program's calls for itself included."""
    totals: dict[str, Counter[str]] = {}
    for answer in server.answers:
        totals.setdefault(answer.model, Counter()).update(answer.usage)
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return {model: tuple(total[name] for name in names) for model, total in totals.items()}


def test_session_has_spent_what_the_server_sent(open_session: Opener, model_server: ModelServer) -> None:
    """Blocks, tools, a subagent and several turns: every token is counted once, for its model, and all dollars."""
    session = open_session(can_use_tool=lambda *_: Allow())
    run = ToolCall("Bash", command="touch made", description="d")
    subagent = script(
        Answer(Text("sub one"), run, usage={"input_tokens": 1000, "output_tokens": 100}),
        Answer(Text("sub two"), usage={"input_tokens": 2000, "output_tokens": 200}),
    )
    task = ToolCall("Task", description="d", prompt=subagent, subagent_type="general-purpose", run_in_background=False)
    first = Answer(Thinking("hm"), Text("one"), Text("two"), task, usage=DONE)
    turn = session.ask(script(first, Answer(Text("done"), usage={"input_tokens": 5, "output_tokens": 6})))
    results = [turn.result()]
    following = session.ask(script(Answer(Text("next"), usage={"input_tokens": 7, "output_tokens": 8})))
    results.append(following.result())

    found = known(session.usage)
    assert {model: numbers(part) for model, part in found.by_model.items()} == sent(model_server)
    assert numbers(found) == tuple(map(sum, zip(*sent(model_server).values(), strict=True)))
    assert numbers(following.usage) == (7, 8, 0, 0)
    assert turn.cost_usd is not None
    assert following.cost_usd is not None
    assert following.cost_usd < turn.cost_usd
    # The program's total is cumulative on each version, so the newest one is the session's, and not their sum.
    assert session.cost_usd == pytest.approx(results[1].total_cost_usd)
    assert turn.cost_usd + following.cost_usd == pytest.approx(results[1].total_cost_usd)


def _begun(session: Session) -> Any:
    turn = session.ask(script(Answer(Text("some words"), Text("more"), Gate("never"), usage={"input_tokens": 70})))
    wait_until(lambda: turn.text != "")
    return turn


def test_interrupted_turn_has_what_is_known(open_session: Opener, program: Program) -> None:
    """While a turn runs its messages are counted, and an interrupt, after which older programs say 0, loses none."""
    session = open_session()
    assert (session.usage, session.cost_usd) == (None, None)
    turn = _begun(session)
    assert known(turn.usage).input_tokens == 70
    assert turn.cost_usd is None
    session.interrupt()
    result = turn.result(timeout=20)
    assert result.usage["input_tokens"] == 0
    used = known(turn.usage).by_model[next(model for model in known(turn.usage).by_model if "haiku" not in model)]
    assert used.input_tokens in ((70, 80) if program.version == "2.0.75" else (70,))  # it warms up with the same model
    assert turn.cost_usd is not None


def test_turn_whose_program_died_has_what_is_known(open_session: Opener) -> None:
    """A turn without a result has the tokens of its messages, and no cost: that is unknown, not 0."""
    session = open_session()
    turn = _begun(session)
    os.kill(session._live().transport.pid, signal.SIGKILL)  # type: ignore[attr-defined]  # a subprocess has one
    with pytest.raises(ProcessExitedError):
        turn.result(timeout=20)
    assert known(turn.usage).input_tokens == known(session.usage).input_tokens == 70
    assert (turn.cost_usd, session.cost_usd) == (None, None)


def _ask_until_own_calls_are_counted(session: Session, server: ModelServer, program: Program) -> str:
    """Return the model that answers, once what 2.0.75 asks it for itself at its start is in the session's account."""

    def counted() -> bool:
        session.ask(script(Text("warm"))).result()
        if program.version == "2.0.75" and not any(_is_warm_up(request, model) for request in server.requests):
            return False
        return numbers(known(session.usage).by_model[model]) == sent(server)[model]

    prompt = script(Text("first"))
    session.ask(prompt).result()
    model = str(server.wait_for_request(prompt).model)
    wait_until(counted)
    return model


def _is_warm_up(request: ModelRequest, model: str) -> bool:
    return request.model == model and "Warmup" in str(request.messages)


def test_answer_after_a_failed_attempt_is_counted(
    open_session: Opener, program: Program, model_server: ModelServer
) -> None:
    """2.0.75 and 2.1.7 do not count what they did not get by streaming; the turn has it all the same."""
    session = open_session()
    model = _ask_until_own_calls_are_counted(session, model_server, program)
    turn = session.ask(script(HttpError(529), Answer(Text("recovered"), usage=DONE)))
    result = turn.result()
    assert numbers(known(turn.usage).by_model[model]) == tuple(DONE.values())
    assert result.usage is not None
    assert result.usage["input_tokens"] == (0 if program.version in OLD else 40)


def test_resumed_session_counts_from_its_own_start(open_session: Opener, program: Program) -> None:
    """A resumed conversation's earlier tokens are not counted again, though 2.1.332 goes on from the old total."""
    before = open_session()
    old_total = before.ask(script(Answer(Text("a"), usage={"input_tokens": 5000}))).result().total_cost_usd
    before.close()
    session = open_session(resume=before.session_id)
    turn = session.ask(script(Answer(Text("b"), usage={"input_tokens": 7})))
    result = turn.result()
    assert result.total_cost_usd is not None
    assert old_total is not None
    assert (result.total_cost_usd > old_total) == (program.version not in OLD)
    assert numbers(session.usage)[0] in range(100)  # with the small calls that older programs make for themselves
    assert session.cost_usd == turn.cost_usd
    assert turn.cost_usd is not None
    assert 0 < turn.cost_usd < old_total


def test_clear_and_compact_lose_nothing(open_session: Opener, model_server: ModelServer) -> None:
    """Slash commands that forget the conversation, or have it summarised, leave the session's account whole."""
    session = open_session()
    for prompt in (script(Answer(Text("a"), usage=DONE)), "/clear", script(Answer(Text("b"), usage=DONE)), "/compact"):
        assert isinstance(session.ask(prompt).result(), ResultMessage)
    session.ask(script(Text("c"))).result()
    assert {model: numbers(part) for model, part in known(session.usage).by_model.items()} == sent(model_server)
