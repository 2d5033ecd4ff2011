"""Numbers of system calls, compared with this system's headers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from nacre.sandbox.kernel.syscalls import ARCHITECTURES, NUMBERS

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    # the table that aarch64 shares with every newer architecture
    "aarch64": ("/usr/include/asm-generic/unistd.h", "/usr/include/aarch64-linux-gnu/asm/unistd_64.h"),
}
CALLS = [(machine, name) for machine, numbers in NUMBERS.items() for name in numbers]


@cache
def header(machine: str) -> dict[str, int]:
    """Return the numbers in the system's header, empty without one. `truncate` and others have another name there."""
    for path in map(Path, HEADERS[machine]):
        if path.exists():
            rows = dict(re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", path.read_text(), re.MULTILINE))
            return {name: int(number) for name, number in rows.items() if name != "syscalls"}
    return {}


@pytest.mark.parametrize(("machine", "name"), CALLS, ids=["-".join(call) for call in CALLS])
def test_syscall_numbers_match_the_system_header(machine: str, name: str) -> None:
    known = header(machine)
    if not known:
        pytest.skip(f"needs the kernel's header for {machine}")
    if name not in known and NUMBERS[machine][name] > max(known.values()):
        pytest.skip(f"{name} is newer than the header")
    assert NUMBERS[machine][name] == known[name]


@pytest.mark.parametrize("machine", NUMBERS)
def test_no_two_syscalls_share_a_number(machine: str) -> None:
    assert len(set(NUMBERS[machine].values())) == len(NUMBERS[machine])


def test_each_machine_has_an_audit_architecture() -> None:
    assert ARCHITECTURES.keys() == NUMBERS.keys()


def test_syscalls_since_linux_5_1_share_one_number() -> None:
    first, second = NUMBERS.values()
    assert {name: n for name, n in first.items() if n >= 424} == {name: n for name, n in second.items() if n >= 424}
