"""What a container is to be, and the options of `run` that make it so. Pure, but for what is a directory.

The same words do for docker and podman; where they differ, the older spelling is used, which both take.
"""

from __future__ import annotations

import os

from nacre.base.frozen import frozen
from nacre.engines.guest.mounts import mounted_below
from nacre.sandbox.describe import AGENT_CONFIG
from nacre.sandbox.workspace import Workspace, is_below
from nacre.types import StrPath

GUEST_DIR = "/run/nacre"
"""Where a container finds what it is to run."""
EMPTY = "empty"
"""A directory beside the letters, with nothing in it: what covers a hidden one."""
TAG_BITS = 48
"""Bits of what a run is known by there, a limit on file locks."""
_FIRST = (
    f"(ulimit -x {(1 << TAG_BITS) - 1}) 2>/dev/null||"
    "{ echo 'Error: it has a limit on file locks of its own.';exit 1; };"
    f"printf up >{GUEST_DIR}/up;IFS= read -r _"
)
"""What it is for, beside what is run in it: to tell that it is up, and to end when nobody holds it any more. Where no
run can be marked, all would be taken for nobody's."""


@frozen
class MountState:
    """What of this machine goes into a container, and what each path that is mounted or covered there leads to: a mount
    goes with its file, and what does not exist has none."""

    workspace: Workspace
    places: tuple[tuple[int, int] | None, ...]
    mounted: tuple[str, ...] = ()
    """Where other file systems begin in what may only be read: a read-only mount does not cover them."""


def find_mount_state(own: str, workspace: Workspace, hidden: tuple[str, ...], *, reads: bool = False) -> MountState:
    """As it is now. `reads`: all of it may only be read, not just what is protected."""
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
    """What one container is made like: two runs with the same can share it."""

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
    """What the caller lets be written, or protects, beside what always is."""
    mount_state: MountState

    @property
    def roots(self) -> tuple[str, ...]:
        """All of this machine that is in it."""
        return tuple(dict.fromkeys((self.workspace, *self.mount_state.workspace.roots)))


def guest_path(made: ContainerSpec, path: str) -> str:
    """A path of this machine, as it is called in the container: what is mounted is mounted by its real name."""
    real = os.path.realpath(path)
    return real if _is_in(real, made.roots) else path


def is_visible(made: ContainerSpec, path: StrPath) -> bool:
    """Whether a file of this machine is in it."""
    real = os.path.realpath(path)
    return _is_in(real, made.roots) and not _is_in(real, made.hidden)


def run_options(made: ContainerSpec, *, name: str, letters: str) -> list[str]:
    """Everything after `run`."""
    reads = made.access == "restricted"
    given = ["--rm", "-i", "--pull", "never", "--name", name, "--entrypoint", "bash", "--workdir", "/"]
    given += ["--label", "nacre=1", "--stop-signal", "SIGKILL"]  # its first process hears no other
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
    own = _bind(letters, GUEST_DIR, reads=True)  # it writes to the letters' pipes all the same
    for mount in (own, *_mounts(made, f"{letters}/{EMPTY}")):
        given += ["--mount", mount]
    return [*given, *made.options, made.image, "-c", _FIRST]


def _mounts(made: ContainerSpec, empty: str) -> list[str]:
    """One for each path, the last word about it; but nothing can be mounted in what is covered."""
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
    """No tmpfs: podman would put into it what it is to cover."""
    return _bind(empty if os.path.isdir(path) else os.devnull, path, reads=True)


def _row(*fields: str) -> str:
    """Comma-separated, as both engines read it."""
    return ",".join('"' + field.replace('"', '""') + '"' if set(field) & set(',"\n') else field for field in fields)


def enforced_parts(made: ContainerSpec) -> tuple[str, ...]:
    """Each part of what holds, by the names that results use. What is protected and does not exist has no mount over
    it: it is compared before and after. Not `unix-sockets`: to those in the workspace it can connect, by a read-only
    mount too, and a filter of ours would take the place of the engine's own, which is stricter in all else."""
    confined = made.access != "unrestricted"
    parts = {
        "container": True,
        "writes": True,  # nothing of this machine but the workspace is there
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
    """For the model that writes the commands."""
    where = ", ".join(made.roots)
    parts = [
        f"Commands run in a container made from {made.image}: of this machine it has only {where}"
        + (", to be read." if made.access == "restricted" else ".")
    ]
    if made.access == "restricted":
        parts.append("They can write nothing but /tmp and the like, which go with the container.")
    else:
        parts.append("What is changed elsewhere stays for the next command, and goes with the container.")
    parts.append("The network can be used." if made.network else "They have no network.")
    if made.access == "workspace":
        parts.append(f"{AGENT_CONFIG} can only be read, or are removed afterwards where they are new.")
    if made.hidden:
        parts.append(f"These cannot be read: {', '.join(made.hidden)}.")
    return " ".join(parts)
