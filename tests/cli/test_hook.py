"""`nacre hook`: the checker as a hook of other agents, and its entry in their settings."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nacre.hooks.install.locations import AGENTS
from tests.cli.nacre_program import Done, Nacre, finish
from tests.hooks.fixtures import FIXTURES, payload_of
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

SEEN = [
    pytest.param(agent, case, id=f"{agent}: {case['name']}")
    for agent, fixture in FIXTURES.items()
    for case in fixture["cases"]
    if case["name"] in ("no opinion", "refused", "asked", "no command")
]


@pytest.mark.parametrize(("agent", "case"), SEEN)
def test_hook_command_answers_as_recorded_for_each_agent(nacre: Nacre, agent: str, case: dict[str, Any]) -> None:
    done = nacre("hook", stdin=json.dumps(case["payload"]).encode())
    assert done.code == case["code"]
    assert bool(done.err) == (case["code"] == 2)
    assert bool(done.out) == ("out" in case)


REFUSED = json.dumps(payload_of("claude-code", "refused")).encode()
ALLOWED = json.dumps(payload_of("claude-code", "no opinion")).encode()
ASKED = json.dumps(payload_of("claude-code", "asked")).encode()


@pytest.mark.parametrize("stdin", [b"", b"{", b"\xff", b"[]"])
def test_hook_refuses_invalid_input(nacre: Nacre, stdin: bytes) -> None:
    done = nacre("hook", stdin=stdin)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(b"nacre hook cannot read its input: ")


def test_hook_with_no_ask_refuses_instead_of_prompting(nacre: Nacre) -> None:
    assert nacre("hook", stdin=ASKED).code == 0
    assert nacre("hook", "--no-ask", stdin=ASKED).code == 2


def ask_mode_payload(command: str, cwd: Path) -> bytes:
    """Return the payload that Claude Code sends in a mode in which it asks the user."""
    payload = payload_of("claude-code", "asked")
    return json.dumps({**payload, "cwd": str(cwd), "tool_input": {"command": command}}).encode()


def configure(nacre: Nacre, text: str) -> None:
    nacre.config.parent.mkdir(parents=True, exist_ok=True)
    nacre.config.write_text(text)


def test_hook_applies_the_permissions_of_the_user(nacre: Nacre, tmp_path: Path) -> None:
    configure(
        nacre, '[permissions]\nallow = ["Bash(git stash:*)"]\nask = ["Bash(make:*)"]\ndeny = ["Bash(npm publish:*)"]\n'
    )
    assert nacre("hook", stdin=ask_mode_payload("git stash drop", tmp_path)) == Done(0, b"", b"")
    made = nacre("hook", stdin=ask_mode_payload("make -j2", tmp_path))
    assert (made.code, json.loads(made.out)["hookSpecificOutput"]["permissionDecision"]) == (0, "ask")
    published = nacre("hook", stdin=ask_mode_payload("cd web && sudo bash -c 'npm publish'", tmp_path))
    assert (published.code, published.out) == (2, b"")
    assert b"Bash(npm publish:*)" in published.err
    configure(nacre, "")
    assert nacre("hook", stdin=ask_mode_payload("make -j2", tmp_path)) == Done(0, b"", b"")


def test_hook_applies_deny_rules_of_a_project_but_not_its_allow_rules(nacre: Nacre, tmp_path: Path) -> None:
    """The project is that of the command's directory, not of the directory in which the hook was started."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        '[tool.nacre.permissions]\nallow = ["Bash(git stash:*)"]\ndeny = ["Bash(make:*)"]\n'
    )
    assert nacre("hook", stdin=ask_mode_payload("make", project / "src"), cwd=tmp_path).code == 2
    assert nacre("hook", stdin=ask_mode_payload("make", tmp_path), cwd=project).code == 0
    stashed = nacre("hook", stdin=ask_mode_payload("git stash drop", project))
    assert (stashed.code, json.loads(stashed.out)["hookSpecificOutput"]["permissionDecision"]) == (0, "ask")


@pytest.mark.parametrize("agent", AGENTS)
def test_hook_decisions_are_audited_when_configured(nacre: Nacre, agent: str) -> None:
    nacre("hook", stdin=json.dumps(payload_of(agent, "refused")).encode())
    assert nacre("audit", "--json").out == b""
    configure(nacre, "audit = true\n")
    for name in ("no opinion", "refused"):
        nacre("hook", stdin=json.dumps(payload_of(agent, name)).encode())
    passed, refused = [json.loads(line) for line in nacre("audit", "--json").out.splitlines()]
    assert (passed["caller"], passed["profile"], passed["outcome"]) == (agent, "hook", {"kind": "passed"})
    assert (refused["outcome"], refused["verdict"]["decision"]) == ({"kind": "refused"}, "refuse")
    assert refused["conversation"]
    shown = nacre("audit", "--outcome", "failed").out.decode()
    assert shown.count("\n") == 1
    assert refused["command"] in shown


def test_hook_audit_masks_secrets_and_its_failure_changes_no_answer(nacre: Nacre, tmp_path: Path) -> None:
    configure(nacre, f'audit = "{tmp_path}/trail"\n')
    secret = "0123456789abcdefXYZ"
    asked = ask_mode_payload(f"curl -H 'Authorization: {secret}' x", tmp_path)
    assert nacre("hook", stdin=asked, env={"SERVICE_TOKEN": secret}).code == 0
    kept = (tmp_path / "trail").read_text()
    assert "Authorization" in kept
    assert secret not in kept
    configure(nacre, f'audit = "{tmp_path}"\n')  # a directory where a file is expected
    done = nacre("hook", stdin=asked)
    assert (done.code, done.out) == (0, b"")
    assert b"Cannot write the audit trail" in done.err


@pytest.mark.parametrize("agent", AGENTS)
def test_hook_with_invalid_settings_refuses_and_names_file_and_line(nacre: Nacre, agent: str) -> None:
    """They may contain a rule that denies the command."""
    configure(nacre, 'timeout = 30\nacess = "workspace"\n')
    done = nacre("hook", stdin=json.dumps(payload_of(agent, "no opinion")).encode())
    assert done.code == 2
    assert f"{nacre.config}:2" in done.err.decode()
    assert "Did you mean 'access'?" in done.err.decode()


@pytest.mark.parametrize("words", [["--bogus"], ["claude-code"], ["--no-ask", "x"]])
def test_hook_with_invalid_arguments_refuses(nacre: Nacre, words: list[str]) -> None:
    done = nacre("hook", *words, stdin=ALLOWED)
    assert (done.code, done.out) == (2, b"")
    assert done.err


@pytest.mark.parametrize("closed", ["<&-", "1>&-"])
def test_hook_with_closed_stdin_or_stdout_refuses(nacre: Nacre, closed: str) -> None:
    payload = json.dumps(payload_of("cursor", "asked")).encode()
    with nacre.start("hook", through=("bash", "-c", f'exec "$@" {closed}', "bash")) as program:
        assert finish(program, payload).code == 2


def test_hook_refuses_when_its_answer_cannot_be_written(nacre: Nacre) -> None:
    with open("/dev/full", "wb") as full, nacre.start("hook", stdout=full.fileno()) as program:
        assert finish(program, ASKED).code == 2


def test_hook_refuses_on_an_internal_error(nacre: Nacre, tmp_path: Path) -> None:
    broken = tmp_path / "nacre"
    shutil.copytree(Path(__file__).parents[2] / "src" / "nacre", broken)
    (broken / "approval" / "check.py").write_text("raise MemoryError\n")
    done = nacre("hook", stdin=ALLOWED, env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 2
    assert b"MemoryError" in done.err


def test_hook_refuses_after_its_time_limit(nacre: Nacre) -> None:
    program = """
import sys
import nacre.cli.serve.hook as hook, nacre.hooks.handle as answer
def check_command(asked, config):
    while True:
        pass
hook.TIMEOUT_S, answer.check_command = 0.1, check_command
sys.exit(hook.hook([]))
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, input=ALLOWED, capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env, check=False)
    assert done.returncode == 2
    assert (
        done.stderr == b"nacre hook failed (TimeoutError: no answer within 0.1 seconds), so the command is refused.\n"
    )


def test_hook_still_refuses_in_a_deleted_working_directory(nacre: Nacre, tmp_path: Path) -> None:
    payload = json.loads(REFUSED)
    del payload["cwd"]
    script = f'cd {quote(tmp_path)}; rmdir {quote(tmp_path)}; exec "$@"'
    with nacre.start("hook", through=("bash", "-c", script, "bash")) as program:
        assert finish(program, json.dumps(payload).encode()).code == 2


HEAVY = {"argparse", "asyncio", "mcp", "nacre.keeper", "nacre.bash", "platformdirs", "pydantic", "rich", "socket"}
HEAVY |= {
    "anthropic",
    "claude_agent_sdk",
    "inspect_ai",
    "langchain_core",
    "agents",
    "pydantic_ai",
    "tomllib",
    "subprocess",
}


@pytest.mark.parametrize("payload", [ALLOWED, REFUSED, ASKED])
def test_hook_loads_no_heavy_modules(nacre: Nacre, payload: bytes) -> None:
    program = "import sys; from nacre.cli import main; main(['hook']); print(*sys.modules, file=sys.stderr)"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, input=payload, capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env, check=True)
    loaded = set(done.stderr.decode().split())
    assert "nacre.hooks.handle" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("words", [["hook", "--help"], ["hook", "install", "--help"]])
def test_hook_help_goes_to_stdout_and_exits_0(nacre: Nacre, words: list[str]) -> None:
    done = nacre(*words)
    assert (done.code, done.err) == (0, b"")
    assert done.out.startswith(f"usage: nacre {' '.join(words[:-1])} ".encode())


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
