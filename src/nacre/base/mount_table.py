"""Parse the kernel's mount table, /proc/self/mountinfo. Every other module gets its mounts from here.

Paths are bytes, with the kernel's escapes decoded: each caller compares them with paths of its own kind. The keeper
loads this module, so it imports nothing.
"""

from __future__ import annotations

_MIN_FIELDS = 6
_OCTAL_DIGITS = b"01234567"


class MountEntry:
    """A row of the table."""

    __slots__ = ("device", "number", "options", "point", "root")

    def __init__(self, number: int, device: bytes, root: bytes, point: bytes, options: bytes) -> None:
        self.number = number
        """Mount id, which /proc/self/fdinfo calls `mnt_id`."""
        self.device = device
        """Major and minor number: `8:1`."""
        self.root = root
        """Directory (or file) of the file system that the mount shows."""
        self.point = point
        """Directory (or file) at which it is mounted."""
        self.options = options
        """Options of this mount, separated by commas: `rw,nosuid`."""


def read_mount_table(path: str = "/proc/self/mountinfo") -> list[MountEntry]:
    """The mounts that this process sees. OSError: the table cannot be read."""
    with open(path, "rb", buffering=0) as file:
        return parse_mount_table(file.read())


def parse_mount_table(table: bytes) -> list[MountEntry]:
    """The rows, in the kernel's order. A row without all of its fields is left out."""
    # not `splitlines`: a carriage return in a path is not escaped
    rows = [line.split(b" ", _MIN_FIELDS) for line in table.split(b"\n")]
    return [
        MountEntry(int(row[0]), row[2], _unescape(row[3]), _unescape(row[4]), row[5])
        for row in rows
        if len(row) >= _MIN_FIELDS
    ]


def _unescape(path: bytes) -> bytes:
    r"""Decode the octal escapes of a path: a space is `\040`; tab, newline, `#` and backslash are escaped, too."""
    if b"\\" not in path:
        return path
    first, *others = path.split(b"\\")
    return first + b"".join(map(_unescape_first, others))


def _unescape_first(part: bytes) -> bytes:
    """Decode one escape at the start of `part`, which follows a backslash."""
    digits = part[:3]
    if len(digits) < 3 or digits.strip(_OCTAL_DIGITS):
        return b"\\" + part
    return bytes((int(digits, 8) & 0xFF,)) + part[3:]
