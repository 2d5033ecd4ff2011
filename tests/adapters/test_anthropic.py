"""nacre in the Anthropic SDK: its own client and tool runner, over a transport that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from nacre import ToolContext
from nacre.adapters.anthropic import BashTool, task_tools, tools
from tests.adapters.conversation import COMMANDS, TEXTS, next_call, plain, project, task_in
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework

Block = dict[str, Any]


class Api:
    """Answers `/v1/messages` with what `respond` says of the tool results so far; None: the end."""

    def __init__(self, respond: Callable[[list[Block]], Block | None]) -> None:
        self._respond = respond
        self.requests: list[Any] = []
        self.results: list[Block] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        blocks = [
            block
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        known = {block["tool_use_id"]: block for block in self.results}  # a request may have only what is new
        known.update({block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"})
        self.results = list(known.values())
        call = self._respond(self.results)
        use = {"type": "tool_use", "id": f"toolu_{len(self.results)}", **(call or {})}
        content = {"type": "text", "text": "done"} if call is None else use
        reply = {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": "claude-fake",
            "content": [content],
            "stop_reason": "end_turn" if call is None else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=reply)

    async def converse(self, *given: Any) -> list[str]:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self))
        async with anthropic.AsyncAnthropic(api_key="none", http_client=http) as client:
            runner = client.beta.messages.tool_runner(
                model="claude-fake",
                max_tokens=1000,
                messages=[{"role": "user", "content": "Look after the project."}],
                tools=list(given),
            )
            await runner.until_done()
        return [text_of(block) for block in self.results]


def text_of(block: Block) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def converses(results: list[Block]) -> Block | None:
    call = next_call([text_of(block) for block in results])
    return None if call is None else {"name": call.name, "input": call.arguments}


def bash(*calls: Block) -> Callable[[list[Block]], Block | None]:
    def respond(results: list[Block]) -> Block | None:
        return {"name": "bash", "input": calls[len(results)]} if len(results) < len(calls) else None

    return respond


async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    api = Api(converses)
    assert plain(await api.converse(*tools(ctx=ctx)), ctx) == TEXTS
    assert [bool(block.get("is_error")) for block in api.results] == [False] * 3 + [True] + [False] * 4


async def test_the_same_by_the_bash_that_the_model_was_trained_with(tmp_path: Path) -> None:
    ctx = project(tmp_path)

    def respond(results: list[Block]) -> Block | None:
        if len(results) < len(COMMANDS):
            return {"name": "bash", "input": {"command": COMMANDS[len(results)]}}
        if len(results) == len(COMMANDS):
            return {"name": "KillShell", "input": {"shell_id": task_in(text_of(results[3]))}}
        return None

    api = Api(respond)
    said = plain(await api.converse(BashTool(ctx=ctx), *task_tools(ctx)), ctx)
    assert said[:3] == TEXTS[:3]
    assert "started" in said[3].splitlines()
    assert said[4] == TEXTS[6]
    assert api.requests[0]["tools"][0] == {"type": "bash_20250124", "name": "bash"}


async def test_directory_and_variables_carry_over_until_a_restart(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    where = {"command": 'echo "${COLOUR-none} in ${PWD##*/}"'}
    api = Api(bash({"command": "cd sub; export COLOUR=blue"}, where, {"restart": True}, where))
    said = await api.converse(BashTool(ctx=ToolContext(working_dir=tmp_path)))
    assert said[1] == "blue in sub"
    assert "restarted" in said[2]
    assert said[3] == f"none in {tmp_path.name}"


@pytest.mark.parametrize("given", [{}, {"comand": "ls"}, {"command": 7}, {"command": ""}])
async def test_a_call_that_cannot_be_meant_is_a_result_with_an_error(tmp_path: Path, given: Block) -> None:
    api = Api(bash(given))
    (said,) = await api.converse(BashTool(ctx=ToolContext(working_dir=tmp_path)))
    assert said.startswith("Error (")
    assert api.results[0]["is_error"] is True


async def test_restart_may_stand_beside_a_command(tmp_path: Path) -> None:
    (said,) = await Api(bash({"command": "echo hi", "restart": False})).converse(
        BashTool(ctx=ToolContext(working_dir=tmp_path))
    )
    assert said.strip() == "hi"


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_anthropic.py", tmp_path)
