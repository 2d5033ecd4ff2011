"""nacre in LangChain, with its own fake chat model, its agent and its published suite for tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from nacre import Bash, ToolContext
from nacre.adapters.langchain import interrupt_for_approval, tools
from tests.adapters.conversation import (
    ASKED,
    ERRORS,
    ODD,
    ODD_ERRORS,
    OUTCOMES,
    TEXTS,
    Call,
    CallerObserver,
    next_call,
    normalize_answers,
    outcome_in,
    project,
    without_framework,
)
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework


class TestItsPublishedUnitTests(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return tools()[0]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"command": "echo hello"}


class TestItsPublishedIntegrationTests(ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return tools()[0]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"command": "echo hello"}


class Model(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Model:
        return self


def message_of(call: Call, number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": call.name, "args": call.arguments, "id": f"call-{number}"}])


def messages_for_calls(*calls: Call) -> Iterator[AIMessage]:
    yield from (message_of(call, number) for number, call in enumerate(calls))
    yield AIMessage("done")


class Script:
    """Messages of a model that reacts to the answers so far."""

    def __init__(self) -> None:
        self.messages: list[BaseMessage] = [HumanMessage("Look after the project.")]

    def tool_messages(self) -> list[ToolMessage]:
        return [message for message in self.messages if isinstance(message, ToolMessage)]

    def __iter__(self) -> Script:
        return self

    def __next__(self) -> AIMessage:
        call = next_call([str(message.content) for message in self.tool_messages()])
        return AIMessage("done") if call is None else message_of(call, len(self.messages))


async def converse(own: list[BaseTool], *, blocking: bool) -> list[ToolMessage]:
    script = Script()
    model = GenericFakeChatModel(messages=iter(script))
    named = {tool.name: tool for tool in own}
    while True:
        reply: Any = await model.ainvoke(script.messages)
        script.messages.append(reply)
        if not reply.tool_calls:
            return script.tool_messages()
        for call in reply.tool_calls:
            tool = named[call["name"]]
            script.messages.append(tool.invoke(call) if blocking else await tool.ainvoke(call))


def tool_answers(state: Any) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("blocking", [False, True])
async def test_langchain_conversation_matches_the_other_frameworks(tmp_path: Path, blocking: bool) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    told = await converse(tools(Bash(observers=[heard]), ctx), blocking=blocking)
    assert normalize_answers([str(message.content) for message in told], ctx) == TEXTS
    assert [message.status for message in told] == ["error" if error else "success" for error in ERRORS]
    assert [outcome_in(message.artifact or {}) for message in told] == OUTCOMES
    assert heard.callers == ["langchain"] * ASKED


async def test_odd_calls_are_answered_as_without_a_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    agent = create_agent(Model(messages=messages_for_calls(*ODD)), tools=tools(ctx=ctx))
    told = tool_answers(await agent.ainvoke({"messages": [("user", "Be odd.")]}, {"recursion_limit": 100}))
    assert normalize_answers([str(message.content) for message in told], ctx) == await without_framework(ODD, ctx)
    assert [message.status for message in told] == ["error" if error else "success" for error in ODD_ERRORS]


async def test_direct_invocation_returns_the_text(tmp_path: Path) -> None:
    (bash,) = tools(ctx=ToolContext(working_dir=tmp_path), tasks=False)
    assert await bash.ainvoke({"command": "echo hello"}) == "hello"


async def test_tool_calls_of_one_message_run_concurrently(tmp_path: Path) -> None:
    """Each waits for the other, at two FIFOs."""
    ctx = ToolContext(working_dir=tmp_path)
    meet = "mkfifo a b 2>&-; "
    asks = [
        {"name": "Bash", "args": {"command": command}, "id": command}
        for command in (meet + "echo one >a; cat b", meet + "cat a; echo two >b")
    ]
    model = Model(messages=iter([AIMessage("", tool_calls=asks), AIMessage("done")]))
    state = await create_agent(model, tools=tools(ctx=ctx)).ainvoke({"messages": [("user", "Meet.")]})
    assert [message.content for message in tool_answers(state)] == ["two", "one"]


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_run_leaves_no_process(tmp_path: Path, life: Lifeline, how: str) -> None:
    call = Call("Bash", {"command": f"{life.hold} (setsid sleep 600 &); sleep 600"})
    agent = create_agent(Model(messages=messages_for_calls(call)), tools=tools(ctx=ToolContext(working_dir=tmp_path)))
    await end_run_by(how, agent.ainvoke({"messages": [("user", "Sleep.")]}), life)


RISKY = Call("Bash", {"command": "git stash drop"})


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("answer", [True, False, "yes"])
async def test_graph_is_interrupted_for_approval_and_resumes_with_it(
    tmp_path: Path, answer: Any, blocking: bool
) -> None:
    ctx = ToolContext(working_dir=tmp_path, approve=interrupt_for_approval)
    agent = create_agent(Model(messages=messages_for_calls(RISKY)), tools=tools(ctx=ctx), checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}

    async def invoke_agent(given: Any) -> Any:
        return agent.invoke(given, thread) if blocking else await agent.ainvoke(given, thread)

    state = await invoke_agent({"messages": [("user", "Drop it.")]})
    (interruption,) = state["__interrupt__"]
    asked = interruption.value
    assert (asked["rule"], asked["command"], asked["cwd"]) == ("git-stash-drop", "git stash drop", str(tmp_path))
    assert asked["reason"]
    assert tool_answers(state) == []
    (told,) = tool_answers(await invoke_agent(Command(resume=answer)))
    ran = "not a git repository" in str(told.content)
    assert ran is (answer is True)
    assert (told.artifact["outcome"]["kind"] == "refused") is (answer is not True)


async def test_finished_calls_are_not_repeated_after_an_interrupt(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, approve=interrupt_for_approval)
    calls = [
        {"name": "Bash", "args": {"command": "echo ran >>log"}, "id": "harmless"},
        {"name": "Bash", "args": RISKY.arguments, "id": "risky"},
    ]
    model = Model(messages=iter([AIMessage("", tool_calls=calls), AIMessage("done")]))
    agent = create_agent(model, tools=tools(ctx=ctx), checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert "__interrupt__" in await agent.ainvoke({"messages": [("user", "Both.")]}, thread)
    state = await agent.ainvoke(Command(resume=True), thread)
    assert [message.tool_call_id for message in tool_answers(state)] == ["harmless", "risky"]
    assert (tmp_path / "log").read_text() == "ran\n"


async def test_command_that_needs_approval_is_refused_without_an_approver(tmp_path: Path) -> None:
    agent = create_agent(Model(messages=messages_for_calls(RISKY)), tools=tools(ctx=ToolContext(working_dir=tmp_path)))
    (told,) = tool_answers(await agent.ainvoke({"messages": [("user", "Drop it.")]}))
    assert "no person was asked" in str(told.content)
    assert told.status == "success"


async def test_langchain_tool_has_the_schema_of_the_profile(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    (bash, *_) = tools(ctx=ctx)
    assert convert_to_openai_tool(bash)["function"] == Bash().definition(ctx, dialect="openai")["function"]


async def test_langchain_code_on_the_page_works() -> None:
    call = Call("Bash", {"command": "echo hello"})
    names = run_docs_example("LangChain", model=Model(messages=messages_for_calls(call)))
    (told,) = tool_answers(await names["agent"].ainvoke({"messages": [("user", "Say hello.")]}))
    assert told.content == "hello"


def test_langchain_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_langchain.py", tmp_path)
