"""nacre in pydantic-ai, with its own function model; and as its workspace, with its own conformance suite."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.workspaces import (
    CommandResult,
    Workspace,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
)
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.pydantic_ai import NacreToolset, NacreWorkspace
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.tasks import Tasks
from nacre.types import Limits
from tests.adapters.conversation import (
    ASKED,
    COMMANDS,
    ERRORS,
    ODD,
    ODD_ERRORS,
    OUTCOMES,
    SECRET,
    STREAMS,
    TEXTS,
    CallerObserver,
    next_call,
    outcome_in,
    plain,
    project,
    without_framework,
)
from tests.adapters.ending import ENDINGS, ended_by
from tests.adapters.examples import does_what_it_says, shown_for
from tests.support.lifeline import Lifeline
from tests.support.users import free_uid
from tests.support.waiting import TIME_LIMITS_S

pytestmark = pytest.mark.framework


def answers(messages: list[ModelMessage]) -> list[ToolReturnPart | RetryPromptPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]


def answer_texts(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for part in answers(messages)]


def converses(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    call = next_call(answer_texts(messages))
    return ModelResponse(parts=[TextPart("done") if call is None else ToolCallPart(call.name, call.arguments)])


def runs(*commands: str) -> FunctionModel:
    """Return a model that runs these commands and then repeats the answers."""

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        said = answer_texts(messages)
        if len(said) < len(commands):
            return ModelResponse(parts=[ToolCallPart("Bash", {"command": commands[len(said)]})])
        return ModelResponse(parts=[TextPart("\n".join(said))])

    return FunctionModel(respond)


def kind(part: ToolReturnPart | RetryPromptPart) -> str:
    """Return `retried` or the part's outcome: pydantic-ai has had two shapes of a retry."""
    return "retried" if isinstance(part, RetryPromptPart) else part.outcome


async def test_pydantic_ai_conversation_matches_the_other_frameworks(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    agent = Agent(FunctionModel(converses), toolsets=[NacreToolset(Bash(observers=[heard]), ctx)])
    found = answers((await agent.run("Look after the project.")).all_messages())
    assert plain([str(part.content) for part in found], ctx) == TEXTS
    assert [kind(part) == "retried" for part in found] == [bool(code) for code in ERRORS]
    assert heard.callers == ["pydantic-ai"] * ASKED


async def test_refusal_is_a_failure_and_a_nonzero_exit_code_is_not(tmp_path: Path) -> None:
    agent = Agent(FunctionModel(converses), toolsets=[NacreToolset(ctx=project(tmp_path))])
    found = answers((await agent.run("Look after the project.")).all_messages())
    assert [kind(part) for part in found] == ["success", "success", "failed", "retried"] + ["success"] * 4
    data = [part.metadata for part in found if isinstance(part, ToolReturnPart) and kind(part) == "success"]
    assert [outcome_in(each) for each in data] == [*OUTCOMES[:2], *OUTCOMES[4:]]


async def test_odd_calls_are_answered_as_without_a_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = len(answer_texts(messages))
        call = ODD[done] if done < len(ODD) else None
        return ModelResponse(parts=[TextPart("done") if call is None else ToolCallPart(call.name, call.arguments)])

    agent = Agent(FunctionModel(respond), toolsets=[NacreToolset(ctx=ctx, max_retries=len(ODD))])
    found = answers((await agent.run("Go.")).all_messages())
    assert plain([str(part.content) for part in found], ctx) == await without_framework(ODD, ctx)
    assert [kind(part) == "retried" for part in found] == [bool(code) for code in ODD_ERRORS]


@pytest.mark.parametrize("given", ["{", "[]", "null", "7", '{"command": "ls"'])
async def test_arguments_that_are_not_a_json_object_are_a_retry(tmp_path: Path, given: str) -> None:
    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        arguments: Any = [given, {"command": "echo hello"}]
        done = len(answer_texts(messages))
        return ModelResponse(parts=[ToolCallPart("Bash", arguments[done]) if done < 2 else TextPart("done")])

    agent = Agent(FunctionModel(respond), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))])
    wrong, right = answers((await agent.run("Go.")).all_messages())
    assert kind(wrong) == "retried"
    assert right.content == "hello"


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_run_leaves_no_process(tmp_path: Path, life: Lifeline, how: str) -> None:
    agent = Agent(
        runs(f"{life.hold} (setsid sleep 600 &); sleep 600"),
        toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))],
    )
    await ended_by(how, agent.run("Go."), life)


async def test_tool_return_metadata_has_the_answer_as_data(tmp_path: Path) -> None:
    agent = Agent(runs("exit 3"), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))])
    (part,) = answers((await agent.run("Go.")).all_messages())
    assert isinstance(part, ToolReturnPart)
    assert part.metadata["exit_code"] == 3


async def test_repeated_invalid_calls_reach_the_retry_limit(tmp_path: Path) -> None:
    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("Bash", {"comand": "ls"})])

    agent = Agent(FunctionModel(respond), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path), max_retries=2)])
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Go.")


async def test_valid_call_resets_the_retry_count(tmp_path: Path) -> None:
    given = [{"comand": "ls"}, {"command": "echo hello"}] * 4

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = len(answer_texts(messages))
        over = done == len(given)
        return ModelResponse(parts=[TextPart("done") if over else ToolCallPart("Bash", given[done])])

    agent = Agent(FunctionModel(respond), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path), max_retries=1)])
    assert (await agent.run("Go.")).output == "done"


async def test_repeated_refusals_do_not_reach_the_retry_limit(tmp_path: Path) -> None:
    agent = Agent(runs(*["git push --force"] * 6), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))])
    assert str((await agent.run("Go.")).output).count("refused by git-push-force") == 6


def make_asking_bash() -> Bash:
    """Return a Bash that asks about every command that is not provably harmless."""
    return Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))


@pytest.mark.parametrize("approved", [True, False])
async def test_command_that_needs_approval_is_deferred_until_decided(tmp_path: Path, approved: bool) -> None:
    made = tmp_path / "made"
    toolset = NacreToolset(make_asking_bash(), ToolContext(working_dir=tmp_path), approvals=True)
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


async def test_approved_command_may_be_changed_and_is_checked_again(tmp_path: Path) -> None:
    toolset = NacreToolset(make_asking_bash(), ToolContext(working_dir=tmp_path), approvals=True)
    agent: Any = Agent(runs("touch made"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await agent.run("Go.")
    (call,) = first.output.approvals
    for command in ("touch other", "git push --force"):
        says = DeferredToolResults(approvals={call.tool_call_id: ToolApproved(override_args={"command": command})})
        second = await agent.run(message_history=first.all_messages(), deferred_tool_results=says)
    assert "refused by git-push-force" in second.output
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


async def test_approve_of_the_context_takes_precedence_over_deferral(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, approve=lambda verdict: verdict.rule == "not-plain")
    agent: Any = Agent(runs("touch made"), toolsets=[NacreToolset(make_asking_bash(), ctx, approvals=True)])
    await agent.run("Go.")
    assert (tmp_path / "made").exists()


async def test_command_that_needs_approval_is_refused_without_approvals(tmp_path: Path) -> None:
    agent = Agent(runs("touch made"), toolsets=[NacreToolset(make_asking_bash(), ToolContext(working_dir=tmp_path))])
    assert "no person was asked" in (await agent.run("Go.")).output
    assert not (tmp_path / "made").exists()


async def test_approval_does_not_lift_a_refusal(tmp_path: Path) -> None:
    toolset = NacreToolset(ctx=ToolContext(working_dir=tmp_path), approvals=True).approval_required()
    agent: Any = Agent(runs("git push --force"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await agent.run("Go.")
    (call,) = first.output.approvals
    says = DeferredToolResults(approvals={call.tool_call_id: True})
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=says)
    assert "refused by git-push-force" in second.output


class AsNobody(NacreWorkspace):
    """Workspace whose commands run as another user, as in most containers."""

    uid = 0

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        words = ["sh", "-c", command] if isinstance(command, str) else command
        drop = ["setpriv", f"--reuid={self.uid}", "--clear-groups", *words]
        return await super().run(drop, env=env, timeout=timeout)


@pytest.fixture
def place_of_nobody() -> Iterator[Path]:
    """Yield a directory of a UID without an account. Not below `tmp_path`, which only its owner may enter."""
    place = Path(tempfile.mkdtemp())
    os.chown(place, free_uid(), -1)
    yield place
    shutil.rmtree(place)


class TestAsAWorkspace(WorkspaceBackendSuite):  # type: ignore[misc]
    """pydantic-ai's own suite, with every rule that it has."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> WorkspaceBackend:
        return NacreWorkspace(tmp_path)

    @pytest.fixture
    def fresh_backend(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], WorkspaceBackend]:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return NacreWorkspace

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

    async def test_permission_denied_uses_builtin_error(  # type: ignore[override]
        self,
        backend: WorkspaceBackend,
        has_real_posix_shell: bool,
        filesystem_honors_shell_permissions: bool,
        request: pytest.FixtureRequest,
    ) -> None:
        """The suite exempts root, who may do anything; so run it as another user."""
        if os.geteuid() == 0:
            place = request.getfixturevalue("place_of_nobody")
            backend = AsNobody(place)
            backend.uid = place.stat().st_uid
        await super().test_permission_denied_uses_builtin_error(
            backend, has_real_posix_shell, filesystem_honors_shell_permissions
        )


async def test_workspace_conversation_gives_the_same_streams(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    assert ctx.working_dir is not None
    workspace = NacreWorkspace(ctx.working_dir, bash=Bash(observers=[heard]), ctx=ctx)

    async def shell(run: RunContext[None], command: str) -> list[Any]:
        try:
            result = await run.workspace.run(command, shell=True)
        except WorkspaceError as error:
            return [str(error)]
        return [result.stdout, result.stderr, result.exit_code]

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = len(answers(messages))
        over = done == len(COMMANDS)
        return ModelResponse(parts=[TextPart("done") if over else ToolCallPart("shell", {"command": COMMANDS[done]})])

    agent = Agent(FunctionModel(respond), tools=[shell])
    found = answers((await agent.run("Go.", workspace=workspace)).all_messages())
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)
    listed, tested, refused, served = STREAMS
    assert [part.content for part in found] == [
        [listed.stdout, listed.stderr, listed.code],
        [tested.stdout, tested.stderr, tested.code],
        [refused.stderr.strip()],
        [served.stdout, "", served.code],  # the two streams are the command's own here
    ]
    assert heard.callers == ["pydantic-ai"] * ASKED


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_workspace_command_leaves_no_process(tmp_path: Path, life: Lifeline, how: str) -> None:
    command = f"{life.hold} (setsid sleep 600 &); sleep 600"
    await ended_by(how, NacreWorkspace(tmp_path).run(command, shell=True), life)


async def test_workspace_timeout_error_has_the_output_so_far(tmp_path: Path, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(WorkspaceTimeoutError) as error:
            await NacreWorkspace(tmp_path).run(f"{life.hold} echo begun; sleep 600", shell=True, timeout=limit)
        if error.value.stdout:
            break
    assert error.value.stdout == "begun\n"
    await life.wait_until_ended()


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
async def test_invalid_workspace_timeout_is_a_value_error(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(ValueError, match="time"):
        await NacreWorkspace(tmp_path).run(["true"], timeout=timeout)


async def test_workspace_masks_secrets(tmp_path: Path) -> None:
    ctx = ToolContext(secrets=(SECRET,), limits=Limits(output=1000))
    backend = NacreWorkspace(tmp_path, ctx=ctx)
    result = await backend.run(f"echo {SECRET}; echo {SECRET} >&2", shell=True)
    assert (result.stdout, result.stderr) == ("[secret]\n", "[secret]\n")
    with pytest.raises(WorkspaceOutputLimitError) as error:
        await backend.run(f"yes {SECRET} | head -n 1000", shell=True)
    assert error.value.limit == 1000
    assert error.value.stdout.startswith("[secret]\n")
    assert SECRET[:6] not in error.value.stdout


async def test_file_with_a_secret_cannot_be_read_through_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"the password is {SECRET}")
    workspace = Workspace(NacreWorkspace(tmp_path, ctx=ToolContext(secrets=(SECRET,))))
    with pytest.raises(WorkspaceError, match="damaged or incomplete"):
        await workspace.read_text("file")


async def test_refused_command_raises_a_workspace_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="refused by git-push-force"):
        await NacreWorkspace(tmp_path).run("git push --force", shell=True)


async def test_endless_output_is_killed_at_the_workspace_limit(tmp_path: Path, life: Lifeline) -> None:
    with pytest.raises(WorkspaceOutputLimitError, match=r"more than 10,485,760 bytes") as error:
        await NacreWorkspace(tmp_path).run(f"{life.hold} yes", shell=True)
    assert error.value.stdout.startswith("y\ny\n")
    assert len(error.value.stdout) == 64 * 1024
    await life.wait_until_ended()


async def test_workspace_output_up_to_the_limit_is_whole(tmp_path: Path) -> None:
    backend = NacreWorkspace(tmp_path, ctx=ToolContext(limits=Limits(output=1000)))
    assert (await backend.run("seq 1000 | head -c 1000", shell=True)).stdout == "".join(
        f"{number}\n" for number in range(1, 1001)
    )[:1000]
    with pytest.raises(WorkspaceOutputLimitError):
        await backend.run("seq 1000 | head -c 1001 >&2", shell=True)


@pytest.mark.linux
async def test_sandboxed_workspace_confines_its_file_writes(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    workspace = Workspace(NacreWorkspace(inside, ctx=ToolContext(access="workspace")))
    await workspace.write_bytes("file", b"x")
    assert (inside / "file").read_bytes() == b"x"
    with pytest.raises((WorkspaceError, PermissionError)):
        await workspace.write_bytes(str(outside / "file"), b"x")
    assert not (outside / "file").exists()


def test_pydantic_ai_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_pydantic_ai.py", tmp_path)


def test_pydantic_ai_code_on_the_page_works() -> None:
    page = shown_for("pydantic-ai", model=runs())
    assert isinstance(page["agent"], Agent)
