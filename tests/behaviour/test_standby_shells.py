"""Standby shells: the keeper may start a shell ahead of the next command, and commands must not notice."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from nacre import Bash, Request, ToolContext
from nacre.result import Exited, Signalled, TimedOut
from tests.support.census import is_alive, ready_shells
from tests.support.commands import CHILDREN_OF_PARENT
from tests.support.hosts import kill, run_host
from tests.support.quoting import quote
from tests.support.users import as_user, directory_of, free_uid
from tests.support.waiting import wait_until


async def test_replaced_working_directory_is_used_by_the_next_command(bash: Bash, tmp_path: Path) -> None:
    place = tmp_path / "place"
    for name in "abc":
        place.mkdir()
        (place / name).touch()
        assert (await bash.run(Request("ls; pwd", cwd=place))).output == f"{name}\n{place}\n"
        place.rename(tmp_path / f"old-{name}")


async def test_retargeted_symlink_leads_to_the_new_directory(bash: Bash, tmp_path: Path) -> None:
    link = tmp_path / "link"
    for name in "abc":
        (tmp_path / name).mkdir()
        link.symlink_to(name)
        assert (await bash.run(Request("pwd -P", cwd=link))).output == f"{tmp_path / name}\n"
        link.unlink()


async def test_working_directory_that_was_deleted_and_recreated_works(bash: Bash, tmp_path: Path) -> None:
    place = tmp_path / "place"
    for _ in range(5):
        place.mkdir()
        result = await bash.run(Request("touch file && ls && pwd -P", cwd=place))
        assert (result.outcome, result.output) == (Exited(0), f"file\n{place}\n")
        shutil.rmtree(place)


async def test_command_has_the_hosts_environment_at_the_time_of_its_call(
    bash: Bash, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for value in "1223":
        monkeypatch.setenv("OF_THE_MOMENT", value)
        said.append((await bash.run("echo $OF_THE_MOMENT")).output)
    monkeypatch.delenv("OF_THE_MOMENT")
    said.append((await bash.run("echo ${OF_THE_MOMENT-none}")).output)
    assert said == ["1\n", "2\n", "2\n", "3\n", "none\n"]


async def test_env_stdin_and_merge_of_one_call_do_not_reach_the_next(bash: Bash) -> None:
    await bash.run(Request("true", env={"ONCE": "1"}))
    plain = [await bash.run("echo ${ONCE-none}") for _ in range(3)]
    await bash.run(Request("true", stdin="given"))
    after_stdin = await bash.run("cat; echo end")
    await bash.run(Request("true", merge=True))
    after_merge = await bash.run("echo out; echo err >&2")
    assert [result.output for result in plain] == ["none\n"] * 3
    assert (after_stdin.output, after_merge.stdout, after_merge.stderr) == ("end\n", "out\n", "err\n")


async def test_each_command_has_its_own_shell(bash: Bash) -> None:
    results = [await bash.run("echo $$; x=${x-0}; ((x++)); echo $x $BASH_SUBSHELL") for _ in range(5)]
    assert [result.output for result in results] == [f"{result.pid}\n1 0\n" for result in results]
    assert len({result.pid for result in results}) == 5


async def test_timeout_counts_from_the_command_not_from_the_start_of_its_shell(bash: Bash) -> None:
    await bash.run("true")
    await bash.run("sleep 1")  # meanwhile the next standby shell is ready, and older than the limit
    result = await bash.run(Request("sleep 999", timeout=0.5))
    assert result.outcome == TimedOut(0.5)
    assert result.duration >= 0.4


async def test_command_that_kills_all_children_of_its_parent_harms_only_itself(bash: Bash) -> None:
    for _ in range(20):
        suicide = await bash.run(f"kill -9 $({CHILDREN_OF_PARENT}); echo not here")
        assert suicide.outcome == Signalled(9)
        result = await bash.run("echo alive")
        assert (result.outcome, result.output) == (Exited(0), "alive\n")


async def test_leftover_that_kills_its_siblings_harms_no_later_command(bash: Bash, tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    os.mkfifo(go)
    os.mkfifo(done)
    for _ in range(20):
        await bash.run("true")  # without a pause: there may be a second standby shell
    siblings = f"others=$({CHILDREN_OF_PARENT})"
    killing = f"(read -r _ <{quote(go)}; kill -9 $others; echo >{quote(done)}) &"
    killer = await bash.run(Request(f"{siblings}; {killing} kill -9 $$", leftovers="keep"))
    result = await bash.run(f"echo >{quote(go)}; read -r _ <{quote(done)}; echo alive")
    assert (killer.outcome, result.outcome, result.output) == (Signalled(9), Exited(0), "alive\n")


async def test_killed_standby_shell_does_not_harm_the_next_command(bash: Bash) -> None:
    keeper = int((await bash.run("echo $PPID")).stdout)
    for i in range(20):
        for shell in ready_shells(keeper):
            with contextlib.suppress(ProcessLookupError):  # an extra standby shell is stopped after a second
                kill(shell)
        result = await bash.run(f"echo {i}")
        assert (result.outcome, result.output) == (Exited(0), f"{i}\n")


@pytest.mark.linux
async def test_one_standby_shell_remains_after_commands_without_a_pause(bash: Bash) -> None:
    keeper = int((await bash.run("echo $PPID")).stdout)
    results = [await bash.run("echo $$") for _ in range(50)]
    assert [result.output for result in results] == [f"{result.pid}\n" for result in results]
    assert len({result.pid for result in results}) == 50
    wait_until(lambda: len(ready_shells(keeper)) == 1, "a single ready shell")


async def test_standby_shell_exits_with_its_killed_keeper(bash: Bash) -> None:
    keeper = int((await bash.run("echo $PPID")).stdout)
    shells = ready_shells(keeper)
    kill(keeper)
    wait_until(lambda: not any(map(is_alive, shells)), "the end of the ready shells")


def test_standby_shell_exits_with_its_host() -> None:
    program = """
        import os, nacre
        from tests.support.census import children
        keeper = int(nacre.run_sync("echo $PPID").stdout)
        print(*children(keeper))
    """
    shells = [int(pid) for pid in run_host(program).split()]
    wait_until(lambda: not any(map(is_alive, shells)), "the end of the ready shells")


@pytest.mark.linux
def test_standby_processes_are_released_when_the_process_limit_is_reached() -> None:
    """A standby shell, and a standby keeper with its shell: exactly the three processes that the command needs."""
    program = """
        import asyncio, sys
        from nacre import Bash, Request, ToolContext
        from tests.support.census import children, ready_shells
        from tests.support.processes import limit_processes, no_process_left
        from tests.support.waiting import wait_until

        async def main():
            limit_processes(50)
            bash = Bash()
            keeper = int((await bash.run("echo $PPID")).stdout)
            await bash.run(Request("true", mode="background"), ToolContext(output_dir=sys.argv[1]))
            def shells():
                return [shell for kept in (keeper, *children(keeper)) for shell in ready_shells(kept)]
            wait_until(lambda: len(shells()) == len(children(keeper)) == 2, "what stands ready")
            with no_process_left():
                result = await bash.run(Request("echo fine | cat", cwd="/"))
                print(result.summary, result.output, ready_shells(keeper))

        asyncio.run(main())
    """
    uid = free_uid()
    through = as_user(uid)
    with directory_of(uid) as home:
        env = {"HOME": str(home), "TMPDIR": str(home), "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        assert run_host(program, home / "tasks", through=through, cwd=home, env=env) == "exit 0 fine\n []\n"


async def test_leftover_is_not_mistaken_for_a_standby_shell(bash: Bash) -> None:
    result = await bash.run("(sleep 60; true) & sleep 60 & echo done")
    later = [await bash.run("echo later") for _ in range(3)]
    assert [run.running for run in later] == [()] * 3
    assert len(result.running) == 3
    for process in result.running:
        os.kill(process.pid, 9)


@pytest.mark.req("P-010")
async def test_alternating_conversations_keep_their_own_directories(bash: Bash, tmp_path: Path) -> None:
    contexts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        contexts.append(ToolContext(working_dir=tmp_path / name))
    said = [(await bash.run("pwd", ctx)).output for _ in range(4) for ctx in contexts]
    assert said == [f"{tmp_path}/one\n", f"{tmp_path}/two\n"] * 4
