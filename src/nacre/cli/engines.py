"""Which engines can be used here: rows for `nacre doctor`. A missing one is no fault."""

from __future__ import annotations

import shutil
from importlib.metadata import PackageNotFoundError, version

from nacre.cli.probes import Check
from nacre.engines.bubblewrap import check
from nacre.engines.ray.cluster import address_at_hand, has_token, knock, would_authenticate
from nacre.engines.usable import said_by
from nacre.errors import EngineUnavailable

_KNOCK = 1.0
"""Seconds for a cluster's head to take a connection."""
_CONTAINERS = "a container for each conversation, from an image with bash; whether one can be started was not tried"


def engines() -> list[Check]:
    return [_bubblewrap(), _podman(), _docker(), _ray()]


def _bubblewrap() -> Check:
    try:
        check("bwrap")
    except EngineUnavailable as error:
        return Check("engine bwrap", "off", error.message, error.hint)
    return Check("engine bwrap", "ok", "namespaces of its own for each command")


def _podman() -> Check:
    """Only whether it is here: whatever else a user without privileges asks it leaves a process behind."""
    return Check("engine podman", "untested", _CONTAINERS) if shutil.which("podman") else _missing("podman")


def _docker() -> Check:
    words = said_by(["docker", "version"])
    if words is None:
        return _missing("docker")
    if words:
        return Check("engine docker", "off", words, "See `docker version`.")
    return Check("engine docker", "untested", _CONTAINERS)


def _missing(program: str) -> Check:
    return Check(f"engine {program}", "off", "not installed")


def _ray() -> Check:
    """What can be known without loading it."""
    try:
        found = f"ray {version('ray')}"
    except PackageNotFoundError:
        return Check("engine ray", "off", "not installed", "pip install 'nacre[ray]'")
    address = address_at_hand()
    if address is None:
        return Check("engine ray", "off", f"{found}, no cluster given", "Set RAY_ADDRESS, or `ray start --head`.")
    if address.startswith("ray://"):
        return Check("engine ray", "off", f"{found}, {address} cannot stream", "Run on a machine of the cluster.")
    try:
        knock(address, _KNOCK)
    except OSError as error:
        why = error.strerror or str(error)
        return Check("engine ray", "off", f"{found}, nobody answers at {address}: {why}", "See `ray status`.")
    if would_authenticate():
        return Check("engine ray", "ok", f"{found}, {address}, with token authentication")
    if has_token():
        lacking = "without authentication: there is a token, but RAY_AUTH_MODE does not say so"
        return Check("engine ray", "ok", f"{found}, {address}, {lacking}", "Set RAY_AUTH_MODE=token.")
    remedy = "Set RAY_AUTH_MODE=token; see docs/scale.md."
    return Check("engine ray", "ok", f"{found}, {address}, without authentication", remedy)
