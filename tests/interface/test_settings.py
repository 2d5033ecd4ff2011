"""Settings: keys of the TOML files, the types of their values, and the environment variables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre.config import load
from tests.interface.program import Program
from tests.interface.shapes import describe_shape
from tests.interface.snapshot import check_snapshot

VALUES = (
    "true",
    "30",
    "1.5",
    "-1",
    '"512M"',
    '"loopback"',
    '"~/audit.jsonl"',
    '"some text"',
    '["~/.cache"]',
    "[443]",
    *(f'"{word}"' for word in ("unrestricted", "workspace", "restricted", "allow", "ask", "refuse")),
    *(f'"{word}"' for word in ("default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma")),
)
"""TOML values of every kind that some setting accepts, and some that none accepts."""


def read_keys(program: Program) -> list[str]:
    (report,) = program.run("config", "--all", "--json").json_lines()
    return [setting["key"] for setting in report["settings"]]


@pytest.fixture
def user_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's settings file, for settings that are loaded in this process."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    path = tmp_path / "config" / "nacre" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def describe_value(path: Path, text: str, key: str) -> str | None:
    """Return the type of the loaded setting; None if the text is refused."""
    path.write_text(text)
    try:
        value = load(path.parent, env={}).get(key)
    except nacre.NacreError:
        return None
    return json.dumps(describe_shape(value)).strip('"')


def test_setting_keys_and_accepted_values_match_their_snapshot(program: Program, user_settings: Path) -> None:
    found: dict[str, Any] = {}
    for key in read_keys(program):
        taken = {text: describe_value(user_settings, f"{key} = {text}\n", key) for text in VALUES}
        found[key] = {text: kind for text, kind in taken.items() if kind is not None}
    for name in ("allow", "ask", "deny", "refuse"):
        text = f'[permissions]\n{name} = ["Bash(ls:*)"]\n'
        found[f"[permissions] {name}"] = describe_value(user_settings, text, f"permissions.{name}")
    for rule in ("git-push-force", "*", "no-such-rule"):
        text = f'[rules]\n"{rule}" = "ask"\n'
        found[f"[rules] {rule}"] = describe_value(user_settings, text, f"rules.{rule}")
    found["[tables]"] = describe_value(user_settings, "[tables]\nx = 1\n", "tables.x")
    check_snapshot("settings", found)


def test_setting_variables_match_their_snapshot(program: Program, user_settings: Path) -> None:
    found = {}
    for key in read_keys(program):
        name = f"NACRE_{key.upper()}"
        for text in ("1", "ask", "restricted", "phoenix", "/x"):
            try:
                config = load(user_settings.parent, env={name: text})
            except nacre.NacreError:
                continue
            if key in config.entries:
                found[name] = {"key": key, "origin": config.entries[key][0].origin.file, text: describe(config, key)}
                break
    check_snapshot("setting_variables", found)


def describe(config: Any, key: str) -> str:
    return json.dumps(describe_shape(config.get(key)))


def test_environment_variables_in_the_code_match_their_snapshot() -> None:
    """The settings have more variables: those names are derived from the keys."""
    root = Path(nacre.__file__).parent
    names: set[str] = set()
    for path in root.rglob("*.py"):
        names.update(re.findall(r"\bNACRE_[A-Z_]+", path.read_text(encoding="utf-8")))
    check_snapshot("variables", sorted(names))


def test_internal_variables_are_accepted_and_setting_typos_rejected(program: Program) -> None:
    """Variables that nacre uses internally are no settings; a name similar to a setting is an error."""
    internal = ("PORTABLE", "RUN", "STATUS", "TOLD", "BASH_ENV", "READING_ENVIRONMENT")
    for name in internal:
        if name != "PORTABLE":
            assert program.run("config", "--json", env={f"NACRE_{name}": "1"}).code == 0, name
    assert program.run("config", "--json", env={"NACRE_TIMEOUTS": "1"}).code == 125
