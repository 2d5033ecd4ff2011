"""Tests what this kernel can enforce, part by part: rows for `nacre doctor`."""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
from typing import Literal

from nacre.base.temp_dir import NoTemporaryDirectory, temporary_directory
from nacre.bash import run_sync
from nacre.cli.info.doctor_check import Check
from nacre.errors import NacreError
from nacre.sandbox.probe import Kernel, kernel

_PARTS = (
    (1, "5.13", "writes"),
    (3, "6.2", "truncation"),
    (4, "6.7", "TCP"),
    (5, "6.10", "device requests"),
    (6, "6.12", "signals and abstract sockets"),
)
"""Landlock ABI, the Linux version that introduced it, and what it can forbid."""
_TRIAL_TIMEOUT_S = 20.0


def confinement() -> tuple[bool, list[Check]]:
    """Return whether commands can be confined here, and the rows."""
    logging.getLogger("nacre").addHandler(logging.NullHandler())  # the rows report what it warns of
    found = kernel()
    rows = [_landlock(found), _seccomp(found), _namespaces(found)]
    if not found.confines:
        return False, [*rows, Check("confinement", "missing", "only access='unrestricted' is offered", found.missing)]
    trials = [_try(access) for access in _MODES]
    return all(check.status == "ok" for check in trials), [*rows, *trials]


def _landlock(found: Kernel) -> Check:
    if not found.confines:
        return Check("landlock", "missing", "", found.missing)
    has = [name for since, _, name in _PARTS if found.landlock >= since]
    lacks = [(linux, name) for since, linux, name in _PARTS if found.landlock < since]
    detail = f"ABI {found.landlock}: {', '.join(has)}"
    if not lacks:
        return Check("landlock", "ok", detail)
    return Check("landlock", "low", detail, "; ".join(f"Linux {linux} adds {name}" for linux, name in lacks) + ".")


def _seccomp(found: Kernel) -> Check:
    if found.seccomp:
        return Check("seccomp", "ok", "all other sockets, file permissions, kernel administration")
    return Check("seccomp", "missing", found.machine, "Needs x86_64 or aarch64 and CONFIG_SECCOMP_FILTER.")


def _namespaces(found: Kernel) -> Check:
    kinds = (("mounts", found.mounts), ("terminals", found.terminals), ("networks", found.networks))
    names = [name for name, has in kinds if has]
    if len(names) == len(kinds):
        return Check("namespaces", "ok", "protected and hidden paths, private terminals and loopback")
    detail = f"{', '.join(names) or 'none'}: protected paths are compared after a run and restored"
    return Check("namespaces", "off", detail, "Needs root with CAP_SYS_ADMIN." if os.geteuid() else "A container?")


_MODES: tuple[Literal["restricted", "workspace"], ...] = ("restricted", "workspace")


def _try(access: Literal["restricted", "workspace"]) -> Check:
    """Check that an allowed write succeeds and that a forbidden one fails."""
    try:
        place = temporary_directory()
    except NoTemporaryDirectory as error:
        return Check(access, "missing", str(error.strerror), error.hint)
    with (
        tempfile.TemporaryDirectory(prefix="nacre-doctor-", dir=place) as outside,
        tempfile.TemporaryDirectory(dir=place) as inside,
    ):
        command = f'echo x > "$TMPDIR/x" && exec 2>&- && ! echo x > {shlex.quote(outside)}/x && echo kept'
        try:
            done = run_sync(command, access=access, cwd=inside, timeout=_TRIAL_TIMEOUT_S)
        except NacreError as error:
            return Check(access, "missing", getattr(error, "message", str(error)), getattr(error, "hint", ""))
        if os.listdir(outside):
            return Check(access, "failed", "a write outside was not denied: do not rely on it", "Please report this.")
        if done.stdout != "kept\n":
            return Check(access, "failed", f"{done.summary} {done.stderr}".strip())
        return Check(access, "ok", ", ".join(done.enforced))
