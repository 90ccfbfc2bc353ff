"""Functions that a session calls: plain ones, registered for events that exist."""

import functools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from claude_control import HookMatcher, OptionsError
from claude_control.options import Options, merge_options


def plain(*_arguments: Any) -> dict[str, Any]:
    """Have no opinion."""
    return {}


async def coroutine(*_arguments: Any) -> dict[str, Any]:
    """Be of the official SDK's kind."""
    return {}


async def generator(*_arguments: Any) -> AsyncIterator[int]:
    """Be of no use at all."""
    yield 1


class Called:
    """A callable object whose call is a coroutine."""

    async def __call__(self, *_arguments: Any) -> None:
        """Do nothing, later."""


ASYNCHRONOUS = [coroutine, generator, functools.partial(functools.partial(coroutine), 1), Called()]


@pytest.mark.parametrize("name", ["can_use_tool", "stderr", "spawn"])
@pytest.mark.parametrize("function", ASYNCHRONOUS, ids=["coroutine", "generator", "partial", "object"])
def test_coroutine_callback_is_refused(name: str, function: Any) -> None:
    """A coroutine function, however wrapped, is refused: nothing here would await it."""
    with pytest.raises(OptionsError, match=f"{name} must be a plain function") as caught:
        merge_options(None, **{name: function})
    assert caught.value.field == name


@pytest.mark.parametrize("name", ["can_use_tool", "stderr", "spawn"])
def test_callback_can_be_called(name: str) -> None:
    """What cannot be called is refused; functions, partials and objects are taken."""
    with pytest.raises(OptionsError, match="a function"):
        merge_options(None, **{name: "print"})
    for function in (plain, functools.partial(plain, 1), len):
        assert getattr(merge_options(None, **{name: function}), name) is function


@pytest.mark.parametrize(
    ("hooks", "told"),
    [
        ([HookMatcher(hooks=[plain])], "hooks must be a mapping"),
        ({"PreToolUse": HookMatcher(hooks=[plain])}, "a list of HookMatcher"),
        ({"PreToolUse": [plain]}, "HookMatcher(hooks=[guard])"),
        ({"PreToolUse": [HookMatcher(hooks=[])]}, "a list of functions that is not empty"),
        ({"PreToolUse": [HookMatcher(hooks=plain)]}, "a list of functions"),  # type: ignore[arg-type]
        ({"PreToolUse": [HookMatcher(hooks=["x"])]}, "hooks['PreToolUse'].hooks must be a function"),  # type: ignore[list-item]
        ({"PreToolUse": [HookMatcher(hooks=[coroutine])]}, "plain function"),
        ({"PreToolUse": [HookMatcher(hooks=[plain], timeout=0)]}, "positive number of seconds"),
        ({"PreToolUse": [HookMatcher(hooks=[plain], timeout=True)]}, "positive number of seconds"),
        ({"PreToolUse": [HookMatcher(hooks=[plain], timeout=86_400)]}, "up to 86385"),
        ({"PreToolUse": [HookMatcher(hooks=[plain], timeout=float("nan"))]}, "positive number of seconds"),
        ({"PreToolUse": [HookMatcher(hooks=[plain], ordered="yes")]}, "True or False"),  # type: ignore[arg-type]
        ({"PreToolUse": [HookMatcher("Bash(", [plain])]}, "a tool name or pattern"),
        ({"PreToolUse": [HookMatcher(5, [plain])]}, "a tool name or pattern"),  # type: ignore[arg-type]
        ({"PreToolUse": [HookMatcher(hooks=[plain], on_failure="ask")]}, "'block' or 'continue'"),  # type: ignore[arg-type]
        ({"PreToolUs": [HookMatcher(hooks=[plain])]}, "did you mean 'PreToolUse'?"),
        ({"pre_tool_use": [HookMatcher(hooks=[plain])]}, "did you mean 'PreToolUse'?"),
        ({"Pre Tool": [HookMatcher(hooks=[plain])]}, "event names"),
        ({5: []}, "event names"),
    ],
)
def test_wrong_hooks_are_refused(hooks: Any, told: str) -> None:
    """Hooks that would never run, or run wrongly, are refused with the place and the remedy."""
    with pytest.raises(OptionsError) as caught:
        Options(hooks=hooks)
    assert told in str(caught.value)
    assert caught.value.field == "hooks"


@pytest.mark.parametrize(
    "matcher", ["Bash", "Write|Edit", "mcp__.*", "*", "", "^(?!Bash$)", "(?<tool>Bash)", "(?<=B)ash", None]
)
def test_patterns_are_taken(matcher: str | None) -> None:
    """What the program matches with is taken: names, patterns as JavaScript writes them, and the star."""
    hooks = {"PreToolUse": [HookMatcher(matcher, [plain])]}
    assert Options(hooks=hooks).hooks == hooks


def test_hooks_are_taken() -> None:
    """Known events, and names that a newer program may know, are taken as they are."""
    hooks = {
        "PreToolUse": [HookMatcher("Bash", [plain], 5.0, "continue")],
        "BrandNewEvent": [HookMatcher(hooks=[plain])],
    }
    assert Options(hooks=hooks).hooks == hooks
