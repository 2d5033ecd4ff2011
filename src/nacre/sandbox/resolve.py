"""Resolves an access mode and a kernel to the restrictions that will be enforced, each with its name. Pure.

Each mode promises certain parts. If this kernel cannot enforce them all, `AccessUnavailable` is raised unless the
caller allows partial enforcement. Parts enforced beyond the promise are named as well.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from nacre.base.frozen import frozen
from nacre.errors import AccessUnavailable
from nacre.sandbox.kernel import landlock
from nacre.sandbox.kernel.ruleset import HIDDEN, MIN_THREADS, PTS, READ_ONLY, SHM, WRITABLE, Ruleset
from nacre.sandbox.kernel.seccomp import Sockets, program
from nacre.sandbox.probe import Kernel
from nacre.sandbox.protected_names import OWN_CODE
from nacre.sandbox.workspace import Workspace, is_below
from nacre.types import GIB, NO_PROTECTED_PATHS, EngineData, Limits, Network, ProtectedPaths

ConfinedAccess: TypeAlias = Literal["restricted", "workspace"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""Devices that may be written: a write to one of these changes nothing."""
_TERMINALS = ("/dev/ptmx", "/dev/pts")
SHARED_MEMORY = "/dev/shm"  # where POSIX shared memory is
_READABLE_DEVICES = (SHARED_MEMORY, "/dev/mqueue", "/dev/hugepages")
"""Devices in /dev that may be read in addition to `DEVICES`. Terminals are left out: one that can be opened would
become the controlling terminal of a new session, and `/dev/tty`, which is granted, would then lead to it."""

_THREADS_PER_PROCESS = 4

CACHES = {
    "npm_config_cache": ("~/.npm", "npm"),
    "YARN_CACHE_FOLDER": ("~/.cache/yarn", "yarn"),
    "PIP_CACHE_DIR": ("~/.cache/pip", "pip"),
    "UV_CACHE_DIR": ("~/.cache/uv", "uv"),
    "GOCACHE": ("~/.cache/go-build", "go-build"),
    "CCACHE_DIR": ("~/.cache/ccache", "ccache"),
}
"""Caches without which a tool fails if they are not writable. Key: the variable that moves the cache. Values: its
default path, and its new path in the private TMPDIR."""


def caches_to_move(env: Mapping[str, str], workspace: Workspace) -> tuple[tuple[str, str], ...]:
    """Return variable and new path of each cache outside the workspace that the caller has not moved already."""
    home = env.get("HOME", "")
    return tuple(
        (name, below)
        for name, (place, below) in CACHES.items()
        if name not in env and not any(is_below(place.replace("~", home, 1), root) for root in workspace.roots)
    )


@frozen(kw_only=True)
class SandboxRequest:
    """The access that a caller requests. Every path is real and absolute."""

    access: ConfinedAccess
    network: Network = False
    unix_sockets: bool = False
    partial: bool = False
    workspace: Workspace | None = None
    hidden: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    """Hidden files that are readable by another name: see `hard_links.py`."""
    readable_siblings: tuple[str, ...] = ()
    """All paths that may be read if some are hidden: everything except devices, hidden paths and their parents."""
    top_directories: tuple[str, ...] = ()
    """All paths that may be read if none is hidden: everything except devices."""
    own_code: tuple[str, ...] = ()
    """Paths in `workspace.protected` that nacre itself runs from. They must not be writable."""
    own_directories: tuple[str, ...] = ()
    """Paths in `workspace.protected` that nacre writes tasks and output to. They must not be writable."""
    caches: tuple[tuple[str, str], ...] = ()
    """Variables to point into the private TMPDIR, each with its path there."""

    @property
    def own(self) -> tuple[str, ...]:
        """Paths that belong to nacre. Only mounts protect them: they are too large to compare, or nacre writes to
        them."""
        return (*self.own_code, *self.own_directories)


@frozen(kw_only=True)
class SandboxPlan:
    """The access that can be enforced on this machine."""

    ruleset: Ruleset | None = None
    """Restrictions for the kernel; None for none."""
    request: SandboxRequest | None = None
    enforced: tuple[str, ...]
    """Names of the enforced parts, as in `Result.enforced`."""
    protected: ProtectedPaths = NO_PROTECTED_PATHS
    description: str = ""
    """Text for the model, if `request` does not tell everything."""
    engine_data: EngineData | None = None
    """A value that an engine needs when it starts the run."""


@lru_cache(maxsize=64)  # an agent's commands all have the same access
def resolve(wanted: SandboxRequest, kernel: Kernel, limits: Limits) -> SandboxPlan:
    """Return the restrictions for a request. Raises AccessUnavailable if the kernel enforces less than the mode
    promises and the caller does not allow that."""
    if not kernel.confines:
        raise _unavailable(wanted.access, kernel.missing, "Use access='unrestricted' if the command may do anything.")
    enforced = _enforced_parts(wanted, kernel)
    missing = [name for name in _required_parts(wanted) if name not in enforced]
    if missing and not wanted.partial:
        raise _unavailable(
            wanted.access,
            f"This kernel (Landlock ABI {kernel.landlock}{'' if kernel.seccomp else ', no seccomp'}"
            f"{'' if kernel.mounts else ', no namespaces'}) cannot enforce everything promised: {', '.join(missing)}.",
            "`nacre doctor` shows what is missing; allow_partial=True enforces the rest.",
        )
    if wanted.own_code and not kernel.mounts and not wanted.partial:
        raise own_code_exposed(
            wanted.own_code[0],
            "Protecting it needs root or unprivileged user namespaces.",
        )
    if wanted.own_directories and not kernel.mounts and not wanted.partial:
        raise _unavailable(
            wanted.access,
            f"nacre writes tasks and output to {wanted.own_directories[0]!r}, inside the workspace, where a command "
            "could forge some: protecting it needs root or unprivileged user namespaces.",
            "Name an `output_dir` and `spill_dir` outside the workspace, or none for the defaults.",
        )
    return SandboxPlan(
        ruleset=_build_ruleset(wanted, kernel, limits),
        request=wanted,
        enforced=tuple(enforced),
        protected=ProtectedPaths(
            compared=_compared_paths(wanted, kernel),
            writable_roots=() if wanted.workspace is None else wanted.workspace.roots,
            repositories=() if wanted.workspace is None else wanted.workspace.repositories,
            mounted=() if wanted.workspace is None or not kernel.mounts else wanted.workspace.protected,
            covered=_in_roots(wanted) if kernel.mounts else (),
            own_code=wanted.own,
        ),
    )


def _unavailable(access: str, reason: str, hint: str) -> AccessUnavailable:
    return AccessUnavailable(
        "access_unavailable",
        f"Access {access!r} cannot be enforced here, so the command was not run. {reason}",
        field="access",
        hint=hint,
    )


def own_code_exposed(path: str, reason: str) -> AccessUnavailable:
    """Return the error for a workspace that contains nacre's own code. `reason` ends the message."""
    return AccessUnavailable(
        "own_code_in_workspace",
        f"nacre itself runs from {path!r}, inside the workspace, so the command was not run: it could change the "
        f"code of its own sandbox. {reason}",
        field="access",
        hint="Install nacre in a separate environment outside the workspace. To let commands change it, "
        "as `pip install` into its environment does: "
        f"unprotected=({OWN_CODE!r},).",
    )


def network_rules(network: Network) -> tuple[str, ...]:
    """Return the rules for a network setting. The first keeps the whole promise, the others only part of it."""
    if isinstance(network, tuple):
        return (f"network-ports:{','.join(map(str, network))}",)
    return ("network-loopback", "network") if network == "loopback" else () if network else ("network", "tcp")


def _required_parts(wanted: SandboxRequest) -> list[str]:
    return ["writes", *network_rules(wanted.network)[:1], *(["hidden"] if wanted.hidden else [])]


def _enforced_parts(wanted: SandboxRequest, kernel: Kernel) -> list[str]:
    """Return the names of the parts that are enforced, in the order to show them."""
    abi, seccomp = kernel.landlock, kernel.seccomp
    restricted = wanted.access == "restricted"
    parts = {
        "writes": abi >= 3 or seccomp,  # before ABI 3, Landlock cannot deny truncation
        **_network_parts(wanted.network, kernel),
        "unix-sockets": seccomp and not wanted.unix_sockets,
        "abstract-sockets": abi >= 6 or (seccomp and not wanted.unix_sockets),
        "signals": abi >= 6,
        "devices": abi >= 5,
        "metadata": seccomp if restricted else kernel.mounts,
        "shared-memory": seccomp and not wanted.unix_sockets,
        **_protected_parts(wanted, kernel),
        "hidden": bool(wanted.hidden) and not wanted.exposed and (kernel.mounts or not _in_roots(wanted)),
        "tracing": True,
        "privileges": True,
        "kernel": seccomp,
        "limits": True,
    }
    return [name for name, has in parts.items() if has]


def _protected_parts(wanted: SandboxRequest, kernel: Kernel) -> dict[str, bool]:
    """Return the part for protected paths. No mount can protect a path that is missing or a link: these are
    compared."""
    if wanted.workspace is None or not kernel.mounts:
        return {}
    return {"protected-existing" if wanted.workspace.missing else "protected": True}


def _network_parts(network: Network, kernel: Kernel) -> dict[str, bool]:
    abi, seccomp = kernel.landlock, kernel.seccomp
    if isinstance(network, tuple):
        return {network_rules(network)[0]: abi >= 4 and seccomp}
    if network == "loopback":
        return {"network-loopback": kernel.networks, "network": not kernel.networks and seccomp}
    return {} if network else {"network": seccomp, "tcp": not seccomp and abi >= 4}


def _compared_paths(wanted: SandboxRequest, kernel: Kernel) -> tuple[str, ...]:
    if wanted.workspace is None:
        return ()
    if kernel.mounts:
        return wanted.workspace.missing
    return (*(path for path in wanted.workspace.protected if path not in wanted.own), *wanted.workspace.missing)


def _in_roots(wanted: SandboxRequest) -> tuple[str, ...]:
    """Return the hidden paths inside writable roots. Only a mount can hide them: Landlock cannot except a path from a
    grant."""
    roots = () if wanted.workspace is None else wanted.workspace.roots
    return tuple(path for path in wanted.hidden if any(is_below(path, root) for root in roots))


def _hidden_by_landlock(wanted: SandboxRequest, kernel: Kernel) -> bool:
    """Return whether Landlock denies reading hidden paths. It does so in addition to mounts where it can, because a
    mount is detached when a process outside replaces the path that it covers."""
    inside = _in_roots(wanted)
    return bool(wanted.hidden) and (len(inside) < len(wanted.hidden) if kernel.mounts else not inside)


def _build_ruleset(wanted: SandboxRequest, kernel: Kernel, limits: Limits) -> Ruleset:
    files, tcp, scopes = landlock.handled_rights(kernel.landlock)
    network, workspace = wanted.network, wanted.workspace
    carved = _hidden_by_landlock(wanted, kernel)
    reading = landlock.READING if carved else landlock.READ_FILE
    files &= ~landlock.READING | reading
    use = reading | landlock.WRITE_FILE | landlock.TRUNCATE | landlock.IOCTL_DEV
    grants = [(use, path) for path in DEVICES]
    mounts: list[tuple[bytes, str]] = []
    if workspace is not None:
        grants += [(landlock.EVERYTHING, root) for root in (*workspace.roots, SHARED_MEMORY)]
        mounts += [(WRITABLE, path) for path in sorted({*workspace.roots, *workspace.pinned})]
        mounts.append((SHM, SHARED_MEMORY))
        if kernel.terminals:  # else these would be the user's terminals
            grants += [(landlock.READ_FILE | landlock.WRITE_FILE | landlock.IOCTL_DEV, path) for path in _TERMINALS]
            mounts.append((PTS, _TERMINALS[1]))
        mounts += [(READ_ONLY, path) for path in workspace.protected]
    if carved:
        grants.append((landlock.READ_DIR, "/"))
    grants += [
        (reading, path)
        for path in (*(wanted.readable_siblings if carved else wanted.top_directories), *_READABLE_DEVICES)
    ]
    mounts += [(HIDDEN, path) for path in wanted.hidden]
    return Ruleset(
        drop_privileges=True,
        landlock=(files, 0 if network is True or (network == "loopback" and kernel.networks) else tcp, scopes),
        grants=[(rights, os.fsencode(path)) for rights, path in grants],
        ports=network if isinstance(network, tuple) else (),
        filter=_filter(wanted, kernel, limits),
        read_only_root=workspace is not None and kernel.mounts,
        mounts=[(how, os.fsencode(path)) for how, path in mounts] if kernel.mounts else (),
        user_namespace=kernel.user_namespace,
        loopback=network == "loopback" and kernel.networks,
        redirects=[(name.encode(), below.encode()) for name, below in wanted.caches],
        limits=_limits_per_process(limits),
        watched_limits=_watched_limits(limits),
    )


def _filter(wanted: SandboxRequest, kernel: Kernel, limits: Limits) -> bytes:
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
        # When memory is counted: memory in pipes and in messages between processes belongs to no process.
        pinning=limits.memory is not None,
        passing=limits.memory is not None and restricted and not wanted.unix_sockets,
    )


def limits_only(limits: Limits) -> SandboxPlan:
    """Return a plan without a sandbox that only sets limits."""
    ruleset = Ruleset(limits=_limits_per_process(limits), watched_limits=_watched_limits(limits))
    return SandboxPlan(ruleset=ruleset, enforced=("limits",))


def _watched_limits(limits: Limits) -> Iterator[tuple[bytes, float]]:
    """Yield the limits that the keeper checks over all processes of a run."""
    if limits.memory is not None:
        yield b"memory", limits.memory
    if limits.cpu is not None:
        yield b"cpu", float(limits.cpu)
    if limits.processes is not None:
        yield b"processes", limits.processes
        yield b"threads", max(_THREADS_PER_PROCESS * limits.processes, MIN_THREADS)


def _limits_per_process(limits: Limits) -> Iterator[tuple[int, int]]:
    """Yield the limits for setrlimit: those that it alone enforces, and a second bound for some of the others."""
    yield resource.RLIMIT_CORE, 0
    if limits.memory is not None:
        # RLIMIT_DATA counts requested memory, not used memory: allow more than the limit, since programs request more
        # than they use
        yield resource.RLIMIT_DATA, limits.memory + max(limits.memory, GIB)
    if limits.cpu is not None:
        yield resource.RLIMIT_CPU, math.ceil(limits.cpu) + 1
    if limits.file_size is not None:
        yield resource.RLIMIT_FSIZE, limits.file_size
    if limits.open_files is not None:
        yield resource.RLIMIT_NOFILE, limits.open_files
