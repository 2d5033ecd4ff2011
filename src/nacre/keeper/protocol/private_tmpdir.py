"""Private TMPDIRs of sandboxed runs: create them empty, remove them with their content.

A command may leave anything there: links, directories without permissions, a million files. Links are never followed,
and removal runs in a thread, so that the keeper can go on.
"""

from __future__ import annotations

import _thread
import errno
import itertools
import os
import stat

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_numbers = itertools.count(1)
_removers: list[_thread.LockType] = []


def make_private_tmpdir(root: bytes) -> bytes:
    """Create a directory below `root` and return its path. OSError: it cannot be created, for example because `root`
    was removed and its name now belongs to another user."""
    top = os.open(root, _DIRECTORY)
    try:
        if os.fstat(top).st_uid != os.geteuid():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))  # another user's
        while True:
            name = b"tmp-%d" % next(_numbers)
            try:
                os.mkdir(name, 0o700, dir_fd=top)
            except FileExistsError:
                continue  # left by a keeper that was killed
            return os.path.join(root, name)
    finally:
        os.close(top)


def remove_private_tmpdir(path: bytes) -> None:
    """Remove the directory: at once if it is empty, as it nearly always is, else in a thread."""
    if not path:
        return
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError:
        _removers[:] = [lock for lock in _removers if lock.locked()]
        lock = _thread.allocate_lock()
        lock.acquire()
        _removers.append(lock)

        def work() -> None:
            try:
                remove_tree(path)
            finally:
                lock.release()

        try:
            _thread.start_new_thread(work, ())
        except RuntimeError:
            work()  # no thread available: everything else waits


def forget() -> None:
    """Forget running removals after a fork: they belong to the parent."""
    _removers.clear()


def wait_for_removals() -> None:
    while _removers:
        _removers.pop().acquire()


def remove_tree(path: bytes) -> None:
    """Remove a directory tree as far as possible."""
    try:
        os.rmdir(path)  # needs no file descriptor if it is empty: none may be left
        return
    except OSError:
        pass
    try:
        top = os.open(path, _DIRECTORY)
    except OSError:
        return
    try:
        _empty(top)
    finally:
        os.close(top)
    try:
        os.rmdir(path)
    except OSError:
        pass  # some entry could not be removed


def _empty(top: int) -> None:
    """Remove all entries of a directory. Nested directories are moved up before they are emptied: a command may have
    nested them deeper than the maximum path length, the stack or the number of file descriptors allows."""
    removed = True
    while removed:  # retry failures: the target name of a move may have been in use
        removed = False
        for name in os.listdir(top):
            try:
                _remove(name, top)
            except OSError:
                continue
            removed = True


def _remove(name: str, top: int) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return
    make_removable(name, top)
    inner = os.open(name, _DIRECTORY, dir_fd=top)
    try:
        for child in os.listdir(inner):
            if stat.S_ISDIR(os.stat(child, dir_fd=inner, follow_symlinks=False).st_mode):
                make_removable(child, inner)
                os.rename(child, f".{next(_numbers)}", src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def remove_below(name: str, parent: int) -> None:
    """Remove one entry of an open directory. OSError: part of it is still there."""
    if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        make_removable(name, parent)
        inner = os.open(name, _DIRECTORY, dir_fd=parent)
        try:
            _empty(inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)


def make_removable(name: str, parent: int) -> None:
    """Set mode 0700, as the command may have removed all permissions. By descriptor: `chmod` would follow a link."""
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
