"""Installs a seccomp filter that denies system calls, then executes a program.

python deny.py memfd_create=EPERM clone3=ENOSYS -- COMMAND …
"""

from __future__ import annotations

import errno
import os
import platform
import struct
import sys
from pathlib import Path

import pytest

NUMBERS = {
    "x86_64": {"memfd_create": 319, "clone3": 435, "prctl": 157},
    "aarch64": {"memfd_create": 279, "clone3": 435, "prctl": 167},
}
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000
_PR_SET_NO_NEW_PRIVS = 38


def deny_calls(*calls: str) -> tuple[str, ...]:
    """Return an argv prefix that denies these calls, as in `deny_calls("clone3=EPERM")`. Skip without seccomp."""
    from nacre.sandbox.probe import probe

    if platform.machine() not in NUMBERS or not probe().seccomp:
        pytest.skip("no seccomp here, or an architecture whose numbers are not known")
    return (sys.executable, str(Path(__file__)), *calls, "--")


def program(calls: list[str]) -> bytes:
    """Return the filter. It compares call numbers only: no program here has another architecture."""
    numbers = NUMBERS[platform.machine()]
    code = [(_LOAD, 0, 0, 0)]
    for name, _, error in (call.partition("=") for call in calls):
        code += [(_JUMP_IF_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _ERRNO | getattr(errno, error))]
    return b"".join(struct.pack("=HBBI", *each) for each in [*code, (_RETURN, 0, 0, _ALLOW)])


def main(words: list[str]) -> None:
    from nacre.sandbox.kernel.apply import install_filter
    from nacre.sandbox.kernel.libc import prctl

    end = words.index("--")
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    install_filter(program(words[:end]))
    os.execvp(words[end + 1], words[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
