"""nacre in the Anthropic SDK. Runs offline: a transport with scripted answers replaces the API."""

import asyncio
import json
from typing import Any

import anthropic
import httpx2

from nacre import ToolContext
from nacre.adapters.anthropic import BashTool


def api(request: httpx2.Request) -> httpx2.Response:
    last = json.loads(request.content)["messages"][-1]["content"]
    told = last[0].get("content") if isinstance(last, list) else None
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "echo hello; exit 3"}}
    content: dict[str, Any] = call if told is None else {"type": "text", "text": told}
    reply = {
        "id": "msg_1" if told is None else "msg_2",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": [content],
        "stop_reason": "tool_use" if told is None else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return httpx2.Response(200, json=reply)


async def main() -> None:
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(api))
    async with anthropic.AsyncAnthropic(api_key="none", http_client=http) as client:
        runner = client.beta.messages.tool_runner(
            model="fake",
            max_tokens=1000,
            messages=[{"role": "user", "content": "Say hello."}],
            tools=[BashTool(ctx=ToolContext(working_dir="."))],
        )
        message = await runner.until_done()
    said = "".join(block.text for block in message.content if block.type == "text")
    print(said.splitlines())  # ['[nacre: exit 3]', 'hello']


asyncio.run(main())
