"""What a profile is: data only. A difference between two profiles is a field here, never an `if` elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nacre.base.frozen import field, frozen
from nacre.policy.policy import DEFAULT, Policy
from nacre.profiles.answer_format import AnswerFormat, Text
from nacre.profiles.tool import Tool
from nacre.types import GIB, MIB, Access, Leftovers, Limits

READING = Limits(memory=4 * GIB, cpu=3600, processes=512, open_files=1024)
"""Enough for whatever only reads."""


@frozen(kw_only=True)
class Profile:
    """The limits, policy, output and schema of one flavour of the tool."""

    name: str
    timeout: float = 120.0
    """Seconds, for `mode="default"`."""
    slow_timeout: float = 900.0
    """Seconds, for `mode="slow"`."""
    max_timeout: float = 3600.0
    """No request gets more; `inf` for no limit."""
    on_timeout: Literal["kill", "promote"] = "kill"
    """What happens when the time is up: it is ended, or goes on as a task."""
    grace: float = 1.5
    """Seconds between TERM and KILL."""
    leftovers: Leftovers = "keep"
    merge: bool = False
    """stdout and stderr are one stream."""
    access: Access = "unrestricted"
    """What commands may do whose context does not say."""
    container: bool = False
    """Commands run in a container, or not at all."""
    output: int = 1 * MIB
    """Bytes of each stream held in memory."""
    spill: int = 16 * MIB
    """Bytes of the spill file."""
    log: int = 64 * MIB
    """Bytes of a task's log."""
    log_name: str = ""
    """Another name for a task's log, with `{id}` for the task's: `mycode-{id}.log`."""
    tasks: int = 100
    """How many tasks may be running when another is started."""
    limits: Mapping[Access, Limits] = field(default_factory=lambda: {"restricted": READING})
    """What a run may cost, by its access."""
    policy: Policy = DEFAULT
    """What may run, what asks, what is refused."""
    tool: Tool = Tool()
    """What a model is told."""
    view: AnswerFormat = Text()
    """What a model is given back."""
