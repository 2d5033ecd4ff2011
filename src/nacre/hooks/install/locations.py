"""Where each agent has its hooks, and what is written there. Data, and paths that follow from it; looks at no disk."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from nacre.hooks.install.json_edit import HookEntry


@dataclass(frozen=True)
class AgentSettings:
    """The settings files of one agent. In a list of files, the first that exists is used, else the last."""

    agent: str
    variable: str
    """Names its directory, if it is set."""
    home: str
    """Below the home directory, if it is not."""
    project: str
    """Below that of a project."""
    files: tuple[str, ...]
    path: tuple[str, ...]
    """To the array of hooks."""
    matcher: str = ""
    extra: tuple[tuple[str, object], ...] = ()
    """What else is said of the command."""
    defaults: tuple[tuple[str, object], ...] = ()
    """What the file must say for itself."""
    afterwards: str = ""
    """What the person has to do."""

    def paths(self, *, env: Mapping[str, str], home: str, project: str | None) -> list[str]:
        if project is not None:
            folder = os.path.join(project, self.project)
        else:
            folder = env.get(self.variable, "") or os.path.join(home, self.home)
        return [os.path.join(folder, name) for name in self.files]

    def entry(self, command: str) -> HookEntry:
        handler = {"type": "command", "command": command, **dict(self.extra)}
        if self.matcher:
            return {"matcher": self.matcher, "hooks": [handler]}
        return {"command": command, **dict(self.extra)}


AGENTS = {
    each.agent: each
    for each in (
        AgentSettings(
            agent="claude-code",
            variable="CLAUDE_CONFIG_DIR",
            home=".claude",
            project=".claude",
            files=("settings.json",),
            path=("hooks", "PreToolUse"),
            matcher="Bash|Monitor",
            afterwards="It counts from the next session on; `/hooks` shows it.",
        ),
        AgentSettings(
            agent="codex",
            variable="CODEX_HOME",
            home=".codex",
            project=".codex",
            files=("hooks.json", "config.toml"),
            path=("hooks", "PreToolUse"),
            matcher="^Bash$",
            afterwards="Codex passes it over until you trust it: start Codex and say `/hooks`.",
        ),
        AgentSettings(
            agent="gemini",
            variable="",
            home=".gemini",
            project=".gemini",
            files=("settings.json",),
            path=("hooks", "BeforeTool"),
            matcher="^run_shell_command$",
            extra=(("name", "nacre"),),
            afterwards="It counts from the next session on; `/hooks` shows it.",
        ),
        AgentSettings(
            agent="cursor",
            variable="",
            home=".cursor",
            project=".cursor",
            files=("hooks.json",),
            path=("hooks", "beforeShellExecution"),
            extra=(("failClosed", True),),
            defaults=(("version", 1),),
            afterwards="Cursor reads it at once; its settings show it under Hooks.",
        ),
    )
}


_STANDALONE = "PYTHONPATH="


def command_line(program: str, *, ask: bool) -> str:
    """What an agent runs, with the shell. If `program` cannot be run at all, that has to be a refusal too: with any
    other code than 2, all of them would let the command pass. Nor may the project bring modules of its own into it."""
    return f"{_STANDALONE} {shlex.quote(program)} hook{'' if ask else ' --no-ask'} || exit 2"


def is_ours(command: object) -> bool:
    """Does it call `nacre hook`, wherever that is, or was it written by `command_line` for whatever program?"""
    if not isinstance(command, str) or "hook" not in command:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if words[:1] == [_STANDALONE]:
        words = words[1:]
    if words[1:] in (["hook", "||", "exit", "2"], ["hook", "--no-ask", "||", "exit", "2"]):
        return True
    pairs = pairwise(words)
    return any(os.path.basename(first) == "nacre" and second == "hook" for first, second in pairs)
