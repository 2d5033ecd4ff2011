"""Machines with missing parts: nacre works without them, or says what is wrong and how to fix it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, ToolContext
from nacre.result import Exited, NotStarted
from nacre.sandbox.probe import probe
from tests.conftest import PORTABLE
from tests.support.deny import deny_calls
from tests.support.hosts import run_host
from tests.support.machines import (
    Through,
    fresh_proc,
    mount_out_of_reach,
    no_dev_fd,
    no_proc,
    no_temporary_directory,
    stale_proc,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these are Linux machines")

KERNEL = probe()
MODES = ["unrestricted", *(["restricted", "workspace"] if KERNEL.confines else [])]
needs_landlock = pytest.mark.skipif(not KERNEL.confines, reason="no Landlock here")

RUN = """
    import sys, nacre
    access, cwd, command = sys.argv[1:]
    try:
        result = nacre.run_sync(command, access=access, cwd=cwd, timeout=60)
        print(repr((type(result.outcome).__name__, result.output, getattr(result.outcome, "hint", ""))))
    except nacre.NacreError as error:
        print(repr((type(error).__name__, str(error), getattr(error, "hint", ""))))
"""


def run_on(through: Through, access: str, place: Path, command: str, **more: Any) -> tuple[str, str, str]:
    """Run the command on that machine; return outcome or exception, output or message, and hint."""
    answer = run_host(RUN, access, place, command, through=through, **more)
    kind, text, hint = ast.literal_eval(answer)
    return str(kind), str(text), str(hint)


# /proc


@pytest.mark.parametrize("portable", ["", "1"])
def test_proc_of_another_pid_namespace_is_refused(tmp_path: Path, portable: str) -> None:
    env = {"NACRE_PORTABLE": portable}
    kind, text, _ = run_on(stale_proc(), "unrestricted", tmp_path, f"touch {tmp_path.name}", env=env)
    assert (kind, text.partition(":")[0]) == ("KeeperFailed", "/proc belongs to another PID namespace")
    assert "`unshare --mount-proc …`" in text
    assert "`mount -t proc proc /proc`" in text
    assert os.listdir(tmp_path) == []


def test_a_pid_namespace_with_its_own_proc_works(tmp_path: Path) -> None:
    assert run_on(fresh_proc(), "unrestricted", tmp_path, "echo hi") == ("Exited", "hi\n", "")


def test_a_host_whose_children_live_in_another_pid_namespace_is_refused(tmp_path: Path) -> None:
    """The host's own /proc is right; its keeper's is not, and only the keeper can notice."""
    program = """
        import ctypes, sys
        if ctypes.CDLL(None).unshare(0x20000000):
            print("no namespace")
            sys.exit()
        import nacre
        try:
            print(nacre.run_sync("echo hi"))
        except nacre.NacreError as error:
            print(error)
    """
    said = run_host(program)
    if said == "no namespace\n":
        pytest.skip("no PID namespaces here")
    assert said.startswith("/proc belongs to another PID namespace: it has number ")
    assert "`unshare --mount-proc …`" in said


def test_a_machine_without_proc_is_refused(tmp_path: Path) -> None:
    kind, text, _ = run_on(no_proc(), "unrestricted", tmp_path, "echo hi")
    assert (kind, text) == (
        "KeeperFailed",
        "/proc is not mounted; nacre finds the processes of a command there. Mount it: `mount -t proc proc /proc`.",
    )


# /dev


@pytest.mark.parametrize("access", MODES)
def test_a_machine_without_dev_fd_runs_commands(tmp_path: Path, access: str) -> None:
    """The /dev of this machine covers the real one, and mounts below it that no path reaches any more."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "work").mkdir()
    command = "echo hi; test -e /dev/fd || echo none"
    through = no_dev_fd(tmp_path / "dev")
    assert run_on(through, access, tmp_path / "work", command) == ("Exited", "hi\nnone\n", "")
    slow = run_on(through, access, tmp_path / "work", "sleep 0.01 & wait; echo done")
    assert slow == ("Exited", "done\n", "")


@pytest.mark.linux
@needs_landlock
def test_mount_point_that_the_user_cannot_reach_does_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    through = mount_out_of_reach(tmp_path / "closed")
    answer = run_on(through, "workspace", tmp_path / "work", "echo x > made; cat made; ls ../closed 2>&-; true")
    assert answer == ("Exited", "x\n", "")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """Yield a directory in /dev/shm."""
    if not os.access("/dev/shm", os.W_OK | os.X_OK):
        pytest.skip("/dev/shm is not writable")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="nacre-test-") as place:
        yield Path(place)


@pytest.mark.linux
@needs_landlock
async def test_a_workspace_in_shared_memory_works_and_is_protected(bash: Bash, in_memory: Path) -> None:
    work, other = in_memory / "deep" / "work", in_memory / "other"
    (work / ".claude").mkdir(parents=True)
    other.mkdir()
    tries = f"echo x > made; cat made; touch .claude/made {other}/made; pwd"
    result = await bash.run(tries, ToolContext(access="workspace", working_dir=work))
    assert (result.outcome, result.stdout) == (Exited(0), f"x\n{work}\n")
    assert (work / "made").read_text() == "x\n"
    assert list((work / ".claude").iterdir()) == []
    if KERNEL.mounts:  # then it has a private /dev/shm; else the shared one may be writable
        assert list(other.iterdir()) == []


@pytest.mark.linux
@needs_landlock
@pytest.mark.parametrize("linked", [False, True])
def test_a_private_directory_in_shared_memory_can_be_written(tmp_path: Path, in_memory: Path, linked: bool) -> None:
    place, work = tmp_path / "link" if linked else in_memory, tmp_path / "work"
    work.mkdir()
    if linked:
        place.symlink_to(in_memory)
    command = 'echo x > "$TMPDIR/made" && cat "$TMPDIR/made"; echo "${TMPDIR%/*/*}"'
    for access in ("workspace", "restricted"):
        answer = run_on((), access, work, command, env={"TMPDIR": str(place)})
        assert answer == ("Exited", f"x\n{place}\n", "")


@pytest.mark.linux
@pytest.mark.skipif(not KERNEL.mounts, reason="needs mount namespaces: without them /dev/shm is shared")
async def test_run_in_a_directory_below_a_covered_dev_shm_gets_a_hint(
    bash: Bash, tmp_path: Path, in_memory: Path
) -> None:
    ctx = ToolContext(access="workspace", workspace=tmp_path, working_dir=in_memory)
    result = await bash.run("echo hi", ctx)
    hint = "With access='workspace' a command has a private /dev/shm: start it in the workspace."
    assert result.outcome == NotStarted("No such file or directory", hint)


# temporary files


def test_unrestricted_commands_run_without_a_temporary_directory(tmp_path: Path) -> None:
    if PORTABLE:
        pytest.skip("portable mode passes data in temporary files")
    through = no_temporary_directory()
    assert run_on(through, "unrestricted", Path("/"), "seq 300000 | tail -1") == ("Exited", "300000\n", "")


@pytest.mark.linux
@needs_landlock
@pytest.mark.parametrize("access", ["restricted", "workspace"])
def test_sandboxed_commands_are_refused_without_a_temporary_directory(tmp_path: Path, access: str) -> None:
    kind, text, hint = run_on(no_temporary_directory(), access, tmp_path, "echo hi")
    assert kind == "AccessUnavailable"
    assert text.startswith(f"Access {access!r} gives a command a private TMPDIR, and no temporary directory")
    assert hint == "Set TMPDIR to a directory that this user can write to."


@pytest.mark.linux
@needs_landlock
@pytest.mark.parametrize("yield_after", [None, 30])
def test_deleted_temporary_directory_is_named_in_the_outcome(tmp_path: Path, yield_after: float | None) -> None:
    gone = tmp_path / "gone"
    program = """
        import sys, tempfile, nacre, asyncio
        tempfile.tempdir = sys.argv[1]
        ctx = nacre.ToolContext(access="restricted", working_dir="/")
        request = nacre.Request("echo hi", yield_after=float(sys.argv[2]) or None)
        print(asyncio.run(nacre.Bash().run(request, ctx)).outcome)
    """
    outcome = NotStarted(
        f"the temporary directory {gone} is not writable: No such file or directory",
        "Set TMPDIR to a directory that this user can write to.",
    )
    assert run_host(program, gone, yield_after or 0) == f"{outcome}\n"


# system calls


@pytest.mark.linux
@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("access", MODES)
def test_commands_and_sessions_work_without_memfd_create(tmp_path: Path, access: str, error: str) -> None:
    program = """
        import asyncio, sys
        from nacre import Bash, Limits, Request, Session, ToolContext

        async def main():
            ctx = ToolContext(access=sys.argv[1], working_dir=sys.argv[2], limits=Limits(memory=1 << 30))
            session = Session(Bash(), ctx)
            print((await session.run("export A=1; cd /; false | cat")).pipestatus)
            print((await session.run("echo $A; pwd")).output)
            print((await Bash().run(Request("cat", stdin="given"), ctx)).output)
            print((await Bash().run(f"echo {'x' * 100_000} | wc -c; sleep 0.2", ctx)).output)  # long, and measured

        asyncio.run(main())
    """
    said = run_host(program, access, tmp_path, through=deny_calls(f"memfd_create={error}"))
    stages = "(PipelineStatus(name='false', status=1), PipelineStatus(name='cat', status=0))"
    assert said == f"{stages}\n1\n/\n\ngiven\n100001\n\n"


@pytest.mark.linux
def test_error_without_memfd_create_and_temporary_directory_names_the_fix(tmp_path: Path) -> None:
    through = (*no_temporary_directory(), *deny_calls("memfd_create=EPERM"))
    kind, text, _ = run_on(through, "unrestricted", tmp_path, "echo hi")
    assert kind == "KeeperFailed"
    assert text.startswith("nacre's keeper could not be started: no temporary directory is writable, of ")
    assert text.endswith(". Set TMPDIR to a directory that this user can write to.")


@pytest.mark.parametrize("access", MODES)
def test_clone3_denied_with_enosys_changes_nothing(tmp_path: Path, access: str) -> None:
    assert run_on(deny_calls("clone3=ENOSYS"), access, tmp_path, "echo hi | cat") == ("Exited", "hi\n", "")


@pytest.mark.parametrize("access", MODES)
def test_clone3_denied_with_eperm_raises_an_error_with_the_fix(tmp_path: Path, access: str) -> None:
    through = deny_calls("clone3=EPERM")
    start = "import os; os.posix_spawn('/bin/true', ['true'], {})"
    if subprocess.run([*through, sys.executable, "-c", start], capture_output=True, check=False).returncode == 0:
        pytest.skip("this C library starts processes without clone3")
    kind, text, _ = run_on(through, access, tmp_path, "echo hi")
    assert kind == "KeeperFailed"
    assert "denies clone3 with EPERM, where ENOSYS is the right answer" in text
    assert "--security-opt seccomp=PROFILE" in text
