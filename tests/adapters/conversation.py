"""One conversation for every framework: list the files, run the tests, be refused, call wrongly, start a server, read
what it says, end it, see that nothing runs.

A framework's fake model asks `next_call` what to do after what it was told so far. What it was told must come out the
same through each, but for what differs from run to run (`plain`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre import ToolContext

FILES = {
    "README.md": "# A project\n",
    "run-tests": "#!/bin/sh\necho 'test_addition passed'\necho 'test_division failed: division by zero'\nexit 1\n",
    "server": "#!/bin/sh\necho 'listening on port 8000'\nexec sleep 600\n",
}


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]


def project(directory: Path) -> ToolContext:
    """The project that the conversation is about, and the context to work in it."""
    work = directory / "project"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
        (work / name).chmod(0o755)
    return ToolContext(working_dir=work, output_dir=directory / "state")


def next_call(said: Sequence[str]) -> Call | None:
    """What the model does after these answers; None: it has done all of it."""
    match len(said):
        case 0:
            return Call("Bash", {"command": "ls"})
        case 1:
            return Call("Bash", {"command": "./run-tests", "description": "Run the tests"})
        case 2:
            return Call("Bash", {"command": "git push --force"})
        case 3:
            return Call("Bash", {"command": "ls", "timeout": 30})
        case 4:
            return Call("Bash", {"command": "./server", "mode": "background"})
        case 5:
            return Call("TaskOutput", {"task_id": task_in(said[4]), "timeout": 1})
        case 6:
            return Call("KillShell", {"shell_id": task_in(said[4])})
        case 7:
            return Call("TaskList", {})
        case _:
            return None


TEXTS = [
    "README.md\nrun-tests\nserver",
    "[nacre: exit 1]\ntest_addition passed\ntest_division failed: division by zero",
    (
        "[nacre: not run, refused by git-push-force: `git push --force` overwrites the remote branch: commits that "
        "others pushed there would be lost. Instead: `git push --force-with-lease`, which stops if the remote has "
        "moved]"
    ),
    "Error (unknown_argument): There is no argument 'timeout'. Did you mean `timeout_seconds`?",
    (
        "[nacre: it runs as task bash-ID; what it prints is in STATE/bash-ID/output.log; TaskOutput reads it and waits "
        "for it, KillShell ends it]"
    ),
    (
        "[nacre: bash-ID running for N s, last output N s ago]\nlistening on port 8000\n"
        "[nacre: cursor 23: pass since=23 for what comes after this]"
    ),
    "[nacre: bash-ID killed by process N of user N after N s]",
    "No task is running. Pass all=true for those that have ended.",
]
"""What the model is told, as `plain` has it."""

COMMANDS = ["ls", "./run-tests", "git push --force", "./server & echo started"]
"""The same for a model that has nothing but a shell."""


def task_in(text: str) -> str:
    found = re.search(r"bash-[0-9a-f]{8}", text)
    assert found is not None, text
    return found[0]


def plain(said: Sequence[str], ctx: ToolContext) -> list[str]:
    """Without the task's id, its place, who ended it, and how long things took."""
    found = []
    for text in said:
        text = text.replace(str(ctx.output_dir), "STATE")
        text = re.sub(r"bash-[0-9a-f]{8}", "bash-ID", text)
        text = re.sub(r"process \d+ of user \d+", "process N of user N", text)
        found.append(re.sub(r"\d+(\.\d+)? s\b", "N s", text).strip())
    return found
