"""Behaviour of commands that is the same on every engine."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal

import pytest

from nacre import Bash, Cancel, Limits, Request, Session
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.result import Cancelled, Chunk, Ended, Exited, Running, Signalled, Started, TimedOut
from nacre.sandbox.probe import kernel, with_user_namespace
from nacre.tasks import Match
from tests.engines.conftest import Place
from tests.support.lifeline import Gate, Lifeline
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S

MB = 1_000_000


@pytest.mark.parametrize("code", [0, 1, 3, 125, 137, 143, 255])
async def test_exit_code_is_reported_unchanged(place: Place, code: int) -> None:
    assert (await place.run(f"exit {code}")).outcome == Exited(code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV])
async def test_death_by_signal_is_not_reported_as_exit_code(place: Place, number: signal.Signals) -> None:
    assert (await place.run(f"kill -{int(number)} $$")).outcome == Signalled(number)


async def test_signal_that_kills_an_execed_program_is_reported(place: Place) -> None:
    assert (await place.run("exec bash -c 'kill -9 $$'")).outcome == Signalled(signal.SIGKILL)


@pytest.mark.parametrize("code", [130, 137, 139, 141, 143, 192])
@pytest.mark.parametrize("command", ["exec bash -c 'exit {}'", "trap 'exit {}' EXIT"])
async def test_exit_code_above_128_of_exec_or_trap_is_not_a_signal(place: Place, command: str, code: int) -> None:
    assert (await place.run(command.format(code))).outcome == Exited(code)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGKILL, signal.SIGRTMIN])
async def test_signal_of_an_execed_program_is_not_an_exit_code(place: Place, number: int) -> None:
    assert (await place.run(f"exec bash -c 'kill -{int(number)} $$'")).outcome == Signalled(number)


async def test_signal_to_the_own_process_group_kills_only_the_command(place: Place) -> None:
    assert (await place.run("kill 0; sleep 300")).outcome == Signalled(signal.SIGTERM)


async def test_stopped_and_continued_command_is_waited_for(place: Place) -> None:
    command = "(until grep -q '^State:.T' /proc/$$/status; do :; done; kill -CONT $$) & kill -STOP $$; wait; exit 5"
    assert (await place.run(command)).outcome == Exited(5)


async def test_exit_trap_determines_output_and_exit_code(place: Place) -> None:
    result = await place.run("trap 'echo bye; exit 9' EXIT; exit 4")
    assert (result.outcome, result.out.text) == (Exited(9), "bye\n")


async def test_stdout_and_stderr_stay_separate(place: Place) -> None:
    result = await place.run("echo out; echo err >&2")
    assert (result.out.text, result.err.text) == ("out\n", "err\n")


async def test_merged_streams_keep_their_order(place: Place) -> None:
    result = await place.run(Request("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done", merge=True))
    assert result.out.text.split() == [f"{kind}{i}" for i in range(1, 6) for kind in "oe"]


async def test_output_arrives_while_the_command_runs(place: Place, gate: Gate) -> None:
    seen = b""
    async for event in place.bash.stream(f"echo early; {gate.wait}; echo late", place.context()):
        if isinstance(event, Chunk):
            seen += event.data
            if seen == b"early\n":
                gate.open()
    assert seen == b"early\nlate\n"


async def test_no_newline_is_added_to_the_output(place: Place) -> None:
    assert (await place.run("printf foo")).out.text == "foo"


async def test_non_utf8_output_arrives_unchanged(place: Place) -> None:
    result = await place.run(r"printf 'a\xff\xfe\x00\x80z'")
    assert result.out.head == b"a\xff\xfe\x00\x80z"


async def test_command_text_is_passed_byte_for_byte(place: Place) -> None:
    assert (
        await place.run("echo \"it's\" '\"q\"' \\$x $'\\t|' 'ünï'\n\n# the end")
    ).out.text == 'it\'s "q" $x \t| ünï\n'


async def test_command_of_200_kb_runs(place: Place) -> None:
    assert (await place.run(": " + "x" * 200_000 + "\necho through")).out.text == "through\n"


async def test_stdin_is_empty_unless_given(place: Place) -> None:
    assert (await place.run("cat; echo $?")).out.text == "0\n"
    assert (await place.run(Request("cat", stdin=b"fed\xff\n" * 1000))).out.head[:5] == b"fed\xff\n"


async def test_call_variables_are_passed_and_host_secrets_are_not(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-not-for-commands-0123456789")
    odd = "two\nlines 'and' \"quotes\" $HOME `id` ü"
    result = await place.run(Request('printf %s "$ODD"; echo "|$SOME_API_KEY"', env={"ODD": odd}))
    assert result.out.text == f"{odd}|\n"


async def test_command_starts_in_the_given_working_directory(place: Place) -> None:
    (place.directory / "a b").mkdir()
    result = await place.run(Request("pwd; echo x > made", cwd="a b"))
    assert result.out.text == f"{place.directory}/a b\n"
    assert (place.directory / "a b" / "made").read_text() == "x\n"


async def test_pipestatus_lists_each_command_of_a_pipeline(place: Place) -> None:
    result = await place.run("exit 3 | cat | exit 1")
    assert [stage.status for stage in result.pipestatus] == [3, 0, 1]


async def test_timeout_kills_setsid_grandchildren(place: Place, life: Lifeline) -> None:
    command = f"{life.hold} echo part; (setsid sleep 300 &); sleep 300"
    for limit in TIME_LIMITS_S:
        result = await place.run(Request(command, timeout=limit))
        if result.out.text:
            break
    assert (result.outcome, result.out.text) == (TimedOut(limit), "part\n")
    await life.wait_until_ended()


async def test_timeout_kills_a_command_that_ignores_sigterm(place: Place, life: Lifeline) -> None:
    command = f"trap '' TERM; {life.hold} echo deaf; while :; do sleep 300; done"
    for limit in TIME_LIMITS_S:
        result = await place.run(Request(command, timeout=limit))
        if result.out.text:
            break
    assert (result.outcome, result.out.text) == (TimedOut(limit), "deaf\n")
    await life.wait_until_ended()


async def test_output_of_a_sigterm_trap_is_kept_after_a_timeout(place: Place) -> None:
    for limit in TIME_LIMITS_S:
        result = await place.run(Request("trap 'echo bye; exit 0' TERM; echo ready; sleep 300 & wait", timeout=limit))
        if result.out.text:
            break
    assert (result.outcome, result.out.text) == (TimedOut(limit), "ready\nbye\n")


async def test_sigint_kills_the_command(place: Place) -> None:
    """A background process of a shell without job control would ignore SIGINT."""
    becomes = "until [[ $name == sleep ]]; do read -r name </proc/$$/comm; done"
    result = await place.run(f"({becomes}; kill -INT $$) & exec sleep 300")
    assert result.outcome == Signalled(signal.SIGINT)


async def test_timed_out_command_that_ends_on_sigterm_skips_the_grace_period(place: Place) -> None:
    patient = Bash(replace(DEFAULT, grace=HANG_TIMEOUT_S * 3), engine=place.bash.engine)
    for access in ("unrestricted", "restricted"):
        runs = [patient.run(Request("sleep 300", timeout=0.5), place.context(access=access)) for _ in range(4)]
        async with asyncio.timeout(HANG_TIMEOUT_S):
            assert [result.outcome for result in await asyncio.gather(*runs)] == [TimedOut(0.5)] * 4


async def test_cancel_kills_the_process_tree(place: Place, life: Lifeline) -> None:
    cancel = Cancel()
    run = asyncio.create_task(place.run(f"echo part; {life.hold} (setsid sleep 300 &); sleep 300", cancel=cancel))
    await life.wait_until_held()
    cancel.cancel()
    result = await run
    assert (result.outcome, result.out.text) == (Cancelled(), "part\n")
    await life.wait_until_ended()


async def test_cancelling_the_asyncio_task_kills_the_process_tree(place: Place, life: Lifeline) -> None:
    run = asyncio.create_task(place.run(f"{life.hold} (setsid sleep 300 &); sleep 300"))
    await life.wait_until_held()
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    await life.wait_until_ended()


async def test_hundred_megabytes_of_output_pass_through(place: Place) -> None:
    result = await place.run("head -c 100000000 /dev/zero")
    assert (result.outcome, result.out.total_bytes) == (Exited(0), 100 * MB)
    assert len(result.out.head) + len(result.out.tail) < 2 * MB


async def test_two_commands_run_at_the_same_time(place: Place, gate: Gate) -> None:
    waits = asyncio.create_task(place.run(f"{gate.wait}; echo first"))
    assert (await place.run("echo second")).out.text == "second\n"
    gate.open()
    assert (await waits).out.text == "first\n"


async def test_background_task_output_and_exit_code_can_be_read(place: Place, gate: Gate) -> None:
    result = await place.run(Request(f"echo one; {gate.wait}; echo two; exit 5", mode="background"))
    assert isinstance(result.outcome, Running)
    tasks, task = place.bash.engine.tasks(place.directory.parent / "kept"), result.outcome.task
    await tasks.wait(task, until=Match("one"), timeout=HANG_TIMEOUT_S)
    gate.open()
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    assert tasks.get(task).outcome == Exited(5)
    assert tasks.output(task).data == b"one\ntwo\n"


async def test_killing_a_background_task_kills_setsid_grandchildren(place: Place, life: Lifeline) -> None:
    command = f"{life.hold} (setsid sleep 300 &); sleep 300"
    result = await place.run(Request(command, mode="background"))
    assert isinstance(result.outcome, Running)
    await life.wait_until_held()
    await place.bash.engine.tasks(place.directory.parent / "kept").kill(result.outcome.task)
    await life.wait_until_ended()


async def test_run_past_yield_after_continues_as_a_task(place: Place, gate: Gate) -> None:
    result = await place.run(Request(f"echo one; {gate.wait}; echo two", yield_after=1))
    assert isinstance(result.outcome, Running)
    assert "one\n".startswith(result.out.text)  # an engine may take long to start the command
    gate.open()
    tasks = place.bash.engine.tasks(place.directory.parent / "kept")
    await tasks.wait(result.outcome.task, timeout=HANG_TIMEOUT_S)
    assert tasks.output(result.outcome.task).data == b"one\ntwo\n"


async def test_leftovers_are_adopted_as_a_task(place: Place, gate: Gate, life: Lifeline) -> None:
    result = await place.run(f"({life.hold} {gate.wait}; echo late) & echo done")
    assert (result.outcome, result.out.text) == (Exited(0), "done\n")
    assert result.task is not None
    assert result.running
    gate.open()
    tasks = place.bash.engine.tasks(place.directory.parent / "kept")
    await tasks.wait(result.task.id, timeout=HANG_TIMEOUT_S)
    assert b"late\n" in tasks.output(result.task.id).data
    await life.wait_until_ended()


async def test_leftovers_of_one_command_are_not_attributed_to_the_next(place: Place, gate: Gate) -> None:
    first = await place.run(f"({gate.wait}; echo late) & echo done")
    assert [process.command for process in first.running] == ["bash (part of the command)"]
    second = await place.run("true")
    assert (second.outcome, second.running, second.task) == (Exited(0), (), None)
    assert (await place.run(Request("sleep 300", timeout=1))).outcome == TimedOut(1)
    gate.open()
    tasks, task = place.bash.engine.tasks(place.directory.parent / "kept"), first.task
    assert task is not None
    await tasks.wait(task.id, timeout=HANG_TIMEOUT_S)
    assert b"late\n" in tasks.output(task.id).data


async def test_processes_of_a_cancelled_run_are_not_attributed_to_the_next(place: Place, life: Lifeline) -> None:
    run = asyncio.create_task(place.run(f"trap '' TERM; {life.hold} while :; do sleep 300; done"))
    await life.wait_until_held()
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    result = await place.run("true")
    assert (result.outcome, result.running, result.task) == (Exited(0), (), None)
    await life.wait_until_ended()


async def test_leftovers_end_kills_leftovers_at_once(place: Place, life: Lifeline) -> None:
    result = await place.run(Request(f"({life.hold} exec setsid sleep 300) & {life.hold} echo done", leftovers="end"))
    assert (result.outcome, result.out.text) == (Exited(0), "done\n")
    await life.wait_until_ended()


async def test_session_keeps_directory_and_variables(place: Place) -> None:
    session = Session(place.bash, place.context())
    await session.run("mkdir sub; cd sub; export KEPT=yes")
    assert (await session.run('pwd; echo "$KEPT"')).out.text == f"{place.directory}/sub\nyes\n"


async def test_restricted_run_cannot_write(place: Place) -> None:
    (place.directory / "there").write_text("x")
    result = await place.run("cat there; echo y > here", access="restricted")
    assert result.out.text == "x"
    assert result.outcome == Exited(1)
    assert "writes" in result.enforced
    assert not (place.directory / "here").exists()


async def test_strict_run_cannot_write_anywhere(place: Place) -> None:
    (place.directory / "hidden").mkdir()
    tries = "for d in . hidden /tmp /run /dev /dev/shm /var/tmp; do echo x >$d/made && echo $d; done 2>/dev/null"
    if not place.bash.engine.is_local:
        pytest.skip("a container has a private /tmp, and says so")
    result = await place.run(f"{tries}; echo x >/dev/null", access="restricted", strict=True, hidden=("hidden",))
    assert (result.outcome, result.out.text) == (Exited(0), "")


async def test_workspace_run_writes_only_in_the_workspace(place: Place) -> None:
    outside = place.directory.parent / "outside"
    outside.mkdir()
    await place.run(f"echo y > here; echo z > {quote(outside)}/there", access="workspace")
    assert (place.directory / "here").read_text() == "y\n"
    assert not (outside / "there").exists()


async def test_workspace_run_has_no_network_by_default(place: Place) -> None:
    result = await place.run("(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1", access="workspace")
    assert result.outcome == Exited(1)
    assert "network" in result.enforced


async def test_file_size_limit_holds(place: Place) -> None:
    result = await place.run("head -c 100000 /dev/zero > large; wc -c < large", limits=Limits(file_size=20480))
    assert result.out.text.strip() == "20480"


async def test_stream_begins_with_started_and_ends_with_ended(place: Place) -> None:
    events = [event async for event in place.bash.stream("true", place.context())]
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Ended)


@pytest.mark.parametrize("kept", ["in the workspace", "elsewhere", ""])
async def test_hint_names_a_spill_file_only_if_commands_can_read_it(place: Place, kept: str) -> None:
    where = {"in the workspace": place.directory / "kept", "elsewhere": place.directory.parent / "kept"}.get(kept)
    name = place.bash.engine.name
    if kept == "in the workspace":
        if name == "local" and not with_user_namespace(kernel()).mounts:
            pytest.skip("needs mounts to protect a directory in the workspace")
        (place.directory / "kept").mkdir(exist_ok=True)  # only an existing file can be protected
    ctx = place.context(output_dir=where, access="workspace")
    seen = name == "local" or (kept == "in the workspace" and name != "ray")
    for command in ("seq 1 60000", "seq 1 6000000"):
        answer = await place.bash.call({"command": command}, ctx)
        told = re.search(r"(sed -n|tail -c) .*?(?=\])", answer.text)
        assert (told is not None) == seen
        if told is not None:
            assert (await place.bash.run(told[0], ctx)).out.text[:10_000].split()[1].isdigit()
        else:
            assert "commands cannot read what is left out" in answer.text
