"""A conversation that every framework holds: list the files, run the tests, be refused, call wrongly, start a server,
read its output, kill it, see that nothing runs.

A framework's fake model asks `next_call` for its next step, given the answers so far. The answers must be the same
through each framework, word for word, after `normalize_answers`. There is a second conversation for models that have
only a shell (`COMMANDS`, `STREAMS`), and one of odd calls (`ODD`), which are compared with the answers that they get
without any framework.
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
    """Create the project of the conversation; return a context to work in it."""
    work = directory / "project"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
        (work / name).chmod(0o755)
    return ToolContext(working_dir=work, output_dir=directory / "state", secrets=(SECRET,))


def next_call(said: Sequence[str]) -> Call | None:
    """Return the model's next call after these answers; None when it has made all of them."""
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
    "Error (unknown_argument): Unknown argument: 'timeout'. Did you mean `timeout_seconds`?",
    (
        "[nacre: it runs as task bash-ID; its output is in STATE/bash-ID/output.log; TaskOutput reads it and waits "
        "for it, KillShell ends it]"
    ),
    (
        "[nacre: bash-ID running for N s, last output N s ago]\nlistening on port 8000\n"
        "[nacre: cursor 23: pass since=23 for later output]"
    ),
    "[nacre: bash-ID killed by process N of user N after N s]",
    "No task is running. Pass all=true for those that have ended.",
]
"""The answers that the model gets, normalized by `normalize_answers`."""

ERRORS = ["", "", "", "unknown_argument", "", "", "", ""]
"""Error code of each answer that reports an invalid call. Frameworks that mark errors mark exactly these."""

OUTCOMES = [("exited", 0), ("exited", 1), ("refused", None), None, ("running", None), None, None, None]
"""Kind and exit code of each run, for frameworks that can carry data."""

ASKED = 4
"""Number of runs whose caller is in the log and the audit trail, including a refused one."""

COMMANDS = ["ls", "./run-tests", "git push --force", "./server >served.log & echo started"]
"""The conversation of a model that has only a shell."""

STREAMS = [
    CommandStreams("README.md\nrun-tests\nserver\n", "", 0),
    CommandStreams("test_addition passed\ntest_division failed: division by zero\n", "", 1),
    CommandStreams("", f"{TEXTS[2]}\n", 126),
    CommandStreams(
        "started\n",
        "[nacre: 1 process left running: N (it).]\n"
        "[nacre: It keeps running as task bash-ID; its output is in STATE/bash-ID/output.log.]\n",
        0,
    ),
]
"""Output of each of those commands."""

SERVED = (
    "started\n[nacre: 1 process left running: N (it).]\n[nacre: what it left running is task bash-ID, which prints to "
    "STATE/bash-ID/output.log; TaskOutput reads it and waits for it, KillShell ends it]"
)
"""The last of those outputs as one text."""

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
    Call("Bash", {"command": f"exec 2>&1; echo {SECRET}; cat nowhere/{SECRET}"}),  # two streams would have no order
    Call("Bash", {"command": "kill -SEGV $$"}),
    Call("Bash", {"command": "echo still here"}),
]
"""Invalid calls; output that is binary, too long or secret; and a plain call after them."""

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
    """Return the answers to these calls without a framework, normalized by `normalize_answers`."""
    box = Toolbox(ctx=ctx)
    return normalize_answers([(await box.call(call.name, call.arguments)).text for call in calls], ctx)


def task_in(text: str) -> str:
    found = re.search(r"bash-[0-9a-f]{8}", text)
    assert found is not None, text
    return found[0]


def normalize_answers(said: Sequence[str], ctx: ToolContext) -> list[str]:
    """Normalize the answers: replace task ids (distinct ids stay distinct), directories, PIDs and durations."""
    ids: dict[str, str] = {}

    def number_id(match: re.Match[str]) -> str:
        return ids.setdefault(match[0], f"bash-ID{len(ids) or ''}")

    found = []
    for text in said:
        text = text.replace(str(ctx.output_dir), "STATE")
        text = re.sub(r"bash-(?!0{8})[0-9a-f]{8}", number_id, text)
        text = re.sub(r"process \d+ of user \d+", "process N of user N", text)
        text = re.sub(r"left running: \d+ \([^)]*\)", "left running: N (it)", text)  # seen before or after its `exec`
        found.append(re.sub(r"\d+(\.\d+)? s\b", "N s", text))
    return found


def normalize_streams(found: Sequence[CommandStreams], ctx: ToolContext) -> list[CommandStreams]:
    """Normalize the streams of shell calls like `normalize_answers`."""
    texts = iter(normalize_answers([text for each in found for text in (each.stdout, each.stderr)], ctx))
    return [CommandStreams(next(texts), next(texts), each.code) for each in found]


def outcome_in(data: Mapping[str, Any]) -> tuple[str, int | None] | None:
    """Return kind and exit code of an answer that is data; None if the answer is not that of a run."""
    return (data["outcome"]["kind"], data["exit_code"]) if "outcome" in data else None


@dataclass
class CallerObserver:
    """Observer that records the caller of every ended run."""

    callers: list[str] = field(default_factory=list)

    def __call__(self, event: Observed) -> None:
        if isinstance(event, RunEnded):
            self.callers.append(event.began.caller)
