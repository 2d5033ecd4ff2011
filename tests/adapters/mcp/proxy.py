"""A small proxy on loopback that adds the token, for clients that cannot send one.

It can also replace calls of other tools with calls of ours. Host and origin headers are passed on unchanged, except
that the proxy's address becomes the server's.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.waiting import HANG_TIMEOUT_S

Meant = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
"""For each replaced tool name, a function from its arguments to those of `Bash`."""
_OURS = ("host", "connection", "content-length", "transfer-encoding")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect during an answer."""


@contextmanager
def proxy(
    url: str, token: str, meant: Meant | None = None, hear: Callable[[bytes], None] = lambda data: None
) -> Iterator[str]:
    """Run the proxy; yield its URL. `hear` receives the server's output."""
    there = urlsplit(url).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {
                name: self._rename_host(text) for name, text in self.headers.items() if name.lower() not in _OURS
            }
            if meant:
                body = _apply_meant(body, headers, meant)
            headers |= {"Host": self._rename_host(self.headers.get("host", "")), "Authorization": f"Bearer {token}"}
            upstream = http.client.HTTPConnection(there, timeout=HANG_TIMEOUT_S)
            try:
                upstream.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
                answer = upstream.getresponse()
                self.send_response(answer.status, answer.reason)
                for name, text in answer.getheaders():
                    if name.lower() not in _OURS:
                        self.send_header(name, text)
                self.send_header("Connection", "close")
                self.end_headers()
                while data := answer.read1():
                    hear(data)
                    self.wfile.write(data)
            finally:
                self.close_connection = True
                if upstream.sock is not None:
                    upstream.sock.shutdown(socket.SHUT_RDWR)
                upstream.close()

        do_GET = do_POST = do_DELETE = do_OPTIONS = do_PUT = _pass_on

        def _rename_host(self, text: str) -> str:
            for name in ("localhost", "127.0.0.1"):
                text = text.replace(f"{name}:{server.server_port}", there)
            return text

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}{urlsplit(url).path}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(HANG_TIMEOUT_S)


def _apply_meant(body: bytes, headers: dict[str, str], meant: Meant) -> bytes:
    """Return the body of a call of `Bash` in place of a replaced tool, whose name in the headers is changed too."""
    try:
        message = json.loads(body)
        name = message["params"]["name"]
        arguments = meant[name](message["params"].get("arguments") or {})
    except (ValueError, LookupError, TypeError):
        return body
    message["params"] |= {"name": "Bash", "arguments": arguments}
    for header in headers:
        if header.lower() == "mcp-name" and headers[header] == name:
            headers[header] = "Bash"
    return json.dumps(message).encode()
