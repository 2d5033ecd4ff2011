"""The spec of a container, and the options of `run` that create it. Pure, except for reading file metadata.

The same options work with docker and podman; where they differ, the older spelling is used, which both accept.
"""

from __future__ import annotations

import os

from nacre.base.frozen import frozen
from nacre.engines.guest.mounts import mounted_below
from nacre.sandbox.describe import AGENT_CONFIG
from nacre.sandbox.workspace import Workspace, is_below
from nacre.types import StrPath

GUEST_DIR = "/run/nacre"
"""Mount point of the run directories in a container."""
EMPTY = "empty"
"""Name of an empty directory next to the run directories; it covers hidden directories."""
TAG_BITS = 48
"""Bits of a run's tag in a container, a limit on file locks (RLIMIT_LOCKS)."""
_FIRST = (
    f"(ulimit -x {(1 << TAG_BITS) - 1}) 2>/dev/null||"
    "{ echo 'Error: the container sets its own limit on file locks.';exit 1; };"
    f"printf up >{GUEST_DIR}/up;IFS= read -r _"
)
"""Script of the container's first process: report that the container is up, and exit at EOF, when no process holds the
keepalive FIFO. It fails where tags cannot be set: every process would count as one of no run, and be killed."""


@frozen
class MountState:
    """The paths of this machine in a container, and the device and inode of each that is mounted or covered. A mount
    stays on its inode when the path is replaced, and a path that does not exist has no mount."""

    workspace: Workspace
    places: tuple[tuple[int, int] | None, ...]
    mounted: tuple[str, ...] = ()
    """Mount points below read-only directories: a read-only mount does not cover them."""


def find_mount_state(own: str, workspace: Workspace, hidden: tuple[str, ...], *, reads: bool = False) -> MountState:
    """Return the current mount state. `reads`: everything is read-only, not only protected paths."""
    tops = (own, *workspace.roots) if reads else workspace.protected
    mounted = tuple(path for path in mounted_below(tops) if not _is_in(path, hidden))
    paths = (own, *workspace.roots, *workspace.protected, *hidden, *mounted)
    return MountState(workspace, tuple(map(_place, paths)), mounted)


def _place(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@frozen(kw_only=True)
class ContainerSpec:
    """Everything that determines a container. Runs with equal specs share one."""

    conversation: str
    image: str
    workspace: str
    access: str
    network: bool
    memory: int | None = None
    cpus: float | None = None
    processes: int | None = None
    user: str | None = None
    options: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    explicit_paths: tuple[str, ...] = ()
    """Paths that the caller makes writable or protects, in addition to the defaults."""
    mount_state: MountState

    @property
    def roots(self) -> tuple[str, ...]:
        """The directories of this machine that are mounted."""
        return tuple(dict.fromkeys((self.workspace, *self.mount_state.workspace.roots)))


def guest_path(made: ContainerSpec, path: str) -> str:
    """Return a path of this machine as the container sees it: directories are mounted at their real paths."""
    real = os.path.realpath(path)
    return real if _is_in(real, made.roots) else path


def is_visible(made: ContainerSpec, path: StrPath) -> bool:
    """Return whether the container sees a file of this machine."""
    real = os.path.realpath(path)
    return _is_in(real, made.roots) and not _is_in(real, made.hidden)


def run_options(made: ContainerSpec, *, name: str, letters: str) -> list[str]:
    """Return the arguments after `run`."""
    reads = made.access == "restricted"
    given = ["--rm", "-i", "--pull", "never", "--name", name, "--entrypoint", "bash", "--workdir", "/"]
    given += ["--label", "nacre=1", "--stop-signal", "SIGKILL"]  # PID 1 ignores all others
    if not made.network:
        given += ["--network", "none"]
    if made.access != "unrestricted":
        given += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    if reads:
        given += ["--read-only", "--tmpfs", "/tmp"]
    if made.memory is not None:
        given += ["--memory", f"{made.memory}b", "--memory-swap", f"{made.memory}b"]
    if made.cpus is not None:
        given += ["--cpus", f"{made.cpus:g}"]
    if made.processes is not None:
        given += ["--pids-limit", str(made.processes)]
    if made.user is not None:
        given += ["--user", made.user]
    own = _bind(letters, GUEST_DIR, reads=True)  # FIFOs on a read-only mount can still be written to
    for mount in (own, *_mounts(made, f"{letters}/{EMPTY}")):
        given += ["--mount", mount]
    return [*given, *made.options, made.image, "-c", _FIRST]


def _mounts(made: ContainerSpec, empty: str) -> list[str]:
    """Return one mount for each path, where the last rule wins. Paths below a cover get none: nothing can be mounted
    there."""
    reads, workspace = made.access == "restricted", made.mount_state.workspace
    mounts = {path: _bind(path, path, reads=reads) for path in (*made.roots, *workspace.pinned)}
    mounts |= {path: _bind(path, path, reads=True) for path in (*workspace.protected, *made.mount_state.mounted)}
    hidden = [path for path in made.hidden if os.path.lexists(path) and _is_in(path, made.roots)]
    covers = {path: _cover(path, empty) for path in (*hidden, *mounts) if _is_in(path, made.hidden)}
    return [mount for path, mount in {**mounts, **covers}.items() if not _is_in(os.path.dirname(path), (*covers,))]


def _is_in(path: str, others: tuple[str, ...]) -> bool:
    return any(is_below(path, other) for other in others)


def _bind(source: str, target: str, *, reads: bool) -> str:
    return _row("type=bind", f"src={source}", f"dst={target}", *(["readonly"] if reads else []))


def _cover(path: str, empty: str) -> str:
    """Return a bind mount that covers a path. Not a tmpfs: podman would copy the covered content into it."""
    return _bind(empty if os.path.isdir(path) else os.devnull, path, reads=True)


def _row(*fields: str) -> str:
    """Join fields by commas, quoted as both engines parse them."""
    return ",".join('"' + field.replace('"', '""') + '"' if set(field) & set(',"\n') else field for field in fields)


def enforced_parts(made: ContainerSpec) -> tuple[str, ...]:
    """Return the names of the enforced rules, as in results.

    A protected path that does not exist has no mount; it is compared before and after the run. `unix-sockets` is not
    enforced: a command can connect to sockets in the workspace, even through a read-only mount, and a seccomp filter of
    nacre's would replace the engine's own, which is stricter in everything else.
    """
    confined = made.access != "unrestricted"
    parts = {
        "container": True,
        "writes": True,  # no other directory of this machine is mounted
        "network": not made.network,
        "abstract-sockets": not made.network,
        "signals": True,
        "tracing": True,
        "protected": made.access == "workspace" and not made.mount_state.workspace.missing,
        "protected-existing": made.access == "workspace" and bool(made.mount_state.workspace.missing),
        "hidden": bool(made.hidden),
        "privileges": confined,
        "limits": made.memory is not None or made.processes is not None,
    }
    return tuple(name for name, has in parts.items() if has)


def describe_container(made: ContainerSpec) -> str:
    """Return a description for the model that writes the commands."""
    where = ", ".join(made.roots)
    parts = [
        f"Commands run in a container from image {made.image}: of this machine it has only {where}"
        + (", read-only." if made.access == "restricted" else ".")
    ]
    if made.access == "restricted":
        parts.append("They can write only to /tmp and the like, which are removed with the container.")
    else:
        parts.append("Changes elsewhere are kept for the next command, and removed with the container.")
    parts.append("The network can be used." if made.network else "They have no network.")
    if made.access == "workspace":
        parts.append(f"{AGENT_CONFIG} are read-only; new ones are removed afterwards.")
    if made.hidden:
        parts.append(f"These cannot be read: {', '.join(made.hidden)}.")
    return " ".join(parts)
