"""Landlock, through its three system calls. `handled_rights` knows which rights each ABI version has.

Restrictions apply to the calling thread and everything it starts, for good.
"""

from __future__ import annotations

import errno
import os
import stat
import struct

from nacre.sandbox.kernel.libc import call
from nacre.sandbox.kernel.syscalls import NUMBERS

TYPE_CHECKING = False  # loaded by the keeper: importing `typing` would add 5 ms to its start
if TYPE_CHECKING:
    from typing import Any

_syscall: Any = None

MAX_ABI = 8
"""Later ABI versions are used like this one."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

READING = EXECUTE | READ_FILE | READ_DIR
DEVICES = MAKE_CHAR | MAKE_BLOCK
"""Never granted."""
WRITING = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | DEVICES
EVERYTHING = (READING | WRITING | REFER | TRUNCATE) & ~DEVICES
"""For directories that the command may write: workspace, private TMPDIR and private shared memory."""
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that can be granted on a file that is not a directory."""

BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2

_ADDS_RULE_FOR_PATH, _ADDS_RULE_FOR_PORT = 1, 2
_ASK_VERSION = 1
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FIXED = (b"", b"/dev")
"""Directories that no command can change: of a path directly in one of them, only the last part could be a link."""
_ANY = next(iter(NUMBERS.values()))  # all three calls have the same number everywhere
_CREATE, _ADD, _RESTRICT = (_ANY[f"landlock_{name}"] for name in ("create_ruleset", "add_rule", "restrict_self"))


def abi() -> int:
    """Return the ABI version of this kernel. Raises OSError if it has none: ENOSYS (not built in), EOPNOTSUPP
    (disabled)."""
    return call(_CREATE, 0, 0, _ASK_VERSION)


def handled_rights(abi: int) -> tuple[int, int, int]:
    """Return everything this ABI version can restrict: file rights, network rights, scopes."""
    files = READING | WRITING
    if abi >= 2:
        files |= REFER
    if abi >= 3:
        files |= TRUNCATE
    if abi >= 5:
        files |= IOCTL_DEV
    return files, BIND_TCP | CONNECT_TCP if abi >= 4 else 0, ABSTRACT_SOCKETS | SIGNALS if abi >= 6 else 0


def create(files: int, network: int, scopes: int) -> int:
    """Create a ruleset that forbids all of these; return its file descriptor."""
    attributes = struct.pack("QQQ", files, network, scopes)
    size = 24 if scopes else 16 if network else 8  # an old kernel knows only the first field
    return call(_CREATE, attributes, size, 0)


def allow_below(ruleset: int, path: bytes, rights: int) -> None:
    """Grant rights on a file, or on everything below a directory.

    Raises FileNotFoundError if nothing exists under this name. A symbolic link anywhere in the path counts as missing:
    it may have been created after the path was checked."""
    fd = os.open(path, _PLACE)
    try:
        mode = os.fstat(fd).st_mode
        is_direct = path.rpartition(b"/")[0] in _FIXED
        if stat.S_ISLNK(mode) or not (is_direct or os.readlink(b"/proc/self/fd/%d" % fd) == path):
            raise FileNotFoundError(errno.ENOENT, "a symlink is on the path", path)
        if not stat.S_ISDIR(mode):
            rights &= ON_FILES
        _add_rule(ruleset, struct.pack("=Qi", rights, fd))
    finally:
        os.close(fd)


def _add_rule(ruleset: int, rule: bytes) -> None:
    """Add a rule for a path in a third of the time that `call` takes: a sandbox has about thirty of these."""
    global _syscall
    if _syscall is None:
        from ctypes import CDLL, c_char_p, c_int, c_long

        _syscall = CDLL(None, use_errno=True)["syscall"]
        _syscall.restype, _syscall.argtypes = c_long, (c_long, c_int, c_int, c_char_p, c_int)
    if _syscall(_ADD, ruleset, _ADDS_RULE_FOR_PATH, rule, 0) < 0:
        from ctypes import get_errno

        raise OSError(get_errno(), os.strerror(get_errno()))


def allow_port(ruleset: int, port: int, rights: int) -> None:
    """Grant network rights on a TCP port."""
    call(_ADD, ruleset, _ADDS_RULE_FOR_PORT, struct.pack("QQ", rights, port), 0)


def restrict_thread(ruleset: int) -> None:
    """Enforce the ruleset on this thread from now on. Requires `no_new_privs`."""
    call(_RESTRICT, ruleset, 0)
