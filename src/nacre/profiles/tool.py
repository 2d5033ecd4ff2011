"""The tool as described to a model: name, description, parameters. Data only."""

from __future__ import annotations

from typing import Literal, TypeAlias

from nacre.base.frozen import frozen

ParameterKind: TypeAlias = Literal["string", "integer", "number", "boolean", "strings"]
"""`strings`: an object whose values are strings."""
ParameterTarget: TypeAlias = Literal["command", "description", "mode", "background", "timeout", "cwd", "env", "capture"]
"""`capture`: False passes the output through to this process's own stdout and stderr."""


@frozen(kw_only=True)
class Parameter:
    """A parameter of the tool."""

    name: str
    kind: ParameterKind
    to: ParameterTarget
    """Field of the request that it sets. `timeout`: longest wait of the call (`Tool.deadline`: what happens then)."""
    description: str = ""
    """May contain the profile's times: `{timeout}` in seconds, `{timeout spoken}` in words; `slow_`, `max_` likewise.
    """
    required: bool = False
    choices: tuple[str, ...] = ()
    default: str | float | bool | None = None
    """The default that the schema names; it is not filled in from there."""
    minimum: float | None = None
    maximum: float | None = None
    """Values outside `minimum` and `maximum` are an error."""
    clamped: tuple[float, float] | None = None
    """Values outside this range are moved to its nearer end."""
    unit: float = 1.0
    """Seconds per unit of the value."""
    zero_is_default: bool = False
    nullable: bool = False
    """The schema allows null, which means that it is not given."""
    null_is_unlimited: bool = False


@frozen(kw_only=True)
class Tool:
    """A tool as a model sees it."""

    name: str = "Bash"
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    deadline: Literal["timeout", "yield_after"] = "timeout"
    """Effect of the timeout: kill the command, or stop waiting for it and let it keep running as a task."""
    untimed_tasks: bool = False
    """Background commands have no timeout, even if one is passed."""
    names_directory: bool = False
    """The description names the working directory."""
    lenient: bool = False
    """Accept numbers and booleans as strings."""
    strict: bool = False
    """Unknown arguments are an error; otherwise they are ignored."""
    empty: tuple[str, str] = ("The command is empty.", "Give a shell command.")
    """Message about an empty command, and its remedy."""
    error_text: str = ""
    """Prefix of the message about an invalid argument."""
