"""What lies in a task's directory, and by which names: what its keeper writes, and everybody else may read.

task.json      what was asked, and by whom; from the start
command.txt    the command, if it is too long to stand there whole
process.json   which processes it is made of; there before the command's first byte runs
output.log     what it printed, from the beginning; at the end the rest is joined on, and how it ended
output.log.N   what it printed from byte N on, once output.log has grown to half of the cap
status.json    how it ended; there from then on, its space taken ahead as `status.reserved`
control        the socket of its keeper; nobody answers there when that is gone
stdin          a pipe by name, if it was started with its standard input open
tmp            private directories of a confined one
protection     the protected paths of its workspace as they were before it began; gone when they have been compared
notes          what was put back then, each sentence ended by a NUL
"""

from __future__ import annotations

TASK, PROCESS, STATUS, RESERVED = "task.json", "process.json", "status.json", "status.reserved"
LOG, CONTROL, STDIN, PRIVATE_TMPDIR = "output.log", "control", "stdin", "tmp"
COMMAND = "command.txt"
PROTECTION, NOTES = "protection", "notes"
VERSION = 1

LIVE = ".live"
"""Beside the tasks' directories: one name for each that has not ended, or was lost."""

_DIGITS = 20


def head_bytes(cap: int) -> int:
    """Bytes that output.log holds before the rest goes to files of its own."""
    return cap - cap // 2


def segment_bytes(cap: int) -> int:
    """Bytes of each of those."""
    return max(1, cap // 16)


def segment_name(start: int) -> str:
    return f"{LOG}.{start:0{_DIGITS}}"


def segment_offset(name: str) -> int | None:
    """Where in the stream a file begins; None if it is no part of a log."""
    if name == LOG:
        return 0
    prefix, _, digits = name.rpartition(".")
    return int(digits) if prefix == LOG and len(digits) == _DIGITS and digits.isdigit() else None
