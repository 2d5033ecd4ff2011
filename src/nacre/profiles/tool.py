"""What a model is told of the tool: its name, what it does, what it takes. Data only."""

from __future__ import annotations

from typing import Literal, TypeAlias

from nacre.base.frozen import frozen

ParameterKind: TypeAlias = Literal["string", "integer", "number", "boolean", "strings"]
"""`strings`: an object whose values are strings."""
ParameterTarget: TypeAlias = Literal["command", "description", "mode", "background", "timeout", "cwd", "env", "capture"]
"""`capture`: False lets what it prints through to this process's own stdout and stderr."""


@frozen(kw_only=True)
class Parameter:
    """One thing that a model may pass."""

    name: str
    kind: ParameterKind
    to: ParameterTarget
    """What it is for. `timeout` is how long the call waits at most (`Tool.deadline` says what happens then)."""
    description: str = ""
    """May name the profile's times: `{timeout}` in seconds, `{timeout spoken}` in words; `slow_`, `max_` likewise."""
    required: bool = False
    choices: tuple[str, ...] = ()
    default: str | float | bool | None = None
    """What the schema names; it is not filled in by it."""
    minimum: float | None = None
    maximum: float | None = None
    """Beyond these it is an error."""
    clamped: tuple[float, float] | None = None
    """Beyond these it is moved to them."""
    unit: float = 1.0
    """Seconds in one of it."""
    zero_is_default: bool = False
    nullable: bool = False
    """The schema lets it be null, which is as if it were not given."""
    null_is_unlimited: bool = False


@frozen(kw_only=True)
class Tool:
    """A tool as a model sees it."""

    name: str = "Bash"
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    deadline: Literal["timeout", "yield_after"] = "timeout"
    """What `timeout` is: the end of the command, or of the waiting for it, after which it goes on as a task."""
    untimed_tasks: bool = False
    """What is started in the background has no timeout, whatever is passed for one."""
    names_directory: bool = False
    """The description names the working directory."""
    lenient: bool = False
    """Numbers and truth values may come as words."""
    strict: bool = False
    """An argument that is not listed is an error, not ignored."""
    empty: tuple[str, str] = ("The command is empty.", "Give a shell command.")
    """What is said of an empty command, and what to do."""
    error_text: str = ""
    """How the message about a bad argument begins."""
