"""Adding nacre's entry to Codex's `config.toml` and removing it, with all other bytes unchanged."""

from __future__ import annotations

import tomllib

import pytest

from nacre.hooks.install.json_edit import CannotEdit
from nacre.hooks.install.toml_edit import add, commands, remove

COMMAND = "'/a b/nacre' hook || exit 2"

FILES = {
    "nothing": "",
    "other settings": 'model = "gpt-5"  # the best\n\n[features]\nhooks = true\n',
    "other hooks": '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "x"\n',
    "another hook for the same": '[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "x"\n',
    "trust": '[hooks.state."/x:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n',
    "line ends of Windows": 'model = "gpt-5"\r\n',
    "empty lines at the end": 'model = "gpt-5"\n\n\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_toml_hook_entry_is_appended_and_other_settings_stay(text: str) -> None:
    changed = add(text, "^Bash$", COMMAND)
    assert changed.startswith(text)
    assert commands(changed) == [*commands(text), COMMAND]
    said = tomllib.loads(changed)
    group = said["hooks"]["PreToolUse"].pop()
    assert group == {"matcher": "^Bash$", "hooks": [{"type": "command", "command": COMMAND}]}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_toml_hook_entry_is_removed_without_a_trace(text: str) -> None:
    assert remove(add(text, "^Bash$", COMMAND)) == text


def test_toml_edit_removal_keeps_settings_added_later() -> None:
    assert remove(add("a = 1\n", "^Bash$", COMMAND) + "\n[b]\nc = 1\n") == "a = 1\n\n[b]\nc = 1\n"


@pytest.mark.parametrize(
    "text", ["a = ", "[hooks", "hooks = 1", "hooks = {}", "hooks = {PreToolUse = []}", "[hooks]\nPreToolUse = []"]
)
def test_toml_edit_rejects_invalid_or_inline_hooks_tables(text: str) -> None:
    with pytest.raises(CannotEdit):
        add(text, "^Bash$", COMMAND)
