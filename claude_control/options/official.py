"""The options that the official SDK has, under the names and with the meanings that it gives them."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import attrs

from claude_control.options.agents import check_agents, to_agents
from claude_control.options.callbacks import check_callback, check_hooks
from claude_control.options.checks import (
    boolean,
    byte_count,
    count_from,
    not_built,
    one_of,
    optional,
    path,
    positive,
    text,
    to_dict,
    to_tuple,
)
from claude_control.options.flags import check_extra_args
from claude_control.options.identity import check_uuid
from claude_control.options.model import EFFORTS, check_betas, check_output_format, check_task_budget, check_thinking
from claude_control.options.prompts import check_system_prompt
from claude_control.options.servers import check_mcp_servers
from claude_control.options.surroundings import (
    check_cli_path,
    check_client_app,
    check_env,
    check_paths,
    check_plugins,
    check_sandbox,
    check_setting_sources,
    check_settings,
)
from claude_control.options.tools import check_rules, check_skills, check_tools
from claude_control.records import frozen
from claude_control.wire.hooks import HookMatcher
from claude_control.wire.requests.steering import PERMISSION_MODES

__all__ = ["OfficialOptions", "Path"]

Path = str | PathLike[str]
"""What names a file or directory."""


@frozen(kw_only=True, repr=False)
class OfficialOptions:
    """The options of the official SDK; `Options` adds ours."""

    # The conversation.

    system_prompt: str | Mapping[str, Any] | None = attrs.field(default=None, validator=check_system_prompt)
    """A text of your own; None for an empty one; {"type": "preset", "preset": "claude_code", "append": …} for the
    program's own, with `exclude_dynamic_sections` and `snapshot` on 2.1.332; {"type": "custom", "prompt": …}; {"type":
    "file", "path": …}. A resumed conversation keeps the prompt that it began with, unless snapshot is False
    (2.1.332)."""

    session_id: str | None = attrs.field(default=None, validator=check_uuid)
    """The UUID of the new conversation; one is made if there is none. With resume or continue_conversation only
    together with fork_session."""

    resume: str | None = attrs.field(default=None, validator=optional(text))
    """The id of a conversation to go on with (2.1.332: or its title)."""

    continue_conversation: bool = attrs.field(default=False, validator=boolean)
    """Go on with the latest conversation of `cwd`."""

    fork_session: bool = attrs.field(default=False, validator=boolean)
    """Go on under a new id and leave the resumed conversation as it is."""

    resume_session_at: str | None = attrs.field(default=None, validator=check_uuid)
    """With resume: the uuid of the last message to keep."""

    resume_drops_turn: str | None = attrs.field(default=None, validator=check_uuid)
    """With resume_session_at: the uuid of the prompt whose turn is dropped; the program refuses to drop anything else
    (2.1.332)."""

    # The model.

    model: str | None = attrs.field(default=None, validator=optional(text))
    """An alias ("sonnet", "opus", "haiku") or a full name; None for the program's default."""

    fallback_model: str | None = attrs.field(default=None, validator=optional(text))
    """The model to use while `model` is overloaded."""

    betas: Sequence[str] = attrs.field(default=(), converter=to_tuple, validator=check_betas)
    """Beta features of the API to turn on."""

    thinking: Mapping[str, Any] | None = attrs.field(
        default=None, converter=attrs.converters.optional(to_dict), validator=check_thinking
    )
    """{"type": "adaptive"} (2.1.332), {"type": "enabled", "budget_tokens": N} or {"type": "disabled"}; wins over
    max_thinking_tokens. "display": "summarized" or "omitted" (2.1.332)."""

    max_thinking_tokens: int | None = attrs.field(default=None, validator=optional(count_from(0)))
    """Most tokens for thinking; 0 turns it off. On newer models any other number means adaptive."""

    effort: str | None = attrs.field(default=None, validator=optional(one_of(*EFFORTS)))
    """How much work goes into an answer: low, medium, high, xhigh or max (2.1.332)."""

    max_turns: int | None = attrs.field(default=None, validator=optional(count_from(1)))
    """Most exchanges with the model in one turn."""

    max_budget_usd: float | None = attrs.field(default=None, validator=optional(positive))
    """Most dollars that the session may cost."""

    task_budget: Mapping[str, int] | None = attrs.field(default=None, converter=to_dict, validator=check_task_budget)
    """{"total": tokens} that the model is told it has (2.1.332)."""

    output_format: Mapping[str, Any] | None = attrs.field(
        default=None, converter=to_dict, validator=check_output_format
    )
    """{"type": "json_schema", "schema": {…}}: the answer is data of that shape, in `structured_output`."""

    # Tools, and who allows them.

    tools: Sequence[str] | Mapping[str, str] | None = attrs.field(
        default=None, converter=to_tuple, validator=check_tools
    )
    """The built-in tools that exist: names, [] for none, {"type": "preset", "preset": "claude_code"} or None for
    all."""

    allowed_tools: Sequence[str] = attrs.field(default=(), converter=to_tuple, validator=check_rules)
    """Rules for what runs unasked: "Read", "Bash(git log:*)", "mcp__server__tool"."""

    disallowed_tools: Sequence[str] = attrs.field(default=(), converter=to_tuple, validator=check_rules)
    """Rules for what never runs."""

    permission_mode: str | None = attrs.field(default=None, validator=optional(one_of(*PERMISSION_MODES)))
    """default, acceptEdits, plan, dontAsk, bypassPermissions (only with allow_bypass), auto or manual (both
    2.1.332)."""

    can_use_tool: Callable[..., Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Asked about each use of a tool that would otherwise ask a person: (tool_name, tool_input, context) -> Allow |
    Deny."""

    permission_prompt_tool_name: str | None = attrs.field(default=None, validator=optional(text))
    """The MCP tool that is asked instead of can_use_tool."""

    hooks: Mapping[str, Sequence[HookMatcher]] | None = attrs.field(
        default=None, converter=to_dict, validator=check_hooks
    )
    """Callbacks by event: {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[guard])]}."""

    skills: Sequence[str] | str | None = attrs.field(default=None, converter=to_tuple, validator=check_skills)
    """"all", or the names of the skills to show (2.1.332; [] for none); allows them and turns on the user's and the
    project's settings. What is not listed is hidden, not locked away."""

    agents: Mapping[str, Any] | None = attrs.field(default=None, converter=to_agents, validator=check_agents)
    """Subagents by name: AgentDefinition, or a dict of its fields."""

    mcp_servers: Mapping[str, Any] | Path = attrs.field(factory=dict, converter=to_dict, validator=check_mcp_servers)
    """MCP servers by name: a `ToolServer`, a server object of the mcp library, or what runs elsewhere; or the path of a
    file with them. They may hold secrets: they reach the program in a file that only it and you can read."""

    strict_mcp_config: bool = attrs.field(default=False, validator=boolean)
    """Use no MCP servers but these."""

    plugins: Sequence[Mapping[str, str]] = attrs.field(default=(), converter=to_tuple, validator=check_plugins)
    """Plugins to load: {"type": "local", "path": …}."""

    # The program and what surrounds it.

    cli_path: Path | Sequence[str] | None = attrs.field(default=None, converter=to_tuple, validator=check_cli_path)
    """The program: a path, a name on PATH, a .js file (run by node) or a command as a list; None to look in the usual
    places."""

    cwd: Path | None = attrs.field(default=None, validator=optional(path))
    """The directory that the program works in; None for the present one."""

    add_dirs: Sequence[Path] = attrs.field(default=(), converter=to_tuple, validator=check_paths)
    """More directories that it may use; best absolute."""

    env: Mapping[str, str | None] = attrs.field(factory=dict, converter=to_dict, validator=check_env)
    """Variables over those of this process; None takes one away."""

    user: str | None = attrs.field(default=None, validator=not_built)
    """The system user to run as. Not implemented yet."""

    client_app: str | None = attrs.field(default=None, validator=check_client_app)
    """What the program calls your application in its requests, such as "my-app/1.0" (2.1.332; older programs do not say
    it)."""

    settings: Path | None = attrs.field(default=None, validator=check_settings)
    """A settings file, or the settings as JSON text; above those of the user and the project."""

    setting_sources: Sequence[str] | None = attrs.field(
        default=None, converter=to_tuple, validator=check_setting_sources
    )
    """Which of user, project and local settings to load: None for all, [] for none."""

    sandbox: Mapping[str, Any] | None = attrs.field(default=None, converter=to_dict, validator=check_sandbox)
    """How Bash is locked in: becomes the `sandbox` part of the settings."""

    extra_args: Mapping[str, str | None] = attrs.field(factory=dict, converter=to_dict, validator=check_extra_args)
    """Other flags of the program, without dashes; None for one without a value."""

    enable_file_checkpointing: bool = attrs.field(default=False, validator=boolean)
    """Keep what `rewind_files` needs."""

    # What the program sends.

    include_partial_messages: bool = attrs.field(default=False, validator=boolean)
    """Also send the pieces of an answer as they come (`StreamEvent`)."""

    include_hook_events: bool = attrs.field(default=False, validator=boolean)
    """Also send what command hooks of the settings do (2.1.332)."""

    forward_subagent_text: bool = attrs.field(default=False, validator=boolean)
    """Also send what subagents say and think (2.1.332)."""

    verbatim_prompts: bool = attrs.field(default=False, validator=boolean)
    """Send prompts as they are, without expanding @files and /commands (2.1.332). Older programs cannot be told, so a
    prompt that they might expand, with an @ or a leading slash, raises NotSupportedError there."""

    stderr: Callable[[str], Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Called with each line that the program writes to stderr."""

    debug_stderr: Any = attrs.field(default=None, validator=not_built)
    """Not implemented, nor read by the official SDK any more; use stderr."""

    max_buffer_size: int | None = attrs.field(default=None, validator=optional(byte_count))
    """Bytes; the official name of max_line_bytes."""

    session_store: Any = attrs.field(default=None, validator=not_built)
    """A store of transcripts outside of this machine. Not implemented yet."""

    session_store_flush: str = attrs.field(default="batched", validator=not_built)
    """When to write to the session_store. Not implemented yet."""

    load_timeout_ms: int = attrs.field(default=60_000, validator=not_built)
    """Milliseconds that the session_store may take. Not implemented yet."""
