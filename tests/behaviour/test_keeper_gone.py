"""Keepers that are dead, stopped or cannot start, and callers that are gone: no process is left, no caller hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Request, ToolContext
from nacre.errors import KeeperFailed
from nacre.keeper.client.connection import KeeperConnection, PendingRun, keeper_connection
from nacre.keeper.protocol.channel import Channel
from nacre.result import Cancelled, Exited
from nacre.types import Access, Plan
from tests.support.census import fds, forked_keepers, parent_and_session, state
from tests.support.hosts import kill, run_host
from tests.support.lifeline import Lifeline
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until, wait_until


@pytest.mark.parametrize("noticed", [True, False])
async def test_command_is_killed_when_its_caller_is_cancelled_as_the_keeper_dies(
    bash: Bash, life: Lifeline, noticed: bool
) -> None:
    running = asyncio.ensure_future(bash.run(f"{life.hold} (setsid sleep 300 &); sleep 300"))
    await life.wait_until_held()
    keeper = keeper_connection()
    os.kill(keeper.pid, signal.SIGKILL)
    while noticed and not keeper.dead:
        await turn_loop()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await life.wait_until_ended()


@pytest.mark.linux
@pytest.mark.parametrize("yield_after", [None, 60.0])
async def test_command_is_killed_when_the_keeper_dies_while_its_stream_is_unread(
    bash: Bash, life: Lifeline, tmp_path: Path, yield_after: float | None
) -> None:
    """A dedicated keeper (`yield_after`) dies together with the main keeper."""
    request = Request(f"{life.hold} echo $PPID; (setsid sleep 300 &); sleep 300", yield_after=yield_after)
    stream = bash.stream(request, ToolContext(output_dir=tmp_path))
    await anext(stream)
    await life.wait_until_held()
    shell = int(pid_of_holder(life))
    for pid in {keeper_connection().pid, parent_and_session(shell)[0]}:
        os.kill(pid, signal.SIGKILL)
    await life.wait_until_ended()
    await stream.aclose()


def pid_of_holder(life: Lifeline) -> str:
    """Return the PID of the shell that holds the line."""
    holders = [pid for pid in os.listdir("/proc") if pid.isdigit() and _holds(pid, life.path)]
    return next(pid for pid in holders if Path(f"/proc/{pid}/comm").read_text() == "bash\n")


def _holds(pid: str, path: Path) -> bool:
    try:
        return pid != str(os.getpid()) and os.readlink(f"/proc/{pid}/fd/7") == str(path)
    except OSError:
        return False


def test_leftovers_of_a_killed_keeper_are_killed_at_host_exit(life: Lifeline, tmp_path: Path) -> None:
    program = """
        import asyncio, os, signal, sys
        from nacre import Bash, Request, ToolContext
        from nacre.keeper.client.connection import keeper_connection

        async def main():
            is_there = "until [[ $(</proc/$!/comm) == sleep ]]; do :; done"
            left = f"{sys.argv[1]} sleep 300 >/dev/null 2>&1 & {is_there}; head -c 3000000 /dev/zero"
            await Bash().run(Request(left, leftovers="keep"))
            os.kill(keeper_connection().pid, signal.SIGKILL)
            os.waitid(os.P_PID, keeper_connection().pid, os.WEXITED | os.WNOWAIT)

        asyncio.run(main())
    """
    (tmp_path / "temporary").mkdir()
    run_host(program, life.hold, env={"TMPDIR": str(tmp_path / "temporary")})
    life.wait_over()
    assert os.listdir(tmp_path / "temporary") == []


@pytest.mark.linux
@pytest.mark.parametrize("access", ["unrestricted", "restricted"])
async def test_stopped_keeper_with_a_full_socket_is_woken(bash: Bash, access: Access) -> None:
    if access not in bash.access_modes:
        pytest.skip("no sandbox on this kernel")
    keeper_connection().shut_down()  # a keeper's first sandboxed command needs larger messages
    await bash.run("true")
    keeper = keeper_connection()
    os.kill(keeper.pid, signal.SIGSTOP)
    await until(lambda: state(keeper.pid) == "T", "it to stand still")
    running = [asyncio.ensure_future(bash.run(Request("true", timeout=3600))) for _ in range(500)]
    await turn_loop()
    ctx = ToolContext(access=access)
    async with asyncio.timeout(60):
        assert (await bash.run(Request("echo late", timeout=60), ctx)).output == "late\n"
        assert {result.outcome for result in await asyncio.gather(*running)} == {Exited(0)}


async def test_host_gives_up_after_five_keepers_die_before_the_request(
    bash: Bash, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[KeeperConnection] = []

    def die_before_request(keeper: KeeperConnection, *_: object) -> PendingRun:
        asked.append(keeper)
        kill(keeper.pid)
        raise ConnectionResetError

    monkeypatch.setattr(KeeperConnection, "start", die_before_request)
    with pytest.raises(KeeperFailed, match=r"5 keepers died before they got the request: nacre's keeper process was"):
        await bash.run("true")
    assert len(set(asked)) == len(asked) == 5


@pytest.mark.linux
async def test_keeper_that_exits_at_start_is_reported_with_its_exit_status(bash: Bash, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    told = """
        import asyncio, sys
        import nacre
        sys.executable = sys.argv[1]
        async def main():
            try:
                print((await nacre.run("true")).summary)
            except nacre.errors.KeeperFailed as error:
                print(error)
        asyncio.run(main())
    """
    assert "nacre's keeper process exited with 3" in run_host(told, program)


@pytest.mark.linux
async def test_killed_keeper_is_not_alive_while_a_process_holds_its_socket(
    bash: Bash, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel holds the socket open, too, while it tears the process down."""
    keeper_connection().shut_down()
    pair, held = Channel.pair, list[socket.socket]()

    def pair_with_copy() -> tuple[Channel, socket.socket]:
        ours, theirs = pair()
        held.append(theirs.dup())
        return ours, theirs

    with monkeypatch.context() as patched:
        patched.setattr(Channel, "pair", pair_with_copy)
        keeper = keeper_connection()
    before = keeper.alive
    kill(keeper.pid)
    assert (before, keeper.alive) == (True, False)
    keeper.handle_death()
    for each in held:
        each.close()
    assert (await bash.run("echo next")).output == "next\n"


async def test_retried_run_has_only_the_rest_of_its_timeout(bash: Bash, monkeypatch: pytest.MonkeyPatch) -> None:
    await bash.run("true")
    start, times = KeeperConnection.start, list[float]()

    def start_and_kill(keeper: KeeperConnection, plan: Plan, *rest: object) -> PendingRun:
        times.append(plan.timing.timeout)
        if len(times) > 1:
            return start(keeper, plan, *rest)  # type: ignore[arg-type]
        os.kill(keeper.pid, signal.SIGSTOP)
        wait_until(lambda: state(keeper.pid) in ("T", "Z"), "it to stand still")
        asked = start(keeper, plan, *rest)  # type: ignore[arg-type]
        asyncio.get_running_loop().call_later(0.3, os.kill, keeper.pid, signal.SIGKILL)
        return asked

    monkeypatch.setattr(KeeperConnection, "start", start_and_kill)
    assert (await bash.run(Request("true", timeout=HANG_TIMEOUT_S))).outcome == Exited(0)
    first, again = times
    assert first == HANG_TIMEOUT_S
    assert again < HANG_TIMEOUT_S - 0.2


@pytest.mark.linux
async def test_run_cancelled_while_it_is_retried_never_starts(
    bash: Bash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch is thrown at the last moment: the new keeper has the request, and the caller does not wait yet."""
    await bash.run("true")
    start, asks, cancel = KeeperConnection.start, 0, Cancel()

    def start_and_kill(keeper: KeeperConnection, *asked: object) -> PendingRun:
        nonlocal asks
        asks += 1
        os.kill(keeper.pid, signal.SIGSTOP)
        wait_until(lambda: state(keeper.pid) in ("T", "Z"), "it to stand still")
        answer = start(keeper, *asked)  # type: ignore[arg-type]
        if asks == 1:
            os.kill(keeper.pid, signal.SIGKILL)
        else:
            cancel.cancel()
        return answer

    monkeypatch.setattr(KeeperConnection, "start", start_and_kill)
    async with asyncio.timeout(HANG_TIMEOUT_S):
        result = await bash.run(f"echo ran >> {quote(tmp_path)}/ran; sleep 300", ToolContext(cancel=cancel))
    assert asks == 2
    assert result.outcome == Cancelled()
    assert not (tmp_path / "ran").exists()


@pytest.mark.linux
async def test_promoted_run_that_cannot_start_leaks_no_keeper_fds(bash: Bash, tmp_path: Path) -> None:
    if fds(keeper_connection().pid) is None:
        pytest.skip("only root can read /proc of a keeper")
    keeper_connection().shut_down()  # with all keepers that it has forked
    request = Request("true", yield_after=1e-6, env={"LARGE": "x" * 200_000})
    ctx = ToolContext(output_dir=tmp_path)

    async def open_files() -> list[int | None]:
        """Return the open descriptors of the keeper and of the one that it has forked, once there are two."""
        await until(lambda: len(all_keepers()) == 2, "no more than one of each")
        return [fds(pid) for pid in all_keepers()]

    await bash.run(request, ctx)
    before = await open_files()
    for _ in range(30):
        await bash.run(request, ctx)
    after = await open_files()
    assert [abs((now or 0) - (then or 0)) <= 2 for then, now in zip(before, after, strict=True)] == [True, True]


def all_keepers() -> list[int]:
    return [keeper_connection().pid, *forked_keepers(keeper_connection().pid)]
