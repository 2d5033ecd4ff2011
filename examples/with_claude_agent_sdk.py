"""nacre in claude-agent-sdk. Runs offline: a server on loopback with scripted answers replaces the API."""

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from nacre import ToolContext
from nacre.adapters.claude_agent_sdk import allowed_tools, server

Respond = Callable[[list[dict[str, Any]]], dict[str, Any]]
"""Function from the tool results so far to the model's next block."""


@contextmanager
def fake_api(respond: Respond) -> Iterator[dict[str, str]]:
    """Serve the API and return the environment in which the agent uses it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = [
                block for message in body.get("messages", ()) for block in message["content"] if isinstance(block, dict)
            ]
            block = respond([block for block in said if block["type"] == "tool_result"])
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in events(block):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def log_message(self, *_: Any) -> None:
            pass

    api = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as config:
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{api.server_port}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": config,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
    api.shutdown()
    api.server_close()


def events(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message of one block, as the API streams it."""
    tool = block["type"] == "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    yield {
        "type": "content_block_start",
        "index": 0,
        "content_block": {**block, **({"input": {}} if tool else {"text": ""})},
    }
    said = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])} if tool else None
    yield {"type": "content_block_delta", "index": 0, "delta": said or {"type": "text_delta", "text": block["text"]}}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


def respond(results: list[dict[str, Any]]) -> dict[str, Any]:
    if results:
        return {"type": "text", "text": results[-1]["content"][0]["text"]}
    given = {"command": "echo hello; exit 3"}
    return {"type": "tool_use", "id": "toolu_1", "name": "mcp__nacre__Bash", "input": given}


async def main() -> None:
    with fake_api(respond) as env:
        options = ClaudeAgentOptions(
            mcp_servers={"nacre": server(ctx=ToolContext(working_dir="."))},
            allowed_tools=allowed_tools(),
            tools=[],
            env=env,
        )
        async for message in query(prompt="Say hello.", options=options):
            if isinstance(message, ResultMessage):
                print((message.result or "").splitlines())  # ['[nacre: exit 3]', 'hello']


if __name__ == "__main__":
    asyncio.run(main())
