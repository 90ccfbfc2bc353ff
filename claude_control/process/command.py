"""From options to the program's command line and to the fields of its handshake.

Nothing secret and nothing large stands on the command line: what the handshake carries goes there, settings and MCP
servers go into files of `SpillFiles`. Every value is bound to its flag with "=", so that none can become a flag of its
own.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claude_control.errors import OptionsError
from claude_control.options import Options
from claude_control.options.agents import agents_to_wire
from claude_control.options.callbacks import dialog_kinds
from claude_control.options.inline import is_inline
from claude_control.options.prompts import read_system_prompt
from claude_control.options.servers import external, in_process, manifests
from claude_control.options.tools import allowed_rules, disallowed_rules, setting_sources
from claude_control.process.discovery import Program
from claude_control.process.redaction import redact_command
from claude_control.process.settings import SHORT, is_plain, merged_settings
from claude_control.process.spill import SpillFiles
from claude_control.process.support import check_supported, flags_needing_version

__all__ = ["build_command", "check_supported", "flags_needing_version", "initialize_fields", "redact_command"]

_BASE = ("--output-format=stream-json", "--verbose", "--input-format=stream-json")
_ARGUMENT_BYTES = 128 * 1024 - 1  # Linux takes no longer argument (MAX_ARG_STRLEN, with its final NUL)


def build_command(
    options: Options, program: Program, files: SpillFiles, *, session_id: str | None, old: bool | None = None
) -> list[str]:
    """Return the argv of the program; what must not stand in it is written to `files`.

    `session_id` is the one chosen for a new conversation, None where one goes on. `old` says that the program does not
    name a turn's prompts (before 2.1.332); None, not known, counts as old: the echoes that old programs need cost newer
    ones one frame per prompt and per answer. Raises `OptionsError` for files that cannot be read and values that no
    command line takes.
    """
    argv = [*program.command, *_BASE, *_conversation(options, session_id), *_model(options), *_tools(options)]
    argv += [*_surroundings(options, files), *_output(options, old), *_extra(options.extra_args)]
    for argument in argv:
        if len(os.fsencode(argument)) > _ARGUMENT_BYTES:
            flag = argument.partition("=")[0]
            raise OptionsError(f"the value of {flag} is too long for a command line (over 128 KiB)", field=flag)
    return argv


def initialize_fields(options: Options) -> dict[str, Any]:
    """Return what the handshake carries, besides hooks, in the wire's own names.

    The prompt is sent as a text: the older two programs ignore a list, 2.1.332 takes both (measured by what the model
    got).
    """
    prompt = read_system_prompt(options.system_prompt)
    schema = options.output_format["schema"] if options.output_format is not None else None
    fields: dict[str, Any] = {
        "systemPrompt": prompt.text or None,
        "appendSystemPrompt": prompt.append,
        "excludeDynamicSections": prompt.exclude_dynamic_sections,
        "systemPromptSnapshot": prompt.snapshot,
        "agents": agents_to_wire(options.agents) or None,
        "jsonSchema": schema,
        "skills": list(options.skills) if options.skills not in (None, "all") else None,
        "forwardSubagentText": options.forward_subagent_text or None,
        "supportedDialogKinds": list(dialog_kinds(options)) or None,
        "sdkMcpServers": list(in_process(options.mcp_servers)) or None,
        # 2.1.332 then asks nothing of them before the first call; 2.0.75 and 2.1.7 do not look at it.
        "sdkMcpServerManifests": manifests(options.mcp_servers) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _flag(name: str, value: object) -> list[str]:
    return [] if value is None else [f"--{name}={value}"]


def _switch(name: str, wanted: bool) -> list[str]:
    return [f"--{name}"] if wanted else []


def _joined(name: str, values: Sequence[str]) -> list[str]:
    return [f"--{name}={','.join(values)}"] if values else []


def _conversation(options: Options, session_id: str | None) -> Iterator[str]:
    prompt = read_system_prompt(options.system_prompt)
    if prompt.text == "":  # the empty prompt; any other one is part of the handshake
        yield "--system-prompt="
    yield from _flag("system-prompt-file", prompt.file)
    yield from _flag("session-id", session_id)
    yield from _flag("resume", options.resume)
    yield from _switch("continue", options.continue_conversation)
    yield from _switch("fork-session", options.fork_session)
    yield from _flag("resume-session-at", options.resume_session_at)
    yield from _flag("resume-drops-turn", options.resume_drops_turn)


def _model(options: Options) -> Iterator[str]:
    yield from _flag("model", options.model)
    yield from _flag("fallback-model", options.fallback_model)
    for beta in options.betas:  # one flag for each: a list with commas is taken for one name
        yield from _flag("betas", beta)
    yield from _thinking(options)
    yield from _flag("effort", options.effort)
    yield from _flag("max-turns", options.max_turns)
    yield from _flag("max-budget-usd", options.max_budget_usd)
    yield from _flag("task-budget", options.task_budget["total"] if options.task_budget else None)


def _thinking(options: Options) -> Iterator[str]:
    thinking = options.thinking
    if thinking is None:
        yield from _flag("max-thinking-tokens", options.max_thinking_tokens)
        return
    if thinking["type"] == "adaptive":
        yield "--thinking=adaptive"
    else:  # 0 turns thinking off on every measured program, --thinking=disabled on the newest only
        yield from _flag("max-thinking-tokens", thinking.get("budget_tokens", 0))
    yield from _flag("thinking-display", thinking.get("display"))


def _tools(options: Options) -> Iterator[str]:
    if isinstance(options.tools, Mapping):
        yield "--tools=default"
    elif options.tools is not None:
        yield f"--tools={','.join(options.tools)}"  # with nothing behind it: no tools
    yield from _joined("allowedTools", allowed_rules(options))
    yield from _joined("disallowedTools", disallowed_rules(options))
    asks_us = options.can_use_tool is not None or options.on_question is not None or options.on_plan is not None
    yield from _flag("permission-prompt-tool", "stdio" if asks_us else options.permission_prompt_tool_name)
    yield from _flag("permission-mode", options.permission_mode)
    # Without it 2.1.332 refuses to change to that mode later.
    yield from _switch("allow-dangerously-skip-permissions", options.allow_bypass)


def _surroundings(options: Options, files: SpillFiles) -> Iterator[str]:
    sources = setting_sources(options)
    if sources is not None:
        yield f"--setting-sources={','.join(sources)}"  # with nothing behind it: no settings files
    yield from _flag("settings", _settings(options, files))
    yield from _flag("mcp-config", _servers(options, files))
    yield from _switch("strict-mcp-config", options.strict_mcp_config)
    for directory in options.add_dirs:
        yield from _flag("add-dir", os.fspath(directory))
    for plugin in options.plugins:
        yield from _flag("plugin-dir", os.fspath(plugin["path"]))


def _settings(options: Options, files: SpillFiles) -> str | None:
    if options.sandbox is None and options.settings is not None and not is_inline(options.settings):
        return _existing("settings", options)
    settings = merged_settings(options)
    return None if settings is None else _placed("settings.json", settings, options, files)


def _servers(options: Options, files: SpillFiles) -> str | None:
    servers = options.mcp_servers
    if isinstance(servers, Mapping):
        config = {name: dict(server) for name, server in external(servers).items()}
        return _placed("mcp.json", {"mcpServers": config}, options, files) if config else None
    if is_inline(servers):
        return _placed("mcp.json", json.loads(os.fspath(servers)), options, files)
    return _existing("mcp_servers", options)


def _placed(name: str, value: Any, options: Options, files: SpillFiles) -> str:
    """Return JSON as the value of a flag: the path of a file, or itself.

    Itself only for a custom `spawn`, whose program may not see our files, and only if it is short and harmless.
    """
    text = json.dumps(value)
    if options.spawn is not None and len(text) <= SHORT and is_plain(value):
        return text
    return files.write(name, text)


def _existing(field: str, options: Options) -> str:
    """Return the path that an option names, as it is; 2.1.7 ends without a word if there is no such file."""
    path: str = os.fspath(getattr(options, field))
    here = os.path.join(os.fspath(options.cwd or ""), path)
    if options.spawn is None and not os.path.exists(here):
        raise OptionsError(f"{field} names {path}, but there is no such file", field=field)
    return path


def _output(options: Options, old: bool | None) -> Iterator[str]:
    yield from _switch("include-partial-messages", options.include_partial_messages)
    yield from _switch("include-hook-events", options.include_hook_events)
    yield from _switch("replay-user-messages", old is not False and "replay-user-messages" not in options.extra_args)


def _extra(arguments: Mapping[str, str | None]) -> Iterator[str]:
    for name, value in arguments.items():
        yield f"--{name}" if value is None else f"--{name}={value}"
