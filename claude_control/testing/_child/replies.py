"""The answers to control requests, in the manner of the program's version."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import Frame
    from .program import Program
    from .turns import Prompt

_BAD_HOOKS = (
    "initialize: hooks must map hook events to arrays of matchers carrying hookCallbackIds arrays and string matchers"
)
_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
_BAD_MODE = f"Cannot set permission mode: must be one of {', '.join(_MODES)}"
_NO_BYPASS = (
    "Cannot set permission mode to bypassPermissions because the session was not launched"
    " with --dangerously-skip-permissions"
)
_NO_MODEL = 'Model "(unrecognized model name)" is not a recognized model id. Run /model to see available models.'
_BAD_THINKING = (
    "set_max_thinking_tokens: max_thinking_tokens must be an integer or null and thinking_display must be"
    ' "summarized", "omitted", "highlights", or null'
)
# An interrupt cancels these, and not what is asked of MCP servers.
_CANCELLED = ("can_use_tool", "hook_callback", "elicitation", "request_user_dialog")
_OLD = (
    "initialize interrupt set_permission_mode set_model set_max_thinking_tokens mcp_status mcp_message"
    " mcp_set_servers rewind_files"
).split()
# What it answers by what it was told; the rest of what 2.1.332 knows has a payload in its profile.
_NEW = (
    "cancel_async_message end_session file_suggestions get_settings get_task_output list_models mcp_call"
    " mcp_read_resource mcp_reconnect mcp_toggle read_file register_repo_root rename_session set_cwd"
).split()


class ReplyError(Exception):
    """The answer is an error with this text; further fields stand beside it."""

    def __init__(self, text: str, code: str | None = None, **extra: object) -> None:
        super().__init__(text)
        self.fields = {"error": text, **({"error_code": code} if code else {}), **extra}


class Replies:
    """Answers what the SDK requests, by default.

    Older programs never answer a subtype that they do not know; 2.1.332 answers with an error.
    """

    def __init__(self, program: Program) -> None:
        self.hooks: dict[str, list[Frame]] = {}
        self._program = program
        self._initialized = False
        self._servers: dict[str, object] = {}
        self._disabled: set[str] = set()
        self._settings: dict[str, object] = {}
        self._modern = program.frames.modern

    def answer(self, frame: Frame) -> None:
        """Answer one request."""
        subtype = frame["request"].get("subtype")
        payloads = self._program.script["profile"].get("payloads", {})
        known = subtype in _OLD or (self._modern and (subtype in _NEW or subtype in payloads))
        if not known and not self._modern:
            return
        try:
            if not known:
                named = subtype if subtype is not None else "undefined"
                raise ReplyError(f"Unsupported control request subtype: {named}", "unsupported_request")
            answer = getattr(self, f"_{subtype}", None)
            if answer is not None:
                answer(frame, frame["request"])
            else:
                self.success(frame, payloads[subtype])
        except ReplyError as error:
            self.error(frame, **error.fields)

    def success(self, frame: Frame, payload: object = None, **beside: object) -> None:
        """Answer with a payload; None leaves the `response` key out, as programs do."""
        self._respond(frame, "success", {} if payload is None else {"response": payload}, beside)

    def error(self, frame: Frame, **fields: object) -> None:
        """Answer with an error; older programs give no `error_code`."""
        if not self._modern:
            fields.pop("error_code", None)
        self._respond(frame, "error", fields, {})

    def _respond(self, frame: Frame, subtype: str, fields: Frame, beside: Frame) -> None:
        named = {"request_id": frame["request_id"]} if "request_id" in frame else {}
        response = {"subtype": subtype, **named, **fields, **beside}
        self._program.say({"type": "control_response", "response": response})

    # -- initialize -----------------------------------------------------------------------------------------------

    def learn_hooks(self, hooks: object) -> None:
        """Remember the hooks of an initialize, whoever answers it: the first set on older programs, else the last."""
        if isinstance(hooks, dict) and _readable(hooks) and (self._modern or not self._initialized):
            self.hooks = dict(hooks)

    def _initialize(self, frame: Frame, request: Frame) -> None:
        program = self._program
        again = self._initialized or program.turns.count > 0
        self._initialized = True
        if again and not self._modern:
            raise ReplyError("Already initialized", pending_permission_requests=[])
        if not _readable(request.get("hooks")):
            if self._modern:
                raise ReplyError(_BAD_HOOKS)
            program.die_of_parameters()
            return
        payload = {**program.script["profile"]["initialize"]}
        if not self._modern:
            self.success(frame, {**payload, **program.script["initialize"]})
            return
        payload |= {"pid": os.getpid(), "claude_code_version": program.script["version"]}
        payload |= {"current_permission_mode": program.frames.mode}
        payload |= {"session_state": "running" if program.turns.current else "idle"}
        payload |= {"hooks_applied": True} if request.get("hooks") else {}
        asked = [
            {"type": "control_request", "request_id": request_id, "request": pending}
            for request_id, pending in program.asked.items()
            if pending.get("subtype") == "can_use_tool"
        ]
        beside = {"pending_permission_requests": asked, "pending_user_dialog_requests": []}
        self.success(frame, {**payload, **program.script["initialize"]}, **beside)

    # -- steering -------------------------------------------------------------------------------------------------

    def _interrupt(self, frame: Frame, request: Frame) -> None:
        """Cancel what is asked, answer, then abort the turn; what is queued stays, unless it is to go as well."""
        program = self._program
        dropped = program.turns.drop(lambda _: True) if self._modern and request.get("cancel_queued") else None
        cancelled = [key for key, asked in program.asked.items() if asked.get("subtype") in _CANCELLED]
        prompted = any(program.asked[key].get("subtype") == "can_use_tool" for key in cancelled)
        for request_id in cancelled:
            program.cancel(request_id)
        left = [prompt.uuid for prompt in program.turns.queue if prompt.uuid is not None]
        told = {"still_queued": left} if dropped is None else {"still_queued": left, "cancelled": dropped}
        self.success(frame, told if self._modern else None)
        program.say(*(program.frames.state("running") if prompted else []))
        program.turns.interrupt()

    def _set_permission_mode(self, frame: Frame, request: Frame) -> None:
        program, mode = self._program, request.get("mode")
        if not self._modern:
            program.frames.mode = str(mode)
            self.success(frame, {"mode": mode})
            self.success(frame)  # older programs answer twice
            return
        mode = "default" if mode == "manual" else mode
        if mode not in _MODES:
            raise ReplyError(_BAD_MODE, "invalid_mode")
        if mode == "bypassPermissions" and not program.launch.bypass_allowed:
            raise ReplyError(_NO_BYPASS, "bypass_not_launched")
        changed = mode != program.frames.mode
        program.frames.mode = mode
        self.success(frame, {"mode": mode})
        if changed:
            program.say(*program.frames.status(None, permissionMode=mode))

    def _set_model(self, frame: Frame, request: Frame) -> None:
        frames, profile, model = self._program.frames, self._program.script["profile"], request.get("model")
        if self._modern and model == "":
            raise ReplyError(_NO_MODEL, "catalog_unknown", model=frames.model)
        if self._modern and not isinstance(model, str | None):
            raise ReplyError("set_model: model must be a string", "invalid_request", model=frames.model)
        named = profile["model"] if model in (None, "default") else model
        frames.model = profile["aliases"].get(named, named)
        if self._modern and self._program.replay:
            told = f"<local-command-stdout>Set model to `{named} ({frames.model})`</local-command-stdout>"
            self._program.say(frames.user(told, isReplay=True))
        self.success(frame, {"model": frames.model} if self._modern else None)

    def _set_max_thinking_tokens(self, frame: Frame, request: Frame) -> None:
        display = request.get("thinking_display")
        wrong = not isinstance(request.get("max_thinking_tokens"), int | None)
        if self._modern and (wrong or display not in ("summarized", "omitted", "highlights", None)):
            raise ReplyError(_BAD_THINKING)
        self.success(frame)

    def _rewind_files(self, frame: Frame, request: Frame) -> None:
        """Note what would be rewound; 2.0.75 rewinds in a dry run too."""
        rules, uuid = self._program.script["profile"]["rewind"], request.get("user_message_id")
        dry = bool(request.get("dry_run")) and rules["dry_run"]
        if os.environ.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING") not in ("1", "true"):
            if dry and not self._modern:
                self.success(frame, {"canRewind": False, "error": rules["disabled"]})
                return
            raise ReplyError(rules["disabled"])
        if uuid not in self._program.turns.seen:
            raise ReplyError(rules["unknown"].replace("<id>", str(uuid)))
        if not dry:
            self._program.journal.note("rewound", uuid=uuid)
        self.success(frame, rules["diff" if dry else "done"])

    def _cancel_async_message(self, frame: Frame, request: Frame) -> None:
        uuid = request.get("message_uuid")

        def chosen(prompt: Prompt) -> bool:
            return uuid is not None and prompt.uuid == uuid

        cancelled = bool(self._program.turns.drop(chosen))
        self.success(frame, {"cancelled": True, "message_uuid": uuid} if cancelled else {"cancelled": False})

    # -- the conversation and its settings ------------------------------------------------------------------------

    def _rename_session(self, frame: Frame, request: Frame) -> None:
        title = request.get("title")
        if not isinstance(title, str) or not title:
            raise ReplyError("title must be non-empty")
        self.success(frame)
        self._program.say(self._program.frames.system("session_title_changed", title=title))

    def _side_question(self, frame: Frame, request: Frame) -> None:
        told = {"request_id": frame.get("request_id"), "status": "started"}
        self._program.say(self._program.frames.system("control_request_progress", **told))
        self.success(frame, self._program.script["profile"]["payloads"]["side_question"])

    def _background_tasks(self, frame: Frame, request: Frame) -> None:
        self.success(frame, {"backgrounded": False} if request.get("tool_use_id") else {})

    def _get_task_output(self, frame: Frame, request: Frame) -> None:
        raise ReplyError("get_task_output: no shell or Monitor task with that task_id in this session")

    def _list_models(self, frame: Frame, request: Frame) -> None:
        self.success(frame, {"models": self._program.script["profile"]["initialize"]["models"]})

    def _apply_flag_settings(self, frame: Frame, request: Frame) -> None:
        settings = request.get("settings")
        if not isinstance(settings, dict):
            raise ReplyError("apply_flag_settings requires `settings` to be an object")
        kept = {**self._settings, **settings}
        self._settings = {name: value for name, value in kept.items() if value is not None}
        self.success(frame)

    def _get_settings(self, frame: Frame, request: Frame) -> None:
        sources = [{"source": "flagSettings", "settings": self._settings}] if self._settings else []
        applied = {"model": self._program.frames.model, "effort": "medium"}
        self.success(frame, {"effective": self._settings, "sources": sources, "applied": applied})

    # -- files ----------------------------------------------------------------------------------------------------

    def _file_suggestions(self, frame: Frame, request: Frame) -> None:
        names = sorted(name for name in os.listdir() if str(request.get("query")) in name)
        self.success(frame, {"suggestions": [{"path": name} for name in names], "cwd": os.getcwd()})

    def _read_file(self, frame: Frame, request: Frame) -> None:
        path = str(request.get("path"))
        try:
            with open(path, encoding="utf-8") as file:
                contents = file.read()
        except (OSError, ValueError):
            raise ReplyError(f"read denied: {path}") from None
        told = {"absPath": os.path.abspath(path), "lossy": False, "requested_path": path}
        self.success(frame, {"contents": contents, **told})

    def _register_repo_root(self, frame: Frame, request: Frame) -> None:
        self.success(frame, {"directory": request.get("directory")})

    def _set_cwd(self, frame: Frame, request: Frame) -> None:
        path = str(request.get("path"))
        if os.path.isdir(path):
            self.success(frame, {"status": "ok", "cwd": path, "changed": False, "transcript_relocated": True})
        else:
            told = f"Couldn't find a directory at {path}."
            self.success(frame, {"status": "rejected", "reason": "not_found", "message": told})

    def _end_session(self, frame: Frame, request: Frame) -> None:
        self.success(frame)
        self._program.turns.interrupt()
        self._program.end_input()

    # -- MCP ------------------------------------------------------------------------------------------------------

    def _mcp_status(self, frame: Frame, request: Frame) -> None:
        known = [
            {"name": name, "status": "disabled" if name in self._disabled else "connected"} for name in self._servers
        ]
        self.success(frame, {"mcpServers": known})

    def _mcp_reconnect(self, frame: Frame, request: Frame) -> None:
        self._known_server(request)
        self.success(frame)

    def _mcp_toggle(self, frame: Frame, request: Frame) -> None:
        name = self._known_server(request)
        (self._disabled.discard if request.get("enabled") else self._disabled.add)(name)
        self.success(frame)

    def _mcp_call(self, frame: Frame, request: Frame) -> None:
        server = str(request.get("tool")).removeprefix("mcp__").partition("__")[0]
        raise ReplyError(f"MCP server not connected: {server}")

    def _mcp_read_resource(self, frame: Frame, request: Frame) -> None:
        name = self._known_server(request)
        raise ReplyError(f"MCP server {name} has no resource {request.get('uri')}")

    def _known_server(self, request: Frame) -> str:
        name = str(request.get("serverName"))
        if name not in self._servers:
            raise ReplyError(f"Server not found: {name}")
        return name

    def _mcp_message(self, frame: Frame, request: Frame) -> None:
        self.success(frame)

    def _mcp_set_servers(self, frame: Frame, request: Frame) -> None:
        servers = request.get("servers")
        if not isinstance(servers, dict):
            if self._modern:
                raise ReplyError("mcp_set_servers: servers must be an object of config objects")
            self._program.die_of_parameters()
            return
        added = [name for name in servers if name not in self._servers]
        removed = [name for name in self._servers if name not in servers]
        self._servers = servers
        self.success(frame, {"added": added, "removed": removed, "errors": {}})


def _readable(hooks: object) -> bool:
    """Tell whether a program can read the hooks of an initialize."""
    if hooks is None:
        return True
    if not isinstance(hooks, dict):
        return False
    return all(
        isinstance(matchers, list)
        and all(isinstance(matcher, dict) and isinstance(matcher.get("hookCallbackIds"), list) for matcher in matchers)
        for matchers in hooks.values()
    )
