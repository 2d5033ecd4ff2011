"""The type of a profile: data only. Each difference between two profiles is a field here, never an `if` elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nacre.base.frozen import field, frozen
from nacre.policy.policy import DEFAULT, Policy
from nacre.profiles.answer_format import AnswerFormat, Text
from nacre.profiles.tool import Tool
from nacre.types import GIB, MIB, Access, Leftovers, Limits

READING = Limits(memory=4 * GIB, cpu=3600, processes=512, open_files=1024)
"""Enough for any command that only reads."""


@frozen(kw_only=True)
class Profile:
    """The limits, policy, answer format and tool schema of one flavour of the tool."""

    name: str
    timeout: float = 120.0
    """Seconds, for `mode="default"`."""
    slow_timeout: float = 900.0
    """Seconds, for `mode="slow"`."""
    max_timeout: float = 3600.0
    """Limit in seconds for any request; `inf` for none."""
    on_timeout: Literal["kill", "promote"] = "kill"
    """On timeout, kill the command, or let it keep running as a background task."""
    grace: float = 1.5
    """Seconds between SIGTERM and SIGKILL."""
    leftovers: Leftovers = "keep"
    merge: bool = False
    """Merge stdout and stderr into one stream."""
    access: Access = "unrestricted"
    """Access of commands whose context does not set it."""
    container: bool = False
    """Run commands in a container, or not at all."""
    output: int = 1 * MIB
    """Bytes of each stream kept in memory."""
    spill: int = 16 * MIB
    """Size limit of the spill file, in bytes."""
    log: int = 64 * MIB
    """Size limit of a task's log, in bytes."""
    log_name: str = ""
    """File name of a task's log, with `{id}` for the task's id, as in `mycode-{id}.log`; empty: the default name."""
    tasks: int = 100
    """Limit of running tasks; beyond it, no task is started."""
    limits: Mapping[Access, Limits] = field(default_factory=lambda: {"restricted": READING})
    """Resource limits of a run, by its access."""
    policy: Policy = DEFAULT
    """Rules and permissions that decide what may run."""
    tool: Tool = Tool()
    """Name, description and parameters of the tool that a model sees."""
    view: AnswerFormat = Text()
    """Format of the answer that a model gets."""
