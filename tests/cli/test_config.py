"""`nacre config`; and `run`, `check` and `explain` apply the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.nacre_program import Done, Nacre


@pytest.fixture
def nacre(nacre: Nacre) -> Nacre:
    nacre.config.parent.mkdir(parents=True)
    return nacre


@pytest.fixture
def project(nacre: Nacre) -> Path:
    directory = nacre.home / "project"
    (directory / ".git").mkdir(parents=True)
    (directory / ".claude").mkdir()
    (directory / "pyproject.toml").write_text("[tool.nacre]\naccess = 'workspace'\npass_env = ['X']\n")
    (directory / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(npm publish:*)"]}}')
    return directory


def test_config_shows_the_source_of_each_value(nacre: Nacre, project: Path) -> None:
    nacre.config.write_text("timeout = 30\n\n[rules]\ngit-push-force = 'ask'\n")
    done = nacre("config", cwd=project, env={"NACRE_MEMORY": "2G"})
    assert (done.code, done.err) == (0, b"")
    assert done.out.decode() == (
        "access                workspace            project ~/project/pyproject.toml:2\n"
        "timeout               30                   user ~/.config/nacre/config.toml:1\n"
        "memory                2147483648           environment $NACRE_MEMORY\n"
        "permissions.deny      Bash(npm publish:*)  project ~/project/.claude/settings.json:1\n"
        "rules.git-push-force  ask                  user ~/.config/nacre/config.toml:4\n"
        "\n"
        "without effect:\n"
        "  pass_env, project ~/project/pyproject.toml:3: a project cannot set it\n"
    )


def test_config_aligns_wide_characters_by_columns(nacre: Nacre) -> None:
    nacre.config.write_text("writable = ['/opt/日本', '/tmp']\ntimeout = 30\n")
    done = nacre("config")
    assert done.out.decode() == (
        "writable  /opt/日本  user ~/.config/nacre/config.toml:1\n"
        "writable  /tmp       user ~/.config/nacre/config.toml:1\n"
        "timeout   30         user ~/.config/nacre/config.toml:2\n"
    )


def test_config_json_includes_default_values(nacre: Nacre, project: Path) -> None:
    done = nacre("config", "--json", "--cwd", str(project))
    data = json.loads(done.out)
    settings = {each["key"]: each for each in data["settings"]}
    file = str(project / "pyproject.toml")
    assert settings["access"] == {
        "key": "access", "value": "workspace", "layer": "project", "file": file, "line": 2,
    }  # fmt: skip
    assert settings["timeout"] == {"key": "timeout", "value": 120.0, "layer": "default", "file": "", "line": 0}
    assert [each["key"] for each in data["not_applied"]] == ["pass_env"]
    assert data["files"] == [file, str(project / ".claude" / "settings.json")]


def test_config_without_settings_prints_a_message(nacre: Nacre) -> None:
    assert nacre("config").out == b"Nothing is configured here. (--all lists all settings)\n"
    assert nacre("config", "--all").out.startswith(b"profile           default       default\n")


def test_config_error_is_reported_with_file_and_line(nacre: Nacre) -> None:
    nacre.config.write_text("\nacess = 'restricted'\n")
    said = f"nacre: {nacre.config}:2: Unknown setting 'acess'. Did you mean 'access'?\n".encode()
    assert nacre("config") == Done(125, b"", said)
    assert nacre("run", "true") == Done(125, b"", said)
    assert nacre("check", "true") == Done(3, b"", said)
    assert nacre("explain", "true") == Done(3, b"", said)
    assert nacre("run", "--no-config", "true") == Done(0)
    assert nacre("check", "--no-config", "true") == Done(0, b"allow\n")
    assert nacre("explain", "--no-config", "true").code == 0
    answers = [json.loads(line) for line in nacre("check", "--jsonl", stdin=b'"ls"\n').out.splitlines()]
    assert answers[0]["error"]["code"] == "invalid_config"


def test_check_explain_and_run_apply_the_permissions_of_a_project(nacre: Nacre, project: Path) -> None:
    for words in (("check",), ("explain",)):
        assert nacre(*words, "cd x && npm publish", cwd=project).code == 2
        assert nacre(*words, "cd x && npm publish").code == 0
        assert nacre(*words, "--cwd", str(project), "npm publish").code == 2
        assert nacre(*words, "--no-config", "npm publish", cwd=project).code == 0
    done = nacre("run", "--access", "unrestricted", "bash -c 'npm publish'", cwd=project)
    assert (done.code, done.out) == (126, b"")
    assert b"is denied by the permission rule `Bash(npm publish:*)`" in done.err


def test_check_jsonl_applies_the_settings_of_each_directory(nacre: Nacre, project: Path) -> None:
    lines = [{"command": "npm publish", "cwd": str(project)}, {"command": "npm publish"}]
    done = nacre("check", "--jsonl", stdin="\n".join(map(json.dumps, lines)).encode())
    assert [json.loads(line)["decision"] for line in done.out.splitlines()] == ["refuse", "allow"]


def test_user_allow_rule_approves_and_is_named(nacre: Nacre) -> None:
    assert nacre("check", "git stash drop").code == 1
    nacre.config.write_text("[permissions]\nallow = ['Bash(git stash:*)']\n")
    assert nacre("check", "git stash drop") == Done(0, b"allow Bash(git stash:*)\n")
    assert nacre("check", "git push -f").code == 2
    assert nacre("run", "git stash drop").code not in (125, 126)


@pytest.mark.linux
def test_configured_access_mode_applies_to_run(nacre: Nacre, project: Path) -> None:
    assert nacre("run", "touch ../outside", cwd=project).code == 1
    assert nacre("run", "touch inside", cwd=project) == Done(0)
    assert nacre("run", "--access", "unrestricted", "touch ../outside", cwd=project) == Done(0)
    assert nacre("run", "touch inside", cwd=project, env={"NACRE_ACCESS": "restricted"}).code == 1
    assert nacre("run", "--no-config", "touch ../outside", cwd=project) == Done(0)


def test_configured_timeout_applies_to_run(nacre: Nacre) -> None:
    nacre.config.write_text("timeout = 0.2\n")
    assert nacre("run", "sleep 60").code == 124


def test_configured_profile_applies_and_an_unknown_one_is_an_error(nacre: Nacre) -> None:
    nacre.config.write_text("profile = 'phoenix'\n")
    assert nacre("check", "git add .").code == 2
    assert json.loads(nacre("config", "--json").out)["settings"][0]["value"] == "phoenix"
    assert nacre("run", "--profile", "nonsense", "true").code == 125
