"""Make a task of an active run, or of the leftovers of an ended one."""

from __future__ import annotations

import errno
import os

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.messages import AdoptMessage
from nacre.keeper.protocol.procfs import ProcessInfo
from nacre.keeper.server.run import Run, RunningTask
from nacre.keeper.server.starter import too_many_files
from nacre.keeper.server.supervisor import RunCommands, Supervisor
from nacre.keeper.server.task.record import TaskRecord


def make_task(supervisor: Supervisor, run: Run, adoption: AdoptMessage, fds: list[int]) -> ProcessInfo:
    """Make a task of the run; return the process that it is named after. OSError: it has ended, or its files cannot be
    written."""
    supervisor.children.adopt()
    members = run.processes.members()
    shell_is_alive = run.processes.shell_is_alive
    leader = procfs.read_process(run.pid) if shell_is_alive else next(iter(members.values()), None)
    if leader is None or (run.reported_end and adoption.live):
        raise ProcessLookupError(errno.ESRCH, "it has ended")
    if not fds:  # the kernel drops descriptors for which no number is free
        raise too_many_files()
    commands = RunCommands(supervisor)
    commands.run = run
    record = TaskRecord(
        os.dup(fds[0]),
        adoption.task,
        adoption.log_cap,
        supervisor.loop,
        commands,
        seen=adoption.total_bytes,
        detached=adoption.detached,
        protection=adoption.protection,
    )
    try:
        record.write_process_file(leader.pid, leader.pgid, run.tag)
    except OSError:
        record.discard()
        raise
    run.task = RunningTask(record)
    if not shell_is_alive:
        run.statuses.leader_pid = leader.pid
    return leader
