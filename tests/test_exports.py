"""The names that packages offer exist, are documented, and are the promised ones."""

import ast
import functools
import importlib
import inspect
import types
from typing import Any

import pytest

import claude_control
from tests import sources

# The public surface. A name may be added here; taking one away breaks the compatibility promise.
PROMISED = frozenset(
    """
    Session Options Turn Task Outcome Usage query run close_all requests UNSET __version__
    Allow Deny HookMatcher HookContext PermissionContext PermissionRuleValue PermissionUpdate AbortSignal
    AddRules ReplaceRules RemoveRules AddDirectories RemoveDirectories SetMode PendingAnswer Question QuestionOption
    ElicitationRequest Accept Decline DialogRequest AskContext LateAnswer
    Transport Exit tool ToolServer ToolContext ToolResult
    Message AssistantMessage UserMessage SystemMessage ResultMessage StreamEvent UnknownMessage MessagesDropped
    RateLimitEvent RateLimitInfo APIRetryMessage
    ContentBlock TextBlock ThinkingBlock ToolUseBlock ToolResultBlock UnknownBlock
    ClaudeControlError OptionsError StartError CLINotFoundError CLIVersionError SpawnError InitializeError
    ProtocolError ControlRequestError SessionClosedError ProcessExitedError ControlTimeoutError WaitTimeoutError
    AbortedError ConcurrencyError ForkedError NotSupportedError ResultError MaxTurnsError BudgetExceededError
    RateLimitedError AuthenticationError RefusedError APIError ExecutionError StructuredOutputError
    BaseHookInput ConfigChangeHookInput CwdChangedHookInput DirectoryAddedHookInput ElicitationHookInput
    ElicitationResultHookInput FileChangedHookInput HookInput InstructionsLoadedHookInput MessageDisplayHookInput
    NotificationHookInput PermissionDeniedHookInput PermissionRequestHookInput PostCompactHookInput
    PostModelSwitchHookInput PostToolBatchHookInput PostToolUseFailureHookInput PostToolUseHookInput PreCompactHookInput
    PreModelSwitchHookInput PreSkillShellCommandHookInput PreToolUseHookInput SessionEndHookInput SessionStartHookInput
    SetupHookInput StopFailureHookInput StopHookInput SubagentStartHookInput SubagentStopHookInput
    TaskCompletedHookInput TaskCreatedHookInput TeammateIdleHookInput UnknownHookInput UserPromptExpansionHookInput
    UserPromptSubmitHookInput WorktreeCreateHookInput WorktreeRemoveHookInput
    add_context allow_tool ask_user block defer_tool deny_tool rewrite_input rewrite_output stop
    """.split()
)


def listed(source: sources.Source) -> list[str] | None:
    """Return the `__all__` of a module as it is written, or None if it has none."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


OFFERS = {source.name: names for source in sources.modules() if (names := listed(source)) is not None}
OFFERED = [(module, name) for module, names in OFFERS.items() for name in names]


def order(name: str) -> tuple[int, str]:
    """Return the key of ruff's order of `__all__` (RUF022): constants, then classes, then the rest."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def own_docstring(value: Any) -> str:
    """Return the docstring that was written for a value, or for its class if that is ours; never an inherited one."""
    if isinstance(value, type):
        return value.__dict__.get("__doc__") or ""
    if isinstance(value, types.ModuleType) or inspect.isroutine(value):
        return value.__doc__ or ""
    if own := getattr(value, "__dict__", {}).get("__doc__"):
        return str(own)
    kind = type(value)
    return (kind.__dict__.get("__doc__") or "") if kind.__module__.startswith(sources.PACKAGE) else ""


@functools.cache
def assigned_docstrings(source: sources.Source) -> dict[str, str]:
    """Return the texts that stand below assignments at the top of a module, by the assigned name."""
    found: dict[str, str] = {}
    for node, following in zip(source.tree.body, source.tree.body[1:], strict=False):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(following, ast.Expr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
                found |= {target.id: following.value.value for target in targets if isinstance(target, ast.Name)}
    return found


def unlisted(source: sources.Source) -> list[str]:
    """Return the names of ours that a package's `__init__` brings in without saying which of them it offers."""
    if not source.is_package or listed(source) is not None:
        return []
    imports = [node for node in source.tree.body if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.level or (node.module or "").startswith(sources.PACKAGE)]
    return [alias.name for node in ours for alias in node.names]


def test_public_surface_is_the_promised_one() -> None:
    """`claude_control` offers what is promised, no more and no less."""
    assert set(claude_control.__all__) == PROMISED


def test_dir_lists_the_public_surface() -> None:
    """Names that are imported late are shown by `dir()` before they are used."""
    assert set(dir(claude_control)) >= PROMISED


def test_unknown_name_is_refused() -> None:
    """A name that does not exist raises AttributeError, late imports or not."""
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = claude_control.no_such_name


@pytest.mark.parametrize("module", OFFERS)
def test_list_is_unique_and_in_order(module: str) -> None:
    """`__all__` names each thing once, in the linter's order."""
    assert OFFERS[module] == sorted(set(OFFERS[module]), key=order)


@pytest.mark.parametrize(("module", "name"), OFFERED)
def test_name_exists_and_is_documented(module: str, name: str) -> None:
    """Every offered name can be imported and has a docstring of its own."""
    value = getattr(importlib.import_module(module), name)
    if not name.startswith("__"):
        below = [assigned_docstrings(source).get(name, "") for source in sources.modules()]
        assert own_docstring(value) or any(below)


def test_packages_say_what_they_offer() -> None:
    """A package that gathers names of its modules lists them in `__all__`."""
    assert {source.name: unlisted(source) for source in sources.modules() if unlisted(source)} == {}


def test_checks_can_fail() -> None:
    """Missing docstrings and unlisted names are seen for what they are."""

    class Bare(ValueError):
        pass

    def bare() -> None:
        pass

    assert own_docstring(Bare) == own_docstring(bare) == own_docstring(frozenset()) == ""
    assert own_docstring(order)
    text = "A = 1\n'''Said.'''\nB: int = 2\nC = 3\n"
    assert assigned_docstrings(sources.Source("x", is_package=False, text=text)) == {"A": "Said."}
    gathers = "from claude_control.errors import APIError\n"
    assert unlisted(sources.Source("x", is_package=True, text=gathers)) == ["APIError"]
    assert unlisted(sources.Source("x", is_package=True, text=gathers + "__all__ = []")) == []
