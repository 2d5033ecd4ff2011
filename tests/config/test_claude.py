"""Claude Code's settings: its permission rules apply here; those of a project only where they are stricter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.config.config import Config
from nacre.errors import InvalidConfig
from tests.config.settings_files import Place


def settings(**lists: list[str]) -> str:
    """Return settings as https://code.claude.com/docs/en/settings describes them (read on 2026-11-16)."""
    return json.dumps({"model": "x", "permissions": {"defaultMode": "plan", **lists}, "hooks": {}}, indent=2)


def rules(config: Config) -> dict[str, tuple[str, ...]]:
    permissions = config.policy.permissions
    return {"allow": permissions.allow, "ask": permissions.ask, "deny": permissions.deny}


def test_bash_rules_of_the_user_are_used_and_other_tools_rules_ignored(place: Place) -> None:
    place.write(
        place.home / ".claude" / "settings.json",
        settings(allow=["Bash(make:*)", "Read(**)", "mcp__x__y"], ask=["Bash(npm:*)"], deny=["Bash(rm:*)", "WebFetch"]),
    )
    assert rules(place.load()) == {"allow": ("Bash(make:*)",), "ask": ("Bash(npm:*)",), "deny": ("Bash(rm:*)",)}


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_project_rules_deny_and_ask_but_do_not_allow(place: Place, name: str) -> None:
    file = place.write(
        place.project / ".claude" / name,
        settings(allow=["Bash(git:*)"], ask=["Bash(npm:*)"], deny=["Bash(rm:*)"]),
    )
    config = place.load(lines=True)
    assert rules(config) == {"allow": (), "ask": ("Bash(npm:*)",), "deny": ("Bash(rm:*)",)}
    assert [str(note.origin) for note in config.notes] == [f"project {file}:6"]
    (entry,) = config.entries["permissions.deny"]
    assert str(entry.origin) == f"project {file}:12"


def test_rules_add_up_from_the_directory_to_the_repository_root(place: Place) -> None:
    place.write(place.home / ".claude" / "settings.json", settings(deny=["Bash(a)"]))
    place.write(place.project / ".claude" / "settings.json", settings(deny=["Bash(b)"]))
    place.write(place.project / "in" / ".claude" / "settings.local.json", settings(deny=["Bash(c)"]))
    place.write(place.project.parent / ".claude" / "settings.json", settings(deny=["Bash(d)"]))
    assert rules(place.load(below="in"))["deny"] == ("Bash(a)", "Bash(c)", "Bash(b)")


def test_claude_config_dir_variable_selects_the_user_settings(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(place.home / ".claude" / "settings.json", settings(deny=["Bash(a)"]))
    place.write(place.home / "elsewhere" / "settings.json", settings(deny=["Bash(b)"]))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.home / "elsewhere"))
    assert rules(place.load())["deny"] == ("Bash(b)",)


@pytest.mark.parametrize(
    "text",
    [
        '{\n"permissions": {"deny": ["Bash(rm:*)"]},\n"permissions": {}}',
        '{\n"permissions": {"deny": ["Bash(rm:*)"],\n"deny": []}}',
    ],
)
def test_duplicate_key_is_an_error(place: Place, text: str) -> None:
    """Claude Code would use the last one, although the user may have meant the first."""
    file = place.write(place.home / ".claude" / "settings.json", text)
    with pytest.raises(InvalidConfig, match="duplicate key") as caught:
        place.load()
    assert (caught.value.file, caught.value.line) == (str(file), 3)


def test_user_can_turn_claude_settings_off(place: Place) -> None:
    place.write(place.home / ".claude" / "settings.json", "no JSON")
    place.users("claude_settings = false")
    assert rules(place.load()) == {"allow": (), "ask": (), "deny": ()}
    place.env["NACRE_CLAUDE_SETTINGS"] = "on"
    with pytest.raises(InvalidConfig):
        place.load()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{\n  "permissions": ,\n}', 2, "Invalid JSON: a value is missing."),
        ("[" * 9000, 1, "Invalid JSON: nested too deeply."),
        ('{\n  "permissions": []\n}', 2, "`permissions` must be an object."),
        ('{"permissions": {\n"deny": "Bash(x)"}}', 2, "`permissions.deny` must be a list of strings."),
        ('{"permissions": {"deny": [\n"Bash(x"]}}', 2, "The permission rule 'Bash(x' has no closing parenthesis."),
        ("[]", 0, "`permissions` must be an object."),
    ],
)
def test_invalid_settings_file_is_an_error_with_file_and_line(place: Place, text: str, line: int, message: str) -> None:
    file = place.write(place.project / ".claude" / "settings.json", text)
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value) == f"{file}:{line}: {message}" if line else f"{file}: {message}"


def test_malformed_allow_rule_is_skipped_with_a_note(place: Place) -> None:
    place.write(place.home / ".claude" / "settings.json", settings(allow=["Bash(x", "Bash(ls)"]))
    config = place.load()
    assert rules(config)["allow"] == ("Bash(ls)",)
    assert [note.why for note in config.notes] == ["The permission rule 'Bash(x' has no closing parenthesis."]


def test_comments_and_trailing_commas_are_accepted(place: Place) -> None:
    text = '{ // mine\n  "permissions": { "deny": ["Bash(x)", /* "Bash(y)", */ ], },\n}\n'
    place.write(place.project / ".claude" / "settings.json", text)
    assert rules(place.load())["deny"] == ("Bash(x)",)


def test_empty_settings_file_sets_nothing(place: Place, tmp_path: Path) -> None:
    place.write(place.project / ".claude" / "settings.json", "\n")
    assert place.load().entries == {}
