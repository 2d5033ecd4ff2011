"""Attempts to leave a set-user-ID file in a workspace: it would run as its owner, who may be root."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.escapes.inside import needs_landlock, python, run_unrestricted
from tests.support.confined import confined, run

pytestmark = [*confined, pytest.mark.req("P-008"), needs_landlock]

CALLS = """
    os.umask(0)
    name = sys.argv[1]
    def how(size, flags, mode): return struct.pack("QQQ", flags, mode, 0)
    CREAT, WRONLY, TMPFILE = os.O_CREAT, os.O_WRONLY, os.O_TMPFILE
    if name == "chmod": os.chmod("file", 0o4755)
    elif name == "fchmod": os.fchmod(os.open("file", os.O_RDONLY), 0o4755)
    elif name == "fchmodat2": call(452, 452, -100, b"file", 0o4755, 0)
    elif name == "by-number": call(90, None, b"file", 0o4755)
    elif name == "high-bits": call(91, 52, os.open("file", os.O_RDONLY), 0o4755 | 1 << 32)
    elif name == "open": os.open("made", CREAT | WRONLY, 0o4755)
    elif name == "open-by-number": call(2, None, b"made", CREAT | WRONLY, 0o4755)
    elif name == "creat": call(85, None, b"made", 0o4755)
    elif name == "openat2": call(437, 437, -100, b"made", how(24, CREAT | WRONLY, 0o4755), 24)
    elif name == "mknod": os.mknod("made", 0o104755)
    elif name == "mknod-by-number": call(133, None, b"made", 0o104755, 0)
    elif name == "nameless":
        fd = os.open(".", TMPFILE | WRONLY, 0o4755)
        call(265, 37, -100, b"/proc/self/fd/%d" % fd, -100, b"made", 0x400)
    elif name == "both-bits": os.chmod("file", 0o6755)
"""
NAMES = (
    "chmod", "fchmod", "fchmodat2", "by-number", "high-bits", "open", "open-by-number", "creat", "openat2", "mknod",
    "mknod-by-number", "nameless", "both-bits",
)  # fmt: skip
BY_SHELL = {
    "chmod": "chmod u+s file",
    "install": "install -m 4755 file made",
    "copy": "cp --preserve=mode ../marked made",
    "archive": "tar -C .. -c marked | tar -xp",
}


def set_user_ids(place: Path) -> list[str]:
    return sorted(str(each.relative_to(place)) for each in place.rglob("*") if each.lstat().st_mode & stat.S_ISUID)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "marked").touch()
    (tmp_path / "marked").chmod(0o4755)
    made = tmp_path / "work"
    made.mkdir()
    (made / "file").write_text("echo\n")
    return made


@pytest.mark.parametrize("name", NAMES)
async def test_syscalls_cannot_make_a_set_user_id_file(name: str, place: Path) -> None:
    result = await run(python(CALLS, name), place)
    assert (result.ok, set_user_ids(place)) == (False, []), result.output
    proof = await run_unrestricted(python(CALLS, name), place)
    if not proof.ok or not set_user_ids(place):
        pytest.skip(f"fails without a sandbox too: {proof.output}")


@pytest.mark.parametrize(("name", "command"), BY_SHELL.items(), ids=BY_SHELL)
async def test_programs_cannot_make_a_set_user_id_file(name: str, command: str, place: Path) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"needs {command.split()[0]}")
    await run(command, place)
    assert set_user_ids(place) == []
    proof = await run_unrestricted(command, place)
    if not set_user_ids(place):
        pytest.skip(f"fails without a sandbox too: {proof.output}")


async def test_other_modes_can_be_set_in_a_workspace(place: Path) -> None:
    command = (
        "umask 022; mkdir shared open; chmod g+s shared; chmod 1777 open; chmod 755 file; mkdir -m 700 own; "
        "install -m 600 file copy; tar c file | tar x -O >/dev/null; stat -c '%a %n' shared open file own copy"
    )
    result = await run(command, place)
    kept = stat.S_IMODE((place / "shared").stat().st_mode)
    if not kept & stat.S_ISGID and os.getegid() != (place / "shared").stat().st_gid:
        pytest.skip("this system clears the bit on a directory of another group")
    assert result.stdout == "2755 shared\n1777 open\n755 file\n700 own\n600 copy\n", result.output


async def test_existing_set_user_id_file_can_be_written(place: Path) -> None:
    (place / "before").write_text("old")
    (place / "before").chmod(0o4755)
    assert (await run("cat before; echo new >before; cat before", place)).stdout == "oldnew\n"


async def test_refused_set_user_id_bit_is_explained_in_the_notes(place: Path) -> None:
    result = await run("chmod u+s file", place)
    assert any("setting the set-user-ID bit of a file" in note for note in result.notes), result
