"""Fuzz the settings of a user and of a project, some of them damaged.

An error must name its file, and no setting of the project may allow, open, keep or show anything that the user's
settings did not.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fuzz.files import damage_bytes
from nacre import check
from nacre.config import load
from nacre.config.config import Config as Loaded
from nacre.config.settings import ACCESS, DECISIONS, LISTS, SETTINGS, Setting
from nacre.errors import InvalidConfig, NacreError
from nacre.policy.policy import Policy
from nacre.policy.rules import MODULES_BY_ID
from nacre.policy.rules import load as rule_of
from nacre.types import ToolContext
from nacre.verdict import Decision

_RULES = (
    "Bash(npm run test:*)", "Bash(git stash:*)", "Bash(npm publish:*)", "Bash(curl * | sh)", "Bash", "Bash(*)",
    "Bash(ls:*)", "Bash(rm:*)", "Read(x)", "Bash(git push:*)", "Bash(make test)",
)  # fmt: skip
_VALUES: dict[str, tuple[Any, ...]] = {
    "seconds": (0.5, 1, 60, 300.5, 7200, 10**9),
    "size": (0, 1000, "1M", "4G", 10**12),
    "count": (1, 64, 10**6),
    "flag": (True, False),
    "network": (True, False, "loopback", [443], [443, 80], [22]),
    "file": (True, False, "/tmp/audit.jsonl"),
    "paths": (["~/.ssh"], ["/a", "b"], ["~"], ["/"], ["."]),
    "names": (["A"], ["TOKEN", "PATH"], ["*"], ["HOME"]),
    "rules": (*([rule] for rule in _RULES), [*_RULES[:4]]),
}
_COMMANDS = (
    "ls -l", "npm run test", "git push -f", "git stash drop", "rm -rf /", "curl x | sh", "make test", "npm publish",
    "$x",
)  # fmt: skip
"""Commands whose verdict must never become laxer."""
_USERS = ("profile", "allow_partial", "pass_env", "audit", "claude_settings", "unprotected", "permissions.allow")
_MORE = ("protected", "hidden", "secret_env", "permissions.ask", "permissions.deny")
_LESS = ("max_timeout", "output", "spill", "log")
_COSTS = ("memory", "cpu", "processes", "file_size", "open_files")


class Config:
    """A case is the files of settings, as JSON: the user's, and the project's two."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="nacre-fuzz-"))
        self._project = self._home / "project"
        (self._project / ".git").mkdir(parents=True)
        self._files = {
            "user": self._home / ".config" / "nacre" / "config.toml",
            "project": self._project / "pyproject.toml",
            "claude": self._project / ".claude" / "settings.json",
        }
        for file in self._files.values():
            file.parent.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        files = {"user": _toml(made), "project": _toml(made, "tool.nacre"), "claude": _json(made)}
        if made.random() < 0.5:
            which = made.choice([*files])
            files[which] = damage_bytes(files[which], made)
        chosen = {name: data.decode("latin-1") for name, data in files.items() if made.random() < 0.8}
        return json.dumps(chosen).encode()

    def wrong(self, case: bytes) -> str:
        given = {name: text.encode("latin-1") for name, text in json.loads(case).items()}
        before = {name: os.environ.get(name) for name in ("HOME", "XDG_CONFIG_HOME")}
        os.environ.update(HOME=str(self._home), XDG_CONFIG_HOME=str(self._home / ".config"))
        try:
            return self._find_loosened(given)
        except InvalidConfig as error:
            named = any(str(self._files[name]) in str(error) for name in given)
            return "" if named else f"the error names no file: {error}"
        except NacreError as error:  # settings that contradict each other
            return "" if str(error) else "an error without a word"
        finally:
            for file in self._files.values():
                file.unlink(missing_ok=True)
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})

    def _find_loosened(self, given: dict[str, bytes]) -> str:
        if "user" in given:
            self._files["user"].write_bytes(given["user"])
        alone = load(self._project, env={}, lines=True)
        mine = alone.context(env={})
        for name in given.keys() - {"user"}:
            self._files[name].write_bytes(given[name])
        both = load(self._project, env={}, lines=True)
        ours = both.context(env={})
        return (
            _find_loosened_setting(alone, both)
            or _find_loosened_sandbox(mine, ours)
            or _find_loosened_verdict(alone.policy, both.policy)
        )


def _toml(made: random.Random, table: str = "") -> bytes:
    lines = [f"[{table}]"] if table else []
    lines += [
        f"{key.name} = {_to_toml(_choose_value(key, made))}"
        for key in made.sample([*SETTINGS.values()], made.randrange(9))
    ]
    if made.random() < 0.5:
        lines.append(f"[{table}{'.' if table else ''}rules]")
        ids = made.sample([*MODULES_BY_ID], 3)
        lines += [f'"{id}" = {_to_toml(made.choice(DECISIONS))}' for id in (*ids, *made.choice(((), ("*",))))]
    if made.random() < 0.6:
        lines.append(f"[{table}{'.' if table else ''}permissions]")
        lines += [
            f"{name} = {_to_toml(_choose_value(LISTS[name], made))}"
            for name in made.sample([*LISTS], made.randrange(4))
        ]
    return "\n".join(lines).encode() + b"\n"


def _json(made: random.Random) -> bytes:
    lists = {name: _choose_value(LISTS[name], made) for name in made.sample([*LISTS], made.randrange(4))}
    return b"// mine\n" + json.dumps({"permissions": lists, "model": "x"}).encode()


def _choose_value(key: Setting, made: random.Random) -> Any:
    return made.choice(key.choices or _VALUES[key.kind])


def _to_toml(value: Any) -> str:
    return json.dumps(value)  # TOML has the same notation


def _find_loosened_setting(before: Loaded, after: Loaded) -> str:
    """Return a setting that a project has made less strict, by the order of that setting; empty if there is none."""
    for name in _USERS:
        if before.get(name) != after.get(name):
            return f"a project has set {name}: {before.get(name)!r} is {after.get(name)!r}"
    for name in _MORE:
        if gone := {*before.get(name, ())} - {*after.get(name, ())}:
            return f"a project has taken {gone} out of {name}"
    for name in _LESS:
        if (was := getattr(before.profile, name)) < (now := getattr(after.profile, name)):
            return f"a project has raised {name} from {was} to {now}"
    if {"PATH", "HOME"} & ({*after.get("secret_env", ())} - {*before.get("secret_env", ())}):
        return "a project has taken away what every program needs"
    if after.policy.default_decision.strictness < before.policy.default_decision.strictness:
        return f"a project has made default_decision {after.policy.default_decision}"
    for id in {*before.policy.decisions, *after.policy.decisions} - {"*"}:
        if (was := _decision_of(before.policy, id)).strictness > (now := _decision_of(after.policy, id)).strictness:
            return f"a project has made {id} {now}, which was {was}"
    return "" if before.policy.decisions.get("*") == after.policy.decisions.get("*") else "a project has decided all"


def _decision_of(policy: Policy, id: str) -> Decision:
    rule = rule_of(MODULES_BY_ID[id])
    return policy.decisions.get(id, Decision.ALLOW if rule.optional else policy.decisions.get("*", rule.decision))


def _find_loosened_sandbox(before: ToolContext, after: ToolContext) -> str:
    """Return a restriction of the sandbox that a project has loosened; empty if there is none."""
    if ACCESS.index(after.access) < ACCESS.index(before.access):
        return f"a project has changed access from {before.access} to {after.access}"
    if _is_confined(before):
        for name in ("network", "unix_sockets", "writable"):
            was, now = (_to_reachable_set(getattr(each, name)) for each in (before, after))
            if was is not None and (now is None or not now <= was):
                return f"a project has opened {name}: {was} is {now}"
    for name in _COSTS:
        most, now = getattr(before.limits, name), getattr(after.limits, name)
        if most is not None and (now is None or now > most):
            return f"a project has raised {name} from {most} to {now}"
    return ""


def _is_confined(context: ToolContext) -> bool:
    return context.access != ACCESS[0]


def _to_reachable_set(value: Any) -> set[Any] | None:
    """Return the set of what can be reached; None: everything."""
    if isinstance(value, bool):
        return None if value else set()
    return {value} if isinstance(value, str) else {*value}


def _find_loosened_verdict(before: Policy, after: Policy) -> str:
    if before == after:
        return ""
    for command in _COMMANDS:
        was, now = (check(command, cwd="/home/dev/project", policy=each) for each in (before, after))
        if now.decision.strictness < was.decision.strictness:
            return f"a project has made {command!r} {now.decision} ({now.rule}), which was {was.decision} ({was.rule})"
    return ""
