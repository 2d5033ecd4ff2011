"""nacre in claude-agent-sdk: the real agent, with an API on loopback that answers from a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ToolResultBlock, UserMessage, query

from examples.with_claude_agent_sdk import fake_api
from nacre.adapters.claude_agent_sdk import allowed, server
from tests.adapters.conversation import TEXTS, next_call, plain, project
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework

Block = dict[str, Any]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def converses(results: list[Block]) -> Block:
    call = next_call([text_of(block["content"]) for block in results])
    if call is None:
        return {"type": "text", "text": "done"}
    name = f"mcp__nacre__{call.name}"
    return {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": call.arguments}


async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    found: list[ToolResultBlock] = []
    with fake_api(converses) as env:
        options = ClaudeAgentOptions(
            mcp_servers={"nacre": server(ctx=ctx)}, allowed_tools=allowed(), tools=[], env=env, cwd=tmp_path
        )
        async for message in query(prompt="Look after the project.", options=options):
            if isinstance(message, UserMessage) and not isinstance(message.content, str):
                found += [block for block in message.content if isinstance(block, ToolResultBlock)]
    said = plain([text_of(block.content) for block in found], ctx)
    wrong = 3  # what does not fit the schema is answered by the SDK itself, in its words
    assert said[:wrong] + said[wrong + 1 :] == TEXTS[:wrong] + TEXTS[wrong + 1 :]
    assert [bool(block.is_error) for block in found] == [number == wrong for number in range(8)]


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_claude_agent_sdk.py", tmp_path)
