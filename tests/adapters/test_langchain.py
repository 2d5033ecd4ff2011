"""nacre in LangChain, with its own fake chat model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from nacre import ToolContext
from nacre.adapters.langchain import tools
from tests.adapters.conversation import TEXTS, next_call, plain, project
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework


class Script:
    """The messages of a model that looks at what it was told."""

    def __init__(self) -> None:
        self.messages: list[BaseMessage] = [HumanMessage("Look after the project.")]

    def told(self) -> list[ToolMessage]:
        return [message for message in self.messages if isinstance(message, ToolMessage)]

    def __iter__(self) -> Script:
        return self

    def __next__(self) -> AIMessage:
        call = next_call([str(message.content) for message in self.told()])
        if call is None:
            return AIMessage("done")
        return AIMessage(
            "", tool_calls=[{"name": call.name, "args": call.arguments, "id": f"call-{len(self.messages)}"}]
        )


async def converse(ctx: ToolContext, *, blocking: bool = False) -> list[ToolMessage]:
    script = Script()
    model = GenericFakeChatModel(messages=iter(script))
    named = {tool.name: tool for tool in tools(ctx=ctx)}
    while True:
        reply: Any = await model.ainvoke(script.messages)
        script.messages.append(reply)
        if not reply.tool_calls:
            return script.told()
        for call in reply.tool_calls:
            tool = named[call["name"]]
            script.messages.append(tool.invoke(call) if blocking else await tool.ainvoke(call))


@pytest.mark.parametrize("blocking", [False, True])
async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path, blocking: bool) -> None:
    ctx = project(tmp_path)
    told = await converse(ctx, blocking=blocking)
    assert plain([str(message.content) for message in told], ctx) == TEXTS


async def test_only_a_call_that_cannot_be_meant_is_an_error(tmp_path: Path) -> None:
    told = await converse(project(tmp_path))
    assert [message.status for message in told] == ["success"] * 3 + ["error"] + ["success"] * 4


async def test_the_artifact_is_the_answer_as_data(tmp_path: Path) -> None:
    told = await converse(project(tmp_path))
    assert [(message.artifact or {}).get("exit_code") for message in told[:3]] == [0, 1, None]
    assert told[2].artifact["outcome"]["kind"] == "refused"


async def test_a_tool_is_described_to_models_by_the_schema_of_the_profile(tmp_path: Path) -> None:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    from nacre import Bash

    ctx = ToolContext(working_dir=tmp_path)
    (bash, *_) = tools(ctx=ctx)
    assert convert_to_openai_tool(bash)["function"] == Bash().definition(ctx, dialect="openai")["function"]


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_langchain.py", tmp_path)
