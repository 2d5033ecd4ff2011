"""The files of a sandbox by commands: what holds for those (checks, confinement, user) holds for files too. Pure.

`reading` and `writing` give the request to run, `check` takes its result: nothing, or one of Python's own errors.
"""

from __future__ import annotations

from nacre.adapters.streams import streams
from nacre.result import Result
from nacre.types import Request

_ABSENT, _FORBIDDEN, _DIRECTORY = 102, 113, 121
"""100 and the number of the error; nothing else in these scripts exits with such."""
_READ = f"""\
if [ -d "$FILE" ]; then exit {_DIRECTORY}; fi
if [ ! -e "$FILE" ]; then exit {_ABSENT}; fi
if [ ! -r "$FILE" ]; then exit {_FORBIDDEN}; fi
cat -- "$FILE"
"""
_WRITE = f"""\
if [ -d "$FILE" ]; then exit {_DIRECTORY}; fi
mkdir -p -- "$(dirname -- "$FILE")" && cat > "$FILE"
"""


def reading(path: str) -> Request:
    """Its stdout is the file."""
    return Request(_READ, env={"FILE": path})


def writing(path: str, data: bytes) -> Request:
    """Makes the directories that are missing."""
    return Request(_WRITE, env={"FILE": path}, stdin=data)


def check(result: Result, path: str) -> None:
    match result.exit_code:
        case 0:
            return
        case 102:
            raise FileNotFoundError(f"there is no file {path}")
        case 121:
            raise IsADirectoryError(f"{path} is a directory")
        case _:
            raise PermissionError(f"{path}: {streams(result).stderr.strip() or 'permission denied'}")
