"""Tests which engines can be used here: rows for `nacre doctor`. A missing engine is not a failure."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, version

from nacre.cli.info.doctor_check import Check
from nacre.engines.bubblewrap import check
from nacre.engines.guest.probe import probe
from nacre.engines.ray.cluster.connect import default_address, has_token, probe_address, would_authenticate
from nacre.errors import EngineUnavailable

_CONNECT_TIMEOUT_S = 1.0
"""Limit for connecting to the head of a Ray cluster."""
_CONTAINERS = "one container per conversation, from an image with bash"


def engines() -> list[Check]:
    return [_bubblewrap(), _podman(), _docker(), _ray()]


def _bubblewrap() -> Check:
    try:
        check("bwrap")
    except EngineUnavailable as error:
        return Check("engine bwrap", "off", error.message, error.hint)
    return Check("engine bwrap", "ok", "separate namespaces for each command")


def _podman() -> Check:
    """Run `podman info` as root only: any podman command of an unprivileged user leaves a process behind."""
    if os.geteuid() == 0 or shutil.which("podman") is None:
        return _check_engine("podman", "info")
    return Check("engine podman", "untested", f"{_CONTAINERS}; installed, not queried", "See `podman info`.")


def _docker() -> Check:
    return _check_engine("docker", "version")  # queries the daemon


def _check_engine(program: str, question: str) -> Check:
    words = probe([program, question])
    if words is None:
        return _missing(program)
    if words:
        return Check(f"engine {program}", "off", words, f"See `{program} {question}`.")
    return Check(f"engine {program}", "ok", f"{_CONTAINERS}; `{program} {question}` works, no container was started")


def _missing(program: str) -> Check:
    return Check(f"engine {program}", "off", "not installed")


def _ray() -> Check:
    """Check what can be known without importing Ray."""
    try:
        found = f"ray {version('ray')}"
    except PackageNotFoundError:
        return Check("engine ray", "off", "not installed", "pip install 'nacre[ray]'")
    address = default_address()
    if address is None:
        return Check("engine ray", "off", f"{found}, no cluster given", "Set RAY_ADDRESS, or `ray start --head`.")
    if address.startswith("ray://"):
        return Check("engine ray", "off", f"{found}, {address} cannot stream", "Run on a machine of the cluster.")
    try:
        probe_address(address, _CONNECT_TIMEOUT_S)
    except OSError as error:
        why = error.strerror or str(error)
        return Check("engine ray", "off", f"{found}, no answer at {address}: {why}", "See `ray status`.")
    if would_authenticate():
        return Check("engine ray", "ok", f"{found}, {address}, with token authentication")
    if has_token():
        lacking = "without authentication: a token is set, but RAY_AUTH_MODE is not"
        return Check("engine ray", "ok", f"{found}, {address}, {lacking}", "Set RAY_AUTH_MODE=token.")
    remedy = "Set RAY_AUTH_MODE=token; see docs/scale.md."
    return Check("engine ray", "ok", f"{found}, {address}, without authentication", remedy)
