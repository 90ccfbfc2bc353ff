"""Requests about files and directories, with checkpoints of files switched on."""

import json
from pathlib import Path
from types import MappingProxyType

from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from claude_control.wire import requests
from tests.real.conformance.lab import Lab, text_of
from tests.real.conformance.probes import Topic

TOPIC = Topic("files", MappingProxyType({"enable_file_checkpointing": True}))
PLACES = Topic("places")
NO_UUID = "00000000-0000-4000-8000-000000000000"


def _change(lab: Lab, made: str) -> str:
    """Let a turn make one file and edit another; returns the prompt's uuid."""
    path = lab.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    steps = (
        ToolCall("Read", file_path=str(path)),
        ToolCall("Edit", file_path=str(path), old_string="two", new_string="three"),
        ToolCall("Write", file_path=str(lab.workspace / made), content="new\n"),
    )
    turn = lab.session.ask(script(*steps, Text("done")))
    turn.result()
    assert _files(lab, made) == ("one\nthree\n", True)
    return turn.uuid


def _files(lab: Lab, made: str) -> tuple[str, bool]:
    return (lab.workspace / "a.txt").read_text(), (lab.workspace / made).exists()


@TOPIC.works(requests.RewindFiles(NO_UUID, dry_run=True), "dry_run")
def rewind_files_dry_run(lab: Lab) -> object:
    """It tells which files would change, and nothing changes."""
    uuid = _change(lab, "dry")
    reply = lab.session.request(requests.RewindFiles(uuid, dry_run=True))
    if _files(lab, "dry") == ("one\ntwo\n", False):
        return "ignored: it really rewinds"
    changed = {path.rpartition("/")[2] for path in reply.files_changed}
    return _files(lab, "dry") == ("one\nthree\n", True) and changed == {"a.txt", "dry"}


@TOPIC.works(requests.RewindFiles(NO_UUID))
def rewind_files(lab: Lab) -> object:
    """An edited file is as it was before the prompt, and one made since is gone."""
    uuid = _change(lab, "made")
    lab.session.request(requests.RewindFiles(uuid))
    return _files(lab, "made") == ("one\ntwo\n", False)


@TOPIC.answers(requests.GetWorkspaceDiff())
def get_workspace_diff(lab: Lab) -> object:
    """An edit that is not committed is counted, line by line."""
    (lab.workspace / "a.txt").write_text("one\nthree\n")
    diff = lab.session.request(requests.GetWorkspaceDiff()).diff
    assert diff is not None
    found = {file.path: (file.added, file.removed) for file in diff.per_file_stats}
    return found.get("a.txt") == (1, 1) and [file.path for file in diff.hunks] == ["a.txt"]


@TOPIC.answers(requests.ReadFile("a.txt"))
def read_file(lab: Lab) -> object:
    """The contents of a file are those on disk."""
    (lab.workspace / "a.txt").write_text("one\ntwo\n")
    reply = lab.session.request(requests.ReadFile("a.txt"))
    return reply.contents == "one\ntwo\n" and not reply.truncated


@TOPIC.answers(requests.ReadFile("a.txt", max_bytes=3), "max_bytes")
def read_file_part(lab: Lab) -> object:
    """No more than that is read, and the answer says so."""
    reply = lab.session.request(requests.ReadFile("a.txt", max_bytes=3))
    return reply.contents == "one" and reply.truncated


@TOPIC.answers(requests.ReadFile("a.txt", encoding="base64"), "encoding")
def read_file_encoded(lab: Lab) -> object:
    """The contents come in base 64."""
    reply = lab.session.request(requests.ReadFile("a.txt", encoding="base64"))
    return reply.contents == "b25lCnR3bwo=" and reply.encoding == "base64"


@TOPIC.answers(requests.FileSuggestions(""))
def file_suggestions(lab: Lab) -> object:
    """A file of the working directory is suggested."""
    reply = lab.session.request(requests.FileSuggestions(""))
    return "a.txt" in {suggestion["path"] for suggestion in reply.suggestions}


@TOPIC.answers(requests.SeedReadState("a.txt", 0))
def seed_read_state(lab: Lab) -> object:
    """The answer has nothing in it; edits pass with it and without."""
    path = lab.workspace / "a.txt"
    return not lab.session.request(requests.SeedReadState(str(path), int(path.stat().st_mtime * 1000))).raw


@PLACES.works(requests.SetCwd("sub"))
def set_cwd(lab: Lab) -> object:
    """The next command of the model runs in that directory, which is trusted; one that is not there is rejected."""
    sub = lab.workspace / "sub"
    sub.mkdir()
    _trust(lab.home, lab.workspace)
    assert lab.session.request(requests.SetCwd(str(lab.workspace / "nowhere"))).status == "rejected"
    assert lab.session.request(requests.SetCwd(str(lab.home))).status == "needs_trust"
    reply = lab.session.request(requests.SetCwd(str(sub)))
    lab.ask(ToolCall("Bash", command="touch here", description="make a file"), Text("done"))
    lab.session.request(requests.SetCwd(str(lab.workspace)))
    return reply.status == "ok" and (sub / "here").exists()


def _trust(home: Path, directory: Path) -> None:
    """Note in the configuration that the user trusts a directory, as the program's own question would."""
    (home / ".claude").mkdir(exist_ok=True)
    projects = {str(directory): {"hasTrustDialogAccepted": True}}
    (home / ".claude" / ".claude.json").write_text(json.dumps({"projects": projects}))


@PLACES.works(requests.RegisterRepoRoot("sub"))
def register_repo_root(lab: Lab) -> object:
    """The directory is among those that may be worked in."""
    root = lab.workspace / "root"
    root.mkdir()
    lab.session.request(requests.RegisterRepoRoot(str(root)))
    state = lab.session.request(requests.ListPermissionRules()).state
    assert state is not None
    return str(root) in {directory["path"] for directory in state.workspace_directories}


@PLACES.works(requests.RegisterRepoRoot("sub", reload_claude_md=True), "reload_claude_md")
def register_with_memory(lab: Lab) -> object:
    """The model is told what the directory's CLAUDE.md says."""
    root = lab.workspace / "remembers"
    root.mkdir()
    (root / "CLAUDE.md").write_text("CANARY-MEMORY\n")
    before = "CANARY-MEMORY" in text_of(lab.ask())
    lab.session.request(requests.RegisterRepoRoot(str(root), reload_claude_md=True))
    return not before and "CANARY-MEMORY" in text_of(lab.ask())
