"""Connect to a Ray cluster that exists; never start one."""

from __future__ import annotations

import contextlib
import glob
import os
import socket
import sys
import threading
import warnings
from concurrent.futures import Future
from typing import Any

from nacre.engines.ray.cluster import auth
from nacre.engines.ray.cluster.auth import MODE, access_denied, authenticates, is_refusal, show_token
from nacre.engines.ray.cluster.connection import ClusterConnection
from nacre.engines.ray.cluster.head import Head, survive_head_exit
from nacre.errors import EngineUnavailable

_lock = threading.Lock()
_forked = False
"""This process was forked from a connected one, and cannot use its copy of the connection."""
_trying: Future[None] | None = None
_ADDRESS = "RAY_ADDRESS"
_CONNECT_TIMEOUT_S = 5.0
"""Seconds for a machine to accept a connection."""
_HEAD_CONNECT_TIMEOUT_S = 2.0
"""Seconds for the head of a connected cluster to accept a connection."""
_OF_RAYLET = b"--gcs-address="
_OPEN = (
    "This Ray cluster has no authentication: anyone who reaches its ports can run code on every node. Set "
    f"{MODE}=token, with one token, for all of its nodes and drivers."
)


def load() -> Any:
    """Import Ray on first use. EngineUnavailable: it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise EngineUnavailable(
            f"Ray is not installed here ({error}).", "Install it: pip install 'nacre[ray]'"
        ) from error
    return ray


def is_forked() -> bool:
    """Return whether this process only has a copy of its parent's connection."""
    return _forked


def check_not_forked() -> None:
    """Raise EngineUnavailable in a process that was forked from a connected one."""
    if _forked:
        raise EngineUnavailable(
            "Ray's connection does not survive a fork, and this process was forked from a connected one.",
            "Fork before the first command runs on the cluster, or use multiprocessing's 'spawn'.",
        )


def connect(address: str | None, patience: float) -> ClusterConnection:
    """Connect to a cluster that exists; a connection that the program has made is used as it is.

    Blocks for at most `patience` seconds. EngineUnavailable: no cluster, or it refuses this process.
    """
    ray = load()
    attempt = _attempt(ray, address)
    try:
        attempt.result(patience)
    except Exception as error:  # ConnectionError, RuntimeError and others mean the same; a refusal does not
        if is_refusal(ray, error):
            raise access_denied(address or os.environ.get(_ADDRESS)) from error
        why = _first_line(error) if attempt.done() else f"no answer in {patience:g} seconds"
        raise _unreachable(address, why) from error
    if not authenticates():
        warnings.warn(_OPEN, RuntimeWarning, stacklevel=2)
    return ClusterConnection(
        ray, Head(ray.get_runtime_context().gcs_address, lambda head: probe_address(head, _HEAD_CONNECT_TIMEOUT_S))
    )


def _attempt(ray: Any, address: str | None) -> Future[None]:
    """Start an attempt to connect, or return the current one: Ray allows one per process. The daemon thread is
    abandoned if Ray never returns."""
    global _trying
    with _lock:
        if _trying is None or _trying.done():
            _trying = Future()
            if ray.is_initialized():
                _trying.set_result(None)
            else:
                threading.Thread(target=_try, args=(ray, address, _trying), name="nacre-ray", daemon=True).start()
        return _trying


def _try(ray: Any, address: str | None, attempt: Future[None]) -> None:
    try:
        named = address or os.environ.get(_ADDRESS, "")
        if named == "local":
            raise ConnectionError("no cluster is running there; Ray would start one")
        if "://" in named:
            raise ConnectionError("Ray's client cannot stream output")
        probe_address(named, _CONNECT_TIMEOUT_S)
        # Otherwise Ray reports on its nodes to stdout, which is for command output. There is no public setting.
        ray._private.worker._worker_logs_enabled = False
        with survive_head_exit(ray):
            show_token(ray, address)
            ray.init(address=address or "auto", log_to_driver=False, logging_level="ERROR")
    except BaseException as error:
        attempt.set_exception(error)
    else:
        attempt.set_result(None)


def probe_address(address: str, seconds: float) -> None:
    """Check that a process listens at `host:port`; other forms of address are not checked. OSError: none does. Ray
    itself would retry for a quarter of an hour."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in address:
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()


def _unreachable(address: str | None, why: str) -> EngineUnavailable:
    found = address or os.environ.get(_ADDRESS)
    return EngineUnavailable(
        f"Cannot reach a Ray cluster{f' at {found}' if found else ''}: {why.rstrip('.')}.",
        "Start one with `ray start --head`, or give its address; with token authentication this process "
        "needs RAY_AUTH_MODE=token and the cluster's token.",
    )


def would_authenticate() -> bool:
    """Return what `authenticates` will return after connecting: Ray also takes a token that it finds while looking for
    the cluster."""
    return authenticates() or (MODE not in os.environ and has_token() and not os.environ.get(_ADDRESS))


def has_token() -> bool:
    """Return whether there is a token that could be presented."""
    return auth.token_from() is not None


def default_address() -> str | None:
    """Return the address of the cluster that Ray would use by default: RAY_ADDRESS, or the cluster of this machine;
    None if there is none. Does not import Ray, which takes a second."""
    named = os.environ.get(_ADDRESS)
    if named and named != "auto":
        return named
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            words = file.read().split(b"\0")
            if os.path.basename(words[0]) == b"raylet":
                for word in words:
                    if word.startswith(_OF_RAYLET):
                        return word.removeprefix(_OF_RAYLET).decode()
    return None


def nodes(ray: Any) -> dict[str, str]:
    """Return the addresses of the nodes that Ray believes to be alive, by node id."""
    return {row["NodeID"]: row["NodeManagerAddress"] for row in ray.nodes() if row["Alive"]}


def _after_fork() -> None:
    global _lock, _forked, _trying
    _lock = threading.Lock()  # another thread may have held it
    _trying = None
    ray = sys.modules.get("ray")
    _forked = _forked or (ray is not None and ray.is_initialized())


os.register_at_fork(after_in_child=_after_fork)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
