"""Build the start message of a run from its plan."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nacre.keeper.protocol.bootstrap import INLINE_COMMAND_MAX_BYTES
from nacre.keeper.protocol.messages import StartMessage, environment_names
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.keeper.client.connection import TaskDirHandle


def is_inline(text: bytes) -> bool:
    """Return whether the command is short enough for the start message. Others are sent as a file."""
    return len(text) <= INLINE_COMMAND_MAX_BYTES


def build_start_message(
    plan: Plan, folder: TaskDirHandle | None, *, tag: int, env: bytes, private: bytes, has_state: bool
) -> StartMessage:
    """Return the start message of a run with this tag.

    `folder`: directory of a run that is a task from the start. `env`: the plan's environment, encoded. `private`:
    directory in which its private TMPDIR is created, if it gets one.
    """
    ruleset = plan.ruleset
    if private and ruleset is not None:
        ruleset = ruleset.with_private_tmpdir(private)
    start = StartMessage()
    start.tag = tag
    start.timeout = plan.timing.timeout
    start.grace = plan.timing.grace
    start.merge = plan.merge
    start.keep_leftovers = plan.leftovers != "end"
    start.standby_ok = plan.standby_ok
    start.has_stdin = plan.stdin is not None or (folder is not None and folder.stdin is not None)
    start.has_state = has_state
    start.dedicated = plan.dedicated_keeper
    start.reports_state = plan.reports_state
    start.report_pipestatus = has_state and bool(plan.pipeline_commands)
    start.wait_for_jobs = plan.leftovers == "wait"
    start.private_dir = private if plan.dedicated_keeper else b""
    start.task = b"" if folder is None else os.fsencode(folder.task)
    start.protection = b"" if folder is None else folder.protection
    start.kill_script = plan.kill_script
    start.log_cap = 0 if folder is None else plan.task.log
    start.bash = os.fsencode(plan.bash)
    start.cwd = os.fsencode(plan.cwd)
    start.text = plan.text if is_inline(plan.text) else None
    start.deferred = environment_names(plan.deferred)
    start.ruleset = b"" if ruleset is None else ruleset.encode()
    start.env = env
    return start
