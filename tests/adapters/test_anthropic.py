"""nacre in the Anthropic SDK: its own client and tool runner, over a transport with scripted answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from nacre import Bash, Cancel, Decision, Policy, ToolContext
from nacre.adapters.anthropic import BashTool, task_tools, tools
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.tasks import Tasks
from tests.adapters.conversation import (
    ASKED,
    COMMANDS,
    ERRORS,
    ODD,
    ODD_ERRORS,
    SECRET,
    SERVED,
    TEXTS,
    CallerObserver,
    next_call,
    normalize_answers,
    project,
    task_in,
    without_framework,
)
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.support.lifeline import Lifeline
from tests.support.waiting import turn_loop

pytestmark = pytest.mark.framework

Block = dict[str, Any]


class Api:
    """Transport that answers `/v1/messages` with what `respond` returns for the tool results so far; None ends it."""

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
        known = {block["tool_use_id"]: block for block in self.results}  # a request may contain only the new ones
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


def respond_next_call(results: list[Block]) -> Block | None:
    call = next_call([text_of(block) for block in results])
    return None if call is None else {"name": call.name, "input": call.arguments}


def bash(*calls: Block) -> Callable[[list[Block]], Block | None]:
    def respond(results: list[Block]) -> Block | None:
        return {"name": "bash", "input": calls[len(results)]} if len(results) < len(calls) else None

    return respond


def errors(api: Api) -> list[bool]:
    return [bool(block.get("is_error")) for block in api.results]


async def test_anthropic_conversation_matches_the_other_frameworks(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    api = Api(respond_next_call)
    assert normalize_answers(await api.converse(*tools(Bash(observers=[heard]), ctx)), ctx) == TEXTS
    assert errors(api) == [bool(code) for code in ERRORS]
    assert heard.callers == ["anthropic"] * ASKED


async def test_odd_calls_are_answered_as_without_a_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)

    def respond(results: list[Block]) -> Block | None:
        call = ODD[len(results)] if len(results) < len(ODD) else None
        return None if call is None else {"name": call.name, "input": call.arguments}

    api = Api(respond)
    assert normalize_answers(await api.converse(*tools(ctx=ctx)), ctx) == await without_framework(ODD, ctx)
    assert errors(api) == [bool(code) for code in ODD_ERRORS]


async def test_anthropic_defined_bash_tool_gives_the_same_conversation(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()

    def respond(results: list[Block]) -> Block | None:
        if len(results) < len(COMMANDS):
            return {"name": "bash", "input": {"command": COMMANDS[len(results)]}}
        if len(results) == len(COMMANDS):
            return {"name": "KillShell", "input": {"shell_id": task_in(text_of(results[3]))}}
        return None

    api = Api(respond)
    said = normalize_answers(await api.converse(BashTool(Bash(observers=[heard]), ctx), *task_tools(ctx)), ctx)
    assert said == [*TEXTS[:3], SERVED, TEXTS[6]]
    assert errors(api) == [False] * 5
    assert api.requests[0]["tools"][0] == {"type": "bash_20250124", "name": "bash"}
    assert heard.callers == ["anthropic"] * ASKED


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("name", ["bash", "Bash"])
async def test_ended_run_leaves_no_process(tmp_path: Path, life: Lifeline, how: str, name: str) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    call = {"name": name, "input": {"command": f"{life.hold} (setsid sleep 600 &); sleep 600"}}
    own = [BashTool(ctx=ctx)] if name == "bash" else tools(ctx=ctx)
    await end_run_by(how, Api(lambda _: call).converse(*own), life)


async def test_session_keeps_its_state_after_a_cancelled_call(tmp_path: Path, life: Lifeline) -> None:
    tool = BashTool(ctx=ToolContext(working_dir=tmp_path))
    await tool.call({"command": "export COLOUR=blue"})
    await end_run_by("cancelled", tool.call({"command": f"{life.hold} sleep 600"}), life)
    assert await tool.call({"command": "echo $COLOUR"}) == "blue"


RESTARTED = "The shell was restarted with its initial directory and variables."


async def test_working_directory_and_variables_persist_until_a_restart(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    where = {"command": 'echo "${COLOUR-none} in ${PWD##*/}"'}
    api = Api(bash({"command": "cd sub; export COLOUR=blue"}, where, {"restart": True}, where))
    said = await api.converse(BashTool(ctx=ToolContext(working_dir=tmp_path)))
    assert said[1:] == ["blue in sub", RESTARTED, f"none in {tmp_path.name}"]
    assert errors(api) == [False] * 4


async def test_restart_kills_running_leftovers(tmp_path: Path, life: Lifeline) -> None:
    ctx = ToolContext(working_dir=tmp_path, output_dir=tmp_path / "state")
    started = {"command": f"({life.hold} setsid sleep 600) & echo started"}
    said = await Api(bash(started, {"command": "true"}, {"restart": True})).converse(BashTool(ctx=ctx))
    assert said[2] == f"{RESTARTED} Its running tasks were killed: {task_in(said[0])}."
    assert life.over
    assert Tasks(ctx.output_dir).list(all=False) == []


async def test_restart_cancels_running_and_queued_calls(tmp_path: Path, life: Lifeline) -> None:
    tool = BashTool(ctx=ToolContext(working_dir=tmp_path))
    running = asyncio.create_task(tool.call({"command": f"{life.hold} echo begun; sleep 600"}))
    await life.wait_until_held()
    waiting = asyncio.create_task(tool.call({"command": "touch made"}))
    await turn_loop()  # now the call is in the queue
    assert await tool.call({"restart": True}) == RESTARTED
    assert life.over
    assert "cancelled" in await running
    assert "cancelled" in await waiting
    assert await tool.call({"command": "ls"}) == "life"


async def test_cancelled_restart_still_resets_the_session(tmp_path: Path, life: Lifeline) -> None:
    tool = BashTool(ctx=ToolContext(working_dir=tmp_path))
    await tool.call({"command": "export COLOUR=blue"})
    running = asyncio.create_task(tool.call({"command": f"{life.hold} sleep 600"}))
    await life.wait_until_held()
    restart = asyncio.create_task(tool.call({"restart": True}))
    await turn_loop()
    restart.cancel()
    await asyncio.gather(running, restart, return_exceptions=True)
    assert await tool.call({"command": "echo ${COLOUR-none}"}) == "none"


async def test_cancel_of_the_context_still_works_after_a_restart(tmp_path: Path, life: Lifeline) -> None:
    switch = Cancel()
    tool = BashTool(ctx=ToolContext(working_dir=tmp_path, cancel=switch))
    await tool.call({"restart": True})
    running = asyncio.create_task(tool.call({"command": f"{life.hold} sleep 600"}))
    await life.wait_until_held()
    switch.cancel()
    assert "cancelled" in await running
    assert "cancelled" in await tool.call({"command": "true"})


async def test_command_passed_with_a_restart_is_not_run(tmp_path: Path) -> None:
    tool = BashTool(ctx=ToolContext(working_dir=tmp_path))
    said = await tool.call({"command": "touch made", "restart": True})
    assert said == f"{RESTARTED} The command given with `restart` was not run."
    assert not (tmp_path / "made").exists()


async def test_approval_is_requested_from_the_approve_of_the_context(tmp_path: Path) -> None:
    asking = Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))
    ctx = ToolContext(working_dir=tmp_path)
    (nobody,) = await Api(bash({"command": "touch made"})).converse(BashTool(asking, ctx))
    assert "no person was asked" in nobody
    assert not (tmp_path / "made").exists()
    await Api(bash({"command": "touch made"})).converse(BashTool(asking, replace(ctx, approve=lambda _: True)))
    assert (tmp_path / "made").exists()


async def test_session_masks_secrets_and_replaces_invalid_utf8(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=(SECRET,))
    said = await Api(bash({"command": f"echo {SECRET}"}, {"command": "printf 'a\\377b\\n'"})).converse(
        BashTool(ctx=ctx)
    )
    assert said == ["[secret]", "a\ufffdb"]


@pytest.mark.parametrize("given", [{}, {"comand": "ls"}, {"command": 7}, {"command": ""}, {"restart": "perhaps"}])
async def test_invalid_call_is_a_result_with_an_error(tmp_path: Path, given: Block) -> None:
    api = Api(bash(given))
    (said,) = await api.converse(BashTool(ctx=ToolContext(working_dir=tmp_path)))
    assert said.startswith("Error (")
    assert api.results[0]["is_error"] is True


async def test_restart_argument_may_be_false(tmp_path: Path) -> None:
    (said,) = await Api(bash({"command": "echo hi", "restart": False})).converse(
        BashTool(ctx=ToolContext(working_dir=tmp_path))
    )
    assert said.strip() == "hi"


def test_anthropic_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_anthropic.py", tmp_path)


def test_anthropic_code_on_the_page_works() -> None:
    client = anthropic.AsyncAnthropic(api_key="none")
    page = run_docs_example("Anthropic SDK", ctx=ToolContext(), client=client, messages=[])
    assert hasattr(page["runner"], "until_done")
