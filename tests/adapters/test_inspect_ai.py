"""nacre as a sandbox of inspect_ai: its own self check, and evaluations with its own mock model and bash tool."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import pwd
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironmentSpec,
    SandboxUserUnsupportedError,
    sandbox,
)
from inspect_ai.util._sandbox.limits import override_sandbox_output_limit
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from nacre import ToolContext
from nacre.adapters.inspect_ai import NacreSandboxConfig, NacreSandboxEnvironment
from nacre.tasks import Tasks
from tests.adapters.conversation import COMMANDS, FILES, STREAMS, normalize_answers
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.support.lifeline import Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S

pytestmark = pytest.mark.framework

HERE = Path(__file__).parents[2]
ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not ROOT, reason="only root can run as another user")

del globals()["test_exec_as_user"]  # it creates an account; it runs below, with a private /etc


@pytest.fixture
async def sandbox_env() -> AsyncIterator[NacreSandboxEnvironment]:
    """Yield the sandbox for the self check, as an unprivileged user: root may read and write every file."""
    backend = NacreSandboxEnvironment(NacreSandboxConfig(user="nobody" if ROOT else None))
    yield backend
    await backend.close()


@pytest.fixture
async def backend() -> AsyncIterator[NacreSandboxEnvironment]:
    backend = NacreSandboxEnvironment()
    yield backend
    await backend.close()


OWN_ACCOUNTS = """\
mount -t tmpfs none "$1" && cp -a /etc "$1/etc" && mkdir "$1/home" || exit 77
mount --bind "$1/etc" /etc && mount --bind "$1/home" /home && mount -t tmpfs none /var/log || exit 77
shift; exec "$@"
"""
AS_USER = """\
import asyncio
import dataclasses
from inspect_ai.util._sandbox.self_check import test_exec_as_user
from nacre.adapters.inspect_ai import EVERYTHING, NacreSandboxEnvironment

async def main():
    made = NacreSandboxEnvironment(policy=EVERYTHING)  # to remove an account is something to ask about
    try:
        await test_exec_as_user(made)
    finally:
        await made.close()

asyncio.run(main())
print("passed")
"""


@only_root
@pytest.mark.skipif(shutil.which("adduser") is None, reason="needs adduser")
def test_account_self_check_passes_in_a_private_mount_namespace(tmp_path: Path) -> None:
    """The account is created in a mount namespace, so that this machine does not get it."""
    before = pwd.getpwall()
    own = ["unshare", "--mount", "bash", "-c", OWN_ACCOUNTS, "bash", str(tmp_path)]
    try:
        done = subprocess.run(
            [*own, sys.executable, "-c", AS_USER], capture_output=True, text=True, timeout=HANG_TIMEOUT_S
        )
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("needs a mount namespace")
    assert (done.stdout, done.returncode) == ("passed\n", 0), done.stderr
    assert pwd.getpwall() == before


@only_root
async def test_command_runs_as_the_named_user_with_its_home(backend: NacreSandboxEnvironment) -> None:
    daemon = pwd.getpwnam("daemon")
    for user in ("daemon", str(daemon.pw_uid)):
        said = await backend.exec(["sh", "-c", "id -un; id -gn; echo $HOME $USER; ls -d ."], user=user)
        assert said.stdout == f"daemon\ndaemon\n{daemon.pw_dir} daemon\n.\n"
    assert (await backend.exec(["id", "-un"])).stdout == "root\n"


@only_root
async def test_command_is_checked_for_every_user(backend: NacreSandboxEnvironment) -> None:
    said = [await backend.exec(["git", "push", "--force"], user=user) for user in (None, "root", "nobody")]
    said.append(await backend.exec(["bash", "-c", "cd / && git push --force"], user="nobody"))
    assert [(each.returncode, "git-push-force" in each.stderr) for each in said] == [(126, True)] * 4


@only_root
async def test_unsupported_user_or_configuration_raises(backend: NacreSandboxEnvironment) -> None:
    with pytest.raises(SandboxUserUnsupportedError, match="there is no user"):
        await backend.exec(["true"], user="nobody-at-all")
    with pytest.raises(SandboxUserUnsupportedError, match="sandboxed"):
        await NacreSandboxEnvironment.task_init("task", NacreSandboxConfig(access="workspace", user="nobody"))
    with pytest.raises(ValueError, match="NacreSandboxConfig"):
        await NacreSandboxEnvironment.task_init("task", "compose.yaml")


@pytest.mark.parametrize("word", ["if", "A=1", "{", "cd", "exit", "~", "*"])
async def test_first_word_of_exec_is_always_a_program(backend: NacreSandboxEnvironment, word: str) -> None:
    said = await backend.exec([word, "x"], env={"PATH": "/nowhere"})
    assert said.returncode == 127
    assert word in said.stderr


async def test_program_is_found_in_the_given_path(backend: NacreSandboxEnvironment) -> None:
    await backend.write_file("bin/greet", "#!/bin/sh\necho hello\n")
    await backend.exec(["chmod", "+x", "bin/greet"])
    said = await backend.exec(["greet"], env={"PATH": f"{backend.directory}/bin:{os.environ['PATH']}"})
    assert said.stdout == "hello\n"


async def test_only_a_program_that_cannot_run_is_a_permission_error(backend: NacreSandboxEnvironment) -> None:
    with pytest.raises(PermissionError):
        await backend.exec([backend.directory])
    assert (await backend.exec(["bash", "-c", "exit 126"])).returncode == 126


async def test_flood_raises_at_the_output_limit(backend: NacreSandboxEnvironment) -> None:
    for script in ("yes", "yes >&2"):
        with override_sandbox_output_limit(1000), pytest.raises(OutputLimitExceededError) as caught:
            await backend.exec(["bash", "-c", script])
        assert caught.value.truncated_output == "y\n" * 500


async def test_output_up_to_the_sandbox_limit_is_whole(backend: NacreSandboxEnvironment) -> None:
    with override_sandbox_output_limit(1000):
        said = await backend.exec(["bash", "-c", "printf %1000s x; printf %1000s y >&2"])
    assert (len(said.stdout), len(said.stderr)) == (1000, 1000)


async def test_invalid_utf8_in_output_is_replaced(backend: NacreSandboxEnvironment) -> None:
    assert (await backend.exec(["printf", "a\\377b"])).stdout == "a\ufffdb"


async def test_output_before_a_timeout_is_kept_in_the_error(backend: NacreSandboxEnvironment) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(TimeoutError) as caught:
            await backend.exec(["bash", "-c", "echo begun; sleep 600"], timeout=limit)
        if getattr(caught.value, "truncated_output", ""):
            break
    assert getattr(caught.value, "truncated_output", "").startswith("begun\n")


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_exec_leaves_no_process(backend: NacreSandboxEnvironment, life: Lifeline, how: str) -> None:
    await end_run_by(how, backend.exec(["bash", "-c", f"{life.hold} (setsid sleep 600 &); sleep 600"]), life)


async def test_missing_working_directory_raises_file_not_found_error(backend: NacreSandboxEnvironment) -> None:
    with pytest.raises(FileNotFoundError):
        await backend.exec(["ls"], cwd="nowhere")


async def test_binary_file_cannot_be_read_as_text(backend: NacreSandboxEnvironment) -> None:
    await backend.write_file("file", b"a\xff\r\n")
    assert await backend.read_file("file", text=False) == b"a\xff\r\n"
    with pytest.raises(UnicodeDecodeError):
        await backend.read_file("file")


async def test_text_file_keeps_its_line_endings(backend: NacreSandboxEnvironment) -> None:
    await backend.write_file("file", "a\r\nb\n")
    assert await backend.read_file("file") == "a\r\nb\n"


async def test_fifo_or_device_cannot_be_read_or_written_as_a_file(backend: NacreSandboxEnvironment) -> None:
    await backend.exec(["mkfifo", "fifo"])
    for path in ("fifo", "/dev/zero"):
        with pytest.raises(OSError, match="Invalid argument"):
            await backend.read_file(path)
        with pytest.raises(OSError, match="Invalid argument"):
            await backend.write_file(path, "x")


async def test_file_writes_are_not_checked_like_commands(backend: NacreSandboxEnvironment, tmp_path: Path) -> None:
    await backend.write_file("do", "git push --force\n" * 10_000)
    home = {"HOME": str(tmp_path)}
    assert (await backend.exec(["bash", "-c", "echo key >~/.ssh/authorized_keys"], env=home)).returncode == 126
    await backend.write_file(str(tmp_path / ".ssh" / "authorized_keys"), "key")
    assert (tmp_path / ".ssh" / "authorized_keys").read_text() == "key"


async def test_concurrent_commands_keep_their_output_apart(backend: NacreSandboxEnvironment) -> None:
    many = await asyncio.gather(*(backend.exec(["echo", str(number)]) for number in range(50)))
    assert [each.stdout for each in many] == [f"{number}\n" for number in range(50)]


def add_usage(output: ModelOutput) -> ModelOutput:
    """Add a usage: without one, inspect_ai would fetch a tokenizer to count."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def model_that_runs(*commands: str) -> Callable[..., ModelOutput]:
    def model(messages: list[Any], *_: Any) -> ModelOutput:
        said = [message for message in messages if isinstance(message, ChatMessageTool)]
        if len(said) >= len(commands):
            return add_usage(ModelOutput.from_content("mockllm", "done"))
        return add_usage(ModelOutput.for_tool_call("mockllm", "bash", {"command": commands[len(said)]}))

    return model


async def evaluate_task(task: Task, model: Callable[..., ModelOutput], logs: Path, **how: Any) -> Any:
    llm = get_model("mockllm/model", custom_outputs=model)
    (log,) = await eval_async(task, model=llm, log_dir=str(logs), max_samples=4, **how)
    assert log.status == "success", log.error
    return log.samples


async def test_inspect_ai_conversation_matches_the_other_frameworks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    states: list[str] = []

    @solver
    def state_recorder() -> Any:
        async def solve(state: Any, _: Any) -> Any:
            states.append(sandbox().as_type(NacreSandboxEnvironment).state)
            return state

        return solve

    task = Task(
        dataset=[Sample(input="Look after the project.", files=dict(FILES), setup="chmod +x run-tests server")],
        solver=[state_recorder(), use_tools(bash(timeout=30)), generate()],
        sandbox="nacre",
    )
    with caplog.at_level(logging.INFO, "nacre.run"):
        (sample,) = await evaluate_task(task, model_that_runs(*COMMANDS), tmp_path)
    said = [message.text for message in sample.messages if isinstance(message, ChatMessageTool)]
    told = [f"{each.stderr}\n{each.stdout}" if each.stderr else each.stdout for each in STREAMS]
    assert normalize_answers(said, ToolContext(output_dir=states[0])) == told
    assert {getattr(record, "nacre_caller", None) for record in caplog.records if record.name == "nacre.run"} == {
        "inspect-ai"
    }
    assert not os.path.exists(os.path.dirname(states[0]))


async def test_concurrent_samples_have_separate_directories(tmp_path: Path) -> None:
    task = Task(
        dataset=[Sample(input=f"Sample {number}", files={"name": str(number)}) for number in range(8)],
        solver=[use_tools(bash()), generate()],
        sandbox="nacre",
    )
    samples = await evaluate_task(task, model_that_runs("ls; cat name; echo more >>name", "cat name"), tmp_path)
    said = [[each.text for each in sample.messages if isinstance(each, ChatMessageTool)] for sample in samples]
    assert said == [[f"name\n{number}", f"{number}more\n"] for number in range(8)]


@pytest.mark.parametrize(("most", "patience", "said"), [(1, 1, "alone\n"), (2, 60, "met\n")])
async def test_max_subprocesses_limits_concurrent_commands(tmp_path: Path, most: int, patience: int, said: str) -> None:
    """The first command waits at a FIFO for the second."""
    commands = [
        f"timeout {patience} cat fifo || echo alone",
        f"timeout {patience} bash -c 'echo met >fifo' || echo alone",
    ]

    def model(messages: list[Any], *_: Any) -> ModelOutput:
        output = model_that_runs(commands[0])(messages)
        if calls := output.message.tool_calls:
            calls.append(dataclasses.replace(calls[0], id="second", arguments={"command": commands[1]}))
        return output

    task = Task(
        dataset=[Sample(input="Meet.", setup="mkfifo fifo")],
        solver=[use_tools(bash()), generate()],
        sandbox="nacre",
    )
    (sample,) = await evaluate_task(task, model, tmp_path, max_subprocesses=most)
    first, _ = [each.text for each in sample.messages if isinstance(each, ChatMessageTool)]
    assert first == said


async def test_failed_tool_call_is_reported_and_the_sample_continues(tmp_path: Path) -> None:
    task = Task(dataset=[Sample(input="Go on.")], solver=[use_tools(bash(timeout=1)), generate()], sandbox="nacre")
    (sample,) = await evaluate_task(task, model_that_runs("sleep 600", "yes", "echo hello"), tmp_path)
    said = [each for each in sample.messages if isinstance(each, ChatMessageTool)]
    assert [each.error and each.error.type for each in said] == ["timeout", "limit", None]
    assert said[2].text == "hello\n"


async def test_leftovers_of_a_sample_are_killed_at_its_cleanup(life: Lifeline) -> None:
    backend = NacreSandboxEnvironment()
    try:
        await backend.exec(["bash", "-c", f"{life.hold} (setsid sleep 600 &); echo started"])
        assert len(Tasks(backend.state).list(all=False)) == 1
    finally:
        await NacreSandboxEnvironment.sample_cleanup("task", None, {"default": backend}, True)
    await life.wait_until_ended()
    assert not os.path.exists(backend.directory)


@pytest.mark.linux
async def test_workspace_sandbox_confines_its_file_operations(tmp_path: Path) -> None:
    backend = NacreSandboxEnvironment(NacreSandboxConfig(access="workspace"))
    try:
        await backend.write_file("inside", "x")
        assert await backend.read_file("inside") == "x"
        with pytest.raises(PermissionError):
            await backend.write_file(str(tmp_path / "outside"), "x")
        assert not (tmp_path / "outside").exists()
    finally:
        await backend.close()


@pytest.mark.parametrize("network", [False, True, "loopback", (8000, 8001)])
def test_sandbox_configuration_survives_serialization(network: Any) -> None:
    spec = SandboxEnvironmentSpec("nacre", NacreSandboxConfig(access="workspace", network=network))
    assert SandboxEnvironmentSpec.model_validate_json(spec.model_dump_json()) == spec


FINDS = """\
import sys
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv

assert "nacre" not in sys.modules
print(sys.modules[registry_find_sandboxenv("nacre").__module__].__file__)
"""


def test_sandbox_is_found_when_nacre_is_installed_from_a_wheel(tmp_path: Path) -> None:
    built, site = tmp_path / "built", tmp_path / "site"
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], cwd=HERE, check=True)
    (wheel,) = built.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    words = [sys.executable, "-c", FINDS]
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT_S, check=True
    )
    assert done.stdout == f"{site / 'nacre' / 'adapters' / 'inspect_ai.py'}\n"


def test_inspect_ai_code_on_the_page_works() -> None:
    names = run_docs_example("inspect_ai", samples=[Sample(input="Say hello.")], solver=[generate()])
    assert names["task"].sandbox == SandboxEnvironmentSpec("nacre", NacreSandboxConfig(access="workspace"))


def test_inspect_ai_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_inspect_ai.py", tmp_path)
