"""The control methods of a session: one blocking method for each request that users steer by.

Annotations are texts here, so that a record is built when its method is called first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from claude_control.unset import UNSET, Unset
from claude_control.wire import requests

__all__ = ["Control"]

T = TypeVar("T")
Timeout = float | Unset | None


class Control:
    """What a session can be asked and told; `Session` says how a request is sent.

    `timeout` is in seconds: not given, the session's `control_timeout`; None, for ever. What each method raises is said
    at `Session`; arguments are checked before anything is sent (`OptionsError`). What needs 2.1.332 raises
    `NotSupportedError` on older programs. All other requests are sent as records of `claude_control.requests` by
    `Session.request()`.
    """

    def _call(self, request: requests.Request[T], timeout: Timeout) -> T:
        """Send a request and wait for its reply."""
        raise NotImplementedError

    def _replacing(self, servers: Mapping[str, Any]) -> AbstractContextManager[Mapping[str, Any]]:
        """Connect tool servers in this process, and give the complete set that the program is to get."""
        raise NotImplementedError

    @property
    def server_info(self) -> requests.InitializeReply:
        """What the program said of itself at the start: commands, models, agents, account."""
        raise NotImplementedError

    def get_server_info(self) -> requests.InitializeReply:
        """Return `server_info`; nothing is sent."""
        return self.server_info

    def reinitialize(self, *, timeout: Timeout = UNSET) -> requests.InitializeReply:
        """Ask the program anew what it says of itself; hooks, agents and prompts stay as they are (2.1.332).

        Permission requests that it still waits for and that got lost on the way here go to the permission callback;
        those that are open here, or just answered, do not go there again.
        """
        return self._call(requests.Initialize(), timeout)

    # -- how it works --------------------------------------------------------------------------------------------------

    def set_permission_mode(self, mode: str, *, timeout: Timeout = UNSET) -> requests.SetPermissionModeReply:
        """Change how tools are permitted, at once.

        "default", "acceptEdits", "plan", "dontAsk", or with `allow_bypass` "bypassPermissions" (2.1.332: "auto",
        "manual" too).
        """
        return self._call(requests.SetPermissionMode(mode), timeout)

    def set_model(self, model: str | None = None, *, timeout: Timeout = UNSET) -> requests.SetModelReply:
        """Change the model from the next API request on; None means the program's default.

        The reply says what a name was resolved to (2.1.332). An unknown name fails the next turn only.
        """
        return self._call(requests.SetModel(model), timeout)

    def set_max_thinking_tokens(
        self,
        max_thinking_tokens: int | Unset | None = UNSET,
        *,
        thinking_display: str | Unset | None = UNSET,
        timeout: Timeout = UNSET,
    ) -> requests.EmptyReply:
        """Limit the tokens spent on thinking from the next turn on; 0 turns it off.

        None goes back to the session's own setting (2.1.332) or turns it off (older programs). `thinking_display` is
        "summarized", "omitted" or None, the program's own choice (2.1.332).
        """
        return self._call(requests.SetMaxThinkingTokens(max_thinking_tokens, thinking_display), timeout)

    def list_models(self, *, timeout: Timeout = UNSET) -> requests.ListModelsReply:
        """Return the models that `set_model()` takes (2.1.332); `server_info.models` has those of the start."""
        return self._call(requests.ListModels(), timeout)

    def apply_flag_settings(self, settings: Mapping[str, Any], *, timeout: Timeout = UNSET) -> requests.EmptyReply:
        """Change settings of this session alone, at once: `{"permissions": {"allow": ["Bash(git log:*)"]}}` (2.1.332).

        Each key at the top replaces what an earlier call gave it; None takes it away. Unknown keys are taken without a
        word.
        """
        return self._call(requests.ApplyFlagSettings(settings), timeout)

    def get_settings(self, *, timeout: Timeout = UNSET) -> requests.GetSettingsReply:
        """Return the settings in force, and where they come from (2.1.332)."""
        return self._call(requests.GetSettings(), timeout)

    def update_settings(
        self, source: str, settings: Mapping[str, Any], *, timeout: Timeout = UNSET
    ) -> requests.EmptyReply:
        """Write settings into a file (2.1.332).

        `outputStyle` into "localSettings", or `effortLevel` into "userSettings"; the program takes no other keys.
        """
        return self._call(requests.UpdateSettings(source, settings), timeout)

    def list_permission_rules(self, *, timeout: Timeout = UNSET) -> requests.ListPermissionRulesReply:
        """Return the permission rules that are in force, those given in this session included (2.1.332)."""
        return self._call(requests.ListPermissionRules(), timeout)

    # -- the conversation ----------------------------------------------------------------------------------------------

    def cancel_async_message(self, message_uuid: str, *, timeout: Timeout = UNSET) -> requests.CancelAsyncMessageReply:
        """Drop a prompt of `send()`, by the uuid that it returned, if the program has not begun it (2.1.332)."""
        return self._call(requests.CancelAsyncMessage(message_uuid), timeout)

    def rename_session(self, title: str, *, timeout: Timeout = UNSET) -> requests.EmptyReply:
        """Give the session a title (2.1.332)."""
        return self._call(requests.RenameSession(title, source="host"), timeout)

    def rewind_files(
        self, user_message_id: str, *, dry_run: bool = False, timeout: Timeout = UNSET
    ) -> requests.RewindFilesReply:
        """Put files back to how they were before the prompt `user_message_id` (`turn.uuid`).

        Files made since are deleted. Needs `enable_file_checkpointing`. `dry_run` only tells what would change (2.1.7
        or newer).
        """
        return self._call(requests.RewindFiles(user_message_id, dry_run), timeout)

    def get_context_usage(
        self, *, detail: str | None = None, timeout: Timeout = UNSET
    ) -> requests.GetContextUsageReply:
        """Return how full the context window is (2.1.332).

        `detail` "full", the program's default, counts with the API (about 1 s); "summary" estimates (10 ms).
        """
        return self._call(requests.GetContextUsage(detail), timeout)

    def get_session_cost(self, *, timeout: Timeout = UNSET) -> requests.GetSessionCostReply:
        """Return the cost so far as a text for people (2.1.332)."""
        return self._call(requests.GetSessionCost(), timeout)

    def get_usage(self, *, skip_behaviors: bool = False, timeout: Timeout = UNSET) -> requests.GetUsageReply:
        """Return what the session used, and of the plan's limits what is left (2.1.332).

        `skip_behaviors` spares a reading of the transcripts of the last seven days.
        """
        return self._call(requests.GetUsage(skip_behaviors), timeout)

    # -- background tasks ----------------------------------------------------------------------------------------------

    def stop_task(self, task_id: str, *, timeout: Timeout = UNSET) -> requests.EmptyReply:
        """End a background task (2.1.332); one that is unknown or over is no error."""
        return self._call(requests.StopTask(task_id), timeout)

    def background_tasks(
        self, tool_use_id: str | None = None, *, timeout: Timeout = UNSET
    ) -> requests.BackgroundTasksReply:
        """Move what runs in the foreground to the background, so that the turn goes on (2.1.332).

        With `tool_use_id` only the shell or subagent that this tool call started.
        """
        return self._call(requests.BackgroundTasks(tool_use_id), timeout)

    def get_task_output(self, task_id: str, *, timeout: Timeout = UNSET) -> requests.GetTaskOutputReply:
        """Return the last 8 KiB that a shell task wrote, while it runs or after it (2.1.332)."""
        return self._call(requests.GetTaskOutput(task_id), timeout)

    # -- MCP servers, plugins, skills ----------------------------------------------------------------------------------

    def get_mcp_status(self, *, timeout: Timeout = UNSET) -> requests.MCPStatusReply:
        """Return how the session's MCP servers are."""
        return self._call(requests.MCPStatus(), timeout)

    def set_mcp_servers(self, servers: Mapping[str, Any], *, timeout: Timeout = UNSET) -> requests.MCPSetServersReply:
        """Replace the servers that an earlier call set; those of the options and of settings files stay.

        `servers` maps names to configurations and tool servers, as in `Options.mcp_servers`. The reply names what
        failed, and why. Raises `ConcurrencyError` while another thread's call runs.
        """
        with self._replacing(servers) as complete:
            return self._call(requests.MCPSetServers(complete), timeout)

    def reconnect_mcp_server(self, server_name: str, *, timeout: Timeout = UNSET) -> requests.EmptyReply:
        """Connect a server anew, and wait for it (2.1.332)."""
        return self._call(requests.MCPReconnect(server_name), timeout)

    def toggle_mcp_server(self, server_name: str, enabled: bool, *, timeout: Timeout = UNSET) -> requests.EmptyReply:
        """Switch a server off, with its tools, or on again (2.1.332)."""
        return self._call(requests.MCPToggle(server_name, enabled), timeout)

    def call_mcp_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        soft_error_result: bool = False,
        check_permissions: bool = False,
        timeout: Timeout = UNSET,
    ) -> requests.MCPCallReply:
        """Call a tool of a server, "mcp__server__tool", without the model (2.1.332).

        Nobody is asked for permission, unless `check_permissions` wants the rules, hooks and the permission callback to
        decide. A tool that fails is a `ControlRequestError`, or with `soft_error_result` a reply with `is_error`.
        """
        request = requests.MCPCall(
            tool, arguments or {}, soft_error_result=soft_error_result, check_permissions=check_permissions
        )
        return self._call(request, timeout)

    def reload_plugins(
        self, *, refuse_if_busy: bool = False, hold_on_cache_impact: bool = False, timeout: Timeout = UNSET
    ) -> requests.ReloadPluginsReply:
        """Read the plugins anew, and return what the session then has (2.1.332).

        `refuse_if_busy` makes it a `ControlRequestError` while anything runs; `hold_on_cache_impact` puts it off where
        it would change the list of tools, and the reply then says what.
        """
        return self._call(requests.ReloadPlugins(hold_on_cache_impact, refuse_if_busy), timeout)

    def reload_skills(self, *, timeout: Timeout = UNSET) -> requests.ReloadSkillsReply:
        """Read the skills anew, and return them (2.1.332)."""
        return self._call(requests.ReloadSkills(), timeout)
