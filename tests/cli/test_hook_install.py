"""`nacre hook install` and `nacre hook remove`: the hook's entry in the settings of other agents."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nacre.hooks.install.locations import AGENTS
from tests.cli.hook_payloads import ALLOWED, REFUSED
from tests.cli.nacre_program import Done, Nacre
from tests.hooks.fixtures import FIXTURES
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
}

CONTENTS = {
    "claude-code": '{\n    "model": "opus", // mine\n    "hooks": {"PreToolUse": []}\n}',
    "codex": 'model = "gpt-5"  # mine',
    "gemini": '{\n\t"hooks": {},\n\t"theme": "x",\n}\n',
    "cursor": '{\r\n  "version": 1,\r\n  "hooks": {\r\n    "stop": []\r\n  }\r\n}\r\n',
}


def command_in(path: Path) -> str:
    """Return the command of nacre's hook in the settings."""
    text = path.read_text()
    if path.suffix == ".toml":
        said = tomllib.loads(text)
        command = said["hooks"]["PreToolUse"][-1]["hooks"][0]["command"]
    else:
        from nacre.base.jsonc import parse, to_python

        said = to_python(parse(text))["hooks"]  # type: ignore[index]
        (entries,) = [said[event] for event in ("PreToolUse", "BeforeTool", "beforeShellExecution") if said.get(event)]
        command = (entries[-1].get("hooks") or entries)[-1]["command"]
    assert isinstance(command, str)
    return command


@pytest.mark.parametrize("there", [True, False], ids=["a file", "no file"])
@pytest.mark.parametrize("agent", AGENTS)
def test_hook_install_and_remove_restore_the_settings_file(nacre: Nacre, agent: str, there: bool) -> None:
    file = nacre.home / FILES[agent]
    if there:
        file.parent.mkdir()
        file.write_bytes(CONTENTS[agent].encode())
        file.chmod(0o600)

    done = nacre("hook", "install", agent)
    assert done.code == 0, done
    assert done.out.startswith(f"--- {file if there else '/dev/null'}\n+++ {file}\n".encode())
    assert b"nacre hook" in done.out.replace(b"' hook", b" hook")
    assert f"Written: {file}".encode() in done.err
    installed = file.read_bytes()
    assert nacre("hook", "install", agent) == Done(0, err=f"nacre: Already installed: {file}\n".encode())
    assert file.read_bytes() == installed

    command = command_in(file)
    for case in FIXTURES[agent]["cases"]:
        if case["name"].startswith(("no opinion", "refused", "asked")):
            used = subprocess.run(
                ["sh", "-c", command],
                input=json.dumps(case["payload"]).encode(),
                capture_output=True,
                timeout=HANG_TIMEOUT_S,
                env=nacre.env,
                check=False,
            )
            assert (used.returncode, bool(used.stderr)) == (case["code"], case["code"] == 2)

    assert nacre("hook", "install", agent, "--remove").code == 0
    assert (file.read_bytes() if file.exists() else None) == (CONTENTS[agent].encode() if there else None)
    assert sorted(path.name for path in file.parent.iterdir()) == ([file.name] if there else [])
    if there:
        assert file.stat().st_mode & 0o777 == 0o600
    assert nacre("hook", "install", agent, "--remove").err.startswith(b"nacre: No nacre hook found in ")


@pytest.mark.parametrize("agent", AGENTS)
def test_hook_remove_keeps_later_changes_of_the_settings_file(nacre: Nacre, agent: str) -> None:
    file = nacre.home / FILES[agent]
    file.parent.mkdir()
    file.write_text("" if agent == "codex" else '{\n  "a": 1\n}\n')
    nacre("hook", "install", agent)
    more = "\nb = 2\n" if agent == "codex" else '"b": 2,\n  "a": 1'
    text = file.read_text()
    file.write_text(more.strip() + "\n" + text if agent == "codex" else text.replace('"a": 1', more))
    done = nacre("hook", "install", agent, "--remove")
    assert done.code == 0, done
    left = file.read_text()
    assert "nacre" not in left
    assert (tomllib.loads(left) if agent == "codex" else json.loads(left))["b"] == 2


@pytest.mark.parametrize("agent", AGENTS)
def test_hook_install_dry_run_shows_the_change_without_making_it(nacre: Nacre, agent: str) -> None:
    done = nacre("hook", "install", agent, "--dry-run")
    assert (done.code, done.err) == (0, b"nacre: Nothing was changed: --dry-run\n")
    assert done.out.count(b"\n+") > 5
    assert not (nacre.home / FILES[agent]).exists()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("data", [b"{ oh no", b"\xff\xfe"])
def test_hook_install_leaves_an_unreadable_settings_file_unchanged(nacre: Nacre, agent: str, data: bytes) -> None:
    file = nacre.home / FILES[agent]
    file.parent.mkdir()
    file.write_bytes(data)
    for words in ([], ["--remove"]):
        done = nacre("hook", "install", agent, *words)
        assert (done.code, done.out) == (125, b"")
        assert f"{file} was not changed: ".encode() in done.err
    assert file.read_bytes() == data
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_hook_install_for_a_project_calls_nacre_by_name(nacre: Nacre, tmp_path: Path) -> None:
    assert nacre("hook", "install", "claude-code", "--project", cwd=tmp_path).code == 0
    assert command_in(tmp_path / ".claude/settings.json") == "PYTHONPATH= nacre hook || exit 2"
    assert not (nacre.home / ".claude").exists()


def test_hook_install_replaces_an_earlier_hook_of_nacre(nacre: Nacre) -> None:
    file = nacre.home / FILES["claude-code"]
    nacre("hook", "install", "claude-code", "--program", "/old place/nacre")
    assert command_in(file) == "PYTHONPATH= '/old place/nacre' hook || exit 2"
    nacre("hook", "install", "claude-code", "--program", "/new/nacre", "--no-ask")
    assert command_in(file) == "PYTHONPATH= /new/nacre hook --no-ask || exit 2"
    assert file.read_text().count("exit 2") == 1


def test_hook_install_uses_an_existing_hooks_json_of_codex(nacre: Nacre) -> None:
    folder = nacre.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text("a = 1\n")
    (folder / "hooks.json").write_text('{"hooks": {}}')
    nacre("hook", "install", "codex")
    assert (folder / "config.toml").read_text() == "a = 1\n"
    assert re.search("nacre'? hook \\|\\| exit 2$", command_in(folder / "hooks.json"))
    nacre("hook", "install", "codex", "--remove")
    assert (folder / "hooks.json").read_text() == '{"hooks": {}}'


@pytest.mark.parametrize(("agent", "variable"), [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")])
def test_hook_install_respects_the_config_directory_variable_of_an_agent(
    nacre: Nacre, tmp_path: Path, agent: str, variable: str
) -> None:
    assert nacre("hook", "install", agent, env={variable: str(tmp_path / "there")}).code == 0
    assert [path.name for path in (tmp_path / "there").iterdir()] == [os.path.basename(FILES[agent])]


def test_hook_install_and_remove_keep_a_symlink(nacre: Nacre, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}\n")
    file = nacre.home / FILES["claude-code"]
    file.parent.mkdir()
    file.symlink_to(kept)
    nacre("hook", "install", "claude-code")
    assert file.is_symlink()
    assert "nacre" in kept.read_text()
    nacre("hook", "install", "claude-code", "--remove")
    assert file.is_symlink()
    assert kept.read_text() == "{}\n"


def test_hook_install_finds_its_entry_under_another_program_name(nacre: Nacre) -> None:
    file = nacre.home / FILES["claude-code"]
    file.parent.mkdir()
    file.write_text('{"a": 1}')
    for words in (["--program", "/opt/guard"], ["--program", "/opt/guard"], ["--program", "/opt/guard", "--no-ask"]):
        assert nacre("hook", "install", "claude-code", *words).code == 0
    assert file.read_text().count("/opt/guard") == 1
    assert nacre("hook", "install", "claude-code", "--remove").code == 0
    assert file.read_text() == '{"a": 1}'


def test_installed_hook_command_ignores_modules_of_the_project(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(0)\n")
    assert nacre("hook", "install", "claude-code", "--program", "./nacre").code == 0
    (tmp_path / "nacre").write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -m nacre "$@"\n')
    (tmp_path / "nacre").chmod(0o755)
    command = command_in(nacre.home / ".claude/settings.json")
    src = str(Path(__file__).parents[2] / "src")
    for text, code in ((command, 2), (command.removeprefix("PYTHONPATH= "), 0)):
        done = subprocess.run(
            ["sh", "-c", text],
            input=REFUSED,
            capture_output=True,
            timeout=HANG_TIMEOUT_S,
            env={**nacre.env, "PYTHONPATH": f"{tmp_path}:{src}"},
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == code, done


def test_installed_hook_command_refuses_when_its_program_is_missing(nacre: Nacre) -> None:
    nacre("hook", "install", "claude-code", "--program", "/nowhere/nacre")
    command = command_in(nacre.home / FILES["claude-code"])
    done = subprocess.run(
        ["sh", "-c", command], input=ALLOWED, capture_output=True, timeout=HANG_TIMEOUT_S, check=False
    )
    assert done.returncode == 2
    assert b"/nowhere/nacre" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nacre hook install needs the name of an agent. One of: claude-code, codex, gemini, cursor"),
        (["claude"], "Unknown agent 'claude'. Did you mean: nacre hook install claude-code"),
        (["x"], "Unknown agent 'x'. One of: claude-code, codex, gemini, cursor"),
        (
            ["codex", "--user", "--project"],
            "--user and --project exclude each other. Choose one, or run the command twice.",
        ),
        (["codex", "--dry"], "Unknown option: --dry. Did you mean: --dry-run"),
    ],
)
def test_hook_install_usage_error_exits_125_and_names_the_fix(nacre: Nacre, words: list[str], said: str) -> None:
    assert nacre("hook", "install", *words) == Done(125, err=f"nacre: {said}\n".encode())
