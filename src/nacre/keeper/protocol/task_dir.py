"""Names of the files in a task's directory, which its keeper writes and other processes may read.

task.json      the request and the requester; from the start
command.txt    the command, if it is too long for task.json
process.json   the processes of the task; written before the command's first byte runs
output.log     the output from its beginning; at the end the later output and the outcome are appended
output.log.N   the output from byte N on, once output.log has reached half of the size limit
status.json    the outcome; written at the end, into space reserved before as `status.reserved`
control        the keeper's socket; connections are refused once the keeper is dead
stdin          a FIFO, if the task was started with open stdin
tmp            private TMPDIRs of a sandboxed task
protection     snapshot of the protected paths before the start; removed once they have been compared
notes          sentences about what was restored, each terminated by a NUL
"""

from __future__ import annotations

TASK, PROCESS, STATUS, RESERVED = "task.json", "process.json", "status.json", "status.reserved"
LOG, CONTROL, STDIN, PRIVATE_TMPDIR = "output.log", "control", "stdin", "tmp"
COMMAND = "command.txt"
PROTECTION, NOTES = "protection", "notes"
VERSION = 1

LIVE = ".live"
"""Directory next to the tasks' directories, with an entry for each task that has not ended, or was lost."""

_DIGITS = 20


def head_bytes(cap: int) -> int:
    """Return the size limit in bytes of output.log, after which output goes to segments."""
    return cap - cap // 2


def segment_bytes(cap: int) -> int:
    """Return the size limit in bytes of a segment."""
    return max(1, cap // 16)


def segment_name(start: int) -> str:
    return f"{LOG}.{start:0{_DIGITS}}"


def segment_offset(name: str) -> int | None:
    """Return the offset in the stream at which a log file begins; None if the name is not a log file's."""
    if name == LOG:
        return 0
    prefix, _, digits = name.rpartition(".")
    return int(digits) if prefix == LOG and len(digits) == _DIGITS and digits.isdigit() else None
