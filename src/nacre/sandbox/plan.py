"""Access mode and kernel in; what will be enforced, and the name of each part of it, out. Pure.

A mode promises something. What this kernel cannot keep of it is an `AccessUnavailable`, unless the caller takes less;
what it keeps beyond the promise is named all the same.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from nacre.errors import AccessUnavailable
from nacre.frozen import frozen
from nacre.sandbox import landlock
from nacre.sandbox.confinement import CLOSE, HIDE, MEMORY, OPEN, TERMINALS, Confinement
from nacre.sandbox.kernel import Kernel
from nacre.sandbox.seccomp import Sockets, program
from nacre.sandbox.workspace import Workspace, is_below
from nacre.types import GIB, Limits, Network

Confined: TypeAlias = Literal["restricted", "workspace"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""Writing to one of these changes nothing."""
_TERMINALS = ("/dev/ptmx", "/dev/pts")
_SHARED_MEMORY = "/dev/shm"  # where POSIX shared memory is

CACHES = {
    "npm_config_cache": ("~/.npm", "npm"),
    "YARN_CACHE_FOLDER": ("~/.cache/yarn", "yarn"),
    "PIP_CACHE_DIR": ("~/.cache/pip", "pip"),
    "UV_CACHE_DIR": ("~/.cache/uv", "uv"),
    "GOCACHE": ("~/.cache/go-build", "go-build"),
    "CCACHE_DIR": ("~/.cache/ccache", "ccache"),
}
"""Tools that fail without a cache they can write, by the variable that moves it: where it is, where it goes."""


def caches_to_move(env: Mapping[str, str], workspace: Workspace) -> tuple[tuple[str, str], ...]:
    """Those that are out of reach, unless the caller has moved them himself."""
    home = env.get("HOME", "")
    return tuple(
        (name, below)
        for name, (place, below) in CACHES.items()
        if name not in env and not any(is_below(place.replace("~", home, 1), root) for root in workspace.roots)
    )


@frozen(kw_only=True)
class Wanted:
    """What a caller asks for, every path real and absolute."""

    access: Confined
    network: Network = False
    unix_sockets: bool = False
    partial: bool = False
    workspace: Workspace | None = None
    hidden: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    """Everything but what is hidden."""
    caches: tuple[tuple[str, str], ...] = ()
    """Variables to point into the private TMPDIR, and where there."""


@frozen(kw_only=True)
class Enforceable:
    """What can be had."""

    confinement: bytes
    """As the keeper takes it."""
    wanted: Wanted | None = None
    enforced: tuple[str, ...]
    watched: tuple[str, ...] = ()
    """Protected paths that no kernel guards here: compared before and after."""
    roots: tuple[str, ...] = ()
    """Where the command may write."""
    words: str = ""
    """For the model, where `wanted` does not tell all."""
    place: object = None
    """What an engine has to know again when it starts the run."""


@lru_cache(maxsize=64)  # an agent's commands are confined alike
def enforceable(wanted: Wanted, kernel: Kernel, limits: Limits) -> Enforceable:
    """AccessUnavailable: less than the mode promises."""
    if not kernel.confines:
        raise _unavailable(wanted.access, kernel.lack, "Use access='unrestricted' where the command may do anything.")
    enforced = _enforced(wanted, kernel)
    missing = [name for name in _promised(wanted) if name not in enforced]
    if missing and not wanted.partial:
        raise _unavailable(
            wanted.access,
            f"This kernel (Landlock ABI {kernel.landlock}{'' if kernel.seccomp else ', no seccomp'}"
            f"{'' if kernel.mounts else ', no namespaces'}) cannot keep what it promises: {', '.join(missing)}.",
            "`nacre doctor` shows what is missing; allow_partial=True takes what there is.",
        )
    confinement = _confinement(wanted, kernel)
    bound(confinement, limits)
    return Enforceable(
        confinement=confinement.encode(),
        wanted=wanted,
        enforced=tuple(enforced),
        watched=_watched(wanted, kernel),
        roots=() if wanted.workspace is None else wanted.workspace.roots,
    )


def _unavailable(access: str, reason: str, hint: str) -> AccessUnavailable:
    return AccessUnavailable(
        "access_unavailable",
        f"Access {access!r} cannot be enforced here, so the command was not run. {reason}",
        field="access",
        hint=hint,
    )


def network_rules(network: Network) -> tuple[str, ...]:
    """What keeps a promise about the network, the best first; the others keep only part of it."""
    if isinstance(network, tuple):
        return (f"network-ports:{','.join(map(str, network))}",)
    return ("network-loopback", "network") if network == "loopback" else () if network else ("network", "tcp")


def _promised(wanted: Wanted) -> list[str]:
    return ["writes", *network_rules(wanted.network)[:1], *(["hidden"] if wanted.hidden else [])]


def _enforced(wanted: Wanted, kernel: Kernel) -> list[str]:
    """Each part of it by name, in the order a reader wants it."""
    abi, seccomp = kernel.landlock, kernel.seccomp
    restricted = wanted.access == "restricted"
    parts = {
        "writes": abi >= 3 or seccomp,  # older ones let a file be truncated
        **_network_parts(wanted.network, kernel),
        "unix-sockets": seccomp and not wanted.unix_sockets,
        "abstract-sockets": abi >= 6 or (seccomp and not wanted.unix_sockets),
        "signals": abi >= 6,
        "devices": abi >= 5,
        "metadata": seccomp if restricted else kernel.mounts,
        "shared-memory": seccomp and not wanted.unix_sockets,
        "protected": not restricted and not _watched(wanted, kernel),
        "hidden": bool(wanted.hidden) and (kernel.mounts or not _is_in_the_way(wanted)),
        "tracing": True,
        "privileges": True,
        "kernel": seccomp,
        "limits": True,
    }
    return [name for name, has in parts.items() if has]


def _network_parts(network: Network, kernel: Kernel) -> dict[str, bool]:
    abi, seccomp = kernel.landlock, kernel.seccomp
    if isinstance(network, tuple):
        return {network_rules(network)[0]: abi >= 4 and seccomp}
    if network == "loopback":
        return {"network-loopback": kernel.networks, "network": not kernel.networks and seccomp}
    return {} if network else {"network": seccomp, "tcp": not seccomp and abi >= 4}


def _watched(wanted: Wanted, kernel: Kernel) -> tuple[str, ...]:
    if wanted.workspace is None:
        return ()
    return wanted.workspace.missing if kernel.mounts else (*wanted.workspace.protected, *wanted.workspace.missing)


def _is_in_the_way(wanted: Wanted) -> bool:
    """Landlock gives and cannot take back: nothing can be hidden inside what may be written."""
    roots = () if wanted.workspace is None else wanted.workspace.roots
    return any(is_below(path, root) for path in wanted.hidden for root in roots)


def _confinement(wanted: Wanted, kernel: Kernel) -> Confinement:
    files, tcp, scopes = landlock.handled(kernel.landlock)
    network, workspace = wanted.network, wanted.workspace
    carved = bool(wanted.hidden) and not kernel.mounts and not _is_in_the_way(wanted)
    if not carved:
        files &= ~landlock.READING
    grants = [(landlock.WRITE_FILE | landlock.TRUNCATE | landlock.IOCTL_DEV, path) for path in DEVICES]
    mounts: list[tuple[bytes, str]] = []
    if workspace is not None:
        grants += [(landlock.EVERYTHING, root) for root in (*workspace.roots, _SHARED_MEMORY)]
        grants += [(landlock.WRITE_FILE | landlock.IOCTL_DEV, path) for path in _TERMINALS]
        mounts += [(OPEN, path) for path in sorted({*workspace.roots, *workspace.pinned})]
        mounts += [(MEMORY, _SHARED_MEMORY), (TERMINALS, _TERMINALS[1])]
        mounts += [(CLOSE, path) for path in workspace.protected]
    if carved:
        grants.append((landlock.READ_DIR, "/"))
        grants += [(landlock.READING, path) for path in wanted.around]
        grants += [(landlock.READING, path) for path in DEVICES]
    mounts += [(HIDE, path) for path in wanted.hidden]
    return Confinement(
        powerless=True,
        landlock=(files, 0 if network is True or (network == "loopback" and kernel.networks) else tcp, scopes),
        grants=[(rights, os.fsencode(path)) for rights, path in grants],
        ports=network if isinstance(network, tuple) else (),
        filter=_filter(wanted, kernel),
        closed=workspace is not None and kernel.mounts,
        mounts=[(how, os.fsencode(path)) for how, path in mounts] if kernel.mounts else (),
        loopback=network == "loopback" and kernel.networks,
        redirects=[(name.encode(), below.encode()) for name, below in wanted.caches],
    )


def _filter(wanted: Wanted, kernel: Kernel) -> bytes:
    if not kernel.seccomp:
        return b""
    restricted = wanted.access == "restricted"
    sockets: Sockets = "none"
    if isinstance(wanted.network, tuple):
        sockets = "tcp"
    elif wanted.network is True or (wanted.network and kernel.networks):
        sockets = "internet"
    return program(
        kernel.machine,
        sockets=sockets,
        unix=wanted.unix_sockets,
        metadata=restricted,
        shared=not wanted.unix_sockets,
        truncation=kernel.landlock < 3,
    )


def limited(limits: Limits) -> Enforceable:
    """Free to do anything, within limits."""
    confinement = Confinement()
    bound(confinement, limits)
    return Enforceable(confinement=confinement.encode(), enforced=("limits",))


def bound(confinement: Confinement, limits: Limits) -> None:
    """Add what one run may cost: counted by the keeper over all its processes, and set for each as a second line."""
    rows: list[tuple[int, int]] = [(resource.RLIMIT_CORE, 0)]
    if limits.memory is not None:
        confinement.watched.append((b"memory", limits.memory))
        # what a process asks for, not what it uses: more than it may have, or programs fail that would not need it all
        rows.append((resource.RLIMIT_DATA, limits.memory + max(limits.memory, GIB)))
    if limits.cpu is not None:
        confinement.watched.append((b"cpu", float(limits.cpu)))
        rows.append((resource.RLIMIT_CPU, math.ceil(limits.cpu) + 1))
    if limits.processes is not None:
        confinement.watched.append((b"processes", limits.processes))
    if limits.file_size is not None:
        rows.append((resource.RLIMIT_FSIZE, limits.file_size))
    if limits.open_files is not None:
        rows.append((resource.RLIMIT_NOFILE, limits.open_files))
    confinement.limits = rows
