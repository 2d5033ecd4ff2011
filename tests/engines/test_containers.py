"""Containers: the parts of this machine that are visible inside, their limits, and their removal."""

from __future__ import annotations

import asyncio
import os
import resource
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Limits, Request, Session, ToolContext
from nacre.base.frozen import replace
from nacre.compat.mycode import BashExecutor
from nacre.engines import Containers
from nacre.errors import AccessUnavailable, EngineUnavailable, InvalidRequest
from nacre.profiles import DEFAULT
from nacre.result import Exited, NotStarted, OverLimit, Signalled
from nacre.tasks import Tasks
from tests.engines.conftest import IMAGE, containers
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S

pytestmark = pytest.mark.containers

# contents


async def test_container_is_shared_within_a_conversation_only(make_bash: Any, directory: Path) -> None:
    bash = make_bash()
    one, other = (ToolContext(working_dir=directory, conversation_id=name) for name in ("one", "other"))
    await bash.run("echo kept > /var/tmp/note", one)
    assert (await bash.run("cat /var/tmp/note", one)).out.text == "kept\n"
    assert (await bash.run("cat /var/tmp/note", other)).outcome == Exited(1)


async def test_concurrent_commands_share_one_container(make_bash: Any, directory: Path, program: str) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory)
    results = await asyncio.gather(*(bash.run(f"echo {n}", ctx) for n in range(8)))
    assert [result.out.text for result in results] == [f"{n}\n" for n in range(8)]
    assert len(containers(program, directory)) == 1


async def test_only_the_workspace_of_the_host_is_visible(make_bash: Any, directory: Path) -> None:
    outside = directory.parent / "outside"
    outside.write_text("private")
    result = await make_bash().run(f"ls; cat {outside}", ToolContext(working_dir=directory))
    assert result.outcome == Exited(1)
    assert "private" not in result.both.text


async def test_changing_directory_mounts_nothing_more_of_the_host(make_bash: Any, directory: Path) -> None:
    (directory.parent / "secret").write_text("private")
    session = Session(make_bash(), ToolContext(working_dir=directory))
    await session.run("cd ..")
    assert "private" not in (await session.run("cat secret; ls")).both.text
    (directory / "still").write_text("there")
    assert (await session.run(f"cat {directory}/still")).out.text == "there"


async def test_recreated_workspace_is_seen(make_bash: Any, directory: Path) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory)
    await bash.run("true", ctx)
    directory.rename(directory.parent / "old")
    directory.mkdir()
    (directory / "file").write_text("new")
    assert (await bash.run("cat file", ctx)).out.text == "new"


async def test_run_in_a_directory_missing_in_the_container_does_not_start(make_bash: Any, directory: Path) -> None:
    bash, other = make_bash(), directory.parent / "other"
    other.mkdir()
    await bash.run("true", ToolContext(working_dir=directory))
    result = await bash.run(Request("true", cwd=str(other)), ToolContext(working_dir=directory))
    assert isinstance(result.outcome, NotStarted)
    assert str(other) in result.outcome.reason


async def test_container_has_its_own_environment_plus_pass_env(
    make_bash: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_ONLY", "1")
    monkeypatch.setenv("WANTED", "2")
    result = await make_bash().run(
        "echo ${HOST_ONLY-unset} $WANTED $HOME ${OLDPWD-nowhere}",
        ToolContext(working_dir=directory, pass_env=("WANTED",)),
    )
    assert result.out.text == "unset 2 /root nowhere\n"


PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


async def test_no_process_in_the_container_has_the_hosts_proxies(
    make_bash: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*PROXIES, *map(str.upper, PROXIES)):
        monkeypatch.setenv(name, "http://user:password@proxy.example")
    bash, command = make_bash(), "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -i _proxy"
    assert (await bash.run(command, ToolContext(working_dir=directory))).out.text == ""
    wanted = ToolContext(working_dir=directory, pass_env=("http_proxy",))
    assert (await bash.run("env | grep -ic _proxy", wanted)).out.text == "1\n"


async def test_container_has_no_network_by_default(make_bash: Any, directory: Path) -> None:
    result = await make_bash().run("ls /sys/class/net", ToolContext(working_dir=directory))
    assert result.out.text == "lo\n"
    assert "network" in result.enforced


async def test_git_hooks_are_read_only_and_hidden_files_unreadable(make_bash: Any, directory: Path) -> None:
    hooks = directory / ".git" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("HEAD", "config"):
        (directory / ".git" / name).write_text("")
    (directory / "key").write_text("private")
    ctx = ToolContext(working_dir=directory, access="workspace", hidden=("key",))
    result = await make_bash().run("echo x > .git/hooks/pre-commit; cat key; echo y > own", ctx)
    assert "private" not in result.both.text
    assert [*hooks.iterdir()] == []
    assert (directory / "own").read_text() == "y\n"


async def test_missing_protected_path_cannot_be_created(make_bash: Any, directory: Path) -> None:
    ctx = ToolContext(working_dir=directory, access="workspace")
    result = await make_bash().run("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo y > own", ctx)
    assert not (directory / ".git" / "hooks" / "pre-commit").exists()
    assert "protected" not in result.enforced
    assert (directory / "own").exists()


async def test_hidden_file_stays_hidden_when_it_is_replaced(make_bash: Any, directory: Path) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory, access="workspace", hidden=("key", "later"))
    (directory / "key").write_text("private")
    assert "private" not in (await bash.run("cat key", ctx)).both.text
    (directory / "new").write_text("private")
    (directory / "new").rename(directory / "key")
    (directory / "later").write_text("private")
    assert "private" not in (await bash.run("cat key later", ctx)).both.text


async def test_file_protected_by_a_later_call_cannot_be_changed(make_bash: Any, directory: Path) -> None:
    (directory / "file").write_text("before")
    bash = make_bash()
    await bash.run("true", ToolContext(working_dir=directory, access="workspace"))
    ctx = ToolContext(working_dir=directory, access="workspace", protected=("file",))
    await bash.run("echo after > file", ctx)
    assert (directory / "file").read_text() == "before"


async def test_protected_path_created_later_is_protected_from_the_next_run(make_bash: Any, directory: Path) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory, access="workspace")
    await bash.run("true", ctx)
    (directory / ".claude").mkdir()
    result = await bash.run("echo x > .claude/settings.json", ctx)
    assert result.outcome == Exited(1)
    assert [*(directory / ".claude").iterdir()] == []


async def test_protected_directory_cannot_be_moved_away(make_bash: Any, directory: Path) -> None:
    hooks = directory / ".git" / "modules" / "part" / "hooks"
    hooks.mkdir(parents=True)
    ctx = ToolContext(working_dir=directory, access="workspace", approve=lambda _: True)
    steps = ["mv .git old", "mv .git/modules old", "mv .git/modules/part old", "mv .git/modules/part/hooks old"]
    for step in steps:
        result = await make_bash().run(f"{step}; mkdir -p {hooks}; echo x > {hooks}/post-checkout", ctx)
        assert result.outcome == Exited(1), step
    assert [*hooks.iterdir()] == []


async def test_files_of_a_hidden_workspace_are_invisible(make_bash: Any, directory: Path) -> None:
    (directory / "file").write_text("private")
    ctx = ToolContext(working_dir=directory, access="restricted", hidden=(directory.parent,))
    result = await make_bash().run(f"cat file; ls {directory}", ctx)
    assert "file" not in result.out.text
    assert "private" not in result.both.text


async def test_adopted_task_keeps_its_container(make_bash: Any, directory: Path, gate: Gate) -> None:
    bash = make_bash(idle=0.0)
    ctx = ToolContext(working_dir=directory, output_dir=directory.parent / "kept")
    result = await bash.run(f"({gate.wait}; echo late) & echo done", ctx)
    assert result.task is not None
    await bash.run("true", ToolContext(working_dir=directory, conversation_id="other"))
    gate.open()
    tasks = Tasks(directory.parent / "kept")
    await tasks.wait(result.task.id, timeout=HANG_TIMEOUT_S)
    assert b"late\n" in tasks.output(result.task.id).data


async def test_strict_mode_is_refused(make_bash: Any, directory: Path) -> None:
    with pytest.raises(AccessUnavailable, match="has writable memory"):
        await make_bash().run("true", ToolContext(working_dir=directory, access="restricted", strict=True))


async def test_single_ports_are_refused(make_bash: Any, directory: Path) -> None:
    ctx = ToolContext(working_dir=directory, access="workspace", network=(443,))
    with pytest.raises(AccessUnavailable, match="single ports"):
        await make_bash().run("true", ctx)


async def test_tool_description_names_the_container(make_bash: Any, directory: Path) -> None:
    described = make_bash().definition(ToolContext(working_dir=directory))["description"]
    assert f"container from image {IMAGE}: of this machine it has only {directory}." in described
    assert "They have no network." in described


# users and limits


async def test_command_runs_as_the_configured_user(make_bash: Any, directory: Path) -> None:
    directory.chmod(0o777)
    ctx = ToolContext(working_dir=directory)
    for limit in TIME_LIMITS_S:
        result = await make_bash(user="65534").run(Request("id -u; sleep 300", timeout=limit), ctx)
        if result.out.text:
            break
    assert result.out.text == "65534\n"


OVER = OverLimit("memory", 48 << 20, 48 << 20)
HOG = "x=$(head -c 200000000 /dev/zero | tr '\\0' x)"


@pytest.mark.parametrize("command", [HOG, f"bash -c {shlex.quote(HOG)}"], ids=["the shell", "what it waits for"])
async def test_out_of_memory_is_reported_and_leaves_nothing_running(
    make_bash: Any, directory: Path, life: Lifeline, command: str
) -> None:
    ctx = ToolContext(working_dir=directory)
    result = await make_bash(memory=48 << 20).run(f"{life.hold} (setsid sleep 300 &); {command}", ctx)
    assert (result.outcome, result.notes, result.running) == (OVER, (), ())
    assert "limits" in result.enforced
    await life.wait_until_ended()


async def test_command_has_a_higher_oom_score_than_its_supervisor(make_bash: Any, directory: Path) -> None:
    command = "read -r own </proc/$$/oom_score_adj; read -r wards </proc/$PPID/oom_score_adj; echo $((own - wards))"
    assert (await make_bash().run(command, ToolContext(working_dir=directory))).out.text == "500\n"


async def test_task_out_of_memory_is_reported_as_over_limit(make_bash: Any, directory: Path) -> None:
    ctx = ToolContext(working_dir=directory, output_dir=directory.parent / "kept")
    result = await make_bash(memory=48 << 20).run(Request(HOG, mode="background"), ctx)
    tasks = Tasks(directory.parent / "kept")
    await tasks.wait(result.outcome.task, timeout=HANG_TIMEOUT_S)
    assert tasks.get(result.outcome.task).outcome == OVER


async def test_command_that_survives_out_of_memory_gets_a_note(make_bash: Any, directory: Path) -> None:
    first = f"echo 1000 >/proc/self/oom_score_adj; {HOG}"  # makes it the OOM killer's choice
    result = await make_bash(memory=48 << 20).run(
        f"bash -c {shlex.quote(first)}; exit 3", ToolContext(working_dir=directory)
    )
    assert result.outcome == Exited(3)
    assert result.notes == ("Its container ran out of memory, and the kernel killed a process there.",)


async def test_killed_command_is_not_blamed_on_another_containers_memory(
    make_bash: Any, directory: Path, gate: Gate, life: Lifeline
) -> None:
    one, other = (ToolContext(working_dir=directory, conversation_id=name) for name in ("one", "other"))
    bash = make_bash(memory=48 << 20)
    run = asyncio.create_task(bash.run(f"{life.hold} {gate.wait}; kill -9 $$", one))
    await life.wait_until_held()
    assert (await bash.run(HOG, other)).outcome == OVER
    gate.open()
    assert ((result := await run).outcome, result.notes) == (Signalled(signal.SIGKILL), ())


async def test_process_limit_of_the_container_holds_and_is_noted(make_bash: Any, directory: Path) -> None:
    bash = make_bash(processes=12)
    command = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 5 & done 2>&1; echo end"
    result = await bash.run(Request(command, leftovers="end"), ToolContext(working_dir=directory))
    assert "Resource temporarily unavailable" in result.both.text
    assert "Its container reached its limit on processes: 12 at once." in result.notes


async def test_cpu_limit_of_a_call_is_refused(make_bash: Any, directory: Path) -> None:
    with pytest.raises(AccessUnavailable, match="does not measure a command's CPU time"):
        await make_bash().run("true", ToolContext(working_dir=directory, limits=Limits(cpu=1)))


async def test_cpu_limit_of_a_profile_applies_per_process_and_is_noted(program: str, directory: Path) -> None:
    engine = Containers(IMAGE, program=program)
    profile = replace(DEFAULT, limits={"unrestricted": Limits(cpu=1)})
    result = await Bash(profile, engine=engine).run("while :; do :; done", ToolContext(working_dir=directory))
    assert result.outcome == Signalled(signal.SIGXCPU)
    assert result.notes == ("Over the limit of 1 s of CPU time, for each process.",)
    await engine.aclose()


# missing parts


async def test_missing_image_error_names_the_pull_command(program: str, directory: Path) -> None:
    bash = Bash(engine=Containers("localhost/no-such-image", program=program))
    with pytest.raises(EngineUnavailable, match=f"{program} pull localhost/no-such-image"):
        await bash.run("true", ToolContext(working_dir=directory))


async def test_image_without_bash_is_refused(program: str, directory: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "file").write_text("")
    subprocess.run(
        f"tar -C {empty} -c . | {program} import - localhost/nacre-empty", shell=True, check=True, capture_output=True
    )
    bash = Bash(engine=Containers("localhost/nacre-empty", program=program))
    with pytest.raises(EngineUnavailable, match=r"[.] The image has no bash; use one that has[.]$"):
        await bash.run("true", ToolContext(working_dir=directory))


async def test_container_that_cannot_set_the_tag_limit_is_refused(make_bash: Any, directory: Path) -> None:
    files = "nofile={}:{}".format(*resource.getrlimit(resource.RLIMIT_NOFILE))
    options = [word for limit in ("locks=100:100", files, "nproc=4096:4096") for word in ("--ulimit", limit)]
    with pytest.raises(EngineUnavailable, match=r"its own limit on file locks[.] Leave out --ulimit locks"):
        await make_bash(options=options).run("true", ToolContext(working_dir=directory))


async def test_workspace_path_that_is_not_utf8_is_refused(make_bash: Any, directory: Path) -> None:
    odd = os.path.join(os.fsencode(directory), b"\xff")
    os.mkdir(odd)
    with pytest.raises(InvalidRequest, match="is not UTF-8") as caught:
        await make_bash().run("true", ToolContext(working_dir=os.fsdecode(odd)))
    assert caught.value.field == "working_dir"


@pytest.mark.req("M-13")
async def test_proposal_tool_runs_in_a_container_in_container_mode(program: str, directory: Path) -> None:
    engine = Containers(IMAGE, program=program)
    executor = BashExecutor({"sandboxMode": "container"}, engine=engine)
    outside = directory.parent / "outside"
    outside.write_text("private")
    got = await executor.execute({"command": f"echo in > file; cat {outside}"}, {"cwd": str(directory)})
    assert (got["success"], "private" in got["stdout"]) == (False, False)
    assert (directory / "file").read_text() == "in\n"
    await engine.aclose()
