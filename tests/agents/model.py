"""A fake model on loopback that calls the shell once, with one command, and then says that it is done.

Speaks as much of three APIs as real agents need: Anthropic's messages, OpenAI's responses, Gemini's generateContent,
all streamed. It answers every other request with an empty object.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DONE = "done"


class Model(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, command: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.command = command
        self.requests: list[tuple[str, Any]] = []
        self.results: list[str] = []
        """The results of the call that the agent sent."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def model(command: str) -> Iterator[Model]:
    with Model(command) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(json.dumps({"data": [], "models": []}).encode(), "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        path = self.path.partition("?")[0]
        self.server.requests.append((path, asked))
        if path.endswith("/v1/messages"):
            self._stream(_anthropic(self.server, asked), named=True)
        elif path.endswith("/responses"):
            self._stream(_responses(self.server, asked), named=True)
        elif path.endswith(":streamGenerateContent"):
            self._stream(_gemini(self.server, asked), named=False)
        elif path.endswith(":generateContent"):
            said = {"candidates": [{"content": {"role": "model", "parts": [{"text": "{}"}]}, "finishReason": "STOP"}]}
            self._send(json.dumps(said).encode(), "application/json")
        else:
            self._send(b"{}", "application/json")

    def _stream(self, events: list[dict[str, Any]], *, named: bool) -> None:
        parts = []
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            parts.append(f"{name}data: {json.dumps(event)}\n\n")
        self._send("".join(parts).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _anthropic(server: Model, asked: dict[str, Any]) -> list[dict[str, Any]]:
    results = [
        json.dumps(part.get("content"))
        for message in asked.get("messages", ())
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]
    server.results += results
    shell = any(tool.get("name") == "Bash" for tool in asked.get("tools") or ())
    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": [],
        "stop_reason": None,
    }
    usage = {"input_tokens": 1, "output_tokens": 1}
    if shell and not results:
        block: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        given = json.dumps({"command": server.command, "description": "Try it"})
        delta: dict[str, Any] = {"type": "input_json_delta", "partial_json": given}
        stop = "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": DONE}
        stop = "end_turn"
    return [
        {"type": "message_start", "message": {**message, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def _responses(server: Model, asked: dict[str, Any]) -> list[dict[str, Any]]:
    results = [
        json.dumps(item.get("output")) for item in asked.get("input", ()) if item.get("type") == "function_call_output"
    ]
    server.results += results
    names = [tool.get("name") for tool in asked.get("tools") or ()]
    item: dict[str, Any] = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": DONE}],
    }
    if not results:
        if "exec_command" in names:
            name, given = "exec_command", {"cmd": server.command}
        elif "shell_command" in names:
            name, given = "shell_command", {"command": server.command}
        else:
            name, given = "shell", {"command": ["bash", "-lc", server.command]}  # type: ignore[dict-item]
        item = {"type": "function_call", "id": "f", "call_id": "call_1", "name": name, "arguments": json.dumps(given)}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}  # type: ignore[dict-item]
    return [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
    ]


def _gemini(server: Model, asked: dict[str, Any]) -> list[dict[str, Any]]:
    results = [
        json.dumps(part["functionResponse"])
        for content in asked.get("contents", ())
        for part in content.get("parts", ())
        if "functionResponse" in part
    ]
    server.results += results
    tools = [each.get("name") for tool in asked.get("tools") or () for each in tool.get("functionDeclarations", ())]
    part: dict[str, Any] = {"text": DONE}
    if not results and "run_shell_command" in tools:
        part = {
            "functionCall": {"name": "run_shell_command", "args": {"command": server.command, "description": "Try"}}
        }
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [
        {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
        }
    ]
