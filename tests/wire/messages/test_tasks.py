"""Messages about background work."""

from typing import Any

import pytest

from claude_control.wire.messages import (
    TERMINAL_TASK_STATUSES,
    BackgroundTasksMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    decode,
)


def system(subtype: str, **fields: Any) -> Any:
    """Return a decoded system message."""
    return decode({"type": "system", "subtype": subtype, **fields})


@pytest.mark.parametrize(
    ("patch", "status"), [({"status": "killed"}, "killed"), ({"end_time": 5}, None), ({"status": 5}, None)]
)
def test_status_of_an_update_is_that_of_its_patch(patch: dict[str, Any], status: str | None) -> None:
    """An update says its status if the patch has one."""
    message = system("task_updated", task_id="t", patch=patch)
    assert isinstance(message, TaskUpdatedMessage)
    assert (message.status, message.patch) == (status, patch)


def test_update_without_a_patch_changes_nothing() -> None:
    """A malformed update has an empty patch and no status."""
    message = system("task_updated", task_id="t", patch="killed")
    assert (message.patch, message.status) == ({}, None)


def test_both_vocabularies_end_a_task() -> None:
    """A task is over when a notification says stopped, and when an update says killed."""
    assert {"stopped", "killed", "completed", "failed"} <= TERMINAL_TASK_STATUSES
    assert "running" not in TERMINAL_TASK_STATUSES


def test_positions_are_the_official_ones() -> None:
    """Task messages are constructed by position as the official SDK's are."""
    started = TaskStartedMessage("task_started", {}, "t", "d", "u", "s", "call", "local_bash")
    assert (started.task_id, started.session_id, started.task_type) == ("t", "s", "local_bash")
    ended = TaskNotificationMessage("task_notification", {}, "t", "failed", "/out", "sum", "u", "s")
    assert (ended.status, ended.output_file, ended.summary, ended.uuid) == ("failed", "/out", "sum", "u")


def test_running_tasks_are_objects() -> None:
    """The list of running tasks has objects only, or is empty."""
    assert system("background_tasks_changed", tasks=[{"task_id": "t"}]).tasks == [{"task_id": "t"}]
    assert system("background_tasks_changed", tasks=["t"]) == BackgroundTasksMessage(
        "background_tasks_changed",
        {"type": "system", "subtype": "background_tasks_changed", "tasks": ["t"]},
        raw={"type": "system", "subtype": "background_tasks_changed", "tasks": ["t"]},
    )
