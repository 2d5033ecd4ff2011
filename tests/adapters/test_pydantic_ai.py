"""nacre in pydantic-ai, with its own function model; and as its workspace, by its own conformance suite."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.workspaces import Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.pydantic_ai import NacreToolset, NacreWorkspace
from nacre.frozen import replace
from nacre.profiles import DEFAULT
from tests.adapters.conversation import TEXTS, next_call, plain, project
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework


def answers(messages: list[ModelMessage]) -> list[ToolReturnPart | RetryPromptPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]


def told(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for part in answers(messages)]


def converses(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    call = next_call(told(messages))
    return ModelResponse(parts=[TextPart("done") if call is None else ToolCallPart(call.name, call.arguments)])


def runs(*commands: str) -> FunctionModel:
    """A model that runs these, and then says what it was told."""

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        said = told(messages)
        if len(said) < len(commands):
            return ModelResponse(parts=[ToolCallPart("Bash", {"command": commands[len(said)]})])
        return ModelResponse(parts=[TextPart("\n".join(said))])

    return FunctionModel(respond)


async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    agent = Agent(FunctionModel(converses), toolsets=[NacreToolset(ctx=ctx)])
    result = await agent.run("Look after the project.")
    assert plain(told(result.all_messages()), ctx) == TEXTS


async def test_a_bad_call_is_a_retry_a_refusal_is_a_failure_and_an_exit_code_is_neither(tmp_path: Path) -> None:
    agent = Agent(FunctionModel(converses), toolsets=[NacreToolset(ctx=project(tmp_path))])
    found = answers((await agent.run("Look after the project.")).all_messages())
    kinds = [getattr(part, "outcome", "retried") for part in found]
    assert kinds == ["success", "success", "failed", "retried", "success", "success", "success", "success"]


async def test_the_answer_as_data_is_there_for_the_program(tmp_path: Path) -> None:
    agent = Agent(runs("exit 3"), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))])
    (part,) = answers((await agent.run("Go.")).all_messages())
    assert isinstance(part, ToolReturnPart)
    assert part.metadata["exit_code"] == 3


async def test_a_model_that_keeps_calling_wrongly_comes_to_its_limit(tmp_path: Path) -> None:
    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("Bash", {"comand": "ls"})])

    agent = Agent(FunctionModel(respond), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path), max_retries=2)])
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Go.")


async def test_a_model_that_keeps_being_refused_does_not(tmp_path: Path) -> None:
    agent = Agent(runs(*["git push --force"] * 6), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))])
    assert str((await agent.run("Go.")).output).count("refused by git-push-force") == 6


def asking() -> Bash:
    """Asks before whatever is not provably plain."""
    return Bash(replace(DEFAULT, policy=Policy(otherwise=Decision.ASK)))


@pytest.mark.parametrize("approved", [True, False])
async def test_what_needs_a_person_is_deferred_until_they_have_said(tmp_path: Path, approved: bool) -> None:
    made = tmp_path / "made"
    toolset = NacreToolset(asking(), ToolContext(working_dir=tmp_path), approvals=True)
    agent: Any = Agent(runs("touch made"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await agent.run("Go.")
    assert isinstance(first.output, DeferredToolRequests)
    (call,) = first.output.approvals
    about = first.output.metadata[call.tool_call_id]
    assert (about["rule"], about["command"], about["cwd"]) == ("not-plain", "touch made", str(tmp_path))
    assert not made.exists()

    says = DeferredToolResults(approvals={call.tool_call_id: approved or ToolDenied("Not today.")})
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=says)
    assert made.exists() is approved
    assert approved or "Not today." in second.output


async def test_without_approvals_what_needs_a_person_is_refused(tmp_path: Path) -> None:
    agent = Agent(runs("touch made"), toolsets=[NacreToolset(asking(), ToolContext(working_dir=tmp_path))])
    assert "nobody was asked" in (await agent.run("Go.")).output
    assert not (tmp_path / "made").exists()


async def test_approval_does_not_lift_a_refusal(tmp_path: Path) -> None:
    toolset = NacreToolset(ctx=ToolContext(working_dir=tmp_path), approvals=True).approval_required()
    agent: Any = Agent(runs("git push --force"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await agent.run("Go.")
    (call,) = first.output.approvals
    says = DeferredToolResults(approvals={call.tool_call_id: True})
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=says)
    assert "refused by git-push-force" in second.output


class TestAsAWorkspace(WorkspaceBackendSuite):  # type: ignore[misc]
    """Its own suite. The environment is a directory, which is there before its backend is."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> WorkspaceBackend:
        return NacreWorkspace(tmp_path)

    @pytest.fixture
    def destructive_backend(self, tmp_path: Path) -> Callable[[], WorkspaceBackend]:
        def make() -> WorkspaceBackend:
            (tmp_path / "goes").mkdir()
            return NacreWorkspace(tmp_path / "goes")

        return make

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return lambda ref: NacreWorkspace(ref.id)

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            shutil.rmtree(await backend.working_dir())

        return destroy


async def test_what_is_refused_is_an_error_of_the_workspace(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="refused by git-push-force"):
        await NacreWorkspace(tmp_path).run("git push --force", shell=True)


async def test_output_that_cannot_be_given_back_whole_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="more than can be returned"):
        await NacreWorkspace(tmp_path).run("head -c 11M /dev/zero", shell=True)


@pytest.mark.linux
async def test_a_confined_workspace_confines_its_files_too(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    workspace = Workspace(NacreWorkspace(inside, ctx=ToolContext(access="workspace")))
    await workspace.write_bytes("file", b"x")
    assert (inside / "file").read_bytes() == b"x"
    with pytest.raises((WorkspaceError, PermissionError)):
        await workspace.write_bytes(str(outside / "file"), b"x")
    assert not (outside / "file").exists()


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_pydantic_ai.py", tmp_path)
