"""Guards: secrets, limits, kills, fresh shells and sessions, and the directories in which a command may start."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from nacre import Bash, Limits, ToolContext
from nacre.compat.mycode import BashExecutor
from nacre.planning.plan import plan_for
from nacre.profiles.mycode import LIMITS, MYCODE
from nacre.types import GIB, MIB, Request
from tests.support import confined
from tests.support.commands import STUBBORN
from tests.support.lifeline import Lifeline
from tests.support.waiting import TIME_LIMITS_S

BASH = Bash("mycode")
PYTHON = f"{shlex.quote(sys.executable)} -IS"


@pytest.mark.req("M-11")
async def test_secret_environment_variables_do_not_reach_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaa")
    monkeypatch.setenv("GITHUB_TOKEN", "not-for-you-0123456789")
    monkeypatch.setenv("PROJECT", "shop")
    for command in ("env", "bash -c env", "cat /proc/self/environ 2>/dev/null | tr '\\0' '\\n'"):
        got = (await BASH.call({"command": command})).data["stdout"]
        assert "sk-proj" not in got
        assert "not-for-you" not in got
    assert (await BASH.call({"command": "echo $PROJECT"})).data["stdout"] == "shop\n"


@pytest.mark.req("M-11")
async def test_secret_passed_in_env_of_a_call_reaches_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "not-for-you-0123456789")
    got = await BASH.call({"command": "echo ${#GITHUB_TOKEN}", "env": {"GITHUB_TOKEN": "given-0123"}})
    assert got.data["stdout"] == "10\n"


@pytest.mark.req("M-11")
def test_every_run_has_limits_unless_the_caller_sets_others() -> None:
    assert Limits(memory=16 * GIB, cpu=24 * 3600, processes=4096) == LIMITS
    for mode in ("default", "background"):
        plan = plan_for(Request("true", mode=mode), ToolContext(), MYCODE, {})
        assert (plan.limits, plan.enforced) == (LIMITS, ("limits",))
    wider = ToolContext(limits=Limits(memory=64 * GIB))
    expected = Limits(memory=64 * GIB, cpu=LIMITS.cpu, processes=LIMITS.processes)
    assert plan_for(Request("true"), wider, MYCODE, {}).limits == expected


@pytest.mark.req("M-11")
@pytest.mark.linux
async def test_memory_and_cpu_limits_are_set_as_ulimits() -> None:
    got = await BASH.call({"command": "ulimit -d; ulimit -t"})
    assert got.data["stdout"] == f"{32 * GIB // 1024}\n{24 * 3600 + 1}\n"


@pytest.mark.req("M-11")
@pytest.mark.linux
async def test_memory_hog_is_killed_and_stderr_names_the_limit(life: Lifeline) -> None:
    hog = "import signal; held = bytearray(b'x' * (300 << 20)); signal.pause()"
    ctx = ToolContext(limits=Limits(memory=200 * MIB))
    got = (await BASH.call({"command": f"{life.hold} {PYTHON} -c {shlex.quote(hog)}"}, ctx)).data
    assert (got["success"], got["exit_code"]) == (False, 1)
    assert got["stderr"].startswith("Command went over its limit of 200 MB of memory: it used ")
    await life.wait_until_ended()


@pytest.mark.req("M-11")
@pytest.mark.linux
async def test_busy_loop_is_killed_and_stderr_names_the_cpu_limit(life: Lifeline) -> None:
    ctx = ToolContext(limits=Limits(cpu=0.2))
    got = (await BASH.call({"command": f"{life.hold} while :; do :; done"}, ctx)).data
    assert (got["success"], got["exit_code"]) == (False, 1)
    assert got["stderr"].startswith("Command went over its limit of 0.2 s of CPU time: it used ")
    await life.wait_until_ended()


@pytest.mark.req("M-11", "M-16")
async def test_timeout_kills_a_tree_that_ignores_sigterm(life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        got = await BashExecutor().execute({"command": f"{life.hold} {STUBBORN}", "timeout": limit * 1000})
        if life.holders:
            break
    assert (got["exit_code"], got["stderr"]) == (1, f"Command timed out after {limit}000 ms")
    await life.wait_until_ended()


@pytest.mark.req("M-12")
async def test_each_call_without_a_session_gets_a_fresh_shell(tmp_path: Path) -> None:
    executor = BashExecutor()
    (tmp_path / "below").mkdir()
    context = {"cwd": str(tmp_path)}
    await executor.execute({"command": "cd below; export A=b"}, context)
    got = await executor.execute({"command": 'echo "$PWD ${A-none}"'}, context)
    assert got["stdout"] == f"{tmp_path} none\n"


@pytest.mark.req("M-12")
async def test_session_keeps_working_directory_and_exported_variables(tmp_path: Path) -> None:
    executor = BashExecutor()
    (tmp_path / "below").mkdir()
    session = executor.session({"cwd": str(tmp_path)})
    other = executor.session({"cwd": str(tmp_path)})
    await executor.execute({"command": "cd below; export A=b"}, session)
    ask = {"command": 'echo "$PWD ${A-none}"'}
    assert (await executor.execute(ask, session))["stdout"] == f"{tmp_path}/below b\n"
    assert (await executor.execute(ask, other))["stdout"] == f"{tmp_path} none\n"
    stream = [event async for event in executor.execute_with_streaming("pwd", context=session)]
    assert stream == [{"type": "stdout", "data": f"{tmp_path}/below\n"}, {"type": "exit", "code": 0}]


@pytest.mark.req("M-12")
async def test_cwd_argument_applies_to_its_own_call_only(tmp_path: Path) -> None:
    executor = BashExecutor()
    session = executor.session({"cwd": str(tmp_path)})
    assert (await executor.execute({"command": "pwd", "cwd": "/"}, session))["stdout"] == "/\n"
    assert (await executor.execute({"command": "pwd"}, session))["stdout"] == f"{tmp_path}\n"


@pytest.mark.req("M-14")
@pytest.mark.parametrize(
    ("cwd", "said"),
    [
        ("missing", "The working directory '{place}/missing' does not exist."),
        ("file", "The working directory '{place}/file' is not a directory."),
        ("../..", "The working directory '{above}' is outside the allowed paths."),
        ("out", "The working directory '{place}/out' is outside the allowed paths."),
        ("/", "The working directory '/' is outside the allowed paths."),
        ("x\0y", "`cwd` contains a NUL byte, which a shell cannot read."),
    ],
)
async def test_invalid_working_directory_gets_an_error_and_nothing_runs(tmp_path: Path, cwd: str, said: str) -> None:
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    (place / "file").touch()
    (place / "out").symlink_to("/")
    ctx = ToolContext(working_dir=place, allowed_paths=(place,))
    got = await BashExecutor().execute({"command": "touch ran", "cwd": cwd}, ctx)
    expected = said.format(place=place, above=tmp_path)
    assert (got["success"], got["exit_code"], got["duration_ms"]) == (False, 1, 0)
    assert got["stderr"].startswith(expected)
    assert not (place / "ran").exists()


@pytest.mark.req("M-14")
async def test_output_dir_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    asked = {"command": "true", "run_in_background": True}
    got = await BashExecutor().execute(asked, ToolContext(output_dir=tmp_path / "file"))
    assert got["stderr"].startswith(f"`output_dir` is '{tmp_path}/file', which is not a directory.")


@pytest.mark.linux
@pytest.mark.skipif(not (confined.HERE.confines and confined.HERE.seccomp), reason="no sandbox on this kernel")
@pytest.mark.parametrize("way", ["call", "session", "stream"])
async def test_sandboxed_command_writes_only_in_its_working_directory(tmp_path: Path, way: str) -> None:
    place, beside = tmp_path / "place", tmp_path / "beside"
    place.mkdir()
    executor = BashExecutor({"sandboxMode": True})
    command = f"echo x > inside; echo x > {shlex.quote(str(beside))}; (echo > /dev/tcp/127.0.0.1/9) 2>&1"
    context = {"cwd": str(place)}
    if way == "stream":
        found = [event async for event in executor.execute_with_streaming(command, context=context)]
        said = "".join(event.get("data", "") for event in found)
    else:
        got = await executor.execute({"command": command}, executor.session(context) if way == "session" else context)
        said = got["stdout"] + got["stderr"]
    assert ((place / "inside").exists(), beside.exists()) == (True, False)
    assert "Permission denied" in said or "Read-only file system" in said
    assert "Connection refused" not in said


@pytest.mark.linux
@pytest.mark.skipif(not (confined.HERE.confines and confined.HERE.seccomp), reason="no sandbox on this kernel")
def test_sandboxed_tool_description_names_the_working_directory(tmp_path: Path) -> None:
    context = {"cwd": str(tmp_path)}
    free, held = (BashExecutor({"sandboxMode": mode}).tool(context) for mode in (False, True))
    assert held.description.startswith(free.description)
    assert str(tmp_path) in held.description
