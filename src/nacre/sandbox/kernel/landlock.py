"""Landlock, by its three system calls. Which rights there are depends on the kernel's ABI; `handled_rights` knows
which.

Everything here binds the calling thread, and what it starts, for ever.
"""

from __future__ import annotations

import errno
import os
import stat
import struct

from nacre.sandbox.kernel.libc import call
from nacre.sandbox.kernel.syscalls import NUMBERS

TYPE_CHECKING = False  # loaded by the keeper: see keeper/wire.py
if TYPE_CHECKING:
    from typing import Any

_syscall: Any = None

MAX_ABI = 8
"""Later kernels are used like this one."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

READING = EXECUTE | READ_FILE | READ_DIR
DEVICES = MAKE_CHAR | MAKE_BLOCK
"""Never granted."""
WRITING = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | DEVICES
EVERYTHING = (READING | WRITING | REFER | TRUNCATE) & ~DEVICES
"""In a place of one's own."""
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""What can be granted for something that is no directory."""

BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2

_ADDS_RULE_FOR_PATH, _ADDS_RULE_FOR_PORT = 1, 2
_ASK_VERSION = 1
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FIXED = (b"", b"/dev")
"""Directories that no command changes: of a path in one of them only the last part could be a link."""
_ANY = next(iter(NUMBERS.values()))  # all three calls have the same number everywhere
_CREATE, _ADD, _RESTRICT = (_ANY[f"landlock_{name}"] for name in ("create_ruleset", "add_rule", "restrict_self"))


def abi() -> int:
    """What this kernel has. OSError says why it has none: ENOSYS (not built in), EOPNOTSUPP (switched off)."""
    return call(_CREATE, 0, 0, _ASK_VERSION)


def handled_rights(abi: int) -> tuple[int, int, int]:
    """All that this ABI can forbid: rights on files, rights on the network, scopes."""
    files = READING | WRITING
    if abi >= 2:
        files |= REFER
    if abi >= 3:
        files |= TRUNCATE
    if abi >= 5:
        files |= IOCTL_DEV
    return files, BIND_TCP | CONNECT_TCP if abi >= 4 else 0, ABSTRACT_SOCKETS | SIGNALS if abi >= 6 else 0


def create(files: int, network: int, scopes: int) -> int:
    """A ruleset that forbids all of this; a descriptor."""
    attributes = struct.pack("QQQ", files, network, scopes)
    size = 24 if scopes else 16 if network else 8  # an old kernel knows only the first field
    return call(_CREATE, attributes, size, 0)


def allow_below(ruleset: int, path: bytes, rights: int) -> None:
    """Grant rights on a file, or on everything below a directory. FileNotFoundError: not there under this name; a link
    is not followed, wherever on the way it is, since it may have been put there after somebody looked."""
    fd = os.open(path, _PLACE)
    try:
        mode = os.fstat(fd).st_mode
        is_direct = path.rpartition(b"/")[0] in _FIXED
        if stat.S_ISLNK(mode) or not (is_direct or os.readlink(b"/proc/self/fd/%d" % fd) == path):
            raise FileNotFoundError(errno.ENOENT, "a link is on the way", path)
        if not stat.S_ISDIR(mode):
            rights &= ON_FILES
        _add_rule(ruleset, struct.pack("=Qi", rights, fd))
    finally:
        os.close(fd)


def _add_rule(ruleset: int, rule: bytes) -> None:
    """As `call`, in a third of its time: a confinement has some thirty of these."""
    global _syscall
    if _syscall is None:
        from ctypes import CDLL, c_char_p, c_int, c_long

        _syscall = CDLL(None, use_errno=True)["syscall"]
        _syscall.restype, _syscall.argtypes = c_long, (c_long, c_int, c_int, c_char_p, c_int)
    if _syscall(_ADD, ruleset, _ADDS_RULE_FOR_PATH, rule, 0) < 0:
        from ctypes import get_errno

        raise OSError(get_errno(), os.strerror(get_errno()))


def allow_port(ruleset: int, port: int, rights: int) -> None:
    call(_ADD, ruleset, _ADDS_RULE_FOR_PORT, struct.pack("QQ", rights, port), 0)


def restrict_thread(ruleset: int) -> None:
    """From here on. The thread must have given up new privileges."""
    call(_RESTRICT, ruleset, 0)
