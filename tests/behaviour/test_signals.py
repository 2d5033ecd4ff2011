"""Signals that commands send: to themselves, to the keeper, to every process whose arguments contain a word."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from pathlib import Path

import pytest

from nacre import Bash, Chunk, Limits, Request, Result, Started, ToolContext
from nacre.base.frozen import replace
from nacre.keeper.client import watchdog
from nacre.result import Ended, Exited, Lost, Signalled
from tests.support.census import children, is_alive, state
from tests.support.commands import STUBBORN, processes_with_word
from tests.support.hosts import kill, run_host, started_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.plain_bash import captured_text
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S, until, until_steady, wait_until

KILLED = Lost("nacre's keeper process was killed")


async def keeper_of(bash: Bash) -> int:
    return int((await bash.run("echo $PPID")).stdout)


async def idle_keeper_of(bash: Bash) -> int:
    """Return the keeper when it is idle: after a command it may still prepare a standby shell."""
    keeper = await keeper_of(bash)
    await until_steady(lambda: (state(keeper), children(keeper)), looks=10)
    return keeper


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_shell_killed_by_a_signal_returns_at_once_with_that_signal(bash: Bash, number: signal.Signals) -> None:
    command = f"echo before; kill -{number.value} $$; echo after"
    result = await asyncio.wait_for(bash.run(command), HANG_TIMEOUT_S)
    assert result == Result(
        command=command,
        cwd=os.getcwd(),
        outcome=Signalled(number.value),
        out=captured_text("before\n"),
        both=captured_text("before\n"),
        duration=result.duration,
        pid=result.pid,
    )
    assert result.summary == f"ended by {number.name}"


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "PIPE", "ALRM", "TSTP"])
async def test_catchable_signal_to_the_parent_does_not_harm_the_keeper(bash: Bash, name: str) -> None:
    keeper = await keeper_of(bash)
    result = await bash.run(f"kill -{name} $PPID; echo alive")
    assert (result.outcome, result.stdout) == (Exited(0), "alive\n")
    assert await keeper_of(bash) == keeper


async def test_words_of_the_command_are_in_no_argument_list_of_a_process(bash: Bash) -> None:
    word = f"word{secrets.token_hex(6)}"
    result = await bash.run(f"{processes_with_word(word)}; echo alive")
    assert (result.outcome, result.output) == (Exited(0), "alive\n")


async def test_command_can_signal_its_own_process_group(bash: Bash) -> None:
    result = await bash.run("kill -9 0; echo after")
    assert (result.outcome, result.output) == (Signalled(9), "")
    assert (await bash.run("echo next")).stdout == "next\n"


async def test_run_whose_keeper_is_killed_is_lost_but_keeps_its_output(bash: Bash, life: Lifeline) -> None:
    keeper = await keeper_of(bash)
    command = f"{life.hold} echo partial; {STUBBORN}"
    last = None
    async for event in bash.stream(command):
        if isinstance(event, Chunk):
            os.kill(keeper, signal.SIGKILL)
        elif isinstance(event, Ended):
            last = event.result
    assert last is not None
    # the shell may have had time to report the death of its children
    assert last == replace(
        Result(command=command, cwd=os.getcwd(), outcome=KILLED, out=captured_text("partial\n"), pid=last.pid),
        duration=last.duration,
        err=last.err,
        both=last.both,
    )
    assert life.over
    assert await keeper_of(bash) != keeper


async def test_command_that_kills_its_keeper_is_lost_and_leaves_nothing_alive(life: Lifeline) -> None:
    result = await UNCHECKED.run(f"{life.hold} echo before; kill -9 $PPID; {STUBBORN}")
    assert (result.outcome, result.output, life.over) == (KILLED, "before\n", True)
    assert (await UNCHECKED.run("echo next")).stdout == "next\n"


async def test_every_run_of_a_killed_keeper_is_lost_and_killed(bash: Bash, life: Lifeline) -> None:
    keeper = await keeper_of(bash)
    runs = asyncio.gather(*(bash.run(f"echo partial; {life.hold} {STUBBORN}") for _ in range(10)))
    await life.wait_until_held(by=10)
    os.kill(keeper, signal.SIGKILL)
    # a shell that dies last may report the death of its children
    said = {(result.outcome, result.output.splitlines()[0], result.running) for result in await runs}
    assert said == {(KILLED, "partial", ())}
    assert life.over
    assert (await bash.run("echo next")).stdout == "next\n"


async def test_idle_keeper_that_is_killed_is_replaced(bash: Bash) -> None:
    keeper = await idle_keeper_of(bash)
    kill(keeper)
    result = await bash.run("echo next; echo $PPID >&2")
    assert (result.outcome, result.stdout) == (Exited(0), "next\n")
    assert int(result.stderr) != keeper


async def test_a_killed_keeper_leaves_no_zombie(bash: Bash) -> None:
    keeper = await idle_keeper_of(bash)
    kill(keeper)
    await bash.run("true")
    assert state(keeper) == ""


async def test_leftovers_of_a_killed_keeper_are_killed_when_the_next_one_starts(bash: Bash, life: Lifeline) -> None:
    await bash.run(f"{life.hold} sleep 999 & setsid sleep 999 & echo done")
    kill(await idle_keeper_of(bash))
    assert (await bash.run("echo next")).stdout == "next\n"
    await life.wait_until_ended()


async def test_leftovers_of_earlier_runs_are_killed_when_a_run_kills_the_keeper(
    life: Lifeline, other_life: Lifeline
) -> None:
    await UNCHECKED.run(f"{other_life.hold} sleep 999 & setsid sleep 999 & echo done")
    result = await UNCHECKED.run(f"{life.hold} kill -9 $PPID; sleep 999")
    assert (result.outcome, life.over, other_life.over) == (KILLED, True, True)


@pytest.mark.linux  # without tags in rlimits, a process that shed its environment cannot be found
async def test_daemon_with_an_empty_environment_is_killed_with_its_keeper(life: Lifeline) -> None:
    daemon = "(env -i setsid -f sleep 999 </dev/null >/dev/null 2>&1)"
    result = await UNCHECKED.run(f"{life.hold} {daemon}; kill -9 $PPID; sleep 999")
    assert (result.outcome, life.over) == (KILLED, True)


async def test_runs_that_start_while_keepers_are_killed_exit_or_are_lost(bash: Bash) -> None:
    async def kill_keepers() -> None:
        for _ in range(5):
            result = await bash.run("echo $PPID")
            if result.ok and is_alive(keeper := int(result.stdout)):
                kill(keeper)

    killing = asyncio.create_task(kill_keepers())
    results = await asyncio.wait_for(asyncio.gather(*(bash.run("echo done") for _ in range(100))), HANG_TIMEOUT_S)
    await asyncio.wait_for(killing, HANG_TIMEOUT_S)
    assert {(result.outcome, result.output) for result in results} <= {
        (Exited(0), "done\n"),
        (KILLED, "done\n"),
        (KILLED, ""),
    }
    last = [await bash.run("echo next") for _ in range(2)][-1]  # the first may still get a dying keeper
    assert last.stdout == "next\n"


async def test_first_spill_after_the_keeper_was_killed_does_not_disturb_the_run(
    bash: Bash, tmp_path: Path, life: Lifeline
) -> None:
    keeper = await keeper_of(bash)
    events = []
    ctx = ToolContext(limits=Limits(output=1000))
    stream = bash.stream(f"head -c 900 /dev/zero; head -c 5000 /dev/zero >&2; {life.hold} sleep 999", ctx)
    async for event in stream:
        events.append(event)
        if isinstance(event, Started):
            life.wait_held()  # blocks the event loop: both pipes are full when it continues
        elif isinstance(event, Chunk) and len(events) == 2:
            kill(keeper)  # the loop has not noticed when the next chunk is taken
    last = events[-1]
    assert isinstance(last, Ended)
    assert (last.result.outcome, last.result.total_bytes) == (KILLED, 5900)


async def test_children_of_a_shell_killed_by_a_signal_are_leftovers(bash: Bash, life: Lifeline) -> None:
    result = await bash.run(f"{life.hold} sleep 60 & kill -9 $$")
    assert (result.outcome, len(result.running), life.over) == (Signalled(9), 1, False)
    for process in result.running:
        os.kill(process.pid, signal.SIGKILL)
    await life.wait_until_ended()


async def test_job_killed_by_the_command_is_not_a_leftover(bash: Bash) -> None:
    result = await bash.run("sleep 60 & kill $!; wait $!; echo $?")
    assert (result.outcome, result.stdout, result.running) == (Exited(0), "143\n", ())


def test_private_directory_is_removed_when_the_host_is_killed_on_creating_it(tmp_path: Path) -> None:
    program = """
        import os, signal, sys, tempfile
        from nacre.keeper.client.connection import keeper_connection, private_directory
        tempfile.tempdir = sys.argv[1]
        keeper_connection()
        make = os.mkdir
        def make_and_die(*arguments):
            make(*arguments)
            print(*os.listdir(sys.argv[1]), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        os.mkdir = make_and_die
        private_directory()
    """
    with started_host(program, tmp_path) as host:
        made, _ = host.communicate(timeout=HANG_TIMEOUT_S)
    assert (host.returncode, made[:6]) == (-signal.SIGKILL, "nacre-")
    wait_until(lambda: not os.listdir(tmp_path), "its directory to be removed")


def test_private_directory_is_removed_after_its_keeper_was_killed(tmp_path: Path) -> None:
    program = """
        import os, nacre, signal
        from nacre import Limits
        spilled = nacre.run_sync("head -c 100000 /dev/zero; echo $PPID >&2", limits=Limits(output=1000))
        assert spilled.spill is not None
        os.kill(int(spilled.stderr), signal.SIGKILL)
        for _ in range(2):  # the first may still meet the dying keeper
            again = nacre.run_sync("head -c 100000 /dev/zero", limits=Limits(output=1000))
        assert again.ok and again.spill is not None
    """
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    run_host(program, env={"TMPDIR": str(temporary)})
    wait_until(lambda: not os.listdir(temporary), "an empty temporary directory")


async def test_stopped_keeper_counts_as_dead_when_its_run_is_overdue(
    life: Lifeline, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "_KEEPER_TIMEOUT_S", 0.5)
    keeper = await keeper_of(UNCHECKED)
    command = f"{life.hold} {gate.wait}; echo before; kill -STOP $PPID; sleep 999"
    result = None
    for limit in TIME_LIMITS_S:
        async for event in UNCHECKED.stream(Request(command, timeout=limit)):
            if isinstance(event, Started):  # earlier, the keeper could be stopped while it reports the start
                gate.open()
            elif isinstance(event, Ended):
                result = event.result
        if result is not None and result.output:
            break
    assert result is not None
    assert (result.outcome, result.output, life.over) == (KILLED, "before\n", True)
    await until(lambda: not is_alive(keeper), "the end of the stopped keeper")
