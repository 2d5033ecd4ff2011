"""nacre in pydantic-ai, with its own function model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDenied,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.pydantic_ai import NacreToolset
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from tests.adapters.conversation import (
    ASKED,
    ERRORS,
    ODD,
    ODD_ERRORS,
    OUTCOMES,
    TEXTS,
    CallerObserver,
    next_call,
    normalize_answers,
    outcome_in,
    project,
    without_framework,
)
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.adapters.pydantic_messages import answer_texts, answers
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework


def respond_next_call(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    call = next_call(answer_texts(messages))
    return ModelResponse(parts=[TextPart("done") if call is None else ToolCallPart(call.name, call.arguments)])


def model_that_runs(*commands: str) -> FunctionModel:
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
    agent = Agent(FunctionModel(respond_next_call), toolsets=[NacreToolset(Bash(observers=[heard]), ctx)])
    found = answers((await agent.run("Look after the project.")).all_messages())
    assert normalize_answers([str(part.content) for part in found], ctx) == TEXTS
    assert [kind(part) == "retried" for part in found] == [bool(code) for code in ERRORS]
    assert heard.callers == ["pydantic-ai"] * ASKED


async def test_refusal_is_a_failure_and_a_nonzero_exit_code_is_not(tmp_path: Path) -> None:
    agent = Agent(FunctionModel(respond_next_call), toolsets=[NacreToolset(ctx=project(tmp_path))])
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
    assert normalize_answers([str(part.content) for part in found], ctx) == await without_framework(ODD, ctx)
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
        model_that_runs(f"{life.hold} (setsid sleep 600 &); sleep 600"),
        toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))],
    )
    await end_run_by(how, agent.run("Go."), life)


async def test_tool_return_metadata_has_the_answer_as_data(tmp_path: Path) -> None:
    agent = Agent(model_that_runs("exit 3"), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))])
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
    agent = Agent(
        model_that_runs(*["git push --force"] * 6), toolsets=[NacreToolset(ctx=ToolContext(working_dir=tmp_path))]
    )
    assert str((await agent.run("Go.")).output).count("refused by git-push-force") == 6


def make_asking_bash() -> Bash:
    """Return a Bash that asks about every command that is not provably harmless."""
    return Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))


@pytest.mark.parametrize("approved", [True, False])
async def test_command_that_needs_approval_is_deferred_until_decided(tmp_path: Path, approved: bool) -> None:
    made = tmp_path / "made"
    toolset = NacreToolset(make_asking_bash(), ToolContext(working_dir=tmp_path), approvals=True)
    agent: Any = Agent(model_that_runs("touch made"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
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
    agent: Any = Agent(model_that_runs("touch made"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await agent.run("Go.")
    (call,) = first.output.approvals
    for command in ("touch other", "git push --force"):
        says = DeferredToolResults(approvals={call.tool_call_id: ToolApproved(override_args={"command": command})})
        second = await agent.run(message_history=first.all_messages(), deferred_tool_results=says)
    assert "refused by git-push-force" in second.output
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


async def test_approve_of_the_context_takes_precedence_over_deferral(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, approve=lambda verdict: verdict.rule == "not-plain")
    agent: Any = Agent(model_that_runs("touch made"), toolsets=[NacreToolset(make_asking_bash(), ctx, approvals=True)])
    await agent.run("Go.")
    assert (tmp_path / "made").exists()


async def test_command_that_needs_approval_is_refused_without_approvals(tmp_path: Path) -> None:
    agent = Agent(
        model_that_runs("touch made"), toolsets=[NacreToolset(make_asking_bash(), ToolContext(working_dir=tmp_path))]
    )
    assert "no person was asked" in (await agent.run("Go.")).output
    assert not (tmp_path / "made").exists()


async def test_approval_does_not_lift_a_refusal(tmp_path: Path) -> None:
    toolset = NacreToolset(ctx=ToolContext(working_dir=tmp_path), approvals=True).approval_required()
    agent: Any = Agent(model_that_runs("git push --force"), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await agent.run("Go.")
    (call,) = first.output.approvals
    says = DeferredToolResults(approvals={call.tool_call_id: True})
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=says)
    assert "refused by git-push-force" in second.output


def test_pydantic_ai_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_pydantic_ai.py", tmp_path)


def test_pydantic_ai_code_on_the_page_works() -> None:
    page = run_docs_example("pydantic-ai", model=model_that_runs())
    assert isinstance(page["agent"], Agent)
