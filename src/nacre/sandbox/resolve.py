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

from nacre.base.frozen import frozen
from nacre.errors import AccessUnavailable
from nacre.sandbox.kernel import landlock
from nacre.sandbox.kernel.ruleset import HIDDEN, MIN_THREADS, PTS, READ_ONLY, SHM, WRITABLE, Ruleset
from nacre.sandbox.kernel.seccomp import Sockets, program
from nacre.sandbox.probe import Kernel
from nacre.sandbox.protected_names import OWN_CODE
from nacre.sandbox.workspace import Workspace, is_below
from nacre.types import GIB, Limits, Network

ConfinedAccess: TypeAlias = Literal["restricted", "workspace"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""Writing to one of these changes nothing."""
_TERMINALS = ("/dev/ptmx", "/dev/pts")
SHARED_MEMORY = "/dev/shm"  # where POSIX shared memory is
_READABLE_DEVICES = (SHARED_MEMORY, "/dev/mqueue", "/dev/hugepages")
"""All of /dev that may be read beside `DEVICES`. A terminal that could be opened would become the controlling one of a
new session, and `/dev/tty`, which is granted, would then lead to it."""

_THREADS_PER_PROCESS = 4

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
    """Caches that are out of reach, unless the caller has moved them himself."""
    home = env.get("HOME", "")
    return tuple(
        (name, below)
        for name, (place, below) in CACHES.items()
        if name not in env and not any(is_below(place.replace("~", home, 1), root) for root in workspace.roots)
    )


@frozen(kw_only=True)
class SandboxRequest:
    """The access that a caller asks for, every path real and absolute."""

    access: ConfinedAccess
    network: Network = False
    unix_sockets: bool = False
    partial: bool = False
    workspace: Workspace | None = None
    hidden: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    """Hidden files that another name shows: see `other_names.py`."""
    readable_siblings: tuple[str, ...] = ()
    """Everything but devices and what is hidden."""
    top_directories: tuple[str, ...] = ()
    """Everything but devices."""
    own_code: tuple[str, ...] = ()
    """Among what the workspace protects: where nacre itself is run from, which has to be out of reach."""
    own_directories: tuple[str, ...] = ()
    """The same for where nacre writes tasks and output."""
    caches: tuple[tuple[str, str], ...] = ()
    """Variables to point into the private TMPDIR, and where there."""

    @property
    def own(self) -> tuple[str, ...]:
        """Paths of nacre's own: protected by mounts alone, since it is too much to be compared, or nacre writes it."""
        return (*self.own_code, *self.own_directories)


@frozen(kw_only=True)
class SandboxPlan:
    """The access that can be enforced here."""

    ruleset: bytes
    """As the keeper takes it."""
    request: SandboxRequest | None = None
    enforced: tuple[str, ...]
    compared_paths: tuple[str, ...] = ()
    """Protected paths that no kernel guards here: compared before and after."""
    writable_roots: tuple[str, ...] = ()
    """Directories in which the command may write."""
    repositories: tuple[str, ...] = ()
    """Git directories in which it may leave no links, and no steps that run programs."""
    mounted: tuple[str, ...] = ()
    """Protected paths that mounts hold: one comes off when somebody outside replaces what is there."""
    covered: tuple[str, ...] = ()
    """Hidden paths that mounts alone hide."""
    own_code: tuple[str, ...] = ()
    """Paths among `mounted` that are not compared: see `SandboxRequest.own`."""
    description: str = ""
    """For the model, where `wanted` does not tell all."""
    engine_data: object = None
    """A value that an engine needs again when it starts the run."""


@lru_cache(maxsize=64)  # an agent's commands are confined alike
def resolve(wanted: SandboxRequest, kernel: Kernel, limits: Limits) -> SandboxPlan:
    """AccessUnavailable: less than the mode promises."""
    if not kernel.confines:
        raise _unavailable(
            wanted.access, kernel.missing, "Use access='unrestricted' where the command may do anything."
        )
    enforced = _enforced_parts(wanted, kernel)
    missing = [name for name in _required_parts(wanted) if name not in enforced]
    if missing and not wanted.partial:
        raise _unavailable(
            wanted.access,
            f"This kernel (Landlock ABI {kernel.landlock}{'' if kernel.seccomp else ', no seccomp'}"
            f"{'' if kernel.mounts else ', no namespaces'}) cannot keep what it promises: {', '.join(missing)}.",
            "`nacre doctor` shows what is missing; allow_partial=True takes what there is.",
        )
    if wanted.own_code and not kernel.mounts and not wanted.partial:
        raise own_code_exposed(
            wanted.own_code[0],
            "Nothing here can keep a command from changing that: it takes root, or user namespaces for everybody.",
        )
    if wanted.own_directories and not kernel.mounts and not wanted.partial:
        raise _unavailable(
            wanted.access,
            f"nacre writes tasks and output to {wanted.own_directories[0]!r}, inside the workspace, and nothing keeps "
            "a command here from forging some: it takes root, or user namespaces for everybody.",
            "Name an `output_dir` and `spill_dir` outside the workspace, or none for the usual ones.",
        )
    confinement = _build_ruleset(wanted, kernel, limits)
    add_limits(confinement, limits)
    return SandboxPlan(
        ruleset=confinement.encode(),
        request=wanted,
        enforced=tuple(enforced),
        compared_paths=_compared_paths(wanted, kernel),
        writable_roots=() if wanted.workspace is None else wanted.workspace.roots,
        repositories=() if wanted.workspace is None else wanted.workspace.repositories,
        mounted=() if wanted.workspace is None or not kernel.mounts else wanted.workspace.protected,
        covered=_in_roots(wanted) if kernel.mounts else (),
        own_code=wanted.own,
    )


def _unavailable(access: str, reason: str, hint: str) -> AccessUnavailable:
    return AccessUnavailable(
        "access_unavailable",
        f"Access {access!r} cannot be enforced here, so the command was not run. {reason}",
        field="access",
        hint=hint,
    )


def own_code_exposed(path: str, reason: str) -> AccessUnavailable:
    return AccessUnavailable(
        "own_code_in_workspace",
        f"nacre itself runs from {path!r}, inside the workspace, so the command was not run: it could change the code "
        f"that confines it. {reason}",
        field="access",
        hint="Install nacre in an environment of its own outside the workspace. To let commands change it, "
        "as `pip install` into its environment does: "
        f"unprotected=({OWN_CODE!r},).",
    )


def network_rules(network: Network) -> tuple[str, ...]:
    """Rules that keep a promise about the network, the best first; the others keep only part of it."""
    if isinstance(network, tuple):
        return (f"network-ports:{','.join(map(str, network))}",)
    return ("network-loopback", "network") if network == "loopback" else () if network else ("network", "tcp")


def _required_parts(wanted: SandboxRequest) -> list[str]:
    return ["writes", *network_rules(wanted.network)[:1], *(["hidden"] if wanted.hidden else [])]


def _enforced_parts(wanted: SandboxRequest, kernel: Kernel) -> list[str]:
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
        **_protected_parts(wanted, kernel),
        "hidden": bool(wanted.hidden) and not wanted.exposed and (kernel.mounts or not _in_roots(wanted)),
        "tracing": True,
        "privileges": True,
        "kernel": seccomp,
        "limits": True,
    }
    return [name for name, has in parts.items() if has]


def _protected_parts(wanted: SandboxRequest, kernel: Kernel) -> dict[str, bool]:
    """No mount can hold a path that does not exist, or is a link: those are compared before and after."""
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
    """Landlock gives and cannot take back: only a mount can hide what is inside what may be written."""
    roots = () if wanted.workspace is None else wanted.workspace.roots
    return tuple(path for path in wanted.hidden if any(is_below(path, root) for root in roots))


def _hidden_by_landlock(wanted: SandboxRequest, kernel: Kernel) -> bool:
    """Whether Landlock keeps hidden paths from being read. With mounts it does as well where it can: one comes off when
    somebody outside replaces what it covers."""
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
        if kernel.terminals:  # else these would be the user's own
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
        powerless=True,
        landlock=(files, 0 if network is True or (network == "loopback" and kernel.networks) else tcp, scopes),
        grants=[(rights, os.fsencode(path)) for rights, path in grants],
        ports=network if isinstance(network, tuple) else (),
        filter=_filter(wanted, kernel, limits),
        closed=workspace is not None and kernel.mounts,
        mounts=[(how, os.fsencode(path)) for how, path in mounts] if kernel.mounts else (),
        user_namespace=kernel.user_namespace,
        loopback=network == "loopback" and kernel.networks,
        redirects=[(name.encode(), below.encode()) for name, below in wanted.caches],
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
        # where memory is counted: memory in pipes and on its way between processes belongs to nobody
        pinning=limits.memory is not None,
        passing=limits.memory is not None and restricted and not wanted.unix_sockets,
    )


def limits_only(limits: Limits) -> SandboxPlan:
    """Free to do anything, within limits."""
    confinement = Ruleset()
    add_limits(confinement, limits)
    return SandboxPlan(ruleset=confinement.encode(), enforced=("limits",))


def add_limits(confinement: Ruleset, limits: Limits) -> None:
    """Add what one run may cost: counted by the keeper over all its processes, and set for each as a second line."""
    rows: list[tuple[int, int]] = [(resource.RLIMIT_CORE, 0)]
    if limits.memory is not None:
        confinement.watched_limits.append((b"memory", limits.memory))
        # what a process asks for, not what it uses: more than it may have, or programs fail that would not need it all
        rows.append((resource.RLIMIT_DATA, limits.memory + max(limits.memory, GIB)))
    if limits.cpu is not None:
        confinement.watched_limits.append((b"cpu", float(limits.cpu)))
        rows.append((resource.RLIMIT_CPU, math.ceil(limits.cpu) + 1))
    if limits.processes is not None:
        confinement.watched_limits.append((b"processes", limits.processes))
        confinement.watched_limits.append((b"threads", max(_THREADS_PER_PROCESS * limits.processes, MIN_THREADS)))
    if limits.file_size is not None:
        rows.append((resource.RLIMIT_FSIZE, limits.file_size))
    if limits.open_files is not None:
        rows.append((resource.RLIMIT_NOFILE, limits.open_files))
    confinement.limits = rows
