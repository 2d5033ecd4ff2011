"""Private directories of confined runs: made empty, removed with all that is in them.

What a command leaves there may be anything: links, closed directories, a million files. Links are never followed, and
removing takes place beside the keeper's other work.
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
    """A new one. OSError: it cannot be made, as where somebody has tidied the root away and its name is another's."""
    top = os.open(root, _DIRECTORY)
    try:
        if os.fstat(top).st_uid != os.geteuid():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))  # of ours
        while True:
            name = b"tmp-%d" % next(_numbers)
            try:
                os.mkdir(name, 0o700, dir_fd=top)
            except FileExistsError:
                continue  # of a keeper that died
            return os.path.join(root, name)
    finally:
        os.close(top)


def remove_private_tmpdir(path: bytes) -> None:
    """Now if it is empty, as it nearly always is; else soon."""
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
            work()  # no thread to be had: then everything else waits


def forget() -> None:
    """In a fork: that work is its parent's."""
    _removers.clear()


def wait_for_removals() -> None:
    while _removers:
        _removers.pop().acquire()


def remove_tree(path: bytes) -> None:
    """As far as it goes."""
    try:
        os.rmdir(path)  # which takes no descriptor, if it is empty: there may be none
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
        pass  # something in it could not be removed


def _empty(top: int) -> None:
    """Directories in it are emptied by moving those in them up: a command may have nested them deeper than a path, a
    stack or the number of descriptors goes."""
    removed = True
    while removed:  # what fails may succeed later: a name that something was to be moved to may have been in use
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
    _make_removable(name, top)
    inner = os.open(name, _DIRECTORY, dir_fd=top)
    try:
        for child in os.listdir(inner):
            if stat.S_ISDIR(os.stat(child, dir_fd=inner, follow_symlinks=False).st_mode):
                _make_removable(child, inner)
                os.rename(child, f".{next(_numbers)}", src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def remove_below(name: str, parent: int) -> None:
    """One entry of an open directory. OSError: some of it is still there."""
    if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        _make_removable(name, parent)
        inner = os.open(name, _DIRECTORY, dir_fd=parent)
        try:
            _empty(inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)


def _make_removable(name: str, parent: int) -> None:
    """The command may have closed it to everybody. Through a descriptor: `chmod` would follow a link."""
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
