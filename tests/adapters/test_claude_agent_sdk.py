"""nacre in claude-agent-sdk: the real agent, with an API on loopback that gives scripted answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, ToolResultBlock, UserMessage, query

from examples.with_claude_agent_sdk import fake_api
from nacre import Bash, ToolContext
from nacre.adapters.claude_agent_sdk import allowed_tools, server
from tests.adapters.conversation import (
    ASKED,
    ERRORS,
    ODD,
    ODD_ERRORS,
    TEXTS,
    Call,
    CallerObserver,
    next_call,
    normalize_answers,
    project,
    without_framework,
)
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework

Block = dict[str, Any]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def use(call: Call | None, number: int) -> Block:
    if call is None:
        return {"type": "text", "text": "done"}
    name = f"mcp__nacre__{call.name}"
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": call.arguments}


def respond_next_call(results: list[Block]) -> Block:
    return use(next_call([text_of(block["content"]) for block in results]), len(results))


def options(env: dict[str, str], place: Path, bash: Bash | None = None, ctx: ToolContext | None = None) -> Any:
    return ClaudeAgentOptions(
        mcp_servers={"nacre": server(bash, ctx)}, allowed_tools=allowed_tools(), tools=[], env=env, cwd=place
    )


async def results_of(given: Any) -> list[ToolResultBlock]:
    found: list[ToolResultBlock] = []
    async for message in query(prompt="Look after the project.", options=given):
        if isinstance(message, UserMessage) and not isinstance(message.content, str):
            found += [block for block in message.content if isinstance(block, ToolResultBlock)]
    return found


async def test_claude_agent_sdk_conversation_matches_the_other_frameworks(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    with fake_api(respond_next_call) as env:
        found = await results_of(options(env, tmp_path, Bash(observers=[heard]), ctx))
    assert normalize_answers([text_of(block.content) for block in found], ctx) == TEXTS
    assert [bool(block.is_error) for block in found] == [bool(code) for code in ERRORS]
    assert heard.callers == ["claude-agent-sdk"] * ASKED


async def test_odd_calls_are_answered_as_without_a_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)

    def respond(results: list[Block]) -> Block:
        done = len(results)
        return use(ODD[done] if done < len(ODD) else None, done)

    with fake_api(respond) as env:
        found = await results_of(options(env, tmp_path, ctx=ctx))
    assert normalize_answers([text_of(block.content) for block in found], ctx) == await without_framework(ODD, ctx)
    assert [bool(block.is_error) for block in found] == [bool(code) for code in ODD_ERRORS]


def long_one(life: Lifeline) -> Call:
    return Call("Bash", {"command": f"{life.hold} (setsid sleep 600 &); sleep 600"})


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_run_leaves_no_process(tmp_path: Path, life: Lifeline, how: str) -> None:
    with fake_api(lambda results: use(None if results else long_one(life), 0)) as env:
        await end_run_by(how, results_of(options(env, tmp_path, ctx=ToolContext(working_dir=tmp_path))), life)


async def test_interrupted_agent_leaves_no_process(tmp_path: Path, life: Lifeline) -> None:
    with fake_api(lambda results: use(None if results else long_one(life), 0)) as env:
        async with ClaudeSDKClient(options(env, tmp_path, ctx=ToolContext(working_dir=tmp_path))) as client:
            await client.query("Look after the project.")
            await life.wait_until_held()
            await client.interrupt()
            await life.wait_until_ended()
            ended = [message async for message in client.receive_response()]
    assert isinstance(ended[-1], ResultMessage)


def test_claude_agent_sdk_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_claude_agent_sdk.py", tmp_path)


def test_claude_agent_sdk_code_on_the_page_works() -> None:
    assert run_docs_example("claude-agent-sdk", ctx=ToolContext())["options"].allowed_tools[0] == "mcp__nacre__Bash"
