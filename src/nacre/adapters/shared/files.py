"""Access to a sandbox's files through commands, so that sandbox, user and limits apply to files as well. Pure.

`read_request`, `write_request` and `touch_request` return the request to run; `check` returns nothing or raises one of
Python's OSErrors for its result. Anything except a regular file is an error: reading a FIFO could block for ever.
"""

from __future__ import annotations

import errno

from nacre.adapters.shared.streams import read_streams
from nacre.result import Exited, Refused, Result, TimedOut
from nacre.types import Request

_REGULAR = """\
if [ -e "$FILE" ] && [ ! -f "$FILE" ] && [ ! -d "$FILE" ]; then
    echo "$FILE is not a regular file: Invalid argument" >&2
    exit 1
fi
"""
_READ = f'{_REGULAR}cat < "$FILE"\n'
_WRITE = f"""\
{_REGULAR}case $FILE in */*) mkdir -p -- "${{FILE%/*}}/" || exit ;; esac
tee > "$FILE"
"""
"""Uses `tee` because the checker follows what `cat` prints, here fifty megabytes or more."""
_TOUCH = 'if [ -f "$FILE" ]; then : >> "$FILE"; fi\n'

_ERROR_PATTERN = {
    "No such file or directory": errno.ENOENT,
    "Permission denied": errno.EACCES,
    "Operation not permitted": errno.EPERM,
    "Read-only file system": errno.EACCES,  # a file that a sandboxed command may not write
    "Is a directory": errno.EISDIR,
    "Not a directory": errno.ENOTDIR,
    "File exists": errno.EEXIST,
    "File name too long": errno.ENAMETOOLONG,
    "Too many levels of symbolic links": errno.ELOOP,
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large": errno.EFBIG,
    "Invalid argument": errno.EINVAL,
}
"""Messages of the shell and its tools in locale C."""


def read_request(path: str) -> Request:
    """Return a request whose stdout is the content of the file."""
    return Request(_READ, env=_file_env(path))


def write_request(path: str, data: bytes) -> Request:
    """Return a request that writes the file and creates missing directories."""
    return Request(_WRITE, env=_file_env(path), stdin=data)


def touch_request(path: str) -> Request:
    """Return a request that changes nothing but is checked like a command that writes the file."""
    return Request(_TOUCH, env=_file_env(path))


def check(result: Result, path: str) -> None:
    """Raise the OSError that corresponds to a result; PermissionError if the request was refused, TimeoutError if it
    timed out."""
    match result.outcome:
        case Exited(0):
            return
        case Exited():
            said = result.stderr.strip().rpartition("\n")[2]
            reason = said.rpartition(": ")[2]
            raise OSError(_ERROR_PATTERN.get(reason, errno.EIO), reason or "the operation failed", path)
        case Refused():
            raise PermissionError(errno.EACCES, read_streams(result).stderr.strip(), path)
        case TimedOut(after):
            raise TimeoutError(errno.ETIMEDOUT, f"it took longer than {after:g} s", path)
        case _:
            raise OSError(errno.EIO, result.summary, path)


def _file_env(path: str) -> dict[str, str]:
    return {"FILE": path, "LC_ALL": "C"}
