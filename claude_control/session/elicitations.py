"""Passes what MCP servers ask to `on_elicitation`, and the dialogs of the program to `on_user_dialog`."""

from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.options import Options
from claude_control.options.callbacks import dialog_kinds
from claude_control.session.answers import OpenRequest
from claude_control.session.asking import Asker
from claude_control.session.running import Runner
from claude_control.wire.dialogs import DISMISSED, answer_dialog
from claude_control.wire.elicitation import CANCELLED, answer_elicitation
from claude_control.wire.inbound import Elicitation, UserDialog

__all__ = ["Dialogs", "Elicitations"]

_log = log.get(__name__)


class Elicitations:
    """Answers every `elicitation` request of one session; without a callback it cancels, and never declines."""

    def __init__(self, runner: Runner, options: Options, session: Callable[[], Any]) -> None:
        self._asker = Asker(
            runner,
            "on_elicitation",
            options.on_elicitation,
            session,
            unanswered=CANCELLED,
            read=answer_elicitation,
        )

    def start(self, asked: Elicitation) -> OpenRequest | None:
        """Begin to answer a request; returns what is to run on the pool, if anything. Called by the reader."""
        return self._asker.start(asked.request_id, asked.request)


class Dialogs:
    """Answers the `request_user_dialog` requests of the kinds that the session declared, and no others."""

    def __init__(self, runner: Runner, options: Options, session: Callable[[], Any]) -> None:
        self._kinds = frozenset(dialog_kinds(options))
        self._asker = Asker(
            runner,
            "on_user_dialog",
            options.on_user_dialog,
            session,
            unanswered=DISMISSED,
            read=lambda answer, _request: answer_dialog(answer),
        )

    def start(self, asked: UserDialog) -> OpenRequest | None:
        """Begin to answer a request; returns what is to run on the pool, if anything. Called by the reader.

        A kind that was not declared stays open: the program drops an error, takes "cancelled" for a person's word, and
        has a deadline of its own, or another client that can show it.
        """
        if asked.request.kind not in self._kinds:
            _log.warning("dialog.undeclared", kind=asked.request.kind)
            return None
        return self._asker.start(asked.request_id, asked.request)
