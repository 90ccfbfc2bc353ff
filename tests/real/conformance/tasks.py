"""Requests about background tasks."""

from pathlib import Path

from claude_control.testing.model_script import Text, ToolCall
from claude_control.wire import requests
from claude_control.wire.messages import TaskNotificationMessage, TaskStartedMessage
from tests.real.conformance.lab import PATIENCE, Lab
from tests.real.conformance.probes import Topic
from tests.waiting import wait_until

TOPIC = Topic("tasks")


def _background(lab: Lab, command: str) -> TaskStartedMessage:
    """Let the model start a command in the background."""
    since = len(lab.messages)
    lab.ask(ToolCall("Bash", command=command, description="go on", run_in_background=True), Text("begun"))
    started: TaskStartedMessage = lab.wait_for_message(TaskStartedMessage, since)
    return started


@TOPIC.answers(requests.GetTaskOutput("none"))
def get_task_output(lab: Lab) -> object:
    """What a command in the background has written so far comes back."""
    task = _background(lab, "echo a line; touch wrote; tail -f /dev/null")
    wait_until((lab.workspace / "wrote").exists, PATIENCE)
    reply = lab.session.request(requests.GetTaskOutput(task.task_id))
    lab.session.request(requests.StopTask(task.task_id))
    return reply.output.strip() == "a line"


@TOPIC.works(requests.StopTask("none"))
def stop_task(lab: Lab) -> object:
    """The process of a command in the background ends, and a message tells that it was stopped."""
    path = lab.workspace / "process"
    task, since = _background(lab, f"echo $$ > {path.name}; tail -f /dev/null"), len(lab.messages)
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"), PATIENCE)
    process = Path("/proc", path.read_text().strip())
    assert process.exists()
    lab.session.request(requests.StopTask(task.task_id))
    wait_until(lambda: not process.exists(), PATIENCE)
    return lab.wait_for_message(TaskNotificationMessage, since, task_id=task.task_id).status == "stopped"


@TOPIC.works(requests.BackgroundTasks())
def background_tasks(lab: Lab) -> object:
    """A command that holds the turn up goes on in the background, and the turn ends."""
    since = len(lab.messages)
    # The program counts a command as a task once it has run for some 3 s.
    turn = lab.start(ToolCall("Bash", command="touch held; tail -f /dev/null", description="hold"), Text("done"))
    task = lab.wait_for_message(TaskStartedMessage, since)
    assert turn.state == "running"
    reply = lab.session.request(requests.BackgroundTasks(task.tool_use_id))
    turn.result(PATIENCE)
    lab.session.request(requests.StopTask(task.task_id))
    return reply.backgrounded
