"""A directory of this machine, shipped once to each node that runs commands in it.

Archives are identified by their digest: one that a node has, from any program, is not sent again. Each engine gets a
separate unpacked copy, so its later commands on that node see what its commands write, and no other program does.
Nothing is copied back.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import tarfile
import tempfile
import time

from nacre.base.frozen import frozen, replace
from nacre.base.system import state_directory
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.keeper.protocol.private_tmpdir import remove_below
from nacre.planning.validate import absolute
from nacre.sandbox.workspace import is_below
from nacre.types import StrPath, ToolContext

MAX_ARCHIVE_BYTES = 1024**3
"""Bytes of an archive: it is built in memory, and kept in Ray's object store while its engine is in use."""
_KEEP_SECONDS = 7 * 24 * 3600.0
"""Seconds for which unused archives and copies are kept."""
_ARCHIVE = ".tar"
_IN_USE = ".lock"
"""Suffix of the file next to a copy that is locked while the copy is in use."""


@frozen(kw_only=True)
class ShippedWorkspace:
    """A workspace: its path here, and the identity of its copy on nodes."""

    here: str
    digest: str
    copy: str

    @property
    def root(self) -> str:
        """Path of the copy on a node."""
        return os.path.join(_cache(), f"{self.digest[:32]}-{self.copy}")

    def node_path(self, path: str) -> str:
        """Translate a path to a node; paths outside of the workspace are the same everywhere."""
        return self.root + path[len(self.here) :] if is_below(path, self.here) else path

    def local_path(self, path: str) -> str:
        """Translate a path from a node."""
        return self.here + path[len(self.root) :] if is_below(path, self.root) else path

    def context(self, ctx: ToolContext) -> ToolContext:
        """Return the context with its paths as on a node."""
        moved = {name: tuple(self.node_path(os.fspath(path)) for path in getattr(ctx, name)) for name in _PATHS}
        assert ctx.workspace is not None, "what travels has one"
        return replace(ctx, workspace=self.node_path(os.fspath(ctx.workspace)), **moved)


_PATHS = ("writable", "protected", "hidden", "allowed_paths")


def real_directory(cwd: str, here: str) -> str:
    """Return the real path of a directory in the workspace. InvalidRequest: it is outside."""
    real = os.path.realpath(cwd)
    if not is_below(real, here):
        raise InvalidRequest(
            "cwd_not_shipped",
            f"{cwd!r} is outside the shipped workspace, {here!r}.",
            field="cwd",
            hint="Start in the workspace or below it.",
        )
    return real


def real_context(ctx: ToolContext, here: str) -> ToolContext:
    """Return the context with real paths in the workspace: nodes do not have the links that lead to it from outside."""
    assert ctx.workspace is not None, "what travels has one"
    root = real_directory(os.fspath(ctx.workspace), here)
    paths = {name: tuple(real for path in getattr(ctx, name) for real in _real(path, root, here)) for name in _PATHS}
    return replace(ctx, workspace=root, **paths)


def _real(path: StrPath, cwd: str, here: str) -> list[StrPath]:
    """Return the real paths that a path may mean: a link in the workspace is included as well as its target, which may
    change."""
    placed = os.path.normpath(os.path.join(cwd, os.path.expanduser(os.fspath(path))))
    above, name = os.path.split(placed)
    names = [os.path.realpath(placed), os.path.join(os.path.realpath(above), name)]
    if any(is_below(each, here) for each in names):
        return list(dict.fromkeys(names))
    return [path if os.fspath(path).startswith("~") else placed]  # nodes have other home directories


def pack(directory: str) -> bytes:
    """Return the directory as a tar archive: the same bytes for the same files, whatever their owner.
    EngineUnavailable: it is too large, or cannot be read."""
    size = 0

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal size
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            return None  # pipes and devices work only on this machine
        size += member.size
        if size > MAX_ARCHIVE_BYTES:
            raise EngineUnavailable(
                f"The workspace {directory} is larger than {MAX_ARCHIVE_BYTES / 1024**3:g} GiB.",
                "Put it on storage that every node shares, and leave `workspace` out.",
            )
        if member.issym():
            member.linkname = _link(member.linkname, os.path.dirname(os.path.join(directory, member.name)), directory)
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode &= 0o777
        member.mtime = int(member.mtime)
        return member

    buffer = io.BytesIO()
    try:
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(directory, arcname=".", filter=plain)
    except OSError as error:  # also if a file is removed or truncated meanwhile
        raise EngineUnavailable(
            f"Cannot pack the workspace {directory}: {error}.",
            "Every file in it must be readable, and must not change while it is packed.",
        ) from error
    return buffer.getvalue()


def _link(target: str, above: str, directory: str) -> str:
    """Return the target of a link in the archive. Targets in the workspace, by any path, become relative, so that they
    lead into the copy; others stay."""
    whole = os.path.join(above, target)
    parent, name = os.path.split(whole)
    leads_to = [os.path.realpath(whole)]
    if name not in ("", ".", ".."):  # may itself be a link, which is shipped as one
        leads_to.insert(0, os.path.join(os.path.realpath(parent), name))
    for place in leads_to:
        if is_below(place, directory):
            return os.path.relpath(place, above)
    return target


def digest_of(archive: bytes) -> str:
    """Return the SHA-256 digest of an archive in hexadecimal digits."""
    return hashlib.sha256(archive).hexdigest()


# on a node


def has_archive(digest: str) -> bool:
    """Return whether this node has the archive, and mark it as used."""
    try:
        os.utime(_archive(digest))  # in use: not to be removed as old
    except OSError:
        return False
    return True


def keep_archive(digest: str, data: bytes) -> None:
    """Store an archive on this node."""
    os.makedirs(_cache(), mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=_cache(), delete=False) as file:
        file.write(data)
    os.replace(file.name, _archive(digest))


def unpack(workspace: ShippedWorkspace) -> int:
    """Unpack this engine's copy, unless it exists; atomically. Return a descriptor that protects it while open."""
    os.makedirs(_cache(), mode=0o700, exist_ok=True)
    hold = os.open(workspace.root + _IN_USE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(hold, fcntl.LOCK_SH)
        os.utime(hold)
        if not os.path.isdir(workspace.root):
            _tidy()
            _unpack(workspace)
    except BaseException:
        os.close(hold)
        raise
    return hold


def _unpack(workspace: ShippedWorkspace) -> None:
    draft = tempfile.mkdtemp(dir=_cache())
    try:
        with tarfile.open(_archive(workspace.digest)) as archive:
            # Extract as packed. An attribute, because the first releases of Python 3.11 have no `filter` argument.
            archive.extraction_filter = lambda member, _: member
            archive.extractall(draft)
        os.rename(draft, workspace.root)
    except BaseException:
        _remove(draft)
        raise


def _tidy() -> None:
    """Remove archives and copies that were not used for a long time."""
    late = time.time() - _KEEP_SECONDS
    for name in os.listdir(_cache()):
        path = os.path.join(_cache(), name)
        with contextlib.suppress(OSError):
            if name.endswith(_IN_USE):
                _remove_copy(path, late)
            elif name.endswith(_ARCHIVE) and os.stat(path).st_mtime < late:
                os.unlink(path)
            elif name.startswith(tempfile.gettempprefix()) and os.lstat(path).st_ctime < late:
                _remove(path)  # its creator was killed


def _remove_copy(lock: str, late: float) -> None:
    """Remove an old copy. OSError: it is in use."""
    fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_mtime < late:
            _remove(lock.removesuffix(_IN_USE))
            os.unlink(lock)
    finally:
        os.close(fd)


def _remove(directory: str) -> None:
    """Remove a directory, whatever commands have done to it. Errors are ignored."""
    above, name = os.path.split(directory)
    with contextlib.suppress(OSError):
        fd = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_below(name, fd)
        finally:
            os.close(fd)


def _cache() -> str:
    return os.path.join(state_directory(), "workspaces")


def _archive(digest: str) -> str:
    return os.path.join(_cache(), digest + _ARCHIVE)


def check_workspace(workspace: StrPath) -> str:
    """Return the real path of the workspace. InvalidRequest: it is not a directory."""
    real = os.path.realpath(absolute(workspace, "workspace"))
    if not os.path.isdir(real):
        raise InvalidRequest(
            "bad_workspace",
            f"`workspace` is {real!r}, which is not a directory.",
            field="workspace",
            hint="Give one that exists.",
        )
    return real
