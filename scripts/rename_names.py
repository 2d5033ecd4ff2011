"""Rename many definitions at once: `python scripts/rename_names.py scripts/renames.tsv [--apply]`.

Each line of the table is `path<TAB>kind<TAB>Qualified.name<TAB>new name`. Pyright's language server finds the
references, all of them in the unchanged tree, so that a new name may be the old name of another definition; then all
edits are made at once. Needs node, and pyright's npm package below `--pyright`.

The server does not find names in strings (`monkeypatch.setattr("nacre.x.y", …)`, programs that tests start), keywords
of `replace(value, …)` and `value._replace(…)`, and attributes of values whose type is unknown: mypy and the tests do.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parent.parent
DIRECTORIES = ("src", "tests", "bench", "fuzz", "faults", "scripts", "examples")
SETTINGS = {
    "include": DIRECTORIES,
    "extraPaths": ["src", "."],
    "venvPath": ".",
    "venv": ".venv",
    "typeCheckingMode": "off",
}
_WARM_UP_TIMEOUT_S = 120
_MIN_FILES_WITH_REQUEST = 40
"""Files that name `Request`, by which we see that the server has read the tree."""

Edit = tuple[int, int, int]
"""Line, first and last column, counted in UTF-16 units as the protocol does."""


class LanguageServer:
    """Pyright, spoken to over its standard streams."""

    def __init__(self, pyright: Path) -> None:
        program = str(pyright / "langserver.index.js")
        self._process = subprocess.Popen(
            ["node", program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._replies: dict[int, Any] = {}
        self._received = threading.Condition()
        self._count = 0
        self._opened: set[str] = set()
        threading.Thread(target=self._read_messages, daemon=True).start()
        folders = [{"uri": ROOT.as_uri(), "name": "nacre"}]
        workspace = {"configuration": True, "workspaceEdit": {"documentChanges": True}}
        start = {"processId": None, "rootUri": ROOT.as_uri(), "workspaceFolders": folders}
        self.request("initialize", {**start, "capabilities": {"workspace": workspace}})
        self._send({"method": "initialized", "params": {}})

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        number = self._count
        self._send({"id": number, "method": method, "params": params})
        with self._received:
            self._received.wait_for(lambda: number in self._replies)
            return self._replies.pop(number)

    def rename(self, path: str, line: int, column: int, new_name: str) -> dict[str, list[Edit]]:
        """References by path; empty if the server finds none."""
        uri = (ROOT / path).as_uri()
        if path not in self._opened:
            self._opened.add(path)
            document = {"uri": uri, "languageId": "python", "version": 1, "text": (ROOT / path).read_text("utf-8")}
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
        result = self.request("textDocument/rename", {**place, "newName": new_name}) or {}
        found: dict[str, list[Edit]] = {}
        for change in result.get("documentChanges", ()):
            file = Path(unquote(urlsplit(change["textDocument"]["uri"]).path)).relative_to(ROOT).as_posix()
            ranges = [edit["range"] for edit in change["edits"]]
            found[file] = [(r["start"]["line"], r["start"]["character"], r["end"]["character"]) for r in ranges]
        return found

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _read_messages(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            length = int(line.partition(b":")[2]) if line.lower().startswith(b"content-length") else 0
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(length))
            if "method" in message and "id" in message:  # a question of the server's: every setting has its default
                items = message.get("params", {}).get("items", ())
                self._send({"id": message["id"], "result": [{} for _ in items]})
            elif "id" in message:
                with self._received:
                    self._replies[message["id"]] = message.get("result")
                    self._received.notify_all()


def find_definition(path: str, qualified: str) -> tuple[int, int] | None:
    """Line and column of the name, counted as the protocol does."""
    text = (ROOT / path).read_text("utf-8")
    node: ast.AST = ast.parse(text)
    *outer, name = qualified.split(".")
    for part in outer:
        found = [each for each in ast.walk(node) if isinstance(each, _DEFINITIONS) and each.name == part]
        if not found:
            return None
        node = found[0]
    position = _find_in(node, name)
    if position is None:
        return None
    line = text.split("\n")[position[0]]
    start = len(line.encode()[: position[1]].decode())
    return position[0], len(line[: line.index(name, start)].encode("utf-16-le")) // 2


_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _find_in(node: ast.AST, name: str) -> tuple[int, int] | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return next(((each.lineno - 1, each.col_offset) for each in every if each.arg == name), None)
    for each in ast.walk(node):
        if isinstance(each, _DEFINITIONS) and each.name == name and each is not node:
            return each.lineno - 1, each.col_offset
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id == name:
            return each.lineno - 1, each.col_offset
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and each.attr == name:
            return (each.end_lineno or each.lineno) - 1, (each.end_col_offset or 0) - len(name.encode())
    return None


def wait_until_read(server: LanguageServer) -> None:
    """Until the server knows the whole tree: before that it renames in the open file alone."""
    position = find_definition("src/nacre/types.py", "Request")
    assert position is not None
    deadline = time.monotonic() + _WARM_UP_TIMEOUT_S
    while len(server.rename("src/nacre/types.py", *position, "Renamed")) < _MIN_FILES_WITH_REQUEST:
        if time.monotonic() > deadline:
            sys.exit("The language server does not read the tree.")


def apply_edits(edits: dict[str, dict[Edit, str]]) -> None:
    for path, changes in edits.items():
        lines = [line.encode("utf-16-le") for line in (ROOT / path).read_text("utf-8").split("\n")]
        for (line, start, end), new in sorted(changes.items(), reverse=True):
            lines[line] = lines[line][: 2 * start] + new.encode("utf-16-le") + lines[line][2 * end :]
        (ROOT / path).write_text("\n".join(line.decode("utf-16-le") for line in lines), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Renames many definitions at once.")
    parser.add_argument("table", type=Path)
    parser.add_argument("--apply", action="store_true", help="change the files, instead of only looking")
    parser.add_argument("--pyright", type=Path, default=ROOT / "node_modules" / "pyright", help="its npm package")
    arguments = parser.parse_args()
    settings = ROOT / "pyrightconfig.json"
    settings.write_text(json.dumps(SETTINGS))
    server = LanguageServer(arguments.pyright)
    edits: dict[str, dict[Edit, str]] = defaultdict(dict)
    try:
        wait_until_read(server)
        for row in arguments.table.read_text("utf-8").splitlines():
            path, _, qualified, new_name = row.split("\t")[:4]
            position = find_definition(path, qualified)
            found = {} if position is None else server.rename(path, *position, new_name)
            if not found:
                print(f"not found: {path} {qualified}")
            for file, places in found.items():
                for place in places:
                    if edits[file].setdefault(place, new_name) != new_name:
                        print(f"two names for one place: {file}:{place[0] + 1}: {edits[file][place]}, {new_name}")
    finally:
        server.close()
        settings.unlink()
    print(f"{sum(map(len, edits.values()))} places in {len(edits)} files")
    if arguments.apply:
        apply_edits(edits)


if __name__ == "__main__":
    main()
