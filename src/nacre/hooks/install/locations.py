"""Locations and content of each agent's hook settings. Data, and paths derived from it; reads no files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from nacre.hooks.install.json_edit import HookEntry


@dataclass(frozen=True)
class AgentSettings:
    """The settings files of one agent. The first of `files` that exists is used, else the last."""

    agent: str
    variable: str
    """Environment variable that names the agent's directory."""
    home: str
    """Directory below the home directory, if the variable is not set."""
    project: str
    """Directory below that of a project."""
    files: tuple[str, ...]
    path: tuple[str, ...]
    """Names that lead to the array of hooks."""
    matcher: str = ""
    """Pattern for tool names; empty if the format has none."""
    extra: tuple[tuple[str, object], ...] = ()
    """Further members of the hook."""
    defaults: tuple[tuple[str, object], ...] = ()
    """Top-level members that the file must have."""
    afterwards: str = ""
    """Note on what the user has to do after the installation."""

    def paths(self, *, env: Mapping[str, str], home: str, project: str | None) -> list[str]:
        """Return the paths of the agent's settings files: in `project`, or in the user's directory if that is None."""
        if project is not None:
            folder = os.path.join(project, self.project)
        else:
            folder = env.get(self.variable, "") or os.path.join(home, self.home)
        return [os.path.join(folder, name) for name in self.files]

    def entry(self, command: str) -> HookEntry:
        """Return the entry for the array of hooks that runs `command`."""
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
            afterwards="It takes effect in the next session; `/hooks` shows it.",
        ),
        AgentSettings(
            agent="codex",
            variable="CODEX_HOME",
            home=".codex",
            project=".codex",
            files=("hooks.json", "config.toml"),
            path=("hooks", "PreToolUse"),
            matcher="^Bash$",
            afterwards="Codex ignores it until you trust it: start Codex and enter `/hooks`.",
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
            afterwards="It takes effect in the next session; `/hooks` shows it.",
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
    """Return the shell command that an agent runs as its hook. If `program` cannot be run at all, `exit 2` refuses:
    with any other exit code all agents let the command pass. An empty PYTHONPATH keeps modules of the project out of
    it."""
    return f"{_STANDALONE} {shlex.quote(program)} hook{'' if ask else ' --no-ask'} || exit 2"


def is_ours(command: object) -> bool:
    """Return whether a command calls `nacre hook` in any directory, or was written by `command_line` for any
    program."""
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
