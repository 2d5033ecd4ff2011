"""Regression tests for the findings of a hostile review."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from nacre import Bash, Profile, Request, Session, ToolContext
from nacre.keeper.client import watchdog
from nacre.keeper.client.connection import keeper_connection
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S
from nacre.keeper.protocol.procfs import children_of, read_process
from nacre.result import Exited, TimedOut
from tests.support.census import ready_shells
from tests.support.hosts import run_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.quoting import quote
from tests.support.users import free_uid
from tests.support.waiting import TIME_LIMITS_S, turn_loop, until, until_steady

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as another user")


@ROOT
def test_host_that_changes_its_group_id_gets_another_keeper() -> None:
    gid = free_uid()
    program = """
        import os, sys, nacre
        gid = int(sys.argv[1])
        first = nacre.run_sync("sleep 60 & echo $PPID", cwd="/")
        os.setresgid(gid, gid, 0)
        second = nacre.run_sync("echo $PPID; id -g; exit 3", cwd="/")
        assert second.exit_code == 3, second
        keeper, group = second.stdout.split()
        print(keeper != first.stdout.strip(), group)
    """
    assert run_host(program, gid) == f"True {gid}\n"


@pytest.mark.linux
async def test_daemon_that_sheds_its_tag_is_killed_with_the_only_run(bash: Bash, life: Lifeline) -> None:
    daemon = f"{life.hold} (ulimit -S -x 5; setsid -f sleep 60 </dev/null >/dev/null 2>&1); echo ready; sleep 999"
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(daemon, timeout=limit))
        if result.stdout:
            break
    assert (result.outcome, result.running, life.over) == (TimedOut(limit), (), True)


@pytest.mark.linux
def test_untagged_process_of_an_unknown_run_is_killed_at_host_exit(life: Lifeline, gate: Gate) -> None:
    """Two runs exist when the process sheds its tag, so it could belong to either."""
    program = """
        import asyncio, nacre, sys
        async def main():
            await asyncio.gather(nacre.run(sys.argv[1]), nacre.run(sys.argv[2]))
        asyncio.run(main())
    """
    inner = "bash -c 'sleep 60 & wait' </dev/null >/dev/null 2>&1"
    shed = f"{life.hold} (ulimit -S -x 5; setsid -f {inner}); echo >{quote(gate.path)}"
    run_host(program, shed, gate.wait)
    life.wait_over()


async def test_blocked_event_loop_does_not_make_the_keeper_look_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    late = 0.5
    monkeypatch.setattr(watchdog, "_KEEPER_TIMEOUT_S", late)
    bash = Bash(Profile(name="hasty", grace=0.2))
    keeper = (await bash.run("echo $PPID")).stdout
    for limit in (5, TIME_LIMITS_S[-1]):
        task = asyncio.create_task(bash.run(Request("echo hi", timeout=limit)))
        await turn_loop()  # until the run begins
        time.sleep(
            limit + bash.profile.grace + UNKILLABLE_AFTER_S + 2 * late
        )  # by now the keeper would have to have reported the exit
        result = await task
        if result.outcome != TimedOut(limit):
            break
    assert (result.outcome, result.stdout) == (Exited(0), "hi\n")
    assert (await bash.run("echo $PPID")).stdout == keeper


def state(pid: int, program: str) -> str:
    seen = read_process(pid)
    return "X" if seen is None else seen.state if seen.command == program else "?"


@pytest.mark.linux
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
async def test_killed_or_stopped_standby_shell_does_not_harm_the_next_command(bash: Bash, blow: int) -> None:
    for _ in range(30):
        await bash.run("true")
        for pid in await until(lambda: ready_shells(keeper_connection().pid), "a shell that waits"):
            with contextlib.suppress(ProcessLookupError):  # an extra standby shell is stopped after a second
                os.kill(pid, blow)
            await until(lambda pid=pid: state(pid, "bash") in "ZTX", "the blow")  # type: ignore[misc]
        result = await bash.run(Request("echo hi", timeout=20))
        assert (result.outcome, result.stdout) == (Exited(0), "hi\n")


@pytest.mark.linux
@pytest.mark.req("M-11")
async def test_variable_passed_to_one_call_is_not_in_the_next_standby_shell(
    bash: Bash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "not-for-everyone-1234")
    passed = await bash.run("echo $MY_API_KEY", ToolContext(pass_env=("MY_API_KEY",)))
    assert passed.stdout == "not-for-everyone-1234\n"
    await until_steady(lambda: children_of(keeper_connection().pid))
    for pid in ready_shells(keeper_connection().pid):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            assert b"not-for-everyone" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.linux
@pytest.mark.req("M-11")
def test_keeper_does_not_inherit_an_arbitrary_variable_of_the_host() -> None:
    program = """
        import nacre
        print(nacre.run_sync(r"tr '\\0' '\\n' </proc/$PPID/environ || echo denied").stdout)
    """
    shown = run_host(program, env={"INNOCENT": "hunter2"})
    assert "PATH=" in shown or "denied" in shown  # readable only by root
    assert "hunter2" not in shown


async def test_child_forked_during_a_run_has_its_own_run_slots(gate: Gate, tmp_path: Path) -> None:
    program = """
        import asyncio, os, pathlib, sys, nacre
        from tests.support.waiting import until
        bash = nacre.Bash(max_running=1)
        async def main():
            task = asyncio.create_task(bash.run(sys.argv[1]))
            await until(pathlib.Path(sys.argv[3]).exists, "the beginning of the run")
            child = os.fork()
            if child == 0:
                asyncio.set_event_loop(None)
                asyncio.events._set_running_loop(None)
                print(asyncio.new_event_loop().run_until_complete(bash.run("echo child")).stdout, end="", flush=True)
                os._exit(0)
            await asyncio.to_thread(os.waitpid, child, 0)
            pathlib.Path(sys.argv[2]).write_text("go\\n")
            print((await task).stdout, end="", flush=True)
        asyncio.run(main())
    """
    ready = tmp_path / "ready"
    text = f": >'{ready}'; {gate.wait}; echo parent"
    assert run_host(program, text, gate.path, ready) == "child\nparent\n"


async def test_output_through_a_process_substitution_is_waited_for(bash: Bash, tmp_path: Path) -> None:
    for _ in range(10):
        result = await bash.run(Request("exec > >(tee log); echo through", cwd=tmp_path))
        assert (result.outcome, result.stdout) == (Exited(0), "through\n")


@pytest.mark.linux  # elsewhere the keeper itself needs a temporary file
def test_deleted_directory_for_spill_files_gets_a_note(tmp_path: Path) -> None:
    program = """
        import os, sys, tempfile, nacre
        tempfile.gettempdir()
        os.rmdir(sys.argv[1])
        result = nacre.run_sync("seq 1000", limits=nacre.Limits(output=10))
        print(result.summary, result.total_bytes, result.spill, result.notes)
    """
    (tmp_path / "gone").mkdir()
    shown = run_host(program, tmp_path / "gone", env={"TMPDIR": str(tmp_path / "gone")})
    assert shown.startswith("exit 0 3893 None ('The output left out could not be written to a file: ")


def test_session_recovers_after_a_moment_without_free_fds() -> None:
    program = """
        import asyncio, nacre
        from tests.support.descriptors import limit_descriptors, no_descriptor_left
        async def main():
            session = nacre.Session()
            await session.run("true")
            limit_descriptors(100)
            with no_descriptor_left():
                try:
                    print((await session.run("true")).summary)
                except OSError as error:
                    print(error.strerror)
            print((await session.run("echo fine")).stdout, end="")
        asyncio.run(main())
    """
    assert run_host(program).endswith("fine\n")


@pytest.mark.skipif(shutil.which("python3") is None, reason="needs python3 on PATH")
@pytest.mark.linux
async def test_process_whose_main_thread_has_exited_is_killed_on_timeout(bash: Bash, life: Lifeline) -> None:
    program = "import threading, time, ctypes; threading.Thread(target=time.sleep, args=(60,)).start(); "
    program += "print('ready', flush=True); ctypes.CDLL(None).pthread_exit(None)"
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(f'{life.hold} python3 -c "{program}"', timeout=limit))
        if result.stdout:
            break
    assert (result.outcome, result.running, life.over) == (TimedOut(limit), (), True)


async def test_run_with_its_own_cwd_leaves_the_session_directory_without_a_note(tmp_path: Path) -> None:
    session = Session(ctx=ToolContext(working_dir=tmp_path))
    assert (await session.run(Request("cd /usr", cwd="/"))).notes == ()
    assert session.cwd == str(tmp_path)
