"""Parsing of the kernel's mount table."""

from __future__ import annotations

import os

import pytest

from nacre.base.mount_table import parse_mount_table, read_mount_table
from tests.support.hosts import run_host

PATHS = {
    rb"/mnt/plain": b"/mnt/plain",
    rb"/mnt/with\040blank": b"/mnt/with blank",
    rb"/mnt/with\011tab": b"/mnt/with\ttab",
    rb"/mnt/two\012lines": b"/mnt/two\nlines",
    rb"/mnt/back\134slash": b"/mnt/back\\slash",
    rb"/mnt/\134040": rb"/mnt/\040",
    rb"/mnt/\134\040\134": b"/mnt/\\ \\",
    rb"/mnt/\043": b"/mnt/#",
    b"/mnt/return\r": b"/mnt/return\r",
    "/mnt/ä\\040\u2028".encode(): "/mnt/ä \u2028".encode(),
    b"/mnt/\xff": b"/mnt/\xff",
    rb"/mnt/no\escape\04": rb"/mnt/no\escape\04",
    rb"/mnt/no\0_1": rb"/mnt/no\0_1",
    b"/mnt/end\\": b"/mnt/end\\",
}


def parse_rows(table: bytes) -> list[tuple[int, bytes, bytes, bytes, bytes]]:
    return [(row.number, row.device, row.root, row.point, row.options) for row in parse_mount_table(table)]


@pytest.mark.parametrize(("written", "path"), PATHS.items())
def test_mount_path_is_decoded_as_the_kernel_escapes_it(written: bytes, path: bytes) -> None:
    row = b"40 29 0:36 " + written + b" " + written + b" rw,relatime shared:7 - tmpfs none rw,size=4k\n"
    assert parse_rows(row) == [(40, b"0:36", path, path, b"rw,relatime")]


def test_rows_keep_their_order_and_incomplete_rows_are_skipped() -> None:
    table = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\nhalf a row\n23 22 0:5 / /proc ro,nosuid - proc proc rw"
    assert parse_rows(table) == [(22, b"8:1", b"/", b"/", b"rw"), (23, b"0:5", b"/", b"/proc", b"ro,nosuid")]


@pytest.mark.linux
def test_mount_table_of_this_process_contains_proc() -> None:
    if not os.path.exists("/proc/self/mountinfo"):
        pytest.skip("needs /proc")
    assert b"/proc" in {entry.point for entry in read_mount_table()}, (
        "/proc is missing; / may be, since the root of a chroot need not be a mount"
    )


def test_mount_table_loads_no_other_modules() -> None:
    program = """
        import sys
        before = set(sys.modules)
        import nacre.base.mount_table
        print(sorted(set(sys.modules) - before - {"nacre", "nacre.base", "__future__"}))
    """
    assert run_host(program) == "['nacre.base.mount_table']\n"
