"""Files and payloads that others write: hooks' JSON, settings, the directories of tasks. Damaged, they are errors of
the kind that is promised, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from nacre.config import load
from nacre.errors import InvalidConfig, NacreError
from nacre.hooks.answer import answer
from nacre.tasks import Tasks as Store

_HERE = Path(__file__).parents[1]
_HOSTILE = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"[" * 3000,
    b"{" * 300,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"\\ud800",
    b"null",
    b"true",
    b"-1",
    b'""',
    b"\n",
    b"\r\n",
    b"'''",
    b'"""',
    b"[[x]]\n",
    b"a.b.c=1\n",
    b"\x1b[31m",
)


def damaged(data: bytes, made: random.Random) -> bytes:
    for _ in range(made.choice((0, 1, 1, 2, 6))):
        at = made.randrange(len(data) + 1)
        match made.randrange(4):
            case 0:
                data = data[:at] + made.choice(_HOSTILE) + data[at:]
            case 1:
                data = data[:at] + data[at + made.randint(1, 30) :]
            case 2:
                data = data[:at] + made.randbytes(made.randint(1, 4)) + data[at + 1 :]
            case _:
                data = data[:at] + data[at : at + made.randint(1, 60)] + data[at:]
    return data


class Hook:
    """A case is a payload on stdin."""

    def __init__(self) -> None:
        folder = _HERE / "tests" / "hooks" / "payloads"
        cases = [case for file in sorted(folder.glob("*.json")) for case in json.loads(file.read_text())["cases"]]
        self._payloads = [json.dumps(case["payload"]).encode() for case in cases]

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        return damaged(made.choice(self._payloads), made)

    def wrong(self, case: bytes) -> str:
        reply = answer(case)
        if reply.code not in (0, 2):
            return f"exit code {reply.code}"
        if reply.code == 2 and not reply.err.strip():
            return "a refusal without a reason"
        if reply.out:
            json.loads(reply.out)
        return "nacre itself failed: " + reply.err if "nacre hook failed" in reply.err else ""


_TOML = b"""\
access = "workspace"
hidden = ["~/.ssh"]
network = [443, 80]
timeout = 300.5
memory = "4G"
audit = true
[rules]
git-push-force = "ask"
[permissions]
allow = ["Bash(npm run test:*)", "Bash(git stash:*)"]
ask = ["Bash(npm install:*)"]
deny = ["Bash(npm publish:*)", "Bash(curl * | sh)"]
"""
_JSON = (
    b'{ // mine\n  "permissions": {"allow": ["Bash(ls:*)", "Read(x)"], "deny": ["Bash(rm:*)"], "ask": []}, '
    b'"model": "x" }\n'
)


class Config:
    """A case is a file of settings; its first byte says which."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="nacre-fuzz-"))
        self._project = self._home / "project"
        (self._project / ".git").mkdir(parents=True)
        self._files = {
            b"u": self._home / ".config" / "nacre" / "config.toml",
            b"p": self._project / "pyproject.toml",
            b"c": self._project / ".claude" / "settings.json",
        }
        for file in self._files.values():
            file.parent.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        which = made.choice(tuple(self._files))
        data = {
            b"u": _TOML,
            b"p": b"[tool.nacre]\n"
            + _TOML.replace(b"[rules]", b"[tool.nacre.rules]").replace(b"[permissions]", b"[tool.nacre.permissions]"),
            b"c": _JSON,
        }
        return which + damaged(data[which], made)

    def wrong(self, case: bytes) -> str:
        file = self._files[case[:1]]
        file.write_bytes(case[1:])
        before = {name: os.environ.get(name) for name in ("HOME", "XDG_CONFIG_HOME")}
        os.environ.update(HOME=str(self._home), XDG_CONFIG_HOME=str(self._home / ".config"))
        try:
            config = load(self._project, env={}, lines=True)
            config.policy, config.profile, config.context()
            return "a project has allowed something" if case[:1] != b"u" and config.get("permissions.allow") else ""
        except InvalidConfig as error:
            return "" if str(file) in str(error) else f"the error does not name the file: {error}"
        except NacreError as error:  # what cannot be meant together
            return "" if str(error) else "an error without a word"
        finally:
            file.unlink()
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})


_TASK = {
    "task.json": (
        b'{"v":1,"id":"bash-0123abcd","command":"true","description":"","cwd":"/","started":1.0,"timeout":null,'
        b'"profile":"default"}'
    ),
    "process.json": b'{"pid":999999,"pgid":999999,"start":1,"tag":7,"keeper":999998,"boot":"x"}',
    "status.json": b'{"outcome":{"kind":"exited","code":0},"ended":2.0,"duration":1.0,"bytes":3}',
    "output.log": b"hi\n",
}


class Tasks:
    """A case is the files of a task's directory, one after another."""

    def __init__(self) -> None:
        self._store = Path(tempfile.mkdtemp(prefix="nacre-fuzz-"))
        self._folder = self._store / "bash-0123abcd"

    def close(self) -> None:
        shutil.rmtree(self._store, ignore_errors=True)

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        files = {name: damaged(data, made) for name, data in _TASK.items() if made.random() < 0.9}
        return json.dumps({name: data.decode("latin-1") for name, data in files.items()}).encode()

    def wrong(self, case: bytes) -> str:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        for name, text in json.loads(case).items():
            file = self._folder / name
            file.write_bytes(text.encode("latin-1"))
            file.chmod(0o600)
        store = Store(self._store)
        for task in store.list():
            task.summary  # noqa: B018
            with suppress(NacreError):
                store.output(task.id)
        return ""
