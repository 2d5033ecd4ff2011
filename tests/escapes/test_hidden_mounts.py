"""Attempts to read hidden files through another mount of the same files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from nacre.sandbox.mount_aliases import Mount, other_paths, read_mounts
from tests.escapes.inside import needs_landlock
from tests.support.confined import confined, needs_mounts
from tests.support.hosts import ROOT, run_host
from tests.support.mounts import in_own_mounts

pytestmark = [*confined, pytest.mark.req("P-008"), needs_landlock]

HIDES = """
    import asyncio, json, sys
    import nacre.sandbox.probe as kernels
    from nacre import Request, ToolContext
    from nacre.errors import NacreError
    from nacre.base.frozen import replace
    from tests.support.unchecked import UNCHECKED

    place, way, hidden, command = sys.argv[1:]
    if way == "landlock":
        here = replace(kernels.kernel(), mounts=False)
        kernels.kernel = lambda: here
    ctx = ToolContext(access="restricted", strict=True, working_dir=place, hidden=(hidden,))
    try:
        result = asyncio.run(UNCHECKED.run(Request(command), ctx))
        print(json.dumps([result.stdout, "hidden" in result.enforced]))
    except NacreError as error:
        print(json.dumps([error.code, False]))
"""
ways = pytest.mark.parametrize("way", [pytest.param("mounts", marks=needs_mounts), "landlock"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return make_place(tmp_path)


def make_place(place: Path) -> Path:
    (place / "a" / "secret" / "deep").mkdir(parents=True)
    (place / "a" / "secret" / "key").write_text("KEY\n")
    (place / "a" / "secret" / "deep" / "key").write_text("KEY\n")
    (place / "a" / "free").write_text("free\n")
    for name in ("b", "c", "a b\\c"):
        (place / name).mkdir()
    (place / "d").touch()
    (place / "work").mkdir()
    return place


def try_to_read(
    place: Path, way: str, mounts: str, command: str, hidden: str = "a/secret", start: str = "work"
) -> object:
    """Return the command's output or an error code, and whether the file is reported as hidden."""
    text = f'(cd "$1"; {mounts})'
    told = run_host(HIDES, place / start, way, place / hidden, command, through=in_own_mounts(text, place))
    return json.loads(told)


MOUNTS = {
    "the directory above": ("mount --bind a b", "b/secret/key b/secret/deep/key"),
    "itself": ("mount --bind a/secret c", "c/key c/deep/key"),
    "a directory in it": ("mount --bind a/secret/deep c", "c/key"),
    "a file in it": ("mount --bind a/secret/key d", "d"),
    "a mount of a mount": ("mount --bind a b; mount --bind b/secret c", "c/key b/secret/key"),
    "a read-only one": ("mount --bind a b; mount -o remount,ro,bind b", "b/secret/key"),
    "an odd name": ("mount --bind a 'a b\\c'", "'a b\\c/secret/key'"),
    "a disk of its own": (
        "mount -t tmpfs none a; mkdir -p a/secret; echo KEY >a/secret/key; echo free >a/free; mount --bind a b",
        "b/secret/key",
    ),
}


@ways
@pytest.mark.parametrize(("mounts", "paths"), MOUNTS.values(), ids=MOUNTS)
def test_hidden_file_cannot_be_read_through_another_mount(way: str, mounts: str, paths: str, place: Path) -> None:
    command = f"cd ..; cat {paths} a/secret/key 2>/dev/null; cat a/free"
    assert try_to_read(place, way, mounts, command) == ["free\n", True]


@ways
def test_file_beside_a_hidden_directory_is_readable_through_both_mounts(way: str, place: Path) -> None:
    assert try_to_read(place, way, "mount --bind a b", "cat ../a/free ../b/free") == ["free\nfree\n", True]


@ways
def test_path_covered_by_an_unrelated_mount_stays_readable(way: str, place: Path) -> None:
    mounts = "mount --bind a/secret c; mount -t tmpfs none c; echo other >c/key"
    assert try_to_read(place, way, mounts, "cat ../c/key") == ["other\n", True]


@ways
def test_mount_inside_a_hidden_directory_does_not_hide_its_source(way: str, place: Path) -> None:
    """A chroot directory may contain mounts of half the machine."""
    assert try_to_read(place, way, "mount --bind b a/secret/deep; echo free >b/free", "cat ../b/free") == [
        "free\n",
        True,
    ]


@ways
def test_workspace_cannot_be_hidden_through_another_mount(way: str, place: Path) -> None:
    assert try_to_read(place, way, "mount --bind work c", "true", hidden="c") == ["bad_hidden", False]


def test_other_path_is_found_when_one_mount_is_unreachable(tmp_path: Path) -> None:
    """The other path may be accessible to this user, although both are known only from the mount table."""
    real = Path(os.path.realpath(tmp_path))
    mounts = read_mounts()
    above = [mount for mount in mounts if real.is_relative_to(mount.point)]
    if not above:
        pytest.skip("in this chroot no mount shows where its directory is")
    own = max(above, key=lambda mount: len(mount.point))
    closed = Mount(max(mount.number for mount in mounts) + 1, own.device, own.root, "/nowhere")
    path = os.path.join("/nowhere", real.relative_to(own.point))
    assert str(real) in other_paths([path], [*mounts, closed])


CHROOT = """
    cd "$1"
    for entry in /*; do
        if [ -L "$entry" ]; then cp -P "$entry" .; fi
        if [ -d "$entry" ] && [ ! -L "$entry" ]; then mkdir -p ".$entry"; mount --rbind "$entry" ".$entry" || :; fi
    done
    cd nacre-place
"""
"""Makes "$1" the root of a chroot with all directories of this machine. It is no mount point itself."""


@pytest.mark.parametrize("mounts", ["the directory above", "itself", "a directory in it", "a file in it"])
def test_hidden_file_in_a_chroot_cannot_be_read_through_another_mount(mounts: str, tmp_path: Path) -> None:
    """The mount table that a chroot sees leaves out the mount that holds `/`."""
    make_place(tmp_path / "nacre-place")
    script, paths = MOUNTS[mounts]
    change_root = "import os, sys; os.chroot(sys.argv[1]); os.execvp(sys.argv[2], sys.argv[2:])"
    through = [*in_own_mounts(CHROOT + script, tmp_path), sys.executable, "-c", change_root, str(tmp_path)]
    place = "/nacre-place"
    arguments = (f"{place}/work", "landlock", f"{place}/a/secret", f"cd ..; cat {paths} a/secret/key; cat a/free")
    told = run_host(HIDES, *arguments, through=through, env={"PYTHONPATH": str(ROOT)})
    assert json.loads(told) == ["free\n", True]


@pytest.mark.linux
def test_mounts_that_cannot_be_looked_up_for_want_of_fds_are_an_error(tmp_path: Path) -> None:
    """Taken for absent, they would leave the protected and hidden files open under their other names."""
    program = """
        import os, sys
        from nacre.sandbox.mount_aliases import Mount, other_paths
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        limit_descriptors(100)
        mounts = [Mount(1, "0:1", "/", "/"), Mount(2, "0:1", "/", "/mnt")]
        raised = 0
        with no_descriptor_left() as held:
            for _ in range(2):
                try:
                    list(other_paths(sys.argv[1:], mounts))
                except OSError:
                    raised += 1
                os.close(held.pop())
        print(raised)
    """
    assert run_host(program, tmp_path) == "2\n"
