"""nacre as a sandbox of inspect_ai: its own self check, and an evaluation with its own mock model and bash tool."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import SandboxEnvironmentSpec
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from nacre import Decision, Policy
from nacre.adapters.inspect_ai import NacreSandboxConfig, NacreSandboxEnvironment
from nacre.policy.own import rule
from nacre.tasks import Tasks
from tests.adapters.conversation import COMMANDS, FILES, TEXTS
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework

NO_NEW_USERS = Policy(own=(rule("no-new-users", Decision.REFUSE, prefix="adduser", hits=("adduser somebody",)),))
"""The self check would make an account on this machine."""
ROOT = os.geteuid() == 0


@pytest.fixture
async def sandbox_env(request: pytest.FixtureRequest) -> AsyncIterator[NacreSandboxEnvironment]:
    """What the self check is about. Of somebody without privileges: root may read and write everything."""
    if request.node.name == "test_exec_as_user":
        request.applymarker(pytest.mark.xfail(reason="refused by no-new-users", strict=True))
    made = NacreSandboxEnvironment(NacreSandboxConfig(user="nobody" if ROOT else None), policy=NO_NEW_USERS)
    yield made
    await made.close()


@pytest.mark.skipif(not ROOT, reason="only root can be somebody else")
async def test_a_command_runs_as_the_user_that_is_named(sandbox_env: NacreSandboxEnvironment) -> None:
    said = [(await sandbox_env.exec(["whoami"], user=user)).stdout for user in (None, "root", "nobody")]
    assert said == ["nobody\n", "root\n", "nobody\n"]


def counted(output: ModelOutput) -> ModelOutput:
    """With a usage: inspect_ai would fetch a tokenizer to count what has none."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def converses(messages: list[Any], *_: Any) -> ModelOutput:
    said = [message for message in messages if isinstance(message, ChatMessageTool)]
    if len(said) == len(COMMANDS):
        return counted(ModelOutput.from_content("mockllm", "done"))
    return counted(ModelOutput.for_tool_call("mockllm", "bash", {"cmd": COMMANDS[len(said)]}))


async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path) -> None:
    task = Task(
        dataset=[Sample(input="Look after the project.", files=dict(FILES), setup="chmod +x run-tests server")],
        solver=[use_tools(bash(timeout=30)), generate()],
        sandbox="nacre",
    )
    model = get_model("mockllm/model", custom_outputs=converses)
    (log,) = await eval_async(task, model=model, log_dir=str(tmp_path))
    assert log.status == "success", log.error
    assert log.samples is not None
    said = [message.text for message in log.samples[0].messages if isinstance(message, ChatMessageTool)]
    assert said[0].strip() == TEXTS[0]
    assert said[1].strip() == TEXTS[1].partition("\n")[2]
    assert said[2].strip() == TEXTS[2]
    assert "started" in said[3].splitlines()


async def test_what_a_sample_leaves_running_ends_with_it() -> None:
    made = NacreSandboxEnvironment()
    try:
        await made.exec(["bash", "-c", "sleep 600 & echo started"])
        assert len(Tasks(made.state).list(all=False)) == 1
    finally:
        await made.close()
    assert not os.path.exists(made.directory)


@pytest.mark.linux
async def test_a_confined_sandbox_confines_its_files_too(tmp_path: Path) -> None:
    made = NacreSandboxEnvironment(NacreSandboxConfig(access="workspace"))
    try:
        await made.write_file("inside", "x")
        assert await made.read_file("inside") == "x"
        with pytest.raises(PermissionError):
            await made.write_file(str(tmp_path / "outside"), "x")
        assert not (tmp_path / "outside").exists()
    finally:
        await made.close()


def test_its_configuration_survives_a_log() -> None:
    config = NacreSandboxConfig(access="restricted")
    assert NacreSandboxEnvironment.config_deserialize(config.model_dump()) == config
    assert SandboxEnvironmentSpec("nacre", config).type == "nacre"


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_inspect_ai.py", tmp_path)
