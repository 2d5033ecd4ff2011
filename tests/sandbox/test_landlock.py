"""Landlock: what each ABI can forbid, and what `restricted` and `workspace` use of it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from nacre.sandbox.kernel import landlock
from nacre.sandbox.kernel.landlock import handled_rights
from nacre.sandbox.kernel.libc import prctl
from tests.support.waiting import HANG_TIMEOUT_S

NO_NEW_PRIVS = 38

# from the kernel's documentation: LANDLOCK_ACCESS_FS_EXECUTE is bit 0, MAKE_SYM bit 12
FIRST = (1 << 13) - 1
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
HANDLED = {
    1: (FIRST, 0, 0),
    2: (FIRST | REFER, 0, 0),
    3: (FIRST | REFER | TRUNCATE, 0, 0),
    4: (FIRST | REFER | TRUNCATE, 0b11, 0),
    5: (FIRST | REFER | TRUNCATE | IOCTL_DEV, 0b11, 0),
    6: (FIRST | REFER | TRUNCATE | IOCTL_DEV, 0b11, 0b11),
    7: (FIRST | REFER | TRUNCATE | IOCTL_DEV, 0b11, 0b11),
    8: (FIRST | REFER | TRUNCATE | IOCTL_DEV, 0b11, 0b11),
}


@pytest.mark.parametrize("abi", HANDLED)
def test_each_abi_handles_all_of_its_rights(abi: int) -> None:
    assert handled_rights(abi) == HANDLED[abi]


def test_full_rights_exclude_making_devices_and_device_ioctls() -> None:
    assert landlock.EVERYTHING == FIRST & ~(1 << 6) & ~(1 << 11) | REFER | TRUNCATE


def kernel_abi() -> int:
    try:
        return landlock.abi()
    except OSError as error:
        pytest.skip(f"no Landlock here: {error.strerror}")


@pytest.mark.linux
def test_kernel_accepts_the_rulesets_of_every_supported_abi() -> None:
    for abi in range(1, min(kernel_abi(), landlock.MAX_ABI) + 1):
        os.close(landlock.create(*handled_rights(abi)))


@pytest.mark.linux
@pytest.mark.req("P-008")
def test_symlink_in_a_path_is_not_granted(tmp_path: Path) -> None:
    """A link could be replaced by a directory between check and grant."""
    kernel_abi()
    place = tmp_path.resolve()
    (place / "real" / "inner").mkdir(parents=True)
    (place / "link").symlink_to("real")
    ruleset = landlock.create(landlock.WRITING, 0, 0)
    try:
        landlock.allow_below(ruleset, os.fsencode(place / "real" / "inner"), landlock.WRITING)
        for name in ("link", "link/inner", "none"):
            with pytest.raises(FileNotFoundError):
                landlock.allow_below(ruleset, os.fsencode(place / name), landlock.WRITING)
    finally:
        os.close(ruleset)


@pytest.mark.linux
@pytest.mark.req("P-008")
def test_ruleset_restricts_only_the_calling_thread(tmp_path: Path) -> None:
    abi = min(kernel_abi(), landlock.MAX_ABI)
    tmp_path = tmp_path.resolve()
    (tmp_path / "open").mkdir()
    outcome: dict[str, str] = {}

    def attempt(place: Path) -> str:
        try:
            (place / f"made-{len(outcome)}").touch()
        except OSError as error:
            return type(error).__name__
        return "made"

    def restrict_and_read() -> None:
        prctl(NO_NEW_PRIVS, 1)
        files, network, scopes = handled_rights(abi)
        files &= ~landlock.READING
        ruleset = landlock.create(files, network, scopes)
        try:
            landlock.allow_below(ruleset, os.fsencode(tmp_path / "open"), landlock.EVERYTHING & files)
            # a file: reduced to what applies to files
            landlock.allow_below(ruleset, b"/dev/null", landlock.EVERYTHING & files)
            landlock.restrict_thread(ruleset)
        finally:
            os.close(ruleset)
        outcome["outside"] = attempt(tmp_path)
        outcome["inside"] = attempt(tmp_path / "open")

    thread = threading.Thread(target=restrict_and_read)
    thread.start()
    thread.join(HANG_TIMEOUT_S)
    assert outcome == {"outside": "PermissionError", "inside": "made"}
    assert attempt(tmp_path) == "made", "this thread is restricted too"
