"""LangChain: tools whose content is the text for the model, and whose artifact is the answer as data.

    agent = create_agent(model, tools=tools(ctx=ToolContext(working_dir=".")))

An invalid call is a tool message with status "error". Commands that need approval go to the context's `approve`; in a
graph, `ToolContext(approve=interrupt_for_approval)` interrupts it.
"""

from __future__ import annotations

from typing import Any

from nacre.adapters.shared.toolbox import Definition, Toolbox, missing_extra
from nacre.base.threads import block_on
from nacre.bash import Bash
from nacre.types import ToolContext
from nacre.verdict import Verdict

try:
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
except ImportError as error:
    raise missing_extra("langchain", error) from error


def tools(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> list[BaseTool]:
    """Return the `Bash` tool and, unless `tasks=False`, the tools for background tasks. Raises AccessUnavailable if the
    access of `ctx` cannot be enforced on this machine."""
    box = Toolbox(bash, ctx, caller="langchain", tasks=tasks)
    return [_tool(box, each) for each in box.definitions]


def _tool(box: Toolbox, definition: Definition) -> BaseTool:
    async def call(**arguments: Any) -> tuple[str, dict[str, Any]]:
        answer = await box.call(definition.name, arguments)
        if answer.error:
            raise ToolException(answer.text)
        return answer.text, dict(answer.data)

    def call_and_wait(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return block_on(call(**arguments))

    return StructuredTool(
        name=definition.name,
        description=definition.description,
        args_schema=dict(definition.schema),
        func=call_and_wait,
        coroutine=call,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def interrupt_for_approval(verdict: Verdict) -> bool:
    """Interrupt the graph, and return True if it is resumed with True. For `ToolContext.approve`. The payload of the
    interrupt has rule, reason, command and cwd."""
    from langgraph.types import interrupt  # installed wherever graphs run

    approval_request = verdict.approval_request
    about = {} if approval_request is None else {"command": approval_request.command, "cwd": approval_request.cwd}
    return interrupt({"rule": verdict.rule, "reason": verdict.reason, **about}) is True
