"""The audit trail: what it records, how long it keeps records, and what happens when it cannot write."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
import stat
import subprocess
import sys
import textwrap
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, InvalidRequest, Request, ToolContext
from nacre.observe import Audit
from nacre.observe.audit_reader import AuditReader
from nacre.testing import ScriptedBash
from tests.support.disks import small_disk
from tests.support.hosts import run_host
from tests.support.waiting import HANG_TIMEOUT_S


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_each_run_is_one_line_with_caller_and_outcome(path: Path, tmp_path: Path) -> None:
    bash = Bash("mycode", observers=(Audit(path),))
    await bash.run("echo hi", ToolContext(working_dir=tmp_path, conversation_id="c-1", caller="me"))
    await bash.run("rm -rf ~")
    first, second = lines(path)
    assert (first["v"], first["host_pid"], first["uid"]) == (1, os.getpid(), os.geteuid())
    assert first["time"].endswith("Z")
    assert (first["caller"], first["conversation"], first["profile"]) == ("me", "c-1", "mycode")
    assert (first["command"], first["plan"]["cwd"]) == ("echo hi", str(tmp_path))
    assert first["outcome"] == {"kind": "exited", "code": 0}
    assert first["sha256"] == hashlib.sha256(b"hi\n").hexdigest()
    assert second["outcome"]["kind"] == "refused"
    assert second["verdict"]["decision"] == "refuse"


async def test_audit_file_is_readable_by_its_owner_only(path: Path) -> None:
    await Bash(observers=(Audit(path),)).run("true")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_audit_line_contains_no_secret_or_control_character(path: Path) -> None:
    bash = Bash(observers=(Audit(path),))
    await bash.run("echo 'hunter2-secret\x1b[2J\u202e\n'", ToolContext(secrets=("hunter2-secret",)))
    text = path.read_bytes()
    assert b"hunter2" not in text
    assert text.count(b"\n") == 1
    assert text.decode("ascii").rstrip("\n").isprintable()


async def test_long_command_is_truncated(path: Path) -> None:
    await Bash(observers=(Audit(path),)).run("true " + "x" * 200_000)
    assert path.stat().st_size < 20_000


async def test_full_file_is_rotated_and_the_oldest_removed(path: Path) -> None:
    bash = Bash(observers=(Audit(path, max_bytes=2000, keep=2),))
    for number in range(12):
        await bash.run(f"true {number}")
    files = sorted(entry.name for entry in path.parent.iterdir())
    assert files == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
    assert all(entry.stat().st_size <= 2000 for entry in path.parent.iterdir())
    kept = [record["command"] for record in AuditReader(str(path)).records()]
    assert kept == [f"true {number}" for number in range(12 - len(kept), 12)]
    assert len(kept) >= 3


async def test_full_file_that_cannot_be_rotated_is_still_appended_to(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = Audit(path, max_bytes=1, keep=1)
    path.with_name("audit.jsonl.1").mkdir(parents=True)
    for number in range(3):
        await Bash(observers=(audit,)).run(f"true {number}")
    assert [line["command"] for line in lines(path)] == ["true 0", "true 1", "true 2"]
    assert (audit.lost, audit.problem) == (0, "")
    (record,) = caplog.records
    assert record.getMessage() == f"The audit trail {path} is full and cannot be moved: Is a directory"


def test_processes_that_share_a_trail_lose_and_mix_no_lines(path: Path) -> None:
    program = f"""
        import asyncio, sys
        from nacre.observe import Audit
        from nacre.testing import ScriptedBash
        bash = ScriptedBash(observers=(Audit({str(path)!r}, max_bytes=20_000, keep=1000),))
        bash.on(lambda request: True, stdout="x" * 50)
        async def main():
            for number in range(100):
                await bash.run(f"echo {{sys.argv[1]}} {{number}}")
        asyncio.run(main())
    """
    code = textwrap.dedent(program)
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in ("a", "b", "c")]
    assert [each.wait(HANG_TIMEOUT_S) for each in running] == [0, 0, 0]
    trail = AuditReader(str(path))
    found = sorted(record["command"] for record in trail.records())
    assert found == sorted(f"echo {name} {number}" for name in "abc" for number in range(100))
    assert trail.unreadable == 0
    assert len(trail.files()) > 3


async def test_failed_write_is_counted_and_logged_once_and_disturbs_no_run(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.parent.joinpath("state").write_text("in the way")
    audit = Audit(path)
    bash = Bash(observers=(audit,))
    for _ in range(3):
        assert (await bash.run("echo fine")).output == "fine\n"
    assert audit.lost == 3
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("nacre.audit", logging.WARNING)
    path.parent.unlink()
    await bash.run("true")
    assert [line["missing"] for line in lines(path)] == [3]
    assert (audit.lost, audit.problem) == (3, "")


async def test_full_disk_disturbs_no_run(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        audit = Audit(disk / "audit.jsonl")
        (disk / "ballast").write_bytes(b"x" * 62 * 1024)
        assert (await Bash(observers=(audit,)).run("echo fine")).output == "fine\n"
        assert (audit.lost, audit.problem) == (1, "No space left on device")
        (disk / "ballast").unlink()
        await Bash(observers=(audit,)).run("true")
        assert [line["command"] for line in lines(disk / "audit.jsonl")] == ["true"]


async def test_incomplete_line_spoils_no_other(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"v": 1, "comm')
    await Bash(observers=(Audit(path),)).run("true")
    trail = AuditReader(str(path))
    assert [record["command"] for record in trail.records()] == ["true"]
    assert trail.unreadable == 1


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
async def test_audit_writes_only_to_regular_files(kind: str, path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    other = tmp_path / "other"
    if kind == "link":
        path.symlink_to(other)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    audit = Audit(path)
    assert (await Bash(observers=(audit,)).run("true")).ok
    assert audit.lost == 1
    assert not other.exists()


async def test_environment_variable_enables_the_audit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_AUDIT", str(path))
    await Bash().run("true")
    assert [line["command"] for line in lines(path)] == ["true"]
    for no in ("", "0", "off"):
        monkeypatch.setenv("NACRE_AUDIT", no)
        assert Bash().observers == ()


async def test_same_audit_path_configured_twice_records_each_run_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_AUDIT", str(path))
    await Bash(observers=(Audit(path),)).run("true")
    assert [line["command"] for line in lines(path)] == ["true"]


async def test_request_with_wrong_types_is_recorded(path: Path) -> None:
    bash = Bash(observers=(Audit(path),))
    with pytest.raises(InvalidRequest):
        await bash.run(Request("true", mode=b"slow"))  # type: ignore[arg-type]
    assert [(line["error"], line["plan"]["mode"]) for line in lines(path)] == [("bad_mode", "b'slow'")]


def test_default_path_is_in_the_state_directory(tmp_path: Path) -> None:
    program = f"""
        import os
        os.environ.update(NACRE_AUDIT="1", XDG_STATE_HOME={str(tmp_path)!r})
        import nacre
        assert nacre.run_sync("true").ok
    """
    run_host(program)
    assert len(lines(tmp_path / "nacre" / "audit.jsonl")) == 1


def test_forked_child_can_write_despite_a_held_lock(path: Path) -> None:
    program = f"""
        import asyncio, os
        from nacre.observe import Audit
        from nacre.testing import ScriptedBash
        audit = Audit({str(path)!r})
        bash = ScriptedBash(observers=(audit,)).on("ls")
        with audit._lock:
            child = os.fork()
            if not child:
                asyncio.run(bash.run("ls"))
                os._exit(0)
            os.waitpid(child, 0)
    """
    run_host(program)
    assert [line["command"] for line in lines(path)] == ["ls"]


def test_relative_audit_path_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_AUDIT", "audit.jsonl")
    with pytest.raises(InvalidRequest) as raised:
        Bash()
    assert (raised.value.code, raised.value.field) == ("bad_audit", "NACRE_AUDIT")


def test_max_bytes_of_zero_is_an_error(path: Path) -> None:
    with pytest.raises(ValueError, match="max_bytes"):
        Audit(path, max_bytes=0)


async def test_concurrent_runs_are_one_line_each(path: Path) -> None:
    bash = Bash(observers=(Audit(path),))
    await asyncio.gather(*(bash.run(f"true {number}") for number in range(20)))
    assert sorted(line["command"] for line in lines(path)) == sorted(f"true {number}" for number in range(20))


def test_follower_misses_no_file_rotated_between_reads(path: Path) -> None:
    audit = Audit(path, max_bytes=1, keep=99)  # one line fills it
    for number in range(3):
        audit.append(0, {"command": number})
    trail = AuditReader(str(path))
    assert [record["command"] for record in trail.records()] == [0, 1, 2]

    def write(_: float) -> None:
        for number in range(3, 9):
            audit.append(0, {"command": number})

    assert [record["command"] for record in islice(trail.follow(write), 6)] == [3, 4, 5, 6, 7, 8]


def test_follower_sees_lines_appended_late_to_a_rotated_file(path: Path) -> None:
    audit = Audit(path)
    audit.append(0, {"command": "first"})

    def write(_: float) -> None:
        if not path.with_name("audit.jsonl.1").exists():
            path.rename(f"{path}.1")
            audit.append(0, {"command": "next"})
        else:
            Audit(f"{path}.1").append(0, {"command": "late"})

    found = [record["command"] for record in islice(AuditReader(str(path)).follow(write), 2)]
    assert found == ["next", "late"]


def test_file_rotated_while_reading_is_read_once(path: Path) -> None:
    audit = Audit(path, max_bytes=1, keep=99)
    for number in range(4):
        audit.append(0, {"command": number})
    found = []
    for record in AuditReader(str(path)).records():
        found.append(record["command"])
        if record["command"] == 1:
            audit.append(0, {"command": 4})
    assert found == [0, 1, 2, 3, 4]


async def test_follower_continues_in_the_next_file(path: Path) -> None:
    bash = ScriptedBash(observers=(Audit(path, max_bytes=1500, keep=9),)).on(re.compile("."))
    await bash.run("true before")
    commands = iter([f"true {number}" for number in range(6)])

    def write(_: float) -> None:
        """Run a command while the reader waits."""
        asyncio.run(bash.run(next(commands)))

    def follow_records() -> list[str]:
        return [record["command"] for record in islice(AuditReader(str(path)).follow(write), 6)]

    assert await asyncio.to_thread(follow_records) == [f"true {number}" for number in range(6)]
    assert len(AuditReader(str(path)).files()) > 2
