"""Report a task as running once it works or only waits: a command that fails at once exits before."""

from __future__ import annotations

import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.bootstrap import SHELL_MARKER
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.run import Run

_KEEPER_PROGRAMS = f"bash\0-c\0{SHELL_MARKER}".encode()
_WORKING_CPU_TICKS = 2
"""Ticks (hundredths of a second) of CPU time after which a process is considered to be working."""
_POLL_S = 0.001
_DEDICATED_POLL_S, _MAX_DEDICATED_POLL_S = 0.0002, 0.002
_MAX_STARTUP_S = 0.5
"""Seconds after which a task that has not ended is reported as running in any case."""


def report_when_running(loop: EventLoop, run: Run, *, alone: bool, asleep: bool = False) -> None:
    """Report a task as running when it is. `alone`: no other runs would have to wait meanwhile. `asleep`: it was
    waiting at the last check."""
    if not run.processes.shell_is_alive:
        return  # its end is about to be reported, or that its leftovers keep running
    sleeps = False
    if LINUX and time.monotonic() < run.started_at + _MAX_STARTUP_S:
        works = has_started_working(run.pid)
        while works is False and alone and time.monotonic() < run.started_at + _MAX_DEDICATED_POLL_S:
            time.sleep(_DEDICATED_POLL_S)  # the event loop's timer is too coarse
            works = has_started_working(run.pid)
        sleeps = works is None
        if not (works or (sleeps and asleep)):
            loop.call_at(
                time.monotonic() + _POLL_S,
                run.tag,
                lambda: report_when_running(loop, run, alone=alone, asleep=sleeps),
            )
            return
    run.report_running()


def has_started_working(shell: int) -> bool | None:
    """Return whether the shell has execed or started another program, or has used some CPU time. None: all processes
    sleep."""
    asleep = True
    for pid in (shell, *procfs.children_of(shell)):
        seen = procfs.read_process(pid)
        words = procfs.read_proc_file(f"/proc/{pid}/cmdline")  # empty if it is gone or exiting
        if words and (not words.startswith(_KEEPER_PROGRAMS) or procfs.cpu_ticks(pid) >= _WORKING_CPU_TICKS):
            return True
        asleep = asleep and bool(words) and seen is not None and seen.is_sleeping
    return None if asleep else False
