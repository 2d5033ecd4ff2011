"""One conversation for every framework: list the files, run the tests, be refused, call wrongly, start a server, read
what it says, end it, see that nothing runs.

A framework's fake model asks `next_call` what to do after what it was told so far. What it was told must come out the
same through each, word for word, but for what differs from run to run (`plain`). The same for a model that has only a
shell (`COMMANDS`, `STREAMS`), and for odd calls (`ODD`), which are answered as they are without any framework.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre import ToolContext
from nacre.adapters.shared.streams import CommandStreams
from nacre.adapters.shared.toolbox import Toolbox
from nacre.observe.events import Observed, RunEnded

FILES = {
    "README.md": "# A project\n",
    "run-tests": "#!/bin/sh\necho 'test_addition passed'\necho 'test_division failed: division by zero'\nexit 1\n",
    "server": "#!/bin/sh\necho 'listening on port 8000'\nexec sleep 600\n",
}
SECRET = "hunter2-hunter2"


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
    return ToolContext(working_dir=work, output_dir=directory / "state", secrets=(SECRET,))


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

ERRORS = ["", "", "", "unknown_argument", "", "", "", ""]
"""The code of each answer that says that the call cannot be meant: where a framework marks those, exactly these."""

OUTCOMES = [("exited", 0), ("exited", 1), ("refused", None), None, ("running", None), None, None, None]
"""Kind and exit code of each run, for frameworks that have a place for data."""

ASKED = 4
"""Runs of which log and audit trail say who asked; a refused one is one of them."""

COMMANDS = ["ls", "./run-tests", "git push --force", "./server >served.log & echo started"]
"""The same for a model that has nothing but a shell."""

STREAMS = [
    CommandStreams("README.md\nrun-tests\nserver\n", "", 0),
    CommandStreams("test_addition passed\ntest_division failed: division by zero\n", "", 1),
    CommandStreams("", f"{TEXTS[2]}\n", 126),
    CommandStreams(
        "started\n",
        "[nacre: 1 process left running: N (it).]\n"
        "[nacre: It goes on as task bash-ID; what it prints is in STATE/bash-ID/output.log.]\n",
        0,
    ),
]
"""What comes back for each of them."""

SERVED = (
    "started\n[nacre: 1 process left running: N (it).]\n[nacre: what it left running is task bash-ID, which prints to "
    "STATE/bash-ID/output.log; TaskOutput reads it and waits for it, KillShell ends it]"
)
"""The last of them as a text."""

ODD = [
    Call("Bash", {}),
    Call("Bash", {"command": 7}),
    Call("Bash", {"command": " "}),
    Call("Bash", {"command": "ls", "timeout_seconds": "soon"}),
    Call("TaskOutput", {"task_id": "bash-00000000"}),
    Call("KillShell", {"shell_id": "../state"}),
    Call("Bash", {"command": "printf 'a\\377b\\n'"}),
    Call("Bash", {"command": "seq 1 400000"}),
    Call("Bash", {"command": "seq 1 40000 | base64 -w 100"}),
    Call("Bash", {"command": f"exec 2>&1; echo {SECRET}; cat nowhere/{SECRET}"}),  # two streams have no order
    Call("Bash", {"command": "kill -SEGV $$"}),
    Call("Bash", {"command": "echo still here"}),
]
"""Calls that cannot be meant, output that is no text, too much or secret, and one after all that."""

ODD_ERRORS = [
    "missing_argument",
    "bad_command",
    "empty_command",
    "bad_timeout_seconds",
    "no_such_task",
    "no_such_task",
    *[""] * 6,
]


async def without_framework(calls: Sequence[Call], ctx: ToolContext) -> list[str]:
    """What these are answered with, as `plain` has it."""
    box = Toolbox(ctx=ctx)
    return plain([(await box.call(call.name, call.arguments)).text for call in calls], ctx)


def task_in(text: str) -> str:
    found = re.search(r"bash-[0-9a-f]{8}", text)
    assert found is not None, text
    return found[0]


def plain(said: Sequence[str], ctx: ToolContext) -> list[str]:
    """Without the task's id (another one than the first is another one here, too), its place, who ended it, and how
    long things took."""
    ids: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        return ids.setdefault(match[0], f"bash-ID{len(ids) or ''}")

    found = []
    for text in said:
        text = text.replace(str(ctx.output_dir), "STATE")
        text = re.sub(r"bash-(?!0{8})[0-9a-f]{8}", named, text)
        text = re.sub(r"process \d+ of user \d+", "process N of user N", text)
        text = re.sub(r"left running: \d+ \([^)]*\)", "left running: N (it)", text)  # before or after its `exec`
        found.append(re.sub(r"\d+(\.\d+)? s\b", "N s", text))
    return found


def plain_streams(found: Sequence[CommandStreams], ctx: ToolContext) -> list[CommandStreams]:
    """The same of what a shell gave back."""
    texts = iter(plain([text for each in found for text in (each.stdout, each.stderr)], ctx))
    return [CommandStreams(next(texts), next(texts), each.code) for each in found]


def outcome_in(data: Mapping[str, Any]) -> tuple[str, int | None] | None:
    """Of an answer as data; None: it is none of a run."""
    return (data["outcome"]["kind"], data["exit_code"]) if "outcome" in data else None


@dataclass
class CallerObserver:
    """An observer: who asked, of every run that is over."""

    callers: list[str] = field(default_factory=list)

    def __call__(self, event: Observed) -> None:
        if isinstance(event, RunEnded):
            self.callers.append(event.began.caller)
