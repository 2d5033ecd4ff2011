"""Find the other paths by which mounts show the same files. Reads /proc and these paths, changes nothing.

A file system that is mounted in two places, usually by a bind mount, has two paths for each of its files: a file
hidden under one path could be read under the other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from nacre.base.mount_table import read_mount_table
from nacre.base.shortages import SHORTAGE_HINTS
from nacre.sandbox.workspace import DEVICES, is_below

_HARMLESS_DEVICES = frozenset(os.makedev(1, minor) for minor in (3, 5, 7, 8, 9))
"""Device numbers of /dev/null, zero, full, random and urandom."""


class Mount(NamedTuple):
    """A line of the mount table."""

    number: int
    device: str
    root: str
    """Directory (or file) of the file system that is mounted."""
    point: str
    """Mount point, a directory or file."""


def read_mounts() -> list[Mount]:
    """Return the mounts of this process's mount namespace. Raises OSError if /proc cannot be read."""
    mounts = [
        Mount(entry.number, entry.device.decode(), os.fsdecode(entry.root), os.fsdecode(entry.point))
        for entry in read_mount_table()
    ]
    if not any(mount.point == "/" for mount in mounts) and (root := _chroot_mount(mounts)):
        mounts.append(root)
    return mounts


def other_paths(paths: Iterable[str], mounts: Iterable[Mount]) -> Iterator[str]:
    """Yield each other path that reaches the files of these paths, once. `paths` are real and absolute.

    A file system that is mounted below one of these paths is not followed to its other mount points: a directory may
    hold mounts of everything on the machine (a chroot, for example)."""
    by_number = {mount.number: mount for mount in mounts}
    seen = set(paths)
    for path in tuple(seen):
        own = by_number.get(_mount_number(path)) or _mount_above(path, by_number.values())
        if own is None or not is_below(path, own.point):
            continue
        shown = _join_path(own.root, _relative_to(path, own.point))
        for other in by_number.values():
            if other.device != own.device:
                continue
            if is_below(shown, other.root):
                found = _join_path(other.point, _relative_to(shown, other.root))
            elif is_below(other.root, shown):
                found = other.point
            else:
                continue
            if found not in seen and _mount_number(found) == other.number:  # else another mount covers it
                seen.add(found)
                yield found


def paths_inside(paths: Iterable[str], roots: Collection[str], mounts: list[Mount]) -> list[str]:
    """Return the other paths of these that are below a root. Nearly always empty, and then found without a system
    call."""
    near = {m.device for m in mounts for root in roots if is_below(m.point, root) or is_below(root, m.point)}
    shown = [mount.device for mount in mounts]
    if not any(shown.count(device) > 1 for device in near):
        return []
    return [path for path in other_paths(paths, mounts) if any(is_below(path, root) for root in roots)]


def device_paths(mounts: list[Mount]) -> tuple[str, ...]:
    """Return /dev and the other paths that reach its devices, usually those of a chroot.

    A path that shows only a device that everybody may open is left out: container runtimes mount /dev/null over files
    of /proc, and to close those would close what appears in /proc later, such as a command's own /proc/self.
    """
    own = {mount.device for mount in mounts if is_below(mount.point, DEVICES)}
    if not any(mount.device in own and not is_below(mount.point, DEVICES) for mount in mounts):
        return (DEVICES,)  # nearly always, and without a system call
    found = other_paths((DEVICES, f"{DEVICES}/pts"), mounts)
    return (DEVICES, *(path for path in found if not _is_harmless_device(path)))


def _is_harmless_device(path: str) -> bool:
    """Return whether a path is a device that every command may open. Container engines mount /dev/null over files of
    /proc; if these counted, new processes, which a list of the other files in /proc lacks, could not be read."""
    try:
        status = os.lstat(path)
    except OSError as error:
        if error.errno in SHORTAGE_HINTS:
            raise
        return False
    return stat.S_ISCHR(status.st_mode) and status.st_rdev in _HARMLESS_DEVICES


def _chroot_mount(mounts: list[Mount]) -> Mount | None:
    """Return the mount that holds `/` where the table leaves it out: in a chroot, `/` is usually no mount point.

    Its `root` is the path of the chroot in its file system, by which the table names the sources of bind mounts. A bind
    mount made within the chroot shows it: what is left of its source before a path that is the same file here. None
    without such a mount; a mount of a directory above the chroot does not show it.
    """
    number = _mount_number("/")
    for mount in mounts:
        for at in [at for at, letter in enumerate(mount.root) if letter == "/"]:
            path = mount.root[at:]
            if _mount_number(path) == number and _is_same_file(path, mount.point):
                return Mount(number, mount.device, mount.root[:at] or "/", "/")
    return None


def _is_same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _relative_to(path: str, top: str) -> str:
    return path.removeprefix(top).lstrip("/")


def _join_path(top: str, rest: str) -> str:
    return os.path.join(top, rest) if rest else top


def _mount_above(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that holds a path, judged by the names alone. For a path that this user cannot open: another
    path to it may be open to the user. The last of several mounts at one point covers the others."""
    above = [mount for mount in mounts if is_below(path, mount.point)]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def _mount_number(path: str) -> int:
    """Return the ID of the mount that a path is on; 0 if this user cannot open it. Raises OSError for want of file
    descriptors: taken for 0, it would leave the path's other names open."""
    try:
        fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in SHORTAGE_HINTS:
            raise
        return 0
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("mnt_id:")), 0)
    finally:
        os.close(fd)
