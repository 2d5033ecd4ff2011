"""Mount points below a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.engines.guest.mounts import mounted_below
from tests.support.disks import small_disk


def row(point: str) -> bytes:
    """Return a line of mountinfo for `point`, which is escaped as the kernel does."""
    return rf"40 29 0:36 / {point} rw,relatime shared:7 - tmpfs none rw,size=4k".encode() + b"\n"


def escape_mount_path(path: Path) -> str:
    return str(path).replace("\\", r"\134").replace(" ", r"\040")


@pytest.mark.parametrize(
    ("name", "written"),
    [("sub", "sub"), ("a b", r"a\040b"), ("a\nb", r"a\012b"), ("a\\040b", r"a\134040b"), ("ä", "ä")],
)
def test_mount_point_is_decoded_as_the_kernel_escapes_it(tmp_path: Path, name: str, written: str) -> None:
    (tmp_path / name).mkdir()
    assert mounted_below([str(tmp_path)], row(f"{escape_mount_path(tmp_path)}/{written}")) == (f"{tmp_path}/{name}",)


def test_only_existing_mount_points_below_the_path_are_found(tmp_path: Path) -> None:
    for name in ("work", "works", "work/sub", "work/sub/deep"):
        (tmp_path / name).mkdir()
    points = ["", "/work", "/works", "/work/gone", "/work/sub/deep", "/work/sub"]
    table = b"".join(row(f"{escape_mount_path(tmp_path)}{point}") for point in points) + b"half a row\n"
    assert mounted_below([f"{tmp_path}/work"], table) == (f"{tmp_path}/work/sub", f"{tmp_path}/work/sub/deep")


@pytest.mark.linux
def test_mounted_disk_is_found(tmp_path: Path) -> None:
    assert mounted_below([str(tmp_path)]) == ()
    with small_disk(tmp_path / "disk of ours", "64k") as disk:
        assert mounted_below([str(tmp_path)]) == (str(disk),)
