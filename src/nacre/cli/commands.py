"""The commands: name, function, help line and exit codes of failures. The help text is generated from this table."""

from __future__ import annotations

from nacre.cli.common.exit_codes import EXIT_BLOCK, EXIT_NO_VERDICT, FailureCodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class CliCommand:
    """One command of the command line."""

    __slots__ = ("failure_codes", "name", "operands", "summary", "takes_own", "target")

    def __init__(
        self,
        name: str,
        target: str,
        operands: str,
        summary: str,
        failure_codes: FailureCodes | None = None,
        *,
        takes_own: bool = False,
    ) -> None:
        """`target`: `module:function` in `nacre.cli`. `takes_own`: the function needs to know whether it has the
        process for itself."""
        self.name = name
        self.target = target
        self.operands = operands
        self.summary = summary
        self.failure_codes = failure_codes or FailureCodes()
        self.takes_own = takes_own

    def load(self) -> Callable[..., int]:
        """Import the command's module, and return the function that runs it."""
        module, _, function = self.target.partition(":")
        loaded: Callable[..., int] = getattr(__import__(f"nacre.cli.{module}", fromlist=[function]), function)
        return loaded


_VERDICT = FailureCodes(EXIT_NO_VERDICT)
_HOOK = FailureCodes(EXIT_BLOCK, EXIT_BLOCK, EXIT_BLOCK)

CHECK_COMMANDS = (
    CliCommand("run", "run.command:run", "[options] 'command'", "run a shell command, supervised", takes_own=True),
    CliCommand(
        "check",
        "check.command:check",
        "[options] 'command'",
        "may it run? allow, ask or refuse; runs nothing",
        _VERDICT,
    ),
    CliCommand(
        "explain", "check.explain:explain", "'command'", "what it would run, and the checker's verdict", _VERDICT
    ),
    CliCommand("rules", "check.rules:rules", "[ID]", "what the checker looks for, and why", _VERDICT),
    CliCommand("hook", "serve.hook:hook", "", "check the commands of Claude Code, Codex, Gemini CLI and Cursor", _HOOK),
    CliCommand("hook install", "serve.hook_install:install", "AGENT", "add the hook to the agent's settings"),
    CliCommand("doctor", "info.doctor:doctor", "[--json]", "what this machine supports"),
    CliCommand("config", "info.config:config", "[--json]", "what is configured here, and where each value came from"),
)
TASK_COMMANDS = (
    CliCommand("tasks", "tasks.list:tasks", "[--all] [--watch]", "list running tasks, or all"),
    CliCommand("output", "tasks.output:output", "[-f] ID", "what a task has printed"),
    CliCommand("wait", "tasks.wait:wait", "ID…", "until tasks end, print a line, listen on a port or go quiet"),
    CliCommand("kill", "tasks.kill:kill", "ID…", "kill tasks and every process they started"),
    CliCommand("write", "tasks.write:write", "ID TEXT", "write to the standard input of a task"),
    CliCommand("clean", "tasks.clean:clean", "", "remove tasks that have ended"),
)
OTHER_COMMANDS = (
    CliCommand("audit", "info.audit:audit", "[-f]", "what was run, refused or failed, if NACRE_AUDIT=1 was set"),
    CliCommand("profiles", "info.profiles:profiles", "", "compare the variants of the tool"),
    CliCommand("schema", "info.schema:schema", "[--profile NAME]", "the tool definition for a model API"),
    CliCommand("mcp", "serve.mcp:mcp", "", "serve the tool over MCP"),
)
COMMANDS = (*CHECK_COMMANDS, *TASK_COMMANDS, *OTHER_COMMANDS)
_BY_NAME = {command.name: command for command in COMMANDS}


def find_command(words: list[str]) -> tuple[CliCommand | None, list[str]]:
    """Return the command that the words begin with, and its arguments; None and the words if there is none."""
    for length in (2, 1):  # `hook install` before `hook`
        command = _BY_NAME.get(" ".join(words[:length])) if len(words) >= length else None
        if command is not None:
            return command, words[length:]
    return None, words
