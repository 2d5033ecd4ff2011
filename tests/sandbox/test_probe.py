"""Probing the kernel's abilities: once, with a message if something is missing, and without side effects."""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.base import system
from nacre.sandbox import probe as kernels
from nacre.sandbox.kernel import landlock
from nacre.sandbox.probe import Kernel, kernel, probe

pytestmark = [pytest.mark.req("P-009"), pytest.mark.linux]


@pytest.fixture
def fresh() -> Iterator[None]:
    """Clear the cache of the probe before and after the test."""
    kernel.cache_clear()
    yield
    kernel.cache_clear()


def fail_with(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def abi() -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(landlock, "abi", abi)


MISSING_BY_ERRNO = {
    errno.ENOSYS: ("Linux 5.13 or newer", "CONFIG_SECURITY_LANDLOCK", os.uname().release, "container"),
    errno.EOPNOTSUPP: ("switched off", "`lsm=`", "command line"),
    errno.EPERM: ("not usable", os.strerror(errno.EPERM), "container"),
}


@pytest.mark.parametrize(("number", "words"), MISSING_BY_ERRNO.items(), ids=lambda value: str(value))
def test_missing_landlock_is_explained_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, number: int, words: tuple[str, ...]
) -> None:
    fail_with(monkeypatch, number)
    found = probe()
    assert (found.landlock, found.confines, found.mounts, found.networks) == (0, False, False, False)
    assert all(word in found.missing for word in words), found.missing


def test_missing_landlock_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fresh: None
) -> None:
    fail_with(monkeypatch, errno.ENOSYS)
    with caplog.at_level(logging.WARNING, logger="nacre"):
        assert kernel() is kernel()
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("nacre", "WARNING")
    assert record.getMessage() == f"Commands cannot be sandboxed here. {probe().missing}"


def test_nothing_is_logged_when_landlock_works(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fresh: None
) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 4)
    assert kernel().confines
    assert caplog.records == []


def test_other_platforms_are_reported_as_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = probe()
    assert (found.confines, found.seccomp) == (False, False)
    assert found.missing == "The sandbox needs Linux with Landlock; this is darwin."


def test_portable_mode_disables_the_sandbox_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LINUX", False)
    found = probe()
    assert not found.confines
    assert "NACRE_PORTABLE" in found.missing


@pytest.mark.parametrize(("says", "taken"), [(1, 1), (7, 7), (8, 8), (9, 8), (42, 8)])
def test_newer_landlock_abi_is_used_like_the_newest_known(
    monkeypatch: pytest.MonkeyPatch, says: int, taken: int
) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: says)
    assert probe().landlock == taken


def test_unknown_machine_has_no_seccomp_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 4)
    monkeypatch.setattr(kernels, "ARCHITECTURES", {"vax": 1})
    found = probe()
    assert (found.confines, found.seccomp) == (True, False)


def test_namespaces_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 4)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = probe()
    assert (found.mounts, found.networks) == (False, False)


def test_missing_mount_namespace_leaves_network_namespaces_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacre.sandbox.kernel import apply

    def refuse() -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(landlock, "abi", lambda: 4)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(apply, "new_mount_namespace", refuse)
    monkeypatch.setattr(apply, "new_network_namespace", lambda: None)
    found = probe()
    assert (found.mounts, found.terminals, found.networks) == (False, False, True)


def test_probe_leaves_no_trace_in_this_process() -> None:
    def trace() -> dict[str, object]:
        status = dict(
            line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
        )
        return {
            **{name: status[name] for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd")},
            **{name: os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net")},
            "threads": threading.active_count(),
            "descriptors": len(os.listdir("/proc/self/fd")),
        }

    before = trace()
    first = probe()
    assert probe() == first
    assert trace() == before


def test_kernel_equals_a_fresh_probe(fresh: None) -> None:
    assert kernel() == probe()
    assert isinstance(kernel(), Kernel)
